"""Intervals cover what they should; the test on the warm-up notices what it should."""

from __future__ import annotations

import math

import numpy as np
import pytest

from serq_lab.experiments.intervals import half_width, is_warmup_short, student
from tests.experiments.sweeping import queue


@pytest.mark.parametrize(("degrees", "point"), [(1, 12.7062), (4, 2.7764), (9, 2.2622), (19, 2.0930)])
def test_points_of_students_t(degrees: int, point: float) -> None:
    assert student(0.95, degrees) == pytest.approx(point, abs=5e-5)  # Abramowitz and Stegun, table 26.10


@pytest.mark.parametrize(("n", "expected"), [(0, math.inf), (1, math.inf), (2, 0.0)])
def test_few_values(n: int, expected: float) -> None:
    assert half_width(np.ones(n)) == expected


def test_intervals_cover_the_closed_form_in_95_of_100_experiments() -> None:
    """M/M/1 at a load of 0.5: the mean response is 1 / (1 - 0.5) = 2."""
    program, n_covered = queue(), 0
    for seed in range(1, 101):
        found = program.sweep({"Lambda": [0.5]}, replications=10, seed=seed, horizon=3000, warmup=100)
        curve = found.curve("observe.response.mean")
        n_covered += abs(curve.mean[0] - 2.0) <= curve.half_width[0]
    assert 93 <= n_covered <= 97


def test_the_warmup_test_has_the_level_that_it_states() -> None:
    random = np.random.default_rng(1)
    false = [is_warmup_short(random.normal(1, 0.5, 10), random.normal(1, 0.1, 10)) for _ in range(2000)]
    assert 0.002 < np.mean(false) < 0.02  # 1%, both ways, less those that are too small to matter


def test_a_small_difference_does_not_matter_however_sure() -> None:
    later = np.linspace(9.99, 10.01, 10)
    assert not is_warmup_short(later - 0.4, later)
    assert is_warmup_short(later - 0.6, later)


def test_two_replications_and_runs_without_windows_say_nothing() -> None:
    assert not is_warmup_short(np.array([0.0, 0.0]), np.array([9.0, 9.1]))
    assert not is_warmup_short(np.full(5, math.nan), np.full(5, math.nan))
