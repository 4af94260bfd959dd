"""What all pictures share: new axes, colours, and a text for those who cannot see them.

Pictures are drawn without pyplot: nothing is kept open behind the caller's back, and a notebook shows a picture once,
as the value of its cell. Colours are those of M. Okabe and K. Ito, Color Universal Design (2008), which are told apart
by colour-blind eyes and in a projector's light; what a colour says, a shape or a word says too.
"""

from __future__ import annotations

import os
from io import BytesIO
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec

BLUE, ORANGE, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
AMBER, SKY, INK, GREY = "#E69F00", "#56B4E9", "#222222", "#767676"
CYCLE = ("#99D1F1", "#F2CB7A", "#80CFB9", "#E3BAD0", "#80B8D8", "#EAAE80", "#F7F1A0")
"""For what has many members, such as sessions: the same colours mixed with white, so that ink is read on them."""

DPI = 110
FONT_SIZE = 12
SMALL = 10


class PictureAxes(Axes):
    """Axes that show themselves in a notebook, with their text for screen readers.

    Attributes
    ----------
    alt_text : str
        What is to be seen, in words.
    """

    alt_text = ""

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, bytes | str], dict[str, dict[str, str]]]:
        data: dict[str, bytes | str] = {"image/png": png(self), "text/plain": self.alt_text}
        return data, {"image/png": {"alt": self.alt_text}}


def new_axes(width: float = 8.0, heights: tuple[float, ...] = (4.5,)) -> list[PictureAxes]:
    """Axes of a new figure, one below the other on one x axis; sizes in inches."""
    figure = Figure(figsize=(width, sum(heights)), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    grid = GridSpec(len(heights), 1, figure=figure, height_ratios=heights)
    axes: list[PictureAxes] = []
    for row in range(len(heights)):
        ax = PictureAxes(figure, grid[row], sharex=axes[0] if axes else None)  # type: ignore[arg-type]
        figure.add_axes(ax)
        dress(ax)
        axes.append(ax)
    for upper in axes[:-1]:
        upper.tick_params(labelbottom=False)
    return axes


def dress(ax: Axes) -> None:
    """Letters large enough for the last row, and no frame where nothing is."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=FONT_SIZE, colors=INK)
    ax.xaxis.label.set_fontsize(FONT_SIZE)
    ax.yaxis.label.set_fontsize(FONT_SIZE)
    ax.grid(True, color="#DDDDDD", linewidth=0.8)
    ax.set_axisbelow(True)


def describe(ax: Axes, text: str) -> None:
    """Say in words what a picture shows; `alt_text` gives it back."""
    setattr(ax, "alt_text", text)  # noqa: B010 - Axes that the caller gave have no such attribute


def alt_text(ax: Axes) -> str:
    """What a picture of this package shows, in words."""
    return str(getattr(ax, "alt_text", ""))


def figure_of(ax: Axes) -> Figure:
    """The figure that axes are part of."""
    figure = ax.get_figure(root=True)
    assert figure is not None, "axes that were taken out of their figure cannot be drawn"
    return figure


def png(ax: Axes) -> bytes:
    """The figure of these axes as a PNG file, its text among the file's own."""
    target = BytesIO()
    figure_of(ax).savefig(target, format="png", metadata={"Description": alt_text(ax)})
    return target.getvalue()


def save(ax: Axes, path: str | os.PathLike[str]) -> None:
    """Write the figure of these axes to a file; its ending says in which format, as .png, .svg or .pdf."""
    word = {".png": "Description", ".svg": "Description", ".pdf": "Subject"}.get(os.path.splitext(path)[1].lower())
    figure_of(ax).savefig(path, metadata=None if word is None else {word: alt_text(ax)})
