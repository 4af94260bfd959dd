"""Where statements may stand, and what they need around them."""

from __future__ import annotations

import pytest

from serq_lab.semantics import model as m
from tests.semantics.checking import checked, fault, faults, program, warnings

FLOWS = "share maxmin; stage a : ps(1); stage b : ps(2);"


@pytest.mark.parametrize(
    ("session", "code", "place"),
    [
        ("grow kv (1);", "outside-hold", "grow kv (1);"),
        ("hold blocks (1) { grow kv (1); }", "outside-hold", "grow kv (1);"),
        ("load kv (1);", "outside-hold", "load kv (1);"),
        ("run engine decode (1) growing kv;", "outside-hold", "run engine decode (1) growing kv;"),
        ("release kv;", "release-nothing", "release kv;"),
        ("run engine (1);", "mode-missing", "run engine (1);"),
        ("run nap decode (1);", "mode-on-other-stage", "run nap decode (1);"),
        ("hold kv (1) { run nap (1) growing kv; }", "mode-on-other-stage", "run nap (1) growing kv;"),
        ("end; observe x = 1;", "after-end", "observe x = 1;"),
        ("branch (serial) { end; set x = 1; }", "after-end", "set x = 1;"),
        ("loop { }", "loop-without-time", "loop { }"),
        ("loop { set a = a + 1; turn; }", "loop-without-time", "loop { set a = a + 1; turn; }"),
        ("branch (0.3) { }", "bad-guard", "0.3"),
        ("branch (2) { }", "bad-guard", "2"),
        ("branch (0 / 0) { }", "bad-guard", "0 / 0"),
        ("branch with (2) { }", "bad-probability", "2"),
        ("choose j in 1e9 by (j);", "bad-choices", "1e9"),
        ("hold kv (1) reuse (1) { }", "reuse-without-cache", "1"),
        ("hold kv (1) { observe x = cached; }", "cached-without-cache", "cached"),
        ("hold kv (1), kv (2) { }", "given-twice", "kv (2)"),
        ("hold racks[1] (1), racks[1] (2) { }", "given-twice", "racks[1] (2)"),
        ("hold kv (1) { } lease blocks (1)", "lease-not-held", "blocks"),
        ("hold racks[1] (1) { } lease racks[2] (1)", "lease-not-held", "racks[2]"),
        ("hold desk (1) { }", "not-a-pool", "desk"),
        ("hold kv (1) { grow tank (1); }", "unknown-pool", "tank"),
        ("drop tank;", "unknown-pool", "tank"),
        ("release tank;", "unknown-pool", "tank"),
        ("hold tank (1) { }", "unknown-pool", "tank"),
        ("hold kv (1) { } lease tank (1)", "unknown-pool", "tank"),
        ("hold kv (1) { run engine decode (1) growing tank; }", "unknown-pool", "tank"),
        ("run kv (1);", "not-a-stage", "kv"),
    ],
)
def test_refused(session: str, code: str, place: str) -> None:
    found = faults(program(session))[0]
    assert found.span is not None
    assert (found.code, found.span.text) == (code, place)
    assert found.hint


@pytest.mark.parametrize(
    "session",
    [
        "hold kv (1) { grow kv (1); load kv (1); release kv; run engine decode (1) growing kv; }",
        "hold kv (1) { hold blocks (1) { grow kv (1); } }",
        "hold kv (1) { } lease kv (5) run nap (1); release kv;",
        "hold racks[serial] (1), racks[1] (1) { } cache (1) lease racks[serial] (inf)",
        "hold kv (1) { } cache (cached) observe x = cached;",
        "observe x = cached; hold kv (cached) { }",
        "hold kv (1) { hold blocks (1) { observe x = cached; } cache (1) }",
        "branch (0) { } branch (1) { } branch with (0.3) { }",
        "loop { branch (serial > 3) { end; } }",
        "loop { hold kv (1) { } }",
        "set z = 1; branch (z) { end; } else { end; }",
        "turn; end;",
    ],
)
def test_accepted(session: str) -> None:
    checked(program(session))


def test_the_innermost_hold_decides_about_cached() -> None:
    inner = "hold kv (1) { hold blocks (cached) { observe x = cached; } } cache (1)"
    assert [each.code for each in faults(program(inner))] == ["cached-without-cache"]
    behind = "hold kv (1) { hold blocks (1) { } cache (1) observe x = cached; }"
    assert fault(program(behind)) == ("cached-without-cache", "cached")


@pytest.mark.parametrize("word", ["init", "turn"])
@pytest.mark.parametrize("statement", ["run nap (1);", "turn;", "end;", "branch (1) { }", "choose j in 2 by (j);"])
def test_workload_blocks_set_and_observe_only(word: str, statement: str) -> None:
    text = program(workload=f"arrive batch(1); {word} {{ set a = 1; {statement} observe b = a; }}")
    assert fault(text) == ("workload-statement", statement)


@pytest.mark.parametrize(
    ("session", "code"),
    [
        ("hold tank (1) { grow kv (1); run engine decode (1) growing kv; release kv; }", "unknown-pool"),
        ("hold kv (1) { } lease tank (1) release kv;", "unknown-pool"),
        ("hold kv (1) { observe a = cached; observe b = cached; grow kv (cached); }", "cached-without-cache"),
        ("hold kv (1) reuse (1) { observe a = cached; }", "reuse-without-cache"),
    ],
)
def test_one_cause_is_one_fault(session: str, code: str) -> None:
    assert fault(program(session))[0] == code


def test_a_drawn_branch_is_a_draw() -> None:
    branch = checked(program("branch with (0.3) { end; } else { turn; }")).session[0]
    assert isinstance(branch, m.Branch)
    assert isinstance(branch.guard, m.Draw)
    assert branch.guard.distribution == "bernoulli"
    assert [type(each) for each in branch.otherwise] == [m.Turn]


def test_attributes_and_observations_are_in_order_of_appearance() -> None:
    workload = "arrive batch(1); init { set a = 1; observe first = a; } turn { set b = 1; observe second = 1; }"
    model = checked(program("observe third = 1; choose c in 2 by (c); observe first = 2;", workload=workload))
    assert model.attributes == (*m.BUILT_IN_ATTRIBUTES, "a", "b", "c")
    assert model.observations == ("first", "second", "third")
    last = model.session[-1]
    assert isinstance(last, m.Observe)
    assert last.observation == 0


def test_flows() -> None:
    model = checked(program("run a, b (1);", FLOWS))
    assert [stage.name for stage in model.stages if stage.is_flow] == ["a", "b"]
    assert model.share == "maxmin"
    assert fault(program("run a, b decode (1);", FLOWS))[0] == "mode-on-flow"
    assert fault(program("run a, a (1);", FLOWS)) == ("given-twice", "a")


@pytest.mark.parametrize(
    ("items", "code", "place"),
    [
        ("stage a : ps(1); stage b : ps(1);", "share-missing", "run a, b (1);"),
        ("share maxmin; stage a : ps(1); stage b : fifo;", "flow-stage", "run a, b (1);"),
        ("share maxmin; stage a : ps(1); stage b : ps(present);", "flow-stage", "run a, b (1);"),
        ("share maxmin; stage a : ps(1); stage b : ps(0);", "bad-flow-capacity", "0"),
    ],
)
def test_flows_refused(items: str, code: str, place: str) -> None:
    assert fault(program("run a, b (1);", items)) == (code, place)


def test_a_flow_over_an_unknown_stage_is_one_fault() -> None:
    assert fault(program("run a, c (1);", FLOWS)) == ("unknown-stage", "c")


def test_a_share_needs_a_flow() -> None:
    assert fault(program("run a (1);", FLOWS)) == ("share-unused", "share maxmin;")


def test_warnings() -> None:
    assert warnings(program("hold kv (~exp(1)) reserve (~det(2)) { }")) == [("draw-in-header", "~exp(1)")]
    assert warnings(program("loop { run nap (1); } observe x = 1;")) == [("never-reached", "observe x = 1;")]
    both = "branch (serial > 1) { end; } else { loop { run nap (1); } } observe x = 1;"
    assert warnings(program(both)) == [("never-reached", "observe x = 1;")]
