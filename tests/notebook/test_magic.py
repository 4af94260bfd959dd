"""Cells and lines of serQ: what they give, what they bind, and how they fail."""

from __future__ import annotations

from typing import Any

import pytest
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell

import serq_lab
from serq_lab import ProgramError
from serq_lab.notebook.cell_error import InterruptedRun, UsageError
from serq_lab.notebook.magic import run_cell
from tests.notebook.programs import MEMORY, SMALL


def run(shell: InteractiveShell, cell: str) -> ExecutionResult:
    return shell.run_cell(cell, store_history=True)


def test_the_value_of_a_cell_is_the_report(shell: InteractiveShell) -> None:
    report = run(shell, "%%serq small --set C=5 --seed 3 --horizon=50\n" + SMALL).result
    assert report.lets == {"C": 5.0, "Wait": 1.0, "Unused": 5.0}
    assert (report.seed, report.horizon) == (3, 50.0)
    assert shell.user_ns["small"].lets["C"] == 4.0
    assert run(shell, "%%serq --warmup 2 --set Wait=C/2\n" + SMALL).result.lets["Wait"] == 2.0


def test_arrivals_can_be_limited(shell: InteractiveShell) -> None:
    assert run(shell, f"%serq {MEMORY} --warmup 0 --arrivals 300").result.arrivals == 300


def test_a_file(shell: InteractiveShell) -> None:
    report = run(shell, f"report = %serq {MEMORY} --set C=6").success
    assert report
    assert shell.user_ns["report"].observe["admit_wait"].mean == pytest.approx(1.5358, abs=5e-5)


def test_checking_runs_nothing(shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serq_lab.Program, "run", lambda *_, **__: pytest.fail("it ran"))
    assert isinstance(run(shell, "%%serq --check\n" + SMALL).result, serq_lab.Program)


def test_quiet_binds_and_shows_nothing(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(shell, "%%serq small --quiet\nlet Nobody = 1;\n" + SMALL).result is None
    assert "Nobody" in shell.user_ns["small"].lets
    assert capsys.readouterr() == ("", "")


def test_warnings_are_shown(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    run(shell, "%%serq\n" + SMALL)
    assert '"Unused"' in capsys.readouterr().err


def test_python_values_come_in_by_braces_in_the_line(shell: InteractiveShell) -> None:
    run(shell, "n = 3")
    assert run(shell, "%%serq --set C={n + 2}\n" + SMALL).result.lets["C"] == 5.0


# ------------------------------------------------------------------ C1, C2, K12: the body as it is

HOSTILE = (
    '// {"a": 1} {undefined} {n} $n $HOME 100% ! ? it\'s %s\n'
    '\tlet café = 2;\t// a tab, é and a lone " quote\n'
    "stage s : delay;\nworkload { arrive batch(1); }\n"
    "session { run s (café); observe x = now; }\nrun { horizon 9; }\n// );"
)


def test_the_body_reaches_the_parser_byte_for_byte(shell: InteractiveShell) -> None:
    run(shell, "n = 7")
    assert run(shell, "%%serq hostile\n" + HOSTILE).result.observe["x"].mean == 2.0
    assert shell.user_ns["hostile"].source.removesuffix("\n") == HOSTILE


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("first", ["// a comment first", "", "/* another */"])
def test_any_first_line_and_any_line_end(shell: InteractiveShell, end: str, first: str) -> None:
    body = end.join([first, *SMALL.splitlines(), ""])
    assert run(shell, f"%%serq small{end}{body}").success
    assert shell.user_ns["small"].source == body


def test_a_body_that_ends_in_a_semicolon_is_shown_all_the_same(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, "%%serq\n" + SMALL + "let Last = 2;")
    assert "run: horizon 100" in capsys.readouterr().out


# ------------------------------------------------------------------ C4: the notebook's own line numbers


@pytest.mark.parametrize("blank_lines", [0, 3])
def test_lines_are_numbered_as_the_notebook_does(
    shell: InteractiveShell, blank_lines: int, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = "\n" * blank_lines + "%%serq\n" + SMALL.replace("run server", "run servr")
    wanted = next(number for number, line in enumerate(cell.split("\n"), 1) if "servr" in line)
    with pytest.raises(ProgramError):
        run(shell, cell).raise_error()
    shown = capsys.readouterr().out
    assert f" --> cell:{wanted}:39\n" in shown
    assert f"\n{wanted} |   hold mem (u) {{ observe got = u; run servr (Wait); }}\n" in shown


# ------------------------------------------------------------------ C3, C5: mistakes


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--horizn 4", "No such option '--horizn'. Did you mean '--horizon'?"),
        ("--seed 1 --seed 2", "`--seed` is given twice"),
        ("--seed=1 --seed 2 --seed 3", "`--seed` is given 3 times"),
        ("--set C=1 --set C=2", '"C" is given twice'),
        ("--set CC=1", 'the program has no let "CC"; did you mean "C"?'),
        ("--seed 2.5", '"2.5" is not a whole number'),
        ("--seed", "Option '--seed' requires an argument"),
        ("one two", "unexpected extra argument"),
        ("2fast", "`2fast` cannot be a name"),
        ('"open', "a quotation mark is not closed"),
        ("--explore CC", "the program has no let `CC`; did you mean"),
    ],
)
def test_a_wrong_line_is_one_line(line: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        run_cell(line, SMALL, {})
    (shown,) = caught.value._render_traceback_()
    assert shown.startswith("error: ")
    assert said.lower() in shown.lower()
    assert "\n" not in shown


@pytest.mark.parametrize(
    "body",
    [
        SMALL.replace("cap C", "cap C +"),
        SMALL.replace("serial", "seriall"),
        SMALL.replace("set u = serial + 1;", "set u = 1; branch (u / 2) { end; }"),
        "",
    ],
)
def test_a_failing_cell_shows_caret_text_alone(
    shell: InteractiveShell, body: str, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run(shell, "%%serq\n\n" + body)
    assert not result.success
    shown = capsys.readouterr().out
    assert shown.startswith("error: ")
    assert "Traceback" not in shown
    assert ".py" not in shown
    assert len(shown.splitlines()) <= 15


def test_many_faults_are_cut_to_what_can_be_read(capsys: pytest.CaptureFixture[str], shell: InteractiveShell) -> None:
    wrong = SMALL.replace("session {", "session {" + "".join(f" set a{n} = nobody{n};\n" for n in range(9)))
    error = run(shell, "%%serq\n" + wrong).error_in_exec
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 16
    assert lines[-1] == "and 7 more faults"
    assert str(error).count("error: ") == 9


def test_the_python_traceback_on_demand(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    run(shell, "%%serq --traceback\n" + SMALL.replace("serial", "seriall"))
    captured = capsys.readouterr()
    assert "Traceback" in captured.err
    assert captured.out.startswith("error: ")


def test_an_interrupt_says_so_and_leaves_the_shell_alive(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(serq_lab.Program, "run", interrupted)
    assert isinstance(run(shell, "%%serq\n" + SMALL).error_in_exec, InterruptedRun)
    assert capsys.readouterr().out == "interrupted\n"
    monkeypatch.undo()
    assert run(shell, "%%serq\n" + SMALL).success


# ------------------------------------------------------------------ help, loading


@pytest.mark.parametrize("cell", ["%%serq --help", "%serq --help", "%%serq -h\n", "%%serq --help\n" + SMALL])
def test_help(shell: InteractiveShell, cell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(shell, cell).success
    out = capsys.readouterr().out
    assert out.startswith("Usage: %")
    assert "--explore" in out


def test_the_help_says_where_the_magic_stands(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    run(shell, "%%serq --help")
    assert "first line of the cell, before any comment" in " ".join(capsys.readouterr().out.split())


def hooks(shell: InteractiveShell) -> list[Any]:
    named = [each for each in shell.input_transformers_cleanup if getattr(each, "__name__", "") == "with_a_body"]
    events = [each for each in shell.events.callbacks["pre_run_cell"] if each.__module__.startswith("serq_lab")]
    return [*named, *events, *shell.Completer.custom_matchers]


def test_loading_twice_is_silent_and_leaves_one_of_each(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    before = len(hooks(shell))
    for cell in ("%load_ext serq_lab", "%load_ext serq_lab", "%reload_ext serq_lab"):
        assert run(shell, cell).success
    assert capsys.readouterr() == ("", "")
    assert len(hooks(shell)) == before == 3
    run(shell, "%unload_ext serq_lab")
    assert hooks(shell) == []
    assert not run(shell, "%%serq\n" + SMALL).success
    run(shell, "%load_ext serq_lab")
    assert run(shell, "%%serq\n" + SMALL).success
