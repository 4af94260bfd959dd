"""The value of constant expressions: IEEE arithmetic, and no Python exception."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serq_lab.semantics import model as m
from serq_lab.semantics.expressions import divide, is_constant, lets_read, parts, power, value, walk
from tests.semantics.checking import checked, program

DOUBLES = st.floats(width=64, allow_nan=True, allow_infinity=True) | st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0])


def constant(text: str) -> float:
    """The value of an expression, as a branch's guard would have it: a let may not be NaN."""
    statement = checked(program(f"observe x = {text};", "let one = 1;")).session[0]
    assert isinstance(statement, m.Observe)
    assert is_constant(statement.value)
    return value(statement.value, (1.0,))


def same(a: float, b: float) -> bool:
    return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (math.isnan(a) and math.isnan(b))


@given(DOUBLES, DOUBLES)
def test_division_and_power_are_those_of_the_machine(a: float, b: float) -> None:
    with np.errstate(all="ignore"):
        assert same(divide(a, b), float(np.divide(a, b)))
        assert same(power(a, b), float(np.float_power(a, b)))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("-2 ^ 2", -4.0),
        ("2 ^ -1", 0.5),
        ("2 ^ 3 ^ 2", 512.0),
        ("!0 + 1", 2.0),
        ("10 - 2 - 3", 5.0),
        ("8 / 2 / 2 * 3", 6.0),
        ("1 / 0", math.inf),
        ("-1 / 0", -math.inf),
        ("0 / 0", math.nan),
        ("min(0 / 0, 1)", 1.0),
        ("max(1, 0 / 0)", 1.0),
        ("max(1, 5, 3)", 5.0),
        ("0 / 0 ? 1 : 2", 1.0),
        ("!(0 / 0)", 0.0),
        ("0 / 0 == 0 / 0", 0.0),
        ("0 / 0 != 0 / 0", 1.0),
        ("3 && 2", 1.0),
        ("0 && 1 || 0", 0.0),
        ("0 / 0 || 0", 1.0),
        ("1 < 2", 1.0),
        ("exp(1000)", math.inf),
        ("ln(0)", -math.inf),
        ("ln(-1)", math.nan),
        ("sqrt(-1)", math.nan),
        ("floor(-0.5)", -1.0),
        ("ceil(inf)", math.inf),
        ("abs(-inf)", math.inf),
        ("pow(0, -1)", math.inf),
        ("pow(-0, -1)", -math.inf),
        ("pow(-0, -2)", math.inf),
        ("pow(-8, 1 / 3)", math.nan),
        ("pow(10, 400)", math.inf),
        ("pow(-10, 401)", -math.inf),
        ("1e308 * 10", math.inf),
        ("inf - inf", math.nan),
        ("one + inf", math.inf),
    ],
)
def test_values(text: str, wanted: float) -> None:
    found = constant(text)
    assert found == wanted or (math.isnan(found) and math.isnan(wanted))


def test_signed_zeros() -> None:
    assert math.copysign(1, constant("ceil(-0.5)")) == -1
    assert constant("1 / ceil(-0.5)") == -math.inf


def test_a_long_sum() -> None:
    assert constant("+".join(["1"] * 20_000)) == 20_000.0


def test_parts_and_walk() -> None:
    text = "a + used(racks[b]) * ~exp(serial > 1 ? now : a)"
    statement = checked(program(f"observe x = {text};", "let a = 1; let b = 2;")).session[0]
    assert isinstance(statement, m.Observe)
    assert lets_read(statement.value) == {0, 1}
    kinds = [type(node).__name__ for node in walk(statement.value)]
    assert kinds == [
        *("Chain", "LetValue", "Chain", "Observable", "LetValue", "Draw", "Conditional", "Comparison"),
        *("Attribute", "Constant", "Now", "LetValue"),
    ]
    assert len(parts(statement.value)) == 2
    assert not is_constant(statement.value)
