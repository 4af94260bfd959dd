"""The closed forms against values known otherwise, against each other at their limits, and on bad input."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serq_lab import theory

LOADS = st.floats(0.01, 0.97)
MEANS = st.floats(1e-3, 1e3)
SERVERS = st.integers(1, 40)


def near(value: float) -> object:
    return pytest.approx(value, rel=1e-9)


def test_values_that_can_be_computed_by_hand() -> None:
    assert theory.mm1_wait(0.8, 1.0) == near(4.0)
    assert theory.mm1_response(0.8, 1.0) == near(5.0)
    assert theory.mm1_number(0.8, 1.0) == near(4.0)
    assert theory.mm1_response_quantile(0.5, 0.5, 2.0 / 3.0) == near(math.log(2.0))
    assert theory.erlang_b(2, 1.0) == near(1 / 5)  # (1/2) / (1 + 1 + 1/2)
    assert theory.erlang_c(2, 1.0) == near(1 / 3)  # (1/2) 2 / (1 + 1 + (1/2) 2)
    assert theory.mmc_wait(1.0, 1.0, 2) == near(1 / 3)
    assert theory.mg1_wait(0.5, 1.0, 0.0) == near(0.5)
    assert theory.mg1_ps_response(0.8, 1.0) == near(5.0)
    assert theory.finite_population_throughput(2, 1.0, 1.0) == near(4 / 5)  # numbers 0, 1, 2 weigh 1, 2, 2
    assert theory.little_number(2.0, 3.5) == 7.0


def test_entries_of_published_tables() -> None:
    """The tables of traffic engineers: 10 erlangs at 10 circuits lose 21.5%; 18 circuits carry them with 0.7%."""
    assert theory.erlang_b(10, 10.0) == pytest.approx(0.21458, abs=5e-6)
    assert theory.erlang_b(18, 10.0) == pytest.approx(0.00714, abs=5e-6)


@given(SERVERS, st.fractions(Fraction(1, 100), 60, max_denominator=100))
def test_erlang_b_is_the_sum_it_stands_for(servers: int, load: Fraction) -> None:
    terms = [load**k / math.factorial(k) for k in range(servers + 1)]
    assert theory.erlang_b(servers, float(load)) == near(float(terms[-1] / sum(terms)))


@given(SERVERS, st.fractions(Fraction(1, 100), Fraction(97, 100), max_denominator=100))
def test_erlang_c_is_the_sum_it_stands_for(servers: int, utilization: Fraction) -> None:
    load = utilization * servers
    last = load**servers / math.factorial(servers) / (1 - utilization)
    total = last + sum(load**k / math.factorial(k) for k in range(servers))
    assert theory.erlang_c(servers, float(load)) == pytest.approx(float(last / total), rel=1e-7)


@given(LOADS, MEANS)
def test_special_cases_are_the_mm1(load: float, mean_service: float) -> None:
    rate = load / mean_service
    wait, response = theory.mm1_wait(rate, mean_service), theory.mm1_response(rate, mean_service)
    assert theory.mmc_wait(rate, mean_service, 1) == near(wait)
    assert theory.mmc_response(rate, mean_service, 1) == near(response)
    assert theory.mg1_wait(rate, mean_service, 1.0) == near(wait)
    assert theory.mg1_response(rate, mean_service, 1.0) == near(response)
    assert theory.mg1_ps_response(rate, mean_service) == near(response)
    assert theory.mm1_number(rate, mean_service) == near(theory.little_number(rate, response))


@given(LOADS, MEANS, st.floats(0.001, 0.999))
def test_the_quantile_is_where_the_exponential_has_it(load: float, mean_service: float, p: float) -> None:
    rate = load / mean_service
    quantile = theory.mm1_response_quantile(p, rate, mean_service)
    assert 1.0 - math.exp(-quantile / theory.mm1_response(rate, mean_service)) == pytest.approx(p, abs=1e-12)


@given(LOADS, MEANS, st.floats(0.0, 10.0))
def test_constant_service_halves_the_wait_and_variance_adds_to_it(load: float, mean_service: float, cv2: float) -> None:
    rate = load / mean_service
    constant = theory.mg1_wait(rate, mean_service, 0.0)
    assert 2.0 * constant == near(theory.mm1_wait(rate, mean_service))
    assert theory.mg1_wait(rate, mean_service, cv2) == near(constant * (1.0 + cv2))


@given(LOADS, MEANS, st.integers(1, 30))
def test_one_fast_server_beats_many_slow_ones_but_not_in_the_queue(load: float, mean_service: float, c: int) -> None:
    rate = c * load / mean_service
    assert theory.mm1_response(rate, mean_service / c) <= theory.mmc_response(rate, mean_service, c) * (1 + 1e-9)
    assert theory.mmc_wait(rate, mean_service, c) <= theory.mm1_wait(rate, mean_service / c) * (1 + 1e-9)


@given(st.integers(1, 30), st.floats(0.0, 100.0), MEANS)
def test_a_finite_population_has_the_law_of_its_birth_and_death(n: int, think: float, service: float) -> None:
    """Kleinrock I, section 3.8: k at the server weighs N! / (N - k)! (S / Z)^k; here times Z^N, for Z = 0."""
    weights = [math.factorial(n) / math.factorial(n - k) * service**k * think ** (n - k) for k in range(n + 1)]
    is_busy = 1.0 - weights[0] / sum(weights)
    throughput = theory.finite_population_throughput(n, think, service)
    assert throughput * service == pytest.approx(is_busy, rel=1e-7, abs=1e-9)
    number = sum(k * weight for k, weight in enumerate(weights)) / sum(weights)
    at_server = theory.little_number(throughput, theory.finite_population_response(n, think, service))
    assert at_server == pytest.approx(number, rel=1e-6)


def test_a_large_population_that_thinks_long_is_an_mm1() -> None:
    response = theory.finite_population_response(100_000, 100_000 / 0.8, 1.0)
    assert response == pytest.approx(theory.mm1_response(0.8, 1.0), rel=1e-3)


Call = Callable[[], float]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.mm1_wait(2.0, 0.5), r"the load is 1 .* take an arrival_rate below 2"),
        (lambda: theory.mm1_number(0.9, 1.5), r"the load is 1\.35"),
        (lambda: theory.mm1_response(-0.5, 1.0), r"arrival_rate is -0\.5"),
        (lambda: theory.mm1_response(math.nan, 1.0), "arrival_rate is nan"),
        (lambda: theory.mm1_response(math.inf, 1.0), "arrival_rate is inf"),
        (lambda: theory.mm1_wait(0.5, 0.0), r"mean_service is 0\.0: give a finite number above 0"),
        (lambda: theory.mg1_wait(0.5, math.nan, 1.0), "mean_service is nan"),
        (lambda: theory.mg1_wait(0.5, 1.0, -1.0), r"service_cv2 is -1\.0"),
        (lambda: theory.mg1_response(1.0, 1.0, 1.0), "the load is 1 "),
        (lambda: theory.mg1_ps_response(1.2, 1.0), r"the load is 1\.2"),
        (lambda: theory.mm1_response_quantile(99, 0.5, 1.0), r"p is 99, .* write 0\.99"),
        (lambda: theory.mm1_response_quantile(math.nan, 0.5, 1.0), "p is nan"),
        (lambda: theory.erlang_b(0, 1.0), "servers is 0: give a whole number, at least 1"),
        (lambda: theory.erlang_b(2.5, 1.0), r"servers is 2\.5"),  # type: ignore[arg-type]
        (lambda: theory.erlang_b(2, -1.0), r"offered_load is -1\.0"),
        (lambda: theory.erlang_c(2, 2.0), "the offered load is 2 for 2 servers"),
        (lambda: theory.mmc_wait(3.0, 1.0, 3), "the offered load is 3 for 3 servers"),
        (lambda: theory.mmc_wait(3.0, -1.0, 3), r"mean_service is -1\.0"),
        (lambda: theory.mmc_response(-1.0, -1.0, 3), r"arrival_rate is -1\.0"),
        (lambda: theory.finite_population_throughput(0, 1.0, 1.0), "population is 0"),
        (lambda: theory.finite_population_response(math.nan, 1.0, 1.0), "population is nan"),  # type: ignore[arg-type]
        (lambda: theory.finite_population_response(3, -1.0, 1.0), r"mean_think is -1\.0"),
        (lambda: theory.little_number(math.nan, 1.0), "throughput is nan"),
        (lambda: theory.little_number(1.0, math.inf), "mean_stay is inf"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_value(call: Call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
