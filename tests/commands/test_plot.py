"""``serq plot timeline``: what it draws, says and refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from serq_lab import cli
from tests.experiments.sweeping import PROGRAMS

MEMORY = str(PROGRAMS / "02-memory.sq")


def test_a_timeline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "t.png"
    assert cli.main(["plot", "timeline", MEMORY, "--from", "0", "--to", "50", "--set", "C=6", "--out", str(out)]) == 0
    assert out.read_bytes().startswith(b"\x89PNG")
    said = capsys.readouterr()
    assert said.out.startswith('Pool "mem" of capacity 6 from 0 to 50: ')
    assert said.err == ""


def test_quiet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "t.svg"
    assert cli.main(["plot", "timeline", MEMORY, "--from", "5", "--to", "9", "--out", str(out), "--quiet"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--from", "0", "--to", "9", "--out", "t.gif"], 2, '--out: "t.gif" must end in .png or .svg or .pdf.'),
        (["--from", "0", "--to", "9", "--out", "t.png", "--set", "D=1"], 2, 'the program has no let "D"'),
        (
            ["--from", "0", "--to", "9", "--out", "t.png", "--pool", "kv"],
            2,
            'no pool is called "kv"; there is "mem"',
        ),
        (["--from", "9", "--to", "0", "--out", "t.png"], 1, "there is no time from 9 to 0"),
        (["--to", "9", "--out", "t.png"], 2, "Missing option '--from'"),
    ],
)
def test_refused(arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["plot", "timeline", MEMORY, *arguments]) == code
    assert message in " ".join(capsys.readouterr().err.split())
