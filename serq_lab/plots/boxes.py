"""Where in a pool each hold and each cached prefix is drawn: boxes that do not overlap and stay within the capacity.

In come the stays of a `PoolLog`, out go boxes for `timeline.py`. A pool only counts units; here each gets a place.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from serq_lab.report.pool_log import PoolLog, Stay

Piece = tuple[float, float]
"""A range of places."""

LEAST = 1e-9  # of a piece that is drawn, in units


class Box(NamedTuple):
    """A rectangle: from `start` to `end`, between two places of the pool."""

    stay: Stay
    is_cached: bool
    start: float
    end: float
    low: float
    high: float


class Change(NamedTuple):
    """From an instant on a stay has so many units; sorts what gives back before what takes."""

    time: float
    takes: bool
    order: int
    stay: Stay
    is_cached: bool
    units: float


def place(log: PoolLog) -> list[Box]:
    """Boxes of all stays, in order of their ends.

    Notes
    -----
    A stay takes the lowest free range that is long enough, or several shorter ones if there is none: the pool is
    not full, however scattered its free units are. A prefix takes the place of the hold that left it behind, and a
    hold that of the prefix it consumes.
    """
    free = Places(log.cap)
    held: dict[int, list[tuple[Piece, float]]] = {}  # of each stay, its pieces and since when
    left: dict[int, list[Piece]] = {}  # of each session, what it gave back at this instant
    left_at = -math.inf
    boxes: list[Box] = []
    for change in _changes(log):
        if change.time > left_at:
            left, left_at = {}, change.time
        key = id(change.stay)
        pieces = held.setdefault(key, [])
        more = change.units - sum(high - low for (low, high), _ in pieces)
        if more > LEAST:
            taken = free.take(more, left.get(change.stay.session, []))
            pieces += [(piece, change.time) for piece in taken]
            continue
        while more < -LEAST and pieces:
            (low, high), since = pieces.pop()
            cut = max(low, high + more)
            boxes.append(Box(change.stay, change.is_cached, since, change.time, low, high))
            if cut - low > LEAST:
                pieces.append(((low, cut), change.time))
            free.give((cut, high))
            left.setdefault(change.stay.session, []).append((cut, high))
            more += high - cut
    return boxes


def _changes(log: PoolLog) -> list[Change]:
    changes = []
    stays: Iterable[tuple[Stay, bool]] = [(s, False) for s in log.holds] + [(s, True) for s in log.cached]
    for order, (stay, is_cached) in enumerate(stays):
        before = 0.0
        for time, units in (*stay.steps, (stay.end, 0.0)):
            changes.append(Change(time, units > before, order, stay, is_cached, units))
            before = units
    return sorted(changes, key=lambda change: change[:3])


class Places:
    """The free places of a pool: ranges, from low to high, that do not touch."""

    def __init__(self, cap: float) -> None:
        self._free: list[Piece] = [(0.0, cap)]

    def take(self, units: float, wanted: Iterable[Piece] = ()) -> list[Piece]:
        """Take so many units: of the wanted places what is free, then the first range that is long enough, then what
        there is."""
        taken: list[Piece] = []
        for piece in wanted:
            units -= self._take_within(piece, units, taken)
        if units > LEAST:
            fitting = [piece for piece in self._free if piece[1] - piece[0] >= units - LEAST]
            for piece in fitting[:1] or list(self._free):
                units -= self._take_within(piece, units, taken)
        return taken

    def give(self, piece: Piece) -> None:
        """Give a range back."""
        merged: list[Piece] = []
        for low, high in sorted([*self._free, piece]):
            if merged and low <= merged[-1][1] + LEAST:
                merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
            else:
                merged.append((low, high))
        self._free = merged

    def _take_within(self, bounds: Piece, units: float, taken: list[Piece]) -> float:
        """Take up to `units` of what is free within some bounds; gives how much that was."""
        got = 0.0
        remaining: list[Piece] = []
        for low, high in self._free:
            first, last = max(low, bounds[0]), min(high, bounds[1], max(low, bounds[0]) + units - got)
            if last - first <= LEAST:
                remaining.append((low, high))
                continue
            taken.append((first, last))
            got += last - first
            remaining += [part for part in ((low, first), (last, high)) if part[1] - part[0] > LEAST]
        self._free = remaining
        return got
