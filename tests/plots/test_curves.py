"""The picture of a curve: what is drawn how, and that hard cases are drawn at all."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from serq_lab.experiments.knee import Gap, Knee, NoKnee
from serq_lab.plots import alt_text, plot_curve
from serq_lab.plots.style import AMBER, BLUE, ORANGE, PictureAxes, png
from tests.experiments.sweeping import memory
from tests.experiments.test_curve import curve


def points(ax: PictureAxes) -> list[tuple[float, str, str]]:
    """Where a point is drawn, its marker, and what it is filled with."""
    return [
        (float(np.asarray(line.get_xdata())[0]), str(line.get_marker()), to_hex(line.get_markerfacecolor()))
        for line in ax.lines
        if line.get_marker() in "os^DP" and line.get_linestyle() == "None" and line.get_markersize() == 9
    ]


def test_the_chapter_with_its_hollow_point_and_its_knee() -> None:
    found = memory().sweep({"C": range(4, 21)}, replications=5, horizon=10000)
    ax = found.plot("observe.admit_wait.mean")
    assert isinstance(ax, PictureAxes)
    drawn = points(ax)
    assert [x for x, _, _ in drawn] == list(range(4, 21))
    assert [x for x, _, fill in drawn if fill == "#ffffff"] == [4]
    assert {marker for x, marker, _ in drawn if x < 9} == {"s"}
    assert {marker for x, marker, _ in drawn if x > 10} == {"o"}
    (share,) = [text.get_text() for text in ax.texts]
    assert share.endswith("% away")
    assert 24 < float(share.partition("%")[0]) < 26
    knee = found.knee("observe.admit_wait.mean")
    assert isinstance(knee, Knee)
    assert knee.x in [float(line.get_xdata()[0]) for line in ax.lines if line.get_color() == AMBER]
    assert ax.get_title(loc="left") == str(knee)
    assert "K" + str(knee)[1:] in alt_text(ax)
    assert "25" in alt_text(ax)


def test_the_band_is_the_interval() -> None:
    made = curve([[1, 2, 3], [4, 4.5, 5]])
    (band,) = [each for each in plot_curve(made).collections if each.get_alpha() == 0.25]
    y = band.get_paths()[0].vertices[:, 1]
    assert y.min() == pytest.approx(made.mean[0] - made.half_width[0])
    assert y.max() == pytest.approx(max(made.mean + made.half_width))


def test_a_point_that_is_not_steady_is_crossed() -> None:
    ax = plot_curve(curve([[1, 2], [5, 6]], unsteady=("", "population not settled")))
    crosses = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "x" and line.get_color() == ORANGE]
    assert crosses == [1.0]
    assert "Not steady at x = 1." in alt_text(ax)
    assert "not steady: population not settled" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_a_point_that_is_not_steady_does_not_say_how_high_the_picture_is() -> None:
    ax = plot_curve(curve([[1, 2], [3, 4], [900, 1000]], unsteady=("", "", "population not settled")))
    assert ax.get_ylim()[1] == pytest.approx(1.4 * 3.5)
    assert [text.get_text() for text in ax.texts] == ["950"]
    (cross,) = [line for line in ax.lines if line.get_marker() == "x"]
    assert isinstance(ax, PictureAxes)
    png(ax)
    ((x, y),) = cross.get_transform().transform(cross.get_xydata())
    left, right = ax.transData.transform([(1.9, 0), (2.1, 0)])[:, 0]
    assert left < x < right
    assert ax.bbox.y0 + 0.9 * ax.bbox.height < y < ax.bbox.y1
    ax.set_yscale("log")
    assert len(png(ax)) > 1000


def test_each_point_that_is_not_steady_has_its_cross_inside_the_picture() -> None:
    over = ("", "", "population not settled", "population not settled")
    ax = plot_curve(curve([[1, 2], [3, 4], [5.5, 6.5], [900, 1000]], unsteady=over))
    assert isinstance(ax, PictureAxes)
    png(ax)
    crosses = [line for line in ax.lines if line.get_marker() == "x"]
    assert [line.get_xdata()[0] for line in crosses] == [2, 3]
    for cross in crosses:
        ((x, y),) = cross.get_transform().transform(cross.get_xydata())
        assert ax.bbox.contains(x, y)


@pytest.mark.parametrize(
    "means",
    [[0.132, 0.141, 0.134, 0.109, 0.067, 0.063], [0.25, 0.35, 0.47, 0.7, 0.98, 1], [1.2, 2.5, 1.6, 0.9, 0.5, 0.2]],
    ids=["a peak", "rising", "falling from a peak"],
)
@pytest.mark.parametrize("n_away", [1, 4, 6])
def test_the_share_turned_away_covers_neither_the_line_nor_another_share(means: list[float], n_away: int) -> None:
    away = np.array([0.25] * n_away + [0] * (6 - n_away))
    made = curve([[mean, mean + 0.001] for mean in means], x=np.array([1, 1.5, 2, 3, 6, 10]), turned_away=away)
    ax = plot_curve(made)
    ax.set_xscale("log")
    assert isinstance(ax, PictureAxes)
    png(ax)
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) == n_away
    points = ax.transData.transform(np.column_stack([made.x, made.mean]))
    along = np.linspace(0, 1, 50)[:, None]
    line = np.concatenate([one + along * (other - one) for one, other in pairwise(points)])
    for k, box in enumerate(boxes):
        assert not any(box.contains(x, y) for x, y in line)
        assert not any(box.overlaps(other) for other in boxes[:k])
        assert ax.get_figure().bbox.x1 > box.x1


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_wide_intervals_and_missing_points_on_any_axis(scale: str) -> None:
    made = curve([[0.001, 5], [math.nan, math.nan], [3, math.nan], [math.inf, 2], [0, 0]])
    ax = plot_curve(made, NoKnee("flat"))
    ax.set_yscale(scale)
    assert len(png(ax)) > 1000
    assert [x for x, _, _ in points(ax)] == [0, 2, 3, 4]
    assert "no value at 1" in alt_text(ax)
    assert ax.get_title(loc="left") == "no knee: flat"


def test_another_statistic_below() -> None:
    made = curve([[1, 2], [3, 4]])
    ax = plot_curve(made, below=curve([[10, 20], [30, 40]]))
    upper, lower = ax.figure.axes
    assert upper is ax
    assert lower.get_xlabel() == "x"
    assert lower.get_ylim()[1] > 30
    with pytest.raises(ValueError, match="a second panel needs a figure of its own"):
        plot_curve(made, below=made, ax=upper)


def test_a_knee_that_a_coarse_sweep_cannot_place_is_hatched_and_said() -> None:
    made = curve([[10, 9.9], [9.8, 9.7], [2, 1.9], [1.8, 1.7], [1.6, 1.5]], x=np.arange(0, 25.0, 5))
    knee = Knee("m", "x", 10, 1.95, (10, 10), Gap(5, 10, 9.75, 1.95))
    ax = plot_curve(made, knee)
    hatched = [patch for patch in ax.patches if patch.get_hatch()]
    assert [(patch.get_x(), patch.get_width()) for patch in hatched] == [(5, 5)]
    assert "too coarse to place it" in ax.get_title(loc="left")
    assert "too coarse to place it" in alt_text(ax)
    assert "bends somewhere here: too coarse" in [text.get_text() for text in ax.get_legend().get_texts()]
    assert isinstance(ax, PictureAxes)
    assert len(png(ax)) > 1000


def test_no_words_of_a_lower_panel_lie_on_others() -> None:
    away, over = np.array([0.25, 0, 0, 0, 0]), ("", "", *["population not settled"] * 3)
    made = curve([[1, 2], [3, 4], [90, 91], [400, 401], [900, 901]], turned_away=away, unsteady=over)
    ax = plot_curve(made, Knee("m", "x", 1, 3.5, (1, 1)), below=made)
    assert isinstance(ax, PictureAxes)
    png(ax)
    lower = ax.figure.axes[1]
    assert [text.get_text() for text in lower.texts] == ["90.5", "400", "900"]
    boxes = [text.get_window_extent() for text in lower.texts]
    assert not any(one.overlaps(other) for k, one in enumerate(boxes) for other in boxes[:k])
    assert all(lower.bbox.y0 < box.y0 and box.y1 < lower.bbox.y1 for box in boxes)
    assert [line.get_xdata()[0] for line in lower.lines if line.get_color() == AMBER] == [1]


def test_axes_that_are_given_are_used() -> None:
    ax = Figure().subplots()
    assert plot_curve(curve([[1, 2], [3, 4]]), ax=ax) is ax
    assert alt_text(ax).startswith("m by x")


def test_every_kind_of_binding_has_its_marker() -> None:
    kinds = ("arrivals", 'servers of "s"', 'memory of "m"', 'slots of "q"', 'budget of "e"')
    ax = plot_curve(curve([[k, k + 1] for k in range(5)], binds=kinds))
    assert [marker for _, marker, _ in points(ax)] == ["o", "^", "s", "D", "P"]
    assert {fill for _, _, fill in points(ax)} == {to_hex(BLUE)}


def test_many_pictures_leave_nothing_open() -> None:
    import matplotlib.pyplot as plt

    for _ in range(30):
        png(plot_curve(curve([[1, 2], [3, 4]])))
    assert plt.get_fignums() == []
