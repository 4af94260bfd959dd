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
from serq_lab.kernel.storage.access import load_float
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
    due = next_time(run)
    n_left = MOST_IN_PLACE
    take_tokens(run, i, 0)
    stage = stage_at(run, i)
    while stage.least_work >= 2.0:
        # As often all residents can take one more token after the one that the iteration gives.
        n = np.floor(min(stage.least_work - 1.0, stage.least_room))
        if n < 1.0:
            n_evictions = run.n_evictions
            if not grow_residents(run, i) or (run.n_evictions > n_evictions and is_next_admitted(run, i)):
                return False
            n = max(np.floor(min(stage.least_work - 1.0, stage.least_room)), 1.0)
            if run.n_gauges > 0:
                record_gauges(run)
        n_done = repeat(run, i, int(min(n, n_left)), due)
        n_left -= n_done
        end = stage.iteration_start + stage.iteration_cost
        if n_left == 0 or not (end < due and end <= run.horizon):
            run.events -= 1
            run.order -= 1
            schedule(run, stage.iteration_cost, EventKind.ITERATION_END, i)
            return True
        run.now = end
        board_at(run, 0).now = end
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
def grow_residents(run: Row, i: int) -> bool:
    """Let the holds of all residents reach one token more; false where that needs more than eviction.

    Holds that grew before that stay as they are: planning the iteration as usual lets them grow first, too.
    """
    least = math.inf
    s = stage_at(run, i).scheduled_head
    while s >= 0:
        session = session_at(run, s)
        if session.growing >= 0:
            a = session.growing
            allocation = allocation_at(run, a)
            short = allocation.position + 1.0 - allocation.units
            units = round_up(allocation.units + short, pool_at(run, allocation.pool).block)
            if short > 0.0 and not grow_allocation(run, a, units):
                return False
            allocation = allocation_at(run, a)
            least = min(least, allocation.units - allocation.position)
        s = session_at(run, s).scheduled_next
    stage = stage_at(run, i)
    stage.least_room = least
    if stage.cost_reads_kv:
        count_scheduled(run, i)
        stage.iteration_cost = evaluate(run, stage.cost, NO_SESSION)
    return stage.iteration_cost >= 0.0


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
    take_tokens(run, i, n)
    return n


@inlined
def take_tokens(run: Row, i: int, n: int) -> None:
    """Each resident has had n tokens, the last of them now; the least work and room that any has left are noted."""
    stage = stage_at(run, i)
    work, room = math.inf, math.inf
    s = stage.scheduled_head
    while s >= 0:
        session = session_at(run, s)
        session.work -= n
        work = min(work, session.work)
        if n > 0:
            session.token_at, session.token_stage, session.decode_turn = run.now, i, session.token_turn
        if session.growing >= 0:
            allocation = allocation_at(run, session.growing)
            allocation.position += n
            room = min(room, allocation.units - allocation.position)
        s = session.scheduled_next
    stage.least_work, stage.least_room = work, room
