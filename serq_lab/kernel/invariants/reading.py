"""The tables of a run between two events, as copies, and the walks along their lists that every check needs.

In comes a `Simulation`; a list that leads astray raises `InvariantError`. Used by `checks.py` and `stages.py`.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from serq_lab.kernel.storage.access import FRONT_ROOM
from serq_lab.kernel.storage.setup import Simulation
from serq_lab.kernel.storage.state import ALLOCATION, ENTRY, HEAP_ITEM, HOP, OWN, SESSION, Place

TOLERANCE = 1e-9  # of what fits into a pool, as in `cache/entries.py`
PARTS_OF_CAP = 1e-14  # beside it, for capacities so large that their rounding exceeds it
PARTS_OF_SUM = 1e-9  # of sums that are kept up to date by adding and subtracting


class InvariantError(Exception):
    """The state of a run contradicts itself: the engine is wrong, not the program."""


class State:
    """The state of one run, read anew by `read`.

    Attributes
    ----------
    alive, ownerless : list of int
        The rows of sessions that live, and of jobs that no session waits for.
    leased : list of int
        The rows of allocations that are leases; who checks the allocations fills it in.
    events : dict of int to int
        The tags of the scheduled events by their order; who checks the heap fills it in.
    """

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.run = simulation.runs[0]
        self.leased: list[int] = []
        self.events: dict[int, int] = {}

    def read(self) -> None:
        """Copy the tables."""
        run, simulation = self.run, self.simulation
        self.pools, self.pools_shown = simulation.pools, simulation.pools_shown
        self.stages, self.stages_shown = simulation.stages, simulation.stages_shown
        n = int(run["n_sessions"])
        self.sessions = rows_at(run["sessions"], n, SESSION)
        length = int(run["vector_bytes"]) // 8
        self.vectors = rows_at(run["vectors"], n * length, np.dtype(np.float64)).reshape(n, length)
        self.owns = rows_at(run["owns"], n * len(self.pools) if run["has_owns"] else 0, OWN)
        self.allocations = rows_at(run["allocations"], int(run["n_allocations"]), ALLOCATION)
        self.hops = rows_at(run["hops"], int(run["n_hops"]), HOP)
        self.entries = rows_at(run["entries"], int(run["n_entries"]), ENTRY)
        is_alive = self.sessions["place"] != Place.FREE
        self.alive = np.flatnonzero(is_alive & (self.sessions["is_ownerless"] == 0)).tolist()
        self.ownerless = np.flatnonzero(is_alive & (self.sessions["is_ownerless"] != 0)).tolist()

    def need(self, holds: object, message: str) -> None:
        if not holds:
            raise InvariantError(f"at time {float(self.run['now'])!r}, after {self.run['events']} events: {message}")

    def follow(self, what: str, head: int, following: NDArray[np.int64]) -> Iterator[int]:
        """The rows of a list; one that leaves its table or turns in a circle is a fault."""
        left, row = len(following), int(head)
        while row != -1:
            self.need(0 <= row < len(following), f"{what} leads to row {row} of {len(following)}")
            self.need(left > 0, f"{what} turns in a circle at row {row}")
            yield row
            left, row = left - 1, int(following[row])

    def linked(
        self, what: str, head: int, tail: int, table: NDArray[np.void], links: tuple[str, str] = ("next", "previous")
    ) -> list[int]:
        """The rows of a list that is linked both ways."""
        found = list(self.follow(what, head, table[links[0]]))
        previous = [int(table[links[1]][row]) for row in found]
        self.need(previous == [-1, *found][: len(found)], f"{what} is {found} forwards, with {previous} before them")
        self.need((found or [-1])[-1] == tail, f"{what} is {found}, and its last is said to be {tail}")
        return found

    def front(self) -> NDArray[np.void]:
        """The events of the front, the next one first."""
        columns = rows_at(self.run["front"], 3 * FRONT_ROOM, np.dtype(np.int64)).reshape(3, FRONT_ROOM)
        n = int(self.run["n_front"])
        return np.ascontiguousarray(columns[:, n:0:-1].T).view(HEAP_ITEM).reshape(-1)

    def items(self, h: int) -> NDArray[np.void]:
        heap = self.simulation.heaps[h]
        return rows_at(heap["items"], int(heap["n"]), HEAP_ITEM)


def rows_at(address: Any, n: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """A copy of n rows at an address."""
    if n == 0:
        return np.empty(0, dtype)
    return np.frombuffer(ctypes.string_at(int(address), n * dtype.itemsize), dtype)


def is_sum(total: float, parts: NDArray[np.float64]) -> bool:
    """Whether a total that was kept up to date is the sum of its parts."""
    return math.isclose(total, math.fsum(parts.tolist()), rel_tol=PARTS_OF_SUM, abs_tol=TOLERANCE)
