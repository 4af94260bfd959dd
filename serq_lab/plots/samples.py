"""The samples of an observation: how often which value, and how many lie below it.

In comes an `Observation` of a report, out go Axes.
"""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from serq_lab.plots.style import BLUE, FONT_SIZE, INK, ORANGE, SMALL, describe, new_axes
from serq_lab.report.rows import Observation

MOST_BINS = 80
FEW_SAMPLES = 100
"""Below this, the 99% point is the greatest sample or next to it."""
MOST_STEPS = 2000  # of the curve: more are not seen


def plot_samples(observation: Observation) -> Axes:
    """Draw the histogram and the empirical distribution of an observation, with its median and 99% point.

    Parameters
    ----------
    observation : Observation
        ``report.observe["response"]``.

    Returns
    -------
    Axes
        Those of the histogram; below them the share of the samples up to each value. Both points are nearest-rank
        quantiles: the ``ceil(q n)``-th smallest sample, as in the report.

    Raises
    ------
    ValueError
        There is no finite sample.
    """
    values = np.sort(observation.samples[np.isfinite(observation.samples)])
    if not len(values):
        raise ValueError(f'"{observation.name}" has no sample to draw: nothing was observed after the warm-up')
    upper, lower = new_axes(heights=(3.0, 2.2))
    edges = _edges(values)
    is_whole = edges[0] != values[0]
    upper.hist(
        values, bins=edges.tolist(), color=BLUE, edgecolor="white", linewidth=0.4, rwidth=0.6 if is_whole else 1.0
    )
    upper.set_ylabel("samples")
    steps = np.unique(np.linspace(0, len(values) - 1, min(len(values), MOST_STEPS)).round().astype(np.int64))
    lower.step(values[steps], 100 * (steps + 1) / len(values), where="post", color=BLUE, linewidth=2)
    lower.set_ylabel("% up to here")
    lower.set_ylim(0, 104)
    lower.set_xlabel(observation.name)
    middle, tail = quantile(values, 0.5), quantile(values, 0.99)
    for value, name, look in ((middle, "p50", "--"), (tail, "p99", "-.")):
        for ax in (upper, lower):
            ax.axvline(value, color=ORANGE, linewidth=2, linestyle=look)
        upper.annotate(
            f" {name} {value:.4g}", (value, 0.98), xycoords=upper.get_xaxis_transform(), va="top", fontsize=SMALL,
            color=INK, bbox={"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
        )  # fmt: skip
    doubt = f"; p99 of fewer than {FEW_SAMPLES} samples says little" if len(values) < FEW_SAMPLES else ""
    upper.set_title(f"{len(values)} samples, mean {observation.mean:.4g}{doubt}", loc="left", fontsize=FONT_SIZE)
    describe(
        upper,
        f"{len(values)} samples of {observation.name} from {values[0]:.4g} to {values[-1]:.4g}: half are at most "
        f"{middle:.4g}, 99% at most {tail:.4g}; their mean is {observation.mean:.4g}{doubt}.",
    )
    return upper


def quantile(values: NDArray[np.float64], share: float) -> float:
    """The nearest-rank quantile of sorted values."""
    return float(values[max(math.ceil(share * len(values)), 1) - 1])


def _edges(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bins of equal width: one a whole number where all samples are whole, else by the rule of Freedman and Diaconis,
    up to eighty."""
    low, high = float(values[0]), float(values[-1])
    if high - low < MOST_BINS and (values == np.floor(values)).all():
        return np.arange(low - 0.5, high + 1.0)
    width = 2 * (quantile(values, 0.75) - quantile(values, 0.25)) / len(values) ** (1 / 3)
    n_bins = MOST_BINS if not width > 0 else min(max(math.ceil((high - low) / width), 1), MOST_BINS)
    edges: NDArray[np.float64] = np.linspace(low, high if high > low else low + 1.0, n_bins + 1)
    return edges
