"""The Python interface: loading, running with other values, and every way in which that can go wrong."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import serq_lab
from serq_lab import ProgramError, RunError

PROGRAM = """\
let Rate = 0.8;
let C = 10;
let Half = C / 2; // follows C
def need(x) = ceil(x);
pool mem { cap C; }
stage server : fifo(4);
workload { arrive poisson(Rate); }
session {
  set t0 = now;
  set c = need(~uniform(1, 5));
  hold mem (c) { run server (~exp(1)); }
  observe response = now - t0;
  observe half = Half;
}
run { horizon 2000; warmup 100; seed 3; }
"""


@pytest.fixture(scope="module")
def program() -> serq_lab.Program:
    return serq_lab.compile(PROGRAM, name="cell 1")


def test_what_a_program_tells(program: serq_lab.Program) -> None:
    assert program.source == PROGRAM
    assert program.lets == {"Rate": 0.8, "C": 10.0, "Half": 5.0}
    assert list(program.lets) == ["Rate", "C", "Half"]
    assert program.warnings == ()
    assert [pool.name for pool in program.model.pools] == ["mem"]
    assert repr(program) == '<program "cell 1">'


def test_a_run_remembers_what_it_was_run_with(program: serq_lab.Program) -> None:
    report = program.run(set={"C": 6, "Rate": "1 / 2"}, seed=9, horizon=1000, warmup=50)
    assert report.lets == {"Rate": 0.5, "C": 6.0, "Half": 3.0}
    assert report.observe["half"].mean == 3.0
    assert report.settings == {"horizon": 1000.0, "warmup": 50.0, "seed": 9, "arrivals": None}
    assert program.lets["C"] == 10.0


def test_a_limit_on_arrivals(program: serq_lab.Program) -> None:
    report = program.run(arrivals=500)
    assert report.arrivals == 500
    assert report.end < 2000
    assert report.settings["arrivals"] == 500


def test_numbers_of_numpy_are_numbers(program: serq_lab.Program) -> None:
    assert program.run(set={"C": np.int64(6)}).to_json() == program.run(set={"C": 6}).to_json()


def test_the_same_run_gives_the_same_report(program: serq_lab.Program) -> None:
    assert program.run().to_json() == program.run().to_json()
    assert program.run(seed=4).to_json() != program.run().to_json()


def test_checking_changes_nothing(program: serq_lab.Program) -> None:
    assert program.run(check=True, horizon=300).to_json() == program.run(horizon=300).to_json()


def test_runs_in_threads_do_not_meet() -> None:
    program = serq_lab.compile(PROGRAM)
    caps = [6, 7, 8, 9, 10, 12, 15, 20] * 3
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda cap: program.run(set={"C": cap}).to_json(), caps))
    assert together == [serq_lab.compile(PROGRAM).run(set={"C": cap}).to_json() for cap in caps]


def test_new_bodies_for_definitions() -> None:
    program = serq_lab.compile(PROGRAM, defs={"need": "x * 0 + 1"})
    assert program.run().to_json() != serq_lab.compile(PROGRAM).run().to_json()
    assert "x * 0 + 1" not in program.source


def test_a_let_that_shapes_the_program() -> None:
    text = """\
let N = 2;
stage s[N] : delay;
workload { arrive batch(1); }
session { run s[N - 1] (5); observe where = N; }
run { horizon 10; }
"""
    program = serq_lab.compile(text)
    assert list(program.run().stage) == ["s[0]", "s[1]"]
    wider = program.run(set={"N": 3})
    assert list(wider.stage) == ["s[0]", "s[1]", "s[2]"]
    assert wider.stage["s[2]"].completed == 1
    assert list(program.run().stage) == ["s[0]", "s[1]"]


def test_progress_moves_and_can_abandon_a_run() -> None:
    program = serq_lab.compile(PROGRAM)
    shares: list[float] = []
    program.run(horizon=400_000, progress=shares.append)
    assert shares
    assert shares == sorted(shares)
    assert 0 < shares[0] <= shares[-1] <= 1

    class EnoughError(Exception):
        pass

    def stop(share: float) -> None:
        raise EnoughError

    with pytest.raises(EnoughError):
        program.run(horizon=400_000, progress=stop)


def test_an_unknown_let_says_which_is_near(program: serq_lab.Program) -> None:
    with pytest.raises(ProgramError, match=r'did you mean "Rate"\?'):
        program.run(set={"Rat": 1})


@pytest.mark.parametrize("value", ["C +", "nonsense", -1.0, float("nan"), "Half"])
def test_a_value_that_makes_no_sense(program: serq_lab.Program, value: str | float) -> None:
    with pytest.raises(ProgramError) as caught:
        program.run(set={"C": value})
    assert '"C"' in str(caught.value) or "C" in str(caught.value).splitlines()[0]


def test_a_trace_for_a_program_without_one(program: serq_lab.Program) -> None:
    with pytest.raises(ProgramError, match="the program has no trace"):
        program.run(trace="x.csv")


def test_a_run_that_stops() -> None:
    text = PROGRAM.replace("set t0 = now;", "set t0 = now;\n  branch (serial / 2) { end; }")
    with pytest.raises(RunError) as caught:
        serq_lab.compile(text, name="guard.sq").run()
    (fault,) = caught.value.diagnostics
    assert fault.message.startswith('the guard "serial / 2" is 0.5, and a branch can only take 1 or 0 (at time ')
    assert fault.message.endswith("in session 1)")
    assert "guard.sq:10:11" in str(caught.value)


# ------------------------------------------------------------------ files


def refused(path: Path) -> str:
    with pytest.raises(ProgramError) as caught:
        serq_lab.load(path)
    return str(caught.value)


def test_a_missing_file(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.sq").startswith(f'error: there is no file "{tmp_path / "none.sq"}"')


def test_a_folder(tmp_path: Path) -> None:
    assert "is a folder, not a program" in refused(tmp_path)


def test_a_binary_file(tmp_path: Path) -> None:
    path = tmp_path / "picture.sq"
    path.write_bytes(b"\x89PNG\r\n\x1a\n\xff\xfe")
    assert "is not text: byte 0 is not UTF-8" in refused(path)


@pytest.mark.parametrize("text", ["", " \n\t\n", "// nothing but a comment\n"])
def test_an_empty_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "empty.sq"
    path.write_text(text)
    assert "there is no program in" in refused(path)


def test_a_name_that_no_file_can_have() -> None:
    assert "cannot be read" in refused(Path("a\0b"))


def test_a_mark_at_the_start_is_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "marked.sq"
    path.write_bytes(b"\xef\xbb\xbf" + PROGRAM.encode())
    assert serq_lab.load(path).source == PROGRAM


def test_line_ends_and_tabs_do_not_move_a_fault(tmp_path: Path) -> None:
    wrong = PROGRAM.replace("  run server", "\trun servr").replace("run server", "\trun servr")
    places = []
    for name, text in (("unix.sq", wrong), ("windows.sq", wrong.replace("\n", "\r\n"))):
        path = tmp_path / name
        path.write_bytes(text.encode())
        with pytest.raises(ProgramError) as caught:
            serq_lab.load(path)
        span = caught.value.diagnostics[0].span
        assert span is not None
        places.append((span.line, span.column, span.text))
    assert places[0] == places[1]
    assert places[0][2] == "servr"


def test_a_fault_of_the_text_is_shown_without_python() -> None:
    with pytest.raises(ProgramError) as caught:
        serq_lab.compile("let = 3;", name="cell 2")
    shown = str(caught.value)
    assert "cell 2:1:5" in shown
    assert "Traceback" not in shown
    assert caught.value._render_traceback_() == shown.splitlines()
