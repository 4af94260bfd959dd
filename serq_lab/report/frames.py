"""A report as pandas frames. In comes a `Report`; the only file of the engine that imports pandas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas

from serq_lab.kernel.records import SampleRecords
from serq_lab.report.rows import Observation, Pool, Stage

if TYPE_CHECKING:
    from serq_lab.report.report import Report

OBSERVE_COLUMNS = ("count", "mean", "half_width", "cv2", "p99")
GAUGE_COLUMNS = ("mean", "half_width", "min", "max")
STAGE_COLUMNS = tuple(name for name in Stage.__dataclass_fields__ if name not in ("name", "index"))
POOL_COLUMNS = tuple(name for name in Pool.__dataclass_fields__ if name not in ("name", "index"))


def report_frames(report: Report) -> dict[str, pandas.DataFrame]:
    """Frames ``observe gauge stage pool``, one row a name, and ``samples``, one row a sample.

    The columns are named like the attributes of the rows; ``samples`` has ``observe time session turn
    value``.
    """
    return {
        "observe": _frame(report.observe, OBSERVE_COLUMNS),
        "gauge": _frame(report.gauge, GAUGE_COLUMNS),
        "stage": _frame(report.stage, STAGE_COLUMNS),
        "pool": _frame(report.pool, POOL_COLUMNS),
        "samples": _samples(list(report.observe.values())),
    }


def _frame(rows: Mapping[str, object], columns: tuple[str, ...]) -> pandas.DataFrame:
    data = {column: [getattr(row, column) for row in rows.values()] for column in columns}
    frame: pandas.DataFrame = pandas.DataFrame(data, index=pandas.Index(list(rows), name="name", dtype=object))
    return frame


def _samples(observations: list[Observation]) -> pandas.DataFrame:
    names = np.array([row.name for row in observations], dtype=object)
    empty = SampleRecords(np.zeros(0), np.zeros(0), np.zeros(0, np.uint32), np.zeros(0, np.uint32))
    frame: pandas.DataFrame = pandas.DataFrame(
        {
            "observe": np.repeat(names, [row.count for row in observations]),
            "time": np.concatenate([empty.time, *(row.times for row in observations)]),
            "session": np.concatenate([empty.session, *(row.sessions for row in observations)]),
            "turn": np.concatenate([empty.turn, *(row.turns for row in observations)]),
            "value": np.concatenate([empty.value, *(row.samples for row in observations)]),
        }
    )
    return frame
