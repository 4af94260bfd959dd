"""The logarithm of every uniform: right to the last bit or the one beside it, whoever computes it."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serq_lab.kernel.draws.logarithm import ArrayOperations, logarithm

MOST_ERROR = 0.54  # units in the last place
LEAST = 2.0**-53  # a uniform is a multiple of it below 1


def ln(x: float) -> float:
    return float(logarithm(ArrayOperations(), np.array([x]))[0])


def error(x: float) -> float:
    """In units in the last place of the result."""
    with localcontext() as context:
        context.prec = 40
        exact = Decimal(x).ln()
        return abs(float((Decimal(ln(x)) - exact) / Decimal(math.ulp(float(exact)))))


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 2**53 - 1).map(lambda k: k * LEAST) | st.integers(1, 10**6).map(lambda k: 1.0 - k * LEAST))
def test_it_is_right_to_the_last_bit_or_nearly(x: float) -> None:
    assert error(x) < MOST_ERROR


@pytest.mark.parametrize(
    "x", [LEAST, 2 * LEAST, 0.5, 0.25, 1 - LEAST, math.sqrt(0.5), math.nextafter(math.sqrt(0.5), 0), 2.0**-52, 0.75]
)
def test_where_the_exponent_turns(x: float) -> None:
    assert error(x) < MOST_ERROR


def test_of_one_it_is_nothing() -> None:
    assert ln(1.0) == 0.0


def test_it_is_the_library_s_to_one_unit_for_a_million() -> None:
    x = 1.0 - np.random.default_rng(5).random(1_000_000)
    ours, theirs = logarithm(ArrayOperations(), x), np.log(x)
    assert (np.abs(ours - theirs) <= np.spacing(np.abs(theirs))).all()
    assert (ours != theirs).mean() < 0.1
