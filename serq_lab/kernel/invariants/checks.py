"""What must hold of the state after every event, whatever the program: the engine's check of itself.

In comes a `Simulation` between two events; a state that contradicts itself raises `InvariantError`, which says when
and with which numbers. Plain Python on copies of the tables, slow, and it counts everything anew rather than trusting
what the kernel has counted. `event_loop.py` asks it when a run is to be checked.
"""

from __future__ import annotations

import numpy as np

from serq_lab.kernel.invariants.reading import PARTS_OF_CAP, TOLERANCE, State, is_sum
from serq_lab.kernel.invariants.stages import check_flows, check_stage
from serq_lab.kernel.storage.setup import Simulation
from serq_lab.kernel.storage.state import Place
from serq_lab.kernel.storage.tables import StageKind


class Invariants:
    """The check of one run.

    Parameters
    ----------
    simulation : Simulation
        Its tables are read anew at every check.
    """

    def __init__(self, simulation: Simulation) -> None:
        self.state = State(simulation)
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
        state = self.state
        if state.simulation.failure() is not None:
            return
        state.read()
        self._check_time()
        for h in range(len(state.simulation.heaps)):
            self._check_heap(h)
        self._check_events()
        self._check_allocations()
        self._check_places()
        self._check_sessions()
        for p in range(len(state.pools)):
            self._check_pool(p)
            self._check_entries(p)
            self._check_waiting(p)
        self._check_free_entries()
        for i in range(len(state.stages)):
            check_stage(state, i, self.lines)
        check_flows(state)

    # --------------------------------------------------------- time, events

    def _check_time(self) -> None:
        state = self.state
        run = state.run
        now = float(run["now"])
        state.need(now >= self.now, f"time went back from {self.now!r}")
        state.need(run["ready_head"] == -1, f"session {run['ready_head']} is still ready")
        self.now = now

    def _check_heap(self, h: int) -> None:
        """Items are in order, and no two of one order."""
        state = self.state
        what = "the heap of events" if h == 0 else f"the heap of stage {h - 1}"
        items = state.items(h)
        keys = list(zip(items["time"].tolist(), items["order"].tolist(), strict=True))
        for i in range(1, len(keys)):
            parent = (i - 1) // 2
            state.need(keys[parent] < keys[i], f"in {what} item {i} {keys[i]} is below {keys[parent]}")
        state.need(len({order for _, order in keys}) == len(keys), f"in {what} two items are of one order")

    def _check_events(self) -> None:
        """Those of the front are in order, before all of the heap, and not in the past."""
        state = self.state
        front, rest = state.front(), state.items(0)
        events = np.concatenate([front, rest])
        keys = list(zip(events["time"].tolist(), events["order"].tolist(), strict=True))
        for i in range(1, min(len(front) + 1, len(keys))):
            state.need(keys[i - 1] < keys[i], f"in the queue of events {keys[i]} comes behind {keys[i - 1]}")
        state.events = dict(zip(events["order"].tolist(), events["tag"].tolist(), strict=True))
        state.need(len(state.events) == len(keys), "in the queue of events two are of one order")
        state.need(not keys or keys[0][0] >= self.now, f"the next event {keys[:1]} is in the past")

    # ------------------------------------------------------------- sessions

    def _check_allocations(self) -> None:
        """Every row is free, or belongs to one session: to the hold it waits for, one it is in, or a lease."""
        state = self.state
        allocations = state.allocations
        rows: list[int] = []
        state.leased = []
        for s in state.alive:
            session = state.sessions[s]
            pending = list(state.follow("a hold that is waited for", session["pending"], allocations["next_claim"]))
            state.need(
                not allocations["is_held"][pending].any(), f"session {s} waits for a hold that it has: {pending}"
            )
            mine = pending
            for head in state.follow("the holds of a session", session["innermost"], allocations["outer"]):
                mine.extend(state.follow("the claims of a hold", head, allocations["next_claim"]))
            leases = list(state.follow("the leases of a session", session["first_lease"], allocations["next_lease"]))
            state.need(not allocations["is_held"][leases].any(), f"session {s} holds what it leases: {leases}")
            mine.extend(leases)
            state.leased.extend(leases)
            owners = allocations["session"][mine].tolist()
            state.need(owners == [s] * len(mine), f"session {s} has allocations {mine}, which are those of {owners}")
            rows.extend(mine)
        free = list(state.follow("the free allocations", state.run["free_allocation"], allocations["next_claim"]))
        state.need(not allocations["is_held"][free].any(), "a free allocation is held")
        rows.extend(free)
        state.need(
            sorted(rows) == list(range(len(allocations))),
            f"of {len(allocations)} allocations {len(set(rows))} are free or a session's, {len(rows)} with repeats",
        )

    def _check_places(self) -> None:
        """Every live session stands in one list, that of its place."""
        state = self.state
        self.queues: list[list[int]] = []
        self.growers: list[list[int]] = []
        self.lines: list[list[int]] = []
        stands: dict[int, str] = {}

        def stand(found: list[int], place: Place, where: str) -> list[int]:
            for s in found:
                state.need(s not in stands, f"session {s} stands in {stands.get(s)} and in {where}")
                state.need(
                    state.sessions["place"][s] == place,
                    f"session {s} in {where} is at place {state.sessions['place'][s]}",
                )
                stands[s] = where
            return found

        for p, pool in enumerate(state.pools):
            where = f"the queue of pool {p}"
            found = state.linked(where, pool["queue_head"], pool["queue_tail"], state.sessions)
            self.queues.append(stand(found, Place.QUEUED, where))
            where = f"the growers of pool {p}"
            found = state.linked(where, pool["grower_head"], pool["grower_tail"], state.sessions)
            self.growers.append(stand(found, Place.GROWING, where))
        for i, stage in enumerate(state.stages):
            where = f"the line of stage {i}"
            found = state.linked(where, stage["wait_head"], stage["wait_tail"], state.sessions)
            self.lines.append(stand(found, Place.AT_STAGE, where))
        at_stage = (state.sessions["place"] == Place.AT_STAGE) & (state.sessions["stage"] >= 0)
        lost = [s for s in state.alive if s not in stands and not at_stage[s]]
        state.need(not lost, f"sessions {lost} stand nowhere")

    def _check_sessions(self) -> None:
        """Nobody is lost: rows are live or free, and who has come has ended or is here."""
        state = self.state
        run, sessions = state.run, state.sessions
        free = list(state.follow("the free sessions", run["free_session"], sessions["next"]))
        state.need(
            sorted(free + state.alive + state.ownerless) == list(range(len(sessions))),
            f"of {len(sessions)} rows of sessions {len(state.alive)} are live and {len(free)} free",
        )
        serials = set(sessions["serial"][state.alive].tolist())
        arrivals, live = int(run["arrivals"]), len(state.alive)
        state.need(len(serials) == live == run["live"], f"{live} sessions live, {run['live']} are counted: {serials}")
        could_live = self.live | set(range(self.arrivals, arrivals))
        state.need(serials <= could_live, f"sessions {serials - could_live} live again")
        gone = len(could_live) - live
        counted = int(run["ended"]) - self.ended
        expected = gone if state.simulation.header["is_warm"] else 0
        state.need(counted == expected, f"{gone} sessions have ended, {counted} are counted since the event before")
        self.arrivals, self.ended, self.live = arrivals, int(run["ended"]), serials

    # ---------------------------------------------------------------- pools

    def _check_pool(self, p: int) -> None:
        """What a pool shows is what is held, cached and waiting there, and it is not overfull."""
        state = self.state
        shown, cap = state.pools_shown[p], float(state.pools[p]["cap"])
        used, cached = float(shown["used"]), float(shown["cached"])
        leased = [a for a in state.leased if state.allocations["pool"][a] == p]
        taken = np.flatnonzero((state.allocations["pool"] == p) & (state.allocations["is_held"] != 0)).tolist()
        if state.pools[p]["is_lifo"]:
            links = state.allocations["previous_holder"]
            listed = state.follow(f"the holders of pool {p}", state.pools[p]["last_holder"], links)
            state.need(sorted(listed) == taken, f"pool {p} has the holders {taken}, listed are others")
        held = state.allocations[taken + leased]
        state.need(
            used + cached <= cap + TOLERANCE + PARTS_OF_CAP * cap,
            f"pool {p} has {used!r} used and {cached!r} cached, over its cap {cap!r}",
        )
        state.need(is_sum(used, held["units"]), f"pool {p} has {used!r} used, held are {held['units'].tolist()}")
        state.need(shown["holders"] == len(held), f"pool {p} has {shown['holders']} holders, held are {len(held)}")
        queued = len(self.queues[p])
        state.need(shown["queued"] == queued, f"pool {p} has {shown['queued']} queued, in its queue are {queued}")

    def _check_entries(self, p: int) -> None:
        """The entries of a pool stand in order of release, add up to what is cached, and are known to their owners."""
        state = self.state
        pool, entries, where = state.pools[p], state.entries, f"the cache of pool {p}"
        found = state.linked(where, pool["oldest"], pool["youngest"], entries)
        units, cached = entries["units"][found], float(state.pools_shown[p]["cached"])
        state.need(
            len(found) == pool["n_entries"], f"{where} has {len(found)} entries, {pool['n_entries']} are counted"
        )
        state.need(is_sum(cached, units), f"{where} shows {cached!r} cached, its entries are {units.tolist()}")
        state.need((units > 0).all(), f"{where} has an entry of nothing: {units.tolist()}")
        times = entries["released_at"][found].tolist()
        state.need(times == sorted(times), f"{where} has entries of times {times}")
        state.need((entries["pool"][found] == p).all(), f"{where} has entries of pools {entries['pool'][found]}")
        if not state.run["has_owns"]:
            return
        owned = {int(entries["owner"][e]): e for e in found if entries["owner"][e] >= 0}
        for s in state.alive:
            e = int(state.owns["entry"][s * len(state.pools) + p])
            size = state.vectors[s, int(state.run["n_slots"]) + p]
            state.need(e == owned.pop(s, -1), f"{where} has not the entry {e} that session {s} has there")
            mine = float(entries["units"][e]) if e >= 0 else 0.0
            state.need(size == mine, f"{where} has {mine!r} of session {s}, which reads {size!r}")
        state.need(not owned, f"{where} has entries of sessions that are gone: {owned}")

    def _check_free_entries(self) -> None:
        state = self.state
        free = list(state.follow("the free entries", state.run["free_entry"], state.entries["next"]))
        used = int(state.pools["n_entries"].sum())
        state.need(
            len(free) + used == len(state.entries) and (state.entries["pool"][free] == -1).all(),
            f"of {len(state.entries)} rows of entries {used} are cached and {len(free)} free",
        )

    def _check_waiting(self, p: int) -> None:
        """Nobody waits for what is there: the first grower and, where its needs are known, the first in the queue."""
        state = self.state
        pool, shown = state.pools[p], state.pools_shown
        for s in self.growers[p]:
            allocation = state.allocations[state.sessions["grow_allocation"][s]]
            state.need(
                allocation["session"] == s and allocation["pool"] == p and allocation["is_held"],
                f"session {s} grows what it does not hold in pool {p}",
            )
        # An iteration may admit a session that frees units at the end of its life, after the pools were served.
        if (state.stages["kind"] == StageKind.STEP).any():
            return
        for s in self.growers[p][:1]:
            wanted = float(state.sessions["grow_units"][s])
            more = wanted - float(state.allocations["units"][state.sessions["grow_allocation"][s]])
            used, cap = float(shown["used"][p]), float(pool["cap"])
            state.need(
                used + more > cap + TOLERANCE,
                f"session {s} could grow by {more!r} in pool {p}: used {used!r} of {cap!r}",
            )
        if pool["n_queue_keys"] or pool["via"] >= 0:
            return
        for s in self.queues[p][:1]:
            claims = list(state.follow("a hold", state.sessions["pending"][s], state.allocations["next_claim"]))
            needs = [
                (int(q), float(shown["used"][q]), float(state.allocations["needs"][a]), float(state.pools["cap"][q]))
                for a in claims
                for q in (state.allocations["pool"][a],)
            ]
            is_known = state.simulation.tables.program.ops["is_static"][state.allocations["op"][claims[0]]]
            state.need(
                not is_known or any(used + need > cap for _, used, need, cap in needs),
                f"session {s}, first in the queue of pool {p}, fits: (pool, used, needs, cap) are {needs}",
            )
