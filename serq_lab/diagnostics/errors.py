"""The three ways to fail: the text is wrong, the run stopped, or we are wrong."""

from __future__ import annotations

from collections.abc import Sequence

from serq_lab.diagnostics.diagnostic import Diagnostic
from serq_lab.diagnostics.render import render


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

    def _render_traceback_(self) -> list[str]:
        # IPython shows these lines in place of a traceback.
        return str(self).splitlines()


class ProgramError(SerqError):
    """The text is wrong, or a value given for one of its names is."""


class RunError(SerqError):
    """The run stopped: where, when, which session, which value."""


class InternalError(Exception):
    """We are wrong; keeps its traceback."""
