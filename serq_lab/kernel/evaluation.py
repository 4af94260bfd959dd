"""Calling a program's expressions, and stopping a run.

`lowering/expressions.py` makes the functions; here they get the session's vector and the board. Used everywhere in
this folder.
"""

from __future__ import annotations

from serq_lab.kernel.records import FailureKind
from serq_lab.kernel.storage.access import call_expression, rarely, store_float
from serq_lab.kernel.storage.memory import Row, inlined, kernel
from serq_lab.kernel.storage.state import (
    board_at,
    expression_at,
    hop_at,
    refresh_at,
    session_at,
    stage_at,
    stage_shown_at,
    target_at,
)
from serq_lab.kernel.storage.tables import StageKind

NO_SESSION = -1
WORK = 0


@inlined
def fail(run: Row, kind: int, span: int, value: float) -> None:
    """Note why the run stops; the first reason counts."""
    board = board_at(run, 0)
    if board.failure == 0:
        board.failure = kind
        board.failure_span = span
        board.failure_value = value


@inlined
def vector_of(run: Row, s: int) -> int:
    """The address of a session's vector: its attributes, then one `cachedin` a pool."""
    return run.vectors + s * run.vector_bytes


@inlined
def set_slot(run: Row, s: int, slot: int, value: float) -> None:
    store_float(vector_of(run, s) + 8 * slot, value)


@kernel
def work_at(run: Row, i: int) -> float:
    """The work left at a stage, summed in the order in which its jobs joined."""
    stage = stage_at(run, i)
    if stage.is_flow:
        return flow_work_at(run, stage.job_head)
    clock = stage.clock + stage.rate * (run.now - stage.clock_at)
    total = 0.0
    s = stage.job_head
    while s >= 0:
        session = session_at(run, s)
        if stage.kind == StageKind.PS:
            total += max(0.0, session.mark - clock)
        elif stage.kind == StageKind.STEP or session.job_event < 0:
            total += session.work
        else:
            total += session.mark - run.now
        s = session.job_next
    return total


@kernel
def flow_work_at(run: Row, h: int) -> float:
    """The work left of the flows of a stage, whose first hop is h."""
    total = 0.0
    while h >= 0:
        hop = hop_at(run, h)
        session = session_at(run, hop.session)
        total += max(0.0, session.work - session.rate * (run.now - run.flows_at))
        h = hop.next
    return total


@kernel
def refresh(run: Row, first: int, n: int) -> None:
    """Compute what is costly to keep up to date, just before an expression reads it."""
    for k in range(first, first + n):
        wanted = refresh_at(run, k)
        if wanted.what == WORK:
            stage_shown_at(run, wanted.stage).work = work_at(run, wanted.stage)


@inlined
def evaluate_on(run: Row, e: int, vector: int) -> float:
    """The value of expression e over the vector at an address."""
    expression = expression_at(run, e)
    if rarely(expression.n_refreshed > 0):
        refresh(run, expression.first_refreshed, expression.n_refreshed)
    return call_expression(expression.address, vector, run.board)


@inlined
def evaluate(run: Row, e: int, s: int) -> float:
    """The value of expression e for session s, or for none."""
    run.asking = s
    return evaluate_on(run, e, vector_of(run, s))


@inlined
def quantity(run: Row, e: int, s: int) -> float:
    """As `evaluate`, negative and NaN being 0: units and work."""
    value = evaluate(run, e, s)
    if value > 0.0:
        return value
    return 0.0


@inlined
def resolve(run: Row, t: int, s: int) -> int:
    """The member that a target names; stops the run and gives the first one if the index is out of range."""
    target = target_at(run, t)
    if target.index < 0:
        return target.first
    value = evaluate(run, target.index, s)
    if value > -1.0 and value < target.n_members:
        return target.first + int(value)
    fail(run, FailureKind.INDEX, target.span, value)
    return target.first
