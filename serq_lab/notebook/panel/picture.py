"""The picture of a panel: one statistic over one let, with the present value marked, as the bytes of a PNG.

In come `Result`s; out go bytes, drawn on a figure of matplotlib that pyplot does not know, so that nothing is shown
twice and nothing is left behind. Read by `panel.py`.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from io import BytesIO
from textwrap import fill
from threading import Lock
from typing import NamedTuple

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import LogLocator, NullFormatter
from numpy.typing import NDArray

from serq_lab.notebook.panel.figures import Lets, Result, half_width, spoken
from serq_lab.notebook.panel.labels import Box, dense, place

WIDTH, HEIGHT = 560, 340  # CSS pixels
TITLE_WIDTH = 84  # characters of a line, at most
TITLE_SIZES = ((9.0, 3), (7.5, 99))  # points, and how many lines are set in them
BOTTOM, TOP = 0.135, 0.87  # of the axes; a long title takes from them
SCALE = 1.5  # pixels of the picture for one of those

TIED = "\N{NO-BREAK SPACE}"

CURVE, PRESENT, PINNED, INK = "#0b5fa5", "#b34700", "#5f5f5f", "#222222"

# What it has to say (that it makes its list of fonts, once a machine) is of no use below a cell.
logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)

_DRAWING = Lock()  # matplotlib is not made for two threads at once


class View(NamedTuple):
    """What is to be seen: the `statistic` (a dotted name) over the let or setting `axis`, at `values` of it."""

    statistic: str
    axis: str
    values: tuple[float, ...]


class Picture:
    """A figure that is drawn anew at each change of a slider; its axes and artists stay, which halves the time."""

    def __init__(self) -> None:
        with _DRAWING:
            self._figure = figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100 * SCALE, facecolor="white")
            FigureCanvasAgg(figure)
            self._title = figure.text(0.02, 0.98, "", color=INK, va="top")
            self._axes = axes = figure.add_axes((0.115, BOTTOM, 0.86, TOP - BOTTOM))
            (self._line,) = axes.plot([], [], "o-", color=CURVE, linewidth=1.6, markersize=4.5, zorder=2)
            (self._hollow,) = axes.plot([], [], "o", color=CURVE, mfc="white", ms=5.5, zorder=3)
            (self._ring,) = axes.plot([], [], "o", color=PRESENT, ms=11, fillstyle="none", mew=2, zorder=4)
            self._here = axes.axvline(0, color=PRESENT, linewidth=0.8, alpha=0.6)
            self._pinned = axes.axhline(0, color=PINNED, linewidth=1.2, linestyle=(0, (4, 3)))
            self._value = figure.text(0, 0, "", color=PRESENT, fontsize=10, weight="bold", va="bottom", transform=None)
            self._value.set_path_effects([withStroke(linewidth=3, foreground="white")])
            self._band = axes.fill_between([], [], [], color=CURVE, alpha=0.18, linewidth=0, zorder=1)
            self._key = axes.text(0.99, 0.98, "", transform=axes.transAxes, ha="right", va="top", fontsize=8, color=INK)
            axes.grid(color="#dddddd", linewidth=0.6)
            axes.set_axisbelow(True)
            axes.tick_params(colors=INK, labelsize=9)
            axes.spines[["top", "right"]].set_visible(False)
            axes.set_autoscale_on(False)  # `_place_axes` sets the limits

    def draw(self, view: View, present: Result, curve: Mapping[float, Result], pinned: Result | None) -> bytes:
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
            self._place_title(view, present.lets)
            self._place_curve(view, curve)
            self._place_marks(view, present, pinned)
            self._place_axes(view)
            self._place_value()
            buffer = BytesIO()
            self._figure.savefig(buffer, format="png", dpi="figure", pil_kwargs={"compress_level": 1})
            return buffer.getvalue()

    def _place_title(self, view: View, lets: Lets) -> None:
        """All of the title, whatever it takes: more lines, and then smaller letters."""
        for size, most in TITLE_SIZES:
            self._title.set_fontsize(size)
            for width in range(round(TITLE_WIDTH * TITLE_SIZES[0][0] / size), 20, -3):
                self._title.set_text(title(view, lets, width))
                extent = self._title.get_window_extent()
                if extent.x1 <= 0.99 * self._figure.bbox.width:
                    break
            if self._title.get_text().count("\n") < most:
                break
        top = min(TOP, extent.y0 / self._figure.bbox.height - 0.03)
        self._axes.set_position((0.115, BOTTOM, 0.86, max(top - BOTTOM, 0.3)))

    def _place_curve(self, view: View, curve: Mapping[float, Result]) -> None:
        xs = np.array(sorted(curve))
        ys = _finite([_figure(curve[x], view) for x in xs])
        widths = _finite([half_width(curve[x].figures, view.statistic) for x in xs])
        turned_away = np.array([curve[x].n_turned_away > 0 for x in xs], dtype=bool)
        self._line.set_data(xs, ys)
        self._hollow.set_data(xs[turned_away], ys[turned_away])
        self._band.set_data(xs, ys - widths, ys + widths, where=(np.isfinite(ys) & np.isfinite(widths)).tolist())

    def _place_marks(self, view: View, present: Result, pinned: Result | None) -> None:
        here, value = dict(present.lets)[view.axis], _figure(present, view)
        is_known = math.isfinite(value)
        self._here.set_xdata([here, here])
        self._ring.set_data([here] if is_known else [], [value] if is_known else [])
        self._value.set_text(f"{value:.4g}" if is_known else "")
        before = math.nan if pinned is None else _figure(pinned, view)
        self._pinned.set_visible(math.isfinite(before))
        self._pinned.set_ydata([before, before])
        lines = ["band: 95% interval"] if view.statistic.endswith(".mean") else []
        lines += ["hollow: some turned away"] if np.size(self._hollow.get_xdata()) else []
        lines += ["dashed: pinned"] if math.isfinite(before) else []
        self._key.set_text("\n".join(lines))

    def _place_axes(self, view: View) -> None:
        axes, low, high = self._axes, min(view.values), max(view.values)
        is_log = is_logarithmic(view.values)
        ratio, margin = ((high / low) ** 0.03, 0.0) if is_log else (1.0, 0.03 * (high - low) or 1.0)
        if axes.get_xscale() != ("log" if is_log else "linear"):
            axes.set_xlim(low / ratio, high * ratio + margin)  # before the scale: a logarithmic one refuses 0
            axes.set_xscale("log" if is_log else "linear")
            if is_log:
                axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
                axes.xaxis.set_major_formatter(lambda value, position: f"{value:.6g}")
                axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlim(low / ratio - margin, high * ratio + margin)
        axes.set_ylim(*self._y_limits())
        axes.set_xlabel(view.axis, color=INK, fontsize=10)
        axes.set_ylabel(spoken(view.statistic), color=INK, fontsize=10)

    def _place_value(self) -> None:
        """The value of the marked point beside it, where no line is."""
        if not self._value.get_text():
            return
        pixels, area = self._axes.transData.transform, self._axes.bbox
        lines = [dense(pixels(self._line.get_xydata()))]
        if self._pinned.get_visible():
            y = float(pixels((0.0, float(np.ravel(self._pinned.get_ydata())[0])))[1])
            lines.append(dense(np.array([(area.x0, y), (area.x1, y)])))
        point, extent = pixels(self._ring.get_xydata())[0], self._value.get_window_extent()
        key = Box(*self._key.get_window_extent().extents)
        size = extent.width, extent.height
        box = place((point[0], point[1]), size, Box(*area.extents), np.concatenate(lines), [key])
        self._value.set_position((box.left, box.bottom))

    def _y_limits(self) -> tuple[float, float]:
        """From the least to the greatest of what is shown, intervals too, but not below 0 for their sake."""
        lines = [self._line, self._ring, *([self._pinned] if self._pinned.get_visible() else [])]
        data = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in lines])
        data = data[np.isfinite(data)]
        if not len(data):
            return 0.0, 1.0
        band = np.concatenate([np.asarray(path.vertices)[:, 1] for path in self._band.get_paths()] or [data])
        low, high = float(data.min()), float(max(data.max(), band.max()))
        low = min(low, max(float(band.min()), 0.0)) if low >= 0 else min(low, float(band.min()))
        margin = 0.05 * (high - low) or 0.05 * abs(high) or 0.5
        return low - margin, high + 4 * margin  # with room for the key above the curve


def title(view: View, lets: Lets, width: int = TITLE_WIDTH) -> str:
    """``admit_wait mean over C; marked: C = 6, Lambda = 0.8``: whose picture this is, in lines of `width`."""
    ordered = sorted(lets, key=lambda pair: pair[0] != view.axis)
    values = ", ".join(f"{name}{TIED}={TIED}{value:.6g}" for name, value in ordered)
    return fill(f"{spoken(view.statistic)} over {view.axis}; marked: {values}", width).replace(TIED, " ")


def is_logarithmic(values: Sequence[float]) -> bool:
    """Whether the values stand evenly on a logarithmic axis rather than on a plain one."""
    if len(values) < 3 or min(values) <= 0:
        return False
    low, middle, high = min(values), sorted(values)[len(values) // 2], max(values)
    return abs(math.log(middle * middle / (low * high))) < abs(math.log(2 * middle / (low + high))) and high / low > 4


def _finite(values: list[float]) -> NDArray[np.float64]:
    """The values with NaN, which is not drawn, in the place of infinities."""
    return np.array([value if math.isfinite(value) else math.nan for value in values], dtype=np.float64)


def _figure(result: Result, view: View) -> float:
    return result.figures.get(view.statistic, math.nan)
