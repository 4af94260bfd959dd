"""What a report hands out, and how it answers a wrong name."""

from __future__ import annotations

import numpy as np
import pytest

from tests.report import hand_made, oracle


def test_names_of_the_chapter() -> None:
    report, theirs = oracle.chapter()
    wait = report.observe["admit_wait"]
    assert list(report.observe) == ["admit_wait", "response"]
    assert wait.count == len(wait.samples) == len(wait.times) == len(wait.sessions) == len(wait.turns) == 75462
    assert wait.mean == pytest.approx(theirs.observe("admit_wait").mean, rel=1e-12)
    assert wait.half_width == pytest.approx(theirs.observe("admit_wait").ci, rel=1e-9)
    assert report.stage["server"].utilization == pytest.approx(theirs.stages[0].utilization)
    assert report.pool["mem"].rejected == 0
    assert report.lets == {"Lambda": 0.8, "S": 1.0, "C": 10.0}
    assert report.seed == 1
    assert report.settings == {"horizon": 100000, "warmup": 5000, "seed": 1, "arrivals": None}
    assert report.n_stuck == 0
    assert report.notes == []


def test_members_of_arrays_in_order_of_declaration() -> None:
    report = hand_made.report(
        pools=[hand_made.pool("kv", 3), hand_made.pool("slots")],
        pool_rows=hand_made.pool_records(4, rejected=[1, 2, 3, 4], used_area=[5, 0, 0, 20]),
    )
    assert list(report.pool) == ["kv[0]", "kv[1]", "kv[2]", "slots"]
    assert [row.rejected for row in report.pool.values()] == [1, 2, 3, 4]
    assert report.pool["kv[0]"].mean_used == 0.5
    assert (report.pool["kv[2]"].name, report.pool["kv[2]"].index) == ("kv", 2)
    assert report.pool["slots"].index is None


@pytest.mark.parametrize(
    ("rows", "name", "said"),
    [
        ("observe", "admit_wiat", 'no observation is called "admit_wiat"; did you mean "admit_wait"?'),
        ("observe", "zzz", 'no observation is called "zzz"; there is "admit_wait"'),
        ("stage", "servr", 'no stage is called "servr"; did you mean "server"?'),
        ("gauge", "level", 'no gauge is called "level"; the program has none'),
        ("pool", "kv", 'pool "kv" is an array: ask for a member, "kv[0]" to "kv[1]"'),
        ("pool", "kv[2]", 'no pool is called "kv[2]"; did you mean "kv'),
    ],
)
def test_a_wrong_name_says_which_is_near(rows: str, name: str, said: str) -> None:
    report = hand_made.report(
        observations={"admit_wait": hand_made.samples([1.0])},
        stages=[hand_made.stage("server")],
        pools=[hand_made.pool("kv", 2)],
    )
    with pytest.raises(KeyError) as caught:
        getattr(report, rows)[name]
    assert caught.value.args[0].startswith(said)
    assert name not in getattr(report, rows)


def test_nothing_is_computed_before_it_is_asked_for() -> None:
    report = hand_made.report(observations={"x": hand_made.samples([1.0, 2.0])})
    assert "observe" not in vars(report)
    row = report.observe["x"]
    assert "mean" not in vars(row)
    assert row.mean == 1.5
    assert report.observe["x"] is row


def test_the_measured_time_begins_at_the_warmup() -> None:
    report = hand_made.report(
        stages=[hand_made.stage("server")],
        stage_rows=hand_made.stage_records(1, busy_area=[4], completed=[2], wait_sum=[3], service_sum=[8]),
        warmup=2.0,
        live_area=16.0,
    )
    server = report.stage["server"]
    assert (server.utilization, server.throughput) == (0.5, 0.25)
    assert (server.mean_wait, server.mean_service) == (1.5, 4.0)
    assert report.mean_live == 2.0


def test_representations_hold_no_address() -> None:
    report = hand_made.report(observations={"x": hand_made.samples([1.0])}, gauges={"g": hand_made.changes((0, 1))})
    shown = [report, report.observe, report.observe["x"], report.gauge["g"], report.pool]
    assert [repr(one) for one in shown] == [
        "<report: end 10, 0 arrivals, 0 events>",
        "<observation: x>",
        '<observation "x": 1 samples, mean 1>',
        '<gauge "g": mean 1>',
        "<pool: none>",
    ]


def test_sessions_and_turns_are_kept() -> None:
    row = hand_made.report(observations={"x": hand_made.samples(np.arange(3.0))}).observe["x"]
    assert row.sessions.tolist() == [0, 1, 2]
    assert row.turns.tolist() == [1, 1, 1]
    assert row.times.tolist() == [0.0, 1.0, 2.0]
