"""Names, calls, draws, targets and indices in expressions: what they become, and what refuses them."""

from __future__ import annotations

import pytest

from serq_lab.semantics import model as m
from tests.semantics.checking import BASE, checked, fault, faults, program, warnings


def observed(expression: str, items: str = "") -> m.Expression:
    statement = checked(program(f"observe x = {expression};", items)).session[0]
    assert isinstance(statement, m.Observe)
    return statement.value


def test_names_become_rows() -> None:
    value = observed("a + b * serial", "let a = 1; let b = 2;")
    assert isinstance(value, m.Chain)
    assert isinstance(value.operands[0], m.LetValue)
    assert value.operands[0].let == 0
    product = value.operands[1]
    assert isinstance(product, m.Chain)
    assert product.operators == ("*",)
    assert isinstance(product.operands[1], m.Attribute)
    assert product.operands[1].attribute == m.BUILT_IN_ATTRIBUTES.index("serial")


def test_power_is_a_function_and_inf_a_number() -> None:
    value = observed("2 ^ inf")
    assert isinstance(value, m.Function)
    assert value.name == "pow"
    assert isinstance(value.arguments[1], m.Constant)
    assert value.arguments[1].value == float("inf")


def test_observables_know_their_member() -> None:
    value = observed("price(gates[1], 2, 3)")
    assert isinstance(value, m.Observable)
    assert value.target.family == 3
    assert value.target.index == m.Constant(value.span, 1.0)
    assert len(value.arguments) == 2


@pytest.mark.parametrize(
    ("expression", "code", "place"),
    [
        ("speed", "unknown-name", "speed"),
        ("kv", "not-a-value", "kv"),
        ("desk", "not-a-value", "desk"),
        ("min", "not-a-value", "min"),
        ("log(2)", "unknown-function", "log"),
        ("abs(1, 2)", "argument-count", "abs(1, 2)"),
        ("min(1)", "argument-count", "min(1)"),
        ("pow(1)", "argument-count", "pow(1)"),
        ("queue()", "argument-count", "queue()"),
        ("price(desk, 1)", "argument-count", "price(desk, 1)"),
        ("~normal(0, 1)", "unknown-distribution", "normal"),
        ("~uniform(1)", "argument-count", "uniform(1)"),
        ("queue(kv)", "not-a-stage", "kv"),
        ("free(desk)", "not-a-pool", "desk"),
        ("free(1 + 1)", "not-a-pool", "1 + 1"),
        ("used(tank)", "unknown-pool", "tank"),
        ("busy(chair)", "unknown-stage", "chair"),
        ("used(racks)", "array-without-index", "racks"),
        ("used(kv[0])", "index-on-single", "kv[0]"),
        ("used(racks[3])", "bad-index", "racks[3]"),
        ("used(racks[-1])", "bad-index", "racks[-1]"),
        ("used(racks[0.5])", "bad-index", "racks[0.5]"),
        ("blocksize(kv)", "no-block", "blocksize(kv)"),
        ("budget_left(desk)", "not-a-step", "budget_left(desk)"),
        ("~exp(-1)", "bad-mean", "-1"),
        ("~exp(0 / 0)", "bad-mean", "0 / 0"),
        ("~erlang(2, -1)", "bad-mean", "-1"),
        ("~erlang(1e12, 1)", "bad-phases", "1e12"),
        ("~h2(-1, 2)", "bad-mean", "-1"),
        ("~bernoulli(1.01)", "bad-probability", "1.01"),
        ("~det(inf - inf)", "bad-number", "inf - inf"),
    ],
)
def test_refused(expression: str, code: str, place: str) -> None:
    assert fault(program(f"observe x = {expression};")) == (code, place)


@pytest.mark.parametrize(
    ("expression", "part"),
    [
        ("true", "write `1`"),
        ("time", "the time is `now`"),
        ("log(2)", "`ln(x)`"),
        ("~gauss(0, 1)", "`~erlang(phases, mean)`, `~h2(mean, cv2)`"),
        ("min(1)", "`min` takes at least 2 arguments, and 1 was given"),
        ("abs()", "`abs` takes 1 argument, and none were given"),
        ("tokens", "read `tokens` in a step's `cost`"),
        ("decoders", "in a step's `budget`, `chunk`, `cost` or serving order"),
        ("queue(1 + 1)", "`queue` reads a stage"),
    ],
)
def test_the_words_of_a_fault(expression: str, part: str) -> None:
    (found,) = faults(program(f"observe x = {expression};"))
    assert part in f"{found.message}\n{found.hint}"


@pytest.mark.parametrize(
    "expression",
    ["max(1, 2, 3)", "~uniform(5, 2)", "~h2(1, 0)", "~erlang(0, 1)", "~exp(inf)", "blocksize(blocks)"],
)
def test_accepted(expression: str) -> None:
    checked(program(f"observe x = {expression};"))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("observe x = seriel;", "serial"),
        ("observe x = Now;", "now"),
        ("observe x = queu(desk);", "queue"),
        ("observe x = busy(desc);", "desk"),
        ("observe x = used(KV);", "kv"),
        ("observe x = ~expo(1);", "exp"),
        ("run nup (1);", "nap"),
        ("set rounds = 1; observe x = round;", "rounds"),
    ],
)
def test_near_miss_names_are_offered(written: str, meant: str) -> None:
    (found,) = faults(program(written))
    assert found.hint is not None
    assert found.hint.startswith("did you mean")
    assert meant in found.hint


def test_only_names_valid_at_the_place_are_offered() -> None:
    (found,) = faults(program(items="stage ward : ps(serialx);"))
    assert found.code == "unknown-name"
    assert found.hint is not None
    assert "serial" not in found.hint.replace("serialx", "")


def test_a_name_is_reported_once() -> None:
    found = faults(program("run nap (speed); run nap (speed * speed); run van (1); run van (2);"))
    assert [each.code for each in found] == ["unknown-name", "unknown-stage"]


def test_all_faults_stand_in_order_of_place() -> None:
    text = program("observe x = nowhere; run desk prefill (1); end; run nap (1);", "let a = 0 / 0;")
    found = faults(text)
    assert [each.code for each in found] == ["let-nan", "unknown-name", "mode-on-other-stage", "after-end"]
    places = [each.span.start for each in found if each.span is not None]
    assert places == sorted(places)


def test_the_message_of_an_index_names_the_members() -> None:
    (found,) = faults(program("run gates[7] (1);"))
    assert "is 7" in found.message
    assert found.hint == "members are numbered from 0 to 2"


def test_names_of_a_trace_without_a_trace_are_a_warning() -> None:
    assert warnings(program("observe x = out;")) == [("no-trace", "out")]
    assert warnings(program("set out = 2; observe x = out;")) == []
    assert warnings(program("turn; observe x = out;", workload='arrive batch(1); trace "t.csv";')) == []


def test_indices_stay_expressions_in_a_run() -> None:
    run = checked(program("set i = 1; run gates[i] (1);")).session[1]
    assert isinstance(run, m.Run)
    assert isinstance(run.stages[0].index, m.Attribute)


def test_constant_indices_belong_to_the_structure() -> None:
    model = checked(program("run gates[n] (1);", "let n = 2;"))
    assert model.constants.structure == (2.0,)
    assert fault(program("run gates[n] (1);", "let n = 3;")) == ("bad-index", "gates[n]")


def test_deep_nesting_after_writing_out_is_a_fault() -> None:
    chain = "def f0(x) = x;" + "".join(f"def f{i}(x) = -f{i - 1}(x);" for i in range(1, 300))
    assert fault(program("observe a = f299(1);", chain))[0] == "nested-too-deeply"


def test_base_is_sound() -> None:
    assert checked(BASE + "run { horizon 1; }").constants.caps == (9.0, 9.0, 9.0)
