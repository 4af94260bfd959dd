"""A report as JSON text, keys and order as in section 10 of `LANGUAGE.md`. In comes a `Report`, out goes
text."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from serq_lab.report.rows import Gauge, Observation, Pool, Stage
from serq_lab.version import VERSION

if TYPE_CHECKING:
    from serq_lab.report.report import Report

Plain = str | int | float | None

OBSERVE_FIELDS = {"count": "count", "mean": "mean", "ci": "half_width", "cv2": "cv2", "p99": "p99"}
GAUGE_FIELDS = {"mean": "mean", "ci": "half_width", "min": "min", "max": "max"}
STAGE_FIELDS = {name: name for name in Stage.__dataclass_fields__}
POOL_FIELDS = {name: name for name in Pool.__dataclass_fields__}
"""Key in the report to attribute of the row."""


def report_json(report: Report) -> str:
    """The report as JSON text on one line."""
    document: dict[str, object] = {
        "serq_version": VERSION,
        "horizon": plain(report.horizon),
        "end": plain(report.end),
        "warmup": plain(report.warmup),
        "seed": report.seed,
        "events": report.events,
        "arrivals": report.arrivals,
        "ended": report.ended,
        "turns": report.turns,
        "mean_live": plain(report.mean_live),
        "observes": {name: fields(row, OBSERVE_FIELDS) for name, row in report.observe.items()},
        "gauges": {name: fields(row, GAUGE_FIELDS) for name, row in report.gauge.items()},
        "stages": [fields(row, STAGE_FIELDS) for row in report.stage.values()],
        "pools": [fields(row, POOL_FIELDS) for row in report.pool.values()],
    }
    return json.dumps(document)


def fields(row: Observation | Gauge | Stage | Pool, names: dict[str, str]) -> dict[str, Plain]:
    """The values of a row under their names in JSON."""
    return {key: plain(getattr(row, attribute)) for key, attribute in names.items()}


def plain(value: Plain) -> Plain:
    """A number as JSON can hold it: NaN and infinities become None, whole floats become int."""
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() else value
