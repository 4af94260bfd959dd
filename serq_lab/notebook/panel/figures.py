"""The numbers of a report by dotted names, which is what a panel keeps of a run.

In comes a `Report`; out goes a `Result`: a few dozen numbers, and none of the report's samples. Read by `panel.py`,
`picture.py` and `display.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, NamedTuple

from serq_lab.report.rows import Pool, Stage

if TYPE_CHECKING:
    from serq_lab.report.report import Report

Lets = tuple[tuple[str, float], ...]
"""Lets and run settings with their values, in the order of the controls: what a result belongs to."""

OBSERVE = ("mean", "p99", "cv2", "count", "half_width")
GAUGE = ("mean", "min", "max", "half_width")
STAGE = ("utilization", "mean_number", "mean_wait", "mean_service", "throughput", "completed")
STEP = tuple(field.name for field in fields(Stage) if field.name not in (*STAGE, "name", "index"))
POOL = tuple(field.name for field in fields(Pool) if field.name not in ("name", "index"))


class Result(NamedTuple):
    """One run: the values it was run with, its numbers, its notes, how many sessions it turned away, and what it was
    short of (`report/binding.py`).
    """

    lets: Lets
    figures: Mapping[str, float]
    notes: tuple[str, ...]
    n_turned_away: int
    binds: str


def result_of(report: Report, lets: Lets) -> Result:
    """What a panel keeps of a report that was run with `lets`."""
    n_turned_away = sum(pool.rejected for pool in report.pool.values())
    return Result(lets, dict(_figures(report)), tuple(report.notes), n_turned_away, report.binds)


def _figures(report: Report) -> Iterator[tuple[str, float]]:
    steps = {stage.label for stage in report.step_stages}
    tables = (
        ("observe", report.observe, OBSERVE),
        ("gauge", report.gauge, GAUGE),
        ("pool", report.pool, POOL),
        ("stage", report.stage, STAGE),
        ("stage", {label: row for label, row in report.stage.items() if label in steps}, STEP),
    )
    for table, rows, names in tables:
        for label, row in rows.items():
            for name in names:
                yield f"{table}.{label}.{name}", float(getattr(row, name))
    yield "mean_live", report.mean_live


def statistics(figures: Mapping[str, float]) -> list[tuple[str, str]]:
    """What one can look at, as pairs of a label and a dotted name: all figures but the half widths."""
    return [(spoken(name), name) for name in figures if not name.endswith(".half_width")]


def spoken(name: str) -> str:
    """A dotted name as a reader says it: ``admit_wait mean``, ``mem used (mean)``."""
    _, _, rest = name.partition(".")
    if not rest:
        return "live sessions mean"
    row, _, statistic = rest.rpartition(".")
    return f"{row} {statistic.replace('_', ' ')}"


def half_width(figures: Mapping[str, float], name: str) -> float:
    """Half the interval of a mean; NaN for what has none."""
    if not name.endswith(".mean"):
        return math.nan
    return figures.get(name.removesuffix("mean") + "half_width", math.nan)
