"""Curves: what they take from a frame, what counts, and what they refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest

import serq_lab
from serq_lab.experiments.curve import Curve
from tests.experiments.sweeping import memory, queue


def curve(values: list[list[float]], **more: object) -> Curve:
    """A curve made by hand: one row a point."""
    n = len(values)
    given: dict[str, object] = {
        "x": np.arange(n, dtype=float),
        "turned_away": np.zeros(n),
        "binds": ("arrivals",) * n,
        "unsteady": ("",) * n,
        **more,
    }
    return Curve("m", "x", {}, values=np.array(values, float), **given)


def test_mean_and_interval_by_hand() -> None:
    # Three values 1, 2, 3: s = 1, t with 2 degrees of freedom 4.302653.
    made = curve([[1, 2, 3], [5, 5, 5]])
    assert made.mean.tolist() == [2.0, 5.0]
    assert made.half_width.tolist() == pytest.approx([4.302653 / math.sqrt(3), 0.0])
    assert made.replications.tolist() == [3, 3]


def test_runs_without_a_value_are_left_out() -> None:
    made = curve([[1, math.nan, 3], [math.nan] * 3, [2, math.nan, math.nan]])
    assert made.replications.tolist() == [2, 0, 1]
    assert made.mean[0] == 2.0
    assert math.isnan(made.mean[1])
    assert made.half_width[1:].tolist() == [math.inf, math.inf]
    assert made.is_full.tolist() == [True, False, True]


def test_points_that_turn_work_away_or_are_not_steady_do_not_count() -> None:
    made = curve([[1, 2]] * 3, turned_away=np.array([0.1, 0, 0]), unsteady=("", "growing", ""))
    assert made.is_full.tolist() == [False, False, True]


def test_the_chapter() -> None:
    found = memory().sweep({"C": [10, 4, 6]}, replications=3, horizon=20000).curve("observe.admit_wait.mean")
    assert found.x.tolist() == [4, 6, 10]  # in order, however the sweep was given
    assert found.turned_away[0] == pytest.approx(0.25, abs=0.01)
    assert found.turned_away[1:].tolist() == [0, 0]
    assert found.binds == ('memory of "mem"', 'memory of "mem"', "arrivals")
    assert found.unsteady == ("", "", "")
    assert list(found.frame.columns) == ["C", "mean", "half_width", "replications", "turned_away", "binds", "unsteady"]
    assert "<table" in found._repr_html_()
    assert str(found).startswith("observe.admit_wait.mean by C\n")


def test_growing_points_are_marked() -> None:
    found = queue().sweep({"Lambda": [0.5, 1.3]}, replications=3, horizon=5000, warmup=100)
    assert found.curve("observe.response.mean").unsteady == ("", "population not settled")
    assert found.frame["steady"].tolist() == [True] * 3 + [False] * 3


def test_a_warmup_that_is_too_short_is_marked() -> None:
    # From the empty system, M/M/c with 200 sessions present in the end, in 10 times their stay.
    program = serq_lab.compile(
        "let Lambda = 200; stage far : delay; workload { arrive poisson(Lambda); }"
        "session { run far (~exp(10)); observe done = 1; } run { horizon 100; }"
    )
    marked = program.sweep({"Lambda": [200]}, replications=5, warmup=0).frame
    assert marked["unsteady"].isin(["warm-up too short", "population not settled"]).all()
    settled = program.sweep({"Lambda": [200]}, replications=5, horizon=200, warmup=100).frame
    assert settled["steady"].all()


def test_one_of_several_lets() -> None:
    found = queue().sweep({"Lambda": [0.2, 0.5], "Servers": [1, 2]}, replications=2, horizon=200)
    one = found.curve("observe.response.mean", "Lambda", {"Servers": 2})
    frame = found.frame
    rows = frame[(frame["Servers"] == 2) & (frame["Lambda"] == 0.5)]
    assert one.values[1].tolist() == rows["observe.response.mean"].tolist()
    assert [dict(each.at) for each in found.curves("observe.response.mean")] == [{"Servers": 1.0}, {"Servers": 2.0}]


@pytest.mark.parametrize(
    ("metric", "by", "at", "message"),
    [
        ("observe.responce.mean", "Lambda", {"Servers": 1}, 'did you mean "observe.response.mean"?'),
        ("observe.response.mean", None, {}, "say which is drawn, as in by='Lambda'"),
        ("observe.response.mean", "C", {}, 'does not vary "C"; it varies "Lambda", "Servers"'),
        ("observe.response.mean", "Lambda", {}, 'also varies "Servers", over 1, 2: pick one, as in at={"Servers": 1}'),
        ("observe.response.mean", "Lambda", {"Servers": 3}, "pick one"),
        ("observe.response.mean", "Lambda", {"Lambda": 1}, "names no other let of the sweep"),
    ],
)
def test_what_a_curve_refuses(metric: str, by: str | None, at: dict[str, float], message: str) -> None:
    found = queue().sweep({"Lambda": [0.2], "Servers": [1, 2]}, replications=1, horizon=100)
    with pytest.raises(KeyError) as caught:
        found.curve(metric, by, at)
    assert message in caught.value.args[0]
