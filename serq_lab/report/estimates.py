"""Estimates from samples and from change points, by the rules of `LANGUAGE.md` section 10.

In come plain arrays of one observation or one gauge; out go numbers. Read by `rows.py`, which gives them
names.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from serq_lab.kernel.records import GAP_BIN_RATIO

N_BATCHES = 20
LEAST_SAMPLES = 40
"""Below this many samples there is no interval: a batch would hold one sample."""

MANY_SAMPLES = 5000
"""From here on looking for a quantile's neighbours is quicker than sorting all (numpy's own selection is not)."""

STUDENT_95 = 2.093
"""The 97.5% point of Student's t with 19 degrees of freedom."""


class SampleEstimates(NamedTuple):
    """What a report says of one observation's samples."""

    mean: float
    half_width: float
    cv2: float
    p99: float


def sample_estimates(values: NDArray[np.float64]) -> SampleEstimates:
    """All estimates from the samples of one observation, shape (n,), in the order in which they were made."""
    values = np.ascontiguousarray(values)  # records have other things between them: numpy takes twice as long there
    return SampleEstimates(mean(values), half_width(values), cv2(values), p99(values))


def mean(values: NDArray[np.float64]) -> float:
    """The mean of the samples; NaN without samples."""
    with np.errstate(all="ignore"):
        return float(values.mean()) if len(values) else math.nan


def half_width(values: NDArray[np.float64]) -> float:
    """Half the 95% interval of the mean, by batch means.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
        Samples in the order in which they were made.

    Returns
    -------
    float
        ``t * sqrt(s^2 / 20)``, where s^2 is the variance of the means of 20 batches of ``n // 20`` samples;
        the rest of the samples is not used. Infinite below 40 samples.

    Notes
    -----
    The method of batch means, Law, Simulation Modeling and Analysis, section 9.5.3, with a fixed number of batches.
    """
    if len(values) < LEAST_SAMPLES:
        return math.inf
    size = len(values) // N_BATCHES
    with np.errstate(all="ignore"):
        return _interval(values[: N_BATCHES * size].reshape(N_BATCHES, size).mean(axis=1))


def _interval(batches: NDArray[np.float64]) -> float:
    return STUDENT_95 * math.sqrt(float(batches.var(ddof=1)) / N_BATCHES)


def cv2(values: NDArray[np.float64]) -> float:
    """The squared coefficient of variation: sample variance over squared mean.

    NaN for fewer than two samples, infinite where the mean is zero.
    """
    if len(values) < 2:
        return math.nan
    with np.errstate(all="ignore"):
        square = np.square(values.mean())
        return math.inf if square == 0 else float(values.var(ddof=1) / square)


def p99(values: NDArray[np.float64]) -> float:
    """The ``ceil(0.99 n)``-th smallest of n samples; NaN without samples. A NaN stands before every
    number."""
    if not len(values):
        return math.nan
    from_top = len(values) - _rank(0.99, len(values))
    top = _upper_part(values)
    ordered = np.sort(top if len(top) >= from_top else values)  # NaNs come last
    rank = len(ordered) - int(np.isnan(ordered).sum()) - from_top
    return float(ordered[rank]) if rank >= 0 else math.nan


def _upper_part(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of many samples those from about the 98% quantile of a thousand of them on: few are left to sort."""
    if len(values) < MANY_SAMPLES:
        return values
    some = np.sort(values[:: len(values) // 1000])
    upper: NDArray[np.float64] = values[values >= some[-(len(some) // 50)]]
    return upper


def _rank(share: float, count: int) -> int:
    """Where the nearest-rank quantile stands among `count` sorted values, counted from 0."""
    return max(math.ceil(share * count), 1) - 1


def gap_quantile(bins: NDArray[np.float64], share: float) -> float:
    """A quantile of token gaps that were counted in bins of 1%.

    Parameters
    ----------
    bins : ndarray of float64, shape (n_bins, 4)
        Rows of bin, count, least and greatest gap, sorted by bin.
    share : float
        0.5 for the median.

    Returns
    -------
    float
        ``1.01^(bin + 0.5)``, held within the bin's least and greatest gap; NaN without gaps.
    """
    counts = bins[:, 1]
    total = int(counts.sum())
    if total == 0:
        return math.nan
    row = int(np.searchsorted(counts.cumsum(), _rank(share, total), side="right"))
    bin_number, _, least, greatest = (float(number) for number in bins[row])
    with np.errstate(all="ignore"):
        middle = float(np.power(GAP_BIN_RATIO, bin_number + 0.5))
    return min(max(middle, least), greatest)


def gauge_estimates(
    times: NDArray[np.float64], values: NDArray[np.float64], warmup: float, end: float
) -> tuple[float, float, float, float]:
    """Time average, half width, least and greatest value of a gauge over [warmup, end].

    Parameters
    ----------
    times, values : ndarray of float64, shape (n,)
        Change points from time 0, at least one at or before `warmup`: the gauge has ``values[i]`` from
        ``times[i]`` on.
    warmup, end : float
        The measured time.

    Returns
    -------
    tuple of float
        The half width is that of batch means over 20 equal windows. Least and greatest are over values that
        were held for a positive time.
    """
    edges = np.linspace(warmup, end, N_BATCHES + 1)
    inside = (times > warmup) & (times < end)
    bounds = np.unique(np.concatenate((edges, times[inside])))
    held = values[np.searchsorted(times, bounds[:-1], side="right") - 1]
    with np.errstate(all="ignore"):
        areas = held * np.diff(bounds)
        windows = np.add.reduceat(areas, np.searchsorted(bounds[:-1], edges[:-1]))
        average = float(areas.sum() / (end - warmup))
        interval = _interval(windows / np.diff(edges))
        return average, interval, float(np.fmin.reduce(held)), float(np.fmax.reduce(held))
