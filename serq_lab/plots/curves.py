"""The curve of a sweep: means in their band, the knee, and what makes a point worth less than it looks.

In come a `Curve` and its `Knee`, out go Axes.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Union

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import ScaledTranslation
from numpy.typing import NDArray

from serq_lab.experiments.curve import Curve
from serq_lab.experiments.knee import Knee, NoKnee
from serq_lab.plots.style import AMBER, BLUE, FONT_SIZE, GREY, INK, ORANGE, SMALL, describe, dress, figure_of, new_axes

MARKERS = {"arrivals": "o", "population": "o", "servers": "^", "memory": "s", "slots": "D", "budget": "P"}
"""By the first word of what binds."""

MOST_LABELS = 8
PAPER: dict[str, Any] = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
TOO_HIGH, HEADROOM = 2.0, 1.4  # times the highest steady point
CROSS: dict[str, Any] = {"marker": "x", "color": ORANGE, "linestyle": "none", "markersize": 15, "markeredgewidth": 2.5}
GAP: dict[str, Any] = {"facecolor": "none", "edgecolor": AMBER, "hatch": "//", "linewidth": 0}
EDGE, BELOW_EDGE, ROW = 10, 20, 12  # from the upper edge to what stands for a point above it, in points
LONG_NAME = 22  # for the height of a lower panel


class Mark(NamedTuple):
    marker: str
    label: str


def plot_curve(
    curve: Curve,
    knee: Union[Knee, NoKnee, None] = None,
    *,
    below: Curve | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a curve with its uncertainty.

    Parameters
    ----------
    curve : Curve
    knee : Knee or NoKnee, optional
        Marked with its interval, and hatched where the sweep is too coarse to place it; why there is none is said in
        the title.
    below : Curve, optional
        Another statistic of the same sweep, in a panel of its own below; not with `ax`.
    ax : Axes, optional
        Where to draw; new ones by default.

    Returns
    -------
    Axes
        Those of `curve`. The band is the 95% interval of the mean. The shape of a point says what binds there; a
        hollow one turns work away, with the share beside it; a crossed one is not steady.
    """
    if ax is None:
        axes: list[Axes] = list(new_axes(heights=(4.5,) if below is None else (4.0, 2.2)))
    elif below is None:
        axes = [ax]
        dress(ax)
    else:
        raise ValueError("a second panel needs a figure of its own: leave out `ax`, or draw `below` on other axes")
    _draw(axes[0], curve)
    _label_shares(axes[0], curve)
    if isinstance(knee, Knee):
        _mark_knee(axes[0], knee)
    _legend(axes[0], curve, knee)
    title = [] if knee is None else [str(knee)]
    title += [", ".join(f"{name} = {value:g}" for name, value in curve.at.items())] if curve.at else []
    axes[0].set_title("\n".join(title), loc="left", fontsize=FONT_SIZE, wrap=True)
    if below is not None:
        _draw(axes[1], below)
        if len(below.metric) > LONG_NAME:
            axes[1].set_ylabel(below.metric.replace(".", ".\n", 1))
        if isinstance(knee, Knee):
            _mark_place(axes[1], knee)
    axes[-1].set_xlabel(curve.by)
    describe(axes[0], words(curve, knee))
    return axes[0]


def _draw(ax: Axes, curve: Curve) -> None:
    x, mean = curve.x, curve.mean
    known = np.isfinite(mean)
    half_width = np.where(np.isfinite(curve.half_width), curve.half_width, 0.0)
    low, high = (mean - half_width)[known], (mean + half_width)[known]
    ax.fill_between(x[known], low, high, color=BLUE, alpha=0.25, linewidth=0)
    # Where the band is thinner than the line, or cut off by a logarithmic axis, the bars still show.
    ax.vlines(x[known], low, high, color=BLUE, linewidth=1.5)
    ax.plot(x[known], mean[known], color=BLUE, linewidth=1.8, zorder=2)
    for row in np.flatnonzero(known):
        ax.plot(
            x[row], mean[row], marker=_mark(curve.binds[row]).marker, markersize=9, linestyle="none",
            markerfacecolor="white" if curve.turned_away[row] > 0 else BLUE, markeredgecolor=BLUE, markeredgewidth=2,
            zorder=3,
        )  # fmt: skip
    _cross_unsteady(ax, curve)
    for row in np.flatnonzero(~known):
        ax.plot(x[row], 0.03, marker="x", color=GREY, markersize=10, transform=ax.get_xaxis_transform(), zorder=3)
    ax.set_ylabel(curve.metric)


def _cross_unsteady(ax: Axes, curve: Curve) -> None:
    """A cross on each point that is not steady; those far above the others do not say how high the picture is, for
    their height is their horizon's: their cross is at the edge, with their value."""
    ax.margins(y=0.12)
    known, is_steady = np.isfinite(curve.mean), np.array([not reason for reason in curve.unsteady], bool)
    steady, unsteady = curve.mean[known & is_steady], np.flatnonzero(known & ~is_steady)
    top = float(steady.max()) if len(steady) else 0.0
    is_cut = bool((curve.mean[unsteady] > TOO_HIGH * top).any()) and top > 0
    cut = [row for row in unsteady if is_cut and curve.mean[row] > HEADROOM * top]
    for row in sorted({*unsteady} - {*cut}):
        ax.plot(curve.x[row], curve.mean[row], zorder=4, **CROSS)
    if cut:
        least = float(steady.min())
        ax.set_ylim(least - 0.12 * (HEADROOM * top - least), HEADROOM * top)
    at_edge = ax.get_xaxis_transform()
    down = ScaledTranslation(0, -EDGE / 72, figure_of(ax).dpi_scale_trans)
    for k, row in enumerate(cut):
        ax.plot(curve.x[row], 1.0, transform=at_edge + down, zorder=4, **CROSS)
        place, shift = (curve.x[row], 1.0), (0, -BELOW_EDGE - ROW * (k % 2))
        ax.annotate(
            _brief(curve.mean[row]), place, shift, at_edge, "offset points",
            ha="center", va="top", fontsize=SMALL, color=INK, weight="bold", bbox=PAPER,
        )  # fmt: skip


def _label_shares(ax: Axes, curve: Curve) -> None:
    """The share turned away beside its points, as far as there is room for words: above the curve where it falls on
    the label's side of the point, below it where it rises."""
    known = np.flatnonzero(np.isfinite(curve.mean))
    rows = np.flatnonzero(np.isfinite(curve.mean) & (curve.turned_away > 0))
    for row in rows[: MOST_LABELS if len(rows) <= MOST_LABELS else 1]:
        later = known[known > row]
        side = 1 if len(later) else -1  # to the right, but for the last point, which has no room there
        beside = later[0] if len(later) else known[max(len(known) - 2, 0)]
        above = 1 if curve.mean[beside] < curve.mean[row] else -1
        ax.annotate(
            f"{100 * curve.turned_away[row]:.3g}% away", (curve.x[row], curve.mean[row]), (4 * side, 7 * above),
            textcoords="offset points", ha="left" if side > 0 else "right", va="bottom" if above > 0 else "top",
            fontsize=SMALL, color=INK, bbox=PAPER,
        )  # fmt: skip


def _brief(value: float) -> str:
    return f"{value:,.0f}" if 100 <= value < 1e7 else f"{value:.3g}"


def _mark_knee(ax: Axes, knee: Knee) -> None:
    _mark_place(ax, knee)
    ax.plot(knee.x, knee.y, marker="o", markersize=18, markerfacecolor="none", markeredgecolor=AMBER, markeredgewidth=3)


def _mark_place(ax: Axes, knee: Knee) -> None:
    low, high = knee.interval
    if high > low:
        ax.axvspan(low, high, color=AMBER, alpha=0.25, linewidth=0, zorder=0)
    if knee.gap is not None:
        ax.axvspan(knee.gap.low, knee.gap.high, zorder=0, **GAP)
    ax.axvline(knee.x, color=AMBER, linewidth=2.5, linestyle="--", zorder=1)


def _mark(binds: str) -> Mark:
    return Mark(MARKERS.get(binds.partition(" ")[0], "o"), binds)


def _legend(ax: Axes, curve: Curve, knee: Union[Knee, NoKnee, None]) -> None:
    marks = dict.fromkeys(_mark(word) for word in curve.binds if word)
    style: dict[str, Any] = {"linestyle": "none", "color": BLUE, "markersize": 8}
    handles: list[Union[Line2D, Patch]]
    handles = [Line2D([], [], marker=mark.marker, label=f"binds: {mark.label}", **style) for mark in marks]
    if (curve.turned_away > 0).any():
        handles.append(
            Line2D([], [], marker="o", markerfacecolor="white", label="turns work away (the share beside it)", **style)
        )
    if any(curve.unsteady):
        reasons = ", ".join(dict.fromkeys(reason for reason in curve.unsteady if reason))
        handles.append(Line2D([], [], marker="x", color=ORANGE, linestyle="none", label=f"not steady: {reasons}"))
    if not np.isfinite(curve.mean).all():
        handles.append(Line2D([], [], marker="x", color=GREY, linestyle="none", label="no value"))
    if isinstance(knee, Knee) and knee.gap is not None:
        handles.append(Patch(label="bends somewhere here: too coarse", **GAP))
    ax.legend(handles=handles, fontsize=SMALL, frameon=True, framealpha=0.85, edgecolor="none")


def words(curve: Curve, knee: Union[Knee, NoKnee, None]) -> str:
    """What the picture shows, for those who cannot see it."""
    points = [_point(curve, row) for row in _told(curve)]
    said = "" if knee is None else f" {str(knee)[0].upper()}{str(knee)[1:]}."
    unsteady = [f"{x:g}" for x, reason in zip(curve.x, curve.unsteady, strict=True) if reason]
    doubt = f" Not steady at {curve.by} = {', '.join(unsteady)}." if unsteady else ""
    return f"{curve.metric} by {curve.by}, means with 95% intervals: {'; '.join(points)}.{said}{doubt}"


def _told(curve: Curve) -> NDArray[np.int64]:
    """The points that are told: at most nine, the ends among them."""
    n = len(curve.x)
    return np.unique(np.linspace(0, n - 1, min(n, 9)).round().astype(np.int64))


def _point(curve: Curve, row: int) -> str:
    if not np.isfinite(curve.mean[row]):
        return f"no value at {curve.x[row]:g}"
    share = f" with {100 * curve.turned_away[row]:.3g}% turned away" if curve.turned_away[row] > 0 else ""
    return f"{curve.mean[row]:.4g} ± {curve.half_width[row]:.2g} at {curve.x[row]:g}{share}"
