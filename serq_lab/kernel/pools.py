"""Pools: joining, admission, growth, and whom a pool serves next (`LANGUAGE.md` section 5).

The cached side of a pool is in `cache/`, the end of holds in `leaving.py`, preemption in `growth.py`. Used by these,
by `sessions.py` and `event_loop.py`.
"""

from __future__ import annotations

import math

from serq_lab.kernel.cache.entries import TOLERANCE, round_up
from serq_lab.kernel.cache.eviction import is_room, make_room, takes_lead
from serq_lab.kernel.cache.prefixes import consume
from serq_lab.kernel.evaluation import evaluate, fail, quantity, resolve, set_slot
from serq_lab.kernel.records import FailureKind
from serq_lab.kernel.statistics import change_queued, set_used
from serq_lab.kernel.storage.access import rarely
from serq_lab.kernel.storage.lists import append_session, make_ready, unlink_session
from serq_lab.kernel.storage.memory import Row, inlined, kernel
from serq_lab.kernel.storage.state import (
    Place,
    allocation_at,
    board_at,
    claim_at,
    ensure_allocations,
    op_at,
    pool_at,
    pool_shown_at,
    scratch_at,
    session_at,
)
from serq_lab.kernel.storage.tables import CACHED

REJECTED, QUEUED, ADMITTED = 0, 1, 2  # what becomes of a session that comes to a hold


@inlined
def new_allocation(run: Row, s: int, op: int, claim: int, p: int, head: int) -> int:
    """A claim of session s on pool p, nothing allocated yet; `head` is the first of its hold, -1 if this is."""
    a = run.free_allocation
    if a >= 0:
        run.free_allocation = allocation_at(run, a).next_claim
    else:
        a = run.n_allocations
        run.n_allocations = a + 1
        ensure_allocations(run, run, a + 1)
    allocation = allocation_at(run, a)
    allocation.session, allocation.op, allocation.claim, allocation.pool = s, op, claim, p
    allocation.units, allocation.position, allocation.is_moved, allocation.is_held = 0.0, 0.0, 0, 0
    allocation.head = a if head < 0 else head
    allocation.next_claim, allocation.outer, allocation.lease_event = -1, -1, -1
    return a


@inlined
def free_hold(run: Row, head: int) -> None:
    """Give back the rows of a hold's claims."""
    a = head
    while a >= 0:
        following = allocation_at(run, a).next_claim
        allocation_at(run, a).next_claim = run.free_allocation
        run.free_allocation = a
        a = following


@inlined
def read_units(run: Row, a: int, s: int) -> None:
    """Evaluate a claim's units, rounded up; until a reserve is read, that is the room it needs."""
    allocation = allocation_at(run, a)
    block = pool_at(run, allocation.pool).block
    allocation.units = round_up(quantity(run, claim_at(run, allocation.claim).units, s), block)
    allocation.needs = allocation.units


@inlined
def read_reserve(run: Row, a: int, s: int) -> None:
    """Evaluate a claim's reserve, if it has one: the room it needs, rounded up."""
    allocation = allocation_at(run, a)
    claim = claim_at(run, allocation.claim)
    if claim.reserve >= 0:
        reserve = round_up(quantity(run, claim.reserve, s), pool_at(run, allocation.pool).block)
        allocation.needs = max(allocation.units, reserve)


@inlined
def come_to_hold(run: Row, s: int, o: int) -> int:
    """The first claim of a new hold whose header is read for the first time; -1 if it can never fit."""
    op = op_at(run, o)
    head, last = -1, -1
    for k in range(op.first_claim, op.first_claim + op.n_claims):
        p = resolve(run, claim_at(run, k).target, s)
        a = new_allocation(run, s, o, k, p, head)
        if head < 0:
            head = a
        else:
            allocation_at(run, last).next_claim = a
        last = a
        read_units(run, a, s)
    if is_turned_away(run, head, s):
        free_hold(run, head)
        return -1
    session = session_at(run, s)
    session.pending = head
    session.queue_pool = allocation_at(run, head).pool
    session.queued_at = run.now
    return head


@inlined
def join_pool(run: Row, s: int, o: int) -> int:
    """A session comes to a hold: REJECTED if it can never fit, else QUEUED at the first pool or ADMITTED at once."""
    head = come_to_hold(run, s, o)
    if head < 0:
        return REJECTED
    session = session_at(run, s)
    session.place = Place.QUEUED
    if op_at(run, o).is_static and is_next(run, session.queue_pool) and fits(run, head, s):
        admit(run, s, head)
        session_at(run, s).place = Place.RUNNING
        return ADMITTED
    enqueue(run, s, session.queue_pool)
    return QUEUED


@inlined
def is_turned_away(run: Row, head: int, s: int) -> bool:
    """Whether a hold asks more of a pool than all that it has; the first such pool counts the rejection, and the
    reserves behind it are not read."""
    a = head
    while a >= 0:
        read_reserve(run, a, s)
        allocation = allocation_at(run, a)
        needs, pool = allocation.needs, pool_at(run, allocation.pool)
        if needs > pool.cap:
            pool.rejected += 1
            if not needs >= pool.rejected_least:
                pool.rejected_least = needs
            if not needs <= pool.rejected_most:
                pool.rejected_most = needs
            return True
        a = allocation.next_claim
    return False


@inlined
def is_next(run: Row, p: int) -> bool:
    """Whether a session that joins the queue now would be the next to be looked at: then it need not join it."""
    is_alone = run.n_open + run.is_simple == 1
    return is_alone and run.is_planning == 0 and pool_at(run, p).via < 0


@inlined
def count_waiting(run: Row, p: int, change: int) -> None:
    """Just before somebody comes to wait in a pool (1) or behind who has left (-1): count it if nobody else waits."""
    pool = pool_at(run, p)
    if pool.queue_head < 0 and pool.grower_head < 0:
        run.n_waiting += change
        run.n_open += change


@inlined
def enqueue(run: Row, s: int, p: int) -> None:
    """Put a session at the back of a pool's queue."""
    pool = pool_at(run, p)
    count_waiting(run, p, 1)
    pool.queue_tail = append_session(run, s, pool.queue_tail)
    if pool.queue_head < 0:
        pool.queue_head = s
    change_queued(run, p, 1.0)


@kernel
def enqueue_first(run: Row, s: int, p: int) -> None:
    """Put a session at the front of a pool's queue."""
    pool, session = pool_at(run, p), session_at(run, s)
    count_waiting(run, p, 1)
    session.previous, session.next = -1, pool.queue_head
    if pool.queue_head >= 0:
        session_at(run, pool.queue_head).previous = s
    else:
        pool.queue_tail = s
    pool.queue_head = s
    change_queued(run, p, 1.0)


@inlined
def dequeue(run: Row, s: int, p: int) -> None:
    """Take a session out of a pool's queue."""
    pool, session = pool_at(run, p), session_at(run, s)
    if pool.queue_head == s:
        pool.queue_head = session.next
    if pool.queue_tail == s:
        pool.queue_tail = session.previous
    unlink_session(run, s)
    count_waiting(run, p, -1)
    change_queued(run, p, -1.0)


@inlined
def queue_head(run: Row, p: int) -> int:
    """The session that is first: in order of joining, or the one with the least keys, read now; -1 if none waits."""
    pool = pool_at(run, p)
    s = pool.queue_head
    n = pool.n_queue_keys
    if s < 0 or n == 0 or session_at(run, s).was_preempted:
        return s
    return least_keyed(run, s, pool.first_queue_key, n)


@kernel
def least_keyed(run: Row, s: int, first_key: int, n: int) -> int:
    """Of a session and those linked behind it the one with the least keys; of equals the first."""
    least, head = s, s
    while s >= 0:
        for k in range(n):
            scratch_at(run, n + k).value = evaluate(run, first_key + k, s)
        if takes_lead(run, n, s == head):
            least = s
        s = session_at(run, s).next
    return least


@inlined
def fits(run: Row, head: int, s: int) -> bool:
    """Whether a hold fits in all its pools, its header read afresh, pool by pool."""
    is_fit = True
    a = head
    is_static = op_at(run, allocation_at(run, head).op).is_static
    while a >= 0:
        if not is_static:
            read_units(run, a, s)
            read_reserve(run, a, s)
        allocation = allocation_at(run, a)
        pool = pool_at(run, allocation.pool)
        if pool_shown_at(run, allocation.pool).used + allocation.needs > pool.cap + TOLERANCE:
            is_fit = False
        a = allocation.next_claim
    return is_fit


@kernel
def admit(run: Row, s: int, head: int) -> None:
    """Admit a session: its prefix is consumed, room is made, the units are allocated."""
    session, op = session_at(run, s), op_at(run, allocation_at(run, head).op)
    most = math.inf
    if op.reuse >= 0:
        most = quantity(run, op.reuse, s)
    first = pool_at(run, session.queue_pool)
    if board_at(run, 0).is_warm:
        first.wait_sum += run.now - session.queued_at
        first.wait_count += 1
    run.admission += 1
    session.admission = run.admission
    session.was_preempted = 0
    cached = 0.0
    a = head
    while a >= 0:
        cached = max(cached, allocate(run, s, a, most))
        a = allocation_at(run, a).next_claim
    set_slot(run, s, CACHED, cached)
    session = session_at(run, s)
    allocation_at(run, head).outer = session.innermost
    session.innermost = head
    session.pending = -1


@inlined
def make_free(run: Row, a: int, units: float) -> None:
    """Evict, if there is need to, what is cached in the way of `units` more for an allocation."""
    allocation = allocation_at(run, a)
    p = allocation.pool
    if rarely(units == math.inf):
        fail(run, FailureKind.ENDLESS_UNITS, op_at(run, allocation.op).span, units)
    if not is_room(run, p, units):
        make_room(run, p, units)


@inlined
def allocate(run: Row, s: int, a: int, most: float) -> float:
    """Allocate a claim's units; gives what was consumed of the session's prefix."""
    allocation = allocation_at(run, a)
    p = allocation.pool
    pool, shown = pool_at(run, p), pool_shown_at(run, p)
    if op_at(run, allocation.op).has_cache:
        allocation.position = consume(run, p, s, most)
    make_free(run, a, allocation.units)
    set_used(run, p, shown.used + allocation.units, shown.holders + 1.0)
    pool.admissions += 1
    allocation.is_held = 1
    allocation.admission = run.admission
    if rarely(pool.is_lifo != 0):
        link_holder(run, p, a)
    return allocation.position


@kernel
def link_holder(run: Row, p: int, a: int) -> None:
    """Put an allocation at the young end of the list of a pool's holders."""
    pool, allocation = pool_at(run, p), allocation_at(run, a)
    allocation.next_holder, allocation.previous_holder = -1, pool.last_holder
    if pool.last_holder >= 0:
        allocation_at(run, pool.last_holder).next_holder = a
    pool.last_holder = a


@kernel
def unlink_holder(run: Row, p: int, a: int) -> None:
    """Take an allocation out of the list of a pool's holders."""
    pool, allocation = pool_at(run, p), allocation_at(run, a)
    if allocation.next_holder >= 0:
        allocation_at(run, allocation.next_holder).previous_holder = allocation.previous_holder
    else:
        pool.last_holder = allocation.previous_holder
    if allocation.previous_holder >= 0:
        allocation_at(run, allocation.previous_holder).next_holder = allocation.next_holder


@kernel
def let_grow(run: Row, p: int, s: int) -> None:
    """A stalled session has its growth and goes on."""
    leave_growers(run, p, s)
    session = session_at(run, s)
    if session.stage < 0:
        make_ready(run, s)
        return
    session.place = Place.AT_STAGE
    advance(run, session.grow_allocation, session.grow_short)


@kernel
def advance(run: Row, a: int, tokens: float) -> None:
    """Move the position of an allocation."""
    allocation = allocation_at(run, a)
    allocation.position += tokens
    allocation_at(run, allocation.head).is_moved = 1


@kernel
def leave_growers(run: Row, p: int, s: int) -> None:
    """Take a session out of the list of a pool's growers."""
    pool, session = pool_at(run, p), session_at(run, s)
    if pool.grower_head == s:
        pool.grower_head = session.next
    if pool.grower_tail == s:
        pool.grower_tail = session.previous
    unlink_session(run, s)
    count_waiting(run, p, -1)


@kernel
def serve_pool(run: Row, p: int) -> None:
    """Retry a pool's growers, then admit from its queue."""
    pool = pool_at(run, p)
    while pool.grower_head >= 0:
        s = pool.grower_head
        session = session_at(run, s)
        if not grow_allocation(run, session.grow_allocation, session.grow_units):
            break
        let_grow(run, p, s)
    while pool.via < 0:  # else a step stage serves the queue
        s = queue_head(run, p)
        if s < 0:
            return
        head = session_at(run, s).pending
        if not fits(run, head, s):
            return
        dequeue(run, s, p)
        admit(run, s, head)
        make_ready(run, s)


@inlined
def serve_pools(run: Row) -> None:
    """Serve every pool in order of declaration."""
    if run.n_waiting > 0:
        for p in range(run.n_pools):
            serve_pool(run, p)


@kernel
def grow_allocation(run: Row, a: int, units: float) -> bool:
    """Enlarge an allocation to `units` if they fit."""
    allocation = allocation_at(run, a)
    p = allocation.pool
    shown = pool_shown_at(run, p)
    more = units - allocation.units
    if shown.used + more > pool_at(run, p).cap + TOLERANCE:
        return False
    make_free(run, a, more)
    set_used(run, p, shown.used + more, shown.holders)
    allocation.units = units
    return True
