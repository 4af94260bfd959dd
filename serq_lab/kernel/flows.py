"""Flows: jobs that hold several stages from start to end (`LANGUAGE.md` section 7.4).

A flow is the job of its session; each of its stages is a *hop*. All flows have one event together, of the one that
ends first. Used by `sessions.py` and `cache/eviction.py`, which start them, `growth.py`, which takes them
away, and `event_loop.py`, which ends and re-rates them.
"""

from __future__ import annotations

import math

from serq_lab.kernel.evaluation import resolve
from serq_lab.kernel.stages import count_job, go_on, show_busy, start_job
from serq_lab.kernel.statistics import change_flows, touch_stage
from serq_lab.kernel.storage.event_heap import schedule
from serq_lab.kernel.storage.lists import make_ready, new_row
from serq_lab.kernel.storage.memory import Row, kernel
from serq_lab.kernel.storage.state import (
    EventKind,
    Place,
    board_at,
    ensure_hops,
    hop_at,
    op_at,
    session_at,
    stage_at,
    stage_shown_at,
)
from serq_lab.kernel.storage.tables import Share

# ------------------------------------------------------------------ coming and going


@kernel
def start_flow(run: Row, s: int, o: int) -> None:
    """`run a, b (work)`: a flow, or nothing to do. The work is read behind the first stage's index."""
    op, board = op_at(run, o), board_at(run, 0)
    work, first = board.argument, board.member
    session_at(run, s).first_hop = -1
    add_hop(run, s, first)
    for t in range(op.first_target, op.first_target + op.n_targets):
        add_hop(run, s, resolve(run, t, s))
    if board.failure != 0:
        return
    if not work > 0.0:
        free_hops(run, s)
        make_ready(run, s)
        return
    begin_flow(run, s, first, work)


@kernel
def start_ownerless_job(run: Row, i: int, work: float) -> None:
    """A job that no session waits for: what a spill costs."""
    if not work > 0.0:
        return
    s = new_row(run)
    session = session_at(run, s)
    session.is_ownerless, session.first_hop = 1, -1
    if stage_at(run, i).is_flow:
        add_hop(run, s, i)
        begin_flow(run, s, i, work)
    else:
        start_job(run, s, i, work)


@kernel
def begin_flow(run: Row, s: int, first: int, work: float) -> None:
    """A job joins all the stages of its hops."""
    session = session_at(run, s)
    session.place, session.stage, session.work, session.rate = Place.AT_STAGE, first, work, 0.0
    session.joined_at, session.started_at = run.now, run.now
    list_flow(run, s)
    h = session.first_hop
    while h >= 0:
        list_hop(run, h)
        h = hop_at(run, h).next_hop


@kernel
def add_hop(run: Row, s: int, i: int) -> None:
    """One more stage for a flow that is about to start; a stage that it has already is the same one."""
    h = session_at(run, s).first_hop
    while h >= 0:
        if hop_at(run, h).stage == i:
            return
        h = hop_at(run, h).next_hop
    h = run.free_hop
    if h >= 0:
        run.free_hop = hop_at(run, h).next_hop
    else:
        h = run.n_hops
        run.n_hops = h + 1
        ensure_hops(run, run, h + 1)
    hop, session = hop_at(run, h), session_at(run, s)
    hop.session, hop.stage, hop.next_hop = s, i, session.first_hop
    session.first_hop = h


@kernel
def free_hops(run: Row, s: int) -> None:
    """Give back the rows of a flow's hops."""
    session = session_at(run, s)
    while session.first_hop >= 0:
        h = session.first_hop
        session.first_hop = hop_at(run, h).next_hop
        hop_at(run, h).next_hop = run.free_hop
        run.free_hop = h


@kernel
def list_flow(run: Row, s: int) -> None:
    """Put a session at the end of the list of flows."""
    session = session_at(run, s)
    session.job_previous, session.job_next = run.flow_tail, -1
    if run.flow_tail >= 0:
        session_at(run, run.flow_tail).job_next = s
    else:
        run.flow_head = s
    run.flow_tail = s
    run.have_flows_changed = 1


@kernel
def unlist_flow(run: Row, s: int) -> None:
    """Take a session out of the list of flows."""
    session = session_at(run, s)
    if session.job_previous >= 0:
        session_at(run, session.job_previous).job_next = session.job_next
    else:
        run.flow_head = session.job_next
    if session.job_next >= 0:
        session_at(run, session.job_next).job_previous = session.job_previous
    else:
        run.flow_tail = session.job_previous
    run.have_flows_changed = 1


@kernel
def list_hop(run: Row, h: int) -> None:
    """A flow joins one of its stages."""
    hop = hop_at(run, h)
    i = hop.stage
    stage = stage_at(run, i)
    hop.previous, hop.next = stage.job_tail, -1
    if stage.job_tail >= 0:
        hop_at(run, stage.job_tail).next = h
    else:
        stage.job_head = h
    stage.job_tail = h
    change_flows(run, i, 1.0)
    show_busy(run, i)


@kernel
def unlist_hop(run: Row, h: int) -> None:
    """A flow leaves one of its stages."""
    hop = hop_at(run, h)
    i = hop.stage
    stage = stage_at(run, i)
    if hop.previous >= 0:
        hop_at(run, hop.previous).next = hop.next
    else:
        stage.job_head = hop.next
    if hop.next >= 0:
        hop_at(run, hop.next).previous = hop.previous
    else:
        stage.job_tail = hop.previous
    change_flows(run, i, -1.0)
    show_busy(run, i)


@kernel
def remove_flow(run: Row, s: int) -> None:
    """A session's flow leaves its stages, done or not."""
    unlist_flow(run, s)
    session = session_at(run, s)
    h = session.first_hop
    while h >= 0:
        unlist_hop(run, h)
        h = hop_at(run, h).next_hop
    free_hops(run, s)
    session.stage = -1


@kernel
def end_flow(run: Row) -> None:
    """The flow that was to end first is done."""
    s = run.pending_flow
    h = session_at(run, s).first_hop
    while h >= 0:
        hop = hop_at(run, h)
        count_job(run, s, hop.stage)
        h = hop.next_hop
    remove_flow(run, s)
    go_on(run, s)


# ------------------------------------------------------------------------------ rates


@kernel
def rate_flows(run: Row) -> None:
    """A flow came or went: all rates are set anew, and the end of the flow that ends first is scheduled."""
    run.have_flows_changed = 0
    advance_flows(run)
    if run.share == Share.MAXMIN:
        share_maxmin(run)
    else:
        share_bottleneck(run)
    for i in range(run.n_stages):
        if stage_at(run, i).is_flow:
            show_load(run, i)
    schedule_flow_end(run)


@kernel
def advance_flows(run: Row) -> None:
    """Bring the work left of all flows to now."""
    passed = run.now - run.flows_at
    run.flows_at = run.now
    if passed > 0.0:  # an infinite rate times no time is nothing
        s = run.flow_head
        while s >= 0:
            session = session_at(run, s)
            session.work = max(0.0, session.work - session.rate * passed)
            s = session.job_next


@kernel
def share_maxmin(run: Row) -> None:
    """Progressive filling: the stage with the least capacity left a flow rates its flows, until all are rated.

    Bertsekas and Gallager, Data Networks (2nd ed.), section 6.5.2.
    """
    s = run.flow_head
    while s >= 0:
        session_at(run, s).rate = -1.0  # not rated yet
        s = session_at(run, s).job_next
    for i in range(run.n_stages):
        stage = stage_at(run, i)
        stage.capacity_left, stage.n_unrated = stage.flow_capacity, int(stage_shown_at(run, i).queue)
    while True:
        tightest, least = -1, math.inf
        for i in range(run.n_stages):
            stage = stage_at(run, i)
            if stage.is_flow and stage.n_unrated > 0:
                share = stage.capacity_left / stage.n_unrated
                if tightest < 0 or share < least:
                    tightest, least = i, share
        if tightest < 0:
            return
        h = stage_at(run, tightest).job_head
        while h >= 0:
            if session_at(run, hop_at(run, h).session).rate < 0.0:
                rate_flow(run, hop_at(run, h).session, least)
            h = hop_at(run, h).next


@kernel
def rate_flow(run: Row, s: int, rate: float) -> None:
    """A flow has its rate, and its stages so much less to give to others."""
    session = session_at(run, s)
    session.rate = rate
    h = session.first_hop
    while h >= 0:
        hop = hop_at(run, h)
        stage = stage_at(run, hop.stage)
        stage.n_unrated -= 1
        if rate < math.inf:  # else there is no end to what the stage can give
            stage.capacity_left -= rate
        h = hop.next_hop


@kernel
def share_bottleneck(run: Row) -> None:
    """Each flow gets the least, over its stages, of capacity / flows there."""
    s = run.flow_head
    while s >= 0:
        session = session_at(run, s)
        session.rate = math.inf
        h = session.first_hop
        while h >= 0:
            hop = hop_at(run, h)
            stage = stage_at(run, hop.stage)
            session.rate = min(session.rate, stage.flow_capacity / stage_shown_at(run, hop.stage).queue)
            h = hop.next_hop
        s = session.job_next


@kernel
def show_load(run: Row, i: int) -> None:
    """What part of a stage's capacity its flows carry."""
    stage = stage_at(run, i)
    carried = 0.0
    h = stage.job_head
    while h >= 0:
        hop = hop_at(run, h)
        carried += session_at(run, hop.session).rate
        h = hop.next
    touch_stage(run, i, stage_shown_at(run, i).load)
    stage_shown_at(run, i).load = carried / stage.flow_capacity if stage.flow_capacity < math.inf else 0.0


@kernel
def schedule_flow_end(run: Row) -> None:
    """Schedule the end of the flow that ends first; of equals, of the one that started first."""
    run.pending_flow, run.flow_event = -1, -1
    least = math.inf
    s = run.flow_head
    while s >= 0:
        session = session_at(run, s)
        duration = session.work / session.rate if session.rate < math.inf else 0.0
        if run.now + duration < run.now + least:  # instants, not durations, decide what is equal
            run.pending_flow, least = s, duration
        s = session.job_next
    if run.pending_flow >= 0:
        run.flow_event = schedule(run, least, EventKind.FLOW_END, 0)
