"""Estimates against direct, slow forms of the rules, and against cases done by hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from serq_lab.report import estimates

Samples = NDArray[np.float64]
SAMPLES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300).map(np.array)


@pytest.mark.parametrize("n", [1, 2, 99, 100, 101, 200, 201, 1000, 75462])
def test_p99_is_the_ceiling_rank(n: int) -> None:
    values = np.random.default_rng(n).permutation(n).astype(float)
    assert estimates.p99(values) == math.ceil(0.99 * n) - 1


def test_nan_stands_before_every_number() -> None:
    nan = math.nan
    assert estimates.p99(np.array([nan, 1.0, 2.0])) == 2.0
    assert math.isnan(estimates.p99(np.array([nan])))
    # 200 samples: the 198th smallest; with 199 NaN it is one of them, with 197 the least number
    assert math.isnan(estimates.p99(np.array([nan] * 199 + [5.0])))
    assert estimates.p99(np.array([nan] * 197 + [7.0, 5.0, 6.0])) == 5.0


@pytest.mark.parametrize(
    "change",
    [
        lambda values: values,
        np.sort,
        lambda values: np.where(values < 3.0, 0.0, values),
        lambda values: np.zeros_like(values),
        lambda values: np.where(np.arange(len(values)) % 20 == 0, 1e6 + values, values),  # what a step of 20 sees
        lambda values: np.where(np.arange(len(values)) % 20 == 0, -values, values),
        lambda values: np.where(values > 4.0, math.nan, values),
        lambda values: np.where(values < 6.0, math.nan, values),
        lambda values: np.where(values > 4.0, math.inf, values),
    ],
)
@pytest.mark.parametrize("n", [estimates.MANY_SAMPLES - 1, estimates.MANY_SAMPLES, 20_000])
def test_p99_of_many_samples_is_that_of_all_sorted(change: Callable[[Samples], Samples], n: int) -> None:
    values = change(np.random.default_rng(n).exponential(1.0, n))
    numbers = np.sort(values[~np.isnan(values)])
    ordered = np.concatenate([np.full(n - len(numbers), math.nan), numbers])
    expected = float(ordered[math.ceil(0.99 * n) - 1])
    assert estimates.p99(values) == pytest.approx(expected, abs=0, rel=0, nan_ok=True)


def test_no_samples() -> None:
    empty = np.zeros(0)
    assert math.isnan(estimates.mean(empty))
    assert math.isinf(estimates.half_width(empty))
    assert math.isnan(estimates.cv2(empty))
    assert math.isnan(estimates.p99(empty))


def test_cv2_of_one_sample_and_of_mean_zero() -> None:
    assert math.isnan(estimates.cv2(np.array([3.0])))
    assert estimates.cv2(np.array([-1.0, 1.0])) == math.inf
    assert estimates.cv2(np.zeros(5)) == math.inf
    assert estimates.cv2(np.array([1.0, 3.0])) == pytest.approx(2.0 / 4.0)


def test_half_width_appears_at_forty_samples() -> None:
    values = np.arange(40.0)
    assert math.isinf(estimates.half_width(values[:39]))
    # Batches of two: means 0.5, 2.5, ..., 38.5, whose variance is that of 0..19 times 4.
    variance = 4 * np.var(np.arange(20.0), ddof=1)
    assert estimates.half_width(values) == pytest.approx(2.093 * math.sqrt(variance / 20))


@given(SAMPLES)
def test_half_width_leaves_the_rest_unused(values: np.ndarray) -> None:
    size = len(values) // 20
    used = values[: 20 * size]
    if len(values) >= 40:
        means = [sum(used[k * size : (k + 1) * size]) / size for k in range(20)]
        centre = sum(means) / 20
        variance = sum((one - centre) ** 2 for one in means) / 19
        expected = 2.093 * math.sqrt(variance / 20)
        assert estimates.half_width(values) == pytest.approx(expected, rel=1e-6, abs=1e-6)


def slow_gauge(times: list[float], values: list[float], warmup: float, end: float) -> tuple[float, float, float, float]:
    def area(start: float, stop: float) -> float:
        total = 0.0
        for k, value in enumerate(values):
            until = times[k + 1] if k + 1 < len(times) else math.inf
            total += value * max(0.0, min(stop, until) - max(start, times[k]))
        return total

    width = (end - warmup) / 20
    windows = [area(warmup + k * width, warmup + (k + 1) * width) / width for k in range(20)]
    held = [
        value
        for k, value in enumerate(values)
        if min(end, times[k + 1] if k + 1 < len(times) else math.inf) > max(warmup, times[k])
    ]
    half = 2.093 * math.sqrt(float(np.var(windows, ddof=1)) / 20)
    return area(warmup, end) / (end - warmup), half, min(held), max(held)


@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(-5, 5)), max_size=30),
    st.integers(0, 10),
    st.integers(1, 30),
)
def test_gauge_against_its_definition(gaps: list[tuple[int, int]], warmup: int, length: int) -> None:
    times = np.cumsum([0, *(gap for gap, _ in gaps)]) / 4
    values = np.array([1, *(value for _, value in gaps)], float)
    got = estimates.gauge_estimates(times, values, warmup, warmup + length)
    expected = slow_gauge(times.tolist(), values.tolist(), warmup, warmup + length)
    assert got == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_gauge_value_of_an_instant_does_not_count() -> None:
    times, values = np.array([0.0, 4.0, 10.0]), np.array([1.0, 3.0, 99.0])
    mean, _, least, most = estimates.gauge_estimates(times, values, 0.0, 10.0)
    assert (mean, least, most) == (pytest.approx(2.2), 1.0, 3.0)


def test_constant_gauge_has_no_width() -> None:
    mean, half, least, most = estimates.gauge_estimates(np.array([0.0]), np.array([2.5]), 3.0, 10.0)
    assert (mean, least, most) == (pytest.approx(2.5), 2.5, 2.5)
    assert half == pytest.approx(0.0, abs=1e-12)


def test_gap_quantiles_are_held_within_their_bin() -> None:
    # 3 gaps of exactly 0.2, and one bin with gaps from 0.401 to 0.4049
    low, high = math.floor(math.log(0.2) / math.log(1.01)), math.floor(math.log(0.401) / math.log(1.01))
    bins = np.array([[low, 3, 0.2, 0.2], [high, 1, 0.401, 0.4049]])
    assert estimates.gap_quantile(bins, 0.5) == 0.2
    assert estimates.gap_quantile(bins, 0.75) == 0.2
    assert estimates.gap_quantile(bins, 0.99) == pytest.approx(1.01 ** (high + 0.5))
    assert math.isnan(estimates.gap_quantile(np.zeros((0, 4)), 0.5))
