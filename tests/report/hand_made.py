"""Models and records made by hand, so that a report can be tested without an engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from serq_lab.kernel.records import ChangeRecords, PoolRecords, Records, SampleRecords, StageRecords
from serq_lab.report.report import Report
from serq_lab.semantics import model as checked
from serq_lab.source import SourceText, Span

SOURCE = SourceText("")
HERE = Span(SOURCE, 0, 0)
NUMBER = checked.Constant(HERE, 1.0)
CONSTANTS = checked.Constants(
    lets=(),
    caps=(),
    blocks=(),
    servers=(),
    population=0,
    horizon=10.0,
    warmup=0.0,
    seed=1,
    arrivals=None,
    structure=(),
)


def model() -> checked.Model:
    """A program that does nothing."""
    return checked.Model(
        source=SOURCE,
        lets=(),
        attributes=checked.BUILT_IN_ATTRIBUTES,
        observations=(),
        gauges=(),
        pools=(),
        stages=(),
        share=None,
        arrivals=checked.Arrivals(HERE, "poisson", NUMBER),
        trace=None,
        init=(),
        turn=(),
        session=(),
        settings=checked.RunSettings(HERE, NUMBER, NUMBER, NUMBER, None),
        constants=CONSTANTS,
    )


def pool(name: str, size: int | None = None) -> checked.Pool:
    return checked.Pool(HERE, name, size, NUMBER, None, None, None, "none", None, None)


def stage(name: str, size: int | None = None, kind: str = "fifo") -> checked.Stage:
    return checked.Stage(HERE, name, size, kind)


def samples(values: Sequence[float] | np.ndarray[Any, Any]) -> SampleRecords:
    n = len(values)
    return SampleRecords(
        np.asarray(values, float),
        np.arange(n, dtype=float),
        np.arange(n, dtype=np.uint32),
        np.ones(n, np.uint32),
    )


def changes(*points: tuple[float, float]) -> ChangeRecords:
    time, value = zip(*points, strict=True)
    return ChangeRecords(np.array(time, float), np.array(value, float))


def stage_records(n: int, **fields: Sequence[float]) -> StageRecords:
    """Zero rows but for the fields given."""
    whole = ("completed", "iterations", "decode_iterations", "gap_count")
    arrays: dict[str, Any] = {name: np.zeros(n, np.int64 if name in whole else float) for name in StageRecords._fields}
    arrays["gaps"] = tuple(np.zeros((0, 4)) for _ in range(n))
    for name, values in fields.items():
        arrays[name] = values if name == "gaps" else np.asarray(values, arrays[name].dtype)
    return StageRecords(**arrays)


def pool_records(n: int, **fields: Sequence[float]) -> PoolRecords:
    """Zero rows but for the fields given."""
    real = ("area", "sum", "units", "least", "most")
    arrays: dict[str, Any] = {
        name: np.zeros(n, float if name.endswith(real) else np.int64) for name in PoolRecords._fields
    }
    for name, values in fields.items():
        arrays[name] = np.asarray(values, arrays[name].dtype)
    return PoolRecords(**arrays)


def report(
    *,
    observations: dict[str, SampleRecords] | None = None,
    gauges: dict[str, ChangeRecords] | None = None,
    stages: Sequence[checked.Stage] = (),
    pools: Sequence[checked.Pool] = (),
    stage_rows: StageRecords | None = None,
    pool_rows: PoolRecords | None = None,
    lets: dict[str, float] | None = None,
    caps: Sequence[float] = (),
    process: str = "poisson",
    limit: int | None = None,
    horizon: float = 10.0,
    warmup: float = 0.0,
    **counts: Any,
) -> Report:
    """A report with these names and records; `counts` replaces fields of `Records`."""
    lets = lets or {}
    constants = replace(
        CONSTANTS,
        lets=tuple(lets.values()),
        caps=tuple(caps) or (10.0,) * len(pools),
        blocks=(float("nan"),) * len(pools),
        servers=(1,) * len(stages),
        horizon=horizon,
        warmup=warmup,
        arrivals=limit,
    )
    named = replace(
        model(),
        lets=tuple(checked.Let(HERE, name, NUMBER, "", frozenset()) for name in lets),
        observations=tuple(observations or {}),
        gauges=tuple(checked.Gauge(HERE, name, NUMBER) for name in gauges or {}),
        pools=tuple(pools),
        stages=tuple(stages),
        arrivals=checked.Arrivals(HERE, process, NUMBER),
        constants=constants,
    )
    records: dict[str, Any] = {
        "end": horizon,
        "events": 0,
        "arrivals": 0,
        "ended": 0,
        "turns": 0,
        "live_area": 0.0,
        "live": 0,
        "live_windows": np.zeros(20),
        "samples": tuple((observations or {}).values()),
        "gauges": tuple((gauges or {}).values()),
        "stages": stage_rows or stage_records(sum(family.n_members for family in stages)),
        "pools": pool_rows or pool_records(sum(family.n_members for family in pools)),
        "failure": None,
    }
    return Report(named, constants, Records(**{**records, **counts}))
