"""What must hold of stages, engines and flows after every event. Used by `checks.py`."""

from __future__ import annotations

import math

import numpy as np

from serq_lab.kernel.invariants.reading import PARTS_OF_SUM, State
from serq_lab.kernel.storage.state import TAG_KINDS, EventKind, Place
from serq_lab.kernel.storage.tables import StageKind


def check_stage(state: State, i: int, lines: list[list[int]]) -> None:
    """The jobs at a stage are those it counts; no server is idle while a job waits; who is served, ends."""
    stage, kind, where = state.stages[i], state.stages["kind"][i], f"stage {i}"
    if stage["is_flow"]:  # a flow is at several stages, its session names one
        check_shared(state, i)
        return
    at = sorted(s for s in state.alive + state.ownerless if state.sessions["stage"][s] == i)
    shown = state.stages_shown[i]
    counted = float(shown["queue"])
    state.need(len(at) == counted, f"{where} counts {counted:g} jobs: there are {at}")
    if kind == StageKind.FIFO:
        waiting, in_service = len(lines[i]), float(shown["busy"])
        state.need(
            in_service == min(stage["servers"], counted) and in_service + waiting == counted,
            f"{where} has {counted:g} jobs, {in_service:g} of them at {stage['servers']:g} servers, {waiting} in line",
        )
    if stage["is_listed"]:
        links = ("job_next", "job_previous")
        listed = state.linked(f"the jobs of {where}", stage["job_head"], stage["job_tail"], state.sessions, links)
        state.need(sorted(listed) == at, f"the jobs of {where} are {at}, listed are {listed}")
    if kind == StageKind.PS:
        sharing = sorted(state.items(i + 1)["tag"].tolist())
        state.need(sharing == at, f"the jobs of {where} are {at}, in its heap are {sharing}")
        if stage["rate"] > 0:
            state.need(int(stage["pending_event"]) in state.events, f"{where} waits for an event that is not there")
    elif kind == StageKind.STEP:
        check_engine(state, i, at)
    else:
        for s in set(at) - set(lines[i]):
            tag = state.events.get(int(state.sessions["job_event"][s]))
            state.need(tag == s * TAG_KINDS + EventKind.JOB_END, f"the job of session {s} at {where} never ends")


def check_engine(state: State, i: int, at: list[int]) -> None:
    """Residents stand in order of admission; those with tokens are among them, and their iteration ends."""
    stage, sessions, where = state.stages[i], state.sessions, f"stage {i}"
    links = ("resident_next", "resident_previous")
    head, tail = stage["resident_head"], stage["resident_tail"]
    found = state.linked(f"the residents of {where}", head, tail, sessions, links)
    state.need(sorted(found) == at, f"the jobs of {where} are {at}, its residents {found}")
    admissions = [float(a) if a >= 0 else math.inf for a in sessions["admission"][found]]
    state.need(admissions == sorted(admissions), f"the residents of {where} were admitted in order {admissions}")
    served = list(state.follow(f"the tokens of {where}", stage["scheduled_head"], sessions["scheduled_next"]))
    are_served = set(served) <= set(at) and (sessions["scheduled"][served] > 0).all()
    state.need(
        are_served and len(served) == stage["n_scheduled"],
        f"{where} gives tokens to {served}, {stage['n_scheduled']} are counted, residents are {at}",
    )
    ends = [tag for tag in state.events.values() if tag == i * TAG_KINDS + EventKind.ITERATION_END]
    state.need(len(ends) == stage["is_running"], f"{where} has {len(ends)} iterations that end")


def check_shared(state: State, i: int) -> None:
    """The flows at a stage are those it counts and those that have it, and carry no more than its capacity."""
    stage, where = state.stages[i], f"stage {i}"
    found = state.linked(f"the flows of {where}", stage["job_head"], stage["job_tail"], state.hops)
    counted = float(state.stages_shown["queue"][i])
    state.need(len(found) == counted, f"{where} counts {counted:g} flows: there are {found}")
    state.need((state.hops["stage"][found] == i).all(), f"{where} has flows of stages {state.hops['stage'][found]}")
    carried, capacity = math.fsum(state.sessions["rate"][state.hops["session"][found]]), stage["flow_capacity"]
    state.need(
        carried <= capacity * (1.0 + PARTS_OF_SUM) or math.isinf(capacity),
        f"{where} carries {carried!r}, over its capacity {float(capacity)!r}",
    )


def check_flows(state: State) -> None:
    """Every flow is the job of a session at a stage, has work left and a rate, and one of them ends next."""
    run, sessions = state.run, state.sessions
    links = ("job_next", "job_previous")
    flows = state.linked("the flows", run["flow_head"], run["flow_tail"], sessions, links)
    rows = list(state.follow("the free hops", run["free_hop"], state.hops["next_hop"]))
    for s in flows:
        session = sessions[s]
        mine = list(state.follow("the hops of a flow", session["first_hop"], state.hops["next_hop"]))
        is_sound = session["place"] == Place.AT_STAGE and session["stage"] in state.hops["stage"][mine]
        state.need(is_sound, f"the flow of session {s} is at stages {state.hops['stage'][mine]}, not the session")
        state.need((state.hops["session"][mine] == s).all(), f"the flow of session {s} has the hops of others")
        is_moving = session["work"] >= 0.0 and session["rate"] > 0.0
        state.need(is_moving, f"the flow of session {s} has {session['work']!r} left at the rate {session['rate']!r}")
        rows.extend(mine)
    state.need(sorted(rows) == list(range(len(state.hops))), f"hops {rows} are free or a flow's of {len(state.hops)}")
    if run["pending_flow"] >= 0:
        tag = state.events.get(int(run["flow_event"]))
        state.need(tag == EventKind.FLOW_END and run["pending_flow"] in flows, "the flow that ends next never ends")
    endless = not flows or np.isinf(sessions["work"][flows]).all()
    state.need(endless or run["pending_flow"] >= 0, f"none of the flows {flows} ends next")
