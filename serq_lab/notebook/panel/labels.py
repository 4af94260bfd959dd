"""Where a word has room in a picture: beside its point, on none of the lines.

In come pixels, out goes one of a few places around the point. Called by `picture.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

DISTANCE = 15.0  # of a word from its point, in pixels: clear of the ring around it
FARTHER = 36.0
PADDING = 3.0
AWAY = ((DISTANCE, DISTANCE), (DISTANCE, FARTHER), (FARTHER, DISTANCE), (2 * FARTHER, DISTANCE))
SIDES = tuple((right * across, above * up) for across, up in AWAY for right in (1, -1) for above in (1, -1))
"""How far the near corner of a word is from its point; the first that is free is taken."""

STEPS = 24  # of a straight piece of a line


class Box(NamedTuple):
    """A rectangle in pixels, y upwards."""

    left: float
    bottom: float
    right: float
    top: float

    def holds(self, other: Box) -> bool:
        return (
            self.left <= other.left
            and other.right <= self.right
            and self.bottom <= other.bottom
            and other.top <= self.top
        )

    def meets(self, other: Box) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.bottom < other.top and other.bottom < self.top
        )


def dense(line: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points on a line of straight pieces, close together.

    Parameters
    ----------
    line : ndarray of float64, shape (n, 2)
        In pixels; NaN where it is broken.
    """
    if len(line) < 2:
        return line
    steps = np.linspace(0, 1, STEPS)[:, None, None]
    points: NDArray[np.float64] = (line[:-1] + steps * np.diff(line, axis=0)).reshape(-1, 2)
    return points[np.isfinite(points).all(axis=1)]


def place(
    point: tuple[float, float],
    size: tuple[float, float],
    within: Box,
    lines: NDArray[np.float64],
    others: Sequence[Box],
) -> Box:
    """The box of a word beside its point.

    Parameters
    ----------
    point, size : (float, float)
        Where the point is, and width and height of the word.
    within : Box
        The picture, or what of it may have words.
    lines : ndarray of float64, shape (n, 2)
        Points that should not be covered.
    others : sequence of Box
        Words that may not be.

    Returns
    -------
    Box
        The first of `SIDES` that is within the bounds, on no other word and on no line; if there is none, the one that
        is on the fewest points of lines, words counted as many.
    """
    boxes = [_beside(point, size, across, up) for across, up in SIDES]
    many = len(lines) + 1

    def faults(box: Box) -> int:
        inside = (
            (lines[:, 0] > box.left - PADDING) & (lines[:, 0] < box.right + PADDING)
            & (lines[:, 1] > box.bottom - PADDING) & (lines[:, 1] < box.top + PADDING)
        )  # fmt: skip
        wrong = (not within.holds(box)) + any(box.meets(other) for other in others)
        return many * wrong + int(inside.sum())

    return min(boxes, key=faults)


def _beside(point: tuple[float, float], size: tuple[float, float], across: float, up: float) -> Box:
    (x, y), (width, height) = point, size
    left = x + across if across > 0 else x + across - width
    bottom = y + up if up > 0 else y + up - height
    return Box(left, bottom, left + width, bottom + height)
