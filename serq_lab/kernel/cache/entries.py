"""Cached prefixes of a pool: the list of its entries, and what each remembers of its session (`LANGUAGE.md` section 5).

The entries of a pool are a list linked in release order, so the least recently used one is at hand whatever the size
of the cache; what is left of a partly consumed entry keeps its place in it. Used by `eviction.py` and `prefixes.py`.
"""

from __future__ import annotations

import numpy as np

from serq_lab.kernel.evaluation import set_slot, vector_of
from serq_lab.kernel.storage.access import load_float, rarely, store_float
from serq_lab.kernel.storage.memory import Row, inlined, kernel
from serq_lab.kernel.storage.state import ensure_entries, ensure_snapshots, entry_at, own_at, pool_at

TOLERANCE = 1e-9  # of `used + cached <= cap`


@inlined
def round_up(units: float, block: float) -> float:
    """Units as they are allocated; `block` is NaN for a pool without blocks, and then nothing is divided in vain."""
    if rarely(block > 0.0):
        return np.ceil(units / block) * block
    return units


@inlined
def round_down(units: float, block: float) -> float:
    """Units as they are cached."""
    if rarely(block > 0.0):
        return np.floor(units / block) * block
    return units


@kernel
def snapshot_of(run: Row, e: int) -> int:
    """The address of the copy of its owner's vector that an entry keeps."""
    return run.snapshots + e * run.vector_bytes


@kernel
def keep_vector(run: Row, e: int, source: int) -> None:
    """Copy a session's vector beside an entry of its, for keys that are read when the session is gone."""
    copy = snapshot_of(run, e)
    for k in range(run.n_slots):
        store_float(copy + 8 * k, load_float(source + 8 * k))


@inlined
def append_entry(run: Row, p: int, e: int) -> None:
    """Link an entry at the young end of a pool's list."""
    pool, entry = pool_at(run, p), entry_at(run, e)
    entry.released_at = run.now
    entry.next, entry.previous = -1, pool.youngest
    if pool.youngest >= 0:
        entry_at(run, pool.youngest).next = e
    else:
        pool.oldest = e
    pool.youngest = e


@inlined
def take_out_entry(run: Row, p: int, e: int) -> None:
    """Take an entry out of a pool's list."""
    pool, entry = pool_at(run, p), entry_at(run, e)
    if entry.previous >= 0:
        entry_at(run, entry.previous).next = entry.next
    else:
        pool.oldest = entry.next
    if entry.next >= 0:
        entry_at(run, entry.next).previous = entry.previous
    else:
        pool.youngest = entry.previous


@kernel
def new_entry(run: Row, p: int, s: int, units: float) -> int:
    """An entry at the young end of a pool's list; s is its owner, -1 for a dead one."""
    e = run.free_entry
    if e >= 0:
        run.free_entry = entry_at(run, e).next
    else:
        e = run.n_entries
        run.n_entries = e + 1
        ensure_entries(run, run, e + 1)
        if run.has_keyed_entries:
            ensure_snapshots(run, run, (e + 1) * (run.vector_bytes // 8))
    entry = entry_at(run, e)
    entry.owner, entry.pool, entry.units, entry.sibling = s, p, units, e
    append_entry(run, p, e)
    pool_at(run, p).n_entries += 1
    if s >= 0:
        own_at(run, s * run.n_pools + p).entry = e
        show_own(run, e)
        if run.has_keyed_entries:
            keep_vector(run, e, vector_of(run, s))
    return e


@kernel
def unlink_entry(run: Row, e: int) -> None:
    """An entry is gone: its row is free. The cached units are the caller's."""
    entry = entry_at(run, e)
    p = entry.pool
    take_out_entry(run, p, e)
    pool_at(run, p).n_entries -= 1
    if entry.owner >= 0:
        forget_own(run, entry.owner, p)
    else:
        leave_ring(run, e)
    entry.next = run.free_entry
    entry.pool = -1
    run.free_entry = e


@inlined
def show_own(run: Row, e: int) -> None:
    """What a session has cached in a pool, for expressions to read."""
    entry = entry_at(run, e)
    set_slot(run, entry.owner, run.n_slots + entry.pool, entry.units)


@inlined
def forget_own(run: Row, s: int, p: int) -> None:
    """A session has no entry of its own in a pool any more."""
    own_at(run, s * run.n_pools + p).entry = -1
    set_slot(run, s, run.n_slots + p, 0.0)


@inlined
def own_entry(run: Row, s: int, p: int) -> int:
    """The session's own entry in a pool, or -1."""
    if run.has_owns == 0:
        return -1
    return own_at(run, s * run.n_pools + p).entry


@kernel
def abandon_entries(run: Row, s: int) -> None:
    """A session ends: its entries stay, with nobody to use them, but still known as one another's."""
    if run.has_owns == 0:
        return
    first = -1
    for p in range(run.n_pools):
        e = own_at(run, s * run.n_pools + p).entry
        if e >= 0:
            entry_at(run, e).owner = -1
            forget_own(run, s, p)
            join_ring(run, e, first)
            first = e


@inlined
def join_ring(run: Row, e: int, other: int) -> None:
    """Put a dead entry into the ring of another one, or into one of its own."""
    if other < 0:
        entry_at(run, e).sibling = e
    else:
        entry_at(run, e).sibling = entry_at(run, other).sibling
        entry_at(run, other).sibling = e


@kernel
def leave_ring(run: Row, e: int) -> None:
    """A dead entry is gone: the ring closes without it."""
    last = e
    while entry_at(run, last).sibling != e:
        last = entry_at(run, last).sibling
    entry_at(run, last).sibling = entry_at(run, e).sibling
