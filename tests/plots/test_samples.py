"""Histogram and empirical distribution."""

from __future__ import annotations

import numpy as np
import pytest

from serq_lab.kernel.records import SampleRecords
from serq_lab.plots import alt_text, plot_samples
from serq_lab.plots.style import png
from serq_lab.report.rows import Observation
from tests.experiments.sweeping import memory


def observation(values: list[float]) -> Observation:
    n = len(values)
    return Observation("x", SampleRecords(np.array(values), np.arange(float(n)), *[np.zeros(n, np.uint32)] * 2))


def test_the_points_are_those_of_the_report() -> None:
    row = memory().run(horizon=8000).observe["admit_wait"]
    ax = plot_samples(row)
    (p99,) = [text for text in ax.texts if "p99" in text.get_text()]
    assert p99.xy[0] == row.p99
    assert f"99% at most {row.p99:.4g}" in alt_text(ax)


def test_every_sample_is_in_a_bar() -> None:
    values = np.random.default_rng(2).exponential(1, 3000)
    ax = plot_samples(observation(values.tolist()))
    assert sum(bar.get_height() for bar in ax.patches) == 3000
    assert len(ax.patches) <= 80


def test_whole_numbers_have_a_bar_each() -> None:
    ax = plot_samples(observation([0, 0, 1, 3, 3, 3]))
    middles = {bar.get_x() + bar.get_width() / 2: bar.get_height() for bar in ax.patches}
    assert middles == pytest.approx({0: 2, 1: 1, 2: 0, 3: 3})


def test_the_distribution_ends_at_all() -> None:
    lower = plot_samples(observation([2.5, 1.5, 4.5, 3.5])).figure.axes[1]
    x, y = lower.lines[0].get_data()
    assert list(x) == [1.5, 2.5, 3.5, 4.5]
    assert list(y) == [25, 50, 75, 100]


def test_few_samples_are_said_to_be_few() -> None:
    ax = plot_samples(observation([1.5, 2.5]))
    assert "p99 of fewer than 100 samples says little" in ax.get_title(loc="left")
    assert "says little" not in plot_samples(observation([1.5] * 50 + [2.5] * 50)).get_title(loc="left")


@pytest.mark.parametrize("values", [[1.0], [2.5] * 7, [1e-300, 1e300], [1, float("nan"), float("inf")]])
def test_hard_samples_are_drawn(values: list[float]) -> None:
    assert len(png(plot_samples(observation(values)))) > 1000


def test_nothing_to_draw() -> None:
    with pytest.raises(ValueError, match='"x" has no sample to draw'):
        plot_samples(observation([]))
