"""One run of a sweep: what is sent to a worker, and what comes back. Plain text and numbers either way.

In comes a `Task`, in this thread or on another machine; out goes a `Result`. Next: `executors.py`, which hands
tasks out, and `sweep.py`, which makes and collects them.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from serq_lab.diagnostics.diagnostic import Diagnostic
from serq_lab.diagnostics.errors import ProgramError, RunError
from serq_lab.pipeline import Program, compile
from serq_lab.report.as_json import POOL_FIELDS, STAGE_FIELDS
from serq_lab.report.rows import Gauge, Observation, Pool, Stage
from serq_lab.version import VERSION

if TYPE_CHECKING:
    from serq_lab.report.report import Report

OBSERVE_FIELDS = ("count", "mean", "half_width", "cv2", "p99")
GAUGE_FIELDS = ("mean", "half_width", "min", "max")
RUN_FIELDS = ("end", "horizon", "warmup", "events", "arrivals", "ended", "turns", "mean_live")


class Task(NamedTuple):
    """A point and a replication: everything that its numbers depend on; `files` is as from `files_of`."""

    text: str
    name: str
    definitions: tuple[tuple[str, str], ...]
    files: str
    lets: tuple[tuple[str, float], ...]
    seed: int
    horizon: float | None
    warmup: float | None
    check: bool


class Result(NamedTuple):
    """What a run gave.

    Attributes
    ----------
    version : str
        That of the package which ran it.
    error : str
        What stopped it, "" if nothing did; then `values` is empty.
    binds : str
        What it was short of, see `report/binding.py`.
    is_growing : bool
        Its population had not settled, see `report/steadiness.py`.
    turned_away : float
        The share of its sessions that asked for more than a pool has.
    values : dict of str to float
        The fields of its report by dotted names: ``observe.response.mean``, ``pool.kv[1].rejected``, ``run.end``.
    """

    version: str
    error: str
    binds: str
    is_growing: bool
    turned_away: float
    values: dict[str, float]


def replication_seed(seed: int, replication: int) -> int:
    """The seed of a replication: the sweep's own for the first, others from (seed, replication) alone.

    Every point of a sweep shares them, and with them its arrivals and draws. The others are the 64 bits that
    NumPy's SeedSequence hashes out of the pair, so neighbouring seeds have nothing in common.
    """
    if replication == 0:
        return seed
    return int(np.random.SeedSequence(seed, spawn_key=(replication,)).generate_state(1, np.uint64)[0])


def run_task(task: Task, progress: Callable[[float], None] | None = None) -> Result:
    """Run a task; a program or run that fails is a result with its message.

    Raises
    ------
    InternalError
        With ``check``, when the engine is found in the wrong: its numbers would be worth nothing.
    RunError
        A file that the program reads is not what it was where the task was made: this would be another run.
    """
    try:
        with _compiling:
            program = _program(task.text, task.name, task.definitions, task.files)
    except ProgramError as error:  # it was right where the sweep began
        raise _other_files(task.name) from error
    if files_of(program) != task.files:
        _program.cache_clear()  # the files may come back
        raise _other_files(task.name)
    try:
        report = program.run(
            dict(task.lets), seed=task.seed, horizon=task.horizon, warmup=task.warmup,
            progress=progress, check=task.check,
        )  # fmt: skip
    except (ProgramError, RunError) as error:
        message = "; ".join(fault.message for fault in error.diagnostics)
        return Result(VERSION, message, "", False, math.nan, {})
    return Result(VERSION, "", report.binds, report.growth is not None, report.turned_away, flat(report))


_compiling = Lock()


@lru_cache(maxsize=4)
def _program(text: str, name: str, definitions: tuple[tuple[str, str], ...], files: str) -> Program:
    """A program is compiled once a process, not once a task; anew where its files are others."""
    return compile(text, name=name, defs=dict(definitions))


def files_of(program: Program) -> str:
    """A digest of the files that a program reads: libraries as they were when it was loaded, its trace as it is.

    "" where it reads none. A trace that cannot be read is like none: every run says what is wrong with it.
    """
    contents = [library.text.encode() for library in program.model.libraries]
    if program.trace_path is not None:
        with suppress(OSError, ValueError):
            contents.append(program.trace_path.read_bytes())
    lengths = [len(content) for content in contents]
    return hashlib.sha256(b"".join([repr(lengths).encode(), *contents])).hexdigest() if contents else ""


def _other_files(name: str) -> RunError:
    message = f'the trace or a library of "{name}" is another than where the sweep began'
    hint = "load the program again, and sweep with files that stay; workers elsewhere need the same files"
    return RunError([Diagnostic("worker", message, None, hint=hint)])


def flat(report: Report) -> dict[str, float]:
    """Every field of a report by a dotted name; ``run.live_first`` and ``run.live_later`` are the mean number of live
    sessions over the first twentieth of the measured time and over the others."""
    windows = report.live_windows
    values = {f"run.{field}": getattr(report, field) for field in RUN_FIELDS}
    values |= {"run.live_first": float(windows[0]), "run.live_later": float(windows[1:].mean())}
    tables: tuple[tuple[str, dict[str, Observation | Gauge | Stage | Pool], tuple[str, ...]], ...] = (
        ("observe", dict(report.observe), OBSERVE_FIELDS),
        ("gauge", dict(report.gauge), GAUGE_FIELDS),
        ("stage", dict(report.stage), tuple(name for name in STAGE_FIELDS if name not in ("name", "index"))),
        ("pool", dict(report.pool), tuple(name for name in POOL_FIELDS if name not in ("name", "index"))),
    )
    for table, rows, fields in tables:
        values |= {f"{table}.{name}.{field}": getattr(row, field) for name, row in rows.items() for field in fields}
    return values
