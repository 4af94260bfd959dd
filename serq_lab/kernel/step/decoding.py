"""Iterations in which every resident decodes and nothing else is due: run on in place, without the heap.

Between two events most iterations of an engine are like the one before: the same residents get one token each, at the
same cost. Their instants are added up in a tight loop, in the same order and with the same roundings as one by one; a
hold grows where its block ends. What is decided anew at each iteration must not depend on anything that changes
meanwhile, which `lowering/readings.py` finds out about a program. Used by `event_loop.py`.
"""

from __future__ import annotations

import math

import numpy as np

from serq_lab.kernel.cache.entries import round_up
from serq_lab.kernel.evaluation import NO_SESSION, evaluate, vector_of
from serq_lab.kernel.pools import grow_allocation
from serq_lab.kernel.statistics import record_gauges
from serq_lab.kernel.step.iteration import count_scheduled, is_wanted
from serq_lab.kernel.step.planning import is_next_admitted
from serq_lab.kernel.step.tokens import record_gap
from serq_lab.kernel.storage.access import load_float, rarely
from serq_lab.kernel.storage.event_heap import next_time, schedule
from serq_lab.kernel.storage.memory import Row, inlined, kernel
from serq_lab.kernel.storage.state import (
    EventKind,
    IterationKind,
    allocation_at,
    board_at,
    pool_at,
    session_at,
    stage_at,
    stage_shown_at,
)
from serq_lab.kernel.storage.tables import TURN_NO, StageKind

MOST_IN_PLACE = 1 << 16  # iterations: then Python has its turn


@kernel
def run_on(run: Row, i: int) -> bool:
    """An iteration is over now: while the next is like it, end it and start the next in place.

    True if an iteration is running and its end is scheduled; false if the one that is over now is to be ended as usual.
    """
    if not is_alike(run, i):
        return False
    n_left, n_done, can_grow = MOST_IN_PLACE, 0, False
    stage = stage_at(run, i)
    while True:
        # Tokens of the iterations that were repeated; the holds of those that go on reach one more.
        n_seen = run.n_evictions_seen
        has_grown = take_tokens(run, i, n_done, can_grow)
        if stage.least_work < 2.0 or not has_grown or (run.n_evictions_seen > n_seen and is_next_admitted(run, i)):
            break
        # As often all residents can take one more token after the one that the iteration gives.
        n = np.floor(min(stage.least_work - 1.0, stage.least_room))
        if n < 1.0 and not can_grow:
            n_done, can_grow = 0, True
            continue
        if can_grow and run.n_gauges > 0:
            record_gauges(run)
        due = next_time(run)
        n_done = repeat(run, i, int(min(max(n, 1.0), n_left)), due)
        n_left -= n_done
        end = stage.iteration_start + stage.iteration_cost
        if n_left == 0 or not (end < due and end <= run.horizon):
            take_tokens(run, i, n_done, False)
            note_tokens(run, i)
            run.events -= 1
            run.order -= 1
            schedule(run, stage.iteration_cost, EventKind.ITERATION_END, i)
            return True
        run.now = end
        board_at(run, 0).now = end
        can_grow = stage.least_work - n_done >= 2.0 and stage.least_room - n_done < 1.0
    if n_left < MOST_IN_PLACE:
        note_tokens(run, i)
    return False


@kernel
def is_alike(run: Row, i: int) -> bool:
    """Whether the next iteration of a stage will be like the one that is over now, if no job ends and no hold grows."""
    stage = stage_at(run, i)
    n_jobs = stage_shown_at(run, i).queue
    are_served = stage.n_scheduled == n_jobs and stage.tokens == n_jobs
    if run.is_stepwise or not stage.is_steady or not are_served or stage.iteration_kind != IterationKind.DECODE:
        return False
    if not next_time(run) > run.now or run.are_pools_stale or (run.n_waiting > 0 and not run.is_calm):
        return False
    if run.n_steps > 1:
        for j in range(run.n_stages):
            if j != i and stage_at(run, j).kind == StageKind.STEP and is_wanted(run, j):
                return False
    s = stage.scheduled_head
    while s >= 0:
        session = session_at(run, s)
        turn = load_float(vector_of(run, s) + 8 * TURN_NO)
        if session.token_turn != turn or session.token_at != stage.iteration_start or session.is_set_back:
            return False
        s = session.scheduled_next
    return not is_next_admitted(run, i)


@kernel
def take_tokens(run: Row, i: int, n: int, can_grow: bool) -> bool:
    """Each resident has had n tokens more; the least work and room that any has left are noted.

    With `can_grow` a hold that cannot take one more token grows. False where that needs more than eviction: holds that
    grew before that stay as they are, for planning the iteration as usual lets them grow first, too.
    """
    stage = stage_at(run, i)
    least_work, least_room = math.inf, math.inf
    has_grown, is_larger = True, False
    s = stage.scheduled_head
    while s >= 0:
        session = session_at(run, s)
        session.work -= n
        least_work = min(least_work, session.work)
        a = session.growing
        if a >= 0:
            allocation = allocation_at(run, a)
            allocation.position += n
            room = allocation.units - allocation.position
            if rarely(can_grow and room < 1.0 and has_grown):
                has_grown = extend(run, i, a)
                is_larger = True
                room = allocation_at(run, a).units - allocation_at(run, a).position
            least_room = min(least_room, room)
        s = session_at(run, s).scheduled_next
    stage.least_work, stage.least_room = least_work, least_room
    if is_larger and has_grown and stage.cost_reads_kv:
        show_decodes(run, i)
        stage.iteration_cost = evaluate(run, stage.cost, NO_SESSION)
    return has_grown and stage.iteration_cost >= 0.0


@kernel
def extend(run: Row, i: int, a: int) -> bool:
    """Let an allocation of a resident reach one token more; false if it does not fit."""
    stage, allocation = stage_at(run, i), allocation_at(run, a)
    before = allocation.units
    short = allocation.position + 1.0 - before
    units = round_up(before + short, pool_at(run, allocation.pool).block)
    if short > 0.0 and not grow_allocation(run, a, units):
        return False
    if allocation_at(run, a).pool == stage.memory:
        stage.scheduled_kv += allocation_at(run, a).units - before
    return True


@inlined
def show_decodes(run: Row, i: int) -> None:
    """Put on the board what the cost may read of an iteration in which all residents decode."""
    stage, board = stage_at(run, i), board_at(run, 0)
    block = pool_at(run, stage.memory).block if stage.memory >= 0 else 1.0
    if rarely(not (block > 0.0 and block == np.floor(block))):  # else units are whole, and their sums exact
        count_scheduled(run, i)
        return
    n = stage.n_scheduled
    board.residents, board.decoders, board.tokens = n, n, n
    board.kv_decode, board.kv_prefill, board.prefilled, board.attention = stage.scheduled_kv, 0.0, 0.0, 0.0


@kernel
def note_tokens(run: Row, i: int) -> None:
    """Each resident has had its last token when the iteration that runs, or is over now, started."""
    start = stage_at(run, i).iteration_start
    s = stage_at(run, i).scheduled_head
    while s >= 0:
        session = session_at(run, s)
        session.token_at, session.token_stage, session.decode_turn = start, i, session.token_turn
        s = session.scheduled_next


@kernel
def repeat(run: Row, i: int, most: int, due: float) -> int:
    """End the iteration that is over now and start one like it, up to `most` times; gives how many times.

    It stops at an iteration whose end is not before `due`. Counted are also the end of the last one and its
    place in the order of scheduling, though neither has come yet.
    """
    stage = stage_at(run, i)
    is_warm = board_at(run, 0).is_warm
    start, end, cost, n_jobs = stage.iteration_start, run.now, stage.iteration_cost, stage.n_scheduled
    decode_time = stage.decode_time_sum
    n = 0
    while True:
        if is_warm:
            record_gap(run, i, end - start, n_jobs)
            decode_time += cost
        n += 1
        start, end = end, end + cost
        if n == most or not (end < due and end <= run.horizon):
            break
    if is_warm:
        stage.decode_time_sum = decode_time
        stage.decode_iterations += n
        stage.decode_sum += n * n_jobs
    stage.iteration_start = start
    stage.iterations += n
    run.events += n
    run.order += n
    run.now = start
    board_at(run, 0).now = start
    return n
