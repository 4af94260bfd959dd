"""The queue of events, and the binary heaps of (time, order) that it and the ps stages rest on.

Equal times fall in the order of scheduling; no time is negative. Behind the last item of a heap stands one that comes
after every other, so that an item with one below it has two. Used by `event_loop.py` and `stages.py`.

The next events of the queue are in its front, a sorted row of a few, and what comes after all of them in a heap. An
event goes into the front in vectors, without a branch that depends on times: where it will fall among a handful of
others is what a processor cannot foresee, and a branch that it guesses wrong costs as much as fifty instructions.
"""

from __future__ import annotations

import math

from serq_lab.kernel.storage.access import FRONT_ROOM, bits_of, insert_in_order, is_before, rarely
from serq_lab.kernel.storage.memory import Row, inlined, kernel
from serq_lab.kernel.storage.state import (
    ORDERS_AT,
    TAG_KINDS,
    TAGS_AT,
    ensure_items,
    front_at,
    front_time_at,
    heap_at,
    key_at,
)

EVENTS = 0  # the heap of the queue; a ps stage's own is `stage.heap`
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
def push(run: Row, h: int, bits: int, order: int, tag: int) -> None:
    """Put an item into heap h; its time is given by its bits."""
    heap = heap_at(run, h)
    n = heap.n
    ensure_items(heap, run, n + 2)
    set_length(run, h, n + 1)
    rise(run, h, n, bits, order, tag)


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


# ------------------------------------------------------------ the queue of events


@kernel
def open_queue(run: Row) -> None:
    """Before the first event: the heap, which has none yet, has a place for the item behind its last."""
    ensure_items(heap_at(run, EVENTS), run, 1)
    set_length(run, EVENTS, 0)


@inlined
def schedule(run: Row, delay: float, kind: int, subject: int) -> int:
    """Schedule an event after `delay`; gives its order, by which its owner knows it again."""
    time = run.now + delay
    if rarely(not time >= run.now):  # nothing is due in the past
        time = run.now
    return schedule_at(run, time, kind, subject)


@inlined
def schedule_at(run: Row, time: float, kind: int, subject: int) -> int:
    """As `schedule`, for a time that is not in the past."""
    order = run.order
    run.order = order + 1
    put_event(run, bits_of(time), order, subject * TAG_KINDS + kind)
    return order


@kernel
def put_event(run: Row, bits: int, order: int, tag: int) -> None:
    """Put an event, which comes after all others of its time, into the front if it is due before all that the heap
    has, else into the heap."""
    if rarely(run.n_front == FRONT_ROOM - 1):
        shorten_front(run)
    if rarely(bits >= key_at(heap_at(run, EVENTS), 0).bits):
        push(run, EVENTS, bits, order, tag)
        return
    insert_in_order(run.front, run.n_front, bits, order, tag)
    run.n_front += 1


@kernel
def shorten_front(run: Row) -> None:
    """The front is full: the later half of it goes to the heap."""
    n_left = FRONT_ROOM // 2 - 1
    n_gone = run.n_front - n_left
    for i in range(1, n_gone + 1):
        bits, order, tag = front_at(run, i).value, front_at(run, ORDERS_AT + i).value, front_at(run, TAGS_AT + i).value
        push(run, EVENTS, bits, order, tag)
    for i in range(1, n_left + 1):
        for column in (0, ORDERS_AT, TAGS_AT):
            front_at(run, column + i).value = front_at(run, column + i + n_gone).value
    for i in range(n_left + 1, FRONT_ROOM):
        front_at(run, i).value = 0  # behind the last event no time is later than now
    run.n_front = n_left


@kernel
def refill_front(run: Row) -> None:
    """The front is empty: the first events of the heap come into it."""
    n = min(heap_at(run, EVENTS).n, FRONT_ROOM // 2)
    for i in range(n, 0, -1):
        first = key_at(heap_at(run, EVENTS), 0)
        front_at(run, i).value, front_at(run, ORDERS_AT + i).value = first.bits, first.order
        front_at(run, TAGS_AT + i).value = first.tag
        remove_first(run, EVENTS)
    run.n_front = n


@inlined
def next_time(run: Row) -> float:
    """When the next event is due, which is at the end of the front then; infinite if none is."""
    if rarely(run.n_front == 0):
        refill_front(run)
    return front_time_at(run, run.n_front).value
