"""Definitions of expressions and aggregates, written out: what they become, and what refuses them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serq_lab.semantics import model as m
from serq_lab.semantics.expressions import value
from tests.semantics.checking import checked, fault, faults, program


def written_out(expression: str, items: str = "") -> m.Expression:
    statement = checked(program(f"observe x = {expression};", items)).session[-1]
    assert isinstance(statement, m.Observe)
    return statement.value


@pytest.mark.parametrize(
    ("expression", "items", "plain"),
    [
        ("f(serial)", "def f(x) = x + 1;", "serial + 1"),
        ("f(f(serial))", "def f(x) = x + 1;", "(serial + 1) + 1"),
        ("f(1 + 2) * 2", "def f(x) = x * x;", "((1 + 2) * (1 + 2)) * 2"),
        ("g(2)", "def f(x) = -x; def g(y) = f(y) - f(1);", "-2 - -1"),
        ("f()", "def f() = 42;", "42"),
        ("f(kv)", "def f(p) = free(p) - used(p);", "free(kv) - used(kv)"),
        ("f(racks[serial])", "def f(p) = free(p);", "free(racks[serial])"),
        ("f(racks, 2)", "def f(p, i) = free(p[i]);", "free(racks[2])"),
        ("f(engine)", "def f(s) = price(s, 1, budget_left(s));", "price(engine, 1, budget_left(engine))"),
        ("f(10)", "let a = 3; def f(a) = a + 1;", "10 + 1"),
        ("sum j in 3 (j * serial)", "", "0 * serial + 1 * serial + 2 * serial"),
        ("max j in 2 (used(racks[j]))", "", "max(used(racks[0]), used(racks[1]))"),
        ("min j in 1 (j + serial)", "", "0 + serial"),
        ("sum j in 2 (sum j in 2 (j))", "", "(0 + 1) + (0 + 1)"),
        ("sum j in 2 (sum k in (j + 1) (k))", "", "0 + (0 + 1)"),
        ("f(2)", "def f(n) = sum j in n (j);", "0 + 1"),
        ("sum j in 2 (f(j))", "def f(x) = x * x;", "0 * 0 + 1 * 1"),
        ("f(serial)", "def g(x, y) = x - y; def f(y) = g(y, 1);", "serial - 1"),
    ],
)
def test_written_out(expression: str, items: str, plain: str) -> None:
    assert written_out(expression, items) == written_out(plain, "let a = 3;" * ("let a" in items))


def test_arguments_keep_the_meaning_of_their_place() -> None:
    items = "def f(x) = sum j in 2 (x * 10 + j);"
    assert written_out("sum j in 2 (f(j))", items) == written_out(
        "((0 * 10 + 0) + (0 * 10 + 1)) + ((1 * 10 + 0) + (1 * 10 + 1))"
    )


@pytest.mark.parametrize(
    ("expression", "items", "code", "place"),
    [
        ("f(1, 2)", "def f(x) = x;", "argument-count", "f"),
        ("f(1)", "def f() = 1;", "argument-count", "f"),
        ("f(1)", "def f(x) = x > 0 ? f(x - 1) : 0;", "definition-recursive", "f"),
        ("f(1)", "def f(x) = g(x); def g(x) = x;", "definition-order", "g"),
        ("f(1)", "def f(x) = x; def f(y) = y;", "given-twice", "f"),
        ("f(1, 1)", "def f(x, x) = x;", "given-twice", "x"),
        ("1", "def floor(x) = x;", "name-clash", "floor"),
        ("f(1)", "def f(x) { run nap (x); }", "definition-kind", "f"),
        ("f", "def f(x) = x;", "not-a-value", "f"),
        ("f(~exp(1))", "def f(x) = x * x;", "drawn-twice", "f"),
        ("f(~exp(1))", "def f(x) = serial ? x : x + 1;", "drawn-twice", "f"),
        ("f(~exp(1))", "def f(x) = sum j in 2 (x);", "drawn-twice", "f"),
        ("f(g(1))", "def g(x) = ~exp(x); def f(x) = x + x;", "drawn-twice", "f"),
        ("f(2)", "def f(p) = free(p);", "not-a-pool", "2"),
        ("f(kv)", "def f(x) = x + 1;", "not-a-value", "kv"),
        ("f(racks[0])", "def f(x) = x + 1;", "not-a-value", "racks[0]"),
        ("f(racks[0])", "def f(p) = free(p[1]);", "not-a-family", "p[1]"),
        ("f(1 + 1)", "def f(p) = free(p[1]);", "not-a-family", "p[1]"),
        ("f(2)", "def f(j) = sum j in 2 (j);", "parameter-assigned", "j"),
        ("sum j in 0 (j)", "", "bad-terms", "sum j in 0 (j)"),
        ("sum j in 2.5 (j)", "", "bad-terms", "sum j in 2.5 (j)"),
        ("sum j in (serial) (j)", "", "not-readable-here", "(serial)"),
        ("sum j in size (j)", "", "not-readable-here", "size"),
    ],
)
def test_refused(expression: str, items: str, code: str, place: str) -> None:
    assert fault(program(f"observe x = {expression};", items)) == (code, place)


@pytest.mark.parametrize(
    ("expression", "items"),
    [
        ("f(~exp(1))", "def f(x) = 1;"),
        ("f(~exp(1))", "def f(x) = 2 * x;"),
        ("f(g(~exp(1)))", "def g(x) = 1; def f(x) = x + x;"),
        ("1", "def f(x) = nowhere + f(x);"),
    ],
)
def test_accepted(expression: str, items: str) -> None:
    checked(program(f"observe x = {expression};", items))


def test_terms_are_counted_over_the_whole_program() -> None:
    assert fault(program("observe x = sum j in 4097 (j);"))[0] == "bad-terms"
    checked(program("observe x = sum j in 4096 (j);"))
    text = program("observe x = sum j in 2100 (j); observe y = max j in 2100 (j);")
    assert fault(text) == ("too-many-terms", "max j in 2100 (j)")
    assert fault(program("observe x = sum j in 64 (sum k in 64 (k));"))[0] == "too-many-terms"
    checked(program("observe x = sum j in 63 (sum k in 64 (k));"))


@pytest.mark.parametrize(
    "items",
    [
        "def f0(x) = x + x;" + "".join(f"def f{i}(x) = f{i - 1}(x) + f{i - 1}(x);" for i in range(1, 60)),
        "def f0(x) = x + x;" + "".join(f"def f{i}(x) = f{i - 1}(f{i - 1}(x));" for i in range(1, 60)),
    ],
)
def test_writing_out_is_bounded(items: str) -> None:
    code, place = fault(program("observe x = f59(serial);", items))
    assert (code, place) in (("expansion-too-large", "f59"), ("nested-too-deeply", "x"))


def test_arguments_inside_arguments_are_bounded() -> None:
    items = "def f(x) = -(-x);"
    assert fault(program("observe a = " + "f(" * 90 + "1" + ")" * 90 + ";", items))[0] == "nested-too-deeply"
    checked(program("observe a = " + "f(" * 40 + "1" + ")" * 40 + ";", items))


def test_a_fault_in_a_definition_shows_where_it_is_used() -> None:
    (found,) = faults(program("observe x = f(1) + f(2);", "def f(x) = x + nowhere;"))
    assert found.span is not None
    assert found.span.text == "nowhere"
    assert [(label.span.text, label.text) for label in found.labels] == [("f", '"f" is used here')]


@given(st.integers(0, 5), st.integers(0, 5), st.sampled_from(["+", "-", "*", "/"]))
def test_definitions_and_plain_text_have_the_same_value(a: int, b: int, sign: str) -> None:
    defined = written_out(f"f({a}, g({b}))", f"def g(x) = x + 1; def f(x, y) = x {sign} y;")
    plain = written_out(f"{a} {sign} ({b} + 1)")
    assert repr(value(defined, ())) == repr(value(plain, ()))


def test_bodies_from_outside() -> None:
    text = program("observe x = f(3);", "def f(x) = x; def s(x) { run nap (x); }")
    model = checked(text, definitions={"f": "x * x - 1"})
    statement = model.session[0]
    assert isinstance(statement, m.Observe)
    assert value(statement.value, ()) == 8.0
    assert fault(text, definitions={"g": "x"}) == ("unknown-definition", "")
    assert fault(text, definitions={"s": "x"}) == ("bad-definition-body", "")
    assert fault(text, definitions={"f": "{ run nap (x); }"}) == ("bad-definition-body", "")
    (found,) = faults(text, definitions={"f": "x + y"})
    assert found.span is not None
    assert (found.code, found.span.text) == ("unknown-name", "y")
    assert '"f"' in found.span.source.name or "`f`" in found.span.source.name
    (found,) = faults(text, definitions={"f": "x +"})
    assert found.span is not None
    assert "f" in found.span.source.name
