"""A program's text, and places in it: the only line and column arithmetic of the project.

In comes the text as the caller has it; out go `Span`s, which everything later (tree, model, faults) carries.
Next on the way: `syntax/parser.py`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property

_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class SourceText:
    """The text of one file or cell.

    Parameters
    ----------
    text : str
        The text, line ends as they came (``\\n``, ``\\r\\n`` or ``\\r``).
    name : str
        What messages call it: a path, or a cell's name.
    first_line : int
        The number of its first line, where it is a part of something: in a cell, `%%serq` stands above it.
    """

    text: str = field(repr=False)
    name: str = "<program>"
    first_line: int = 1

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(end.end() for end in _LINE_END.finditer(self.text))]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset: lines from `first_line` on, columns from 1, in characters."""
        row = bisect_right(self._line_starts, offset) - 1
        return row + self.first_line, offset - self._line_starts[row] + 1

    def line(self, number: int) -> str:
        """The text of a line (counted from `first_line`) without its end."""
        row = number - self.first_line
        start = self._line_starts[row]
        stop = self._line_starts[row + 1] if row + 1 < len(self._line_starts) else len(self.text)
        return self.text[start:stop].rstrip("\r\n")

    @property
    def n_lines(self) -> int:
        return len(self._line_starts)


@dataclass(frozen=True)
class Span:
    """A stretch of a source: ``source.text[start:stop]``."""

    source: SourceText = field(repr=False)
    start: int
    stop: int

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.stop]

    @property
    def line(self) -> int:
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.position(self.start)[1]

    def to(self, last: Span) -> Span:
        """The span from the start of this one to the end of `last`."""
        return Span(self.source, self.start, last.stop)
