"""Checks that need the whole program: stale headers, cycles, what nothing uses."""

from __future__ import annotations

import pytest

from tests.semantics.checking import checked, fault, faults, program, warnings


@pytest.mark.parametrize(
    "session",
    [
        "set a = free(kv); hold kv (a) { }",
        "set a = min(free(blocks), 3) > 1 ? 1 : 2; hold kv (1) reserve (a) { }",
        "set a = queue(desk); hold kv (1) reuse (a) { } cache (1)",
        "set a = est_rho(desk); hold kv (n) at admission (n = a + 1) { }",
        "set a = budget_left(engine); hold kv (1) { hold blocks (a) { } }",
        "set a = 1; branch (serial > 2) { set a = used(kv); } else { set a = free(kv); } hold kv (a) { }",
        "branch (serial > 2) { end; } else { set a = free(kv); } hold kv (a) { }",
        "set a = free(kv); loop { hold kv (a) { } }",
        "hold kv (1) { set a = free(kv); } hold kv (a) { }",
    ],
)
def test_stale_headers(session: str) -> None:
    assert fault(program(session)) == ("stale-header", "a")


@pytest.mark.parametrize(
    "session",
    [
        "set a = free(kv); set a = 2; hold kv (a) { }",
        "set a = now; hold kv (now - a) { }",
        "set a = blocksize(blocks); hold kv (a) { }",
        "set a = free(kv); hold kv (1) { grow kv (a); } cache (a) lease kv (a)",
        "set a = free(kv); hold racks[a] (1) { }",
        "branch (serial > 2) { set a = free(kv); } hold kv (a) { }",
        "branch (serial > 2) { set a = free(kv); end; } hold kv (a) { }",
        "choose a in 3 by (free(racks[a])); hold kv (a) { }",
        "hold kv (a) { } set a = free(kv);",
        "hold kv (1) { set a = free(kv); end; } hold kv (a) { }",
    ],
)
def test_headers_that_are_not_surely_stale(session: str) -> None:
    checked(program(session))


def test_the_fault_shows_where_it_was_set() -> None:
    (found,) = faults(program("set a = free(kv); hold kv (a) { }"))
    assert [label.span.text for label in found.labels] == ["set a = free(kv);"]
    assert "free(kv)" in found.message


@pytest.mark.parametrize(
    ("items", "places"),
    [
        ("pool p { spill p via nap (1) when (1); }", ["p"]),
        (
            "pool p { spill q via nap (1) when (1); } pool q { spill r via nap (1) when (1); }"
            "pool r { spill q via nap (1) when (1); }",
            ["r", "q"],
        ),
    ],
)
def test_spills_do_not_come_back(items: str, places: list[str]) -> None:
    found = faults(program(items=items))
    assert [each.code for each in found] == ["spill-cycle"] * len(places)
    assert [each.span.text for each in found if each.span is not None] == places


def test_unused_things_are_warnings() -> None:
    items = "let a = 1; let b = a; pool p { } stage s : ps(1); def f(x) = x + c; let c = 2;"
    assert warnings(program(items=items)) == [
        ("unused-let", "b"),
        ("unused-pool", "p"),
        ("unused-stage", "s"),
    ]
    used = "let n = 2; let m = 1; pool p[n] { } stage s : ps(1); gauge g = used(p[m]) + sum i in n (busy(s));"
    assert warnings(program(items=used)) == []


def test_nobody_arrives_and_nobody_stays() -> None:
    assert [each.code for each in checked("workload { arrive batch(1); } run { horizon 1; }").warnings] == [
        "no-session"
    ]
    assert [each.code for each in checked("session { end; } run { horizon 1; }").warnings] == ["no-arrivals"]


def test_a_turn_that_is_never_taken() -> None:
    workload = "workload { arrive batch(1); turn { set n = 3; } }"
    silent = checked(f"{workload} session {{ observe a = n; }} run {{ horizon 1; }}")
    assert [(each.code, each.span.text if each.span else "") for each in silent.warnings] == [
        ("no-turn", "turn { set n = 3; }")
    ]
    assert checked(f"{workload} session {{ turn; observe a = n; }} run {{ horizon 1; }}").warnings == ()
