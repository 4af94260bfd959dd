"""Iterations of step stages: when one starts, what it costs, what its end brings (`LANGUAGE.md` section 7.5).

Used by `event_loop.py`.
"""

from __future__ import annotations

from serq_lab.kernel.evaluation import NO_SESSION, evaluate, fail, units_in_memory
from serq_lab.kernel.records import FailureKind
from serq_lab.kernel.stages import complete_job, show_busy
from serq_lab.kernel.statistics import show_iteration
from serq_lab.kernel.step.planning import first_queue, plan
from serq_lab.kernel.step.tokens import give_token
from serq_lab.kernel.storage.event_heap import schedule
from serq_lab.kernel.storage.memory import Row, inlined, kernel
from serq_lab.kernel.storage.state import (
    EventKind,
    IterationKind,
    allocation_at,
    board_at,
    session_at,
    stage_at,
    stage_shown_at,
)
from serq_lab.kernel.storage.tables import Mode

LEAST_WORK = 1e-9  # tokens: with fewer left a job is done


@kernel
def start_iteration(run: Row, i: int) -> None:
    """An idle step stage plans an iteration and starts it, unless there is nothing to do."""
    if not is_wanted(run, i) or not plan(run, i) or board_at(run, 0).failure != 0:
        return
    stage = stage_at(run, i)
    n_decodes = count_scheduled(run, i)
    scheduled_kv = board_at(run, 0).kv_decode
    cost = evaluate(run, stage.cost, NO_SESSION)
    if not cost >= 0.0:
        fail(run, FailureKind.COST, stage.cost_span, cost)
        return
    kind: int = IterationKind.NONE if stage.n_scheduled == n_decodes else IterationKind.PREFILL
    if n_decodes > 0:
        kind += IterationKind.DECODE
        if board_at(run, 0).is_warm:
            stage.decode_iterations += 1
            stage.decode_sum += n_decodes
            stage.decode_time_sum += cost
    stage.is_running = 1
    stage.iterations += 1
    stage.iteration_start, stage.iteration_cost, stage.tokens = run.now, cost, board_at(run, 0).tokens
    stage.scheduled_kv = scheduled_kv
    show_iteration(run, i, kind, n_decodes)
    show_busy(run, i)
    schedule(run, cost, EventKind.ITERATION_END, i)


@inlined
def is_wanted(run: Row, i: int) -> bool:
    """Whether a step stage is idle and has residents, or a queue to serve."""
    stage = stage_at(run, i)
    if stage.is_running:
        return False
    if stage_shown_at(run, i).queue > 0.0:
        return True
    return first_queue(run, i) >= 0


@inlined
def count_scheduled(run: Row, i: int) -> int:
    """Put on the board what the cost may read of the tokens given out; gives the number of decodes among them."""
    stage, board = stage_at(run, i), board_at(run, 0)
    n_decodes = 0
    tokens, prefilled, attention, kv_decode, kv_prefill = 0.0, 0.0, 0.0, 0.0, 0.0
    s = stage.scheduled_head
    while s >= 0:
        session = session_at(run, s)
        units = units_in_memory(run, s, stage.memory) if stage.cost_reads_kv and stage.memory >= 0 else 0.0
        tokens += session.scheduled
        if session.mode == Mode.DECODE:
            n_decodes += 1
            kv_decode += units
        else:
            prefilled += session.scheduled
            kv_prefill += units
            attention += session.scheduled * (position_before(run, s) + session.scheduled / 2.0)
        s = session_at(run, s).scheduled_next
    board.residents, board.decoders = stage_shown_at(run, i).queue, n_decodes
    board.kv_decode, board.kv_prefill = kv_decode, kv_prefill
    board.tokens, board.prefilled, board.attention = tokens, prefilled, attention
    return n_decodes


@inlined
def position_before(run: Row, s: int) -> float:
    """Where a prefill that grows a hold stood before this iteration; 0 for one that does not."""
    session = session_at(run, s)
    if session.growing < 0:
        return 0.0
    return allocation_at(run, session.growing).position - session.scheduled


@kernel
def end_iteration(run: Row, i: int) -> None:
    """An iteration is over: its tokens are done, and with them some jobs."""
    stage = stage_at(run, i)
    stage.is_running = 0
    s = stage.scheduled_head
    while s >= 0:
        session = session_at(run, s)
        following = session.scheduled_next
        session.work -= session.scheduled
        session.scheduled = 0.0
        is_done = session.work <= LEAST_WORK
        is_decode = session.mode == Mode.DECODE
        if is_decode or is_done:
            give_token(run, s, i, is_decode)
        if is_done:
            complete_job(run, s, i)
        s = following
    stage.scheduled_head, stage.scheduled_tail, stage.n_scheduled = -1, -1, 0
    show_busy(run, i)
