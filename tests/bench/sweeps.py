"""A sweep of the second chapter beside the same with pyserq and with SimPy: ``python -m tests.bench.sweeps [N [S]]``.

Capacities 4 to 20, N replications each (10 by default): ours on threads, pyserq on threads, SimPy on processes, one
after the other. SimPy does S replications (N by default); its time is scaled to N, and said to be.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from statistics import mean
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


def ours(n: int) -> list[float]:
    """Mean admission waits, capacities outside, replications inside."""
    found = serq_lab.load(FILE).sweep({"C": CAPACITIES}, replications=n)
    return [float(wait) for wait in found.frame["observe.admit_wait.mean"]]


def reference(n: int) -> list[float]:
    """The same with pyserq on as many threads, and with the same seeds."""

    def run(point: tuple[int, int]) -> float:
        capacity, replication = point
        seed = replication_seed(1, replication)
        program = pyserq.compile(FILE, sets={"C": str(capacity)}, seed=seed)  # takes a hundredth of the run
        return float(pyserq.run(program).observe("admit_wait").mean)

    with ThreadPoolExecutor(n_cores()) as threads:
        return list(threads.map(run, points(n)))


def with_simpy(n: int) -> list[float]:
    """The same model in SimPy, on as many processes; its draws are Python's."""
    with processes() as executor:
        return list(executor.map(simpy_run, points(n)))


def points(n: int) -> list[tuple[int, int]]:
    return [(capacity, replication) for capacity in CAPACITIES for replication in range(n)]


def simpy_run(point: tuple[int, int]) -> float:
    """One run of the second chapter: a first come first served pool, four servers, horizon 100,000."""
    capacity, replication = point
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
    world.run(until=100_000)
    return mean(waits)


def timed(run: Callable[[int], list[float]], n: int) -> tuple[float, list[float]]:
    start = perf_counter()
    found = run(n)
    return perf_counter() - start, found


def main(n: int, n_simpy: int) -> None:
    """Print the times, their ratios to ours, and the waits at capacity 6, which should agree."""
    ours(1)  # the engine is compiled before
    lines = [("ours", 1.0, *timed(ours, n)), ("pyserq", 1.0, *timed(reference, n))]
    lines.append(("SimPy", n / n_simpy, *timed(with_simpy, n_simpy)))
    print(f"{len(CAPACITIES)} capacities x {n} replications on {n_cores()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"{'':<8}{'seconds':>9}{'ratio':>8}{'wait at 6':>11}")
    for name, scale, seconds, waits in lines:
        per_point = len(waits) // len(CAPACITIES)
        at_six = mean(waits[2 * per_point : 3 * per_point])
        print(f"{name:<8}{scale * seconds:>9.2f}{scale * seconds / lines[0][2]:>8.1f}{at_six:>11.4f}", end="")
        print(f"  (scaled from {per_point})" if scale != 1.0 else "")


if __name__ == "__main__":
    counts = [int(argument) for argument in sys.argv[1:]]
    main(counts[0] if counts else 10, counts[1] if counts[1:] else counts[0] if counts else 10)
