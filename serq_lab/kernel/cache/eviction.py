"""Eviction: which entry goes, and where it is spilled to (`LANGUAGE.md` section 5).

A spill needs room in its tier, whose evictions may spill in turn. The pools of such a chain are all different, so each
keeps what is about to come into it, and `make_room` goes down the chain and up again. Used by `prefixes.py` and
`pools.py`.
"""

from __future__ import annotations

import math

import numpy as np

from serq_lab.kernel.cache.entries import (
    TOLERANCE,
    append_entry,
    join_ring,
    keep_vector,
    new_entry,
    round_down,
    show_own,
    snapshot_of,
    take_out_entry,
    unlink_entry,
)
from serq_lab.kernel.evaluation import evaluate_on, vector_of
from serq_lab.kernel.flows import start_ownerless_job
from serq_lab.kernel.statistics import set_cached
from serq_lab.kernel.storage.memory import Row, inlined, kernel
from serq_lab.kernel.storage.state import (
    Place,
    board_at,
    entry_at,
    own_at,
    pool_at,
    pool_shown_at,
    scratch_at,
    session_at,
)


@kernel
def comes_before(a: float, b: float) -> int:
    """1 if a precedes b in IEEE total order, -1 if it follows, else 0; a NaN, as 0/0 gives it, precedes all numbers."""
    if a != a or b != b:
        if a != a and b != b:
            return 0
        return 1 if a != a else -1
    if a == b and a == 0.0:
        a, b = math.copysign(1.0, a), math.copysign(1.0, b)
    if a < b:
        return 1
    if a > b:
        return -1
    return 0


@kernel
def takes_lead(run: Row, n: int, is_first: bool) -> bool:
    """Whether a candidate's n keys, in scratch n to 2n - 1, precede the least so far, in 0 to n - 1; then they replace
    them."""
    order = 1 if is_first else 0
    k = 0
    while order == 0 and k < n:
        order = comes_before(scratch_at(run, n + k).value, scratch_at(run, k).value)
        k += 1
    if order == 1:
        for k in range(n):
            scratch_at(run, k).value = scratch_at(run, n + k).value
    return order == 1


@kernel
def show_entry(run: Row, e: int, size: float) -> int:
    """Put what an eviction key or spill clause may read on the board; gives the address of the owner's vector."""
    entry, board = entry_at(run, e), board_at(run, 0)
    run.asking = entry.owner
    board.size = size
    board.last = entry.released_at
    board.age = run.now - entry.released_at
    board.waiting = 0.0
    if entry.owner < 0:
        return snapshot_of(run, e)
    if session_at(run, entry.owner).place == Place.QUEUED:
        board.waiting = 1.0
    return vector_of(run, entry.owner)


@kernel
def choose_victim(run: Row, p: int) -> int:
    """The entry of a pool with the least key, or -1 if there is none; never one that is being spilled into."""
    pool = pool_at(run, p)
    e = pool.oldest
    n = pool.n_evict_keys
    if e == pool.spilled_entry and e >= 0:
        e = entry_at(run, e).next
    if e < 0 or n == 0:
        return e
    victim = -1
    while e >= 0 and e != pool.spilled_entry:  # which is the youngest
        vector = show_entry(run, e, entry_at(run, e).units)
        for k in range(n):
            scratch_at(run, n + k).value = evaluate_on(run, pool.first_evict_key + k, vector)
        if takes_lead(run, n, victim < 0):
            victim = e
        e = entry_at(run, e).next
    return victim


@kernel
def evict(run: Row, p: int, e: int, wanted: float) -> int:
    """One step of eviction: the whole entry, or with blocks its last block. Gives the pool that it spills into, or -1.

    What the tier is to hold is noted there, in the entry that it will extend. Steps that make room for `wanted` and
    that nobody can tell apart are taken at once.
    """
    pool, entry = pool_at(run, p), entry_at(run, e)
    owner, units, is_whole = entry.owner, entry.units, True
    if pool.block > 0.0 and units > pool.block:
        part = pool.block * steps_at_once(run, p, wanted)
        if part < units:
            units, is_whole = part, False
    tier = pool.spill_pool
    vector = 0
    target, sibling = -1, -1
    if tier >= 0:
        vector = show_entry(run, e, units)
        target, sibling = entry_in(run, e, tier), sibling_of(run, e, is_whole)
    if is_whole:
        unlink_entry(run, e)
        pool.evicted_entries += 1
    else:
        entry.units -= units
        if owner >= 0:
            show_own(run, e)
    if owner >= 0 and session_at(run, owner).place == Place.QUEUED:
        run.n_evictions_seen += 1
    pool.evicted_units += units
    set_cached(run, p, 0.0 if pool.n_entries == 0 else pool_shown_at(run, p).cached - units)
    if tier < 0 or not is_spilled(run, p, vector):
        return -1
    pool.spills += 1
    into = pool_at(run, tier)
    into.spilled, into.spilled_from, into.spilled_work = units, p, evaluate_on(run, pool.spill_work, vector)
    open_entry(run, tier, owner, target, sibling, e)
    return tier


@inlined
def steps_at_once(run: Row, p: int, wanted: float) -> float:
    """How many blocks of one entry to evict at once: one if each is a decision of its own, or if sums would round."""
    pool, shown = pool_at(run, p), pool_shown_at(run, p)
    block = pool.block
    if pool.n_evict_keys > 0 or pool.spill_pool >= 0 or block != np.floor(block):
        return 1.0
    n = max(np.ceil((shown.used + shown.cached + wanted - pool.cap - TOLERANCE) / block), 1.0)
    if n > 1.0 and shown.used + (shown.cached - (n - 1.0) * block) + wanted <= pool.cap + TOLERANCE:
        n -= 1.0
    return n


@inlined
def is_spilled(run: Row, p: int, vector: int) -> bool:
    """Whether the condition of a pool's spill holds for what was evicted; NaN counts as true."""
    condition = evaluate_on(run, pool_at(run, p).spill_condition, vector)
    return condition != 0.0


@kernel
def entry_in(run: Row, e: int, p: int) -> int:
    """The entry in another pool that belongs to the same session, or to the same dead entry; -1 if there is none."""
    owner = entry_at(run, e).owner
    if owner >= 0:
        return own_at(run, owner * run.n_pools + p).entry
    other = entry_at(run, e).sibling
    while other != e and entry_at(run, other).pool != p:
        other = entry_at(run, other).sibling
    return -1 if other == e else other


@kernel
def sibling_of(run: Row, e: int, is_going: bool) -> int:
    """A dead entry that stays and in whose ring one spilled from e belongs; -1 if there is none."""
    if entry_at(run, e).owner >= 0:
        return -1
    if not is_going:
        return e
    sibling = entry_at(run, e).sibling
    return -1 if sibling == e else sibling


@kernel
def open_entry(run: Row, p: int, owner: int, target: int, sibling: int, evicted: int) -> None:
    """The entry of a tier that a spill extends becomes its youngest; there may be none yet, then it has no units.

    The row of the evicted entry may be free by now, or have become that of the new one; its vector is still there.
    """
    if target >= 0:
        take_out_entry(run, p, target)
        append_entry(run, p, target)
    else:
        target = new_entry(run, p, owner, 0.0)
        if owner < 0:
            join_ring(run, target, sibling)
            keep_vector(run, target, snapshot_of(run, evicted))
    pool_at(run, p).spilled_entry = target


@kernel
def finish_spill(run: Row, p: int) -> None:
    """A tier has made room: it takes what was spilled, or what fits of it; its job starts."""
    pool, shown = pool_at(run, p), pool_shown_at(run, p)
    e, units = pool.spilled_entry, pool.spilled
    pool.spilled_entry = -1
    room = pool.cap - shown.used - shown.cached
    if units > room + TOLERANCE:
        pool.evicted_units += units
        units = round_down(max(room, 0.0), pool.block)
        pool.evicted_units -= units
    if units > 0.0:
        entry_at(run, e).units += units
        if entry_at(run, e).owner >= 0:
            show_own(run, e)
        set_cached(run, p, shown.cached + units)
    elif not entry_at(run, e).units > 0.0:
        pool.evicted_entries += 1
        unlink_entry(run, e)
    start_ownerless_job(run, pool_at(run, pool.spilled_from).spill_stage, pool.spilled_work)


@inlined
def is_room(run: Row, p: int, units: float) -> bool:
    """Whether `units` more fit beside what is used and cached."""
    shown = pool_shown_at(run, p)
    return shown.used + shown.cached + units <= pool_at(run, p).cap + TOLERANCE


@kernel
def make_room(run: Row, p: int, units: float) -> bool:
    """Evict until `units` more fit beside what is used and cached; false if they do not fit even in an empty cache.

    It may add rows to the tables of sessions and entries.
    """
    at = p
    while True:
        pool = pool_at(run, at)
        wanted = units if at == p else pool.spilled
        fits = is_room(run, at, wanted)
        e = -1 if fits else choose_victim(run, at)
        if e >= 0:
            tier = evict(run, at, e, wanted)
            if tier >= 0:
                at = tier
        elif at == p:
            return fits
        else:
            finish_spill(run, at)
            at = pool.spilled_from
