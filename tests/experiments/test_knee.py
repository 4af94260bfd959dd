"""Knees: where they are, and when there is none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serq_lab.experiments.curve import Curve
from serq_lab.experiments.knee import Gap, Knee, NoKnee, bend, find_knee, shape_of
from tests.experiments.sweeping import memory, queue
from tests.experiments.test_curve import curve


def noisy(means: np.ndarray, spread: float, n: int = 10, **more: object) -> Curve:
    """A curve with these means and independent noise."""
    noise = np.random.default_rng(1).normal(0, spread, (len(means), n))
    return curve((means[:, None] + noise - noise.mean(axis=1, keepdims=True)).tolist(), **more)


def test_the_knee_of_the_chapter_lies_between_six_and_ten() -> None:
    found = memory().sweep({"C": range(4, 21)}, replications=10, horizon=20000)
    knee = found.knee("observe.admit_wait.mean")
    assert isinstance(knee, Knee)
    assert 6 < knee.x <= 10
    low, high = knee.interval
    assert 6 <= low <= knee.x <= high <= 10
    assert knee.y == found.curve("observe.admit_wait.mean").mean[int(knee.x) - 4]
    assert str(knee).startswith(f"knee at C = {knee.x:g} (95% interval {low:g} to {high:g}), observe.admit_wait.mean ")


def test_the_capacity_that_turns_work_away_does_not_count() -> None:
    values = [[1.2, 1.3]] + [[2.5 * 0.5**k, 2.6 * 0.5**k] for k in range(8)]
    away = np.array([0.25] + [0.0] * 8)
    with_it = find_knee(curve(values, turned_away=away))
    without = find_knee(curve(values[1:], x=np.arange(1.0, 9.0)))
    assert with_it == without
    assert isinstance(with_it, Knee)


@pytest.mark.parametrize("flip_x", [1, -1])
@pytest.mark.parametrize("flip_y", [1, -1])
def test_the_corner_of_two_lines(flip_x: int, flip_y: int) -> None:
    x = np.arange(11.0)
    y = flip_y * np.where(x < 3, 10 - 3 * x, 1 - 0.1 * (x - 3))
    y = y if flip_x == 1 else y[::-1]
    knee = find_knee(noisy(y, 0.01))
    assert isinstance(knee, Knee)
    assert knee.x == (3 if flip_x == 1 else 7)
    assert knee.interval == (knee.x, knee.x)


def test_noise_widens_the_interval() -> None:
    y = 10 * 0.6 ** np.arange(12.0)
    quiet, loud = find_knee(noisy(y, 0.01)), find_knee(noisy(y, 1.0))
    assert isinstance(quiet, Knee)
    assert isinstance(loud, Knee)
    assert loud.interval[1] - loud.interval[0] > quiet.interval[1] - quiet.interval[0]
    assert loud.interval[0] <= quiet.x <= loud.interval[1]


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (noisy(np.array([4.0, 2, 1, 0.5]), 0.1), "4 points count, and it takes 5"),
        (noisy(np.full(9, 3.0), 0.5), '"m" is flat within the noise'),
        (noisy(10 - np.arange(9.0), 0.1), '"m" is still falling at x = 8'),
        (noisy(np.arange(9.0), 0.1), '"m" is still rising at x = 8'),
        (noisy(10 * np.exp(-np.arange(9.0) / 20), 0.01), '"m" is still falling at x = 8'),
        (curve([[8.0], [4], [2], [1], [0.5], [0.2]]), "one replication leaves the noise unknown"),
    ],
)
def test_no_knee_with_the_reason(made: Curve, reason: str) -> None:
    found = find_knee(made)
    assert isinstance(found, NoKnee)
    assert reason in found.reason
    assert str(found) == f"no knee: {found.reason}"
    assert repr(found) == f"<{found}>"  # what a notebook shows


def test_what_is_left_out_is_said() -> None:
    made = noisy(8 * 0.5 ** np.arange(7.0), 0.01, turned_away=np.array([0.1, 0.2, 0.1, 0, 0, 0, 0]))
    found = find_knee(made)
    assert isinstance(found, NoKnee)
    assert (
        found.reason
        == "4 points count, and it takes 5 (3 of 7 are left out: failed, not steady, or work is turned away)"
    )


CLIFF = np.array([10.0, 9.8, 9.6, 9.4, 2.0, 1.9, 1.8, 1.7, 1.6])


def test_a_sweep_that_is_too_coarse_to_place_its_knee_says_so() -> None:
    made = noisy(CLIFF, 0.01, x=np.arange(0, 45.0, 5))
    knee = find_knee(made)
    assert isinstance(knee, Knee)
    assert knee.interval == (20, 20)  # the replications agree on the point, and know nothing of those between
    assert knee.gap == Gap(15, 20, *made.mean[3:5])
    assert str(knee).endswith(
        '; the sweep is too coarse to place it: from x = 15 to 20 "m" goes from 9.4 to 2; add values between'
    )


def test_between_whole_numbers_one_apart_there_is_nothing_to_add() -> None:
    knee = find_knee(noisy(CLIFF, 0.01))
    assert isinstance(knee, Knee)
    assert knee.gap is None
    assert "coarse" not in str(knee)


def test_a_fine_sweep_is_not_too_coarse() -> None:
    x = np.linspace(0, 0.95, 39)
    knee = find_knee(noisy(1 / (1 - x), 0.001, x=x))
    assert isinstance(knee, Knee)
    assert knee.gap is None


def test_a_step_within_the_noise_is_no_gap() -> None:
    made = noisy(CLIFF, 0.01, x=np.arange(0, 45.0, 5))
    values = made.values.copy()
    values[3] = np.linspace(-20, 38.8, values.shape[1])  # the mean is the same, and says nothing
    knee = find_knee(replace(made, values=values))
    assert isinstance(knee, NoKnee) or knee.gap is None


def test_both_sides_of_a_knee_are_looked_at() -> None:
    made = noisy(CLIFF[::-1], 0.01, x=np.arange(0, 45.0, 5))
    knee = find_knee(made)
    assert isinstance(knee, Knee)
    assert knee.gap == Gap(20, 25, *made.mean[4:6])


def test_the_load_of_a_queue_has_its_knee_below_one() -> None:
    loads = [0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 1.1, 1.3]
    knee = queue().sweep({"Lambda": loads}, replications=5, horizon=20000, warmup=500).knee("observe.response.mean")
    assert isinstance(knee, Knee)
    assert 0.5 <= knee.x < 0.9


@settings(max_examples=60, deadline=None)
@given(
    ratio=st.floats(0.2, 0.7), n=st.integers(8, 25),
    scale=st.floats(1e-3, 1e3), offset=st.floats(-1e3, 1e3), stretch=st.floats(1e-2, 1e2),
)  # fmt: skip
def test_units_and_origin_do_not_move_a_knee(ratio: float, n: int, scale: float, offset: float, stretch: float) -> None:
    x, y = np.arange(float(n)), ratio ** np.arange(float(n))
    row = bend(x, y, shape_of(x, y))
    assert row is not None
    assert 0 < row < n - 1
    moved_x, moved_y = stretch * x + offset, scale * y
    assert bend(moved_x, moved_y, shape_of(moved_x, moved_y)) == row
