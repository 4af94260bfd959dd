"""Growing holds, and preemption: what makes room for them (`LANGUAGE.md` section 5, "Growing" and "Preemption").

Used by `sessions.py` for `grow`, and by `step/planning.py` for runs that grow a hold token by token.
"""

from __future__ import annotations

from serq_lab.kernel.cache.entries import TOLERANCE, round_up
from serq_lab.kernel.evaluation import fail, set_slot
from serq_lab.kernel.flows import remove_flow
from serq_lab.kernel.leaving import held_on, turn_away, undo_hold
from serq_lab.kernel.pools import (
    come_to_hold,
    count_waiting,
    dequeue,
    enqueue_first,
    free_hold,
    grow_allocation,
    leave_growers,
)
from serq_lab.kernel.records import FailureKind
from serq_lab.kernel.stages import take_job
from serq_lab.kernel.storage.lists import append_session, leave_ready
from serq_lab.kernel.storage.memory import Row, kernel
from serq_lab.kernel.storage.state import (
    Place,
    allocation_at,
    own_at,
    pool_at,
    session_at,
    stage_at,
)
from serq_lab.kernel.storage.tables import COMPUTED, StageKind

GRANTED, STALLED, PREEMPTED = 0, 1, 2  # what becomes of a growth


@kernel
def grow(run: Row, s: int, a: int, amount: float) -> int:
    """Enlarge an allocation of a session: GRANTED at once if it fits, or if that can be had by preempting.

    Otherwise the session is STALLED, in line with those that wait to grow in the pool, or PREEMPTED itself.
    """
    allocation = allocation_at(run, a)
    p = allocation.pool
    pool = pool_at(run, p)
    units = round_up(allocation.units + amount, pool.block)
    while not grow_allocation(run, a, units):
        victim = victim_in(run, p) if pool.is_lifo else -1
        if victim < 0:
            stall(run, s, a, units)
            return STALLED
        preempted = allocation_at(run, victim).session
        preempt(run, victim)
        if preempted == s:
            return PREEMPTED
    return GRANTED


@kernel
def stall(run: Row, s: int, a: int, units: float) -> None:
    """A session waits until its allocation can have as many units."""
    p = allocation_at(run, a).pool
    pool, session = pool_at(run, p), session_at(run, s)
    session.grow_allocation, session.grow_units = a, units
    session.place = Place.GROWING
    count_waiting(run, p, 1)
    pool.grower_tail = append_session(run, s, pool.grower_tail)
    if pool.grower_head < 0:
        pool.grower_head = s


@kernel
def victim_in(run: Row, p: int) -> int:
    """The allocation in a pool that makes room: the youngest, or in a memory that of the youngest job there; or -1."""
    pool = pool_at(run, p)
    a = pool.last_holder
    if not pool.is_memory:
        return a
    victim, youngest = -1, -1
    while a >= 0:
        session = session_at(run, allocation_at(run, a).session)
        if session.admission > youngest and works_in_memory(run, allocation_at(run, a).session, p):
            victim, youngest = a, session.admission
        a = allocation_at(run, a).previous_holder
    return victim


@kernel
def works_in_memory(run: Row, s: int, p: int) -> bool:
    """Whether a session's job is at a step stage of which a pool is the memory, and not stalled there."""
    session = session_at(run, s)
    if session.place != Place.AT_STAGE:
        return False
    stage = stage_at(run, session.stage)
    return stage.kind == StageKind.STEP and stage.memory == p


@kernel
def preempt(run: Row, a: int) -> None:
    """Abort the scope of a hold: its session goes to the head of the queue, to execute the hold again."""
    take_planned_tokens_back(run, allocation_at(run, a).session)
    allocation = allocation_at(run, a)
    s, p, o, position = allocation.session, allocation.pool, allocation.op, allocation.position
    head = allocation.head
    pool = pool_at(run, p)
    run.n_preemptions += 1
    pool.preemptions += 1
    leave_place(run, s)
    own = own_at(run, s * run.n_pools + p)
    if own.preempted_position >= position - TOLERANCE and not session_at(run, s).was_stuck:
        session_at(run, s).was_stuck = 1
        pool.stuck += 1
    own.preempted_position = position
    set_slot(run, s, COMPUTED, position)
    while session_at(run, s).innermost != head:
        undo_hold(run, s)
    undo_hold(run, s)
    session_at(run, s).is_set_back = 1
    if come_to_hold(run, s, o) < 0:
        turn_away(run, s)
        return
    session = session_at(run, s)
    session.was_preempted = 1
    session.entry = o
    session.place = Place.QUEUED
    enqueue_first(run, s, session.queue_pool)


@kernel
def take_planned_tokens_back(run: Row, s: int) -> None:
    """A victim that has tokens in the iteration that is being planned will not compute them: its position goes back."""
    session = session_at(run, s)
    if session.stage < 0 or not stage_at(run, session.stage).is_planning:
        return
    if session.scheduled > 0.0 and session.growing >= 0:
        allocation_at(run, session.growing).position -= session.scheduled


@kernel
def leave_place(run: Row, s: int) -> None:
    """Take a session away from where it works or waits."""
    session = session_at(run, s)
    place = session.place
    if place == Place.READY:
        leave_ready(run, s)
    elif place == Place.QUEUED:
        dequeue(run, s, session.queue_pool)
        free_hold(run, session.pending)
        session.pending = -1
    elif place == Place.GROWING:
        leave_growers(run, allocation_at(run, session.grow_allocation).pool, s)
    i = session_at(run, s).stage
    if i >= 0 and stage_at(run, i).is_flow:
        remove_flow(run, s)
    elif i >= 0:
        take_job(run, s)


@kernel
def grow_now(run: Row, s: int, p: int, amount: float, span: int) -> bool:
    """`grow p (d)`; false if the session does not go on."""
    a = held_on(run, s, p)
    if a < 0:
        fail(run, FailureKind.GROW_OUTSIDE, span, 0.0)
        return False
    return grow(run, s, a, amount) == GRANTED
