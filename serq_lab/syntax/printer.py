"""A tree as canonical text: what the formatter writes.

In comes a tree of `nodes.py`; out goes text that parses to an equal one, comments kept. The rules: two
blanks of indentation a block; one statement, option or item a line; at most one blank line in a row, and
none at the ends of a block. What was written on one line with all its blocks, holds no comment and fits in
100 columns stays on one line. A comment behind code stays behind it, one on a line of its own stays above
what follows it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import takewhile

from serq_lab.source import Span
from serq_lab.syntax import nodes
from serq_lab.syntax.expression_printer import print_expression
from serq_lab.syntax.pieces import Body, Clauses, Piece, pieces_of

__all__ = ["print_expression", "print_program"]

WIDEST = 100
INDENTATION = "  "


def print_program(tree: nodes.Program) -> str:
    """The canonical text of a program.

    Parameters
    ----------
    tree : Program
        As `parser.parse` makes it; without spans into a text it prints as well, then without blank lines.

    Returns
    -------
    str
        Lines that end with ``\\n``; empty for a program without items and comments.
    """
    printer = _Printer(tree)
    for item in tree.items:
        printer.print(item)
    printer.comments_before(len(tree.span.source.text) + 1)
    return "".join(f"{line}\n" for line in printer.lines)


class _Printer:
    """Writes the lines of one tree; `comments` are those not yet written."""

    def __init__(self, tree: nodes.Program) -> None:
        self.lines: list[str] = []
        self._source = tree.span.source
        self._comments = deque(tree.comments)
        self._depth = 0
        self._written_to: int | None = None  # where in the source the last thing written ends; None in a new block

    def print(self, node: nodes.Node) -> None:
        """Write an item, an option or a statement, with the comments that stand before, in and behind it."""
        pieces = pieces_of(node)
        self.comments_before(node.span.start)
        if self._may_stay_on_one_line(node.span):
            text = flat(pieces)
            if len(INDENTATION) * self._depth + len(text) <= WIDEST:
                self._line(text, node.span.start, node.span.stop)
                return
        text, start = "", node.span.start
        for piece in pieces:
            if isinstance(piece, Body) and (piece.nodes or self._has_comment(self._opening(piece), piece.stop)):
                self._line(text + "{", start, self._opening(piece) + 1)
                self._body(piece)
                text, start = "}", piece.stop - 1
            else:
                text += self._header(piece, len(text)) if isinstance(piece, Clauses) else flat([piece])
        self._line(text, start, node.span.stop)

    def _body(self, body: Body) -> None:
        self._depth += 1
        self._written_to = None
        for node in body.nodes:
            self.print(node)
        self.comments_before(body.stop - 1)
        self._depth -= 1
        self._written_to = None

    def _header(self, clauses: Clauses, column: int) -> str:
        """Clauses before a block, on a line each where they do not fit in one."""
        text = " ".join(clauses.parts)
        if len(INDENTATION) * self._depth + column + len(text) + len(" {") <= WIDEST:
            return text + " "
        return ("\n" + INDENTATION * (self._depth + 2)).join(clauses.parts) + " "

    def _may_stay_on_one_line(self, span: Span) -> bool:
        return "\n" not in span.text and "\r" not in span.text and not self._has_comment(span.start, span.stop)

    def _opening(self, body: Body) -> int:
        """Where the ``{`` of a body stands: the first behind `body.start` that is in no comment."""
        start = body.start
        for comment in self._comments:
            if self._source.text.find("{", start, comment.span.start) >= 0:
                break
            start = max(start, comment.span.stop)
        return max(self._source.text.find("{", start), start)

    # ------------------------------------------------------------ lines and comments

    def _line(self, text: str, start: int, stop: int) -> None:
        """Write what stands from `start` to `stop`, the comments in it and directly behind it at its end.

        Of these, those that would hide others (``//``) go to lines of their own above, those behind a body
        into it.
        """
        comments = self._take_before(stop)
        end = comments[-1].span.stop if comments else stop
        while self._comments and self._is_directly_behind(max(end, stop)):
            comments.append(self._comments.popleft())
            end = comments[-1].span.stop
        behind: list[str] = []
        while comments and (not behind or not comments[-1].text.startswith("//")):
            behind.insert(0, _text_of(comments.pop()))
        self._blank_line_before(start)
        self._write(map(_text_of, comments), self._depth + text.startswith("}"))
        self._write([" ".join([text, *behind])], self._depth)
        self._written_to = max(stop, end)

    def comments_before(self, offset: int) -> None:
        """Write the comments before a place in the source, each on a line of its own."""
        for comment in self._take_before(offset):
            self._blank_line_before(comment.span.start)
            self._write([_text_of(comment)], self._depth)
            self._written_to = comment.span.stop

    def _take_before(self, offset: int) -> list[nodes.Comment]:
        taken = []
        while self._comments and self._comments[0].span.start < offset:
            taken.append(self._comments.popleft())
        return taken

    def _has_comment(self, start: int, stop: int) -> bool:
        before_stop = takewhile(lambda comment: comment.span.start < stop, self._comments)
        return any(comment.span.start >= start for comment in before_stop)

    def _is_directly_behind(self, offset: int) -> bool:
        between = self._source.text[offset : self._comments[0].span.start]
        return not between.strip() and "\n" not in between and "\r" not in between

    def _blank_line_before(self, start: int) -> None:
        if self._written_to is not None:
            end, _ = self._source.position(self._written_to)
            if self._source.position(start)[0] > end + 1:
                self.lines.append("")

    def _write(self, texts: Iterable[str], depth: int) -> None:
        self.lines += [INDENTATION * depth + text for text in texts]


def _text_of(comment: nodes.Comment) -> str:
    text = comment.text.replace("\r\n", "\n").replace("\r", "\n")
    return text.rstrip() if text.startswith("//") else text


def flat(pieces: Sequence[Piece]) -> str:
    """Pieces on one line, whatever their bodies hold."""
    return "".join(map(_flat_piece, pieces))


def _flat_piece(piece: Piece) -> str:
    if isinstance(piece, str):
        return piece
    if isinstance(piece, Clauses):
        return " ".join(piece.parts) + " "
    return " ".join(["{", *(flat(pieces_of(node)) for node in piece.nodes), "}"])
