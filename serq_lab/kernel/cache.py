"""Cached prefixes of a pool: putting in, taking out, evicting, spilling to a tier (`LANGUAGE.md` section 5).

The entries of a pool are a list linked in release order, so the least recently used one is at hand whatever the size
of the cache; what is left of a partly consumed entry keeps its place in it. Used by `pools.py`.
"""

from __future__ import annotations

import math

import numpy as np

from serq_lab.kernel.evaluation import evaluate_on, set_slot, vector_of
from serq_lab.kernel.statistics import set_cached
from serq_lab.kernel.storage.access import load_float, store_float
from serq_lab.kernel.storage.memory import Row, inlined, kernel
from serq_lab.kernel.storage.state import (
    Place,
    board_at,
    ensure_entries,
    ensure_snapshots,
    entry_at,
    own_at,
    pool_at,
    pool_shown_at,
    scratch_at,
    session_at,
)

TOLERANCE = 1e-9  # of `used + cached <= cap`


@inlined
def round_up(units: float, block: float) -> float:
    """Units as they are allocated; `block` is NaN for a pool without blocks."""
    if block > 0.0:
        return np.ceil(units / block) * block
    return units


@inlined
def round_down(units: float, block: float) -> float:
    """Units as they are cached."""
    if block > 0.0:
        return np.floor(units / block) * block
    return units


@kernel
def snapshot_of(run: Row, e: int) -> int:
    """The address of the copy of its owner's vector that an entry keeps."""
    return run.snapshots + e * run.vector_bytes


@kernel
def keep_vector(run: Row, e: int, s: int) -> None:
    """Copy a session's vector beside its entry, for keys that are read when the session is gone."""
    source, copy = vector_of(run, s), snapshot_of(run, e)
    for k in range(run.n_slots):
        store_float(copy + 8 * k, load_float(source + 8 * k))


@kernel
def new_entry(run: Row, p: int, s: int, units: float) -> int:
    """An entry at the young end of a pool's list; s is its owner."""
    e = run.free_entry
    if e >= 0:
        run.free_entry = entry_at(run, e).next
    else:
        e = run.n_entries
        run.n_entries = e + 1
        ensure_entries(run, run, e + 1)
        if run.has_keyed_entries:
            ensure_snapshots(run, run, (e + 1) * (run.vector_bytes // 8))
    pool, entry = pool_at(run, p), entry_at(run, e)
    entry.owner, entry.pool, entry.units, entry.released_at = s, p, units, run.now
    entry.sibling = -1
    entry.next, entry.previous = -1, pool.youngest
    if pool.youngest >= 0:
        entry_at(run, pool.youngest).next = e
    else:
        pool.oldest = e
    pool.youngest = e
    pool.n_entries += 1
    return e


@kernel
def unlink_entry(run: Row, e: int) -> None:
    """Take an entry out of its pool's list and give its row back. The cached units are the caller's."""
    entry = entry_at(run, e)
    pool = pool_at(run, entry.pool)
    if entry.previous >= 0:
        entry_at(run, entry.previous).next = entry.next
    else:
        pool.oldest = entry.next
    if entry.next >= 0:
        entry_at(run, entry.next).previous = entry.previous
    else:
        pool.youngest = entry.previous
    pool.n_entries -= 1
    if entry.owner >= 0:
        forget_own(run, entry.owner, entry.pool)
    entry.next = run.free_entry
    entry.pool = -1
    run.free_entry = e


@inlined
def forget_own(run: Row, s: int, p: int) -> None:
    """A session has no entry of its own in a pool any more."""
    own_at(run, s * run.n_pools + p).entry = -1
    set_slot(run, s, run.n_slots + p, 0.0)


@inlined
def own_entry(run: Row, s: int, p: int) -> int:
    """The session's own entry in a pool, or -1."""
    if run.has_caches == 0:
        return -1
    return own_at(run, s * run.n_pools + p).entry


@kernel
def abandon_entries(run: Row, s: int) -> None:
    """A session ends: its entries stay, with nobody to use them."""
    if run.has_caches == 0:
        return
    for p in range(run.n_pools):
        e = own_at(run, s * run.n_pools + p).entry
        if e >= 0:
            entry_at(run, e).owner = -1
            forget_own(run, s, p)


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
    """The entry of a pool with the least key, or -1 if there is none."""
    pool = pool_at(run, p)
    e = pool.oldest
    n = pool.n_evict_keys
    if e < 0 or n == 0:
        return e
    victim = -1
    while e >= 0:
        vector = show_entry(run, e, entry_at(run, e).units)
        run.asking = entry_at(run, e).owner
        for k in range(n):
            scratch_at(run, n + k).value = evaluate_on(run, pool.first_evict_key + k, vector)
        if takes_lead(run, n, victim < 0):
            victim = e
        e = entry_at(run, e).next
    return victim


@kernel
def evict(run: Row, p: int, e: int) -> None:
    """One step of eviction: the whole entry, or with blocks its last block."""
    pool, entry = pool_at(run, p), entry_at(run, e)
    units = entry.units
    if pool.block > 0.0 and units > pool.block:
        units = pool.block
        entry.units -= units
        if entry.owner >= 0:
            set_slot(run, entry.owner, run.n_slots + p, entry.units)
    else:
        unlink_entry(run, e)
        pool.evicted_entries += 1
    pool.evicted_units += units
    set_cached(run, p, 0.0 if pool.n_entries == 0 else pool_shown_at(run, p).cached - units)


@kernel
def make_room(run: Row, p: int, units: float) -> bool:
    """Evict until `units` more fit beside what is used and cached; false if they do not fit even in an empty cache."""
    pool = pool_at(run, p)
    shown = pool_shown_at(run, p)
    while shown.used + shown.cached + units > pool.cap + TOLERANCE:
        e = choose_victim(run, p)
        if e < 0:
            return False
        evict(run, p, e)
    return True


@kernel
def put_entry(run: Row, p: int, s: int, units: float) -> None:
    """Keep units as a session's entry, replacing an older one; what has no place is not kept."""
    if not units > 0.0:
        return
    drop_entry(run, p, s)
    if not make_room(run, p, units):
        pool = pool_at(run, p)
        units = round_down(pool.cap - pool_shown_at(run, p).used, pool.block)
        if not units > 0.0:
            return
    e = new_entry(run, p, s, units)
    own_at(run, s * run.n_pools + p).entry = e
    set_slot(run, s, run.n_slots + p, units)
    if run.has_keyed_entries:
        keep_vector(run, e, s)
    set_cached(run, p, pool_shown_at(run, p).cached + units)


@kernel
def drop_entry(run: Row, p: int, s: int) -> None:
    """Remove a session's own entry from a pool."""
    e = own_entry(run, s, p)
    if e >= 0:
        take_from_entry(run, e, entry_at(run, e).units)


@kernel
def take_from_entry(run: Row, e: int, units: float) -> None:
    """Take units out of a session's own entry; what is left stays in its place without an owner."""
    entry = entry_at(run, e)
    p, s = entry.pool, entry.owner
    pool = pool_at(run, p)
    if units >= entry.units:
        units = entry.units
        unlink_entry(run, e)
    else:
        entry.units -= units
        if run.has_keyed_entries:
            keep_vector(run, e, s)
        entry.owner = -1
        forget_own(run, s, p)
    set_cached(run, p, 0.0 if pool.n_entries == 0 else pool_shown_at(run, p).cached - units)


@kernel
def consume(run: Row, p: int, s: int, most: float) -> float:
    """Take a session's prefix, `most` at most, out of the cache for its allocation; gives what was taken."""
    e = own_entry(run, s, p)
    if e < 0:
        return 0.0
    taken = min(entry_at(run, e).units, round_down(most, pool_at(run, p).block))
    take_from_entry(run, e, taken)
    return taken
