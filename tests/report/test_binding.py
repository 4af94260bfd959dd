"""What binds: named where sessions wait."""

from __future__ import annotations

from pathlib import Path

import pytest

import serq_lab

PROGRAMS = Path(__file__).parents[2] / "tutorial" / "programs"
RUN = "run { horizon 4000; warmup 100; }"


def binds(text: str, **lets: float) -> str:
    return serq_lab.compile(text + RUN).run(lets).binds


MEMORY = """
let C = 10; let Servers = 4; let Lambda = 0.8;
pool mem { cap C; }
stage server : fifo(Servers);
workload { arrive poisson(Lambda); }
session { hold mem (ceil(~uniform(1, 5))) { run server (~exp(1)); } }
"""


def test_nobody_waits_so_arrivals_bind() -> None:
    assert binds(MEMORY, C=20) == "arrivals"


def test_the_pool_binds_where_its_queue_is() -> None:
    assert binds(MEMORY, C=6) == 'memory of "mem"'


def test_full_servers_bind_although_their_sessions_queue_for_memory() -> None:
    # Both servers are 95% busy; ten units let few sessions reach them.
    assert binds(MEMORY, C=10, Servers=1, Lambda=0.95) == 'servers of "server"'


def test_a_pool_of_units_of_one_has_slots() -> None:
    slots = MEMORY.replace("ceil(~uniform(1, 5))", "1")
    assert binds(slots, C=1, Lambda=0.8) == 'slots of "mem"'


def test_a_queue_before_a_server() -> None:
    text = "stage s : fifo; workload { arrive poisson(0.7); } session { run s (~exp(1)); }"
    assert binds(text) == 'servers of "s"'


def test_a_shared_stage() -> None:
    text = "stage s : ps(1); workload { arrive poisson(0.7); } session { run s (~exp(1)); }"
    assert binds(text) == 'servers of "s"'


def test_a_delay_makes_nobody_wait() -> None:
    text = "stage s : delay; workload { arrive poisson(5); } session { run s (~exp(1)); }"
    assert binds(text) == "arrivals"


def test_a_closed_population() -> None:
    text = "stage s : delay; workload { arrive closed(3); } session { loop { run s (~exp(1)); } }"
    assert binds(text) == "population"


@pytest.mark.parametrize("cap", [10, 11])
def test_the_member_of_an_array_is_named(cap: int) -> None:
    text = """
    let C = 10;
    pool mem[2] { cap C; }
    stage s : delay;
    workload { arrive poisson(2); }
    session { hold mem[1] (4) { run s (~exp(1)); } }
    """
    assert binds(text, C=cap) == 'memory of "mem[1]"'


ENGINE = """
let Lambda = 14;
let Cap = 1e6;
let B = 512;
let Seqs = 64;
pool reqs { cap Seqs; admit via engine; }
pool kv { cap Cap; preempt lifo; }
stage engine : step { budget B; memory kv; cost 0.02 + 2e-5 * tokens; }
workload { arrive poisson(Lambda); }
session {
  set prompt = ~uniform(500, 1500);
  hold reqs (1), kv (min(prompt, budget_left(engine))) {
    run engine prefill (prompt) growing kv;
    run engine decode (20) growing kv;
  }
}
run { horizon 300; warmup 30; }
"""


def engine(**lets: float) -> serq_lab.Report:
    return serq_lab.compile(ENGINE).run(lets)


def test_an_engine_with_little_to_do_is_short_of_nothing() -> None:
    assert engine(Lambda=2).binds == "arrivals"


@pytest.mark.parametrize("load", [12, 14, 20])
def test_the_budget_binds_although_its_sessions_queue_for_slots(load: float) -> None:
    """Prompts fill nearly every iteration to its budget; no one takes the slots and the memory that are there."""
    report = engine(Lambda=load)
    step, slots = report.stage["engine"], report.pool["reqs"]
    assert step.prefill_only + step.mixed > 0.7
    assert slots.mean_queue > 0.1 * report.mean_live
    assert slots.mean_used < 0.3 * 64
    assert report.binds == 'budget of "engine"'


@pytest.mark.parametrize("load", [6, 10])
def test_the_memory_of_an_engine_binds_although_its_sessions_queue_for_slots(load: float) -> None:
    report = engine(Lambda=load, Cap=3000)
    assert report.pool["kv"].preemptions > 100
    assert report.pool["kv"].mean_queue == 0
    assert report.pool["reqs"].mean_queue > 0.1 * report.mean_live
    assert report.binds == 'memory of "kv"'


def test_memory_binds_where_what_it_preempts_fills_the_budget() -> None:
    program = serq_lab.load(PROGRAMS / "05-engine.sq")
    short, ample = (program.run({"Lambda": 2, "blocks": n}, horizon=2000, warmup=200) for n in (4000, 40000))
    assert short.stage["engine"].prefill_only + short.stage["engine"].mixed > 0.9
    assert short.binds == 'memory of "kv"'
    assert ample.binds == "arrivals"


def test_the_slots_of_an_engine_bind() -> None:
    assert engine(Lambda=10, B=4096, Seqs=3).binds == 'slots of "reqs"'


def test_prompts_in_pieces_wait_for_the_budget_within_the_engine() -> None:
    """Admitted without regard to the budget, they are present, and neither prefilled nor decoding."""
    text = ENGINE.replace("admit via engine; ", "").replace("min(prompt, budget_left(engine))", "0")
    report = serq_lab.compile(text).run({"Lambda": 16})
    assert report.pool["reqs"].mean_queue < 0.1 * report.mean_live
    assert report.binds == 'budget of "engine"'


def test_who_is_stalled_in_an_iteration_waits_for_memory() -> None:
    text = ENGINE.replace("preempt lifo; ", "").replace("min(prompt, budget_left(engine))", "prompt")
    report = serq_lab.compile(text).run({"Lambda": 8, "Cap": 4000})
    assert report.binds == 'memory of "kv"'


def test_of_several_pools_of_a_hold_the_short_one_binds() -> None:
    text = """
    let C = 6;
    pool seats { cap 50; }
    pool mem { cap C; }
    stage s : delay;
    workload { arrive poisson(0.8); }
    session { hold seats (1), mem (ceil(~uniform(1, 5))) { run s (~exp(1)); } }
    """
    assert binds(text) == 'memory of "mem"'
    assert binds(text.replace("cap 50", "cap 1"), C=100) == 'slots of "seats"'


def test_members_of_one_index_belong_together() -> None:
    text = """
    pool seats[2] { cap 50; }
    pool mem[2] { cap 6; }
    stage s : delay;
    workload { arrive poisson(0.8); }
    session { hold seats[1] (1), mem[1] (ceil(~uniform(1, 5))) { run s (~exp(1)); } }
    """
    assert binds(text) == 'memory of "mem[1]"'
