"""How many times as fast as the reference we run: ``python -m tests.bench.ratios [ROUNDS]``.

Runs alternate, so that whatever else the machine does meets both alike; medians are compared.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter

from tests.bench.measure import NAMES, ours, reference


def seconds(run: Callable[[], object]) -> float:
    """The time of one run."""
    start = perf_counter()
    run()
    return perf_counter() - start


def main(n_rounds: int) -> None:
    """Print one line a program: both medians in milliseconds, and their ratio."""
    print(f"{'program':<14}{'pyserq ms':>11}{'ours ms':>10}{'ratio':>8}")
    for name in NAMES:
        run_ours, run_reference = ours(name), reference(name)
        times = [(seconds(run_ours), seconds(run_reference)) for _ in range(n_rounds)]
        mine, theirs = (1000 * median(column) for column in zip(*times, strict=True))
        print(f"{name:<14}{theirs:>11.1f}{mine:>10.1f}{theirs / mine:>8.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
