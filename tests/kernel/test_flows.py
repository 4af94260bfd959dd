"""Flows: who gets which rate, what is counted, and that the numbers are the reference's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyserq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import serq_lab
from serq_lab.kernel.event_loop import run_slice
from serq_lab.kernel.flows import rate_flows, remove_flow
from serq_lab.kernel.storage.setup import Simulation
from serq_lab.report.report import Report
from tests.kernel.programs import Draw
from tests.kernel.running import simulation_of, tables_of
from tests.kernel.test_invariants import sessions
from tests.kernel.test_pools import reference
from tests.parity.cases import differences

STAGES = "stage a : ps(1); stage b : ps(2); stage c : ps(0.4); stage nap : delay; stage row[3] : ps(1);"


def run(session: str, share: str = "maxmin", batch: int = 1, horizon: float = 100, extra: str = "") -> Report:
    """A program of one batch of sessions, its state checked after every event."""
    text = f"""
      share {share}; {STAGES} {extra}
      workload {{ arrive batch({batch}); }} session {{ {session} }} run {{ horizon {horizon}; }}
    """
    return serq_lab.compile(text).run(check=True)


def values(report: Report, name: str) -> list[float]:
    return report.observe[name].samples.tolist()


# ------------------------------------------------------------------- by hand

FOUR = """
  branch (serial == 0) { run a, b (W0); }
  branch (serial == 1) { run a, row[0] (W1); }
  branch (serial == 2) { run b (W2); }
  branch (serial == 3) { run c, row[1], b (W3); }
  observe done = now;
"""


@pytest.mark.parametrize(
    ("share", "works", "used_of_b"),
    [
        # Filling: c rates the last at 0.4, a the first two at 0.5, b gives the third what is left.
        ("maxmin", ("5", "5", "11", "4"), 1.0),
        # a / 2, a / 2, b / 3, c / 1: what is left of b is nobody's.
        ("bottleneck", ("5", "5", "20 / 3", "4"), (0.5 + 2 / 3 + 0.4) / 2),
    ],
)
def test_four_flows_over_three_stages_end_together(share: str, works: Sequence[str], used_of_b: float) -> None:
    text = FOUR
    for k, work in enumerate(works):
        text = text.replace(f"W{k}", work)
    report = run(text, share, batch=4, horizon=20, extra="gauge at_b = queue(b);")
    assert values(report, "done") == pytest.approx([10.0] * 4)
    assert report.events == 4
    expected = {"a": (2, 1.0), "b": (3, used_of_b), "c": (1, 1.0), "row[0]": (1, 0.5), "row[1]": (1, 0.4)}
    for name, (n, used) in expected.items():
        stage = report.stage[name]
        assert stage.completed == n
        assert stage.mean_number == pytest.approx(n / 2)
        assert stage.utilization == pytest.approx(used / 2)
        assert (stage.mean_wait, stage.mean_service) == (0.0, pytest.approx(10.0))
    assert report.stage["row[2]"].completed == 0
    assert report.gauge["at_b"].values.tolist() == [3.0, 0.0]


@pytest.mark.parametrize("share", ["maxmin", "bottleneck"])
def test_an_end_that_was_set_anew_still_counts(share: str) -> None:
    """At 1 a second flow comes; the end at 2 of the first is stale, and is the same instant as the second's."""
    session = """
      branch (serial == 0) { run a, b (2); } else { run nap (1); run a, row[0] (0.5); }
      observe done = now;
    """
    report = run(session, share, batch=2)
    assert values(report, "done") == [2.0, 2.5]
    assert report.events == 4


def test_what_the_board_shows_of_flows() -> None:
    session = """
      branch (serial == 0) { run a, b (3); }
      branch (serial == 1) { run b (10); }
      branch (serial == 2) {
        observe n = queue(b); observe n = busy(b); observe w = work(b);
        run nap (1);
        observe n = queue(a); observe n = busy(b); observe w = work(a); observe w = work(b);
        run nap (1); run a (1); observe w = work(b);
      }
    """
    report = run(session, batch=3)
    assert values(report, "n") == [2.0, 2.0, 1.0, 2.0]
    # All three come at 0. At 1 both have done 1; from 2 on a is shared, and b gives the other 1.5.
    assert values(report, "w") == [13.0, 2.0, 2.0 + 9.0, 0.0 + 5.0]


def test_a_stage_of_flows_has_no_other_jobs() -> None:
    """A run on one such stage is a flow as well: alone it gets the whole capacity."""
    report = run("run b (1); observe done = now; branch (0) { run a, b (1); }", batch=2)
    assert values(report, "done") == [1.0, 1.0]
    assert report.events == 2


def test_work_of_nothing_is_done_at_once() -> None:
    report = run("run a, b (0); run a, b (-1); run b (0 / serial); observe done = now;", batch=2)
    assert values(report, "done") == [0.0, 0.0]
    assert (report.events, report.stage["a"].completed, report.ended) == (0, 0, 2)


def test_the_first_index_is_read_before_the_work_and_the_others_behind_it() -> None:
    """What a run draws, in order: first index, work, second index."""
    session = """
      run row[3 * ~uniform(0, 1)], pair[2 * ~uniform(0, 1)] (~uniform(0, 1)); observe took = now;
    """
    report = run(session, extra="stage pair[2] : ps(1);")
    stream = pyserq.Rng(1 ^ 0x5851F42D4C957F2D)
    first, work, second = (stream.random_f64() for _ in range(3))
    assert values(report, "took") == [work]
    assert report.stage[f"row[{int(3 * first)}]"].completed == 1
    assert report.stage[f"pair[{int(2 * second)}]"].completed == 1


def test_a_stage_that_two_indices_name_is_held_once() -> None:
    session = "set i = 2; observe q = queue(row[2]); run row[i], row[serial + 2], a (1); observe done = now;"
    report = run(session, batch=1, extra="gauge at = queue(row[2]);")
    assert values(report, "done") == [1.0]
    assert report.gauge["at"].values.tolist() == [1.0, 0.0]
    assert report.stage["row[2]"].completed == 1


def test_an_index_out_of_range_stops_the_run_at_its_place() -> None:
    with pytest.raises(serq_lab.RunError) as caught:
        run("run a, row[serial + 2] (0);", batch=2)
    (fault,) = caught.value.diagnostics
    assert fault.span is not None
    assert (fault.code, fault.span.text) == ("run-index", "row[serial + 2]")


@pytest.mark.parametrize("share", ["maxmin", "bottleneck"])
def test_capacities_that_rest_on_lets_and_one_without_end(share: str) -> None:
    text = f"""
      let C = 2; let Wide = 1;
      share {share}; stage tight : ps(C / 4); stage wide : ps(Wide);
      workload {{ arrive batch(2); }}
      session {{ run tight, wide (1); observe done = now; run wide (3); observe done = now; }}
      run {{ horizon 100; }}
    """
    program = serq_lab.compile(text)
    assert values(program.run(check=True), "done") == [4.0, 4.0, 10.0, 10.0]
    assert values(program.run({"C": 4}, check=True), "done") == [2.0, 2.0, 8.0, 8.0]
    assert values(program.run({"Wide": "inf"}, check=True), "done") == [4.0, 4.0, 4.0, 4.0]


def test_a_flow_that_is_taken_away_leaves_its_stages() -> None:
    """As a preemption does it: the others get its share, it is not counted, and its end is nobody's."""
    text = f"""
      share maxmin; {STAGES} workload {{ arrive batch(3); }}
      session {{ branch (serial == 0) {{ run nap (1); }} run a, b (1 + serial); observe done = now; }}
      run {{ horizon 50; }}
    """
    simulation = simulation_of(text, 1)
    state = simulation.runs.view(np.recarray)[0]
    taken = sessions(simulation)["serial"][:3].tolist().index(2)
    remove_flow(state, taken)
    assert simulation.stages_shown["queue"][:2].tolist() == [2, 2]
    rate_flows(state)
    while not run_slice(simulation.runs, 1):
        pass
    records = simulation.records()
    assert records.samples[0].time.tolist() == [3.0, 3.5]
    assert records.stages.completed[:2].tolist() == [2, 2]
    assert records.events == 1 + 2 + 2  # the nap, two ends that were set anew, two ends


# ---------------------------------------------------------------- properties

CAPACITIES = (0.3, 0.7, 1.0, 1.1, 2.0, 3.0)
some_flows = st.lists(st.sets(st.integers(0, 4), min_size=1, max_size=4).map(sorted), min_size=1, max_size=9)
some_capacities = st.lists(st.sampled_from(CAPACITIES), min_size=5, max_size=5)
shares = st.sampled_from(["maxmin", "bottleneck"])


def program_of(share: str, flows: Sequence[Sequence[int]], capacities: Sequence[float], works: Sequence[float]) -> str:
    """One session a flow, all at time 0."""
    stages = " ".join(f"stage s{i} : ps({c});" for i, c in enumerate(capacities))
    runs = " ".join(
        f"branch (serial == {k}) {{ run {', '.join(f's{i}' for i in flow)} ({works[k]}); }}"
        for k, flow in enumerate(flows)
    )
    # A run on all stages, or some of them would be no stages of flows.
    return f"""
      share {share}; {stages} workload {{ arrive batch({len(flows)}); }}
      session {{ {runs} run s0, s1, s2, s3, s4 (0); }} run {{ horizon 1000; }}
    """


def rates_of(share: str, flows: Sequence[Sequence[int]], capacities: Sequence[float]) -> NDArray[np.float64]:
    """The rates that these flows get together."""
    simulation = Simulation(tables_of(program_of(share, flows, capacities, [1.0] * len(flows))))
    run_slice(simulation.runs, 1)
    rows = sessions(simulation)[: len(flows)]
    return np.array(rows["rate"][np.argsort(rows["serial"])])


@settings(max_examples=80, deadline=None)
@given(some_flows, some_capacities)
def test_max_min_rates_are_feasible_and_each_flow_has_a_bottleneck(
    flows: list[list[int]], capacities: list[float]
) -> None:
    """A stage that is full, and at which nobody gets more (Bertsekas and Gallager, section 6.5.2)."""
    rates = rates_of("maxmin", flows, capacities)
    at = [[k for k, flow in enumerate(flows) if i in flow] for i in range(5)]
    used = np.array([rates[here].sum() for here in at])
    assert (used <= np.array(capacities) * (1 + 1e-9)).all()
    for k, flow in enumerate(flows):
        assert any(used[i] >= capacities[i] * (1 - 1e-9) and rates[k] >= rates[at[i]].max() * (1 - 1e-9) for i in flow)


@settings(max_examples=40, deadline=None)
@given(some_flows, some_capacities)
def test_bottleneck_rates_are_the_least_equal_shares(flows: list[list[int]], capacities: list[float]) -> None:
    n_at = [sum(i in flow for flow in flows) for i in range(5)]
    expected = [min(capacities[i] / n_at[i] for i in flow) for flow in flows]
    assert rates_of("bottleneck", flows, capacities).tolist() == expected


@settings(max_examples=40, deadline=None)
@given(shares, some_flows, some_capacities, st.lists(st.sampled_from([0.1, 0.5, 1, 2.7, 3]), min_size=9, max_size=9))
def test_what_the_stages_carry_is_the_work_of_their_flows(
    share: str, flows: list[list[int]], capacities: list[float], works: list[float]
) -> None:
    report = serq_lab.compile(program_of(share, flows, capacities, works)).run(check=True)
    assert report.ended == len(flows)
    for i, capacity in enumerate(capacities):
        brought = sum(works[k] for k, flow in enumerate(flows) if i in flow)
        assert report.stage[f"s{i}"].utilization * capacity * report.end == pytest.approx(brought, rel=1e-9)
        assert report.stage[f"s{i}"].completed == sum(i in flow for flow in flows)


# ------------------------------------------------------------- the reference

WORKS = ("0.3", "1", "1 / 3", "serial / 3", "~uniform(0.1, 2)", "w")
names = st.lists(st.sampled_from(["a", "b", "c[serial - 2 * floor(serial / 2)]"]), min_size=1, max_size=3, unique=True)
runs = st.builds(lambda stages, work: f"run {', '.join(stages)} ({work});", names, st.sampled_from(WORKS))
statements = st.one_of(
    runs, runs, runs.map(lambda text: f"hold p (1) {{ {text} }}"),
    st.sampled_from([
        "run nap (0.25);", "set w = ~uniform(0, 1);", "observe t = now - came;", "observe n = queue(a) + busy(c[1]);",
        "branch (serial > 2) { run a, b (1); } else { run c[0], b (1); }", "observe rho = est_rho(b);",
    ]),
)  # fmt: skip


@st.composite
def flow_programs(draw: Draw) -> str:
    """A program's text: ties are many, for sessions come together with equal work."""
    caps = draw(st.lists(st.sampled_from(CAPACITIES), min_size=3, max_size=3))
    body = " ".join(draw(st.lists(statements, min_size=1, max_size=6)))
    arrive = draw(st.sampled_from(["batch(9)", "closed(7)", "renewal(0.5)", "renewal(~uniform(0.1, 0.6))"]))
    return f"""
      share {draw(shares)}; stage a : ps({caps[0]}); stage b : ps({caps[1]}); stage c[2] : ps({caps[2]});
      stage nap : delay; pool p {{ cap {draw(st.integers(2, 5))}; }}
      workload {{ arrive {arrive}; init {{ set w = serial / 7; }} }}
      session {{ set came = now; loop {{ {body} run a, b, c[1] (0.2); observe done = now; run nap (0.05);
        branch (now > {draw(st.sampled_from([1, 6]))}) {{ end; }} }} }}
      gauge at_a = queue(a);
      run {{ horizon 12; warmup {draw(st.sampled_from([0, 3]))}; seed {draw(st.integers(1, 99))}; }}
    """


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(flow_programs())
def test_random_flows_stay_sound_and_agree_with_the_reference(tmp_path: Path, text: str) -> None:
    report = serq_lab.compile(text).run(check=True)
    assert differences(json.loads(report.to_json()), reference(text, tmp_path)) == []


def test_ends_that_round_to_one_instant_are_a_tie(tmp_path: Path) -> None:
    """Durations that differ in their last bits: the flow that started first ends first."""
    text = """
      share bottleneck; stage a : ps(0.7); stage b : ps(1.1); workload { arrive batch(9); }
      session { loop { run a, b (1 / 3); observe who = serial; run b (1 / 3); } } run { horizon 60; }
    """
    path = tmp_path / "program.sq"
    path.write_text(text, encoding="utf-8")
    theirs = pyserq.run(pyserq.compile(str(path)))
    ours = serq_lab.compile(text).run(check=True)
    assert ours.events == theirs.events
    assert ours.observe["who"].samples.tolist() == list(theirs.observe("who").samples)
    assert ours.observe["who"].times.tolist() == list(theirs.observe("who").times)
