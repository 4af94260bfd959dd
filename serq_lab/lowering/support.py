"""What the engine cannot run yet is refused before it runs, at its place."""

from __future__ import annotations

from collections.abc import Iterator

from serq_lab.diagnostics.diagnostic import Diagnostic
from serq_lab.diagnostics.errors import ProgramError
from serq_lab.lowering.trees import parts
from serq_lab.semantics import model as m
from serq_lab.source import Span


def refuse_what_cannot_run(model: m.Model) -> None:
    """Raise a ProgramError that names every construct of the program that the engine cannot run."""
    faults = [
        Diagnostic("cannot-run", f"{what} can be checked, but this version cannot run it", span)
        for span, what in _what_cannot_run(model)
    ]
    if faults:
        raise ProgramError(sorted(faults, key=lambda fault: fault.span.start if fault.span else 0))


def _what_cannot_run(model: m.Model) -> Iterator[tuple[Span, str]]:
    for part in parts(model.session):
        if isinstance(part, m.Run) and len(part.stages) > 1:
            yield part.span, "a run on several stages"
