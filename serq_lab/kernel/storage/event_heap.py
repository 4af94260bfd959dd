"""Binary heaps of (time, order): the events to come, and the marks of each ps stage.

Equal times fall in the order of scheduling. Used by `event_loop.py` and `stages.py`.
"""

from __future__ import annotations

from serq_lab.kernel.storage.memory import Row, inlined, kernel
from serq_lab.kernel.storage.state import TAG_KINDS, ensure_items, heap_at, item_at

EVENTS = 0  # the heap of events; a ps stage's own is `stage.heap`


@inlined
def is_before(time: float, order: int, other_time: float, other_order: int) -> bool:
    """Which of two items comes first; without branches, for nobody can foretell which."""
    return (time < other_time) | ((time == other_time) & (order < other_order))


@inlined
def put(run: Row, h: int, i: int, time: float, order: int, tag: int) -> None:
    place = item_at(heap_at(run, h), i)
    place.time, place.order, place.tag = time, order, tag


@inlined
def rise(run: Row, h: int, i: int, time: float, order: int, tag: int) -> None:
    """Put an item where it belongs between place i, which is open, and the top."""
    heap = heap_at(run, h)
    while i > 0:
        parent = (i - 1) >> 1
        above = item_at(heap, parent)
        if is_before(above.time, above.order, time, order):
            break
        put(run, h, i, above.time, above.order, above.tag)
        i = parent
    put(run, h, i, time, order, tag)


@inlined
def sink(run: Row, h: int, i: int, time: float, order: int, tag: int) -> None:
    """Put an item where it belongs between place i, which is open, and the bottom."""
    heap = heap_at(run, h)
    last = heap.n - 1
    child = 2 * i + 1
    while child <= last:
        left, right = item_at(heap, child), item_at(heap, min(child + 1, last))
        child = min(child + int(is_before(right.time, right.order, left.time, left.order)), last)
        below = item_at(heap, child)
        if is_before(time, order, below.time, below.order):
            break
        put(run, h, i, below.time, below.order, below.tag)
        i = child
        child = 2 * i + 1
    put(run, h, i, time, order, tag)


@kernel
def push(run: Row, h: int, time: float, order: int, tag: int) -> None:
    """Put an item into heap h."""
    heap = heap_at(run, h)
    n = heap.n
    ensure_items(heap, run, n + 1)
    heap.n = n + 1
    rise(run, h, n, time, order, tag)


@kernel
def remove_first(run: Row, h: int) -> None:
    """Take the least item out of heap h."""
    heap = heap_at(run, h)
    heap.n -= 1
    last = item_at(heap, heap.n)
    sink(run, h, 0, last.time, last.order, last.tag)


@kernel
def remove_at(run: Row, h: int, i: int) -> None:
    """Take item i out of heap h."""
    heap = heap_at(run, h)
    heap.n -= 1
    last = item_at(heap, heap.n)
    time, order, tag = last.time, last.order, last.tag
    if i == heap.n:
        return
    if i > 0:
        parent = item_at(heap, (i - 1) >> 1)
        if parent.time > time or (parent.time == time and parent.order > order):
            rise(run, h, i, time, order, tag)
            return
    sink(run, h, i, time, order, tag)


@inlined
def schedule(run: Row, delay: float, kind: int, subject: int) -> int:
    """Schedule an event after `delay`; gives its order, by which its owner knows it again.

    The event that is being handled leaves its place at the top to the first one that it schedules.
    """
    order = run.order
    run.order = order + 1
    tag = subject * TAG_KINDS + kind
    if run.has_open_top:
        run.has_open_top = 0
        sink(run, EVENTS, 0, run.now + delay, order, tag)
    else:
        push(run, EVENTS, run.now + delay, order, tag)
    return order


@inlined
def close_top(run: Row) -> None:
    """The event that was handled scheduled nothing: take it out of the heap."""
    if run.has_open_top:
        run.has_open_top = 0
        remove_first(run, EVENTS)
