"""What an expression may read, and where: every cell of the table, in programs."""

from __future__ import annotations

import pytest

from serq_lab.semantics.moments import CONTEXT_VARIABLES, MOMENTS, Moment, where_readable
from tests.semantics.checking import checked, fault, faults, program

PLACES = {
    "a session statement": lambda e: program(f"observe x = {e};"),
    "an `init` or `turn` block": lambda e: program(workload=f"arrive batch(1); init {{ set v = {e}; }}"),
    "a `cache` clause": lambda e: program(f"hold kv (1) {{ }} cache ({e})"),
    "a hold's header": lambda e: program(f"hold kv ({e}) {{ }}"),
    "a `queue by` key": lambda e: program(items=f"pool p {{ queue by ({e}); }}"),
    "an `evict by` key": lambda e: program(items=f"pool p {{ evict by ({e}); }}"),
    "a `spill` clause": lambda e: program(items=f"pool p {{ spill kv via nap ({e}) when (1); }}"),
    "a `ps` capacity": lambda e: program(items=f"stage z : ps({e});"),
    "a step's `budget`": lambda e: program(items=f"stage z : step {{ cost 1; budget {e}; }}"),
    "a step's `chunk`": lambda e: program(items=f"stage z : step {{ cost 1; chunk {e}; }}"),
    "a step's `cost`": lambda e: program(items=f"stage z : step {{ cost {e}; }}"),
    "a step's serving order": lambda e: program(items=f"stage z : step {{ cost 1; serve by ({e}); }}"),
    "a gauge": lambda e: program(items=f"gauge g = {e};"),
    "a renewal gap": lambda e: program(workload=f"arrive renewal({e});"),
    "a constant": lambda e: program(items=f"let v = {e};"),
}


def test_the_table_of_places_is_whole() -> None:
    assert list(PLACES) == [moment.words for moment in MOMENTS]


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: moment.words)
@pytest.mark.parametrize("variable", sorted(CONTEXT_VARIABLES))
def test_context_variables(moment: Moment, variable: str) -> None:
    text = PLACES[moment.words](variable)
    if variable in moment.variables:
        checked(text)
    else:
        (found,) = faults(text)
        assert fault(text) == ("not-readable-here", variable)
        assert moment.words in found.message
        assert found.hint is not None
        assert where_readable(variable) in found.hint


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: moment.words)
@pytest.mark.parametrize(
    ("expression", "right", "place"),
    [
        ("serial", "session", "serial"),
        ("cachedin(kv)", "session", "cachedin(kv)"),
        ("now", "clock", "now"),
        ("used(kv)", "board", "used(kv)"),
        ("est_wait(desk)", "board", "est_wait(desk)"),
        ("price(desk, 1, 2)", "board", "price(desk, 1, 2)"),
        ("~det(1)", "draws", ""),
    ],
)
def test_rights(moment: Moment, expression: str, right: str, place: str) -> None:
    text = PLACES[moment.words](expression)
    if getattr(moment, right):
        checked(text)
        return
    (found,) = faults(text)
    assert moment.words in found.message
    if right == "draws":
        assert fault(text) == ("draw-not-allowed", "det" if moment.words == "a constant" else expression)
        assert moment.why_no_draw in found.message
    else:
        assert fault(text) == ("not-readable-here", place)


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: moment.words)
def test_hidden_attributes(moment: Moment) -> None:
    text = PLACES[moment.words]("secret")
    text = text.replace("session {", "session { set secret = 1; ", 1)
    text = text.replace("workload {", "workload { hidden secret;", 1)
    if moment.hidden:
        checked(text)
    elif moment.session:
        assert fault(text) == ("hidden", "secret")
    else:
        assert faults(text)[0].code in ("not-readable-here", "unknown-name")


@pytest.mark.parametrize("name", ["work", "budget_left"])
def test_gauges_read_no_moving_quantities(name: str) -> None:
    assert fault(program(items=f"gauge g = {name}(engine);")) == ("not-readable-here", f"{name}(engine)")


def test_gauges_know_their_members_before_the_run() -> None:
    assert fault(program(items="gauge g = used(racks[queue(desk)]);")) == (
        "index-not-constant",
        "queue(desk)",
    )


def test_blocksize_is_readable_everywhere_but_in_constants() -> None:
    for words, place in PLACES.items():
        if words == "a constant":
            assert fault(place("blocksize(blocks)")) == ("not-readable-here", "blocksize(blocks)")
        else:
            checked(place("blocksize(blocks)"))


@pytest.mark.parametrize("option", ["budget", "chunk"])
def test_a_step_does_not_read_its_own_budget(option: str) -> None:
    own = f"stage z : step {{ cost budget_left(z); {option} budget_left(z); }}"
    assert fault(program(items=own)) == ("not-readable-here", "budget_left(z)")
    checked(program(items=f"stage z : step {{ cost budget_left(z); {option} budget_left(engine); }}"))


def test_budgets_do_not_read_each_other() -> None:
    items = "stage z : step { cost 1; budget budget_left(y); } stage y : step { cost 1; chunk budget_left(z); }"
    assert [each.code for each in faults(program(items=items))] == ["not-readable-here"] * 2
