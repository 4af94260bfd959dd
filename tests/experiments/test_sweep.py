"""Sweeps: every run a row, the first replication the run itself, failures kept apart."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import serq_lab
from serq_lab import InternalError, ProgramError, RunError
from serq_lab.experiments import Sweep, task
from serq_lab.experiments.task import flat, replication_seed
from tests.experiments.sweeping import PROGRAMS, assert_same, memory, queue


@pytest.mark.parametrize(
    ("cap", "wait", "turned_away"), [(4, "1.1893", 0.2508), (6, "1.5358", 0), (10, "0.0947", 0), (20, "0.0006", 0)]
)
def test_the_chapter_to_the_digit_in_the_first_replication(cap: int, wait: str, turned_away: float) -> None:
    frame = memory().sweep({"C": [cap]}, replications=2).frame
    first = frame.iloc[0]
    assert (first["C"], first["replication"], first["seed"]) == (cap, 0, 1)
    assert f"{first['observe.admit_wait.mean']:.4f}" == wait
    assert first["turned_away"] == pytest.approx(turned_away, abs=1e-4)


def test_the_first_replication_is_a_single_run_field_by_field() -> None:
    program = queue()
    row = program.sweep({"Lambda": [0.3, 0.6]}, replications=1, seed=5, horizon=300, warmup=20).frame.iloc[1]
    report = program.run({"Lambda": 0.6}, seed=5, horizon=300, warmup=20)
    for name, value in flat(report).items():
        assert row[name] == value or (math.isnan(row[name]) and math.isnan(value)), name
    names = {name.rpartition(".")[0] for name in row.index if "." in name}
    assert names == {"run", "observe.response", "stage.server"}


def test_every_field_of_a_report_has_a_column() -> None:
    text = (PROGRAMS / "05-engine.sq").read_text().replace("session {", "gauge busy = used(kv);\n\nsession {", 1)
    program = serq_lab.compile(text)
    columns = program.sweep({"Lambda": [0.5]}, replications=1, horizon=50, warmup=5).frame.columns
    written = json.loads(program.run(horizon=50, warmup=5).to_json())
    assert written["gauges"]
    for word, rows in (("observe", written["observes"]), ("gauge", written["gauges"])):
        fields = {f"{word}.{name}.{field}" for name, row in rows.items() for field in row}
        assert {name.replace(".ci", ".half_width") for name in fields} <= set(columns)
    for word, rows in (("stage", written["stages"]), ("pool", written["pools"])):
        fields = {f"{word}.{row['name']}.{field}" for row in rows for field in row if field not in ("name", "index")}
        assert fields <= set(columns)
    alone = {name for name, value in written.items() if not isinstance(value, list | dict)} - {"serq_version", "seed"}
    assert {f"run.{name}" for name in alone} <= set(columns)


def test_rows_stand_in_order_of_the_grid() -> None:
    found = queue().sweep({"Lambda": [0.5, 0.2], "Servers": range(1, 3)}, replications=2, horizon=100)
    keys = found.frame[["Lambda", "Servers", "replication"]].to_numpy().tolist()
    assert keys == [[x, c, r] for x in (0.5, 0.2) for c in (1, 2) for r in (0, 1)]


def test_points_share_arrivals_and_draws() -> None:
    frame = memory().sweep({"C": [6, 10]}, replications=2, horizon=2000, warmup=0).frame
    by_point = frame.groupby("C")["run.arrivals"].apply(list)
    assert by_point[6.0] == by_point[10.0]
    assert by_point[6.0][0] != by_point[6.0][1]
    assert frame["seed"].tolist()[:2] == frame["seed"].tolist()[2:]


def test_seeds_come_from_seed_and_replication_alone() -> None:
    assert replication_seed(2**64 - 1, 0) == 2**64 - 1
    seeds = {replication_seed(seed, replication) for seed in range(50) for replication in range(20)}
    assert len(seeds) == 50 * 20
    assert replication_seed(1, 1) == 4042681867674859579  # kept for good: other numbers are another experiment


def test_counts_are_whole_numbers_and_averages_are_not() -> None:
    frame = queue().sweep({"Lambda": [0.5]}, replications=1).frame
    assert frame["run.events"].dtype == np.int64
    assert frame["observe.response.count"].dtype == np.int64
    assert frame["observe.response.mean"].dtype == np.float64
    assert frame["seed"].dtype == np.uint64


def test_a_failed_point_is_a_row_with_its_message() -> None:
    frame = queue().sweep({"Lambda": [-1, 0.5]}, replications=2).frame
    failed, fine = frame[frame["Lambda"] < 0], frame[frame["Lambda"] > 0]
    assert all("must be finite and 0 or more, and is -1" in message for message in failed["error"])
    assert failed["observe.response.mean"].isna().all()
    assert fine["error"].tolist() == ["", ""]
    assert fine["observe.response.mean"].notna().all()


def test_all_points_failed_is_an_error() -> None:
    with pytest.raises(RunError, match="all 4 runs of the sweep failed; the first, at -1:"):
        queue().sweep({"Lambda": [-1, -2]}, replications=2)


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({"Lamda": [1]}, 'did you mean "Lambda"'),
        ({"Lambda": []}, 'there are no values for "Lambda"'),
        ({"Lambda": [0.5, 0.25, 0.5]}, '"Lambda" is given 0.5 twice'),
    ],
)
def test_a_grid_that_makes_no_sense(over: dict[str, list[float]], message: str) -> None:
    with pytest.raises(ProgramError) as caught:
        queue().sweep(over)
    assert message in str(caught.value)


def test_nothing_varied_is_the_program_several_times() -> None:
    found = queue().sweep({}, replications=3)
    assert found.frame["observe.response.mean"].nunique() == 3
    with pytest.raises(KeyError, match="the sweep varies nothing"):
        found.curve("observe.response.mean")


def test_no_replications() -> None:
    with pytest.raises(ProgramError, match="must be at least 1, and is 0"):
        queue().sweep({"Lambda": [0.5]}, replications=0)


def test_a_let_that_a_column_is_called_like() -> None:
    program = serq_lab.compile("let error = 1; workload { arrive batch(1); } session { end; } run { horizon error; }")
    with pytest.raises(ProgramError, match='a table has a column "error" of its own'):
        program.sweep({"error": [1, 2]})


def test_members_that_only_some_points_have() -> None:
    program = serq_lab.compile(
        "let N = 1; pool kv[N] { cap 1; } stage s : delay; workload { arrive poisson(1); }"
        "session { hold kv[0] (1) { run s (1); } } run { horizon 50; }"
    )
    frame = program.sweep({"N": [1, 2]}, replications=1).frame
    assert frame["pool.kv[0].admissions"].dtype == np.int64
    assert frame["pool.kv[1].admissions"].isna().tolist() == [True, False]


def test_definitions_from_outside_reach_the_runs() -> None:
    text = "let A = 1; def f(x) = x; workload { arrive batch(2); } session { observe v = f(A); } run { horizon 1; }"
    frame = serq_lab.compile(text, defs={"f": "10 * x"}).sweep({"A": [3]}, replications=1).frame
    assert frame["observe.v.mean"].tolist() == [30.0]


def test_checked_runs_give_the_same_numbers() -> None:
    plain = queue().sweep({"Lambda": [0.5]}, replications=2, horizon=60, warmup=0)
    assert_same(plain.frame, queue().sweep({"Lambda": [0.5]}, replications=2, horizon=60, warmup=0, check=True).frame)


def test_a_fault_of_the_engine_is_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: object, **more: object) -> None:
        raise InternalError("used 3, held 2")

    monkeypatch.setattr(task.Program, "run", broken)
    with pytest.raises(InternalError, match="used 3, held 2"):
        queue().sweep({"Lambda": [0.5]})


def test_progress_goes_from_the_first_run_to_the_last() -> None:
    shares: list[float] = []
    queue().sweep({"Lambda": [0.2, 0.5]}, replications=3, progress=shares.append)
    assert shares == [pytest.approx(k / 6) for k in range(1, 7)]


def test_what_progress_raises_abandons_the_sweep() -> None:
    def interrupt(share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        queue().sweep({"Lambda": [0.5]}, replications=50, horizon=1e6, warmup=0, progress=interrupt)


def test_one_row_in_memory_is_a_few_hundred_bytes() -> None:
    rows = queue().sweep({"Lambda": [0.5]}, replications=2).rows
    assert rows[0].fields is rows[1].fields
    assert rows[0].values.itemsize * len(rows[0].values) < 400


def test_a_sweep_says_what_it_is() -> None:
    found = queue().sweep({"Lambda": [0.2, 0.5]}, replications=1, horizon=60)
    assert repr(found) == '<sweep of "queue": Lambda at 2 values, 1 replications>'
    assert isinstance(found, Sweep)
