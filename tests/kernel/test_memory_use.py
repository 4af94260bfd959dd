"""What a run's memory grows with: its samples and the changes of its gauges, and nothing else."""

from __future__ import annotations

from functools import cache

from tests.kernel.running import PEAK, python

PROGRAM = """
pool memory { cap 20; evict lru; }
stage desk : fifo(2);
stage share : ps(2);
stage nap : delay;
workload { arrive renewal(1); }
session {
  hold memory (2) { run desk (1.5); } cache (1);
  run share (1); run nap (1);
  OBSERVE
}
gauge free_desks = OBSERVED;
run { horizon HORIZON; warmup 100; }
"""
MOST_BYTES_A_SAMPLE = 32
SHORT, LONG = 100_000, 400_000

MEASURE = f"""{PEAK}
import serq_lab
print(serq_lab.compile(sys.argv[1]).run().ended, peak())
"""


@cache
def peak(n: int, observe: str = "", observed: str = "1") -> int:
    """The most memory of a process that runs n sessions, in bytes."""
    text = PROGRAM.replace("OBSERVED", observed).replace("OBSERVE", observe).replace("HORIZON", str(n + 110))
    done = python(MEASURE, text)
    assert done.returncode == 0, done.stderr
    ended, n_bytes = map(int, done.stdout.split())
    assert n <= ended <= n + 20
    return n_bytes


def test_a_run_without_observations_does_not_grow_with_the_horizon() -> None:
    assert peak(LONG) - peak(SHORT) < 1_000_000


def test_a_sample_costs_at_most_32_bytes() -> None:
    more = peak(LONG, "observe a = now; observe b = serial;") - peak(SHORT, "observe a = now; observe b = serial;")
    n_samples = 2 * (LONG - SHORT)
    assert 16 * n_samples < more <= MOST_BYTES_A_SAMPLE * n_samples


def test_a_change_of_a_gauge_costs_at_most_32_bytes() -> None:
    """At least one a session."""
    more = peak(LONG, observed="busy(share)") - peak(SHORT, observed="busy(share)")
    assert 16 * (LONG - SHORT) < more <= 2 * MOST_BYTES_A_SAMPLE * (LONG - SHORT)
