"""What a run leaves behind, as plain arrays: the kernel's output, read by `report/report.py`.

Times are in the program's unit. *From the warm-up* means: accumulated over [warmup, end]; *from the start* means
over [0, end] (`LANGUAGE.md` section 10 says which is which). Areas are integrals over time of the quantity.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class SampleRecords(NamedTuple):
    """One observation's samples from the warm-up, in the order in which they were made; arrays of shape (n,)."""

    value: NDArray[np.float64]
    time: NDArray[np.float64]
    session: NDArray[np.uint32]
    turn: NDArray[np.uint32]


class ChangeRecords(NamedTuple):
    """A gauge's change points from the start: it has `value[i]` from `time[i]` on; shape (n,), at least one."""

    time: NDArray[np.float64]
    value: NDArray[np.float64]


GAP_BIN_RATIO = 1.01
"""Token gaps are counted in bins of 1%: bin k holds the gaps from 1.01^k on."""


class StageRecords(NamedTuple):
    """One row a stage member, families in order of declaration; arrays of shape (n_stages,).

    From the warm-up, but for `iterations` (from the start). `busy_area`: time with at least one job present; for a
    stage that flows share, the integral of rate carried / capacity. `decode_*`: over iterations started after the
    warm-up with at least one decode. `gaps` is one array a stage member of rows (bin, count, least, greatest), bins of
    1% as in section 10, sorted by bin; shape (n_bins, 4).
    """

    number_area: NDArray[np.float64]
    busy_area: NDArray[np.float64]
    completed: NDArray[np.int64]
    wait_sum: NDArray[np.float64]
    service_sum: NDArray[np.float64]
    iterations: NDArray[np.int64]
    prefill_only_time: NDArray[np.float64]
    decode_only_time: NDArray[np.float64]
    mixed_time: NDArray[np.float64]
    decodes_area: NDArray[np.float64]
    decode_iterations: NDArray[np.int64]
    decode_sum: NDArray[np.float64]
    decode_time_sum: NDArray[np.float64]
    gap_count: NDArray[np.int64]
    gap_sum: NDArray[np.float64]
    gaps: tuple[NDArray[np.float64], ...]


class PoolRecords(NamedTuple):
    """One row a pool member, families in order of declaration; arrays of shape (n_pools,).

    From the warm-up: areas, `wait_sum`, `wait_count` (admissions whose wait was measured: only at a hold's first
    pool). The other counts are from the start. `rejected_least` and `rejected_most` are the least and greatest
    units (rounded up to blocks, reserve included) of the rejected, NaN if none.
    """

    used_area: NDArray[np.float64]
    cached_area: NDArray[np.float64]
    queue_area: NDArray[np.float64]
    holders_area: NDArray[np.float64]
    wait_sum: NDArray[np.float64]
    wait_count: NDArray[np.int64]
    admissions: NDArray[np.int64]
    evicted_entries: NDArray[np.int64]
    evicted_units: NDArray[np.float64]
    preemptions: NDArray[np.int64]
    spills: NDArray[np.int64]
    rejected: NDArray[np.int64]
    stuck: NDArray[np.int64]
    rejected_least: NDArray[np.float64]
    rejected_most: NDArray[np.float64]


class Failure(NamedTuple):
    """Why a run stopped: `kind` is a `FailureKind`, `span` a row of the lowering's list of spans (-1: none)."""

    kind: int
    span: int
    time: float
    session: int
    value: float


class Records(NamedTuple):
    """Everything a run leaves behind.

    `live_windows` are time averages of the number of live sessions over 20 equal windows of [warmup, horizon], NaN
    for windows that the run did not reach.
    """

    end: float
    events: int
    arrivals: int
    ended: int
    turns: int
    live_area: float
    live: int
    live_windows: NDArray[np.float64]
    samples: tuple[SampleRecords, ...]
    gauges: tuple[ChangeRecords, ...]
    stages: StageRecords
    pools: PoolRecords
    failure: Failure | None


class FailureKind(IntEnum):
    """Codes of `Failure.kind`; `pipeline.py` turns them into sentences. `value` is what is quoted."""

    GUARD = 1  # a branch's guard is neither 0 nor 1
    INDEX = 2  # an array index out of range
    PARAMETER = 3  # a distribution's parameter makes no sense
    GAP = 4  # a renewal gap that is not positive and finite
    GROW_OUTSIDE = 5  # grow, or a growing run, outside a hold on the pool
    LOAD_BEYOND = 7  # a load leaves the allocation; value: the position asked for
    COST = 8  # a step's cost is negative or NaN
    NO_PROGRESS = 9  # time does not pass: too many statements at one instant
    CHOICE = 10  # choose over more indices than can be tried
    ARRIVALS_UNREACHED = 11  # the horizon comes before the arrivals asked for; value: how many came
    NOT_DRAINED = 12  # the horizon comes before the last session has ended; value: how many live
    LOAD_OUTSIDE = 14  # a load outside a hold on the pool
    ENDLESS_UNITS = 6  # a hold of infinitely many units in a pool without a cap: what it gives back is no number
    DRAINED_IN_WARMUP = 13  # draining ends at or before the warm-up; value: the end
