"""Calling a program's expressions, and stopping a run.

`lowering/expressions.py` makes the functions; here they get the session's vector and the board. Used everywhere in
this folder.
"""

from __future__ import annotations

import math

from serq_lab.kernel.records import FailureKind
from serq_lab.kernel.storage.access import call_expression, rarely, store_float
from serq_lab.kernel.storage.memory import Row, inlined, kernel
from serq_lab.kernel.storage.state import (
    allocation_at,
    board_at,
    expression_at,
    hop_at,
    refresh_at,
    session_at,
    stage_at,
    stage_shown_at,
    target_at,
)
from serq_lab.kernel.storage.tables import Mode, StageKind

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
        board.may_be_over = 1


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


@inlined
def share_of_iteration(run: Row, s: int, chunk: float) -> float:
    """The tokens that a resident would take in an iteration with a budget to spare."""
    session = session_at(run, s)
    return min(1.0 if session.mode == Mode.DECODE else chunk, session.work)


@kernel
def read_budget(run: Row, i: int) -> float:
    """A step stage's budget over its residents, which the board shows; NaN is none."""
    stage = stage_at(run, i)
    if stage.budget < 0:
        return math.inf
    budget = call_expression(expression_at(run, stage.budget).address, run.vectors, run.board)
    return math.inf if budget != budget else max(budget, 0.0)


@kernel
def read_chunk(run: Row, i: int) -> float:
    """A step stage's chunk over its residents, which the board shows; one that is not positive is none."""
    stage = stage_at(run, i)
    if stage.chunk < 0:
        return math.inf
    chunk = call_expression(expression_at(run, stage.chunk).address, run.vectors, run.board)
    return chunk if chunk > 0.0 else math.inf


@kernel
def budget_left_at(run: Row, i: int) -> float:
    """What a step stage's residents would leave of its budget; while it tries a queue, what they have left of it.

    What the budget and the chunk read was refreshed before: the lowering puts that first.
    """
    stage = stage_at(run, i)
    if stage.is_admitting:
        return stage.left_to_admit
    count_residents(run, i)
    left = read_budget(run, i)
    chunk = read_chunk(run, i)
    s = stage.resident_head
    while s >= 0:
        left -= share_of_iteration(run, s, chunk)
        s = session_at(run, s).resident_next
    return max(left, 0.0)


@kernel
def units_in_memory(run: Row, s: int, p: int) -> float:
    """What all holds of a session have of a pool."""
    units = 0.0
    head = session_at(run, s).innermost
    while head >= 0:
        a = head
        while a >= 0:
            allocation = allocation_at(run, a)
            if allocation.pool == p and allocation.is_held:
                units += allocation.units
            a = allocation.next_claim
        head = allocation_at(run, head).outer
    return units


@kernel
def count_residents(run: Row, i: int) -> None:
    """Put on the board what a step stage's budget, chunk and order may read, over all its residents."""
    stage, board = stage_at(run, i), board_at(run, 0)
    board.residents = stage_shown_at(run, i).queue
    board.decoders, board.kv_decode, board.kv_prefill = 0.0, 0.0, 0.0
    reads_kv = stage.reads_kv and stage.memory >= 0
    s = stage.resident_head
    while s >= 0:
        session = session_at(run, s)
        units = units_in_memory(run, s, stage.memory) if reads_kv else 0.0
        if session.mode == Mode.DECODE:
            board.decoders += 1.0
            board.kv_decode += units
        else:
            board.kv_prefill += units
        s = session.resident_next


@kernel
def refresh_budget_left(run: Row, i: int) -> None:
    """`budget_left` of a step stage, on the board; what else its budget reads there is as before."""
    board = board_at(run, 0)
    residents, decoders = board.residents, board.decoders
    kv_decode, kv_prefill = board.kv_decode, board.kv_prefill
    stage_shown_at(run, i).budget_left = budget_left_at(run, i)
    board.residents, board.decoders = residents, decoders
    board.kv_decode, board.kv_prefill = kv_decode, kv_prefill


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
        else:
            refresh_budget_left(run, wanted.stage)


@inlined
def refresh_for(run: Row, e: int) -> None:
    """As `refresh`, for expression e; -1 is none."""
    if e >= 0:
        refresh(run, expression_at(run, e).first_refreshed, expression_at(run, e).n_refreshed)


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
