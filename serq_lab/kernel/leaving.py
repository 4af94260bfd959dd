"""How holds, leases and sessions end (`LANGUAGE.md` sections 4 and 5, "Leaving").

A lease is the allocation of a hold's claim that outlives the hold; a session's leases are linked, the oldest first.
Used by `growth.py`, `sessions.py` and `event_loop.py`.
"""

from __future__ import annotations

import math

from serq_lab.kernel.cache.entries import abandon_entries, round_down
from serq_lab.kernel.cache.prefixes import put_entry
from serq_lab.kernel.evaluation import evaluate, quantity, set_slot
from serq_lab.kernel.pools import free_hold, serve_pools, unlink_holder
from serq_lab.kernel.statistics import set_live, set_used
from serq_lab.kernel.storage.access import rarely
from serq_lab.kernel.storage.event_heap import schedule
from serq_lab.kernel.storage.lists import free_row
from serq_lab.kernel.storage.memory import Row, inlined, kernel
from serq_lab.kernel.storage.state import (
    EventKind,
    allocation_at,
    board_at,
    op_at,
    own_at,
    pool_at,
    pool_shown_at,
    session_at,
)
from serq_lab.kernel.storage.tables import COMPUTED, ArrivalKind

NEVER_PREEMPTED = -1.0


@inlined
def give_back(run: Row, s: int, a: int) -> None:
    """A pool gets an allocation's units back and keeps what the hold's `cache` clause says."""
    allocation = allocation_at(run, a)
    p = allocation.pool
    op = op_at(run, allocation.op)
    shown = pool_shown_at(run, p)
    if rarely(pool_at(run, p).is_lifo != 0) and allocation.is_held:
        unlink_holder(run, p, a)
    allocation.is_held = 0
    holders = shown.holders - 1.0
    set_used(run, p, shown.used - allocation.units, holders)
    if op.has_cache:
        is_moved = allocation_at(run, allocation.head).is_moved
        computed = allocation.position if is_moved else allocation.units
        kept = min(quantity(run, op.cache, s), computed)
        put_entry(run, p, s, round_down(kept, pool_at(run, p).block))


@inlined
def end_hold(run: Row, s: int, leased: int) -> None:
    """The innermost hold of a session ends; its claim `leased`, if that is not -1, goes on as a lease."""
    head = session_at(run, s).innermost
    a = head
    while a >= 0:
        if allocation_at(run, a).is_held and allocation_at(run, a).claim != leased:
            give_back(run, s, a)
        a = allocation_at(run, a).next_claim
    session_at(run, s).innermost = allocation_at(run, head).outer
    if rarely(leased >= 0):
        head = lease_claim(run, s, head, leased)
    free_hold(run, head)


@kernel
def undo_hold(run: Row, s: int) -> None:
    """The innermost hold of a session ends before its block does."""
    end_hold(run, s, -1)


@inlined
def leave_hold(run: Row, s: int, o: int) -> None:
    """The end of a hold's block."""
    if rarely(run.n_preemptions > 0):
        forget_preemptions(run, s)
    end_hold(run, s, op_at(run, o).lease)
    set_slot(run, s, COMPUTED, 0.0)
    serve_pools(run)


@kernel
def forget_preemptions(run: Row, s: int) -> None:
    """The innermost hold came to its end: how far a preemption let it get before does not matter any more."""
    a = session_at(run, s).innermost
    while a >= 0:
        own_at(run, s * run.n_pools + allocation_at(run, a).pool).preempted_position = NEVER_PREEMPTED
        a = allocation_at(run, a).next_claim


@kernel
def held_on(run: Row, s: int, p: int) -> int:
    """The allocation of the innermost hold on a pool that has not given it back, or -1."""
    head = session_at(run, s).innermost
    while head >= 0:
        a = head
        while a >= 0:
            allocation = allocation_at(run, a)
            if allocation.pool == p and allocation.is_held:
                return a
            a = allocation.next_claim
        head = allocation_at(run, head).outer
    return -1


@kernel
def release(run: Row, s: int, p: int) -> None:
    """`release p`: early for one pool of the innermost hold on it, or else the end of the oldest lease of it.

    The pools are served at once, also if there was nothing to release.
    """
    a = held_on(run, s, p)
    if a >= 0:
        if run.n_preemptions > 0:
            own_at(run, s * run.n_pools + p).preempted_position = NEVER_PREEMPTED
        give_back(run, s, a)
    else:
        a = session_at(run, s).first_lease
        while a >= 0 and allocation_at(run, a).pool != p:
            a = allocation_at(run, a).next_lease
        if a >= 0:
            give_back_lease(run, a)
    serve_pools(run)


# ---------------------------------------------------------------- leases


@kernel
def lease_claim(run: Row, s: int, head: int, claim: int) -> int:
    """At the end of a hold's block, take one claim out of it and make it a lease; gives the first claim that is left.

    Nothing is leased that was released early.
    """
    before, a = -1, head
    while allocation_at(run, a).claim != claim:
        before, a = a, allocation_at(run, a).next_claim
    allocation = allocation_at(run, a)
    if not allocation.is_held:
        return head
    if before >= 0:
        allocation_at(run, before).next_claim = allocation.next_claim
    else:
        head = allocation.next_claim
    allocation.is_moved = allocation_at(run, allocation.head).is_moved
    allocation.head, allocation.next_claim, allocation.is_held = a, -1, 0
    if pool_at(run, allocation.pool).is_lifo:
        unlink_holder(run, allocation.pool, a)
    append_lease(run, s, a)
    time = evaluate(run, op_at(run, allocation.op).lease_time, s)
    if time != math.inf:
        allocation.lease_event = schedule(run, time if time > 0.0 else 0.0, EventKind.LEASE_END, a)
    return head


@inlined
def append_lease(run: Row, s: int, a: int) -> None:
    """Put a lease behind the session's others."""
    allocation_at(run, a).next_lease = -1
    if session_at(run, s).first_lease < 0:
        session_at(run, s).first_lease = a
        return
    last = session_at(run, s).first_lease
    while allocation_at(run, last).next_lease >= 0:
        last = allocation_at(run, last).next_lease
    allocation_at(run, last).next_lease = a


@kernel
def give_back_lease(run: Row, a: int) -> None:
    """A lease ends: its units go back, its row is free."""
    s = allocation_at(run, a).session
    session = session_at(run, s)
    if session.first_lease == a:
        session.first_lease = allocation_at(run, a).next_lease
    else:
        before = session.first_lease
        while allocation_at(run, before).next_lease != a:
            before = allocation_at(run, before).next_lease
        allocation_at(run, before).next_lease = allocation_at(run, a).next_lease
    allocation_at(run, a).lease_event = -1
    give_back(run, s, a)
    free_hold(run, a)


@kernel
def end_lease(run: Row, a: int) -> None:
    """A lease ends by its time: the pools are served at once."""
    give_back_lease(run, a)
    serve_pools(run)


# -------------------------------------------------------------- sessions


@kernel
def turn_away(run: Row, s: int) -> None:
    """A session ends because it can never have what it asks for."""
    remove_session(run, s)


@inlined
def remove_session(run: Row, s: int) -> None:
    """A session ends: it gives back every hold, innermost first, then every lease."""
    while session_at(run, s).innermost >= 0:
        undo_hold(run, s)
    while rarely(session_at(run, s).first_lease >= 0):
        give_back_lease(run, session_at(run, s).first_lease)
    abandon_entries(run, s)
    free_row(run, s)
    set_live(run, run.live - 1)
    if board_at(run, 0).is_warm:
        run.ended += 1
    if run.arrival_kind == ArrivalKind.CLOSED:
        run.n_due += 1
        run.n_open += 1
