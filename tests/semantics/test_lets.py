"""Constants: their order, their values, values from outside, their comments."""

from __future__ import annotations

import math

import pytest

from tests.semantics.checking import checked, fault, faults, program

CHAIN = "let a = 2;  // from 1 to 9\nlet b = 3 * a; /* twice\n and more */\nlet c = a + b; // third"


def test_values_follow_each_other() -> None:
    model = checked(program(items=CHAIN))
    assert model.constants.lets == (2.0, 6.0, 8.0)
    assert [sorted(let.uses) for let in model.lets] == [[], [0], [0, 1]]
    assert [let.span.text for let in model.lets] == ["let a = 2;", "let b = 3 * a;", "let c = a + b;"]


def test_comments_behind_lets() -> None:
    model = checked(program(items=CHAIN + "\n// not this one\nlet d = 1; let e = 2; // the last"))
    assert [let.comment for let in model.lets] == ["from 1 to 9", "twice and more", "third", "", "the last"]


@pytest.mark.parametrize(
    ("items", "code", "place"),
    [
        ("let a = 0 / 0;", "let-nan", "0 / 0"),
        ("let a = b; let b = 1;", "let-order", "b"),
        ("let a = a + 1;", "let-order", "a"),
        ("let a = nowhere;", "unknown-name", "nowhere"),
        ("let a = ~exp(1);", "draw-not-allowed", "exp"),
        ("let a = now;", "not-readable-here", "now"),
        ("let a = 1; let a = 2;", "given-twice", "a"),
        ("let a = sum j in 2.5 (j);", "bad-terms", "sum j in 2.5 (j)"),
    ],
)
def test_refused(items: str, code: str, place: str) -> None:
    assert fault(program(items=items)) == (code, place)


def test_what_rests_on_a_failed_let_is_not_reported() -> None:
    items = "let a = 0 / 0; let b = a; pool p[a] { cap a; } gauge g = used(p[0]) + sum i in a (i);"
    assert [each.code for each in faults(program(items=items))] == ["let-nan"]


def test_infinite_lets_definitions_and_aggregates() -> None:
    items = "def twice(x) = 2 * x; let n = 3; let a = 1 / 0; let b = twice(n) + sum j in n (j);"
    assert checked(program(items=items)).constants.lets == (3.0, math.inf, 9.0)


@pytest.mark.parametrize(
    ("overrides", "values"),
    [
        ({"a": 5}, (5.0, 15.0, 20.0)),
        ({"b": 1.5}, (2.0, 1.5, 3.5)),
        ({"b": "a ^ 3", "a": "1 + 1"}, (2.0, 8.0, 10.0)),
        ({"c": "b > a ? inf : 0"}, (2.0, 6.0, math.inf)),
    ],
)
def test_values_from_outside(overrides: dict[str, float | str], values: tuple[float, ...]) -> None:
    assert checked(program(items=CHAIN), overrides=overrides).constants.lets == values


@pytest.mark.parametrize(
    ("overrides", "code", "place"),
    [
        ({"z": 1}, "unknown-override", ""),
        ({"a": "b"}, "unknown-name", "b"),
        ({"a": "~exp(1)"}, "draw-not-allowed", "exp"),
        ({"a": "f(1)"}, "unknown-function", "f"),
        ({"a": "sum j in 2 (j)"}, "aggregate-outside", "sum j in 2 (j)"),
        ({"a": math.nan}, "let-nan", "NaN"),
        ({"a": "now"}, "not-readable-here", "now"),
    ],
)
def test_values_from_outside_refused(overrides: dict[str, float | str], code: str, place: str) -> None:
    assert fault(program(items=CHAIN), overrides=overrides) == (code, place)


def test_faults_name_the_value_from_outside() -> None:
    items = "let a = 1; let b = 2 * a; pool p { cap b; }"
    (found,) = faults(program(items=items), overrides={"a": -3})
    assert found.span is not None
    assert (found.code, found.span.text) == ("bad-capacity", "b")
    assert '"a" = -3 given from outside' in found.message
    assert [label.text for label in found.labels] == ['"b" is -6']
    (found,) = faults(program(items=items), overrides={"a": "1 +"})
    assert found.span is not None
    assert '"a"' in found.span.source.name


def test_overrides_reach_the_shape_of_the_program() -> None:
    items = "let n = 2; pool p[n] { } gauge g = sum i in n (used(p[i]));"
    model = checked(program(items=items), overrides={"n": 4})
    assert model.pools[-1].size == 4
    assert [each.code for each in faults(program(items=items), overrides={"n": 0})] == [
        "bad-members",
        "bad-terms",
    ]
