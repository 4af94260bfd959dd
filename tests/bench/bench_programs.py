"""Speed of the chapters' programs, ours beside the reference, and of the command, as whole processes.

Not in the default run: the file is not called ``test_``.
"""

from __future__ import annotations

import subprocess
import sys

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import serq_lab
from tests.bench.measure import NAMES, PROGRAMS, ours, reference


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("engine", [ours, reference], ids=["ours", "pyserq"])
def test_run(benchmark: BenchmarkFixture, name: str, engine: object) -> None:
    benchmark.group = f"run {name}"
    assert callable(engine)
    benchmark.pedantic(engine(name), rounds=15, warmup_rounds=1)


@pytest.mark.parametrize("name", NAMES)
def test_compile(benchmark: BenchmarkFixture, name: str) -> None:
    """A new text, from the parser to native code; the limit is 50 ms."""
    benchmark.group = "compile"
    text = (PROGRAMS / f"{name}.sq").read_text(encoding="utf-8")
    serq_lab.compile(text).lowered()
    counter = iter(range(1_000_000))
    benchmark.pedantic(lambda: serq_lab.compile(f"{text}\n// {next(counter)}\n").lowered(), rounds=15, warmup_rounds=1)
    assert benchmark.stats.stats.min < 0.05  # the least: what else the machine does is not ours


MEMORY = str(PROGRAMS / "02-memory.sq")


@pytest.mark.parametrize(
    ("arguments", "limit"),
    [
        (["-m", "serq_lab.cli", "run", MEMORY], 1.2),
        (["-m", "serq_lab.cli", "check", MEMORY], 0.4),
        (["-c", "import serq_lab"], 0.3),
    ],
    ids=["serq run", "serq check", "import"],
)
def test_start_up(benchmark: BenchmarkFixture, arguments: list[str], limit: float) -> None:
    """Whole processes, the engine compiled before."""
    benchmark.group = "start-up"

    def start() -> None:
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)

    benchmark.pedantic(start, rounds=9, warmup_rounds=1)
    assert benchmark.stats.stats.min < limit
