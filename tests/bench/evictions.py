"""What an eviction costs with few and with many entries in the cache: ``python -m tests.bench.evictions [ROUNDS]``.

Each session leaves one entry behind; once the cache is full each evicts one. The time to fill the cache, that of a
shorter run, is taken off. The limit is 1.5 times. Runs take turns; medians are compared.
"""

from __future__ import annotations

import sys
from statistics import median
from time import perf_counter

import serq_lab

PROGRAM = """
let entries = 1000;
pool kv { cap 16 * entries; block 16; evict lru; }
workload { arrive renewal(1); }
session { hold kv (16) { } cache (16) end; }
run { horizon 1000; }
"""
SIZES = (1_000, 10_000, 100_000)
N_EVICTIONS = 400_000


def seconds(program: serq_lab.pipeline.Program, entries: int, n_sessions: int) -> float:
    """The time of a run in which so many sessions leave an entry."""
    start = perf_counter()
    report = program.run({"entries": entries}, horizon=n_sessions)
    used = perf_counter() - start
    assert report.pool["kv"].evicted_entries == n_sessions - entries
    return used


def nanoseconds_each(program: serq_lab.pipeline.Program, entries: int) -> float:
    """The time of a session that evicts an entry, in nanoseconds."""
    filled = seconds(program, entries, entries)
    return 1e9 * (seconds(program, entries, entries + N_EVICTIONS) - filled) / N_EVICTIONS


def main(n_rounds: int) -> None:
    """Print one line a size: the time of a session that evicts, and its ratio to that with the fewest entries."""
    program = serq_lab.compile(PROGRAM)
    program.run()
    times = [[nanoseconds_each(program, entries) for entries in SIZES] for _ in range(n_rounds)]
    medians = [median(column) for column in zip(*times, strict=True)]
    print(f"{'entries':>9}{'ns each':>9}{'ratio':>8}")
    for entries, each in zip(SIZES, medians, strict=True):
        print(f"{entries:>9}{each:>9.1f}{each / medians[0]:>8.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
