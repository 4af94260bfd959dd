"""The links of sessions: the ready list, and the lists of pools and stages, which share one pair of links.

Used by `pools.py`, `stages.py` and `sessions.py`.
"""

from __future__ import annotations

from serq_lab.kernel.storage.memory import Row, inlined
from serq_lab.kernel.storage.state import Place, session_at


@inlined
def append_session(run: Row, s: int, tail: int) -> int:
    """Link a session behind the last of a list; gives the new last."""
    session = session_at(run, s)
    session.previous, session.next = tail, -1
    if tail >= 0:
        session_at(run, tail).next = s
    return s


@inlined
def unlink_session(run: Row, s: int) -> None:
    """Take a session out of whatever list it stands in; head and tail are the list owner's."""
    session = session_at(run, s)
    if session.previous >= 0:
        session_at(run, session.previous).next = session.next
    if session.next >= 0:
        session_at(run, session.next).previous = session.previous
    session.previous, session.next = -1, -1


@inlined
def make_ready(run: Row, s: int) -> None:
    """A session goes to the end of the ready list, which is linked forward only."""
    session = session_at(run, s)
    session.place, session.next = Place.READY, -1
    if run.ready_head < 0:
        run.ready_head = s
    else:
        session_at(run, run.ready_tail).next = s
    run.ready_tail = s


@inlined
def take_ready(run: Row) -> int:
    """The first of the ready list, taken out of it."""
    s = run.ready_head
    session = session_at(run, s)
    run.ready_head = session.next
    session.next, session.previous = -1, -1
    session.place = Place.RUNNING
    return s
