"""The event loop: events in order of time, and what settles after each (`LANGUAGE.md` section 3).

In come the tables of a program and its settings (`storage/setup.py`), out go `Records`. The loop runs in slices, so
that between them Python can be interrupted and a progress bar can move.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from time import perf_counter

from serq_lab.kernel.evaluation import NO_SESSION, evaluate, fail
from serq_lab.kernel.flows import end_flow, rate_flows
from serq_lab.kernel.invariants.checks import Invariants
from serq_lab.kernel.leaving import end_lease
from serq_lab.kernel.pools import serve_pools
from serq_lab.kernel.records import FailureKind, Records
from serq_lab.kernel.sessions import MOST_AT_AN_INSTANT, add_session, create_session, next_ready, run_session
from serq_lab.kernel.stages import end_job, end_shared_job, rate_stage
from serq_lab.kernel.statistics import record_gauges, restart_averages, show_iteration, touch_all
from serq_lab.kernel.step.decoding import run_on
from serq_lab.kernel.step.iteration import end_iteration, start_iteration
from serq_lab.kernel.step.tokens import count_equal_gaps
from serq_lab.kernel.storage.access import rarely
from serq_lab.kernel.storage.entry import entry
from serq_lab.kernel.storage.event_heap import next_time, open_queue, schedule
from serq_lab.kernel.storage.memory import Row, inlined, kernel
from serq_lab.kernel.storage.setup import RunTables, Simulation
from serq_lab.kernel.storage.state import (
    ORDERS_AT,
    TAG_KINDS,
    TAGS_AT,
    EventKind,
    IterationKind,
    allocation_at,
    board_at,
    front_at,
    front_time_at,
    session_at,
    stage_at,
)
from serq_lab.kernel.storage.tables import ArrivalKind, StageKind

LEAST_PROGRESS = 1e-12  # of the horizon: what counts as time passing


@inlined
def schedule_arrival(run: Row) -> None:
    """Draw the next gap and schedule the arrival that it leads to."""
    gap = evaluate(run, run.gap, NO_SESSION)
    if run.arrival_kind == ArrivalKind.RENEWAL and not (gap > 0.0 and gap < math.inf):
        fail(run, FailureKind.GAP, run.gap_span, gap)
    schedule(run, gap, EventKind.ARRIVAL, 0)


@inlined
def arrive(run: Row) -> int:
    """An arrival: first the next one is scheduled, then the session is created, whose row this gives."""
    is_last = run.arrivals + 1 == run.limit
    if not is_last and run.gap >= 0:
        schedule_arrival(run)
    return create_session(run)


@inlined
def settle(run: Row, s: int) -> None:
    """Run session s, if that is not -1, and then all that is open at this instant."""
    run.n_at_instant = 0
    while True:
        if s < 0:
            if run.n_open == 0:
                break
            s = next_session(run)
            if s < 0:
                break
        run_session(run, s)
        s = -1


@kernel
def next_session(run: Row) -> int:
    """The next session to run at this instant. Every ready one does, and the pools are served, until nothing is ready;
    then the stages go on, gauges are read, and there is none: -1."""
    while True:
        s = next_ready(run)
        if s >= 0:
            return s
        if board_at(run, 0).failure != 0:
            return -1
        serve_pools(run)
        if run.ready_head < 0:
            break
    if run.is_simple == 0:
        settle_others(run)
    return -1


@inlined
def settle_others(run: Row) -> None:
    """What settles behind sessions and pools: stages that share or run iterations, flows, gauges."""
    run.are_pools_stale = 0
    if run.n_dirty > 0 or run.n_steps > 0:
        settle_stages(run)
    if run.have_flows_changed:
        rate_flows(run)
    if run.n_gauges > 0:
        record_gauges(run)


@kernel
def settle_stages(run: Row) -> None:
    """Step stages start an iteration, unless another event is due at this instant; ps stages are re-rated."""
    is_last = next_time(run) > run.now
    for i in range(run.n_stages):
        stage = stage_at(run, i)
        if stage.kind == StageKind.STEP:
            if is_last:
                start_iteration(run, i)
            if board_at(run, 0).failure != 0:
                return
            if not stage.is_running:
                show_iteration(run, i, IterationKind.NONE, 0)
        elif stage.is_dirty:
            rate_stage(run, i)


@inlined
def handle(run: Row, kind: int, subject: int, order: int) -> int:
    """Carry out one event; one that has become stale does nothing.

    Gives the session that goes on before those in the ready list, -1 if there is none.
    """
    if kind == EventKind.JOB_END:
        if session_at(run, subject).job_event == order:
            return end_job(run, subject)
    elif kind == EventKind.ARRIVAL:
        return arrive(run)
    else:
        handle_other(run, kind, subject, order)
    return -1


@kernel
def handle_other(run: Row, kind: int, subject: int, order: int) -> None:
    """As `handle`, for what is not the end of a fifo's or delay's job or an arrival."""
    if kind == EventKind.PS_END:
        if stage_at(run, subject).pending_event == order:
            end_shared_job(run, subject)
    elif kind == EventKind.ITERATION_END:
        if not run_on(run, subject):
            end_iteration(run, subject)
    elif kind == EventKind.LEASE_END:
        if allocation_at(run, subject).lease_event == order:
            end_lease(run, subject)
    elif kind == EventKind.FLOW_END:
        if run.flow_event == order:
            end_flow(run)
    elif kind == EventKind.START:
        begin(run)
    elif kind == EventKind.WARMUP:
        board_at(run, 0).is_warm = 1
        restart_averages(run)


@kernel
def begin(run: Row) -> None:
    """Before the first event: the warm-up is scheduled, the arrivals start."""
    if run.warmup > 0.0:
        schedule(run, run.warmup, EventKind.WARMUP, 0)
    else:
        board_at(run, 0).is_warm = 1
    kind = run.arrival_kind
    if kind == ArrivalKind.POISSON:
        schedule(run, 0.0, EventKind.ARRIVAL, 0)
    elif kind == ArrivalKind.RENEWAL:
        schedule_arrival(run)
    for _ in range(run.population):
        add_session(run)


@kernel
def has_stopped(run: Row) -> bool:
    """Whether the run has failed, or was limited to a number of arrivals and has seen its last session end."""
    is_drained = run.limit > 0 and run.arrivals == run.limit and run.live == 0
    return board_at(run, 0).failure != 0 or is_drained


@inlined
def is_over(run: Row) -> bool:
    """Whether the run has stopped, or has no event left up to the horizon; behind the last one is one at no time."""
    if rarely(board_at(run, 0).may_be_over != 0) and has_stopped(run):
        return True
    return rarely(not next_time(run) <= run.horizon)


@kernel
def check_progress(run: Row) -> None:
    """Stop the run if time has all but stood still over very many events."""
    time, tag = next_time(run), front_at(run, TAGS_AT + run.n_front).value
    if time < run.progress_at:
        is_iteration = tag % TAG_KINDS == EventKind.ITERATION_END
        span = stage_at(run, tag // TAG_KINDS).cost_span if is_iteration else -1
        fail(run, FailureKind.NO_PROGRESS, span, MOST_AT_AN_INSTANT)
    run.progress_at = time + run.horizon * LEAST_PROGRESS
    run.progress_events = run.events + MOST_AT_AN_INSTANT


@inlined
def handle_next(run: Row) -> int:
    """Let time pass to the next event and carry it out; gives what `handle` gives."""
    n = run.n_front
    time, order, tag = front_time_at(run, n).value, front_at(run, ORDERS_AT + n).value, front_at(run, TAGS_AT + n).value
    run.n_front = n - 1
    run.now = time
    board_at(run, 0).now = time
    run.events += 1
    return handle(run, tag % TAG_KINDS, tag // TAG_KINDS, order)


@inlined
def run_until(run: Row, until: int) -> bool:
    """Handle events until so many, or a few more, have been; true when the run is over."""
    while run.events < until:
        if is_over(run):
            return True
        settle(run, handle_next(run))
    return False


@kernel
def run_events(run: Row, n: int) -> bool:
    """Handle n events, of which the start counts as one, or a few more; true when the run is over."""
    until = run.events + n
    is_at_end = False
    while run.events < until and not is_at_end:
        if run.events >= run.progress_events:
            check_progress(run)
        is_at_end = run_until(run, min(until, run.progress_events))
    return is_at_end


@kernel
def finish(run: Row) -> None:
    """The run is over: say whether a limited run came to its end, and let the time averages reach there."""
    board = board_at(run, 0)
    run.failed_at = run.now
    if run.limit > 0 and board.failure == 0:
        run.asking = NO_SESSION
        if run.arrivals < run.limit:
            fail(run, FailureKind.ARRIVALS_UNREACHED, -1, run.arrivals)
        elif run.live > 0:
            fail(run, FailureKind.NOT_DRAINED, -1, run.live)
        elif run.now <= run.warmup:
            fail(run, FailureKind.DRAINED_IN_WARMUP, -1, run.now)
    else:
        run.now = run.horizon
    touch_all(run)
    for i in range(run.n_stages):
        count_equal_gaps(run, i)


@entry
def run_slice(run: Row, n: int) -> bool:
    """Handle n events; true when the run is over. Python gives it an array of one RUN record."""
    if run.order == 0:
        open_queue(run)
        schedule(run, 0.0, EventKind.START, 0)
    if run_events(run, n):
        finish(run)
        return True
    return False


FIRST_SLICE, EVENTS_A_SLICE = 64, 1 << 16  # events; at most
SECONDS_A_SLICE = 0.05


def simulate(tables: RunTables, *, on_slice: Callable[[float], None] | None = None, check: bool = False) -> Records:
    """Run a program to its end.

    Parameters
    ----------
    tables : RunTables
    on_slice : callable, optional
        Called with the present time between slices of the run; what it raises abandons the run.
    check : bool
        Check the invariants of the state after every event (slow).

    Returns
    -------
    Records
        With a `failure` if the run stopped early.

    Raises
    ------
    InvariantError
        A check found the engine in the wrong.
    """
    simulation = Simulation(tables)
    invariants = Invariants(simulation) if check else None
    simulation.runs["is_stepwise"] = check
    is_done, n = False, FIRST_SLICE
    while not is_done:
        started = perf_counter()
        is_done = run_slice(simulation.runs, n if invariants is None else 1)
        n = next_slice(n, perf_counter() - started)
        if invariants is not None:
            invariants.check()
        if on_slice is not None and not is_done:
            on_slice(float(simulation.runs[0]["now"]))
    return simulation.records()


def next_slice(n: int, seconds: float) -> int:
    """How many events follow a slice of n that took so long: an interrupt is heard soon, whatever an event costs."""
    if seconds < SECONDS_A_SLICE / 2:
        return min((8 if seconds < SECONDS_A_SLICE / 16 else 2) * n, EVENTS_A_SLICE)
    return n if seconds < SECONDS_A_SLICE else max(n // 2, 1)
