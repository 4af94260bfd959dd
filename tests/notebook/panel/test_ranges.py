"""The values of sliders: from hints, from use, and as asked for."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import serq_lab
from serq_lab.notebook.cell_error import UsageError
from serq_lab.notebook.panel.ranges import asked_values, between, handy_step, hinted, lets_in_use, thinned, usual_values
from tests.notebook.programs import MEMORY, SMALL

FRAME = (
    "stage s : fifo{servers};\nworkload {{ arrive {arrive}; }}\nsession {{ {body} }}\nrun {{ horizon {horizon}; }}\n"
)


def values_of(
    let: str, *, servers: str = "", arrive: str = "batch(1)", body: str = "end;", horizon: str = "10"
) -> tuple[float, ...]:
    text = let + "\n" + FRAME.format(servers=servers, arrive=arrive, body=body, horizon=horizon)
    model = serq_lab.compile(text).model
    return usual_values(model, 0, {}, model.constants.lets[0])


def test_chapter_two() -> None:
    model = serq_lab.load(MEMORY).model
    rate, service, capacity = (usual_values(model, row, {}, model.constants.lets[row]) for row in range(3))
    assert (rate[0], rate[-1], service[0], service[-1]) == (0.2, 3.2, 0.25, 4.0)
    assert 0.8 in rate
    assert 1.0 in service
    assert capacity == tuple(range(3, 41))


def test_a_hint_in_the_comment_wins() -> None:
    model = serq_lab.compile(SMALL).model
    assert usual_values(model, 0, {}, 4.0) == (2, 3, 4, 5, 6, 7, 8, 9)
    values = values_of("let W = 0.5; // a pause [0.1..0.9]", body="run s (W);")
    assert values == tuple(round(0.1 + 0.02 * k, 2) for k in range(41))


@pytest.mark.parametrize(
    ("comment", "wanted"),
    [
        ("memory units [4..20]", (4, 20)),
        ("[ 1e-3 .. 2.5 ]", (1e-3, 2.5)),
        ("[-3..-1] degrees", (-3, -1)),
        ("no [hint]", None),
        ("[5..2]", None),
        ("[1..]", None),
        ("[1..e]", None),
        ("", None),
    ],
)
def test_hints(comment: str, wanted: tuple[float, float] | None) -> None:
    assert hinted(comment) == wanted


def test_a_count_stays_whole_and_at_least_one() -> None:
    for used in ({"servers": "(N)"}, {"arrive": "closed(N)"}):
        values = values_of("let N = 2;", body="run s (~exp(1));", **used)
        assert values == (1, 2, 3, 4, 5, 6, 7, 8)


def test_a_probability_stays_in_its_bounds() -> None:
    values = values_of("let P = 0.37;", body="branch with (P) { end; }")
    assert (values[0], values[-1]) == (0, 1)
    assert 0.37 in values


def test_small_and_large_values_get_even_ratios() -> None:
    for value in (2e-5, 1e-8, 2e5):
        values = values_of(f"let W = {value};", body="run s (W);")
        assert (values[0], values[-1]) == (value / 4, value * 4)
        ratios = [b / a for a, b in itertools.pairwise(values)]
        assert max(ratios) < 1.1


@pytest.mark.parametrize(
    ("value", "ends"), [("0", (0, 1)), ("-3", (-12, -0.75)), ("1e-6", (2.5e-7, 4e-6)), ("1 / 0", None)]
)
def test_odd_values(value: str, ends: tuple[float, float] | None) -> None:
    values = values_of(f"let V = {value};", body="set a = V; observe a = a;")
    assert ((values[0], values[-1]) if values else None) == ends


def test_values_that_break_a_rule_are_left_out() -> None:
    values = values_of("let W = 8; // [0..20]", horizon="W")
    assert values[0] > 0
    assert values[-1] == 20


def test_what_a_run_depends_on() -> None:
    text = "let Base = 2;\nlet Used = Base + 1;\nlet Nobody = 9;\nlet Cap = 1;\npool p { cap Cap; }\n"
    model = serq_lab.compile(
        text + FRAME.format(servers="", arrive="batch(1)", body="run s (Used);", horizon="9")
    ).model
    assert {model.lets[row].name for row in lets_in_use(model)} == {"Base", "Used", "Cap"}


# ------------------------------------------------------------------ as asked for


@pytest.mark.parametrize(
    ("given_range", "wanted"),
    [
        ((4, 8), (4, 5, 6, 7, 8)),
        ((0.4, 0.7, 0.05), (0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7)),
        ((0.4, 0.7, 0.2), (0.4, 0.6, 0.7)),
        ((1e-8, 3e-8, 1e-8), (1e-8, 2e-8, 3e-8)),
        ([4, 10, 6], (4, 10, 6)),
        (range(4, 7), (4, 5, 6)),
    ],
)
def test_abbreviations(given_range: tuple[float, ...], wanted: tuple[float, ...]) -> None:
    assert asked_values("C", given_range, None) == wanted


@pytest.mark.parametrize(
    "wrong", [(), (1,), (3, 1), (1, 1), (1, 5, 0), (1, 5, -1), (1, 2, 3, 4), ["a"], "abc", None, True, (1, math.inf)]
)
def test_what_is_no_range_is_said_in_one_sentence(wrong: object) -> None:
    with pytest.raises(UsageError, match="`C`"):
        asked_values("C", wrong, None)  # type: ignore[arg-type]


FINITE = st.floats(-1e9, 1e9, allow_nan=False).map(lambda value: float(f"{value:.6g}"))


@given(FINITE, FINITE, FINITE, st.booleans())
def test_both_ends_can_be_reached(low: float, high: float, through: float, whole: bool) -> None:
    low, high = min(low, high), max(low, high)
    if whole:
        low, high = float(math.ceil(low)), float(math.floor(high))
    if not low < high:
        return
    values = between(low, high, through=through, whole=whole)
    assert (values[0], values[-1]) == (low, high)
    assert list(values) == sorted(set(values))
    assert 2 <= len(values) <= 110
    assert not low <= through <= high or through in values
    assert not whole or all(value.is_integer() for value in values if value != through)


@given(st.floats(1e-9, 1e9))
def test_steps_are_handy(least: float) -> None:
    step = handy_step(least)
    assert least * (1 - 1e-9) <= step <= 2.5 * least * (1 + 1e-9)
    assert f"{step:e}"[0] in "125"


@given(st.lists(FINITE, min_size=1, max_size=80, unique=True).map(sorted), FINITE, st.integers(4, 20))
def test_thinning_keeps_the_ends_and_the_present(values: list[float], present: float, most: int) -> None:
    thin = thinned(values, present, most)
    assert len(thin) <= most
    assert set(thin) <= set(values)
    assert {values[0], values[-1]} <= set(thin)
    assert min(abs(value - present) for value in thin) == min(abs(value - present) for value in values)
