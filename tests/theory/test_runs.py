"""Runs against closed forms: what the engine measures is what queueing theory computes.

Each model runs with 16 fixed seeds. `agrees` asks three things: each run's mean lies within 3 of its own half-widths;
the mean over the runs lies within the 99.9% interval that the spread of the runs gives, whatever the report says of
itself; and it is off by no more than a given share. (A seed gives the same arrivals to every model, so what is found
leans to one side in all of them together.) The last test shows that a model off by a few percent is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest

import serq_lab
from serq_lab import theory
from serq_lab.pipeline import Program
from serq_lab.report.report import Report

SEEDS = range(1, 17)
STUDENT_999 = 4.073
"""The 99.95% point of Student's t with 15 degrees of freedom."""

QUEUE = """
let Rate = 0.5; let S = 1;
stage server : {stage};
workload {{ arrive poisson(Rate); turn {{ set s = {service}; }} }}
session {{
  turn;
  set t0 = now;
  run server (s);
  observe response = now - t0;
  observe wait = now - t0 - s;
}}
run {{ horizon 50000; warmup 1000; }}
"""
LAWS = {"constant": ("~det(S)", 0.0), "exponential": ("~exp(S)", 1.0), "erlang": ("~erlang(4, S)", 0.25)}
LAWS |= {"hyperexponential": ("~h2(S, 3)", 3.0)}
"""Service laws of mean S: the draw and its squared coefficient of variation."""

CLOSED = """
let Think = 4; let S = 1;
stage think : delay; stage server : fifo;
workload {{ arrive closed({population}); }}
session {{
  loop {{ run think ({think}); set t0 = now; run server (~exp(S)); observe response = now - t0; }}
}}
run {{ horizon 50000; warmup 1000; }}
"""

LOSS = """
let Rate = 3; let S = 1; let Circuits = 4;
pool trunk {{ cap Circuits; }}
stage talk : delay;
workload {{ arrive poisson(Rate); }}
session {{
  observe lost = free(trunk) < 1;
  branch (free(trunk) < 1) {{ end; }}
  hold trunk (1) {{ run talk ({service}); }}
}}
run {{ horizon 20000; warmup 500; }}
"""

Estimates = Sequence[tuple[float, float]]


def queue(stage: str, law: str) -> Program:
    return serq_lab.compile(QUEUE.format(stage=stage, service=LAWS[law][0]))


def runs(program: Program, horizon: float | None = None, **lets: float) -> list[Report]:
    return [program.run(lets, seed=seed, horizon=horizon) for seed in SEEDS]


def estimates(reports: list[Report], name: str) -> Estimates:
    """Mean and half-width of an observation in each run."""
    return [(report.observe[name].mean, report.observe[name].half_width) for report in reports]


def agrees(found: Estimates, expected: float, share: float) -> bool:
    means, half_widths = np.array(found).T
    each = bool((np.abs(means - expected) <= 3.0 * half_widths).all())
    standard_error = float(means.std(ddof=1)) / math.sqrt(len(means))
    return each and abs(means.mean() - expected) <= min(STUDENT_999 * standard_error, share * expected)


def measured(reports: list[Report], field: Callable[[Report], float]) -> float:
    return float(np.mean([field(report) for report in reports]))


@pytest.mark.parametrize("rate", [0.3, 0.7])
def test_mm1(rate: float) -> None:
    found = runs(queue("fifo", "exponential"), Rate=rate)
    assert agrees(estimates(found, "response"), theory.mm1_response(rate, 1.0), 0.01)
    assert agrees(estimates(found, "wait"), theory.mm1_wait(rate, 1.0), 0.015)
    p99 = measured(found, lambda report: report.observe["response"].p99)
    assert p99 == pytest.approx(theory.mm1_response_quantile(0.99, rate, 1.0), rel=0.02)
    number = measured(found, lambda report: report.stage["server"].mean_number)
    assert number == pytest.approx(theory.mm1_number(rate, 1.0), rel=0.015)
    assert measured(found, lambda report: report.stage["server"].utilization) == pytest.approx(rate, rel=0.005)


@pytest.mark.parametrize("servers", [2, 5, 20])
def test_mmc(servers: int) -> None:
    rate = 0.8 * servers
    text = QUEUE.format(stage=f"fifo({servers})", service="~exp(S)")
    text = text.replace("  turn;", f"  turn; observe delayed = queue(server) >= {servers};")
    found = runs(serq_lab.compile(text), horizon=1000 + 100_000 / servers, Rate=rate)
    assert agrees(estimates(found, "wait"), theory.mmc_wait(rate, 1.0, servers), 0.05)
    assert agrees(estimates(found, "response"), theory.mmc_response(rate, 1.0, servers), 0.03)
    assert agrees(estimates(found, "delayed"), theory.erlang_c(servers, rate), 0.02)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("rate", [0.4, 0.75])
def test_mg1(law: str, rate: float) -> None:
    found = runs(queue("fifo", law), Rate=rate)
    assert agrees(estimates(found, "wait"), theory.mg1_wait(rate, 1.0, LAWS[law][1]), 0.05)
    assert agrees(estimates(found, "response"), theory.mg1_response(rate, 1.0, LAWS[law][1]), 0.05)
    wait = measured(found, lambda report: report.stage["server"].mean_wait)
    assert wait == pytest.approx(measured(found, lambda report: report.observe["wait"].mean), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_processor_sharing_knows_the_mean_of_the_service_alone(law: str) -> None:
    found = runs(queue("ps(1)", law), Rate=0.7)
    assert agrees(estimates(found, "response"), theory.mg1_ps_response(0.7, 1.0), 0.03)


@pytest.mark.parametrize("population", [1, 3, 12])
@pytest.mark.parametrize("think", ["~exp(Think)", "~h2(Think, 4)", "~uniform(0, 2 * Think)"])
def test_finite_population(population: int, think: str) -> None:
    found = runs(serq_lab.compile(CLOSED.format(population=population, think=think)))
    assert agrees(estimates(found, "response"), theory.finite_population_response(population, 4.0, 1.0), 0.01)
    throughput = measured(found, lambda report: report.stage["server"].throughput)
    assert throughput == pytest.approx(theory.finite_population_throughput(population, 4.0, 1.0), rel=0.01)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("rate", [1.5, 6.0])
def test_calls_that_find_every_circuit_busy(law: str, rate: float) -> None:
    """The pool is never waited for, as the guard and the hold are of one instant; above a load of 1 it still holds."""
    found = runs(serq_lab.compile(LOSS.format(service=LAWS[law][0])), Rate=rate)
    blocked = theory.erlang_b(4, rate)
    assert agrees(estimates(found, "lost"), blocked, 0.02)
    assert measured(found, lambda report: report.pool["trunk"].mean_queue) == 0.0
    carried = theory.little_number(rate * (1.0 - blocked), 1.0)
    assert measured(found, lambda report: report.pool["trunk"].mean_used) == pytest.approx(carried, rel=0.01)


def test_another_model_does_not_agree() -> None:
    """The comparison is sharp enough to tell neighbours apart: service longer by 1%, its variance less by 10%,
    two servers, a load higher by 3%."""
    found = estimates(runs(queue("fifo", "exponential"), Rate=0.7), "response")
    assert agrees(found, theory.mm1_response(0.7, 1.0), 0.01)
    assert not agrees(found, theory.mm1_response(0.7, 1.01), 0.01)
    assert not agrees(found, theory.mg1_response(0.7, 1.0, 0.9), 0.02)
    assert not agrees(found, theory.mmc_response(1.4, 1.0, 2), 0.02)
    lost = estimates(runs(serq_lab.compile(LOSS.format(service="~exp(S)"))), "lost")
    assert agrees(lost, theory.erlang_b(4, 3.0), 0.02)
    assert not agrees(lost, theory.erlang_b(4, 3.1), 0.02)
