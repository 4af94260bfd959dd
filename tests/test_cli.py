"""The command: what it prints, where, and with which exit code."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from serq_lab import cli
from serq_lab.version import VERSION
from tests.report import hand_made
from tests.report.oracle import BLOCK

ROOT = Path(__file__).parents[1]
MEMORY = str(ROOT / "tutorial" / "programs" / "02-memory.sq")

SMALL = """\
let C = 4;
let Wait = 1;
def twice(x) = 2 * x;
pool mem { cap C; }
stage server : delay;
workload { arrive batch(6); }
session {
  set u = serial + 1;
  hold mem (u) { observe got = u; run server (twice(Wait)); }
  observe gone = now;
}
run { horizon 100; }
"""


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "small.sq"
    path.write_text(SMALL)
    return str(path)


def serq(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "serq_lab.cli", *arguments]
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        command, **{"capture_output": True, "text": True, "encoding": "utf-8", "cwd": ROOT, **options}
    )


def environment(**changes: str) -> dict[str, str]:
    return {**os.environ, **changes}


def test_the_chapter_character_for_character() -> None:
    done = serq("run", MEMORY, env=environment(PYTHONIOENCODING="utf-8"))
    assert done.stdout == BLOCK + "\n"
    assert done.stderr == ""
    assert done.returncode == 0


def test_sets_take_expressions(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", small, "--set", "C=2 * 3", "--set", "Wait = C / 2", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("run: horizon 100 ")
    got = next(line for line in out.splitlines() if line.startswith("got"))
    assert got.split()[1] == "6"


def test_settings_in_place_of_the_programs(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--seed=7", "--horizon=1e3", "--warmup=100", "--arrivals=2e2"]
    assert cli.main(["run", MEMORY, *given, "--json", "--quiet"]) == 0
    document = json.loads(capsys.readouterr().out)
    settings = [document[key] for key in ("seed", "horizon", "warmup", "arrivals")]
    assert settings == [7, 1000, 100, 200]


def test_new_bodies_of_definitions(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", small, "--def", "twice=x == 1 ? 7 : 0", "--quiet", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["stages"][0]["mean_service"] == 7


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--set", "CC=3"], 'the program has no let "CC"; did you mean "C"?'),
        (["--set", "C=3", "--set", "C=4"], '"C" is given twice'),
        (["--set", "Queue=3"], 'the program has no let "Queue"; its lets are "C", "Wait"'),
        (["--set", "C"], '"C" is not NAME=EXPR, as in --set C=4'),
        (["--set", "C="], '"C=" is not NAME=EXPR'),
        (["--set", "=3"], '"=3" is not NAME=EXPR'),
        (["--def", "twice=1", "--def", "twice=2"], '"twice" is given twice'),
        (["--def", "twice"], '"twice" is not NAME=BODY, as in --def "f=2 * x"'),
        (["--def", "twise=1"], 'there is no definition "twise" to replace; did you mean "twice"?'),
        (["--seed", "2.5"], '"2.5" is not a whole number'),
        (["--seed", "inf"], '"inf" is not a whole number'),
        (["--arrivals", "many"], '"many" is not a number'),
        (["--horizon", "long"], '"long" is not a number'),
        (["--sed", "1"], "No such option"),
        (["second.sq"], "unexpected extra argument"),
    ],
)
def test_wrong_usage(small: str, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", small, *arguments]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


def test_a_wrong_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrong.sq"
    path.write_text(SMALL.replace("run server", "run servr"))
    for command in ("run", "check"):
        assert cli.main([command, str(path)]) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("error: ")
        assert "wrong.sq:9:" in captured.err
        assert "Traceback" not in captured.err


def test_a_run_that_stops(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "stops.sq"
    path.write_text(SMALL.replace("set u = serial + 1;", "set u = serial + 1; branch (u / 2) { end; }"))
    assert cli.main(["run", str(path)]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith('error: the guard "u / 2" is 0.5')
    assert captured.out == ""


def test_a_missing_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "none.sq"]) == 1
    assert capsys.readouterr().err.startswith('error: there is no file "none.sq"')


def test_a_stuck_session_is_an_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], small: str
) -> None:
    rows = hand_made.pool_records(1, admissions=[3], stuck=[1])
    report = hand_made.report(pools=[hand_made.pool("kv")], pool_rows=rows)
    monkeypatch.setattr("serq_lab.pipeline.Program.run", lambda *_, **__: report)
    assert cli.main(["run", small]) == 1
    assert 'note: 1 session was stuck at pool "kv"' in capsys.readouterr().out


def test_our_own_fault(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], small: str) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("one over nothing")

    monkeypatch.setattr("serq_lab.pipeline.Program.run", broken)
    assert cli.main(["run", small]) == 3
    error = capsys.readouterr().err
    assert "ZeroDivisionError: one over nothing" in error
    assert "serq is at fault here, not the program" in error


def test_an_interrupt(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], small: str) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("serq_lab.pipeline.Program.run", interrupted)
    assert cli.main(["run", small]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_notes_stand_after_the_tables_or_beside_json(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", small]) == 0
    text = capsys.readouterr().out
    assert 'note: 2 of 6 sessions were turned away at pool "mem": they asked for between 5 and 6 units' in text
    assert text.index("\nmem ") < text.index("note: ")
    assert cli.main(["run", small, "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["pools"][0]["rejected"] == 2
    assert "note: 2 of 6 sessions" in captured.err
    assert cli.main(["run", small, "--quiet"]) == 0
    captured = capsys.readouterr()
    assert "note:" not in captured.out + captured.err


def test_warnings_go_to_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "unused.sq"
    path.write_text("let Unused = 1;\n" + SMALL)
    assert cli.main(["check", str(path)]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{path}: no faults\n"
    assert "Unused" in captured.err
    assert cli.main(["run", str(path), "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_dump(small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "folder"
    assert cli.main(["run", small, "--dump", str(folder)]) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["gone.csv", "got.csv"]
    assert (folder / "gone.csv").read_bytes().splitlines()[:2] == [b"time,session,turn,value", b"2.0,0,0,2.0"]
    assert len((folder / "got.csv").read_text().splitlines()) == 1 + 4
    assert "run: horizon" in capsys.readouterr().out


def test_a_dump_that_cannot_be_written_is_refused_before_the_run(
    monkeypatch: pytest.MonkeyPatch, small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("serq_lab.pipeline.Program.run", lambda *_, **__: pytest.fail("it ran"))
    for folder in ("file", "file/below"):
        assert cli.main(["run", small, "--dump", str(tmp_path / folder)]) == 1
        error = capsys.readouterr().err
        assert error.startswith("Error: ")
        assert "Traceback" not in error


# ------------------------------------------------------------------ odd terminals


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_output_of_any_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "greek.sq"
    path.write_text(SMALL.replace("got", "λόγος"), encoding="utf-8")
    done = serq("run", str(path), env=environment(PYTHONIOENCODING=encoding), encoding=encoding)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    plain = next(line for line in done.stdout.splitlines() if line.startswith("gone"))
    assert ("+/-" if encoding == "ascii" else "±") in plain
    assert json.loads(serq("run", str(path), "--json", env=environment(PYTHONIOENCODING="ascii")).stdout)


def test_the_table_stays_aligned_on_an_ascii_terminal() -> None:
    done = serq("run", MEMORY, env=environment(PYTHONIOENCODING="ascii"))
    rows = done.stdout.split("\n\n")[1].splitlines()
    assert len({len(row) for row in rows}) == 1
    assert "+/-0.0050" in rows[2]


def test_a_closed_pipe(small: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = serq("run", small, stdout=writing, stderr=subprocess.PIPE, capture_output=False)
    os.close(writing)
    assert done.stderr == ""
    assert done.returncode == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize("arguments", [["run"], ["run", "--json"], ["check"], ["fmt"]], ids=" ".join)
def test_a_full_disk(small: str, arguments: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = serq(*arguments, small, stdout=full, stderr=subprocess.PIPE, capture_output=False)
    assert done.stderr.startswith("Error: the output cannot be written: ")
    assert done.stderr.count("\n") == 1
    assert done.returncode == 1


def test_carets_stand_right_on_an_ascii_terminal(tmp_path: Path) -> None:
    path = tmp_path / "greek.sq"
    path.write_text(SMALL.replace("observe got = u", "observe λόγος = μ"), encoding="utf-8")
    done = serq("check", str(path), env=environment(PYTHONIOENCODING="ascii"))
    line, carets = done.stderr.splitlines()[3:5]
    assert line[carets.index("^") :].startswith(r"\u03bc; run server")
    assert carets.count("^") == len(r"\u03bc")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("terminal", "patience", "quiet", "is_shown"),
    [
        (True, 0.0, False, True),
        (True, 1e6, False, False),
        (True, 0.0, True, False),
        (False, 0.0, False, False),
    ],
)
def test_the_bar_is_for_long_runs_on_terminals(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, patience: float, quiet: bool, is_shown: bool
) -> None:
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(cli.ProgressBar, "PATIENCE", patience)
    assert cli.main(["run", MEMORY, *(["--quiet"] if quiet else [])]) == 0
    assert ("%" in stream.getvalue()) == is_shown


# ------------------------------------------------------------------ fmt
CROOKED = SMALL.replace("let C = 4;", "let C=4 ;").replace("  hold", "      hold")


@pytest.fixture
def crooked(tmp_path: Path) -> str:
    path = tmp_path / "crooked.sq"
    path.write_text(CROOKED)
    return str(path)


def test_fmt_prints_and_leaves_the_file_alone(crooked: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["fmt", crooked]) == 0
    formatted = capsys.readouterr().out
    assert formatted == SMALL
    assert Path(crooked).read_text() == CROOKED


def test_fmt_check_and_write(crooked: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["fmt", "--check", crooked]) == 1
    assert "would change" in capsys.readouterr().err
    os.chmod(crooked, 0o640)
    assert cli.main(["fmt", "--write", crooked]) == 0
    assert Path(crooked).read_text() != CROOKED
    assert stat.S_IMODE(os.stat(crooked).st_mode) == 0o640
    assert cli.main(["fmt", "--check", crooked]) == 0
    before = os.stat(crooked).st_mtime_ns
    assert cli.main(["fmt", "--write", crooked]) == 0
    assert os.stat(crooked).st_mtime_ns == before
    assert list(Path(crooked).parent.iterdir()) == [Path(crooked)]
    assert capsys.readouterr().out == ""


def test_fmt_follows_a_link(crooked: str, tmp_path: Path) -> None:
    link = tmp_path / "link.sq"
    link.symlink_to(crooked)
    assert cli.main(["fmt", "--write", str(link)]) == 0
    assert link.is_symlink()
    assert Path(crooked).read_text() != CROOKED


def test_fmt_of_a_wrong_program_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrong.sq"
    path.write_text("let = 3;")
    assert cli.main(["fmt", "--write", str(path)]) == 1
    assert path.read_text() == "let = 3;"
    assert "wrong.sq:1:5" in capsys.readouterr().err


def test_fmt_takes_one_of_the_two(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["fmt", "--write", "--check", small]) == 2
    assert "do not go together" in capsys.readouterr().err


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"serq {VERSION}\n"
    assert cli.main(["run", "--help"]) == 0
    assert "--set NAME=EXPR" in capsys.readouterr().out
