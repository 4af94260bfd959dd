"""The recommended run length gives the wanted interval."""

from __future__ import annotations

import pytest

import serq_lab
from serq_lab import RunError
from serq_lab.experiments import recommend_run_length
from tests.experiments.sweeping import queue

METRIC = "observe.response.mean"


def test_the_recommended_horizon_gives_the_wanted_half_width() -> None:
    program = queue()
    advice = recommend_run_length(program, METRIC, 0.03, set={"Lambda": 0.5}, replications=20, horizon=2000)
    assert advice.horizon > 5000
    assert advice.warmup == 50
    got = program.sweep({"Lambda": [0.5]}, replications=20, seed=99, horizon=advice.horizon).curve(METRIC)
    assert got.half_width[0] == pytest.approx(0.03, rel=0.5)


def test_four_times_as_long_for_half_the_interval() -> None:
    whole, half = (recommend_run_length(queue(), METRIC, width, replications=5) for width in (0.2, 0.1))
    assert half.horizon - half.warmup == pytest.approx(4 * (whole.horizon - whole.warmup))
    assert half.events / whole.events == pytest.approx(half.horizon / whole.horizon)


def test_a_pilot_that_grows_is_said_to() -> None:
    advice = recommend_run_length(queue(), METRIC, 1.0, set={"Lambda": 1.5}, replications=3, horizon=3000)
    assert advice.unsteady == "population not settled"
    assert "but the pilot was not steady: population not settled" in str(advice)


def test_in_words() -> None:
    words = str(recommend_run_length(queue(), METRIC, 0.1, replications=5))
    assert words.startswith("horizon ")
    assert " with 5 replications for ±0.1 (the pilot, with horizon 500, has " in words


def test_a_program_without_lets() -> None:
    program = serq_lab.compile(
        "stage s : fifo; workload { arrive poisson(0.5); } session { run s (~exp(1)); observe x = now; }"
        "run { horizon 100; }"
    )
    assert recommend_run_length(program, "stage.s.mean_wait", 0.1, replications=3).replications == 3


@pytest.mark.parametrize(("width", "replications", "message"), [(0, 10, "must be above 0"), (1, 1, "at least 2")])
def test_what_makes_no_sense(width: float, replications: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        recommend_run_length(queue(), METRIC, width, replications=replications)


def test_a_pilot_without_an_interval() -> None:
    with pytest.raises(RunError, match="the pilot has no interval"):
        recommend_run_length(queue(), METRIC, 0.1, replications=2, horizon=1e-6, warmup=0)
