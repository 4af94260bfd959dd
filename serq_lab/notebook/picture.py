"""The picture of a panel: one statistic over one let, with the present value marked, as the bytes of a PNG.

In come `Result`s; out go bytes, drawn on a figure of matplotlib that pyplot does not know, so that nothing is shown
twice and nothing is left behind. Read by `panel.py`.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from io import BytesIO
from threading import Lock
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from serq_lab.notebook.figures import Lets, Result, half_width, spoken

WIDTH, HEIGHT = 640, 360  # CSS pixels
SCALE = 1.5  # pixels of the picture for one of those

CURVE, PRESENT, PINNED, INK = "#0b5fa5", "#b34700", "#5f5f5f", "#222222"

# What it has to say (that it makes its list of fonts, once a machine) is of no use below a cell.
logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)

_DRAWING = Lock()  # matplotlib is not made for two threads at once


class View(NamedTuple):
    """What is to be seen: the `statistic` (a dotted name) over the let or setting `axis`, at `values` of it."""

    statistic: str
    axis: str
    values: tuple[float, ...]


def draw(view: View, present: Result, curve: Mapping[float, Result], pinned: Result | None) -> bytes:
    """The picture as PNG.

    Parameters
    ----------
    view : View
    present : Result
        The run that is marked, and whose values the title names.
    curve : mapping of float to Result
        The runs that are known so far, by their value of `view.axis`; in all else they are as `present`.
    pinned : Result or None
        The run to compare with; a line across.
    """
    with _DRAWING:
        figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100 * SCALE, facecolor="white")
        axes = figure.add_axes((0.115, 0.135, 0.86, 0.73))
        _plot(axes, view, present, curve, pinned)
        axes.set_title(title(view, present.lets), loc="left", fontsize=9, color=INK, wrap=True)
        canvas = FigureCanvasAgg(figure)
        buffer = BytesIO()
        canvas.print_png(buffer, pil_kwargs={"compress_level": 1})
    return buffer.getvalue()


def title(view: View, lets: Lets) -> str:
    """``admit_wait mean over C; now C = 6, Lambda = 0.8``: whose picture this is."""
    ordered = sorted(lets, key=lambda pair: pair[0] != view.axis)
    values = ", ".join(f"{name} = {value:.6g}" for name, value in ordered)
    return f"{spoken(view.statistic)} over {view.axis}; marked: {values}"


def _plot(axes: Axes, view: View, present: Result, curve: Mapping[float, Result], pinned: Result | None) -> None:
    xs = np.array(sorted(curve))
    ys = np.array([_figure(curve[x], view) for x in xs])
    widths = np.array([half_width(curve[x].figures, view.statistic) for x in xs])
    turned_away = np.array([curve[x].n_turned_away > 0 for x in xs], dtype=bool)
    _plot_curve(axes, xs, ys, widths, turned_away)
    here, value = dict(present.lets)[view.axis], _figure(present, view)
    axes.axvline(here, color=PRESENT, linewidth=0.8, alpha=0.6)
    if math.isfinite(value):
        axes.plot([here], [value], marker="o", markersize=11, fillstyle="none", markeredgewidth=2, color=PRESENT)
        text = f"{value:.4g}"
        axes.annotate(
            text, (here, value), (9, 9), textcoords="offset points", color=PRESENT, fontsize=10, weight="bold"
        )
    if pinned is not None and math.isfinite(_figure(pinned, view)):
        axes.axhline(_figure(pinned, view), color=PINNED, linewidth=1.2, linestyle=(0, (4, 3)), label="pinned")
    _arrange(axes, view)


def _plot_curve(axes: Axes, xs: np.ndarray, ys: np.ndarray, widths: np.ndarray, turned_away: np.ndarray) -> None:
    axes.plot(xs, ys, color=CURVE, linewidth=1.6, zorder=2)
    known = np.isfinite(ys) & np.isfinite(widths)
    if known.any():
        axes.fill_between(xs, ys - widths, ys + widths, where=known, color=CURVE, alpha=0.18, linewidth=0, zorder=1)
    full = ~turned_away
    axes.plot(xs[full], ys[full], "o", color=CURVE, markersize=4.5, zorder=3)
    if turned_away.any():
        hollow = {"markerfacecolor": "white", "markersize": 5.5, "zorder": 3}
        axes.plot(xs[turned_away], ys[turned_away], "o", color=CURVE, label="hollow: turned some away", **hollow)


def _arrange(axes: Axes, view: View) -> None:
    if _is_logarithmic(view.values):
        axes.set_xscale("log")
    low, high = min(view.values), max(view.values)
    if low < high:
        ratio = (high / low) ** 0.03 if _is_logarithmic(view.values) else 1.0
        margin = 0.03 * (high - low) if ratio == 1.0 else 0.0
        axes.set_xlim(low / ratio - margin, high * ratio + margin)
    bottom, top = axes.get_ylim()
    if bottom < 0 <= min(_data_of(axes), default=0.0):
        axes.set_ylim(-0.03 * top, top)  # a band that reaches below 0 is no reason to show what cannot be
    axes.set_xlabel(view.axis, color=INK, fontsize=10)
    axes.set_ylabel(spoken(view.statistic), color=INK, fontsize=10)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, labelsize=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(fontsize=8, frameon=False, labelcolor=INK)


def _data_of(axes: Axes) -> list[float]:
    values = [float(y) for line in axes.lines for y in np.asarray(line.get_ydata(), dtype=float)]
    return [value for value in values if math.isfinite(value)]


def _is_logarithmic(values: Sequence[float]) -> bool:
    """Whether the values stand evenly on a logarithmic axis rather than on a plain one."""
    if len(values) < 3 or min(values) <= 0:
        return False
    low, middle, high = min(values), sorted(values)[len(values) // 2], max(values)
    return abs(math.log(middle * middle / (low * high))) < abs(math.log(2 * middle / (low + high))) and high / low > 4


def _figure(result: Result, view: View) -> float:
    return result.figures.get(view.statistic, math.nan)
