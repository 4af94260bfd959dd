"""Where the runs of a sweep take place: on threads here, or on any executor of `concurrent.futures`.

In come tasks one by one, out go results as they finish, in any order; `sweep.py` puts them back in theirs. A run
holds no GIL, so threads use all cores; processes and clusters are for many machines.
"""

from __future__ import annotations

import multiprocessing
import os
import pkgutil
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Event
from typing import Any, TypeVar

from serq_lab.diagnostics.diagnostic import Diagnostic
from serq_lab.diagnostics.errors import InternalError, RunError
from serq_lab.experiments.task import Result, Task, run_task
from serq_lab.version import VERSION

MOST_WAITING = 1024  # tasks handed out and not yet back: enough for a cluster, and no more with more points
SECONDS_TO_INTERRUPT = 0.5
VERSION_AT = "serq_lab.version:VERSION"

Key = TypeVar("Key")


def processes(n: int | None = None) -> ProcessPoolExecutor:
    """An executor of `n` new processes on this machine, one a core by default; safe to start from a notebook."""
    return ProcessPoolExecutor(n or n_cores(), mp_context=multiprocessing.get_context("spawn"))


def n_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_all(tasks: Iterable[tuple[Key, Task]], executor: Executor | None) -> Iterator[tuple[Key, Result]]:
    """Run tasks, each known by a key; give key and result of each as it finishes.

    Parameters
    ----------
    tasks : iterable of (key, Task)
        Read as there is room, so that a long sweep takes no more memory than a short one.
    executor : Executor, optional
        Threads on the cores of this machine by default. One that is given stays open.

    Raises
    ------
    RunError
        A worker died, lacks the package or has another version of it, or reads other files.
    """
    if executor is not None:
        require_same_version(executor)
        yield from _hand_out(tasks, executor, None)
        return
    with _threads() as (threads, stop):
        yield from _hand_out(tasks, threads, stop)


@contextmanager
def _threads() -> Iterator[tuple[Executor, Event]]:
    """Threads of our own; when the sweep is abandoned, so are the runs that are under way."""
    stop = Event()
    with ThreadPoolExecutor(n_cores(), thread_name_prefix="serq-sweep") as threads:
        try:
            yield threads, stop
        finally:
            stop.set()


def _run_until(stop: Event, task: Task) -> Result:
    def look_up(share: float) -> None:
        if stop.is_set():
            raise CancelledError

    return run_task(task, look_up)


def _hand_out(
    tasks: Iterable[tuple[Key, Task]], executor: Executor, stop: Event | None
) -> Iterator[tuple[Key, Result]]:
    finished: SimpleQueue[Future[Result]] = SimpleQueue()
    waiting: dict[Future[Result], tuple[Key, Task]] = {}
    source = iter(tasks)
    try:
        while True:
            while len(waiting) < MOST_WAITING and (following := next(source, None)) is not None:
                future = _submit(executor, following[1], stop)
                waiting[future] = following
                future.add_done_callback(finished.put)
            if not waiting:
                return
            try:
                future = finished.get(timeout=SECONDS_TO_INTERRUPT)
            except Empty:  # time to hear an interrupt, on every system
                continue
            key, task = waiting.pop(future)
            yield key, _result_of(future, task)
    finally:
        for future in waiting:
            future.cancel()


def _submit(executor: Executor, task: Task, stop: Event | None) -> Future[Result]:
    try:
        return executor.submit(run_task, task) if stop is None else executor.submit(_run_until, stop, task)
    except RuntimeError as fault:  # closed, or broken by a dead worker
        raise _worker_fault(f"the executor takes no more tasks: {fault}", "give the sweep a new one") from fault


def _result_of(future: Future[Result], task: Task) -> Result:
    try:
        result = future.result()
    except (InternalError, RunError):
        raise
    except Exception as fault:
        point = ", ".join(f"{name} = {value:g}" for name, value in task.lets)
        raise _worker_fault(
            f"a worker failed at {point} with seed {task.seed}: {type(fault).__name__}: {fault}",
            "run the sweep again; with `resume=` a file, it keeps what is finished",
        ) from fault
    if result.version != VERSION:
        raise _version_fault("a worker", result.version)
    return result


def require_same_version(executor: Executor) -> None:
    """Ask the workers for their version of the package before any work starts.

    Every worker of a Dask cluster is asked. Other executors cannot say which workers they have: one of them is asked
    here, and every result carries the version that made it. The question is put in words of the standard library, so
    that a worker without the package can answer it too.
    """
    if type(executor).__module__.partition(".")[0] == "distributed":
        client: Any = executor._client  # type: ignore[attr-defined]  # an executor has no other way to its workers
        answers: dict[str, object] = client.run(pkgutil.resolve_name, VERSION_AT, on_error="return")
        if not answers:
            raise _worker_fault("the Dask cluster has no workers", "start some, as in `dask worker ADDRESS`")
    else:
        try:
            answers = {"of the executor": executor.submit(pkgutil.resolve_name, VERSION_AT).result()}
        except Exception as fault:
            answers = {"of the executor": fault}
    for worker, answer in sorted(answers.items()):
        if answer != VERSION:
            raise _version_fault(f'the worker "{worker}"' if "//" in worker else f"a worker {worker}", answer)


def _version_fault(worker: str, answer: object) -> RunError:
    if isinstance(answer, str):
        message, verb = f"{worker} has serq-lab {answer}, and this is {VERSION}", "upgrade it"
    elif isinstance(answer, ModuleNotFoundError):
        message, verb = f"{worker} has no serq-lab", "install it"
    else:
        message, verb = f"{worker} cannot load serq-lab: {type(answer).__name__}: {answer}", "install it"
    return _worker_fault(message, f"{verb} there: `pip install serq-lab=={VERSION}`")


def _worker_fault(message: str, hint: str) -> RunError:
    return RunError([Diagnostic("worker", message, None, hint=hint)])
