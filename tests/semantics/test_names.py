"""One name has one meaning."""

from __future__ import annotations

import pytest

from tests.semantics.checking import checked, fault, faults, program


@pytest.mark.parametrize(
    ("session", "items", "place"),
    [
        ("set a = 1;", "let a = 1;", "a"),
        ("choose a in 2 by (a);", "let a = 1;", "a"),
        ("set kv = 1;", "", "kv"),
        ("set desk = 1;", "", "desk"),
        ("end;", "let kv = 1;", "kv"),
        ("end;", "stage kv : fifo;", "kv"),
        ("end;", "let tokens = 1;", "tokens"),
        ("set size = 1;", "", "size"),
        ("set now = 1;", "", "now"),
        ("end;", "let inf = 1;", "inf"),
        ("end;", "pool waiting { }", "waiting"),
        ("end;", "let serial = 1;", "serial"),
        ("end;", "pool cached { }", "cached"),
        ("end;", "let a = 1; def a(x) = x;", "a"),
        ("end;", "def kv(x) = x;", "kv"),
        ("observe x = sum j in 2 (j);", "let j = 1;", "j"),
        ("set j = 1; observe x = sum j in 2 (j);", "", "j"),
        ("observe x = sum kv in 2 (kv);", "", "kv"),
        ("hold kv (n) at admission (n = 1) { observe x = n; }", "let n = 1;", "n"),
        ("set n = 1; hold kv (n) at admission (n = 1) { observe x = n; }", "", "n"),
    ],
)
def test_clashes(session: str, items: str, place: str) -> None:
    assert fault(program(session, items)) == ("name-clash", place)


def test_the_later_place_is_the_fault_and_the_first_a_label() -> None:
    (found,) = faults("let a = 1;\nsession { set a = 2; }\nrun { horizon 1; }")
    assert found.span is not None
    assert (found.span.line, [label.span.line for label in found.labels]) == (2, [1])


@pytest.mark.parametrize(
    ("session", "items"),
    [
        ("set serial = 1;", ""),
        ("set a = 1; set a = 2; observe a = a;", ""),
        ("observe x = min + min(1, 2);", "let min = 1;"),
        ("set used = used(kv);", ""),
        ("set f = f(1);", "def f(x) = x;"),
        ("set out = 1;", ""),
        ("end;", "pool out { }"),
        ("observe kv = 1;", "gauge desk = used(kv);"),
    ],
)
def test_no_clashes(session: str, items: str) -> None:
    checked(program(session, items))


def test_attributes_of_a_trace_are_taken_where_there_is_one() -> None:
    trace = 'arrive none; trace "t.csv";'
    assert fault(program(items="pool out { }", workload=trace)) == ("name-clash", "out")
