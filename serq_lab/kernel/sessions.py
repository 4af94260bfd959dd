"""Sessions: how they come, carry out their statements, and end (`LANGUAGE.md` section 4).

Used by `event_loop.py`.
"""

from __future__ import annotations

from serq_lab.kernel.cache import abandon_entries, drop_entry
from serq_lab.kernel.evaluation import evaluate, fail, quantity, resolve, set_slot, vector_of
from serq_lab.kernel.pools import grow, held_on, join_pool, leave_hold, release, undo_hold
from serq_lab.kernel.records import FailureKind
from serq_lab.kernel.stages import start_job
from serq_lab.kernel.statistics import observe, set_live
from serq_lab.kernel.storage.lists import make_ready
from serq_lab.kernel.storage.memory import Row, inlined, kernel, store_float
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
from serq_lab.kernel.storage.tables import ArrivalKind, OpKind

SERIAL, TURN_NO = 0, 1  # slots of built-in attributes
MOST_REPEATS = 1_000_000  # of a loop without waiting
MOST_CHOICES = 1_000_000


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
    session.serial, session.turns = run.arrivals, 0
    session.innermost, session.pending, session.stage, session.job_event = -1, -1, -1, -1
    session.first_lease, session.admission, session.was_preempted, session.was_stuck = -1, -1, 0, 0
    vector = vector_of(run, s)
    for k in range(run.vector_bytes // 8):
        store_float(vector + 8 * k, 0.0)
    if run.has_caches:
        for p in range(run.n_pools):
            own_at(run, s * run.n_pools + p).entry = -1
    set_slot(run, s, SERIAL, session.serial)
    run.arrivals += 1
    set_live(run, run.live + 1)
    if run.has_init:
        session.pc = run.init
        run_session(run, s)
    else:
        session.pc = run.start
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
    if run.is_warm:
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
    op = op_at(run, o)
    p = resolve(run, op.target, s)
    a = held_on(run, s, p)
    if a < 0:
        fail(run, FailureKind.GROW_OUTSIDE, op.span, 0.0)
        return False
    return grow(run, s, a, quantity(run, op.expression, s))


@inlined
def start_run(run: Row, s: int, o: int) -> None:
    """`run stage (work)`: a job, or nothing to do."""
    op = op_at(run, o)
    i = resolve(run, op.target, s)
    work = quantity(run, op.expression, s)
    if work > 0.0:
        start_job(run, s, i, work)
    else:
        make_ready(run, s)


@inlined
def branch(run: Row, s: int, o: int) -> None:
    """To the second block at exactly 0, on at exactly 1; anything else stops the run."""
    op = op_at(run, o)
    guard = evaluate(run, op.expression, s)
    if guard == 0.0:
        session_at(run, s).pc = op.jump
    elif guard != 1.0:
        fail(run, FailureKind.GUARD, op.span, guard)


@kernel
def run_session(run: Row, s: int) -> None:
    """Carry out a session's statements until it waits, joins the ready list or ends."""
    repeats = 0
    board = board_at(run, 0)
    while board.failure == 0:
        session = session_at(run, s)
        o = session.pc
        session.pc = o + 1
        op = op_at(run, o)
        kind = op.kind
        if kind == OpKind.ASSIGN:
            evaluate(run, op.expression, s)
        elif kind == OpKind.OBSERVE:
            observe(run, op.slot, s, evaluate(run, op.expression, s))
        elif kind == OpKind.TURN:
            session.turns += 1
            if run.is_warm:
                run.turns += 1
            set_slot(run, s, TURN_NO, session.turns)
        elif kind == OpKind.HOLD:
            if not join_pool(run, s, o):
                remove_session(run, s)
            return
        elif kind == OpKind.LEAVE:
            leave_hold(run, s)
        elif kind == OpKind.RUN:
            start_run(run, s, o)
            return
        elif kind == OpKind.BRANCH:
            branch(run, s, o)
        elif kind == OpKind.SKIP:
            session.pc = op.jump
        elif kind == OpKind.REPEAT:
            session.pc = op.jump
            repeats += 1
            if repeats > MOST_REPEATS:
                run.asking = s
                fail(run, FailureKind.NO_PROGRESS, op.span, repeats)
        elif kind == OpKind.CHOOSE:
            choose(run, s, o)
        elif kind == OpKind.GROW:
            if not grow_hold(run, s, o):
                return
        elif kind == OpKind.DROP:
            drop_entry(run, resolve(run, op.target, s), s)
        elif kind == OpKind.RELEASE:
            release(run, s, resolve(run, op.target, s))
        elif kind == OpKind.READY:
            session.pc = run.start
            make_ready(run, s)
            return
        else:
            remove_session(run, s)
            return
