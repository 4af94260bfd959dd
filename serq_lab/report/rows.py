"""The rows of a report: what is known of one observation, gauge, stage or pool.

In come the arrays of `kernel/records.py`; `report.py` gives the rows their names and hands them out. The
names of the fields are those of the JSON report, in its order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from serq_lab.kernel.records import ChangeRecords, PoolRecords, SampleRecords, StageRecords
from serq_lab.report import estimates


@dataclass(frozen=True)
class MeasuredTime:
    """The measured time, [warmup, end]."""

    warmup: float
    end: float

    @property
    def length(self) -> float:
        return self.end - self.warmup


class Observation:
    """What the ``observe`` statements of one name recorded from the warm-up on.

    Attributes
    ----------
    name : str
    samples : ndarray of float64, shape (count,)
        In the order in which they were made.
    times : ndarray of float64, shape (count,)
        When, in the program's unit of time.
    sessions, turns : ndarray of uint32, shape (count,)
        The session's `serial` and `turn_no`.
    mean, half_width, cv2, p99 : float
        See `estimates.py`; computed when first asked for. In JSON `half_width` is called ``ci``.
    """

    def __init__(self, name: str, records: SampleRecords) -> None:
        self.name = name
        self.samples = records.value
        self.times = records.time
        self.sessions = records.session
        self.turns = records.turn

    @property
    def count(self) -> int:
        return len(self.samples)

    @cached_property
    def _estimates(self) -> estimates.SampleEstimates:
        return estimates.sample_estimates(self.samples)

    @property
    def mean(self) -> float:
        return self._estimates.mean

    @property
    def half_width(self) -> float:
        return self._estimates.half_width

    @property
    def cv2(self) -> float:
        return self._estimates.cv2

    @property
    def p99(self) -> float:
        return self._estimates.p99

    def __repr__(self) -> str:
        return f'<observation "{self.name}": {self.count} samples, mean {self.mean:.6g}>'


class Gauge:
    """What one ``gauge`` did.

    Attributes
    ----------
    name : str
    times, values : ndarray of float64, shape (n,)
        Change points from time 0: the gauge has ``values[i]`` from ``times[i]`` on.
    mean, half_width, min, max : float
        Over the measured time; see `estimates.gauge_estimates`. In JSON `half_width` is called ``ci``.
    """

    def __init__(self, name: str, records: ChangeRecords, measured: MeasuredTime) -> None:
        self.name = name
        self.times = records.time
        self.values = records.value
        self._measured = measured

    @cached_property
    def _estimates(self) -> tuple[float, float, float, float]:
        return estimates.gauge_estimates(self.times, self.values, self._measured.warmup, self._measured.end)

    @property
    def mean(self) -> float:
        return self._estimates[0]

    @property
    def half_width(self) -> float:
        return self._estimates[1]

    @property
    def min(self) -> float:
        return self._estimates[2]

    @property
    def max(self) -> float:
        return self._estimates[3]

    def __repr__(self) -> str:
        return f'<gauge "{self.name}": mean {self.mean:.6g}>'


@dataclass(frozen=True)
class Stage:
    """One stage; `index` is its number in an array, or None. Times in the program's unit, shares between 0
    and 1.

    Everything is measured from the warm-up on, but for `iterations` (from time 0). The fields from
    `iterations` on belong to step stages and are 0 or NaN elsewhere.
    """

    name: str
    index: int | None
    mean_number: float
    utilization: float
    completed: int
    throughput: float
    mean_wait: float
    mean_service: float
    iterations: int
    prefill_only: float
    decode_only: float
    mixed: float
    mean_decodes: float
    mean_decode_batch: float
    mean_decode_step: float
    mean_itl: float
    itl_p50: float
    itl_p99: float

    @property
    def label(self) -> str:
        return label(self.name, self.index)


@dataclass(frozen=True)
class Pool:
    """One pool; `index` is its number in an array, or None. Units are those of the pool's capacity.

    The means are measured from the warm-up on, the counts from time 0.
    """

    name: str
    index: int | None
    mean_used: float
    mean_cached: float
    mean_queue: float
    mean_holders: float
    mean_wait: float
    admissions: int
    evicted_entries: int
    evicted_units: float
    preemptions: int
    spills: int
    rejected: int
    stuck: int

    @property
    def label(self) -> str:
        return label(self.name, self.index)


def label(name: str, index: int | None) -> str:
    """What a member is called: ``mem``, or ``kv[1]`` in an array."""
    return name if index is None else f"{name}[{index}]"


def stage_row(name: str, index: int | None, records: StageRecords, row: int, measured: MeasuredTime) -> Stage:
    """The stage of row `row` of the records."""
    length = measured.length
    completed = int(records.completed[row])
    n_decode_iterations = int(records.decode_iterations[row])
    return Stage(
        name=name,
        index=index,
        mean_number=float(records.number_area[row]) / length,
        utilization=float(records.busy_area[row]) / length,
        completed=completed,
        throughput=completed / length,
        mean_wait=_per(records.wait_sum, completed, row),
        mean_service=_per(records.service_sum, completed, row),
        iterations=int(records.iterations[row]),
        prefill_only=float(records.prefill_only_time[row]) / length,
        decode_only=float(records.decode_only_time[row]) / length,
        mixed=float(records.mixed_time[row]) / length,
        mean_decodes=float(records.decodes_area[row]) / length,
        mean_decode_batch=_per(records.decode_sum, n_decode_iterations, row),
        mean_decode_step=_per(records.decode_time_sum, n_decode_iterations, row),
        mean_itl=_per(records.gap_sum, int(records.gap_count[row]), row),
        itl_p50=estimates.gap_quantile(records.gaps[row], 0.50),
        itl_p99=estimates.gap_quantile(records.gaps[row], 0.99),
    )


def pool_row(name: str, index: int | None, records: PoolRecords, row: int, measured: MeasuredTime) -> Pool:
    """The pool of row `row` of the records."""
    length = measured.length
    return Pool(
        name=name,
        index=index,
        mean_used=float(records.used_area[row]) / length,
        mean_cached=float(records.cached_area[row]) / length,
        mean_queue=float(records.queue_area[row]) / length,
        mean_holders=float(records.holders_area[row]) / length,
        mean_wait=_per(records.wait_sum, int(records.wait_count[row]), row),
        admissions=int(records.admissions[row]),
        evicted_entries=int(records.evicted_entries[row]),
        evicted_units=float(records.evicted_units[row]),
        preemptions=int(records.preemptions[row]),
        spills=int(records.spills[row]),
        rejected=int(records.rejected[row]),
        stuck=int(records.stuck[row]),
    )


def _per(sums: NDArray[np.float64], count: int, row: int) -> float:
    return float(sums[row]) / count if count else math.nan
