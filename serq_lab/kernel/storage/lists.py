"""Rows of sessions and their links: the ready list, and the lists of pools and stages, which share one pair of links.

Used by `pools.py`, `stages.py` and `sessions.py`.
"""

from __future__ import annotations

from serq_lab.kernel.storage.access import rarely
from serq_lab.kernel.storage.memory import Row, inlined, kernel
from serq_lab.kernel.storage.state import Place, ensure_owns, ensure_sessions, ensure_vectors, session_at


@inlined
def new_row(run: Row) -> int:
    """A row for a session, or for a job that none waits for. The tables may grow."""
    s = run.free_session
    if rarely(s < 0):
        return add_row(run)
    run.free_session = session_at(run, s).next
    return s


@kernel
def add_row(run: Row) -> int:
    """One more row in the tables of sessions."""
    s = run.n_sessions
    run.n_sessions = s + 1
    ensure_sessions(run, run, s + 1)
    ensure_vectors(run, run, (s + 1) * (run.vector_bytes // 8))
    if run.has_owns:
        ensure_owns(run, run, (s + 1) * run.n_pools)
    return s


@inlined
def free_row(run: Row, s: int) -> None:
    """Give a session's row back."""
    session = session_at(run, s)
    session.place, session.next = Place.FREE, run.free_session
    run.free_session = s


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
    run.n_open += 1


@inlined
def take_ready(run: Row) -> int:
    """The first of the ready list, taken out of it."""
    s = run.ready_head
    run.ready_head = session_at(run, s).next
    run.n_open -= 1
    return s


@kernel
def leave_ready(run: Row, s: int) -> None:
    """Take a session out of the middle of the ready list."""
    before, at = -1, run.ready_head
    while at != s:
        before, at = at, session_at(run, at).next
    following = session_at(run, s).next
    if before < 0:
        run.ready_head = following
    else:
        session_at(run, before).next = following
    if run.ready_tail == s:
        run.ready_tail = before
    run.n_open -= 1
    session_at(run, s).next = -1
