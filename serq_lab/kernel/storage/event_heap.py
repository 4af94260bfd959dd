"""Binary heaps of (time, order): the events to come, and the marks of each ps stage.

Equal times fall in the order of scheduling; no time is negative. Behind the last item stands one that comes after
every other, so that an item with one below it has two. Used by `event_loop.py` and `stages.py`.
"""

from __future__ import annotations

import math

from serq_lab.kernel.storage.access import bits_of, is_before, rarely
from serq_lab.kernel.storage.memory import Row, inlined, kernel
from serq_lab.kernel.storage.state import TAG_KINDS, ensure_items, heap_at, item_at, key_at

EVENTS = 0  # the heap of events; a ps stage's own is `stage.heap`
AFTER_ALL = 2**62  # of orders


@inlined
def put(run: Row, h: int, i: int, bits: int, order: int, tag: int) -> None:
    place = key_at(heap_at(run, h), i)
    place.bits, place.order, place.tag = bits, order, tag


@inlined
def rise(run: Row, h: int, i: int, bits: int, order: int, tag: int) -> None:
    """Put an item where it belongs between place i, which is open, and the top."""
    heap = heap_at(run, h)
    while i > 0:
        parent = (i - 1) >> 1
        above = key_at(heap, parent)
        if is_before(above.bits, above.order, bits, order):
            break
        put(run, h, i, above.bits, above.order, above.tag)
        i = parent
    put(run, h, i, bits, order, tag)


@inlined
def sink(run: Row, h: int, i: int, bits: int, order: int, tag: int) -> None:
    """Put an item where it belongs between place i, which is open, and the bottom."""
    heap = heap_at(run, h)
    n = heap.n
    child = 2 * i + 1
    while child < n:
        left, right = key_at(heap, child), key_at(heap, child + 1)
        child += int(is_before(right.bits, right.order, left.bits, left.order))
        below = key_at(heap, child)
        if is_before(bits, order, below.bits, below.order):
            break
        put(run, h, i, below.bits, below.order, below.tag)
        i = child
        child = 2 * i + 1
    put(run, h, i, bits, order, tag)


@inlined
def set_length(run: Row, h: int, n: int) -> None:
    """A heap has n items now; the place behind them is there already."""
    heap_at(run, h).n = n
    put(run, h, n, bits_of(math.inf), AFTER_ALL, -1)


@kernel
def push(run: Row, h: int, time: float, order: int, tag: int) -> None:
    """Put an item into heap h."""
    heap = heap_at(run, h)
    n = heap.n
    ensure_items(heap, run, n + 2)
    set_length(run, h, n + 1)
    rise(run, h, n, bits_of(time), order, tag)


@kernel
def remove_first(run: Row, h: int) -> None:
    """Take the least item out of heap h."""
    heap = heap_at(run, h)
    last = key_at(heap, heap.n - 1)
    bits, order, tag = last.bits, last.order, last.tag
    set_length(run, h, heap.n - 1)
    if heap.n > 0:
        sink(run, h, 0, bits, order, tag)


@kernel
def remove_at(run: Row, h: int, i: int) -> None:
    """Take item i out of heap h."""
    heap = heap_at(run, h)
    last = key_at(heap, heap.n - 1)
    bits, order, tag = last.bits, last.order, last.tag
    set_length(run, h, heap.n - 1)
    if i == heap.n:
        return
    if i > 0:
        parent = key_at(heap, (i - 1) >> 1)
        if is_before(bits, order, parent.bits, parent.order):
            rise(run, h, i, bits, order, tag)
            return
    sink(run, h, i, bits, order, tag)


@inlined
def schedule(run: Row, delay: float, kind: int, subject: int) -> int:
    """Schedule an event after `delay`; gives its order, by which its owner knows it again."""
    time = run.now + delay
    if rarely(not time >= run.now):  # nothing is due in the past
        time = run.now
    return schedule_at(run, time, kind, subject)


@inlined
def schedule_at(run: Row, time: float, kind: int, subject: int) -> int:
    """As `schedule`, for a time that is not in the past.

    The event that is over leaves its place at the top to the first one that it leads to.
    """
    order = run.order
    run.order = order + 1
    tag = subject * TAG_KINDS + kind
    if run.has_open_top:
        run.has_open_top = 0
        sink(run, EVENTS, 0, bits_of(time), order, tag)
    else:
        push(run, EVENTS, time, order, tag)
    return order


@inlined
def close_top(run: Row) -> None:
    """The event that is over led to no other: take it out of the heap."""
    if run.has_open_top:
        run.has_open_top = 0
        remove_first(run, EVENTS)


@kernel
def next_time(run: Row) -> float:
    """When the next event is due; infinite if none is. The place at the top may be open."""
    events = heap_at(run, EVENTS)
    if events.n <= run.has_open_top:
        return math.inf
    if run.has_open_top:
        return min(item_at(events, 1).time, item_at(events, 2).time)
    return item_at(events, 0).time
