"""The engine's check of itself passes on what it does, and sees every kind of damage."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import serq_lab
from serq_lab.kernel.invariants.checks import Invariants
from serq_lab.kernel.invariants.reading import InvariantError
from serq_lab.kernel.storage import state
from serq_lab.kernel.storage.access import FRONT_ROOM
from serq_lab.kernel.storage.setup import Simulation
from tests.kernel.running import simulation_of

PROGRAM = """
pool memory { cap 12; }
pool narrow { cap 2; queue by (serial); }
stage desk : fifo(2);
stage share : ps(1);
stage nap : delay;
workload { arrive batch(20); }
session {
  loop {
    branch (turn_no == 0) { run nap (serial / 8); }
    turn;
    set part = serial - 5 * floor(serial / 5);
    branch (part == 0) { hold memory (3) { run desk (2); } cache (3); run nap (1); }
    branch (part == 1) { hold memory (2), narrow (1) { run share (1); } cache (2); }
    branch (part == 2) { hold memory (3) { run nap (1); grow memory (5); run nap (1); } }
    branch (part == 3) { run desk (3); }
    branch (part == 4) { hold memory (8) { run nap (0.5); } }
  }
}
run { horizon 1000; warmup 1; }
"""
N_EVENTS = 162  # by then every list has somebody in it


@pytest.fixture
def simulation() -> Simulation:
    """A run with something in every list: queues, a grower, lines, jobs, entries, free rows."""
    return simulation_of(PROGRAM, N_EVENTS)


@pytest.fixture
def invariants(simulation: Simulation) -> Invariants:
    checked = Invariants(simulation)
    checked.ended, checked.live = 0, set(range(20))
    return checked


def rows(simulation: Simulation, table: str, dtype: np.dtype[Any]) -> Any:
    """A table's rows, to be damaged."""
    run = simulation.runs[0]
    n = int(run[table + "_room"])
    return np.frombuffer((ctypes.c_char * (n * dtype.itemsize)).from_address(int(run[table])), dtype)


def sessions(simulation: Simulation) -> Any:
    return rows(simulation, "sessions", state.SESSION)


def test_a_sound_state_passes(simulation: Simulation, invariants: Invariants) -> None:
    invariants.check()
    invariants.check()
    memory = simulation.pools[0]
    assert memory["queue_head"] != memory["queue_tail"]
    assert memory["grower_head"] >= 0
    assert memory["n_entries"] >= 2
    assert simulation.stages["wait_head"][0] >= 0
    assert simulation.stages_shown["queue"][1] > 0
    assert simulation.runs["free_entry"][0] >= 0


def damage_time(s: Simulation) -> None:
    s.runs["now"] = 0.5


def damage_ready(s: Simulation) -> None:
    s.runs["ready_head"] = 3


def front(s: Simulation) -> NDArray[np.float64]:
    return np.frombuffer((ctypes.c_char * (24 * FRONT_ROOM)).from_address(int(s.runs["front"][0])), np.float64)


def damage_first_event(s: Simulation) -> None:
    front(s)[s.runs["n_front"][0]] = 0.0


def damage_event_orders(s: Simulation) -> None:
    front(s)[FRONT_ROOM + 1] = front(s)[FRONT_ROOM + 2]


def damage_events(s: Simulation) -> None:
    front(s)[1] = 0.0


def damage_heap_of_events(s: Simulation) -> None:
    heap = s.heaps[0]
    heap["n"] = 1
    items = np.frombuffer((ctypes.c_char * 24).from_address(int(heap["items"])), state.HEAP_ITEM)
    items["time"], items["order"] = 1.0, 10**9


def damage_queue_link(s: Simulation) -> None:
    sessions(s)["previous"][s.pools["queue_tail"][0]] = -1


def damage_queue_circle(s: Simulation) -> None:
    sessions(s)["next"][s.pools["queue_tail"][0]] = s.pools["queue_head"][0]


def damage_queue_tail(s: Simulation) -> None:
    s.pools["queue_tail"][0] = s.pools["queue_head"][0]


def damage_place(s: Simulation) -> None:
    sessions(s)["place"][s.pools["queue_head"][0]] = state.Place.AT_STAGE


def damage_two_places(s: Simulation) -> None:
    for name in ("grower_head", "grower_tail"):
        s.pools[name][1] = s.pools[name][0]


def damage_lost(s: Simulation) -> None:
    s.pools["grower_head"][0] = s.pools["grower_tail"][0] = -1


def damage_live(s: Simulation) -> None:
    s.runs["live"] += 1


def damage_serials(s: Simulation) -> None:
    sessions(s)["serial"][0] = sessions(s)["serial"][1]


def damage_ended(s: Simulation) -> None:
    s.runs["ended"] += 1


def damage_used(s: Simulation) -> None:
    s.pools_shown["used"][0] -= 1


def damage_overfull(s: Simulation) -> None:
    s.pools["cap"][0] = 4


def damage_holders(s: Simulation) -> None:
    s.pools_shown["holders"][0] += 1


def damage_queued(s: Simulation) -> None:
    s.pools_shown["queued"][0] -= 1


def damage_cached(s: Simulation) -> None:
    s.pools_shown["cached"][0] -= 0.5


def damage_entry_count(s: Simulation) -> None:
    s.pools["n_entries"][0] += 1


def damage_entry_order(s: Simulation) -> None:
    rows(s, "entries", state.ENTRY)["released_at"][s.pools["oldest"][0]] = 1e9


def damage_own_entry(s: Simulation) -> None:
    rows(s, "owns", state.OWN)["entry"][:2] = 0


def damage_free_entries(s: Simulation) -> None:
    s.runs["n_entries"] += 1


def damage_allocation_owner(s: Simulation) -> None:
    rows(s, "allocations", state.ALLOCATION)["session"][0] += 1


def damage_leak(s: Simulation) -> None:
    s.runs["n_allocations"] += 1


def damage_grower_fits(s: Simulation) -> None:
    s.pools["cap"][0] = 1000


def damage_queue_head_fits(s: Simulation) -> None:
    """The grower before it still waits, for more than there is."""
    sessions(s)["grow_units"][s.pools["grower_head"][0]] = 1e9
    s.pools["cap"][0] = 1000


def damage_stage(s: Simulation) -> None:
    sessions(s)["stage"][sessions(s)["place"] == state.Place.AT_STAGE] = -1


def damage_growth(s: Simulation) -> None:
    sessions(s)["grow_allocation"][s.pools["grower_head"][0]] = sessions(s)["pending"][s.pools["queue_head"][0]]


def damage_grower(s: Simulation) -> None:
    allocation = sessions(s)["grow_allocation"][s.pools["grower_head"][0]]
    rows(s, "allocations", state.ALLOCATION)["pool"][allocation] = 1


def damage_jobs(s: Simulation) -> None:
    s.stages_shown["queue"][0] += 1


def damage_idle_server(s: Simulation) -> None:
    s.stages["servers"][0] = 3


def damage_shared_jobs(s: Simulation) -> None:
    heap = s.heaps[2]
    ctypes.c_int64.from_address(int(heap["items"]) + 16).value += 1


def damage_job_event(s: Simulation) -> None:
    sessions(s)["job_event"][:] = -1


DAMAGES = {
    damage_time: "is in the past|time went back",
    damage_ready: "session 3 is still ready",
    damage_first_event: "is in the past",
    damage_event_orders: "two are of one order",
    damage_events: "in the queue of events",
    damage_heap_of_events: "in the queue of events",
    damage_queue_link: "the queue of pool 0 is .* forwards",
    damage_queue_circle: "the queue of pool 0 turns in a circle",
    damage_queue_tail: "the queue of pool 0 is .*, and its last is said to be",
    damage_place: "in the queue of pool 0 is at place",
    damage_two_places: "stands in the growers of pool 0 and in the growers of pool 1",
    damage_lost: "stand nowhere",
    damage_live: "20 sessions live, 21 are counted",
    damage_serials: "20 sessions live, 20 are counted",
    damage_ended: "0 sessions have ended, 1 are counted",
    damage_used: r"pool 0 has \d\.0 used, held are",
    damage_overfull: r"pool 0 has \S+ used and \S+ cached, over its cap 4\.0",
    damage_holders: "pool 0 has .* holders, held are",
    damage_queued: "pool 0 has .* queued, in its queue are",
    damage_cached: "the cache of pool 0 shows .* cached, its entries are",
    damage_entry_count: "the cache of pool 0 has .* entries, .* are counted",
    damage_entry_order: "the cache of pool 0 has entries of times",
    damage_own_entry: "the cache of pool 0 has not the entry",
    damage_free_entries: "rows of entries",
    damage_allocation_owner: "which are those of",
    damage_leak: "allocations .* are free or a session's",
    damage_grower_fits: "could grow by",
    damage_stage: "stand nowhere",
    damage_queue_head_fits: r"first in the queue of pool 0, fits: \(pool, used, needs, cap\) are",
    damage_growth: "grows what it does not hold",
    damage_grower: "pool 0 has .* used, held are",
    damage_jobs: "stage 0 counts .* jobs",
    damage_idle_server: "stage 0 has .* jobs, 2 of them at 3 servers",
    damage_shared_jobs: "in its heap are",
    damage_job_event: "never ends",
}


FLOWS = """
share maxmin; stage a : ps(1); stage b : ps(2);
workload { arrive batch(4); } session { branch (serial == 0) { run a (1); } run a, b (1 + serial); }
run { horizon 100; }
"""


def damage_rate(s: Simulation) -> None:
    sessions(s)["rate"][s.runs["flow_head"][0]] *= 10


def damage_flow_place(s: Simulation) -> None:
    sessions(s)["stage"][s.runs["flow_head"][0]] = 7


def damage_flow_count(s: Simulation) -> None:
    s.stages_shown["queue"][1] += 1


def damage_hop_stage(s: Simulation) -> None:
    rows(s, "hops", state.HOP)["stage"][s.stages["job_head"][1]] = 0


def damage_hop_owner(s: Simulation) -> None:
    rows(s, "hops", state.HOP)["session"][s.stages["job_head"][1]] += 1


def damage_free_hops(s: Simulation) -> None:
    s.runs["n_hops"] += 1


def damage_flow_end(s: Simulation) -> None:
    s.runs["flow_event"] = -1


def damage_flow_pending(s: Simulation) -> None:
    s.runs["pending_flow"] = -1


FLOW_DAMAGES = {
    damage_rate: "carries .*, over its capacity",
    damage_flow_place: "not the session",
    damage_flow_count: "stage 1 counts 5 flows",
    damage_hop_stage: "stage 1 has flows of stages",
    damage_hop_owner: "has the hops of others",
    damage_free_hops: "are free or a flow's",
    damage_flow_end: "never ends",
    damage_flow_pending: "none of the flows .* ends next",
}


@pytest.mark.parametrize("damage", FLOW_DAMAGES, ids=lambda damage: damage.__name__)
def test_damage_to_flows_is_seen(damage: Any) -> None:
    simulation = simulation_of(FLOWS, 1)
    checked = Invariants(simulation)
    checked.live, checked.arrivals = set(range(4)), 4
    checked.check()
    damage(simulation)
    with pytest.raises(InvariantError, match=FLOW_DAMAGES[damage]):
        checked.check()


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damage_is_seen(simulation: Simulation, invariants: Invariants, damage: Any) -> None:
    invariants.now = 1.0
    damage(simulation)
    with pytest.raises(InvariantError, match=DAMAGES[damage]) as caught:
        invariants.check()
    assert str(caught.value).startswith(f"at time {float(simulation.runs['now'][0])!r}, after {N_EVENTS} events: ")


def test_a_checked_run_says_that_the_engine_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """After every event; a run that is not checked does not look."""
    program = serq_lab.compile(PROGRAM)
    checks = []

    def check(invariants: Invariants) -> None:
        checks.append(float(invariants.state.run["now"]))
        if len(checks) == 5:
            damage_used(invariants.state.simulation)
        sound(invariants)

    sound = Invariants.check
    monkeypatch.setattr(Invariants, "check", check)
    program.run(horizon=2)
    assert checks == []
    with pytest.raises(serq_lab.InternalError, match=r"^at time 0\.\d+, after \d events: pool 0 has .* used, held are"):
        program.run(horizon=2, check=True)
    assert len(checks) == 5
