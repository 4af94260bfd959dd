"""A run's memory: made from tables and settings, handed to the kernel, read out as records, given back.

`Simulation` is the owner. Next on the way: `kernel/event_loop.py`.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from serq_lab.kernel.draws.streams import COUNTER_AT, KEY_AT, blank_streams, refill_address
from serq_lab.kernel.records import (
    GAP_BIN_RATIO,
    ChangeRecords,
    Failure,
    PoolRecords,
    Records,
    SampleRecords,
    StageRecords,
)
from serq_lab.kernel.storage.access import FRONT_ROOM
from serq_lab.kernel.storage.memory import REALLOCATE_ADDRESS, RawBlock, SpareBlocks, free
from serq_lab.kernel.storage.state import (
    BOARD,
    CHANGE,
    GAP,
    GAUGE,
    HEAP,
    N_GAP_EDGES,
    N_TRACE_WORDS,
    N_WINDOWS,
    OBSERVATION,
    POOL_SHOWN,
    RUN,
    SAMPLE,
    SCRATCH,
    STAGE_SHOWN,
    WINDOW,
    WORD,
)
from serq_lab.kernel.storage.tables import ProgramTables, StageKind

NO_GAPS = np.empty((0, 4))
GROWING_TABLES = ("sessions", "vectors", "owns", "allocations", "hops", "entries", "snapshots")


class TraceTables(NamedTuple):
    """A trace: its rows, which of them are whose, and the state that its choice starts from.

    Shapes (n_rows,), (n_sessions,) and (33,); of the last `kernel/traces.py` says what it is.
    """

    rows: NDArray[np.void]
    sessions: NDArray[np.void]
    words: NDArray[np.int64]


class MemberNumbers(NamedTuple):
    """The numbers of one run's pools and stages, one a member; `flow_capacities` is empty if no stage is shared."""

    caps: Sequence[float]
    blocks: Sequence[float]
    servers: Sequence[float]
    flow_capacities: Sequence[float]


class Image(NamedTuple):
    """The memory that every run of a program starts from, in one piece: a copy of it is a run's, but for its numbers.

    `words` int64 (n,); those at `places` are to be addresses and count bytes from the first word on. `tables`: by name,
    which words a table takes, and its dtype. `steps` are the stages that run iterations.
    """

    words: NDArray[np.int64]
    places: list[int]
    tables: dict[str, tuple[slice, np.dtype[Any]]]
    steps: list[int]


class RunTables(NamedTuple):
    """Everything that one run starts from; `lowering/lower.py` makes it.

    `program` are the tables that the image points to, `owner` keeps the native functions alive whose addresses they
    hold. `spares` has memory of earlier runs of the program for observations, by number, and for gauges, numbered on.
    `keys` are those of the four random streams.
    """

    image: Image
    program: ProgramTables
    owner: object
    spares: SpareBlocks
    members: MemberNumbers
    lets: Sequence[float]
    keys: Sequence[Sequence[int]]
    trace: TraceTables | None
    horizon: float
    warmup: float
    limit: int
    population: int


def image_of(
    program: ProgramTables, pools: NDArray[np.void], stages: NDArray[np.void], gauges: Sequence[int], *, n_lets: int,
    n_observations: int, n_keys: int, **fields: int,
) -> Image:  # fmt: skip
    """The image of a program.

    Parameters
    ----------
    program : ProgramTables
        To be kept alive: the image has the addresses.
    pools, stages : ndarray of POOL and STAGE
        Rows a member, as of `initial_members`.
    gauges : sequence of int
        Rows of expressions.
    n_lets, n_observations : int
    n_keys : int
        The most keys by which anything is ordered.
    **fields : int
        What `lowering/lower.py` knows of the program, by the names of the RUN record.
    """
    runs = initial_run(program, stages, len(gauges), fields)
    header = np.zeros(1, dtype=BOARD)
    header["reallocate"], header["refill"] = REALLOCATE_ADDRESS, refill_address()
    arrays: dict[str, NDArray[Any]] = {
        "front": empty_front(), "runs": runs, "pools": pools, "stages": stages,
        "heaps": np.zeros(1 + len(stages), dtype=HEAP),
        "observations": np.zeros(n_observations, dtype=OBSERVATION),
        "gauges": np.array([(expression, 0, 0, 0) for expression in gauges], dtype=GAUGE),
        "windows": np.full(N_WINDOWS, np.nan).view(WINDOW), "scratch": np.zeros(2 * n_keys, dtype=SCRATCH),
        "trace_words": np.zeros(N_TRACE_WORDS, dtype=WORD), "streams": blank_streams(),
        "board": header, "lets": np.zeros(n_lets),  # the board, from here on
        "pools_shown": np.zeros(len(pools), dtype=POOL_SHOWN), "stages_shown": np.zeros(len(stages), dtype=STAGE_SHOWN),
    }  # fmt: skip
    stops = (np.cumsum([array.nbytes for array in arrays.values()]) // WORD.itemsize).tolist()
    parts = dict(zip(arrays, map(slice, [0, *stops], stops), strict=False))
    for name in runs.dtype.names or ():
        if name in parts:
            runs[name], runs[name + "_room"] = parts[name].start * WORD.itemsize, len(arrays[name])
    for name in ("observations", "streams"):
        header[name] = parts[name].start * WORD.itemsize
    words = np.concatenate([array.reshape(-1).view(np.int64) for array in arrays.values()])
    places = [
        parts[owner].start + slot
        for owner, dtype in (("runs", RUN), ("board", BOARD))
        for slot, name in enumerate(dtype.names or ())
        if name in parts
    ]
    tables = {name: (parts[name], array.dtype) for name, array in arrays.items()}
    return Image(words, places, tables, np.flatnonzero(stages["kind"] == StageKind.STEP).tolist())


def initial_run(
    program: ProgramTables, stages: NDArray[np.void], n_gauges: int, fields: Mapping[str, int]
) -> NDArray[np.void]:
    """The RUN record that all runs of a program start from, but for the places of what each has of its own."""
    runs = np.zeros(1, dtype=RUN)
    run = runs[0]
    for name, number in fields.items():
        run[name] = number
    run["n_stages"], run["n_gauges"] = len(stages), n_gauges
    run["n_steps"] = np.count_nonzero(stages["kind"] == StageKind.STEP)
    run["is_simple"] = n_gauges == 0 and stages["is_simple"].all()
    run["n_open"] = 1 - run["is_simple"]
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
        image = tables.image
        memory, start = aligned(image.words)
        words = np.frombuffer(memory, dtype=np.int64)
        for place in image.places:
            memory[place] += start

        def table(name: str) -> NDArray[Any]:
            part, dtype = image.tables[name]
            return words[part].view(dtype)

        self.runs, self.pools, self.stages, self.heaps = map(table, ("runs", "pools", "stages", "heaps"))
        self.observations, self.gauges, self.windows = map(table, ("observations", "gauges", "windows"))
        self.pools_shown, self.stages_shown = map(table, ("pools_shown", "stages_shown"))
        self.header = table("board")[0]
        self.gaps = [np.zeros(N_GAP_EDGES + 1, dtype=GAP) for _ in image.steps]
        table("lets")[:] = tables.lets
        table("streams").reshape(len(tables.keys), -1)[:, KEY_AT:COUNTER_AT] = tables.keys
        self._fill_members()
        self._fill_run()
        if tables.trace is not None:
            self._fill_trace(tables.trace, table("trace_words"))
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
        members = self.tables.members
        self.pools["cap"] = self.pools_shown["cap"] = members.caps
        self.pools["block"] = self.pools_shown["block"] = members.blocks
        self.stages["servers"] = members.servers
        if members.flow_capacities:
            self.stages["flow_capacity"] = members.flow_capacities
        for i, gaps in zip(self.tables.image.steps, self.gaps, strict=True):
            self.stages[i]["gaps"], self.stages[i]["gaps_room"] = gaps.ctypes.data, len(gaps)

    def _fill_run(self) -> None:
        tables, run = self.tables, self.runs[0]
        run["horizon"], run["warmup"], run["limit"] = tables.horizon, tables.warmup, tables.limit
        run["population"], self.header["may_be_over"] = tables.population, tables.limit > 0
        run["window_end"] = tables.warmup + (tables.horizon - tables.warmup) / N_WINDOWS

    def _fill_trace(self, trace: TraceTables, words: NDArray[np.void]) -> None:
        run = self.runs[0]
        words["value"] = trace.words
        run["trace_rows"], run["trace_rows_room"] = trace.rows.ctypes.data, len(trace.rows)
        run["trace_sessions"], run["trace_sessions_room"] = trace.sessions.ctypes.data, len(trace.sessions)

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
        gaps = [NO_GAPS] * len(stages)
        for i, counts in zip(self.tables.image.steps, self.gaps, strict=True):
            gaps[i] = _counted(counts)
        names = ("completed", "wait_sum", "service_sum", "iterations", "prefill_only_time", "decode_only_time",
                 "mixed_time", "decode_iterations", "decode_sum", "decode_time_sum", "gap_count",
                 "gap_sum")  # fmt: skip
        columns = {name: stages[name] for name in names}
        return StageRecords(
            number_area=shown["queue_area"], busy_area=shown["load_area"], decodes_area=shown["decodes_area"],
            gaps=tuple(gaps), **columns,
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


def empty_front() -> NDArray[np.void]:
    """The front of the events with none in it."""
    front = np.zeros(3 * FRONT_ROOM, dtype=np.float64)
    front[0] = np.inf
    return front.view(WORD)


def aligned(words: NDArray[np.int64]) -> tuple[Any, int]:
    """A copy that starts at a cache line, as the vectors of the front must, and its address."""
    n = len(words)
    memory: Any = np.empty(n + 7, dtype=np.int64)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    skipped = -start % 64 // 8
    memory[skipped : skipped + n] = words
    return memoryview(memory)[skipped : skipped + n], start + 8 * skipped


@cache
def gap_edges() -> NDArray[np.float64]:
    """The edges of the bins of token gaps: whole powers of 1.01."""
    least = -(N_GAP_EDGES // 2)
    return np.array([GAP_BIN_RATIO**k for k in range(least, least + N_GAP_EDGES)])


def _counted(gaps: NDArray[np.void]) -> NDArray[np.float64]:
    """The bins that have gaps: rows of number, count, least and greatest."""
    (bins,) = np.nonzero(gaps["count"])
    numbers = bins - 1 - N_GAP_EDGES // 2
    return np.column_stack([numbers, *(gaps[name][bins] for name in ("count", "least", "greatest"))]).astype(np.float64)


def _give_back(runs: Any, heaps: Any, observations: Any, gauges: Any) -> None:
    for name in GROWING_TABLES:
        free(int(runs[0][name]))
    for owners, table in ((heaps, "items"), (observations, "samples"), (gauges, "changes")):
        for address in owners[table]:
            free(int(address))
