"""Notebooks for a user's own program, the copy of the tutorial, and the two commands."""

from __future__ import annotations

import base64
import os
import re
import sys
from pathlib import Path

import nbformat
import pytest
from jupyterlab.labapp import LabApp
from nbclient import NotebookClient

import serq_lab
from serq_lab import cli
from serq_lab.notebook.files import copy_tutorial, heading, write_notebook
from serq_lab.reading import tutorial_folder
from tests.notebook.programs import MEMORY, ROOT, SMALL


def cells_of(path: Path) -> list[nbformat.NotebookNode]:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return list(notebook.cells)


def test_a_lab_notebook(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "02-memory.sq"
    program.write_bytes(MEMORY.read_bytes())
    assert cli.main(["notebook", str(program)]) == 0
    path = tmp_path / "02-memory.ipynb"
    assert str(path) in capsys.readouterr().out
    cells = cells_of(path)
    texts = [cell.source for cell in cells]
    assert texts[0].startswith("# Chapter 2: memory is a resource\n\nFour servers,")
    assert texts[1] == "%load_ext serq_lab"
    assert texts[2] == "%%serq memory\n" + MEMORY.read_text(encoding="utf-8").rstrip()
    assert "memory.explore()" in texts
    assert any(text.startswith('sweep = memory.sweep({"C": [3, ') for text in texts)
    assert 'sweep.knee("observe.admit_wait.mean", by="C")' in texts


def test_a_lab_notebook_runs_from_the_top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through a real kernel: every cell shows what it is there for."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    program = tmp_path / "small.sq"
    program.write_text(SMALL)
    assert cli.main(["notebook", str(program)]) == 0
    notebook = nbformat.read(tmp_path / "small.ipynb", as_version=4)
    client = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}})
    load, cell, panel, sweep, knee = (each for each in client.execute().cells if each.cell_type == "code")
    assert load.outputs == []
    assert cell.outputs[-1].data["text/plain"].startswith("run: horizon ")
    assert "<img " in panel.outputs[0].data["text/html"]
    (picture,) = sweep.outputs
    assert base64.b64decode(picture.data["image/png"]).startswith(b"\x89PNG")
    assert "means with 95% intervals" in picture.data["text/plain"]
    assert re.match("<(no )?knee", knee.outputs[0].data["text/plain"])


def test_what_others_can_open(tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    write_notebook(serq_lab.compile(SMALL), "small", path)
    notebook = nbformat.read(path, as_version=4)
    assert notebook.metadata["kernelspec"]["name"] == "python3"
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    assert all(not cell.metadata for cell in notebook.cells)
    again = tmp_path / "again.ipynb"
    write_notebook(serq_lab.compile(SMALL), "small", again)
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("comment", "wanted"),
    [
        ("// One line.", "# One line"),
        ("// Title\n// goes\n// on", "# Title\n\ngoes on"),
        ("/* Title\n * more */", "# Title\n\nmore"),
        ("", "# small"),
    ],
)
def test_the_title_is_the_first_comment(comment: str, wanted: str) -> None:
    assert heading(serq_lab.compile(comment + "\n" + SMALL), "small") == wanted


def test_a_program_without_lets_has_no_experiments(tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    write_notebook(serq_lab.compile("workload { arrive batch(1); } session { end; } run { horizon 1; }"), "p", path)
    assert len(cells_of(path)) == 3


def test_an_existing_notebook_is_not_replaced_unasked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, path = tmp_path / "9.sq", tmp_path / "other.ipynb"
    program.write_text(SMALL)
    path.write_text("mine")
    assert cli.main(["notebook", str(program), "--out", str(path)]) == 2
    assert "is there already; write `--force` to replace it" in capsys.readouterr().err
    assert path.read_text() == "mine"
    assert cli.main(["notebook", str(program), "--out", str(path), "--force"]) == 0
    assert cells_of(path)[2].source.startswith("%%serq program\n")


def test_a_wrong_program_has_no_notebook(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "wrong.sq"
    program.write_text(SMALL.replace("run server", "run servr"))
    assert cli.main(["notebook", str(program)]) == 1
    assert 'there is no stage "servr"' in capsys.readouterr().err
    assert not (tmp_path / "wrong.ipynb").exists()


def test_the_tutorial_is_copied_and_own_work_is_kept(tmp_path: Path) -> None:
    mine = tmp_path / "programs" / "02-memory.sq"
    mine.parent.mkdir()
    mine.write_text("mine")
    copy_tutorial(tmp_path)
    assert mine.read_text() == "mine"
    copied = {path.relative_to(tmp_path) for path in tmp_path.rglob("*.sq")}
    assert copied == {path.relative_to(tutorial_folder()) for path in tutorial_folder().rglob("*.sq")}
    assert Path("programs/01-queue.sq") in copied


def test_the_lab_opens_on_the_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[tuple[list[str], Path]] = []
    monkeypatch.setattr(LabApp, "launch_instance", lambda options: called.append((options, Path.cwd())))
    monkeypatch.chdir(tmp_path)  # and back to where it was
    assert cli.main(["lab", "lab", "--", "--no-browser", "--port=9"]) == 0
    assert called == [(["--no-browser", "--port=9"], tmp_path / "lab")]
    assert (tmp_path / "lab" / "programs" / "01-queue.sq").exists()


@pytest.mark.parametrize("command", [["lab"], ["notebook", str(MEMORY), "--out", "n.ipynb"]])
def test_without_the_lab_the_command_says_what_to_install(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "nbformat", None)
    monkeypatch.delitem(sys.modules, "serq_lab.notebook.files")
    monkeypatch.delattr(serq_lab.notebook, "files")
    assert cli.main(command) == 1
    assert "pip install 'serq-lab[lab]'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
