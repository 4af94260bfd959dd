"""What is finished stays finished: the file that a killed sweep goes on from."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import serq_lab
from serq_lab import RunError
from serq_lab.experiments import executors
from serq_lab.experiments.store import Store, key_of
from serq_lab.experiments.task import Result, Task
from tests.experiments.sweeping import PROGRAMS, QUEUE, assert_same, queue

ROOT = Path(__file__).parents[2]
TASK = Task("text", "name", (("f", "1"),), "", (("A", 1.0), ("B", 2.0)), 2**64 - 1, None, 5.0, False)


class Counting(ThreadPoolExecutor):
    """Counts the runs that it is given."""

    def __init__(self) -> None:
        super().__init__(2)
        self.n_runs = 0

    def submit(self, function: Any, /, *given: Any, **more: Any) -> Any:
        self.n_runs += function is executors.run_task
        return super().submit(function, *given, **more)


def n_runs(file: Path, program: serq_lab.Program | None = None, **settings: Any) -> int:
    """How many runs a sweep of four does."""
    with Counting() as executor:
        given: dict[str, Any] = {"horizon": 100, "warmup": 10, "replications": 2, "seed": 3, **settings}
        (program or queue()).sweep({"Lambda": [0.2, 0.5]}, executor=executor, resume=file, **given)
    return executor.n_runs


def test_only_what_is_missing_is_run(tmp_path: Path) -> None:
    file = tmp_path / "rows.sqlite"
    assert n_runs(file) == 4
    assert n_runs(file) == 0
    assert n_runs(file, replications=5) == 6


@pytest.mark.parametrize("settings", [{"horizon": 101}, {"warmup": 11}, {"seed": 4}, {"check": True}])
def test_another_setting_is_another_run(tmp_path: Path, settings: dict[str, Any]) -> None:
    file = tmp_path / "rows.sqlite"
    assert n_runs(file) == 4
    assert n_runs(file, **settings) >= 3  # the seed of one sweep may be that of a replication of another


def test_another_text_is_another_run_and_another_name_is_not(tmp_path: Path) -> None:
    file = tmp_path / "rows.sqlite"
    assert n_runs(file) == 4
    assert n_runs(file, serq_lab.compile(QUEUE, name="renamed")) == 0
    assert n_runs(file, serq_lab.compile(QUEUE + "// a comment\n")) == 4


REPLAY = """
use "twice.sq";
let Lambda = 0.5;
stage server : fifo;
workload { arrive poisson(Lambda); trace "turns.csv" ordered; }
session { turn; run server (twice(out)); observe output = out; }
run { horizon 100; warmup 0; }
"""


@pytest.fixture
def replay(tmp_path: Path) -> Path:
    """A program in two files of its own, with a trace."""
    (tmp_path / "twice.sq").write_text("def twice(x) = 2 * x;")
    (tmp_path / "turns.csv").write_text("0,1,10,1,0\n1,1,10,3,0\n")
    program = tmp_path / "replay.sq"
    program.write_text(REPLAY)
    return program


@pytest.mark.parametrize(
    ("name", "text"), [("turns.csv", "0,1,10,2,0\n1,1,10,5,0\n"), ("twice.sq", "def twice(x) = x;")]
)
def test_another_trace_or_library_is_another_run(replay: Path, tmp_path: Path, name: str, text: str) -> None:
    resume = tmp_path / "rows.sqlite"
    given: dict[str, Any] = {"over": {"Lambda": [0.2, 0.5]}, "replications": 2}
    before = serq_lab.load(replay).sweep(**given, resume=resume).frame
    assert n_runs(resume, serq_lab.load(replay), horizon=None, warmup=None, seed=None) == 0
    (tmp_path / name).write_text(text)
    after = serq_lab.load(replay).sweep(**given, resume=resume).frame
    assert_same(after, serq_lab.load(replay).sweep(**given).frame)
    assert (after["stage.server.mean_service"] != before["stage.server.mean_service"]).all()
    assert n_runs(resume, serq_lab.load(replay), horizon=None, warmup=None, seed=None) == 0


def test_a_file_that_comes_back_as_it_was_is_known(replay: Path, tmp_path: Path) -> None:
    resume, trace = tmp_path / "rows.sqlite", tmp_path / "turns.csv"
    given: dict[str, Any] = {"horizon": None, "warmup": None, "seed": None}
    text = trace.read_text()
    assert n_runs(resume, serq_lab.load(replay), **given) == 4
    trace.write_text("0,1,10,7,0\n")
    assert n_runs(resume, serq_lab.load(replay), **given) == 4
    trace.write_text(text)
    assert n_runs(resume, serq_lab.load(replay), **given) == 0


def test_a_trace_that_was_not_there_is_no_finished_run(replay: Path, tmp_path: Path) -> None:
    resume, trace = tmp_path / "rows.sqlite", tmp_path / "turns.csv"
    program = serq_lab.load(replay)
    text = trace.read_text()
    trace.unlink()
    with pytest.raises(RunError, match="there is no trace file"):
        program.sweep({"Lambda": [0.5]}, replications=1, resume=resume)
    trace.write_text(text)
    assert program.sweep({"Lambda": [0.5]}, replications=1, resume=resume).frame["error"].tolist() == [""]


def test_a_file_that_changes_on_the_way_stops_the_sweep(replay: Path, tmp_path: Path) -> None:
    """A run with other files is not the run that was asked for, here and on a worker with files of its own."""
    resume = tmp_path / "rows.sqlite"
    program = serq_lab.load(replay)

    class Changing(ThreadPoolExecutor):
        def submit(self, function: Any, /, *given: Any, **more: Any) -> Any:
            (tmp_path / "turns.csv").write_text("0,1,10,9,0\n")
            return super().submit(function, *given, **more)

    with (
        Changing(1) as executor,
        pytest.raises(RunError, match=r'the trace or a library of ".*\breplay.sq" is another'),
    ):
        program.sweep({"Lambda": [0.2, 0.5]}, replications=2, resume=resume, executor=executor)
    assert n_kept(resume) == 0


def test_a_library_that_changes_after_loading_stops_the_sweep(replay: Path, tmp_path: Path) -> None:
    program = serq_lab.load(replay)
    (tmp_path / "twice.sq").write_text("def twice(x) = 3 * x;")
    with pytest.raises(RunError, match="load the program again"):
        program.sweep({"Lambda": [0.5]}, replications=1)


def test_another_version_is_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    key = key_of(TASK)
    monkeypatch.setattr("serq_lab.experiments.store.VERSION", "0.0.1")
    assert key_of(TASK) != key


def test_another_engine_of_the_same_version_is_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    key = key_of(TASK)
    monkeypatch.setattr("serq_lab.experiments.store.engine_digest", lambda: "other")
    assert key_of(TASK) != key


def test_the_order_of_lets_is_no_part_of_the_key() -> None:
    assert key_of(TASK._replace(lets=TASK.lets[::-1])) == key_of(TASK)


def test_a_kept_result_comes_back_to_the_bit(tmp_path: Path) -> None:
    values = {"a": 0.1 + 0.2, "b": float("inf"), "c": 3, "d": -0.0}
    result = Result("1", "", "arrivals", True, 0.25, values)
    store = Store(tmp_path / "rows.sqlite")
    store.put(TASK, result)
    store.close()
    kept = Store(tmp_path / "rows.sqlite").get(TASK)
    assert kept == result
    assert kept is not None
    assert str(kept.values["d"]) == "-0.0"


def test_failed_points_are_kept_too(tmp_path: Path) -> None:
    file = tmp_path / "rows.sqlite"
    first = queue().sweep({"Lambda": [-1, 0.5]}, replications=1, resume=file).frame
    with Counting() as executor:
        again = queue().sweep({"Lambda": [-1, 0.5]}, replications=1, resume=file, executor=executor).frame
    assert executor.n_runs == 0
    assert_same(first, again)


def test_a_file_of_another_kind(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("nothing of ours, and more of it than a header of SQLite takes " * 20)
    with pytest.raises(RunError) as caught:
        queue().sweep({"Lambda": [0.5]}, resume=file)
    assert f'finished points cannot be kept in "{file}": file is not a database' in str(caught.value)
    assert file.read_text().startswith("nothing of ours")


SWEEP = """
import json, serq_lab, sys
given = json.loads(sys.argv[3])
serq_lab.load(sys.argv[1]).sweep(given.pop("over"), resume=sys.argv[2], **given)
"""
GRIDS: dict[str, dict[str, Any]] = {
    "02-memory.sq": {"over": {"C": list(range(4, 12))}, "replications": 5, "horizon": 100_000},
    "05-engine.sq": {
        "over": {"Lambda": [0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.5]},
        "replications": 5, "horizon": 2000, "warmup": 200,
    },
}  # fmt: skip


def n_kept(file: Path) -> int:
    if not file.exists():
        return 0
    try:
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as connection:
            (n,) = connection.execute("SELECT count(*) FROM results").fetchone()
        connection.close()
    except sqlite3.OperationalError:  # not yet made, or being written
        return 0
    return int(n)


@pytest.mark.parametrize("name", GRIDS)
def test_killed_half_way_and_resumed(tmp_path: Path, name: str) -> None:
    file, program = tmp_path / "rows.sqlite", serq_lab.load(PROGRAMS / name)
    command = [sys.executable, "-c", SWEEP, str(PROGRAMS / name), str(file), json.dumps(GRIDS[name])]
    process = subprocess.Popen(command, cwd=ROOT)
    until = time.monotonic() + 120
    while n_kept(file) < 10 and process.poll() is None and time.monotonic() < until:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait(timeout=30) == -signal.SIGKILL
    kept = n_kept(file)
    assert 10 <= kept < 40
    with Counting() as executor:
        resumed = program.sweep(executor=executor, resume=file, **GRIDS[name])
    assert executor.n_runs == 40 - kept
    whole = program.sweep(**GRIDS[name])
    assert_same(resumed.frame, whole.frame)
    assert (whole.frame["error"] == "").all()


def test_a_cluster_writes_nothing_itself(tmp_path: Path) -> None:
    """The file is written where the sweep is: workers need not see it."""

    class Blind(Counting):
        def submit(self, function: Any, /, *given: Any, **more: Any) -> Any:
            assert os.fspath(tmp_path) not in repr(given)
            return super().submit(function, *given, **more)

    executor: Executor
    with Blind() as executor:
        queue().sweep({"Lambda": [0.5]}, replications=2, executor=executor, resume=tmp_path / "rows.sqlite")
