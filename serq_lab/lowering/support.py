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
    for stage in model.stages:
        if stage.kind == "step":
            yield stage.span, f'the step stage "{stage.name}"'
    for pool in model.pools:
        if pool.preempt == "lifo":
            yield pool.span, f'the pool "{pool.name}" with `preempt lifo`'
        if pool.spill is not None:
            yield pool.spill.span, f'the spill of "{pool.name}"'
    if model.trace is not None:
        yield model.trace.span, "a trace"
    for part in parts(model.session):
        if isinstance(part, m.Hold) and part.lease is not None:
            yield part.lease[0].span, "a lease"
        elif isinstance(part, m.Load):
            yield part.span, "a load"
