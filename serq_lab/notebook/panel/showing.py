"""HTML and text of what a panel shows: figures with their change against a pinned run, notes, the picture.

In come `Result`s; out goes HTML in the style of `report/html.py`, without script or assets. Called by `panel.py`.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from html import escape

from serq_lab.notebook.panel.figures import Lets, Result, half_width, spoken
from serq_lab.report.html import note_html, page, table
from serq_lab.report.text import shortest

PICTURE_STYLE = """
.serq-picture {max-width: 100%}
[data-jp-theme-light="false"] .serq-picture, .vscode-dark .serq-picture, html[theme=dark] .serq-picture
  {filter: invert(.9) hue-rotate(180deg)}
.serq-same {opacity: .75}
"""
"""A picture is drawn on white; a dark page turns it over, its colours kept."""

SHOWN = {"observe": ("mean", "p99"), "gauge": ("mean",), "pool": ("mean_used", "mean_queue"), "stage": ("utilization",)}
"""Of each kind of row, the statistics that a panel lists; the one that is looked at comes first."""

BINDS = "what most of the sessions that wait are waiting for; nothing is short where arrivals (or the population) bind"


def lets_text(lets: Lets) -> str:
    """``C = 6, Lambda = 0.8``."""
    return ", ".join(f"{name} = {value:.6g}" for name, value in lets)


def listed(figures: Mapping[str, float], statistic: str) -> list[str]:
    """The dotted names that a panel lists, `statistic` first."""
    names = [name for name in figures if name.rpartition(".")[2] in SHOWN.get(name.partition(".")[0], ())]
    return [statistic, *(name for name in names if name != statistic)]


def figures_html(present: Result, pinned: Result | None, statistic: str) -> str:
    """What binds, the present figures, with their change against the pinned run, and the notes."""
    header = ["figure", "now", "95% CI"] + (["pinned", "change"] if pinned is not None else [])
    rows = [_row(name, present, pinned) for name in listed(present.figures, statistic)]
    caption = f"<p><strong>{escape(lets_text(present.lets))}</strong><br>{_binds_html(present)}"
    if pinned is not None:
        caption += f"<br><small>pinned: {escape(lets_text(pinned.lets))}; {_binds_html(pinned)}</small>"
    return page(caption + "</p>", table(header, rows), *map(note_html, present.notes))


def _binds_html(result: Result) -> str:
    return f'<span title="{escape(BINDS)}">binds: {escape(result.binds)}</span>'


def _row(name: str, present: Result, pinned: Result | None) -> list[str]:
    value, width = present.figures.get(name, math.nan), half_width(present.figures, name)
    cells = [spoken(name), figure(value), f"±{figure(width)}" if math.isfinite(width) else ""]
    if pinned is not None:
        before = pinned.figures.get(name, math.nan)
        cells += [figure(before), change(before, value)]
    return cells


def figure(value: float) -> str:
    """A number with four decimals, or as few as it needs where it is whole; ``-`` where there is none."""
    if math.isnan(value):
        return "-"
    if math.isinf(value) or (value.is_integer() and abs(value) >= 100):
        return shortest(value)
    return f"{value:.4f}" if abs(value) >= 1e-3 or value == 0 else f"{value:.3g}"


def change(before: float, now: float) -> str:
    """The change with its sign, and in percent where that says something."""
    difference = now - before
    if not math.isfinite(difference):
        return "-"
    if difference == 0:
        return "same"
    sign = "+" if difference > 0 else "\N{MINUS SIGN}"
    share = abs(difference / before) if before else math.inf
    digits = ".0f" if share >= 1 else ".3g"
    percent = f" ({sign}{100 * share:{digits}} %)" if share < 100 else ""
    return f"{sign}{figure(abs(difference))}{percent}"


def panel_html(present: Result, picture: bytes, width: int, statistic: str, alternative: str) -> str:
    """What a panel leaves where there is no front end for its sliders: the picture and the figures."""
    source = base64.b64encode(picture).decode("ascii")
    image = (
        f'<img class="serq-picture" width="{width}" alt="{escape(alternative)}" src="data:image/png;base64,{source}">'
    )
    return f"<style>{PICTURE_STYLE}</style><p>{image}</p>{figures_html(present, None, statistic)}"


def panel_text(present: Result, statistic: str) -> str:
    """The same without the picture, as text."""
    names = listed(present.figures, statistic)
    width = max(len(spoken(name)) for name in names)
    lines = [f"{spoken(name):<{width}}  {figure(present.figures.get(name, math.nan))}" for name in names]
    return "\n".join([lets_text(present.lets), f"binds: {present.binds}", *lines, *present.notes])
