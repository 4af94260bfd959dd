"""Choices of a random program: made by a seed, by hypothesis, or as they were made before.

Comes in: a function that gives a whole number from 0 below a bound. Next: `plan.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")
Below = Callable[[int], int]


class Choices:
    """What the writers ask. The simplest option stands first, so that smaller numbers give simpler programs."""

    def __init__(self, below: Below) -> None:
        self._below = below
        self.made: list[int] = []

    def _choose(self, n: int) -> int:
        value = self._below(n)
        self.made.append(value)
        return value

    def number(self, least: int, most: int) -> int:
        return least + self._choose(most - least + 1)

    def one(self, *options: T) -> T:
        return options[self._choose(len(options))]

    def chance(self, percent: int) -> bool:
        return self._choose(100) >= 100 - percent


def by_seed(seed: int) -> Choices:
    """Choices that a seed makes, some ten million a second."""
    random = Random(seed).random
    return Choices(lambda n: int(random() * n))


def again(made: Sequence[int]) -> Choices:
    """Choices as they were made before, and the simplest when none are left."""
    rest = iter(made)
    return Choices(lambda n: min(next(rest, 0), n - 1))


@cache
def _below(n: int) -> st.SearchStrategy[int]:
    return st.integers(0, n - 1)


def by_hypothesis(draw: st.DrawFn) -> Choices:
    """Choices that hypothesis makes, and makes simpler when a test fails."""
    return Choices(lambda n: draw(_below(n)))
