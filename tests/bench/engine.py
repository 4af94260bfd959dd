"""The programs of chapters 5 and 6 beside the reference: ``python -m tests.bench.engine [ROUNDS]``.

The chapters' tables come along. A run of the reference takes 4 to 40 seconds, so there is one round by default. Runs
alternate, and medians are compared, of the processor's time: both engines run in one thread.
"""

from __future__ import annotations

import sys
from statistics import median
from time import process_time
from typing import Any

import pyserq

import serq_lab
from tests.bench.measure import PROGRAMS

POINTS: tuple[tuple[str, dict[str, float]], ...] = (
    ("05-engine", {}),
    ("06-cliff", {"Lambda": 1.5, "blocks": 4000}),
    ("06-cliff", {"Lambda": 1.8, "blocks": 4000}),
    ("06-cliff", {"Lambda": 1.9, "blocks": 4000}),
    ("06-cliff", {"Lambda": 2.0, "blocks": 4000}),
    ("06-cliff", {"Lambda": 2.0, "blocks": 40000}),
)


def ours(name: str, lets: dict[str, float]) -> tuple[float, Any]:
    """Seconds of a run, and its report."""
    program = serq_lab.load(PROGRAMS / f"{name}.sq")
    program.run(lets, horizon=2001)  # compiled, and the kernel warm
    start = process_time()
    report = program.run(lets)
    return process_time() - start, report


def reference(name: str, lets: dict[str, float]) -> float:
    """The seconds of the same run with pyserq."""
    program = pyserq.compile(str(PROGRAMS / f"{name}.sq"), sets={let: str(value) for let, value in lets.items()})
    start = process_time()
    pyserq.run(program)
    return process_time() - start


def main(n_rounds: int) -> None:
    """Print one line a point: what it reports, both medians in seconds, and their ratio."""
    print(
        f"{'program':<11}{'Lambda':>7}{'blocks':>8}{'hit':>8}{'ttft':>9}{'preempt':>9}{'stuck':>7}{'util':>7}", end=""
    )
    print(f"{'pyserq s':>10}{'ours s':>8}{'ratio':>7}")
    for name, lets in POINTS:
        rounds = [(ours(name, lets), reference(name, lets)) for _ in range(n_rounds)]
        mine, theirs = median(time for (time, _), _ in rounds), median(time for _, time in rounds)
        report = rounds[0][0][1]
        kv, values = report.pool["kv"], {**serq_lab.load(PROGRAMS / f"{name}.sq").lets, **lets}
        print(f"{name:<11}{values['Lambda']:>7}{values['blocks']:>8.0f}{report.observe['hit'].mean:>8.4f}", end="")
        print(f"{report.observe['ttft'].mean:>9.4f}{kv.preemptions:>9}{kv.stuck:>7}", end="")
        print(f"{report.stage['engine'].utilization:>7.3f}{theirs:>10.2f}{mine:>8.2f}{theirs / mine:>7.1f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
