"""From the code of a failed run to a sentence with a place.

In comes a `Failure` of `kernel/records.py` with the spans that it points into; out goes a `Diagnostic`, which
`pipeline.py` raises as a `RunError`.
"""

from __future__ import annotations

from collections.abc import Sequence

from serq_lab.diagnostics.catalogue import quoted
from serq_lab.diagnostics.diagnostic import Diagnostic
from serq_lab.kernel.records import Failure, FailureKind
from serq_lab.report.text import shortest
from serq_lab.semantics.model import Model
from serq_lab.source import Span

SENTENCES = {
    FailureKind.GUARD: (
        "the guard {place} is {value}, and a branch can only take 1 or 0",
        "compare, as in `branch (x > 0)`, or draw, as in `branch with (p)`",
    ),
    FailureKind.INDEX: (
        "the index of {place} is {value}, which is out of range",
        "members are numbered from 0 to {last}",
    ),
    FailureKind.PARAMETER: (
        "the parameter {place} of a distribution is {value}, which makes no sense there",
        "means must not be negative, probabilities lie between 0 and 1, and nothing may be NaN",
    ),
    FailureKind.GAP: (
        "the gap between two arrivals is {value}",
        "a gap must be positive and finite: write, for example, `max(gap, 0.001)`",
    ),
    FailureKind.GROW_OUTSIDE: (
        "the growth {place} is outside a hold on its pool",
        "put it inside the `hold` of that pool",
    ),
    FailureKind.ENDLESS_UNITS: (
        "{place} asks a pool without a cap for infinitely many units",
        "give the pool a `cap`, or ask for a number of units",
    ),
    FailureKind.LOAD_BEYOND: (
        "the load {place} moves the position in the hold to {value}, outside what the hold has",
        "hold more units, or load fewer",
    ),
    FailureKind.LOAD_OUTSIDE: (
        "the load {place} is outside a hold on its pool",
        "put it inside the `hold` of that pool",
    ),
    FailureKind.COST: (
        "the cost {place} of an iteration is {value}",
        "a cost is a time: write, for example, `max(cost, 0)`",
    ),
    FailureKind.NO_PROGRESS: (
        "time does not pass: more and more happens at one instant",
        "let every cycle take some time, for example by a `run` with positive work",
    ),
    FailureKind.CHOICE: (
        "there are {value} indices to choose from, too many to try each",
        "choose among the members of an array",
    ),
    FailureKind.ARRIVALS_UNREACHED: (
        "the horizon comes before all the arrivals that were asked for: only {value} came",
        "raise `horizon`, or lower `arrivals`",
    ),
    FailureKind.NOT_DRAINED: (
        "the horizon comes before the end of every session, which `arrivals` asks for: {value} still live",
        "raise `horizon`, or lower `arrivals`",
    ),
    FailureKind.DRAINED_IN_WARMUP: (
        "the last session ended before the warm-up was over",
        "lower `warmup`, or raise `arrivals`",
    ),
}
"""Sentence and hint of each failure: `place` is the text of its span, quoted."""


def diagnose(failure: Failure, spans: Sequence[Span], model: Model) -> Diagnostic:
    """What stopped the run: where in the program, when, in which session and with which value.

    Parameters
    ----------
    failure : Failure
    spans : sequence of Span
        The places of the lowered program, which `failure.span` counts.
    model : Model
        The program, for a failure that no single statement is to blame for.
    """
    span = _place(failure, spans, model)
    kind = FailureKind(failure.kind)
    message, hint = SENTENCES[kind]
    message = message.format(place=quoted(span.text), value=shortest(failure.value))
    code = "run-" + kind.name.lower().replace("_", "-")
    hint = hint.format(last=_last_member(span, model))
    return Diagnostic(code, f"{message} ({_moment(failure)})", span, hint=hint)


def _last_member(span: Span, model: Model) -> str:
    """The last index of the array that a place such as ``kv[i]`` names."""
    name = span.text.partition("[")[0].strip()
    sizes = {pool.name: pool.n_members for pool in model.pools}
    sizes |= {stage.name: stage.n_members for stage in model.stages}
    return str(sizes[name] - 1) if name in sizes else "one less than the size of the array"


def _place(failure: Failure, spans: Sequence[Span], model: Model) -> Span:
    if failure.span >= 0:
        return spans[failure.span]
    if failure.kind == FailureKind.NO_PROGRESS:
        return model.arrivals.span
    return model.settings.span if model.settings.arrivals is None else model.settings.arrivals.span


def _moment(failure: Failure) -> str:
    time = f"at time {shortest(failure.time)}"
    return time if failure.session < 0 else f"{time}, in session {failure.session}"
