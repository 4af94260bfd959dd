"""Faults to caret text: the line of the program with the fault underlined, as on a terminal.

In come `Diagnostic`s; out goes plain text, its frame in ASCII, for a terminal, a cell or an exception::

    error: expected ";" after the statement
     --> tandem.sq:5:3
      |
    4 |   set a = 1
      |            - put ";" here
    5 |   run s (a);
      |   ^^^
    hint: ...

Used by `errors.py`, and by the command for warnings.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from serq_lab.diagnostics.diagnostic import Diagnostic
from serq_lab.source import SourceText, Span

_TAB = 4
_WIDEST = 100  # columns of a source line that are shown
_LEAD = 40  # of those, columns before the mark, where a line is cut
_CUT = "..."


def render(diagnostics: Sequence[Diagnostic], encoding: str = "utf-8") -> str:
    """Caret text of faults, sorted by place, a blank line between two.

    Parameters
    ----------
    diagnostics : sequence of Diagnostic
    encoding : str
        Of the stream that shows it: in lines of the program, what it cannot show is escaped, and underlined as wide.

    Returns
    -------
    str
        Lines joined by ``\\n``, without one at the end.
    """
    return "\n\n".join(_render_one(fault, encoding) for fault in in_order(diagnostics))


def in_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Faults sorted by place: texts in the order in which they first occur, those without a place first."""
    sources: dict[int, int] = {}

    def place(fault: Diagnostic) -> tuple[int, int, int]:
        if fault.span is None:
            return -1, 0, 0
        return sources.setdefault(id(fault.span.source), len(sources)), fault.span.start, fault.span.stop

    return sorted(diagnostics, key=place)


@dataclass(frozen=True)
class _Mark:
    """One underline and what stands behind it."""

    span: Span
    sign: str
    text: str


def _render_one(fault: Diagnostic, encoding: str) -> str:
    lines = [f"{fault.severity}: {fault.message}"]
    if fault.span is not None:
        marks = [_Mark(fault.span, "^", ""), *(_Mark(label.span, "-", label.text) for label in fault.labels)]
        here = [mark for mark in marks if mark.span.source is fault.span.source]
        elsewhere = [mark for mark in marks if mark.span.source is not fault.span.source]
        gutter = len(str(max(mark.span.line for mark in marks)))
        lines += _excerpt(" --> ", fault.span, here, gutter, encoding)
        for mark in elsewhere:
            lines += _excerpt(" ::: ", mark.span, [mark], gutter, encoding)
    if fault.hint is not None:
        lines.append(f"hint: {fault.hint}")
    return "\n".join(lines)


def _excerpt(arrow: str, head: Span, marks: list[_Mark], gutter: int, encoding: str) -> list[str]:
    """The place of `head`, and the marked lines of one text with their underlines."""
    source = head.source
    lines = [f"{' ' * (gutter - 1)}{arrow}{_printable(source.name)}:{head.line}:{head.column}"]
    lines.append(" " * gutter + " |")
    numbers = sorted({mark.span.line for mark in marks})
    for before, number in zip([numbers[0] - 1, *numbers], numbers, strict=False):
        if number > before + 1:
            lines.append(_CUT)
        on_line = [mark for mark in marks if mark.span.line == number]
        text, rows = _underlined(source, number, on_line, encoding)
        lines.append(f"{number:>{gutter}} | {text}".rstrip())
        lines += [f"{' ' * gutter} | {row}" for row in rows]
    return lines


def _underlined(source: SourceText, number: int, marks: list[_Mark], encoding: str) -> tuple[str, list[str]]:
    """A line as it is shown, and a row for each mark below it; a long line is cut round the first mark."""
    line = source.line(number)
    begin = max(0, marks[0].span.column - 1 - _LEAD) if len(line) > _WIDEST else 0
    window = line[begin : begin + _WIDEST]
    cells = _cells(window, encoding)
    columns = [0]
    for cell in cells:
        columns.append(columns[-1] + _width(cell))
    lead = _CUT if begin else ""
    text = lead + "".join(cells) + (_CUT if begin + _WIDEST < len(line) else "")
    rows = []
    for mark in marks:
        start = min(mark.span.column - 1, len(line)) - begin  # between \r and \n is the end of the line
        if not 0 <= start <= len(window):
            rows.append(f"(column {mark.span.column}) {mark.text}".rstrip())
            continue
        stop = min(start + mark.span.stop - mark.span.start, len(window))
        width = max(1, columns[stop] - columns[start])
        rows.append(" " * (len(lead) + columns[start]) + f"{mark.sign * width} {mark.text}".rstrip())
    return text, rows


def _cells(text: str, encoding: str) -> list[str]:
    """What is shown for each character: blanks for a tab, an escape for what would disturb the line."""
    cells: list[str] = []
    column = 0
    for character in text:
        cell = " " * (_TAB - column % _TAB) if character == "\t" else _printable(character)
        cell = cell.encode(encoding, "backslashreplace").decode(encoding)
        cells.append(cell)
        column += _width(cell)
    return cells


def _printable(text: str) -> str:
    """The text with control characters, lone surrogates and the like escaped: ``\\x1b``."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _width(cell: str) -> int:
    """The columns that characters take on a terminal."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in cell)
