"""Words in a picture find the room that there is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serq_lab.notebook.panel.labels import DISTANCE, Box, dense, place

PAGE = Box(0, 0, 500, 300)
NOTHING = np.empty((0, 2))
SIZE = (50.0, 14.0)


def test_to_the_upper_right_where_nothing_is() -> None:
    assert place((100, 100), SIZE, PAGE, NOTHING, []) == (115, 115, 165, 129)


@pytest.mark.parametrize(
    ("point", "line", "side"),
    [
        ((250, 150), [(0, 0), (250, 150), (500, 300)], (1, -1)),  # rising: below it
        ((250, 150), [(0, 300), (250, 150), (500, 0)], (1, 1)),  # falling: above it
        ((480, 150), [(0, 150), (480, 150)], (-1, 1)),  # at the right edge: to the left
        ((250, 290), [(0, 290), (500, 290)], (1, -1)),  # at the upper edge: below
        ((480, 290), [(0, 10), (480, 290)], (-1, -1)),
    ],
)
def test_away_from_lines_and_edges(
    point: tuple[float, float], line: list[tuple[float, float]], side: tuple[int, int]
) -> None:
    box = place(point, SIZE, PAGE, dense(np.array(line, float)), [])
    assert ((box.left > point[0]) - (box.right < point[0]), (box.bottom > point[1]) - (box.top < point[1])) == side


def test_not_on_other_words() -> None:
    key = Box(400, 250, 500, 300)
    box = place((420, 240), SIZE, PAGE, NOTHING, [key])
    assert not box.meets(key)


def test_broken_lines_and_single_points() -> None:
    line = np.array([(0, 0), (10, 10), (np.nan, np.nan), (30, 30)])
    assert dense(line)[:, 0].max() == 10
    assert dense(line[:1]).tolist() == [[0, 0]]


@given(
    x=st.floats(0, 500), y=st.floats(0, 300), width=st.floats(10, 120), height=st.floats(8, 20),
    points=st.lists(st.tuples(st.floats(0, 500), st.floats(0, 300)), max_size=30),
)  # fmt: skip
def test_it_is_beside_its_point_and_in_the_picture(
    x: float, y: float, width: float, height: float, points: list[tuple[float, float]]
) -> None:
    box = place((x, y), (width, height), PAGE, np.array(points or NOTHING, float), [])
    assert PAGE.holds(box)
    assert box.right - box.left == pytest.approx(width)
    assert min(abs(box.left - x), abs(box.right - x)) >= DISTANCE - 1e-9
    assert max(abs(box.left - x), abs(box.right - x)) < 75 + width
