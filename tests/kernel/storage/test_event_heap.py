"""Heaps and the queue of events give what a sorted list gives, in whatever order items come and go."""

from __future__ import annotations

import bisect

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from serq_lab.kernel.storage.event_heap import (
    next_time,
    open_queue,
    push,
    remove_at,
    remove_first,
    schedule,
)
from serq_lab.kernel.storage.memory import REALLOCATE_ADDRESS, free
from serq_lab.kernel.storage.plain import FRONT_ROOM, bits_of, view
from serq_lab.kernel.storage.setup import empty_front
from serq_lab.kernel.storage.state import (
    HEAP,
    HEAP_ITEM,
    ORDERS_AT,
    RUN,
    TAG_KINDS,
    TAGS_AT,
    EventKind,
    front_at,
    heap_at,
    item_at,
)

PUSH, REMOVE_FIRST, REMOVE_AT = range(3)


def carry_out(runs, kinds, times, places, removed):  # type: ignore[no-untyped-def]
    """Operations on heap 0; of those that remove, the order of what went."""
    run = runs.view(np.recarray)[0]
    for k in range(len(kinds)):
        heap, kind = heap_at(run, 0), kinds[k]
        removed[k] = -1
        if kind == PUSH:
            push(run, 0, bits_of(times[k]), run.order, run.order * TAG_KINDS)
            run.order += 1
        elif heap.n > 0:
            place = places[k] % heap.n if kind == REMOVE_AT else 0
            removed[k] = item_at(heap, place).order
            if kind == REMOVE_FIRST:
                remove_first(run, 0)
            else:
                remove_at(run, 0, place)


class Heap:
    """A heap in native memory beside a sorted list of the same items."""

    def __init__(self) -> None:
        self.heaps = np.zeros(1, dtype=HEAP)
        self.runs = np.zeros(1, dtype=RUN)
        self.runs["heaps"], self.runs["heaps_room"] = self.heaps.ctypes.data, 1
        self.runs["reallocate"] = REALLOCATE_ADDRESS
        self.expected: list[tuple[float, int]] = []
        self.n_given = 0

    def do(self, operations: list[tuple[int, float, int]]) -> None:
        kinds, times, places = (np.array(column) for column in zip(*operations, strict=True))
        removed = np.zeros(len(kinds), dtype=np.int64)
        carry_out(self.runs, kinds.astype(np.int64), times.astype(np.float64), places.astype(np.int64), removed)
        for (kind, time, _), order in zip(operations, removed.tolist(), strict=True):
            self.follow(kind, time, order)
        assert self.heaps["n"][0] == len(self.expected)

    def follow(self, kind: int, time: float, order: int) -> None:
        if kind == PUSH:
            bisect.insort(self.expected, (time, self.n_given))
            self.n_given += 1
        elif kind == REMOVE_FIRST and order >= 0:
            assert self.expected.pop(0)[1] == order
        elif kind == REMOVE_AT and order >= 0:
            self.expected.remove(next(item for item in self.expected if item[1] == order))

    def drain(self) -> None:
        heap = self.heaps[0]
        items = [view(heap["items"] + k * HEAP_ITEM.itemsize, HEAP_ITEM) for k in range(heap["n"])]
        assert all(item.tag // TAG_KINDS == item.order for item in items)
        self.do([(REMOVE_FIRST, 0.0, 0)] * (len(self.expected) + 2))
        assert self.expected == []
        free(int(self.heaps["items"][0]))


times = st.sampled_from([0.0, 0.5, 1.0, 1.0 + 2**-52, 2.0, float("inf")]) | st.floats(0, 100)
operations = st.lists(st.tuples(st.sampled_from([PUSH, PUSH, REMOVE_FIRST, REMOVE_AT]), times, st.integers(0, 500)))


@settings(max_examples=150, deadline=None)
@given(st.lists(operations.filter(bool), min_size=1, max_size=4))
def test_items_come_in_order_of_time_then_of_scheduling(phases: list[list[tuple[int, float, int]]]) -> None:
    heap = Heap()
    for phase in phases:
        heap.do(phase)
    heap.drain()


class Queue:
    """The queue of events of a run beside a sorted list of the same."""

    def __init__(self) -> None:
        self.heaps, self.front = np.zeros(1, dtype=HEAP), empty_front()
        self.runs = np.zeros(1, dtype=RUN)
        for name, array in (("heaps", self.heaps), ("front", self.front)):
            self.runs[name], self.runs[name + "_room"] = array.ctypes.data, len(array)
        self.runs["reallocate"] = REALLOCATE_ADDRESS
        self.run = self.runs.view(np.recarray)[0]
        open_queue(self.run)
        self.expected: list[tuple[float, int]] = []

    def schedule(self, delay: float) -> None:
        due = float(self.run.now) + delay
        order = schedule(self.run, delay, EventKind.LEASE_END, int(self.run.order))
        bisect.insort(self.expected, (due, order))

    def handle(self) -> None:
        """Take the next event, and let its time come."""
        time, order = self.expected.pop(0)
        assert next_time(self.run) == time
        n = int(self.run.n_front)
        assert front_at(self.run, ORDERS_AT + n).value == order
        assert front_at(self.run, TAGS_AT + n).value == order * TAG_KINDS + EventKind.LEASE_END
        self.run.n_front = n - 1
        self.run.now = time


delays = st.sampled_from([0.0, 0.5, 1.0, 2.0, 1000.0]) | st.floats(0, 10)


@settings(max_examples=100, deadline=None)
@given(st.lists(delays, min_size=1, max_size=3 * FRONT_ROOM), st.lists(st.lists(delays, max_size=3), max_size=60))
def test_events_come_in_order_of_time_then_of_scheduling(first: list[float], scheduled: list[list[float]]) -> None:
    queue = Queue()
    for delay in [*first, float("inf")]:
        queue.schedule(delay)
    for due in scheduled:
        if len(queue.expected) > 1:
            queue.handle()
            for delay in due:
                queue.schedule(delay)
    while len(queue.expected) > 1:
        queue.handle()
    assert next_time(queue.run) == float("inf")
    free(int(queue.heaps["items"][0]))


def test_thousands_of_items_outgrow_the_first_room() -> None:
    heap = Heap()
    shuffled = np.random.default_rng(1).permutation(5000) // 2.0  # each time twice
    heap.do([(PUSH, float(time), 0) for time in shuffled])
    assert heap.heaps["items_room"][0] >= 5000
    heap.do([(REMOVE_AT, 0.0, int(place)) for place in shuffled[:2500]])
    heap.drain()
