"""How the speed of a run is measured, ours and the reference's: compiled before, timed alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyserq

import serq_lab

PROGRAMS = Path(__file__).parents[2] / "tutorial" / "programs"
NAMES = ("01-queue", "02-memory", "03-sessions", "04-cache")


def ours(name: str) -> Callable[[], object]:
    """A function that runs a chapter's program with our engine; compiled, and the kernel warm."""
    program = serq_lab.load(PROGRAMS / f"{name}.sq")
    program.run()
    return program.run


def reference(name: str) -> Callable[[], object]:
    """The same with pyserq."""
    program = pyserq.compile(str(PROGRAMS / f"{name}.sq"))
    return lambda: pyserq.run(program)
