"""The entry runs native code, compiled once and kept, and the Python that it was made of when told so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from serq_lab.kernel.storage import entry as entries
from serq_lab.kernel.storage import object_code
from serq_lab.kernel.storage.memory import Row
from tests.kernel.running import python, simulation_of

MM1 = """
stage server : fifo;
workload { arrive poisson(0.8); }
session { run server (~exp(1)); observe gone = now; }
run { horizon 200; }
"""
RUN = """
import sys, serq_lab
report = serq_lab.compile(sys.argv[1]).run()
print(report.events, repr(report.observe["gone"].mean), "numba" in sys.modules)
"""
COUNTER = np.dtype([("events", np.int64)], align=True)


@pytest.fixture
def count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Runs a stand-in for the engine, which compiles at once, as a process would that has not run it yet."""
    use(tmp_path, monkeypatch)

    def run() -> None:
        def advance(run: Row, n: int) -> bool:
            run.events += n
            return run.events > 10

        stand_in = entries.entry(advance)
        runs = np.zeros(1, dtype=COUNTER)
        assert [stand_in(runs, 6), stand_in(runs, 6)] == [False, True]
        assert runs["events"][0] == 12

    return run


def use(folder: Path | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_code, "cache_folder", lambda: folder)
    monkeypatch.setattr(entries, "cache_folder", lambda: folder)


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


def test_compiles_once_and_says_so(count: Callable[[], None], capsys: pytest.CaptureFixture[str]) -> None:
    count()
    assert said(capsys) == ["serq-lab: compiling the engine, once for this machine ..."]
    count()
    assert said(capsys) == []


@pytest.mark.parametrize("size", [0, 10, -1])
def test_a_file_cut_short_is_made_anew(
    count: Callable[[], None], tmp_path: Path, capsys: pytest.CaptureFixture[str], size: int
) -> None:
    count()
    (file,) = tmp_path.glob("*.o")
    file.write_bytes(file.read_bytes()[:size])
    count()
    assert len(said(capsys)) == 2
    count()
    assert said(capsys) == []


def test_without_a_folder_it_compiles_in_memory(
    count: Callable[[], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use(None, monkeypatch)
    count()
    count()
    lines = said(capsys)
    assert len(lines) == 2
    assert "so it is not kept" in lines[0]


def test_a_warm_run_needs_no_numba() -> None:
    python(RUN, MM1)  # compiles if nothing is kept yet
    done = python(RUN, MM1)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(" False\n")


def test_plain_python_gives_the_same_and_compiles_nothing() -> None:
    native, plain = python(RUN, MM1), python(RUN, MM1, SERQ_LAB_JIT="0")
    assert plain.stderr == ""
    assert plain.stdout == native.stdout


def test_a_slice_ends_after_its_events() -> None:
    simulation = simulation_of(MM1, 10)
    assert simulation.runs["events"][0] in (9, 10)  # the first step is the beginning
    assert not simulation.runs["now"][0] >= 200
