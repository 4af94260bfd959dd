"""The picture of a panel: what is drawn, where, and that nothing odd stops it."""

from __future__ import annotations

import math
from io import BytesIO

import numpy as np
import pytest
from matplotlib import image

from serq_lab.notebook.panel.figures import Result
from serq_lab.notebook.panel.picture import HEIGHT, SCALE, WIDTH, Picture, View, is_logarithmic, title

CURVE, PRESENT = (11, 95, 165), (179, 71, 0)


def result(x: float, mean: float, width: float = 0.1, n_turned_away: int = 0) -> Result:
    lets = (("S", 1.0), ("C", x))
    return Result(lets, {"observe.w.mean": mean, "observe.w.half_width": width}, (), n_turned_away, "arrivals")


def pixels(png: bytes) -> np.ndarray:
    return np.round(image.imread(BytesIO(png), format="png")[:, :, :3] * 255).astype(int)


def n_of(colour: tuple[int, int, int], drawn: np.ndarray) -> int:
    return int((np.abs(drawn - np.array(colour)).max(axis=2) < 12).sum())


VIEW = View("observe.w.mean", "C", (1.0, 2.0, 3.0, 4.0, 5.0))
RESULTS = {x: result(x, 10 / x) for x in VIEW.values}


def test_its_size_and_its_colours() -> None:
    drawn = pixels(Picture().draw(VIEW, RESULTS[2.0], RESULTS, None))
    assert drawn.shape == (HEIGHT * SCALE, WIDTH * SCALE, 3)
    assert n_of(CURVE, drawn) > 500
    assert n_of(PRESENT, drawn) > 100


def test_the_mark_stands_at_the_present_value() -> None:
    picture = Picture()
    places = []
    for x in VIEW.values[:-1]:  # the last has its value to the left
        drawn = pixels(picture.draw(VIEW, RESULTS[x], RESULTS, None))
        columns = np.where((np.abs(drawn - np.array(PRESENT)).max(axis=2) < 12).sum(axis=0) > 8)[0]
        places.append(columns.min())
    assert places == sorted(places)
    steps = np.diff(places)
    assert steps.min() > 100
    assert steps.max() - steps.min() <= 3


def test_the_title_names_every_value() -> None:
    assert title(VIEW, RESULTS[2.0].lets) == "w mean over C; marked: C = 2, S = 1"
    long = title(VIEW, tuple((f"Constant{n}", 1 / 3) for n in range(9)))
    assert max(map(len, long.splitlines())) <= 84
    assert all(f"Constant{n} = 0.333333" in line for n, line in enumerate(_lines_with_constants(long)))


def _lines_with_constants(text: str) -> list[str]:
    """For each of nine constants the line that it is in, whole."""
    return [next(line for line in text.splitlines() if f"Constant{n} " in line) for n in range(9)]


@pytest.mark.parametrize("n", [1, 4, 8, 20])
def test_no_title_is_cut_or_lies_on_the_picture(n: int) -> None:
    lets = (("C", 2.0), *((f"max_tokens_{k}", 2048.125 + k) for k in range(n)))
    drawn = pixels(Picture().draw(VIEW, RESULTS[2.0]._replace(lets=lets), RESULTS, None))
    dark = np.abs(drawn - 255).max(axis=2) > 60
    height, width = dark.shape
    assert not dark[:, width - 3 :].any()
    assert not dark[:3].any()
    rows = np.flatnonzero(dark[:, : round(0.1 * width)].any(axis=1))  # left of the axes: title, then labels
    assert rows[0] < 0.1 * height
    assert np.diff(rows).max() > 3


def test_the_same_again_is_the_same_picture_whatever_was_drawn_between() -> None:
    picture = Picture()
    first = picture.draw(VIEW, RESULTS[2.0], RESULTS, RESULTS[1.0])
    picture.draw(View("observe.w.half_width", "S", (0.01, 0.1, 1.0, 10.0)), RESULTS[3.0], {}, None)
    assert picture.draw(VIEW, RESULTS[2.0], RESULTS, RESULTS[1.0]) == first


@pytest.mark.parametrize(
    "ys", [(10.0, 5.0, 4.0, 5.0, 10.0), (1.0, 2.0, 3.0, 4.0, 5.0), (5.0, 4.0, 3.0, 2.0, 1.0), (7.0,) * 5]
)
def test_the_value_lies_on_no_line(ys: tuple[float, ...]) -> None:
    curve = {x: result(x, y, 0.0) for x, y in zip(VIEW.values, ys, strict=True)}
    for x in VIEW.values:
        picture = Picture()
        with_value = pixels(picture.draw(VIEW, curve[x], curve, None))
        picture._value.set_visible(False)
        assert n_of(CURVE, pixels(picture.draw(VIEW, curve[x], curve, None))) == n_of(CURVE, with_value)


def test_a_point_that_turned_work_away_is_hollow() -> None:
    away = {**RESULTS, 4.0: result(4.0, 2.5, n_turned_away=3)}
    full, hollow = (pixels(Picture().draw(VIEW, RESULTS[1.0], each, None)) for each in (RESULTS, away))
    assert n_of(CURVE, hollow) < n_of(CURVE, full)


def test_a_logarithmic_axis_from_the_start_and_after_another() -> None:
    values = tuple(2e5 * 4 ** (k / 20) for k in range(-20, 21))
    view = View("observe.w.mean", "C", values)
    curve = {x: result(x, 1e6 / x) for x in values}
    fresh, used = Picture(), Picture()
    used.draw(VIEW, RESULTS[2.0], RESULTS, None)
    drawn = fresh.draw(view, curve[values[20]], curve, None)
    assert used.draw(view, curve[values[20]], curve, None) == drawn
    marked = np.abs(pixels(drawn) - np.array(PRESENT)).max(axis=2) < 12
    left_of_ring = np.where(marked.sum(axis=0) > 8)[0].min() / marked.shape[1]
    ring = 6.5 / 72 * 100 / WIDTH  # its radius: 6.5 points
    assert left_of_ring == pytest.approx(0.115 + 0.86 / 2 - ring, abs=0.006)  # the middle of a quarter to four times


def test_a_single_value_on_the_axis() -> None:
    view = View("observe.w.mean", "C", (3.0,))
    assert Picture().draw(view, RESULTS[3.0], {3.0: RESULTS[3.0]}, None).startswith(b"\x89PNG")


@pytest.mark.parametrize("mean", [math.nan, math.inf, -math.inf, 0.0, 1e300, 1e-300])
@pytest.mark.parametrize("width", [math.nan, math.inf, 0.0])
def test_odd_figures_are_drawn_without_a_word(mean: float, width: float) -> None:
    curve = {**RESULTS, 3.0: result(3.0, mean, width)}
    assert Picture().draw(VIEW, curve[3.0], curve, curve[3.0]).startswith(b"\x89PNG")
    assert Picture().draw(VIEW, curve[3.0], {}, None).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ((1.0, 2.0, 3.0, 4.0, 5.0), False),
        ((0.0, 0.5, 1.0), False),
        (tuple(2e-5 * 4 ** (k / 20) for k in range(-20, 21)), True),
        ((1.0, 10.0, 100.0), True),
        ((3.0,), False),
        (tuple(float(k) for k in range(3, 41)), False),
    ],
)
def test_an_axis_is_logarithmic_where_its_values_are(values: tuple[float, ...], wanted: bool) -> None:
    assert is_logarithmic(values) is wanted
