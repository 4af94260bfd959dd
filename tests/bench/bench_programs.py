"""Speed of the chapters' programs, ours beside the reference: ``pytest tests/bench/bench_programs.py``.

Not in the default run: the file is not called ``test_``.
"""

from __future__ import annotations

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
    benchmark.pedantic(
        lambda: serq_lab.compile(f"{text}\n// {next(counter)}\n").lowered(), rounds=15, warmup_rounds=1
    )
    assert benchmark.stats.stats.min < 0.05  # the least: what else the machine does is not ours
