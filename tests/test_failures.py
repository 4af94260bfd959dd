"""Every way in which a run can stop is one sentence with a place, a time, a session and a value."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from serq_lab.failures import diagnose
from serq_lab.kernel.records import Failure, FailureKind
from serq_lab.semantics import model as checked
from serq_lab.source import SourceText, Span
from tests.report import hand_made

SOURCE = SourceText("branch (x) { end; }\n" + "y" * 100 + "\n(a +\n b)")
GUARD, LONG, TWO_LINES = Span(SOURCE, 8, 9), Span(SOURCE, 20, 120), Span(SOURCE, 121, 129)
ARRIVE, RUN, LIMIT = Span(SOURCE, 0, 6), Span(SOURCE, 0, 18), Span(SOURCE, 13, 16)


def model(*, limit: bool) -> checked.Model:
    number = checked.Constant(LIMIT, 5.0)
    return replace(
        hand_made.model(),
        arrivals=checked.Arrivals(ARRIVE, "poisson", number),
        settings=checked.RunSettings(RUN, number, number, number, number if limit else None),
    )


def said(kind: FailureKind, span: int, value: float, session: int = -1) -> str:
    return diagnose(Failure(kind, span, 3.0, session, value), [GUARD, LONG, TWO_LINES], model(limit=True)).message


def test_a_guard() -> None:
    fault = diagnose(Failure(FailureKind.GUARD, 0, 12.5, 7, 0.5), [GUARD], model(limit=False))
    assert fault.message == ('the guard "x" is 0.5, and a branch can only take 1 or 0 (at time 12.5, in session 7)')
    assert fault.code == "run-guard"
    assert fault.span is GUARD
    assert fault.hint is not None


@pytest.mark.parametrize("kind", list(FailureKind))
@pytest.mark.parametrize("span", [-1, 0, 1, 2])
def test_every_kind_is_a_sentence(kind: FailureKind, span: int) -> None:
    fault = diagnose(Failure(kind, span, 3.0, -1, math.nan), [GUARD, LONG, TWO_LINES], model(limit=False))
    assert fault.message.endswith(" (at time 3)")
    assert "\n" not in fault.message
    assert "  " not in fault.message
    assert "{place}" not in fault.message
    assert "{value}" not in fault.message
    assert len(fault.message) < 160
    assert fault.hint


def test_kinds_are_told_apart() -> None:
    assert len({said(kind, 0, 2.0) for kind in FailureKind}) == len(FailureKind)


@pytest.mark.parametrize("kind", [FailureKind.ARRIVALS_UNREACHED, FailureKind.NOT_DRAINED])
def test_counts_are_told(kind: FailureKind) -> None:
    assert " 12" in said(kind, -1, 12.0)
    assert "12.0" not in said(kind, -1, 12.0)


def test_an_index_knows_the_members_of_its_array() -> None:
    place = Span(SourceText("run lanes[serial] (1);"), 4, 17)
    program = replace(model(limit=False), stages=(hand_made.stage("lanes", 3),))
    fault = diagnose(Failure(FailureKind.INDEX, 0, 3.0, 4, 3.0), [place], program)
    assert fault.hint == "members are numbered from 0 to 2"


def test_what_no_statement_is_to_blame_for_has_a_place_too() -> None:
    def place(kind: FailureKind, *, limit: bool) -> Span | None:
        return diagnose(Failure(kind, -1, 3.0, -1, 2.0), [], model(limit=limit)).span

    assert place(FailureKind.NO_PROGRESS, limit=True) is ARRIVE
    assert place(FailureKind.NOT_DRAINED, limit=True) is LIMIT
    assert place(FailureKind.NOT_DRAINED, limit=False) is RUN
