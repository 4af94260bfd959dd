"""What the tests of the tutorial's programs share: running one, once, and a number as a report prints it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import serq_lab
from serq_lab.report.report import Report

PROGRAMS = Path(__file__).parents[2] / "tutorial" / "programs"


@cache
def report(name: str, **lets: float) -> Report:
    return serq_lab.load(PROGRAMS / f"{name}.sq").run(set=lets)


def shown(value: float, places: int = 4) -> str:
    return f"{value:.{places}f}"
