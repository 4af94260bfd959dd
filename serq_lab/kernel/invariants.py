"""What must hold of the state after every event, whatever the program: the engine's check of itself.

In comes a `Simulation` between two events; a state that contradicts itself raises `InvariantError`, which says when
and with which numbers. Plain Python on copies of the tables, slow, and it counts everything anew rather than trusting
what the kernel has counted. `event_loop.py` asks it when a run is to be checked.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from serq_lab.kernel.storage.setup import Simulation
from serq_lab.kernel.storage.state import (
    ALLOCATION,
    ENTRY,
    HEAP_ITEM,
    OWN,
    SESSION,
    TAG_KINDS,
    EventKind,
    Place,
)
from serq_lab.kernel.storage.tables import StageKind

TOLERANCE = 1e-9  # of what fits into a pool, as in `cache.py`
PARTS_OF_CAP = 1e-14  # beside it, for capacities so large that their rounding exceeds it
PARTS_OF_SUM = 1e-9  # of sums that are kept up to date by adding and subtracting


class InvariantError(Exception):
    """The state of a run contradicts itself: the engine is wrong, not the program."""


class Invariants:
    """The check of one run.

    Parameters
    ----------
    simulation : Simulation
        Its tables are read anew at every check.
    """

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.run = simulation.runs[0]
        self.now = 0.0
        self.arrivals = self.ended = 0
        self.live: set[int] = set()  # their serials

    def check(self) -> None:
        """Check the state as the last event has left it; a run that a failure stops may end in mid-event.

        Raises
        ------
        InvariantError
            With the instant, what is wrong where, and the numbers.
        """
        if self.simulation.failure() is not None:
            return
        self._read_tables()
        self._check_time()
        for h in range(len(self.simulation.heaps)):
            self._check_heap(h)
        self._check_allocations()
        self._check_places()
        self._check_sessions()
        for p in range(len(self.pools)):
            self._check_pool(p)
            self._check_entries(p)
            self._check_waiting(p)
        self._check_free_entries()
        for i in range(len(self.stages)):
            self._check_stage(i)

    # ------------------------------------------------------------- reading

    def _read_tables(self) -> None:
        run, simulation = self.run, self.simulation
        self.pools, self.pools_shown = simulation.pools, simulation.pools_shown
        self.stages, self.stages_shown = simulation.stages, simulation.stages_shown
        n = int(run["n_sessions"])
        self.sessions = rows_at(run["sessions"], n, SESSION)
        length = int(run["vector_bytes"]) // 8
        self.vectors = rows_at(run["vectors"], n * length, np.dtype(np.float64)).reshape(n, length)
        self.owns = rows_at(run["owns"], n * len(self.pools) if run["has_owns"] else 0, OWN)
        self.allocations = rows_at(run["allocations"], int(run["n_allocations"]), ALLOCATION)
        self.entries = rows_at(run["entries"], int(run["n_entries"]), ENTRY)
        is_alive = self.sessions["place"] != Place.FREE
        self.alive = np.flatnonzero(is_alive & (self.sessions["is_ownerless"] == 0)).tolist()
        self.ownerless = np.flatnonzero(is_alive & (self.sessions["is_ownerless"] != 0)).tolist()

    def _need(self, holds: object, message: str) -> None:
        if not holds:
            raise InvariantError(f"at time {float(self.run['now'])!r}, after {self.run['events']} events: {message}")

    def _follow(self, what: str, head: int, following: NDArray[np.int64]) -> Iterator[int]:
        """The rows of a list; one that leaves its table or turns in a circle is a fault."""
        left, row = len(following), int(head)
        while row != -1:
            self._need(0 <= row < len(following), f"{what} leads to row {row} of {len(following)}")
            self._need(left > 0, f"{what} turns in a circle at row {row}")
            yield row
            left, row = left - 1, int(following[row])

    def _linked(
        self, what: str, head: int, tail: int, table: NDArray[np.void], links: tuple[str, str] = ("next", "previous")
    ) -> list[int]:
        """The rows of a list that is linked both ways."""
        found = list(self._follow(what, head, table[links[0]]))
        previous = [int(table[links[1]][row]) for row in found]
        self._need(previous == [-1, *found][: len(found)], f"{what} is {found} forwards, with {previous} before them")
        self._need((found or [-1])[-1] == tail, f"{what} is {found}, and its last is said to be {tail}")
        return found

    # --------------------------------------------------------- time, events

    def _check_time(self) -> None:
        run = self.run
        now = float(run["now"])
        self._need(now >= self.now, f"time went back from {self.now!r}")
        self._need(run["ready_head"] == -1, f"session {run['ready_head']} is still ready")
        self._need(run["has_open_top"] == 0, "the event that was handled is still there")
        self.now = now

    def _check_heap(self, h: int) -> None:
        """Items are in order, and no two of one order; events are not in the past."""
        what = "the heap of events" if h == 0 else f"the heap of stage {h - 1}"
        items = self._items(h)
        keys = list(zip(items["time"].tolist(), items["order"].tolist(), strict=True))
        for i in range(1, len(keys)):
            parent = (i - 1) // 2
            self._need(keys[parent] < keys[i], f"in {what} item {i} {keys[i]} is below {keys[parent]}")
        self._need(len({order for _, order in keys}) == len(keys), f"in {what} two items are of one order")
        if h == 0:
            self.events = dict(zip(items["order"].tolist(), items["tag"].tolist(), strict=True))
            early = [key for key in keys[:1] if not (key[0] >= self.now or math.isnan(key[0]))]
            self._need(not early, f"the next event {early} is in the past")

    def _items(self, h: int) -> NDArray[np.void]:
        heap = self.simulation.heaps[h]
        return rows_at(heap["items"], int(heap["n"]), HEAP_ITEM)

    # ------------------------------------------------------------- sessions

    def _check_allocations(self) -> None:
        """Every row is free, or belongs to one session: to the hold it waits for, one it is in, or a lease."""
        allocations = self.allocations
        rows: list[int] = []
        self.leased: list[int] = []
        for s in self.alive:
            session = self.sessions[s]
            pending = list(self._follow("a hold that is waited for", session["pending"], allocations["next_claim"]))
            self._need(
                not allocations["is_held"][pending].any(), f"session {s} waits for a hold that it has: {pending}"
            )
            mine = pending
            for head in self._follow("the holds of a session", session["innermost"], allocations["outer"]):
                mine.extend(self._follow("the claims of a hold", head, allocations["next_claim"]))
            leases = list(self._follow("the leases of a session", session["first_lease"], allocations["next_lease"]))
            self._need(not allocations["is_held"][leases].any(), f"session {s} holds what it leases: {leases}")
            mine.extend(leases)
            self.leased.extend(leases)
            owners = allocations["session"][mine].tolist()
            self._need(owners == [s] * len(mine), f"session {s} has allocations {mine}, which are those of {owners}")
            rows.extend(mine)
        free = list(self._follow("the free allocations", self.run["free_allocation"], allocations["next_claim"]))
        self._need(not allocations["is_held"][free].any(), "a free allocation is held")
        rows.extend(free)
        self._need(
            sorted(rows) == list(range(len(allocations))),
            f"of {len(allocations)} allocations {len(set(rows))} are free or a session's, {len(rows)} with repeats",
        )

    def _check_places(self) -> None:
        """Every live session stands in one list, that of its place."""
        self.queues: list[list[int]] = []
        self.growers: list[list[int]] = []
        self.lines: list[list[int]] = []
        stands: dict[int, str] = {}

        def stand(found: list[int], place: Place, where: str) -> list[int]:
            for s in found:
                self._need(s not in stands, f"session {s} stands in {stands.get(s)} and in {where}")
                self._need(
                    self.sessions["place"][s] == place,
                    f"session {s} in {where} is at place {self.sessions['place'][s]}",
                )
                stands[s] = where
            return found

        for p, pool in enumerate(self.pools):
            where = f"the queue of pool {p}"
            found = self._linked(where, pool["queue_head"], pool["queue_tail"], self.sessions)
            self.queues.append(stand(found, Place.QUEUED, where))
            where = f"the growers of pool {p}"
            found = self._linked(where, pool["grower_head"], pool["grower_tail"], self.sessions)
            self.growers.append(stand(found, Place.GROWING, where))
        for i, stage in enumerate(self.stages):
            where = f"the line of stage {i}"
            found = self._linked(where, stage["wait_head"], stage["wait_tail"], self.sessions)
            self.lines.append(stand(found, Place.AT_STAGE, where))
        at_stage = (self.sessions["place"] == Place.AT_STAGE) & (self.sessions["stage"] >= 0)
        lost = [s for s in self.alive if s not in stands and not at_stage[s]]
        self._need(not lost, f"sessions {lost} stand nowhere")

    def _check_sessions(self) -> None:
        """Nobody is lost: rows are live or free, and who has come has ended or is here."""
        run, sessions = self.run, self.sessions
        free = list(self._follow("the free sessions", run["free_session"], sessions["next"]))
        self._need(
            sorted(free + self.alive + self.ownerless) == list(range(len(sessions))),
            f"of {len(sessions)} rows of sessions {len(self.alive)} are live and {len(free)} free",
        )
        serials = set(sessions["serial"][self.alive].tolist())
        arrivals, live = int(run["arrivals"]), len(self.alive)
        self._need(len(serials) == live == run["live"], f"{live} sessions live, {run['live']} are counted: {serials}")
        could_live = self.live | set(range(self.arrivals, arrivals))
        self._need(serials <= could_live, f"sessions {serials - could_live} live again")
        gone = len(could_live) - live
        counted = int(run["ended"]) - self.ended
        expected = gone if self.simulation.header["is_warm"] else 0
        self._need(counted == expected, f"{gone} sessions have ended, {counted} are counted since the event before")
        self.arrivals, self.ended, self.live = arrivals, int(run["ended"]), serials

    # ---------------------------------------------------------------- pools

    def _check_pool(self, p: int) -> None:
        """What a pool shows is what is held, cached and waiting there, and it is not overfull."""
        shown, cap = self.pools_shown[p], float(self.pools[p]["cap"])
        used, cached = float(shown["used"]), float(shown["cached"])
        leased = [a for a in self.leased if self.allocations["pool"][a] == p]
        taken = np.flatnonzero((self.allocations["pool"] == p) & (self.allocations["is_held"] != 0)).tolist()
        if self.pools[p]["is_lifo"]:
            links = self.allocations["previous_holder"]
            listed = self._follow(f"the holders of pool {p}", self.pools[p]["last_holder"], links)
            self._need(sorted(listed) == taken, f"pool {p} has the holders {taken}, listed are others")
        held = self.allocations[taken + leased]
        self._need(
            used + cached <= cap + TOLERANCE + PARTS_OF_CAP * cap,
            f"pool {p} has {used!r} used and {cached!r} cached, over its cap {cap!r}",
        )
        self._need(is_sum(used, held["units"]), f"pool {p} has {used!r} used, held are {held['units'].tolist()}")
        self._need(shown["holders"] == len(held), f"pool {p} has {shown['holders']} holders, held are {len(held)}")
        queued = len(self.queues[p])
        self._need(shown["queued"] == queued, f"pool {p} has {shown['queued']} queued, in its queue are {queued}")

    def _check_entries(self, p: int) -> None:
        """The entries of a pool stand in order of release, add up to what is cached, and are known to their owners."""
        pool, entries, where = self.pools[p], self.entries, f"the cache of pool {p}"
        found = self._linked(where, pool["oldest"], pool["youngest"], entries)
        units, cached = entries["units"][found], float(self.pools_shown[p]["cached"])
        self._need(
            len(found) == pool["n_entries"], f"{where} has {len(found)} entries, {pool['n_entries']} are counted"
        )
        self._need(is_sum(cached, units), f"{where} shows {cached!r} cached, its entries are {units.tolist()}")
        self._need((units > 0).all(), f"{where} has an entry of nothing: {units.tolist()}")
        times = entries["released_at"][found].tolist()
        self._need(times == sorted(times), f"{where} has entries of times {times}")
        self._need((entries["pool"][found] == p).all(), f"{where} has entries of pools {entries['pool'][found]}")
        if not self.run["has_owns"]:
            return
        owned = {int(entries["owner"][e]): e for e in found if entries["owner"][e] >= 0}
        for s in self.alive:
            e, size = int(self.owns["entry"][s * len(self.pools) + p]), self.vectors[s, int(self.run["n_slots"]) + p]
            self._need(e == owned.pop(s, -1), f"{where} has not the entry {e} that session {s} has there")
            mine = float(entries["units"][e]) if e >= 0 else 0.0
            self._need(size == mine, f"{where} has {mine!r} of session {s}, which reads {size!r}")
        self._need(not owned, f"{where} has entries of sessions that are gone: {owned}")

    def _check_free_entries(self) -> None:
        free = list(self._follow("the free entries", self.run["free_entry"], self.entries["next"]))
        used = int(self.pools["n_entries"].sum())
        self._need(
            len(free) + used == len(self.entries) and (self.entries["pool"][free] == -1).all(),
            f"of {len(self.entries)} rows of entries {used} are cached and {len(free)} free",
        )

    def _check_waiting(self, p: int) -> None:
        """Nobody waits for what is there: the first grower and, where its needs are known, the first in the queue."""
        pool, shown = self.pools[p], self.pools_shown
        for s in self.growers[p]:
            allocation = self.allocations[self.sessions["grow_allocation"][s]]
            self._need(
                allocation["session"] == s and allocation["pool"] == p and allocation["is_held"],
                f"session {s} grows what it does not hold in pool {p}",
            )
        # An iteration may admit a session that frees units at the end of its life, after the pools were served.
        if (self.stages["kind"] == StageKind.STEP).any():
            return
        for s in self.growers[p][:1]:
            wanted = float(self.sessions["grow_units"][s])
            more = wanted - float(self.allocations["units"][self.sessions["grow_allocation"][s]])
            used, cap = float(shown["used"][p]), float(pool["cap"])
            self._need(
                used + more > cap + TOLERANCE,
                f"session {s} could grow by {more!r} in pool {p}: used {used!r} of {cap!r}",
            )
        if pool["n_queue_keys"] or pool["via"] >= 0:
            return
        for s in self.queues[p][:1]:
            claims = list(self._follow("a hold", self.sessions["pending"][s], self.allocations["next_claim"]))
            needs = [
                (int(q), float(shown["used"][q]), float(self.allocations["needs"][a]), float(self.pools["cap"][q]))
                for a in claims
                for q in (self.allocations["pool"][a],)
            ]
            is_known = self.simulation.tables.program.ops["is_static"][self.allocations["op"][claims[0]]]
            self._need(
                not is_known or any(used + need > cap for _, used, need, cap in needs),
                f"session {s}, first in the queue of pool {p}, fits: (pool, used, needs, cap) are {needs}",
            )

    # --------------------------------------------------------------- stages

    def _check_stage(self, i: int) -> None:
        """The jobs at a stage are those it counts; no server is idle while a job waits; who is served, ends."""
        stage, kind, where = self.stages[i], self.stages["kind"][i], f"stage {i}"
        if stage["is_flow"]:  # a flow is at several stages, its session names one
            return
        at = sorted(s for s in self.alive + self.ownerless if self.sessions["stage"][s] == i)
        counted, shown = int(stage["n_jobs"]), float(self.stages_shown["queue"][i])
        self._need(len(at) == counted == shown, f"{where} counts {counted} jobs and shows {shown!r}: there are {at}")
        if kind == StageKind.FIFO:
            waiting, in_service = len(self.lines[i]), int(stage["n_in_service"])
            self._need(
                in_service == min(stage["servers"], counted) and in_service + waiting == counted,
                f"{where} has {counted} jobs, {in_service} of them at {stage['servers']} servers and {waiting} in line",
            )
        if stage["is_listed"]:
            links = ("job_next", "job_previous")
            listed = self._linked(f"the jobs of {where}", stage["job_head"], stage["job_tail"], self.sessions, links)
            self._need(sorted(listed) == at, f"the jobs of {where} are {at}, listed are {listed}")
        if kind == StageKind.PS:
            sharing = sorted(self._items(i + 1)["tag"].tolist())
            self._need(sharing == at, f"the jobs of {where} are {at}, in its heap are {sharing}")
            if stage["rate"] > 0:
                self._need(int(stage["pending_event"]) in self.events, f"{where} waits for an event that is not there")
        elif kind == StageKind.STEP:
            self._check_engine(i, at)
        else:
            for s in set(at) - set(self.lines[i]):
                tag = self.events.get(int(self.sessions["job_event"][s]))
                self._need(tag == s * TAG_KINDS + EventKind.JOB_END, f"the job of session {s} at {where} never ends")

    def _check_engine(self, i: int, at: list[int]) -> None:
        """Residents stand in order of admission; those with tokens are among them, and their iteration ends."""
        stage, sessions, where = self.stages[i], self.sessions, f"stage {i}"
        links = ("resident_next", "resident_previous")
        head, tail = stage["resident_head"], stage["resident_tail"]
        found = self._linked(f"the residents of {where}", head, tail, sessions, links)
        self._need(sorted(found) == at, f"the jobs of {where} are {at}, its residents {found}")
        admissions = [float(a) if a >= 0 else math.inf for a in sessions["admission"][found]]
        self._need(admissions == sorted(admissions), f"the residents of {where} were admitted in order {admissions}")
        served = list(self._follow(f"the tokens of {where}", stage["scheduled_head"], sessions["scheduled_next"]))
        are_served = set(served) <= set(at) and (sessions["scheduled"][served] > 0).all()
        self._need(
            are_served and len(served) == stage["n_scheduled"],
            f"{where} gives tokens to {served}, {stage['n_scheduled']} are counted, residents are {at}",
        )
        ends = [tag for tag in self.events.values() if tag == i * TAG_KINDS + EventKind.ITERATION_END]
        self._need(len(ends) == stage["is_running"], f"{where} has {len(ends)} iterations that end")


def rows_at(address: Any, n: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """A copy of n rows at an address."""
    if n == 0:
        return np.empty(0, dtype)
    return np.frombuffer(ctypes.string_at(int(address), n * dtype.itemsize), dtype)


def is_sum(total: float, parts: NDArray[np.float64]) -> bool:
    """Whether a total that was kept up to date is the sum of its parts."""
    return math.isclose(total, math.fsum(parts.tolist()), rel_tol=PARTS_OF_SUM, abs_tol=TOLERANCE)
