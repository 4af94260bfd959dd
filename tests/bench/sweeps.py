"""A sweep of the second chapter beside the same with pyserq and with SimPy: ``python -m tests.bench.sweeps [N [S]]``.

Capacities 4 to 20, N replications each (10 by default): ours on threads, pyserq on threads, SimPy on processes. They
take turns, one replication of all capacities at a time, so that whatever else the machine does meets all alike. SimPy
does the first S replications only (N by default); ratios are of median times of a replication.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from itertools import repeat
from statistics import mean, median
from time import perf_counter

import pyserq
import simpy

import serq_lab
from serq_lab.experiments import processes
from serq_lab.experiments.executors import n_cores
from serq_lab.experiments.task import replication_seed
from tests.bench.measure import PROGRAMS

CAPACITIES = range(4, 21)
FILE = str(PROGRAMS / "02-memory.sq")
PROGRAM = serq_lab.load(FILE)


def ours(replication: int) -> list[float]:
    """Mean admission waits of all capacities."""
    found = PROGRAM.sweep({"C": CAPACITIES}, replications=1, seed=replication_seed(1, replication))
    return [float(wait) for wait in found.frame["observe.admit_wait.mean"]]


def reference(replication: int) -> list[float]:
    """The same with pyserq on as many threads, and with the same seeds."""
    seed = replication_seed(1, replication)

    def run(capacity: int) -> float:
        program = pyserq.compile(FILE, sets={"C": str(capacity)}, seed=seed)  # takes a thousandth of the run
        return float(pyserq.run(program).observe("admit_wait").mean)

    with ThreadPoolExecutor(n_cores()) as threads:
        return list(threads.map(run, CAPACITIES))


def with_simpy(executor: Executor) -> Callable[[int], list[float]]:
    """The same model in SimPy, on as many processes, which have started before; its draws are Python's."""
    list(executor.map(simpy_run, CAPACITIES, repeat(0), repeat(6000)))
    return lambda replication: list(executor.map(simpy_run, CAPACITIES, repeat(replication)))


def simpy_run(capacity: int, replication: int, horizon: float = 100_000) -> float:
    """One run of the second chapter: a first come first served pool, four servers."""
    draw = random.Random(replication)
    world = simpy.Environment()
    pool = simpy.Container(world, capacity, init=capacity)
    server = simpy.Resource(world, 4)
    waits: list[float] = []

    def session(units: int, service: float):  # type: ignore[no-untyped-def]
        came = world.now
        yield pool.get(units)
        if world.now >= 5000:
            waits.append(world.now - came)
        with server.request() as turn:
            yield turn
            yield world.timeout(service)
        yield pool.put(units)

    def arrivals():  # type: ignore[no-untyped-def]
        while True:
            yield world.timeout(draw.expovariate(0.8))
            units, service = draw.randint(2, 5), draw.expovariate(1.0)
            if units <= capacity:
                world.process(session(units, service))

    world.process(arrivals())
    world.run(until=horizon)
    return mean(waits)


def timed(run: Callable[[int], list[float]], replication: int) -> tuple[float, float]:
    """Seconds for a replication of all capacities, and the wait at capacity 6, which should agree."""
    start = perf_counter()
    waits = run(replication)
    return perf_counter() - start, waits[CAPACITIES.index(6)]


def main(n: int, n_simpy: int) -> None:
    """Print median times of a replication, their ratios to ours, and mean waits at capacity 6."""
    with processes() as executor:
        runs = {"ours": ours, "pyserq": reference, "SimPy": with_simpy(executor)}
        ours(0)  # the engine is compiled before
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
        for replication in range(n):
            for name, run in runs.items():
                if name != "SimPy" or replication < n_simpy:
                    found[name].append(timed(run, replication))
    print(f"{len(CAPACITIES)} capacities x {n} replications on {n_cores()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"{'':<8}{'runs':>6}{'s each':>9}{'ratio':>8}{'wait at 6':>11}")
    unit = median(seconds for seconds, _ in found["ours"])
    for name, measured in found.items():
        seconds, wait = median(each for each, _ in measured), mean(each for _, each in measured)
        print(f"{name:<8}{len(measured):>6}{seconds:>9.3f}{seconds / unit:>8.1f}{wait:>11.4f}")


if __name__ == "__main__":
    counts = [int(argument) for argument in sys.argv[1:]]
    main(counts[0] if counts else 10, counts[1] if counts[1:] else counts[0] if counts else 10)
