"""What the judges of all chapters share: the chapters' programs, what an answer shows, and how it is refused.

In come programs and numbers; out goes nothing, or a `WrongAnswerError` with its hint. The judges are in the files named
after the chapters; `checking.py` calls them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache, lru_cache

from serq_lab.pipeline import Program, load
from serq_lab.reading import tutorial_folder
from serq_lab.report.report import Report
from serq_lab.report.rows import Observation, Pool, Stage
from serq_lab.semantics import constants


class WrongAnswerError(Exception):
    """An answer is not right; the text is a hint, one sentence."""


def require(holds: bool, hint: str) -> None:
    """Refuse an answer with a hint unless something holds."""
    if not holds:
        raise WrongAnswerError(hint)


@cache
def chapter(name: str) -> Program:
    """The program of a chapter, as in ``tutorial/programs``."""
    return load(tutorial_folder() / "programs" / f"{name}.sq")


@lru_cache(maxsize=4)  # a report keeps its samples, and whoever tries many numbers asks for many reports
def reference(name: str, *settings: tuple[str, float], horizon: float | None = None) -> Report:
    """What the program of a chapter gives with some lets set; a tenth of a horizon given is warm-up."""
    return run(chapter(name), dict(settings), horizon)


def run(program: Program, lets: Mapping[str, float], horizon: float | None = None) -> Report:
    """A run on the program's own seed, as `reference`; refuses a program without these lets."""
    for name in lets:
        require(name in program.lets, f'keep `let {name} = ...;`: the answer is tried at a "{name}" of its own')
    return program.run(dict(lets), horizon=horizon, warmup=None if horizon is None else horizon / 10)


def near(value: float, target: float, within: float) -> bool:
    return abs(value - target) <= within


def is_multiple(value: float, step: float) -> bool:
    """Whether a number is a whole number of steps, above 0."""
    n = value / step
    return n >= 0.5 and math.isclose(n, round(n), abs_tol=1e-6)


# ------------------------------------------------------- what an answer shows


def observed(report: Report, name: str) -> Observation:
    require(name in report.observe, f"there is no observation called {name}")
    return report.observe[name]


def stage(report: Report, name: str) -> Stage:
    require(name in report.stage, f"there is no stage called {name}")
    return report.stage[name]


def pool(report: Report, name: str) -> Pool:
    require(name in report.pool, f"there is no pool called {name}")
    return report.pool[name]


def capacity(program: Program, name: str, lets: Mapping[str, float]) -> float:
    """The capacity of a pool, under values for lets."""
    caps = constants.evaluate(program.model, lets).caps
    found = [cap for family, cap in zip(program.model.pools, caps, strict=True) if family.name == name]
    require(bool(found), f"there is no pool called {name}")
    return found[0]
