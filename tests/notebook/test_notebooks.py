"""Whole notebooks through a real kernel, as graders and documentation run them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import nbformat
import pytest
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_notebook
from pygments.lexers import get_lexer_by_name
from traitlets.config import Config

from serq_lab.notebook.lexer import SerqLexer
from tests.notebook.programs import MEMORY, ROOT, SMALL

KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}


@pytest.fixture(autouse=True)
def _this_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel imports the package under test, also where it is not installed."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))


def notebook(*cells: str) -> nbformat.NotebookNode:
    return new_notebook(cells=[new_code_cell(cell) for cell in ("%load_ext serq_lab", *cells)], metadata=KERNEL)


def executed(*cells: str, **options: Any) -> nbformat.NotebookNode:
    return NotebookClient(notebook(*cells), timeout=120, **options).execute()


def outputs(done: nbformat.NotebookNode, cell: int) -> list[nbformat.NotebookNode]:
    return list(done.cells[cell].outputs)


def test_a_good_run_says_nothing_on_stderr_and_holds_no_path() -> None:
    done = executed("%%serq small\n" + SMALL.replace("let Unused = C;", ""), "small", "print(small.run())")
    assert [output.output_type for cell in range(3) for output in outputs(done, cell)] == ["execute_result"] * 2
    text = json.dumps(done.cells)
    assert "stderr" not in text
    assert str(Path.home()) not in text
    assert " at 0x" not in text
    report = outputs(done, 1)[0].data
    assert report["text/plain"] + "\n" == outputs(done, 3)[0].text
    assert set(report) == {"text/plain", "text/html"}


@pytest.mark.parametrize(
    "cell",
    [
        "%%serq\n" + SMALL.replace("run server", "run servr"),
        "%%serq --horizn 5\n" + SMALL,
        f"%serq {MEMORY} --set C=-1",
        "%%serq --explore\n" + SMALL.replace("cap C", "cap -C"),
    ],
)
def test_a_failing_cell_fails_the_run(cell: str) -> None:
    with pytest.raises(CellExecutionError):
        executed(cell)
    done = executed(cell, allow_errors=True)
    (error,) = [output for output in outputs(done, 1) if output.output_type == "error"]
    shown = "\n".join(error.traceback)
    assert shown.startswith("error: ")
    assert "Traceback" not in shown
    assert len(error.traceback) <= 15


def test_a_panel_leaves_a_picture_and_a_table_and_returns_at_once() -> None:
    begun_at = monotonic()
    done = executed("%%serq small --explore\n" + SMALL.replace("let Unused = C;", ""))
    assert monotonic() - begun_at < 60
    (output,) = outputs(done, 1)
    assert set(output.data) == {"text/plain", "text/html", "application/vnd.jupyter.widget-view+json"}
    assert output.data["text/html"].count("<img ") == 1
    done.metadata.pop("widgets")  # as a page that has no widgets shows it
    page, _ = HTMLExporter().from_notebook_node(done)
    assert "data:image/png;base64," in page
    assert "got mean" in page


def test_the_panel_leaves_one_picture_in_the_notebook_however_often_it_is_redrawn() -> None:
    moves = "for value in (2, 5, 7, 3):\n    panel.widgets.controls['C'].value = value\n    panel.finish()"
    cells = ["%%serq small --quiet\n" + SMALL, "panel = small.explore(); panel", moves, "print(panel)"]
    done = executed(*cells)
    assert [len(outputs(done, cell)) for cell in (2, 3)] == [1, 0]
    assert outputs(done, 4)[0].text == "<panel: C = 3, Wait = 1>\n"
    state = done.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
    assert [model["model_name"] for model in state.values()].count("ImageModel") == 1


def test_nbval_finds_the_same_again(tmp_path: Path) -> None:
    path = tmp_path / "again.ipynb"
    done = executed("%%serq small\n" + SMALL.replace("let Unused = C;", ""), "print(small.run(set={'C': 6}))")
    nbformat.write(done, path)
    command = [sys.executable, "-m", "pytest", "--nbval", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    checked = subprocess.run([*command, str(path)], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert checked.returncode == 0, checked.stdout


def test_serq_is_coloured_where_nbconvert_is_told_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    where_it_looks = get_lexer_by_name.__globals__
    monkeypatch.setitem(
        where_it_looks, "find_plugin_lexers", lambda: iter([SerqLexer])
    )  # as an installed package has it
    config = Config({"HighlightMagicsPreprocessor": {"languages": {"%%serq": "serq"}}})
    page, _ = HTMLExporter(config=config).from_notebook_node(notebook("%%serq small\n" + SMALL))
    assert '<span class="cp">%%serq small</span>' in page
    assert '<span class="nv">mem</span>' in page


class Kernel:
    """A kernel that is talked to cell by cell."""

    def __init__(self) -> None:
        self.manager, self.client = start_new_kernel()

    def start(self, cell: str) -> str:
        return str(self.client.execute(cell, stop_on_error=False))  # what comes behind an error is wanted too

    def reply(self, message: str) -> dict[str, Any]:
        while True:
            answer = self.client.get_shell_msg(timeout=120)
            if answer["parent_header"].get("msg_id") == message:
                return dict(answer["content"])

    def published(self, message: str) -> Iterator[dict[str, Any]]:
        """What a cell shows, until it is done."""
        while True:
            answer = self.client.get_iopub_msg(timeout=120)
            if answer["parent_header"].get("msg_id") == message:
                yield dict(answer["content"])
                if answer["content"].get("execution_state") == "idle":
                    return

    def run(self, cell: str) -> dict[str, Any]:
        return self.reply(self.start(cell))

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


def test_a_long_run_shows_a_bar_to_whoever_sits_there_and_leaves_nothing_for_a_grader() -> None:
    long = f"%serq {MEMORY} --horizon 2e7 --set Lambda=0.5"
    done = executed(f"report = {long}")
    assert outputs(done, 1) == []
    kernel = Kernel()
    try:
        assert kernel.run("%load_ext serq_lab")["status"] == "ok"
        message = kernel.client.execute(f"report = {long}", allow_stdin=True)
        assert any("to go" in json.dumps(content) for content in kernel.published(message))
    finally:
        kernel.close()


def test_an_interrupt_comes_back_soon_with_the_kernel_alive() -> None:
    kernel = Kernel()
    try:
        assert kernel.run("%load_ext serq_lab")["status"] == "ok"
        assert kernel.run(f"kept = 41\nreport = %serq {MEMORY} --horizon 2e4")["status"] == "ok"
        long = kernel.start(f"%serq {MEMORY} --horizon 1e9 --quiet")
        sleep(2.0)
        begun_at = monotonic()
        kernel.manager.interrupt_kernel()
        answer = kernel.reply(long)
        assert monotonic() - begun_at < 2.0  # half a second is meant; a busy machine is given more
        assert answer["status"] == "error"
        assert answer["ename"] == "InterruptedRun"
        assert kernel.run("assert kept == 41 and report.horizon == 2e4")["status"] == "ok"
    finally:
        kernel.close()


def test_an_empty_home_twice(tmp_path: Path) -> None:
    """The first run on a clean machine compiles the engine, and says so once; the second says nothing."""
    home = {name: str(tmp_path) for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "IPYTHONDIR", "MPLCONFIGDIR")}
    program = "%%serq --explore\n" + SMALL.replace("let Unused = C;", "")
    for said in (1, 0):
        client = NotebookClient(notebook(program), timeout=240)
        done = client.execute(env={**os.environ, **home})
        streams = [output.text for output in outputs(done, 1) if output.output_type == "stream"]
        assert len(streams) == said
        assert all("compil" in text for text in streams)
