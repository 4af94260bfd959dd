"""The runs of a sweep as one pandas frame, and which of them are steady.

In come the rows of a `Sweep`, out goes its frame; `curve.py` reads it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas

from serq_lab.experiments.intervals import is_warmup_short
from serq_lab.report.rows import Pool, Stage

if TYPE_CHECKING:
    from serq_lab.experiments.sweep import Row

OWN_COLUMNS = ("replication", "seed", "error", "steady", "unsteady", "turned_away", "binds")

COUNTS = {"events", "arrivals", "ended", "turns", "count"} | {
    name for kind in (Stage, Pool) for name, field in kind.__dataclass_fields__.items() if field.type == "int"
}
"""Fields that are whole numbers."""

GROWING = "population not settled"
SHORT_WARMUP = "warm-up too short"


def table_of(lets: Sequence[str], rows: Sequence[Row]) -> pandas.DataFrame:
    """The frame of a sweep; its columns are those that `Sweep.frame` names.

    Parameters
    ----------
    lets : sequence of str
        Their values are the rows' points.
    rows : sequence of Row
        Replications of a point stand together.
    """
    columns: dict[str, object] = {
        name: np.array([row.point[k] for row in rows], np.float64) for k, name in enumerate(lets)
    }
    columns["replication"] = np.array([row.replication for row in rows], np.int64)
    columns["seed"] = np.array([row.seed for row in rows], np.uint64)
    columns["error"] = np.array([row.error for row in rows], object)
    measured = _measured(rows)
    reasons = _reasons(rows, measured["run.live_first"], measured["run.live_later"])
    columns["steady"] = np.array([not reason for reason in reasons], bool)
    columns["unsteady"] = np.array(reasons, object)
    columns["turned_away"] = np.array([row.turned_away for row in rows], np.float64)
    columns["binds"] = np.array([row.binds for row in rows], object)
    frame: pandas.DataFrame = pandas.DataFrame({**columns, **measured})
    return frame


def _measured(rows: Sequence[Row]) -> dict[str, np.ndarray]:
    """The fields of the reports as columns; NaN where a run has no such field."""
    names = list(dict.fromkeys(name for fields in dict.fromkeys(row.fields for row in rows) for name in fields))
    columns = {name: np.full(len(rows), math.nan) for name in names}
    for number, row in enumerate(rows):
        for name, value in zip(row.fields, row.values, strict=True):
            columns[name][number] = value
    for name, column in columns.items():
        if name.rpartition(".")[2] in COUNTS and np.isfinite(column).all():
            columns[name] = column.astype(np.int64)
    return columns


def _reasons(rows: Sequence[Row], first: np.ndarray, later: np.ndarray) -> list[str]:
    """Why each row is not steady, "" if it is: on its own account, or because its point's warm-up was too short."""
    numbers: dict[tuple[float, ...], list[int]] = {}
    for number, row in enumerate(rows):
        numbers.setdefault(row.point, []).append(number)
    reasons = [GROWING if row.is_growing else "" for row in rows]
    for of_point in numbers.values():
        if is_warmup_short(first[of_point], later[of_point]):
            for number in of_point:
                reasons[number] = reasons[number] or SHORT_WARMUP
    return reasons
