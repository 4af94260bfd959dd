"""Sessions: how they come, carry out their statements, and end (`LANGUAGE.md` section 4).

Used by `event_loop.py`.
"""

from __future__ import annotations

from serq_lab.kernel.cache import abandon_entries, drop_entry
from serq_lab.kernel.evaluation import evaluate, fail, refresh, set_slot, vector_of
from serq_lab.kernel.flows import start_flow
from serq_lab.kernel.pools import ADMITTED, REJECTED, grow, held_on, join_pool, leave_hold, release, undo_hold
from serq_lab.kernel.records import FailureKind
from serq_lab.kernel.stages import start_job
from serq_lab.kernel.statistics import set_live
from serq_lab.kernel.storage.access import call_statements, rarely
from serq_lab.kernel.storage.lists import make_ready
from serq_lab.kernel.storage.memory import Row, inlined, kernel
from serq_lab.kernel.storage.state import (
    Place,
    board_at,
    ensure_owns,
    ensure_sessions,
    ensure_vectors,
    op_at,
    own_at,
    scratch_at,
    session_at,
)
from serq_lab.kernel.storage.tables import SERIAL, ArrivalKind, OpKind

MOST_CHOICES = 1_000_000


@kernel
def run_init(run: Row, s: int) -> None:
    """Carry out a new session's `init` block, which only sets and observes."""
    board = board_at(run, 0)
    run.asking = s
    board.entry = run.init
    while True:
        o = call_statements(run.go, vector_of(run, s), run.board)
        if rarely(board.failure != 0):
            return
        op = op_at(run, o)
        if op.kind == OpKind.READY:
            return
        refresh(run, op.first_refreshed, op.n_refreshed)
        board.entry = op.entry


@kernel
def create_session(run: Row) -> None:
    """A session comes: its `init` block runs at once and it joins the end of the ready list."""
    s = run.free_session
    if s >= 0:
        run.free_session = session_at(run, s).next
    else:
        s = run.n_sessions
        run.n_sessions = s + 1
        ensure_sessions(run, run, s + 1)
        ensure_vectors(run, run, (s + 1) * (run.vector_bytes // 8))
        if run.has_caches:
            ensure_owns(run, run, (s + 1) * run.n_pools)
    session = session_at(run, s)
    session.serial = run.arrivals
    session.innermost, session.pending, session.stage, session.job_event = -1, -1, -1, -1
    session.first_lease, session.admission, session.was_preempted, session.was_stuck = -1, -1, 0, 0
    if run.has_caches:
        for p in range(run.n_pools):
            own_at(run, s * run.n_pools + p).entry = -1
    set_slot(run, s, SERIAL, session.serial)
    run.arrivals += 1
    set_live(run, run.live + 1)
    if rarely(run.has_init != 0):
        run_init(run, s)
    session_at(run, s).entry = run.start
    make_ready(run, s)


@kernel
def remove_session(run: Row, s: int) -> None:
    """A session ends: it gives back every hold, innermost first."""
    while session_at(run, s).innermost >= 0:
        undo_hold(run, s)
    abandon_entries(run, s)
    session = session_at(run, s)
    session.place = Place.FREE
    session.next = run.free_session
    run.free_session = s
    set_live(run, run.live - 1)
    if board_at(run, 0).is_warm:
        run.ended += 1
    if run.arrival_kind == ArrivalKind.CLOSED:
        run.n_replacements += 1


@kernel
def choose(run: Row, s: int, o: int) -> None:
    """`choose x in n by (keys)`: x becomes the index with the least keys."""
    op = op_at(run, o)
    count = evaluate(run, op.expression, s)
    if count >= MOST_CHOICES + 1:
        fail(run, FailureKind.CHOICE, op.span, count)
        return
    n = int(count) if count >= 1.0 else 0
    chosen = 0
    for j in range(n):
        set_slot(run, s, op.slot, j)
        order = 1 if j == 0 else 0
        for k in range(op.n_keys):
            value = evaluate(run, op.first_key + k, s)
            scratch_at(run, op.n_keys + k).value = value
            best = scratch_at(run, k).value
            if order == 0:
                if value < best:
                    order = 1
                elif value != best:  # greater, or one of them NaN: it beats nothing
                    order = -1
        if order == 1:
            chosen = j
            for k in range(op.n_keys):
                scratch_at(run, k).value = scratch_at(run, op.n_keys + k).value
    set_slot(run, s, op.slot, chosen)


@kernel
def grow_hold(run: Row, s: int, o: int) -> bool:
    """`grow p (d)`; false if the session stalls or the run stops."""
    board = board_at(run, 0)
    a = held_on(run, s, board.member)
    if a < 0:
        fail(run, FailureKind.GROW_OUTSIDE, op_at(run, o).span, 0.0)
        return False
    return grow(run, s, a, max(0.0, board.argument))


@inlined
def start_run(run: Row, s: int) -> None:
    """`run stage (work)`: a job, or nothing to do."""
    board = board_at(run, 0)
    work = board.argument
    if work > 0.0:
        start_job(run, s, board.member, work)
    else:
        make_ready(run, s)


@kernel
def carry_out(run: Row, s: int, o: int) -> bool:
    """Carry out one of the rarer operations; true if the session goes on at once."""
    op, board = op_at(run, o), board_at(run, 0)
    kind = op.kind
    if kind == OpKind.CHOOSE:
        choose(run, s, o)
    elif kind == OpKind.GROW:
        return grow_hold(run, s, o)
    elif kind == OpKind.DROP:
        drop_entry(run, board.member, s)
    elif kind == OpKind.RELEASE:
        release(run, s, board.member)
    elif kind == OpKind.REFRESH:
        refresh(run, op.first_refreshed, op.n_refreshed)
    elif kind == OpKind.FLOW:
        start_flow(run, s, o)
        return False
    return True


@inlined
def run_session(run: Row, s: int) -> None:
    """Carry out a session's statements until it waits, joins the ready list or ends."""
    board = board_at(run, 0)
    run.asking = s
    board.entry = session_at(run, s).entry
    while True:
        o = call_statements(run.go, vector_of(run, s), run.board)
        if rarely(board.failure != 0):
            return
        op = op_at(run, o)
        kind = op.kind
        session_at(run, s).entry = op.entry
        if kind == OpKind.RUN:
            start_run(run, s)
            return
        if kind == OpKind.HOLD:
            outcome = join_pool(run, s, o)
            if outcome == REJECTED:
                remove_session(run, s)
            if outcome != ADMITTED:
                return
        elif kind == OpKind.LEAVE:
            leave_hold(run, s)
        elif kind == OpKind.END:
            remove_session(run, s)
            return
        elif not carry_out(run, s, o):
            return
        board.entry = op.entry
        run.asking = s
