"""The 95% intervals of the report hold what they promise: of 100 seeds about 95 cover the closed form.

Batch means give a fair interval only if the 20 batches are nearly independent and their means nearly normal, that is
if a batch is long against the time in which the queue forgets. An M/M/1 forgets like exp(-t / T) with
T = S / (1 - sqrt(load))^2 (P. M. Morse, Stochastic properties of waiting lines, Operations Research 3, 1955), which at
a load of 0.5 is 11.7 services. A batch of the run here lasts 5,000, over 400 times as long; with batches of 2,000 the
interval of the response still covers in 93% of many seeds only. The number of hits out of 100 at 95% is binomial with
standard deviation 2.2, so an honest interval falls into 90 to 99 with probability 0.97, and the seeds are fixed.
"""

from __future__ import annotations

import pytest

import serq_lab
from serq_lab import theory
from serq_lab.report.report import Report
from serq_lab.report.rows import Gauge, Observation

PROGRAM = serq_lab.compile("""
let Rate = 0.5;
stage server : fifo;
workload { arrive poisson(Rate); }
session { set t0 = now; run server (~exp(1)); observe response = now - t0; }
gauge number = queue(server);
run { horizon 100500; warmup 500; }
""")
SEEDS = range(1, 101)
RESPONSE, NUMBER = theory.mm1_response(0.5, 1.0), theory.mm1_number(0.5, 1.0)

Row = Observation | Gauge


def n_covered(rows: list[Row], expected: float) -> int:
    return sum(abs(row.mean - expected) <= row.half_width for row in rows)


@pytest.fixture(scope="module")
def reports() -> list[Report]:
    return [PROGRAM.run(seed=seed) for seed in SEEDS]


def test_the_interval_of_an_observation(reports: list[Report]) -> None:
    rows: list[Row] = [report.observe["response"] for report in reports]
    assert 90 <= n_covered(rows, RESPONSE) <= 99
    # They are narrow, too: an interval that covers because it is wide says nothing.
    assert max(row.half_width for row in rows) < 0.05 * RESPONSE


def test_the_interval_of_a_gauge(reports: list[Report]) -> None:
    rows: list[Row] = [report.gauge["number"] for report in reports]
    assert 90 <= n_covered(rows, NUMBER) <= 99
    assert max(row.half_width for row in rows) < 0.05 * NUMBER


def test_short_batches_promise_too_much() -> None:
    """Batches of two T: the same count sees that the interval is too narrow then."""
    rows: list[Row] = [PROGRAM.run(seed=seed, horizon=1000).observe["response"] for seed in SEEDS]
    assert n_covered(rows, RESPONSE) < 90
