"""A session's own prefix in a pool: kept at a release, taken out at an admission (`LANGUAGE.md` section 5).

Used by `pools.py`, `leaving.py` and `sessions.py`.
"""

from __future__ import annotations

from serq_lab.kernel.cache.entries import (
    forget_own,
    keep_vector,
    new_entry,
    own_entry,
    round_down,
    unlink_entry,
)
from serq_lab.kernel.cache.eviction import is_room, make_room
from serq_lab.kernel.evaluation import vector_of
from serq_lab.kernel.statistics import set_cached
from serq_lab.kernel.storage.memory import Row, kernel
from serq_lab.kernel.storage.state import entry_at, pool_at, pool_shown_at


@kernel
def put_entry(run: Row, p: int, s: int, units: float) -> None:
    """Keep units as a session's entry, replacing an older one; what has no place is not kept."""
    if not units > 0.0:
        return
    drop_entry(run, p, s)
    if not is_room(run, p, units) and not make_room(run, p, units):
        pool = pool_at(run, p)
        units = round_down(pool.cap - pool_shown_at(run, p).used, pool.block)
        if not units > 0.0:
            return
    new_entry(run, p, s, units)
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
            keep_vector(run, e, vector_of(run, s))
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
