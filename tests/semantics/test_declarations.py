"""Pools, stages, arrivals, gauges and run settings: what they become, and what refuses them."""

from __future__ import annotations

import math

import pytest

from serq_lab.semantics import model as m
from tests.semantics.checking import checked, fault, faults, program


def test_defaults() -> None:
    model = checked("pool p { } stage s : fifo; stage e : step { cost 1; } run { horizon 5; }")
    (pool,), (single, step) = model.pools, model.stages
    assert (pool.evict_keys, pool.queue_keys, pool.preempt, pool.admit_via) == (None, None, "none", None)
    assert model.constants.caps == (math.inf,)
    assert math.isnan(model.constants.blocks[0])
    assert model.constants.servers == (1, 0)
    assert (single.kind, step.kind, step.budget, step.chunk) == ("fifo", "step", None, None)
    assert step.order is not None
    assert (step.order.kind, step.order.only) == ("admission", None)
    assert (model.constants.warmup, model.constants.seed, model.constants.arrivals) == (0.0, 1, None)


def test_options_of_a_pool() -> None:
    items = (
        "pool tier { } pool p { cap 8; block 2; evict by (age, size); queue by (serial); preempt lifo;"
        " admit via engine; spill tier via nap (size) when (waiting); }"
    )
    pool = checked(program(items=items)).pools[-1]
    assert pool.evict_keys is not None
    assert [each.name for each in pool.evict_keys if isinstance(each, m.Context)] == ["age", "size"]
    assert pool.queue_keys is not None
    assert len(pool.queue_keys) == 1
    assert pool.preempt == "lifo"
    assert pool.admit_via is not None
    assert pool.admit_via.family == 2
    assert pool.spill is not None
    assert (pool.spill.pool.family, pool.spill.stage.family) == (3, 1)


def test_serving_orders() -> None:
    items = "stage z : step { cost 1; serve only (decoding) by (remaining, admission); memory kv; }"
    stage = checked(program(items=items)).stages[-1]
    assert stage.order is not None
    assert stage.order.kind == "by"
    assert len(stage.order.keys) == 2
    assert isinstance(stage.order.only, m.Context)
    assert stage.memory is not None
    assert stage.memory.index is None


@pytest.mark.parametrize(
    ("items", "code", "place"),
    [
        ("pool p { cap -1; }", "bad-capacity", "-1"),
        ("pool p { cap inf - inf; }", "bad-capacity", "inf - inf"),
        ("pool p { block 0; }", "bad-block", "0"),
        ("pool p { block inf; }", "bad-block", "inf"),
        ("pool p { cap 1; cap 2; }", "given-twice", "cap 2;"),
        ("pool p { evict lru; evict by (age); }", "given-twice", "evict by (age);"),
        ("pool p[0] { }", "bad-members", "0"),
        ("pool p[2.5] { }", "bad-members", "2.5"),
        ("pool p[10001] { }", "bad-members", "10001"),
        ("pool p { cap serial; }", "not-readable-here", "serial"),
        ("pool p { cap free(kv); }", "not-readable-here", "free(kv)"),
        ("pool p { admit via desk; }", "not-a-step", "desk"),
        ("pool p { spill kv via engine (1) when (1); }", "spill-via-step", "engine"),
        ("pool p { admit via chair; }", "unknown-stage", "chair"),
        ("pool p { spill tank via nap (1) when (1); }", "unknown-pool", "tank"),
        ("stage z : step { cost 1; memory tank; }", "unknown-pool", "tank"),
        ("stage z : fifo(0);", "bad-servers", "0"),
        ("stage z : fifo(1.5);", "bad-servers", "1.5"),
        ("stage z : fifo(inf);", "bad-servers", "inf"),
        ("stage z : ps(-1);", "bad-capacity", "-1"),
        ("stage z : step { cost -2; }", "bad-cost", "-2"),
        ("stage z : step { cost 0 / 0; }", "bad-cost", "0 / 0"),
        ("stage z : step { cost 1; budget -1; }", "bad-cost", "-1"),
        ("stage z : step { cost 1; cost 2; }", "given-twice", "cost 2;"),
        ("stage z : step { budget 1; }", "step-without-cost", "workload"),
        ("stage z : step { } // nothing\n gauge g = 1;", "step-without-cost", "gauge"),
        ("pool kv { }", "given-twice", "kv"),
        ("stage nap : fifo;", "given-twice", "nap"),
        ("gauge g = 1; gauge g = 2;", "given-twice", "g"),
    ],
)
def test_refused(items: str, code: str, place: str) -> None:
    assert fault(program(items=items)) == (code, place)


@pytest.mark.parametrize("option", ["chunk -1;", "chunk 0;", "budget 0;", "budget inf;"])
def test_odd_but_meant(option: str) -> None:
    checked(program(items=f"stage z : step {{ cost 0; {option} }}"))


@pytest.mark.parametrize(
    ("first", "second", "joins"),
    [
        ("", "", True),
        ("[3]", "", True),
        ("[3]", "[3]", True),
        ("[3]", "[1]", True),
        ("", "[1]", True),
        ("", "[3]", False),
        ("[2]", "[3]", False),
    ],
)
def test_joins_of_arrays(first: str, second: str, joins: bool) -> None:
    admit = f"stage y{second} : step {{ cost 1; }} pool p{first} {{ admit via y; }}"
    memory = f"pool q{second} {{ }} stage z{first} : step {{ cost 1; memory q; }}"
    spill = f"pool q{second} {{ }} pool p{first} {{ spill q via nap (1) when (1); }}"
    for items in (admit, memory, spill):
        if joins:
            checked(program(items=items))
        else:
            assert fault(program(items=items))[0] == "join-counts"


def test_one_member_may_be_named() -> None:
    stage = checked(program(items="stage z : step { cost 1; memory racks[1]; }")).stages[-1]
    assert stage.memory is not None
    assert isinstance(stage.memory.index, m.Constant)
    assert fault(program(items="stage z : step { cost 1; memory racks[3]; }")) == ("bad-index", "racks[3]")


@pytest.mark.parametrize(
    ("workload", "code", "place"),
    [
        ("arrive poisson(-1);", "bad-rate", "-1"),
        ("arrive poisson(1 / 0);", "bad-rate", "1 / 0"),
        ("arrive poisson(~exp(1));", "draw-not-allowed", "exp"),
        ("arrive renewal(0);", "bad-gap", "0"),
        ("arrive renewal(inf);", "bad-gap", "inf"),
        ("arrive renewal(serial);", "not-readable-here", "serial"),
        ("arrive renewal(used(kv));", "not-readable-here", "used(kv)"),
        ("arrive batch(2.5);", "bad-population", "2.5"),
        ("arrive batch(1e9);", "bad-population", "1e9"),
        ("arrive closed(-1);", "bad-population", "-1"),
        ("arrive closed(1); arrive none;", "given-twice", "arrive none;"),
        ("arrive none; init { } init { }", "given-twice", "init { }"),
        ('arrive none; trace "a.csv"; trace "b.csv";', "given-twice", 'trace "b.csv";'),
        ("arrive none; hidden a;", "hidden-unset", "a"),
        ("arrive none; hidden a; hidden a; init { set a = 1; }", "given-twice", "a"),
    ],
)
def test_workloads_refused(workload: str, code: str, place: str) -> None:
    assert fault(program(workload=workload)) == (code, place)


@pytest.mark.parametrize(
    "workload",
    [
        "arrive poisson(0);",
        "arrive renewal(~det(0));",
        "arrive renewal(1 + now);",
        "arrive batch(0);",
        "arrive none;",
        "arrive none; hidden serial;",
    ],
)
def test_workloads_accepted(workload: str) -> None:
    checked(program(workload=workload))


@pytest.mark.parametrize(
    ("run", "code", "place"),
    [
        ("horizon 0;", "bad-horizon", "0"),
        ("horizon inf;", "bad-horizon", "inf"),
        ("horizon 0 / 0;", "bad-horizon", "0 / 0"),
        ("horizon 1; horizon 2;", "given-twice", "horizon 2;"),
        ("horizon 1; warmup 1;", "bad-warmup", "1"),
        ("horizon 1; warmup -1;", "bad-warmup", "-1"),
        ("horizon 1; seed 2.5;", "bad-seed", "2.5"),
        ("horizon 1; seed -1;", "bad-seed", "-1"),
        ("horizon 1; seed 18446744073709551616;", "bad-seed", "18446744073709551616"),
        ("horizon 1; arrivals 3;", "arrivals-not-open", "arrivals 3;"),
        ("warmup 1;", "no-horizon", "run { warmup 1; }"),
    ],
)
def test_settings_refused(run: str, code: str, place: str) -> None:
    assert fault(program(run=run)) == (code, place)


@pytest.mark.parametrize("arrivals", ["0", "0.5", "inf", "2.5"])
def test_a_limit_of_arrivals_is_a_count(arrivals: str) -> None:
    text = program(workload="arrive poisson(1);", run=f"horizon 1; arrivals {arrivals};")
    assert fault(text) == ("bad-arrivals", arrivals)


def test_the_largest_seed() -> None:
    assert checked(program(run="horizon 1; seed 18446744073709551615;")).constants.seed == 2**64 - 1


def test_a_program_without_run_misses_its_horizon_at_the_end() -> None:
    (found,) = faults("session { end; }\n\n")
    assert (found.code, found.span and found.span.text) == ("no-horizon", "}")


def test_a_block_given_twice() -> None:
    assert fault(program() + "run { seed 1; }") == ("given-twice", "run { seed 1; }")
    assert fault(program() + "workload { arrive none; }") == ("given-twice", "workload { arrive none; }")
    assert fault(program() + "session { turn; }") == ("given-twice", "{ turn; }")


def test_gauges_and_observations_have_names_of_their_own() -> None:
    assert fault(program("observe g = 1;", "gauge g = used(kv);")) == ("name-clash", "g")


def test_a_step_without_cost_at_the_end_of_the_text() -> None:
    assert fault("run { horizon 1; } stage z : step { }") == ("step-without-cost", "}")
