"""Bad input from a file, through the command: each is refused in words, at a place, soon, and with exit code 1."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

import serq_lab
from serq_lab.cli import main

Refused = Callable[..., str]

PROGRAM = """\
let C = 10;
let Rate = 2;
pool memory { cap C; }
pool blocks { cap 8; block 2; }
stage desk : fifo(2);
stage share : ps(present);
workload { arrive poisson(Rate); }
session { hold memory (1), blocks (1) { run desk (~exp(0.1)); run share (0.1); } }
run { horizon 10; warmup 1; }
"""


@pytest.fixture
def refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Refused:
    def run(content: str | bytes, *arguments: str) -> str:
        """What the command says about a file of this content."""
        path = tmp_path / "program.sq"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        started = time.perf_counter()
        assert main(["run", *arguments, str(path)]) == 1
        assert time.perf_counter() - started < 20
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("error: ")
        assert "Traceback" not in err
        return err

    return run


def edited(old: str, new: str) -> str:
    assert PROGRAM.count(old) == 1
    return PROGRAM.replace(old, new)


def test_the_program_itself_runs() -> None:
    assert serq_lab.compile(PROGRAM).run(check=True).ended > 5


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x7fELF\x02\x01\x01\x00\xff\xfe\x00\x80" * 50, "is not text: byte 8 is not UTF-8"),
        (PROGRAM.encode("utf-16"), "is not text"),
        (PROGRAM.encode().replace(b"memory", b"m\xe9moire"), "is not text"),
        (b"", "there is no program in"),
        (b" \r\n\t ", "there is no program in"),
    ],
    ids=["binary", "UTF-16", "Latin 1", "empty", "blank"],
)
def test_what_is_no_text(refused: Refused, content: bytes, said: str) -> None:
    assert said in refused(content)


def test_zero_bytes_are_named_where_they_stand(refused: Refused) -> None:
    assert "program.sq:1:5" in refused(PROGRAM.replace("C = 10", "\0 = 10", 1))


@pytest.mark.parametrize("command", ["run", "check", "fmt"])
def test_a_folder_and_a_missing_file(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path, said in ((tmp_path, "is a folder, not a program"), (tmp_path / "none.sq", "there is no file")):
        assert main([command, str(path)]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("error: ")
        assert said in err
        assert str(path) in err


N_DEEP = 10_000


@pytest.mark.parametrize(
    "deep",
    [
        "(" * N_DEEP + "1" + ")" * N_DEEP,
        "(" * N_DEEP,
        "max(1, " * N_DEEP + "1" + ")" * N_DEEP,
        "1 ? 2 : " * N_DEEP + "3",
        "-" * N_DEEP + "1",
    ],
    ids=["parentheses", "open parentheses", "calls", "conditions", "signs"],
)
def test_ten_thousand_deep_expressions(refused: Refused, deep: str) -> None:
    said = refused(edited("cap C;", f"cap {deep};"))
    assert "program.sq:3:" in said
    assert all(len(line) < 200 for line in said.splitlines())


def test_ten_thousand_deep_blocks(refused: Refused) -> None:
    body = "branch (1) { " * N_DEEP + "end;" + " }" * N_DEEP
    assert "program.sq:8:" in refused(edited("session { ", f"session {{ {body} "))


COMMENT = "// a comment, and then one more let that nobody reads\n"


@pytest.mark.parametrize("program", [COMMENT * 100_000 + PROGRAM, "let a = " + "1 + " * 1_250_000 + "; " + PROGRAM])
def test_five_megabytes(refused: Refused, program: str) -> None:
    said = refused(program)
    assert "MB long" in said
    assert "program.sq:1:1" in said
    assert all(len(line) < 200 for line in said.splitlines())


def test_what_is_wrong_at_the_end_of_a_long_program(refused: Refused) -> None:
    """Of a little less than is allowed."""
    said = refused(COMMENT * 15_000 + PROGRAM.replace("run desk", "run desc"))
    assert "program.sq:15008:" in said
    assert 'did you mean "desk"?' in said


def test_use_cycles(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "a.lib").write_text('use "b.lib";\ndef f(x) = x;\n')
    (tmp_path / "b.lib").write_text('use "a.lib";\ndef g(x) = x;\n')
    assert 'use "a.lib";' in refused('use "a.lib";\n' + PROGRAM)
    assert 'use "program.sq";' in refused('use "program.sq";\n' + PROGRAM)
    (tmp_path / "far.lib").write_text('use "program.sq";\n')
    assert "far.lib:1:1" in refused('use "far.lib";\n' + PROGRAM)


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("cap C", "cap -1", "3:19"),
        ("cap C", "cap 0 / 0", "3:19"),
        ("cap C", "cap C - 10.5", "3:19"),
        ("block 2", "block -2", "4:28"),
        ("block 2", "block 0 / 0", "4:28"),
        ("fifo(2)", "fifo(-1)", "5:19"),
        ("fifo(2)", "fifo(0 / 0)", "5:19"),
        ("fifo(2)", "fifo(1.5)", "5:19"),
        ("poisson(Rate)", "poisson(-Rate)", "7:27"),
        ("poisson(Rate)", "poisson(0 / 0)", "7:27"),
        ("poisson(Rate)", "poisson(1 / 0)", "7:27"),
        ("poisson(Rate)", "renewal(0)", "7:27"),
        ("poisson(Rate)", "renewal(-1)", "7:27"),
        ("poisson(Rate)", "closed(-3)", "7:26"),
        ("poisson(Rate)", "batch(1 / 0)", "7:25"),
        ("~exp(0.1)", "~exp(-0.1)", "8:56"),
        ("~exp(0.1)", "~uniform(0, 0 / 0)", "8:63"),
        ("horizon 10", "horizon -10", "9:15"),
        ("horizon 10", "horizon 0 / 0", "9:15"),
        ("warmup 1", "warmup -1", "9:26"),
        ("warmup 1", "warmup 10", "9:26"),
        ("warmup 1", "seed 1.5", "9:24"),
        ("warmup 1", "arrivals 0", "9:28"),
    ],
)
def test_values_that_make_no_sense_are_refused_before_the_run(refused: Refused, old: str, new: str, place: str) -> None:
    said = refused(edited(old, new))
    assert f"program.sq:{place}" in said


@pytest.mark.parametrize("value", ["-1", "0 / 0", "-1 / 0"])
@pytest.mark.parametrize("name", ["C", "Rate"])
def test_values_given_for_lets_are_refused_the_same(refused: Refused, name: str, value: str) -> None:
    said = refused(PROGRAM, "--set", f"{name}={value}")
    assert f'"{name}"' in said


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("margin", ["  ", "\t", "\t \t"], ids=["blanks", "tab", "tabs"])
def test_the_caret_stands_under_the_fault(refused: Refused, end: str, margin: str) -> None:
    """Whatever is before it on its line, and however lines end."""
    before = f"{margin}/* größe */\thold memory (1), blocks (1) {{ run "
    wrong = edited("session { hold memory (1), blocks (1) { run desk", f"session {{\n{before}desc")
    said = refused(wrong.replace("\n", end))
    assert f"program.sq:9:{len(before) + 1}\n" in said
    lines = said.splitlines()
    (shown,) = (k for k, line in enumerate(lines) if line.startswith("9 |"))
    caret = lines[shown + 1]
    assert lines[shown][caret.index("^") : caret.rindex("^") + 1] == "desc"
    assert "\r" not in said
    assert "\t" not in said
