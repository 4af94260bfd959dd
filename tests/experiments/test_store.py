"""What is finished stays finished: the file that a killed sweep goes on from."""

from __future__ import annotations

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
from tests.experiments.sweeping import QUEUE, assert_same, queue

ROOT = Path(__file__).parents[2]
TASK = Task("text", "name", (("f", "1"),), (("A", 1.0), ("B", 2.0)), 2**64 - 1, None, 5.0, False)


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
import serq_lab, sys
found = serq_lab.load("tutorial/programs/02-memory.sq").sweep(
    {"C": range(4, 12)}, replications=5, horizon=100000, resume=sys.argv[1])
"""


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


def test_killed_half_way_and_resumed(tmp_path: Path) -> None:
    file = tmp_path / "rows.sqlite"
    process = subprocess.Popen([sys.executable, "-c", SWEEP, str(file)], cwd=ROOT)
    until = time.monotonic() + 120
    while n_kept(file) < 10 and process.poll() is None and time.monotonic() < until:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait(timeout=30) == -signal.SIGKILL
    kept = n_kept(file)
    assert 10 <= kept < 40
    program = serq_lab.load(ROOT / "tutorial" / "programs" / "02-memory.sq")
    settings: dict[str, Any] = {"replications": 5, "horizon": 100000}
    with Counting() as executor:
        resumed = program.sweep({"C": range(4, 12)}, executor=executor, resume=file, **settings)
    assert executor.n_runs == 40 - kept
    assert_same(resumed.frame, program.sweep({"C": range(4, 12)}, **settings).frame)


def test_a_cluster_writes_nothing_itself(tmp_path: Path) -> None:
    """The file is written where the sweep is: workers need not see it."""

    class Blind(Counting):
        def submit(self, function: Any, /, *given: Any, **more: Any) -> Any:
            assert os.fspath(tmp_path) not in repr(given)
            return super().submit(function, *given, **more)

    executor: Executor
    with Blind() as executor:
        queue().sweep({"Lambda": [0.5]}, replications=2, executor=executor, resume=tmp_path / "rows.sqlite")
