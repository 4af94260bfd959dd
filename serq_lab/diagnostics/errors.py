"""The three ways to fail: the text is wrong, the run stopped, or we are wrong."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from serq_lab.diagnostics.diagnostic import Diagnostic
from serq_lab.diagnostics.render import in_order, render

MOST_LINES = 15  # below a cell


class SerqError(Exception):
    """What `ProgramError` and `RunError` share: diagnostics, shown as caret text alone.

    Attributes
    ----------
    diagnostics : tuple of Diagnostic
        At least one, sorted by place.
    """

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(render(self.diagnostics))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.diagnostics,)  # on its way from another process

    def _render_traceback_(self) -> list[str]:
        # IPython shows these lines in place of a traceback; `print(error)` shows all of many faults.
        blocks = [render([fault]).splitlines() for fault in in_order(self.diagnostics)]
        n_lines = list(accumulate(len(block) + 1 for block in blocks))
        n_shown = max(1, sum(n <= MOST_LINES for n in n_lines))
        lines = [line for block in blocks[:n_shown] for line in [*block, ""]][:-1]
        n_left = len(blocks) - n_shown
        return lines if n_left == 0 else [*lines, "", f"and {n_left} more fault{'s' if n_left > 1 else ''}"]


class ProgramError(SerqError):
    """The text is wrong, or a value given for one of its names is."""


class RunError(SerqError):
    """The run stopped: where, when, which session, which value."""


class InternalError(Exception):
    """We are wrong; keeps its traceback."""
