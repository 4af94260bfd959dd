"""Where a curve bends: the knee, with an interval, or why there is none.

In comes a `Curve`, out goes a `Knee` or a `NoKnee`. The geometry is that of the package `kneed`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Union

import numpy as np
from numpy.typing import NDArray

from serq_lab.experiments.curve import Curve

LEAST_POINTS = 5
N_RESAMPLES = 400
LEAST_AGREEING = 0.95
FLATTER = 0.5
COARSE = 0.25


class Gap(NamedTuple):
    """Two neighbouring points of a curve, `low` and `high`, and the means there; what lies between nobody has run."""

    low: float
    high: float
    first: float
    last: float


@dataclass(frozen=True, repr=False)
class Knee:
    """The knee of a curve: the point `x`, the mean `y` there, and the 95% interval of `x`.

    The interval says what the replications leave open among the points that were run. `gap` is what these leave open:
    the step beside the knee that is too high to say where in it the curve bends; None if there is none.
    """

    metric: str
    by: str
    x: float
    y: float
    interval: tuple[float, float]
    gap: Gap | None = None

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"knee at {self.by} = {self.x:g} (95% interval {low:g} to {high:g}), {self.metric} {self.y:.4g}{self.doubt}"
        )

    def __repr__(self) -> str:
        return f"<{self}>"

    @property
    def doubt(self) -> str:
        """That the sweep is too coarse to place the knee, in words; "" if it is not."""
        if self.gap is None:
            return ""
        low, high, first, last = self.gap
        where = f'from {self.by} = {low:g} to {high:g} "{self.metric}" goes from {first:.3g} to {last:.3g}'
        return f"; the sweep is too coarse to place it: {where}; add values between"


@dataclass(frozen=True, repr=False)
class NoKnee:
    """There is no knee; `reason` says why, in a sentence."""

    reason: str

    def __str__(self) -> str:
        return f"no knee: {self.reason}"

    def __repr__(self) -> str:
        return f"<{self}>"


Shape = tuple[str, str]
"""``decreasing`` or ``increasing``, ``convex`` or ``concave``."""


def find_knee(curve: Curve) -> Union[Knee, NoKnee]:
    """The knee of a curve of means, with an interval from its replications.

    Parameters
    ----------
    curve : Curve

    Returns
    -------
    Knee or NoKnee

    Notes
    -----
    Points at which sessions are turned away, whose population has not settled, or that failed, do not count. The knee
    is that of the Kneedle rule: curve and range of `x` are scaled to a unit square, and the knee is the local maximum
    of the distance from the line between its ends, the greatest if there are several. (V. Satopää, J. Albrecht,
    D. Irwin, B. Raghavan, Finding a "Kneedle" in a Haystack, ICDCS Workshops 2011, 166-171.)

    There is no knee where fewer than five points count, where one value lies within the intervals of all points
    (flat within the noise), or where the curve is less than twice as steep on the one side of the point as on the
    other, or nowhere leaves the line between its ends by more than its half width (still falling, or rising).

    The interval is that of 400 bootstrap samples of whole replications, which share their arrivals over all points:
    from the 2.5% to the 97.5% point of their knees. Where more than 5% of the samples have no knee, there is none.

    The sweep is too coarse to place the knee where one step from it to a neighbour is more than a quarter of the height
    of the whole curve, and more than the intervals of the two. Between whole numbers one apart nothing can be added.
    """
    full = curve.is_full
    x, values = curve.x[full], curve.values[full]
    values = values[:, np.isfinite(values).all(axis=0)]
    if len(x) < LEAST_POINTS:
        left_out = len(curve.x) - len(x)
        others = f" ({left_out} of {len(curve.x)} are left out: failed, not steady, or work is turned away)"
        return NoKnee(f"{len(x)} points count, and it takes {LEAST_POINTS}{others if left_out else ''}")
    if values.shape[1] < 2:
        return NoKnee("one replication leaves the noise unknown; run at least 2, better 10")
    mean, half_width = curve.mean[full], curve.half_width[full]
    if (mean - half_width).max() <= (mean + half_width).min():
        return NoKnee(f'"{curve.metric}" is flat within the noise: one value lies in the intervals of all points')
    shape = shape_of(x, mean)
    row = bend(x, mean, shape)
    if row is None or abs(mean - chord(x, mean))[row] <= half_width[row]:
        verb = "falling" if shape[0] == "decreasing" else "rising"
        return NoKnee(f'"{curve.metric}" is still {verb} at {curve.by} = {x[-1]:g}: it does not bend before')
    found = [knee for knee in _resampled(x, values, shape) if knee is not None]
    if len(found) < LEAST_AGREEING * N_RESAMPLES:
        return NoKnee(f"the noise hides it: {N_RESAMPLES - len(found)} of {N_RESAMPLES} resampled curves have none")
    low, high = np.quantile(x[found], (0.025, 0.975), method="inverted_cdf")
    place = float(x[row]), float(mean[row]), (float(low), float(high))
    return Knee(curve.metric, curve.by, *place, _gap(x, mean, half_width, row))


def _gap(x: NDArray[np.float64], mean: NDArray[np.float64], half_width: NDArray[np.float64], row: int) -> Gap | None:
    """The higher of the steps beside a knee, if it is too high to place it."""
    left = max(row - 1, row, key=lambda each: float(abs(mean[each + 1] - mean[each])))
    step, (low, high) = float(abs(mean[left + 1] - mean[left])), x[left : left + 2]
    has_room = high - low > 1 or low % 1 != 0 or high % 1 != 0
    is_high = step > COARSE * float(np.ptp(mean)) and step > half_width[left] + half_width[left + 1]
    return Gap(*map(float, (low, high, mean[left], mean[left + 1]))) if has_room and is_high else None


def chord(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """The straight line between the ends of a curve, at each x."""
    line: NDArray[np.float64] = y[0] + (x - x[0]) * (y[-1] - y[0]) / (x[-1] - x[0])
    return line


def shape_of(x: NDArray[np.float64], y: NDArray[np.float64]) -> Shape:
    """Which way a curve goes from end to end, and on which side of its chord it mostly is."""
    direction = "decreasing" if y[-1] < y[0] else "increasing"
    return direction, "convex" if float((y - chord(x, y)).sum()) < 0 else "concave"


def bend(x: NDArray[np.float64], y: NDArray[np.float64], shape: Shape) -> int | None:
    """The row of the knee of a curve, by the rule of `find_knee` but for the noise; None if there is none."""
    from kneed import KneeLocator  # brings SciPy's signal processing along, which takes a while

    if y.max() == y.min():
        return None
    direction, curvature = shape
    # Otherwise it stops at the first of several maxima, which may be an end, and never sees a cliff in the middle.
    found = KneeLocator(x, y, curve=curvature, direction=direction, online=True)
    distances = abs(y - chord(x, y))
    rows = [int(np.flatnonzero(x == knee)[0]) for knee in found.all_knees if x[0] < knee < x[-1]]
    if not rows:
        return None
    row = max(rows, key=lambda each: float(distances[each]))
    steepness = sorted((abs(y[row] - y[0]) / (x[row] - x[0]), abs(y[-1] - y[row]) / (x[-1] - x[row])))
    return row if steepness[0] <= FLATTER * steepness[1] else None


def _resampled(x: NDArray[np.float64], values: NDArray[np.float64], shape: Shape) -> Iterator[int | None]:
    """The knees of mean curves over replications drawn with replacement; the draws are the same in every call."""
    random = np.random.default_rng(0)
    n = values.shape[1]
    for _ in range(N_RESAMPLES):
        yield bend(x, values[:, random.integers(n, size=n)].mean(axis=1), shape)
