"""Sessions: how they come, carry out their statements, and end (`LANGUAGE.md` section 4).

Used by `event_loop.py`.
"""

from __future__ import annotations

from serq_lab.kernel.cache.entries import TOLERANCE
from serq_lab.kernel.cache.prefixes import drop_entry
from serq_lab.kernel.evaluation import evaluate, fail, refresh, resolve, set_slot, vector_of
from serq_lab.kernel.flows import start_flow
from serq_lab.kernel.growth import grow_now
from serq_lab.kernel.leaving import NEVER_PREEMPTED, held_on, leave_hold, release, remove_session, turn_away
from serq_lab.kernel.pools import ADMITTED, REJECTED, advance, join_pool
from serq_lab.kernel.records import FailureKind
from serq_lab.kernel.stages import start_job
from serq_lab.kernel.statistics import set_live
from serq_lab.kernel.storage.access import call_statements, rarely
from serq_lab.kernel.storage.lists import make_ready, new_row, take_ready
from serq_lab.kernel.storage.memory import Row, inlined, kernel
from serq_lab.kernel.storage.state import (
    Place,
    allocation_at,
    board_at,
    op_at,
    own_at,
    scratch_at,
    session_at,
)
from serq_lab.kernel.storage.tables import SERIAL, START_OF_INIT, START_OF_SESSION, Mode, OpKind
from serq_lab.kernel.traces import choose_trace_session, load_trace_row

MOST_CHOICES = 1_000_000
MOST_AT_AN_INSTANT = 20_000_000  # sessions continued and events handled while time all but stands still


@kernel
def run_init(run: Row, s: int) -> None:
    """Carry out a new session's `init` block, which only sets and observes."""
    board = board_at(run, 0)
    run.asking = s
    o = START_OF_INIT
    while True:
        o = call_statements(run.go, o, vector_of(run, s), run.board)
        if rarely(board.failure != 0):
            return
        op = op_at(run, o)
        if op.kind == OpKind.READY:
            return
        refresh(run, op.first_refreshed, op.n_refreshed)


@inlined
def create_session(run: Row) -> int:
    """A session comes and its `init` block runs at once; gives its row, which is in no list yet."""
    s = new_row(run)
    session = session_at(run, s)
    session.serial = run.arrivals
    session.innermost, session.pending, session.stage, session.job_event = -1, -1, -1, -1
    session.first_lease, session.admission, session.was_preempted, session.was_stuck = -1, -1, 0, 0
    session.is_ownerless, session.is_set_back, session.token_turn, session.decode_turn = 0, 0, -1.0, -1.0
    if run.has_owns:
        for p in range(run.n_pools):
            own = own_at(run, s * run.n_pools + p)
            own.entry, own.preempted_position = -1, NEVER_PREEMPTED
    set_slot(run, s, SERIAL, session.serial)
    if rarely(run.trace_sessions_room > 0):
        choose_trace_session(run, s)
    run.arrivals += 1
    set_live(run, run.live + 1)
    if rarely(run.has_init != 0):
        run_init(run, s)
    session_at(run, s).entry = START_OF_SESSION
    return s


@kernel
def add_session(run: Row) -> None:
    """A session comes without an arrival, and is ready."""
    make_ready(run, create_session(run))


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
def load_position(run: Row, s: int, o: int) -> None:
    """`load p (n)`: the position of the innermost hold on p moves by n, within what the hold has."""
    board = board_at(run, 0)
    a = held_on(run, s, board.member)
    if a < 0:
        fail(run, FailureKind.LOAD_OUTSIDE, op_at(run, o).span, 0.0)
        return
    advance(run, a, board.argument)
    allocation = allocation_at(run, a)
    if allocation.position > allocation.units + TOLERANCE or allocation.position < 0.0:
        fail(run, FailureKind.LOAD_BEYOND, op_at(run, o).span, allocation.position)


@inlined
def start_run(run: Row, s: int, o: int) -> None:
    """`run stage (work)`: a job, or nothing to do."""
    board, op = board_at(run, 0), op_at(run, o)
    work = board.argument
    if not work > 0.0:
        make_ready(run, s)
        return
    if rarely(op.mode != Mode.NONE):
        set_mode(run, s, o)
    start_job(run, s, board.member, work)


@kernel
def set_mode(run: Row, s: int, o: int) -> None:
    """What a step stage must know of a job: prefill or decode, and the allocation that it lets grow."""
    op, session = op_at(run, o), session_at(run, s)
    session.mode, session.growing = op.mode, -1
    if op.growing >= 0:
        session_at(run, s).growing = held_on(run, s, resolve(run, op.growing, s))
        if session_at(run, s).growing < 0:
            fail(run, FailureKind.GROW_OUTSIDE, op.span, 0.0)


@kernel
def carry_out(run: Row, s: int, o: int) -> bool:
    """Carry out one of the rarer operations; true if the session goes on at once."""
    op, board = op_at(run, o), board_at(run, 0)
    kind = op.kind
    if kind == OpKind.CHOOSE:
        choose(run, s, o)
    elif kind == OpKind.GROW:
        return grow_now(run, s, board.member, max(0.0, board.argument), op.span)
    elif kind == OpKind.DROP:
        drop_entry(run, board.member, s)
    elif kind == OpKind.RELEASE:
        release(run, s, board.member)
    elif kind == OpKind.LOAD:
        load_position(run, s, o)
    elif kind == OpKind.TURN:
        load_trace_row(run, s)
    elif kind == OpKind.REFRESH:
        refresh(run, op.first_refreshed, op.n_refreshed)
    elif kind == OpKind.FLOW:
        start_flow(run, s, o)
        return False
    return True


@inlined
def goes_nowhere(run: Row, o: int) -> bool:
    """Count an operation behind which its session goes on at once; true, and a failure, if there are too many."""
    run.n_at_instant += 1
    if rarely(run.n_at_instant > MOST_AT_AN_INSTANT):
        fail(run, FailureKind.NO_PROGRESS, op_at(run, o).span, MOST_AT_AN_INSTANT)
        return True
    return False


@inlined
def run_session(run: Row, s: int) -> None:
    """Carry out a session's statements until it waits, joins the ready list or ends."""
    board = board_at(run, 0)
    run.asking = s
    session_at(run, s).place = Place.RUNNING
    o = session_at(run, s).entry
    while True:
        o = call_statements(run.go, o, vector_of(run, s), run.board)
        if rarely(board.failure != 0):
            return
        op = op_at(run, o)
        kind = op.kind
        session_at(run, s).entry = o
        if kind == OpKind.RUN:
            start_run(run, s, o)
            return
        if kind == OpKind.HOLD:
            outcome = join_pool(run, s, o)
            if outcome == REJECTED:
                turn_away(run, s)
            if outcome != ADMITTED or goes_nowhere(run, o):
                return
        elif kind == OpKind.LEAVE:
            leave_hold(run, s, o)
        elif kind == OpKind.END:
            remove_session(run, s)
            return
        elif not carry_out(run, s, o) or goes_nowhere(run, o):
            return
        run.asking = s


@kernel
def replace_sessions(run: Row) -> None:
    """New sessions come for those that have ended; a run that goes nowhere stops."""
    if run.going_nowhere >= 0:
        stop_going_nowhere(run, run.going_nowhere)
        return
    while run.n_due > 0:
        run.n_due -= 1
        run.n_open -= 1
        add_session(run)


@kernel
def stop_going_nowhere(run: Row, s: int) -> None:
    """Too much has happened while time stood still: where session s is, if it still lives, is where to look."""
    session, board = session_at(run, s), board_at(run, 0)
    span = -1
    if session.place == Place.QUEUED:
        span = op_at(run, allocation_at(run, session.pending).op).span
    elif session.place == Place.READY:
        o = call_statements(run.go, session.entry, vector_of(run, s), run.board)
        if board.failure == 0:
            span = op_at(run, o).span
    fail(run, FailureKind.NO_PROGRESS, span, MOST_AT_AN_INSTANT)


@inlined
def next_ready(run: Row) -> int:
    """The first of the ready sessions, taken out of their list; -1 if there is none, or the run has failed."""
    if run.n_due > 0:
        replace_sessions(run)
    if run.ready_head < 0 or board_at(run, 0).failure != 0:
        return -1
    s = take_ready(run)
    run.n_at_instant += 1
    if run.n_at_instant > MOST_AT_AN_INSTANT:
        run.going_nowhere = s
        run.n_due += 1
        run.n_open += 1
    return s


@kernel
def run_admitted(run: Row) -> None:
    """Run every ready session while a step stage plans an iteration: a pool that one comes to is not served yet."""
    run.is_planning = 1
    s = next_ready(run)
    while s >= 0:
        run_session(run, s)
        s = next_ready(run)
    run.is_planning = 0
