"""A run's memory: made from tables and settings, handed to the kernel, read out as records, given back.

`Simulation` is the owner. Next on the way: `kernel/event_loop.py`.
"""

from __future__ import annotations

import ctypes
import weakref
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from serq_lab.kernel.records import (
    GAP_BIN_RATIO,
    ChangeRecords,
    Failure,
    PoolRecords,
    Records,
    SampleRecords,
    StageRecords,
)
from serq_lab.kernel.storage.memory import REALLOCATE_ADDRESS, RawBlock, SpareBlocks, free
from serq_lab.kernel.storage.state import (
    BOARD,
    CHANGE,
    GAP,
    GAUGE,
    HEAP,
    N_GAP_EDGES,
    N_WINDOWS,
    OBSERVATION,
    POOL_SHOWN,
    RUN,
    SAMPLE,
    SCRATCH,
    STAGE_SHOWN,
    WINDOW,
)
from serq_lab.kernel.storage.tables import ProgramTables, StageKind

GROWING_TABLES = ("sessions", "vectors", "owns", "allocations", "hops", "entries", "snapshots")


class TraceTables(NamedTuple):
    """A trace: its rows, which of them are whose, and the state that its choice starts from; empty without a trace.

    Shapes (n_rows,), (n_sessions,) and (33,); of the last `kernel/traces.py` says what it is.
    """

    rows: NDArray[np.void]
    sessions: NDArray[np.void]
    words: NDArray[np.int64]


class RunTables(NamedTuple):
    """Everything that one run starts from; `lowering/lower.py` makes it.

    `run` is what `initial_run` made; `program` are the tables that it points to. `owner` keeps the native functions
    alive whose addresses the tables hold. `spares` has memory of earlier runs of the program for observations, by
    number, and for gauges, numbered on. `pools` and `stages` are rows a member, as `initial_members` made them.
    `gauges` are rows of expressions. `pools_at`, `stages_at`: slots of the board.
    """

    program: ProgramTables
    run: NDArray[np.void]
    owner: object
    spares: SpareBlocks
    pools: NDArray[np.void]
    stages: NDArray[np.void]
    gauges: NDArray[np.int64]
    n_observations: int
    board: NDArray[np.float64]
    streams: NDArray[np.int64]
    refill: int
    pools_at: int
    stages_at: int
    n_keys: int
    trace: TraceTables
    horizon: float
    warmup: float
    limit: int
    population: int


def initial_run(program: ProgramTables, stages: NDArray[np.void], n_gauges: int, **fields: int) -> NDArray[np.void]:
    """The RUN record that all runs of a program start from, but for their settings.

    Parameters
    ----------
    program : ProgramTables
        To be kept alive: the record has the addresses.
    stages : ndarray of STAGE
        As of `initial_members`.
    n_gauges : int
    **fields : int
        What `lowering/lower.py` knows of the program, by the names of the record.

    Returns
    -------
    ndarray of RUN, shape (1,)
    """
    runs = np.zeros(1, dtype=RUN)
    run = runs[0]
    for name, number in fields.items():
        run[name] = number
    run["n_stages"], run["n_gauges"] = len(stages), n_gauges
    run["n_steps"] = np.count_nonzero(stages["kind"] == StageKind.STEP)
    run["is_simple"] = n_gauges == 0 and stages["is_simple"].all()
    run["reallocate"], run["events"] = REALLOCATE_ADDRESS, -1  # the start is not counted
    for name in ("ready_head", "ready_tail", "free_session", "free_allocation", "free_entry", "asking", "going_nowhere",
                 "flow_head", "flow_tail", "free_hop", "flow_event", "pending_flow"):  # fmt: skip
        run[name] = -1
    for name, array in (*program._asdict().items(), ("gap_edges", gap_edges())):
        run[name], run[name + "_room"] = array.ctypes.data, len(array)
    return runs


def initial_members(pools: NDArray[np.void], stages: NDArray[np.void]) -> None:
    """Put into the rows of pools and stages what a run starts with: no lists, nobody served."""
    for name in ("queue_head", "queue_tail", "grower_head", "grower_tail", "oldest", "youngest", "last_holder",
                 "spilled_entry"):  # fmt: skip
        pools[name] = -1
    pools["rejected_least"] = pools["rejected_most"] = np.nan
    for name in ("wait_head", "wait_tail", "job_head", "job_tail", "pending_event", "pending_session",
                 "resident_head", "resident_tail", "first_untaken", "scheduled_head", "scheduled_tail"):  # fmt: skip
        stages[name] = -1
    is_served = np.isin(stages["kind"], (StageKind.FIFO, StageKind.DELAY))
    numbers = np.arange(len(stages))
    is_plain = (stages["is_flow"] == 0) & (stages["is_listed"] == 0) & (stages["is_estimated"] == 0)
    stages["is_simple"] = is_served & is_plain & ~np.isin(numbers, pools["spill_stage"])
    stages["heap"] = 1 + numbers


class Simulation:
    """The memory of one run.

    Attributes
    ----------
    runs : ndarray of RUN, shape (1,)
        What the kernel's entry takes.
    """

    def __init__(self, tables: RunTables) -> None:
        self.tables = tables
        self.runs = copied(tables.run)
        n_stages = len(tables.stages)
        self.pools, self.stages = copied(tables.pools), copied(tables.stages)
        self.board = tables.board.copy()
        self.streams = tables.streams.copy()
        self.heaps = np.zeros(1 + n_stages, dtype=HEAP)
        self.observations = np.zeros(tables.n_observations, dtype=OBSERVATION)
        self.gauges = np.zeros(len(tables.gauges), dtype=GAUGE)
        self.windows = np.full(N_WINDOWS, np.nan).view(WINDOW)
        self.scratch = np.zeros(2 * tables.n_keys, dtype=SCRATCH)
        self.trace_rows, self.trace_sessions, self.trace_words = tables.trace
        self.trace_words = self.trace_words.copy()
        n_bins = np.where(self.stages["kind"] == StageKind.STEP, N_GAP_EDGES + 1, 0)
        self.gaps = [np.zeros(n, dtype=GAP) for n in n_bins]
        self._fill_members()
        self._fill_run()
        self._reuse_memory()
        owned = self.runs, self.heaps, self.observations, self.gauges
        weakref.finalize(self, _give_back, *owned).atexit = False

    def _reuse_memory(self) -> None:
        spares = self.tables.spares
        for k, row in enumerate(self.observations):
            row["samples"], n_bytes = spares.take(k)
            row["samples_room"] = n_bytes // SAMPLE.itemsize
        for k, row in enumerate(self.gauges, len(self.observations)):
            row["changes"], n_bytes = spares.take(k)
            row["changes_room"] = n_bytes // CHANGE.itemsize

    def _fill_members(self) -> None:
        self.stages["gaps"] = [gaps.ctypes.data for gaps in self.gaps]
        self.stages["gaps_room"] = [len(gaps) for gaps in self.gaps]
        self.gauges["expression"] = self.tables.gauges
        self.header = self.board[: len(BOARD.names or ())].view(BOARD)[0]
        self.header["streams"], self.header["refill"] = self.streams.ctypes.data, self.tables.refill
        self.header["observations"] = self.observations.ctypes.data
        self.header["reallocate"] = REALLOCATE_ADDRESS
        self.pools_shown = self.board[self.tables.pools_at : self.tables.stages_at].view(POOL_SHOWN)
        self.stages_shown = self.board[self.tables.stages_at :].view(STAGE_SHOWN)
        self.pools_shown["cap"], self.pools_shown["block"] = self.pools["cap"], self.pools["block"]

    def _fill_run(self) -> None:
        tables, run = self.tables, self.runs[0]
        run["horizon"], run["warmup"], run["limit"] = tables.horizon, tables.warmup, tables.limit
        run["population"], run["may_be_over"] = tables.population, tables.limit > 0
        run["window_end"] = tables.warmup + (tables.horizon - tables.warmup) / N_WINDOWS
        for name in ("pools", "stages", "heaps", "gauges", "windows", "scratch", "board",
                     "trace_rows", "trace_sessions", "trace_words", "pools_shown", "stages_shown"):  # fmt: skip
            array = getattr(self, name)
            run[name], run[name + "_room"] = array.ctypes.data, len(array)

    # ------------------------------------------------------------ records

    def records(self) -> Records:
        """What the run left behind; it stays where it is, nothing is copied. Call once, at the end."""
        run = self.runs[0]
        return Records(
            end=float(run["now"]), events=int(run["events"]), arrivals=int(run["arrivals"]), ended=int(run["ended"]),
            turns=int(self.header["turns"]), live_area=float(run["live_area"]), live=int(run["live"]),
            live_windows=self.windows["area"] * (N_WINDOWS / (float(run["horizon"]) - float(run["warmup"]))),
            samples=tuple(self._samples(k, row) for k, row in enumerate(self.observations)),
            gauges=tuple(self._changes(k, row) for k, row in enumerate(self.gauges, len(self.observations))),
            stages=self._stage_records(), pools=self._pool_records(), failure=self.failure(),
        )  # fmt: skip

    def failure(self) -> Failure | None:
        """Why the run stopped, or None."""
        header = self.header
        if header["failure"] == 0:
            return None
        run = self.runs[0]
        asking = int(run["asking"])
        serial = -1
        if asking >= 0:
            serial = int(ctypes.c_double.from_address(int(run["vectors"]) + asking * int(run["vector_bytes"])).value)
        return Failure(
            int(header["failure"]), int(header["failure_span"]), float(run["failed_at"]), serial,
            float(header["failure_value"]),
        )  # fmt: skip

    def _samples(self, k: int, row: Any) -> SampleRecords:
        samples = self._take(k, row, "samples", SAMPLE)
        return SampleRecords(samples["value"], samples["time"], samples["session"], samples["turn"])

    def _changes(self, k: int, row: Any) -> ChangeRecords:
        changes = self._take(k, row, "changes", CHANGE)
        return ChangeRecords(changes["time"], changes["value"])

    def _take(self, k: int, row: Any, table: str, dtype: np.dtype[Any]) -> NDArray[Any]:
        """A growing table's rows as an array that owns its memory."""
        block = RawBlock(int(row[table]), int(row[table + "_room"]), int(row["n"]), dtype, self.tables.spares, k)
        row[table], row[table + "_room"] = 0, 0
        return np.asarray(block).view(dtype)

    def _stage_records(self) -> StageRecords:
        stages, shown = self.stages, self.stages_shown
        gaps = tuple(_counted(gaps) for gaps in self.gaps)
        names = ("completed", "wait_sum", "service_sum", "iterations", "prefill_only_time", "decode_only_time",
                 "mixed_time", "decode_iterations", "decode_sum", "decode_time_sum", "gap_count",
                 "gap_sum")  # fmt: skip
        columns = {name: stages[name] for name in names}
        return StageRecords(
            number_area=shown["queue_area"], busy_area=shown["load_area"], decodes_area=shown["decodes_area"],
            gaps=gaps, **columns,
        )  # fmt: skip

    def _pool_records(self) -> PoolRecords:
        pools, shown = self.pools, self.pools_shown
        names = ("wait_sum", "wait_count", "admissions", "evicted_entries", "evicted_units", "preemptions", "spills",
                 "rejected", "stuck", "rejected_least", "rejected_most")  # fmt: skip
        columns = {name: pools[name] for name in names}
        return PoolRecords(
            used_area=shown["used_area"], cached_area=shown["cached_area"],
            queue_area=shown["queued_area"], holders_area=shown["holders_area"], **columns,
        )  # fmt: skip


@cache
def gap_edges() -> NDArray[np.float64]:
    """The edges of the bins of token gaps: whole powers of 1.01."""
    least = -(N_GAP_EDGES // 2)
    return np.array([GAP_BIN_RATIO**k for k in range(least, least + N_GAP_EDGES)])


def copied(rows: NDArray[np.void]) -> NDArray[np.void]:
    """A copy of an array of records, in one piece: numpy goes field by field."""
    return rows.view(np.uint8).copy().view(rows.dtype)


def _counted(gaps: NDArray[np.void]) -> NDArray[np.float64]:
    """The bins that have gaps: rows of number, count, least and greatest."""
    if len(gaps) == 0:
        return np.empty((0, 4))
    (bins,) = np.nonzero(gaps["count"])
    numbers = bins - 1 - N_GAP_EDGES // 2
    return np.column_stack([numbers, *(gaps[name][bins] for name in ("count", "least", "greatest"))]).astype(np.float64)


def _give_back(runs: Any, heaps: Any, observations: Any, gauges: Any) -> None:
    for name in GROWING_TABLES:
        free(int(runs[0][name]))
    for owners, table in ((heaps, "items"), (observations, "samples"), (gauges, "changes")):
        for address in owners[table]:
            free(int(address))
