"""What happens in the pools between two instants: who holds what, what is cached, who waits.

In come the tables of a run and the two instants, out goes a `PoolLog` a pool. The run is driven event by event from
Python, and the log is what differs from one state to the next: a run without a log pays nothing for it. Read by
`plots/timeline.py`, through `Program.pool_logs`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from serq_lab.kernel.event_loop import run_slice
from serq_lab.kernel.invariants.reading import rows_at
from serq_lab.kernel.leaving import NEVER_PREEMPTED
from serq_lab.kernel.records import Failure
from serq_lab.kernel.storage.setup import RunTables, Simulation
from serq_lab.kernel.storage.state import ALLOCATION, ENTRY, OWN, SESSION


class Stay(NamedTuple):
    """Units of one session in a pool, from `start` to `end`; both lie within the log.

    `steps` are the instants from which on it has so many units, the first at `start`; `session` is its serial number,
    -1 for a cached prefix that nobody owns any more. `is_preempted`: its session had to give the units back.
    """

    session: int
    start: float
    end: float
    steps: tuple[tuple[float, float], ...]
    is_preempted: bool = False


class Waiting(NamedTuple):
    """A session in a queue: its serial number, and the units that it needs."""

    session: int
    needs: float


class PoolLog(NamedTuple):
    """One pool between two instants.

    Attributes
    ----------
    start, stop : float
    cap : float
        Units, perhaps infinite.
    is_fifo : bool
        Whether the first in the queue is the head; otherwise keys say who is.
    holds, cached : tuple of Stay
        In order of their start.
    queues : tuple of (float, tuple of Waiting)
        The instants from which on the queue is so, in order of joining; the first at `start`.
    used : tuple of (float, float)
        The instants from which on so many units are held.
    arrivals : tuple of float
        When sessions were created, one entry a session, over all pools.
    evictions, preemptions, rejections : tuple of (float, float)
        When, and how many entries or sessions.
    """

    start: float
    stop: float
    cap: float
    is_fifo: bool
    holds: tuple[Stay, ...]
    cached: tuple[Stay, ...]
    queues: tuple[tuple[float, tuple[Waiting, ...]], ...]
    used: tuple[tuple[float, float], ...]
    arrivals: tuple[float, ...]
    evictions: tuple[tuple[float, float], ...]
    preemptions: tuple[tuple[float, float], ...]
    rejections: tuple[tuple[float, float], ...]


def log_pools(tables: RunTables, start: float, stop: float) -> tuple[list[PoolLog], Failure | None]:
    """The logs of all pools, one a member, and why the run stopped before, if it failed.

    Parameters
    ----------
    tables : RunTables
    start, stop : float
        The log is of [start, stop]; a run that is over before leaves the rest empty.
    """
    simulation = Simulation(tables)
    simulation.runs["is_stepwise"] = True
    is_over = bool(run_slice(simulation.runs, _steps_before(tables, start)))
    writers = [_Writer(p, start) for p in range(len(tables.members.caps))]
    now, n_preemptions = start, int(simulation.runs[0]["n_preemptions"])
    while True:
        state = _State(simulation)
        preempted = state.set_back() if state.n_preemptions > n_preemptions else set()
        n_preemptions = state.n_preemptions
        for writer in writers:
            writer.look(now, state, preempted)
        is_over = is_over or bool(run_slice(simulation.runs, 1))
        now = float(simulation.runs[0]["now"])
        if is_over or now > stop:
            return [writer.finish(stop) for writer in writers], simulation.failure()


def _steps_before(tables: RunTables, start: float) -> int:
    """How many steps of a run come before an instant; found by going that way once."""
    simulation = Simulation(tables)
    simulation.runs["is_stepwise"] = True
    n = 0
    while not run_slice(simulation.runs, 1) and simulation.runs[0]["now"] < start:
        n += 1
    return n


class _State:
    """The tables of a simulation between two events, as far as pools are concerned."""

    def __init__(self, simulation: Simulation) -> None:
        run = simulation.runs[0]
        self.arrivals, self.n_preemptions = int(run["arrivals"]), int(run["n_preemptions"])
        self.pools, self.shown = simulation.pools, simulation.pools_shown
        self.sessions = rows_at(run["sessions"], int(run["n_sessions"]), SESSION)
        self.entries = rows_at(run["entries"], int(run["n_entries"]), ENTRY)
        self.allocations = rows_at(run["allocations"], int(run["n_allocations"]), ALLOCATION)
        n_owns = len(self.sessions) * len(self.pools) if run["has_owns"] else 0
        self.owns = rows_at(run["owns"], n_owns, OWN)
        self.serials = self.sessions["serial"].tolist()

    def set_back(self) -> set[int]:
        """The sessions that a preemption has set back and that have got no token since, also where they wait at another
        pool, were turned away, or are back in at once."""
        reached = self.owns["preempted_position"].reshape(len(self.sessions), -1)
        rows = np.flatnonzero((self.sessions["is_set_back"] != 0) & (reached > NEVER_PREEMPTED).any(axis=1))
        return {self.serials[s] for s in rows}

    def holds(self, p: int) -> Iterator[tuple[Hashable, int, float]]:
        """Key, session and units of each hold on a pool; no two holds of a run have the same key."""
        held = self.allocations[(self.allocations["is_held"] != 0) & (self.allocations["pool"] == p)]
        columns = (held[name].tolist() for name in ("admission", "claim", "session", "units"))
        for admission, claim, s, units in zip(*columns, strict=True):
            yield (admission, claim), self.serials[s], units

    def cached(self, p: int) -> Iterator[tuple[Hashable, int, float]]:
        """Key, session and units of each entry of a pool."""
        for e in _linked(int(self.pools["oldest"][p]), self.entries["next"]):
            entry = self.entries[e]
            owner = int(entry["owner"])
            session = self.serials[owner] if owner >= 0 else -1
            yield (e, float(entry["released_at"])), session, float(entry["units"])

    def queue(self, p: int) -> Iterator[Waiting]:
        """Who waits at a pool."""
        for s in _linked(int(self.pools["queue_head"][p]), self.sessions["next"]):
            a = int(self.sessions["pending"][s])
            while a >= 0 and self.allocations["pool"][a] != p:
                a = int(self.allocations["next_claim"][a])
            needs = float(self.allocations["needs"][a]) if a >= 0 else math.nan
            yield Waiting(self.serials[s], needs)


def _linked(head: int, following: NDArray[np.int64]) -> Iterator[int]:
    while head >= 0:
        yield head
        head = int(following[head])


COUNTERS = ("evicted_entries", "preemptions", "rejected")


class _Writer:
    """Compares the states of one pool."""

    def __init__(self, p: int, start: float) -> None:
        self.p, self.start = p, start
        self.holds, self.cached = _Stays(), _Stays()
        self.queues: list[tuple[float, tuple[Waiting, ...]]] = []
        self.used: list[tuple[float, float]] = []
        self.arrivals: list[float] = []
        self.counted: dict[str, list[tuple[float, float]]] = {name: [] for name in COUNTERS}
        self._counters: dict[str, int] = {}
        self._n_arrivals = -1
        self.cap, self.is_fifo = math.inf, True

    def look(self, now: float, state: _State, preempted: set[int]) -> None:
        """Note what has changed by `now`; the holds of `preempted` that are gone were taken from them."""
        pool = state.pools[self.p]
        self.cap, self.is_fifo = float(pool["cap"]), not pool["n_queue_keys"]
        self.holds.look(now, state.holds(self.p), preempted)
        self.cached.look(now, state.cached(self.p), set())
        _note(self.queues, now, tuple(state.queue(self.p)))
        _note(self.used, now, float(state.shown["used"][self.p]))
        if self._n_arrivals >= 0:
            self.arrivals += [now] * (state.arrivals - self._n_arrivals)
        self._n_arrivals = state.arrivals
        for name in COUNTERS:
            count = int(pool[name])
            if count > self._counters.get(name, count):
                self.counted[name].append((now, float(count - self._counters[name])))
            self._counters[name] = count

    def finish(self, stop: float) -> PoolLog:
        """The log, with an end to what is still there."""
        return PoolLog(
            self.start, stop, self.cap, self.is_fifo, self.holds.finish(stop), self.cached.finish(stop),
            tuple(self.queues), tuple(self.used), tuple(self.arrivals),
            *(tuple(self.counted[name]) for name in COUNTERS),
        )  # fmt: skip


def _note(changes: list[tuple[float, object]] | list[tuple[float, float]] | list[tuple[float, tuple[Waiting, ...]]],
          now: float, value: object) -> None:  # fmt: skip
    """Add a change point, unless nothing has changed; one an instant, its last value."""
    if changes and changes[-1][0] == now:
        changes.pop()
    if not changes or changes[-1][1] != value:
        changes.append((now, value))  # type: ignore[arg-type]


class _Stays:
    """Stays that are under way, by key, and those that are over."""

    def __init__(self) -> None:
        self._open: dict[Hashable, tuple[int, list[tuple[float, float]]]] = {}
        self._closed: list[Stay] = []

    def look(self, now: float, present: Iterator[tuple[Hashable, int, float]], preempted: set[int]) -> None:
        """Note who is there by `now`; `preempted` are sessions that a preemption has set back."""
        seen = set()
        for key, session, units in present:
            seen.add(key)
            owner, steps = self._open.setdefault(key, (session, []))
            self._open[key] = (session if session >= 0 else owner, steps)
            if not steps or steps[-1][1] != units:
                steps.append((now, units))
        for key in [key for key in self._open if key not in seen]:
            self._close(key, now, preempted)

    def _close(self, key: Hashable, now: float, preempted: set[int]) -> None:
        session, steps = self._open.pop(key)
        self._closed.append(Stay(session, steps[0][0], now, tuple(steps), session in preempted))

    def finish(self, stop: float) -> tuple[Stay, ...]:
        for key in list(self._open):
            self._close(key, stop, set())
        return tuple(sorted(self._closed, key=lambda stay: (stay.start, stay.end)))
