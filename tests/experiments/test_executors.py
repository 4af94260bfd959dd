"""The same numbers from anywhere; workers that are missing, other or dead are named."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

from serq_lab import RunError
from serq_lab.experiments import executors, processes
from serq_lab.experiments.sweep import Sweep
from serq_lab.experiments.task import run_task
from serq_lab.version import VERSION
from tests.experiments.sweeping import assert_same, memory, queue

ROOT = Path(__file__).parents[2]


def small_sweep(executor: Executor | None) -> Sweep:
    """Six points, one of which turns work away and one of which fails; five replications."""
    return memory().sweep({"C": [4, 5, 6, 8, 10, -1]}, replications=5, horizon=400, warmup=20, executor=executor)


@pytest.fixture
def packages_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """New processes find the package as this one does, installed or not."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


@pytest.mark.usefixtures("packages_on_path")
def test_identical_frames_from_threads_processes_and_a_cluster() -> None:
    reference = small_sweep(None).frame
    assert (reference["error"] != "").sum() == 5
    for n in (1, 4):
        with ThreadPoolExecutor(n) as threads:
            assert_same(small_sweep(threads).frame, reference)
    with processes(4) as spawned:
        assert_same(small_sweep(spawned).frame, reference)
    with cluster() as client:
        assert_same(small_sweep(client.get_executor()).frame, reference)


@contextmanager
def cluster() -> Iterator[Any]:
    """A Dask cluster of two worker processes."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as workers,
        Client(workers, set_as_default=False) as client,
    ):
        assert len(client.scheduler_info()["workers"]) == 2
        yield client


def test_threads_that_start_at_once_on_a_new_process() -> None:
    program = (
        "import serq_lab; p = serq_lab.load('tutorial/programs/02-memory.sq');"
        "print(len(p.sweep({'C': range(4, 12)}, replications=4, horizon=6000).frame))"
    )
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
        assert (done.returncode, done.stdout.strip()) == (0, "32"), done.stderr


class Elsewhere(ThreadPoolExecutor):
    """An executor whose workers answer for the package what they are told to."""

    def __init__(self, answer: object) -> None:
        super().__init__(1)
        self.answer = answer
        self.n_tasks = 0

    def submit(self, function: Any, /, *given: Any, **more: Any) -> Future[Any]:
        if function is run_task:
            self.n_tasks += 1
            return super().submit(function, *given, **more)
        return super().submit(self.tell)

    def tell(self) -> object:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("0.0.1", f"a worker of the executor has serq-lab 0.0.1, and this is {VERSION}"),
        (ModuleNotFoundError("No module named 'serq_lab'"), "a worker of the executor has no serq-lab"),
        (ImportError("numpy is broken"), "cannot load serq-lab: ImportError: numpy is broken"),
    ],
)
def test_a_worker_with_another_package_is_named_before_the_work_starts(answer: object, message: str) -> None:
    with Elsewhere(answer) as executor:
        with pytest.raises(RunError) as caught:
            small_sweep(executor)
        assert message in str(caught.value)
        assert f"pip install serq-lab=={VERSION}" in str(caught.value)
        assert executor.n_tasks == 0


def test_a_result_of_another_version_stops_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "run_task", other_version)
    with ThreadPoolExecutor(1) as threads, pytest.raises(RunError, match=r"a worker has serq-lab 0\.0\.1"):
        small_sweep(threads)


def other_version(*given: Any) -> Any:
    return run_task(*given)._replace(version="0.0.1")


WITHOUT = "import sys; sys.modules['serq_lab'] = None"
OLDER = "import serq_lab.version; serq_lab.version.VERSION = '0.0.1'"


@pytest.mark.parametrize(
    ("before", "message"),
    [(WITHOUT, "has no serq-lab"), (OLDER, f"has serq-lab 0.0.1, and this is {VERSION}")],
    ids=["without", "older"],
)
@pytest.mark.usefixtures("packages_on_path")
def test_of_the_workers_of_a_cluster_the_odd_one_is_named(before: str, message: str) -> None:
    with cluster() as client, one_more_worker(client.scheduler.address, before) as name:
        client.wait_for_workers(3, timeout=60)
        with pytest.raises(RunError) as caught:
            small_sweep(client.get_executor())
    assert message in str(caught.value)
    assert f'the worker "tcp://127.0.0.1:{name}"' in str(caught.value)


@contextmanager
def one_more_worker(scheduler: str, before: str) -> Iterator[int]:
    """A Dask worker that has carried out a line of Python first; gives its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    start = f"{before}; from distributed.cli.dask_worker import main; main()"
    address = ["--worker-port", str(port), "--host", "127.0.0.1", "--no-dashboard", "--no-nanny"]
    worker = subprocess.Popen(
        [sys.executable, "-c", start, scheduler, *address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield port
    finally:
        worker.terminate()
        worker.wait(timeout=30)


@pytest.mark.usefixtures("packages_on_path")
def test_a_dead_worker_is_an_error_and_not_a_wait() -> None:
    with processes(1) as spawned:
        spawned.submit(os._exit, 1).exception(timeout=60)
        with pytest.raises(RunError, match=r"worker|executor"):
            small_sweep(spawned)


def test_more_tasks_are_handed_out_only_as_others_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "MOST_WAITING", 3)
    taken: list[int] = []
    program = queue()

    def values() -> Iterator[tuple[int, executors.Task]]:
        for number in range(20):
            taken.append(number)
            yield number, executors.Task(program.source, "queue", (), "", (), number, 60.0, 0.0, False)

    results = executors.run_all(values(), None)
    next(results)
    assert len(taken) <= 5
    assert len(list(results)) == 19


def test_the_cores_of_this_process() -> None:
    assert 1 <= executors.n_cores() <= (os.cpu_count() or 1)
