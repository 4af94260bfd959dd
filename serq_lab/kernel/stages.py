"""Jobs at stages: how they start, wait and end; fifo servers, processor sharing, delays (`LANGUAGE.md` section 7).

What engines do with their residents is in `step/`. Used by `sessions.py`, which starts jobs, `event_loop.py`, which
ends them, and `growth.py`, which takes them away.
"""

from __future__ import annotations

from serq_lab.kernel.evaluation import NO_SESSION, evaluate
from serq_lab.kernel.statistics import count_job_in, count_job_out
from serq_lab.kernel.step.residents import join_residents, leave_residents
from serq_lab.kernel.storage.access import bits_of, rarely
from serq_lab.kernel.storage.event_heap import push, remove_at, schedule, schedule_at
from serq_lab.kernel.storage.lists import append_session, free_row, make_ready, unlink_session
from serq_lab.kernel.storage.memory import Row, inlined, kernel
from serq_lab.kernel.storage.state import (
    EventKind,
    Place,
    board_at,
    heap_at,
    item_at,
    session_at,
    stage_at,
    stage_shown_at,
)
from serq_lab.kernel.storage.tables import StageKind

ESTIMATE_WEIGHT = 0.01
GREATEST_RHO = 0.99


@inlined
def start_job(run: Row, s: int, i: int, work: float) -> None:
    """A session brings positive work to a stage."""
    stage, session = stage_at(run, i), session_at(run, s)
    session.place, session.stage, session.work, session.joined_at = Place.AT_STAGE, i, work, run.now
    if rarely(stage.is_simple == 0):
        start_other_job(run, s, i)
        return
    queue_job(run, s, i)
    count_job_in(run, i)


@inlined
def queue_job(run: Row, s: int, i: int) -> None:
    """A job comes to a fifo or delay stage: it starts, or waits for a server."""
    stage = stage_at(run, i)
    if stage_shown_at(run, i).busy < stage.servers:
        serve_job(run, s, i)
        return
    session_at(run, s).job_event = -1
    stage.wait_tail = append_session(run, s, stage.wait_tail)
    if stage.wait_head < 0:
        stage.wait_head = s


@kernel
def start_other_job(run: Row, s: int, i: int) -> None:
    """As `queue_job`, at a stage of any kind."""
    stage = stage_at(run, i)
    session_at(run, s).job_event = -1
    if stage.is_listed:
        list_job(run, s, i)
    if stage.kind == StageKind.PS:
        share_stage(run, s, i)
    elif stage.kind == StageKind.STEP:
        join_residents(run, s, i)
    else:
        queue_job(run, s, i)
    count_job_in(run, i)
    show_busy(run, i)


@inlined
def show_busy(run: Row, i: int) -> None:
    """`busy`: in the running iteration at a step stage, else jobs present; others count those whom they serve."""
    stage, shown = stage_at(run, i), stage_shown_at(run, i)
    if rarely(stage.kind == StageKind.PS):
        shown.busy = shown.queue
    elif rarely(stage.kind == StageKind.STEP):
        shown.busy = stage.n_scheduled if stage.is_running else 0


@inlined
def serve_job(run: Row, s: int, i: int) -> None:
    """A job starts at rate 1."""
    session = session_at(run, s)
    stage_shown_at(run, i).busy += 1.0
    end = run.now + session.work
    session.started_at, session.mark = run.now, end
    session.job_event = schedule_at(run, end, EventKind.JOB_END, s)


@inlined
def end_job(run: Row, s: int) -> int:
    """The job of a fifo or delay stage is done; the next that waits starts. Gives the session that goes on, or -1."""
    session = session_at(run, s)
    i = session.stage
    if rarely(stage_at(run, i).is_simple == 0):
        return end_other_job(run, s, i)
    sum_job(run, s, i)
    session.stage = -1
    count_job_out(run, i)
    serve_next(run, i)
    return s


@kernel
def end_other_job(run: Row, s: int, i: int) -> int:
    """As `end_job`, at a fifo or delay stage that keeps more beside its line."""
    count_job(run, s, i)
    leave_stage(run, s, i)
    serve_next(run, i)
    if session_at(run, s).is_ownerless:
        free_row(run, s)
        return -1
    return s


@inlined
def serve_next(run: Row, i: int) -> None:
    """A server of a fifo or delay stage is free: the first that waits starts."""
    stage = stage_at(run, i)
    stage_shown_at(run, i).busy -= 1.0
    first = stage.wait_head
    if first >= 0:
        second = session_at(run, first).next
        stage.wait_head = second
        if second >= 0:
            session_at(run, second).previous = -1
        else:
            stage.wait_tail = -1
        serve_job(run, first, i)


@kernel
def take_job(run: Row, s: int) -> None:
    """A job is taken away before it is done; its event, if it has one, becomes stale."""
    i = session_at(run, s).stage
    stage = stage_at(run, i)
    kind = stage.kind
    if kind == StageKind.PS:
        advance_clock(run, i)
        if stage.pending_session == s:
            stage.pending_event = -1
        leave_share(run, s, i)
    elif kind != StageKind.STEP:
        if session_at(run, s).job_event < 0:
            leave_line(run, s, i)
        else:
            serve_next(run, i)
    leave_stage(run, s, i)
    show_busy(run, i)


@kernel
def leave_line(run: Row, s: int, i: int) -> None:
    """Take a session out of the line that waits for a server."""
    stage, session = stage_at(run, i), session_at(run, s)
    if stage.wait_head == s:
        stage.wait_head = session.next
    if stage.wait_tail == s:
        stage.wait_tail = session.previous
    unlink_session(run, s)


@inlined
def complete_job(run: Row, s: int, i: int) -> None:
    """A job is done: it is counted, and its session goes on."""
    count_job(run, s, i)
    leave_stage(run, s, i)
    go_on(run, s)


@inlined
def go_on(run: Row, s: int) -> None:
    """A session's job is done, and it continues; one that no session waits for is gone."""
    if rarely(session_at(run, s).is_ownerless != 0):
        free_row(run, s)
    else:
        make_ready(run, s)


@inlined
def count_job(run: Row, s: int, i: int) -> None:
    """Count a job that a stage has done."""
    sum_job(run, s, i)
    if rarely(stage_at(run, i).is_estimated != 0):
        started_at = session_at(run, s).started_at
        update_estimates(run, i, started_at, started_at - session_at(run, s).joined_at, run.now - started_at)


@inlined
def sum_job(run: Row, s: int, i: int) -> None:
    """Add what a job waited, and was served, to its stage's sums."""
    stage, session = stage_at(run, i), session_at(run, s)
    if board_at(run, 0).is_warm:
        stage.completed += 1
        stage.wait_sum += session.started_at - session.joined_at
        stage.service_sum += run.now - session.started_at


@inlined
def leave_stage(run: Row, s: int, i: int) -> None:
    """A session is at the stage no more, its job done or not."""
    stage, session = stage_at(run, i), session_at(run, s)
    session.stage, session.job_event = -1, -1
    if rarely(stage.is_simple == 0):
        leave_other_stage(run, s, i)
    count_job_out(run, i)


@kernel
def leave_other_stage(run: Row, s: int, i: int) -> None:
    """What a job leaves beside the line at a stage of any kind."""
    stage = stage_at(run, i)
    if stage.is_listed:
        unlist_job(run, s, i)
    if stage.kind == StageKind.STEP:
        leave_residents(run, s, i)


@kernel
def list_job(run: Row, s: int, i: int) -> None:
    """Put a job at the end of the stage's list of jobs in order of joining."""
    stage, session = stage_at(run, i), session_at(run, s)
    session.job_previous, session.job_next = stage.job_tail, -1
    if stage.job_tail >= 0:
        session_at(run, stage.job_tail).job_next = s
    else:
        stage.job_head = s
    stage.job_tail = s


@kernel
def unlist_job(run: Row, s: int, i: int) -> None:
    """Take a job out of the stage's list."""
    stage, session = stage_at(run, i), session_at(run, s)
    if session.job_previous >= 0:
        session_at(run, session.job_previous).job_next = session.job_next
    else:
        stage.job_head = session.job_next
    if session.job_next >= 0:
        session_at(run, session.job_next).job_previous = session.job_previous
    else:
        stage.job_tail = session.job_previous


@kernel
def advance_clock(run: Row, i: int) -> None:
    """Bring the virtual clock of a ps stage to now."""
    stage = stage_at(run, i)
    if run.now > stage.clock_at:  # an infinite rate times no time is nothing
        stage.clock += stage.rate * (run.now - stage.clock_at)
        stage.clock_at = run.now


@kernel
def share_stage(run: Row, s: int, i: int) -> None:
    """A job joins a ps stage: it is done when the clock reaches its mark."""
    stage, session = stage_at(run, i), session_at(run, s)
    advance_clock(run, i)
    session.started_at = run.now
    session.mark = stage.clock + session.work
    push(run, stage.heap, bits_of(session.mark), run.order, s)
    run.order += 1
    mark_dirty(run, i)


@kernel
def mark_dirty(run: Row, i: int) -> None:
    """The population of a ps stage changed: it is re-rated when the instant settles."""
    stage = stage_at(run, i)
    if stage.is_dirty == 0:
        stage.is_dirty = 1
        run.n_dirty += 1


@kernel
def rate_stage(run: Row, i: int) -> None:
    """Set the rate of a ps stage anew and schedule the end of its first job."""
    stage = stage_at(run, i)
    stage.is_dirty = 0
    run.n_dirty -= 1
    advance_clock(run, i)
    stage.rate = 0.0
    stage.pending_event = -1
    n_jobs = stage_shown_at(run, i).queue
    if n_jobs == 0.0:
        return
    board_at(run, 0).present = n_jobs
    capacity = evaluate(run, stage.capacity, NO_SESSION)
    if not capacity > 0.0:
        return
    first = item_at(heap_at(run, stage.heap), 0)
    stage.rate = capacity / n_jobs
    stage.pending_session = first.tag
    stage.pending_mark = first.time
    stage.pending_event = schedule(run, max(0.0, first.time - stage.clock) / stage.rate, EventKind.PS_END, i)


@kernel
def end_shared_job(run: Row, i: int) -> None:
    """The pending job of a ps stage is done."""
    stage = stage_at(run, i)
    advance_clock(run, i)
    stage.clock = max(stage.clock, stage.pending_mark)
    stage.pending_event = -1
    s = stage.pending_session
    leave_share(run, s, i)
    complete_job(run, s, i)
    show_busy(run, i)


@kernel
def leave_share(run: Row, s: int, i: int) -> None:
    """Take a job's mark out of a ps stage."""
    heap = heap_at(run, stage_at(run, i).heap)
    k = 0  # nearly always the first; another only when a smaller mark came in at the same instant
    while item_at(heap, k).tag != s:
        k += 1
    remove_at(run, stage_at(run, i).heap, k)
    mark_dirty(run, i)


@inlined
def weighted(mean: float, value: float) -> float:
    """An exponentially weighted average with one more value; written with a difference, its last bit is another."""
    return (1.0 - ESTIMATE_WEIGHT) * mean + ESTIMATE_WEIGHT * value


@kernel
def update_estimates(run: Row, i: int, started_at: float, wait: float, service: float) -> None:
    """Exponentially weighted averages over completed jobs, the first value taken whole (section 7.6)."""
    stage, shown = stage_at(run, i), stage_shown_at(run, i)
    if stage.n_estimates == 0:
        stage.mean_wait, stage.mean_service = wait, service
    else:
        gap = started_at - stage.last_start
        if stage.n_estimates == 1:
            stage.mean_gap = gap
        else:
            stage.mean_gap = weighted(stage.mean_gap, gap)
        stage.mean_wait = weighted(stage.mean_wait, wait)
        stage.mean_service = weighted(stage.mean_service, service)
    stage.last_start = started_at
    stage.n_estimates += 1
    shown.est_lambda = 1.0 / stage.mean_gap if stage.mean_gap > 0.0 else 0.0
    shown.est_rho = min(shown.est_lambda * stage.mean_service, GREATEST_RHO)
    shown.est_wait = stage.mean_wait
