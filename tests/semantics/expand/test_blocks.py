"""Statement definitions, sides, serving forms and names bound at admission, written out."""

from __future__ import annotations

import pytest

from serq_lab.semantics import model as m
from tests.semantics.checking import BASE, checked, fault, faults, program

LINKS = "stage link : ps(1); stage prefill : fifo; stage tool : delay; stage decode[2] : fifo;"


def block(session: str, items: str = "") -> m.Block:
    return checked(program(session, items)).session


@pytest.mark.parametrize(
    ("session", "items", "plain"),
    [
        (
            "f(nap, 2);",
            "def f(s, w) { run s (w); observe x = queue(s); }",
            "run nap (2); observe x = queue(nap);",
        ),
        ("g(1);", "def f(x) { run nap (x); } def g(y) { f(y); f(y + 1); }", "run nap (1); run nap (1 + 1);"),
        (
            "f(kv);",
            "def f(p) { hold p (1) { grow p (2); drop p; } }",
            "hold kv (1) { grow kv (2); drop kv; }",
        ),
        ("f(racks[1]);", "def f(p) { hold p (1) { } }", "hold racks[1] (1) { }"),
        ("f(racks);", "def f(p) { hold p[serial] (1) { } }", "hold racks[serial] (1) { }"),
        ("f();", "def f() { }", ""),
        ("branch (1) { f(); }", "def f() { end; }", "branch (1) { end; }"),
    ],
)
def test_statement_definitions(session: str, items: str, plain: str) -> None:
    assert block(session, items) == block(plain)


@pytest.mark.parametrize(
    ("form", "plain"),
    [
        ("prefill serial;", "run prefill (serial);"),
        ("prefill on engine 3;", "run engine prefill (3);"),
        (
            "hold kv (1) { decode on engine 3 growing kv; }",
            "hold kv (1) { run engine decode (3) growing kv; }",
        ),
        ("decode[1] 2;", "run decode[1] (2);"),
        ("tool 2;", "run tool (2);"),
        ("tool on nap 2;", "run nap (2);"),
        (
            "hold kv (1) { transfer (2) from kv to kv (3); }",
            "hold kv (1) { run link (2); load kv (3); release kv; }",
        ),
        (
            "hold kv (1) { transfer on nap 2 from kv to kv (3); }",
            "hold kv (1) { run nap (2); load kv (3); release kv; }",
        ),
    ],
)
def test_serving_forms(form: str, plain: str) -> None:
    assert block(form, LINKS) == block(plain, LINKS)


def test_serving_forms_mean_the_only_step_stage() -> None:
    assert block("prefill 3; decode 2;") == block("run engine prefill (3); run engine decode (2);")


@pytest.mark.parametrize(
    ("session", "items", "code", "place"),
    [
        ("tool 3;", "", "form-without-stage", "tool 3;"),
        ("decode 3;", "stage second : step { cost 1; }", "form-ambiguous", "decode 3;"),
        ("decode 3;", "stage decode[2] : fifo;", "array-without-index", "decode 3;"),
        ("decode on chair 3;", "", "unknown-stage", "chair"),
        (
            "hold kv (1) { transfer 1 from kv to kv (1); }",
            "stage link : fifo; stage transfer : fifo;",
            "form-ambiguous",
            "transfer 1 from kv to kv (1);",
        ),
        ("f(1);", "", "unknown-statement", "f"),
        ("f(1);", "def f(x) = x;", "definition-kind", "f"),
        ("f(1);", "def f(x) { f(x); }", "definition-recursive", "f"),
        ("f();", "def f(x) { run nap (x); }", "argument-count", "f"),
        ("f(a);", "let a = 1; def f(x) { set x = 1; }", "parameter-assigned", "x"),
        ("f(1);", "def f(x) { observe x = 1; }", "parameter-assigned", "x"),
        ("f(1);", "def f(x) { choose x in 2 by (1); }", "parameter-assigned", "x"),
        ("f(~exp(1));", "def f(x) { run nap (x); run nap (x); }", "drawn-twice", "f"),
    ],
)
def test_refused(session: str, items: str, code: str, place: str) -> None:
    assert fault(program(session, items)) == (code, place)


def test_a_name_that_is_no_statement_is_offered() -> None:
    (found,) = faults(program("slep(1);", "def sleep(x) { run nap (x); }"))
    assert found.hint is not None
    assert "sleep" in found.hint


def test_statements_are_bounded() -> None:
    items = "def a() {" + "drop kv;" * 100 + "} def b() {" + "a();" * 100 + "} def c() {" + "b();" * 100 + "}"
    assert fault(program("c();", items)) == ("expansion-too-large", "c")
    empty = "def a() { } def b() {" + "a();" * 1000 + "} def c() {" + "b();" * 1000 + "}"
    assert fault(program("c();", empty)) == ("expansion-too-large", "c")


# ------------------------------------------------------------- named at admission


def test_names_at_admission_are_replaced_in_the_header() -> None:
    named = "hold kv (b) reserve (a) reuse (a) at admission (a = free(kv) / 2, b = a + 1) { } cache (a) lease kv (b)"
    plain = (
        "hold kv (free(kv) / 2 + 1) reserve (free(kv) / 2) reuse (free(kv) / 2) { } cache (free(kv) / 2)"
        " lease kv (free(kv) / 2 + 1)"
    )
    assert block(named) == block(plain)


def test_names_that_the_block_reads_are_set_at_its_top() -> None:
    model = checked(program("set s = 2; hold kv (n) at admission (n = s + 1, k = 1) { observe x = n; }"))
    hold = model.session[1]
    assert isinstance(hold, m.Hold)
    first, second = hold.body
    assert isinstance(first, m.Set)
    assert isinstance(second, m.Observe)
    assert model.attributes[first.attribute] == "n"
    assert second.value == m.Attribute(second.span, first.attribute)
    assert first.value == hold.claims[0].units
    assert "k" not in model.attributes


def test_names_inside_each_other_are_apart() -> None:
    inner_hold = "hold kv (n) at admission (n = 3) { observe x = n; }"
    session = f"hold kv (n) at admission (n = 2) {{ {inner_hold} observe y = n; }}"
    model = checked(program(session))
    outer = model.session[0]
    assert isinstance(outer, m.Hold)
    inner = outer.body[1]
    assert isinstance(inner, m.Hold)
    rows = [each.attribute for each in (outer.body[0], inner.body[0]) if isinstance(each, m.Set)]
    assert len(set(rows)) == 2
    assert [model.attributes[row] for row in rows] == ["n", "n"]
    last = outer.body[2]
    assert isinstance(last, m.Observe)
    assert last.value == m.Attribute(last.span, rows[0])


@pytest.mark.parametrize(
    ("session", "code", "place"),
    [
        ("hold kv (n) at admission (n = ~exp(1)) { }", "draw-not-allowed", ")"),
        ("hold kv (n) at admission (n = f()) { }", "draw-not-allowed", ")"),
        ("hold kv (n) at admission (n = free(kv)) { observe x = n; }", "admission-name-live", "n"),
        ("hold kv (n) at admission (n = cached) { observe x = n; } cache (1)", "admission-name-live", "n"),
        ("hold kv (m) at admission (n = free(kv), m = n) { observe x = m; }", "admission-name-live", "m"),
        ("hold kv (n) at admission (n = 1) { } observe x = n;", "admission-name-outside", "n"),
        ("hold kv (n) at admission (n = 1) { observe x = n; } observe y = n;", "admission-name-outside", "n"),
        ("hold racks[n] (1) at admission (n = 1) { }", "admission-name-outside", "n"),
        ("hold kv (m) at admission (m = n, n = 1) { }", "admission-name-outside", "n"),
        ("hold kv (1) at admission (n = 1, n = 2) { }", "given-twice", "n"),
        ("hold kv (1) at admission (n = nowhere) { }", "unknown-name", "nowhere"),
        ("hold kv (1) at admission (n = tokens) { }", "not-readable-here", "tokens"),
        ("g(1);", "parameter-assigned", "n"),
    ],
)
def test_names_at_admission_refused(session: str, code: str, place: str) -> None:
    items = "def f() = ~exp(1); def g(n) { hold kv (n) at admission (n = 1) { } }"
    assert fault(program(session, items)) == (code, place)


def test_what_is_the_same_in_the_block_may_be_read_there() -> None:
    checked(program("hold blocks (n) at admission (n = now + blocksize(blocks) + computed) { observe x = n; }"))


# ------------------------------------------------------------------------- sides


def sided(client: str, server: str | None, items: str = "", top: str = "") -> str:
    workload = f"workload {{ arrive batch(1); {client} }}"
    block = "" if server is None else f"server {{ {server} }}"
    return f"{BASE}{items}{workload} {block} {top} run {{ horizon 10; }}"


def test_the_server_stands_for_each_request() -> None:
    client = "session { turn; request; branch (serial) { request; } end; }"
    server = "set a = 1; run nap (a);"
    plain = "turn; set a = 1; run nap (a); branch (serial) { set a = 1; run nap (a); } end;"
    assert checked(sided(client, server)).session == block(plain)


@pytest.mark.parametrize(
    ("client", "server", "top", "code", "place"),
    [
        ("session { request; }", None, "", "request-without-server", "request;"),
        ("session { end; }", None, "", "session-without-server", "session { end; }"),
        ("session { end; }", "", "", "server-without-request", "server {  }"),
        ("", "", "", "server-without-session", "server {  }"),
        ("", "", "session { end; }", "server-without-session", "server {  }"),
        ("session { request; }", "turn;", "", "not-in-server", "turn;"),
        ("session { request; }", "branch (serial) { end; }", "", "not-in-server", "end;"),
        ("session { request; }", "request;", "", "not-in-server", "request;"),
        ("session { request; }", "f();", "", "not-in-server", "turn;"),
        ("session { f(); } ", None, "session { end; }", "session-twice", "session { f(); }"),
        ("", None, "session { request; }", "request-without-server", "request;"),
    ],
)
def test_sides_refused(client: str, server: str | None, top: str, code: str, place: str) -> None:
    items = "def f() { turn; }"
    assert fault(sided(client, server, items, top)) == (code, place)
