"""The chapters: what each must have, and the same text again when it is run again."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest

import serq_lab
from serq_lab.reading import read

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "tutorial"
CHAPTERS = sorted(path.stem for path in TUTORIAL.glob("[0-9][0-9]-*.ipynb"))
PROGRAMS = sorted(path.stem for path in (TUTORIAL / "programs").glob("[0-9][0-9]-*.sq"))

DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?!\w|\.\d)")
WHOLE = re.compile(r"(?<![\w.,/-])\d{3,}(?!\w|\.\d)")
YEAR = re.compile(r"19\d\d|20[0-2]\d")
NOT_A_RESULT = re.compile(r"\]\([^)]*\)|section \d+\.\d+|`[^`]*`", re.DOTALL)
"""Links, places in books, and code that a reader is asked to type."""

ELSEWHERE = {
    "04-the-prefix-cache": {"519", "520", "530", "531", "1006", "1008", "1009", "1013"},
    "05-the-engine": {"511"},
}
"""Numbers in a picture, of sessions and on the axis of time; and one that a reader subtracts, 512 less 1."""

every_chapter = pytest.mark.parametrize("name", CHAPTERS)


@cache
def chapter(name: str) -> Any:
    return nbformat.read(TUTORIAL / f"{name}.ipynb", as_version=nbformat.NO_CONVERT)


def code_cells(name: str) -> list[Any]:
    return [cell for cell in chapter(name).cells if cell.cell_type == "code"]


def prose(name: str) -> str:
    return "\n\n".join(cell.source for cell in chapter(name).cells if cell.cell_type == "markdown")


def shown(cell: Any) -> str:
    """The text of a code cell's outputs."""
    texts = []
    for output in cell.outputs:
        texts += [output.get("text", ""), output.get("evalue", ""), output.get("data", {}).get("text/plain", "")]
    return "\n".join(texts)


def tags(cell: Any) -> list[str]:
    return list(cell.metadata.get("tags", []))


def test_there_are_chapters() -> None:
    assert CHAPTERS[:4] == ["00-start", "01-a-queue", "02-memory", "03-sessions"]


@every_chapter
def test_it_opens_on_every_machine(name: str) -> None:
    notebook = chapter(name)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert notebook.metadata.kernelspec.name == "python3"
    assert dict(notebook.metadata.language_info) == {"name": "python"}
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    assert all(set(cell.metadata) <= {"tags", "nbgrader"} for cell in notebook.cells)


@every_chapter
def test_its_outputs_are_those_of_one_run_from_the_top(name: str) -> None:
    cells = code_cells(name)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert not [output for output in outputs if output.get("name") == "stderr"]
    assert not [output for output in outputs if "application/vnd.jupyter.widget-view+json" in output.get("data", {})]
    said = json.dumps([{**output, "traceback": []} for output in outputs])
    assert not re.search(r" at 0x[0-9a-f]|/home/|/tmp/|/work/|site-packages", said)


@every_chapter
def test_a_question_and_a_prediction_come_before_the_first_program(name: str) -> None:
    cells = chapter(name).cells
    first = next(row for row, cell in enumerate(cells) if cell.source.startswith("%%serq"))
    before = "\n".join(cell.source for cell in cells[:first]).lower()
    assert "question" in before
    assert re.search("predict|write down", before)


@every_chapter
def test_it_has_a_panel_with_a_picture_and_a_mistake_with_a_caret(name: str) -> None:
    panels = [cell for cell in code_cells(name) if ".explore(" in cell.source]
    assert panels
    assert all("<img " in cell.outputs[0].data["text/html"] for cell in panels)
    (mistake,) = [cell for cell in code_cells(name) if "raises-exception" in tags(cell)]
    assert "^" in shown(mistake)
    assert mistake.outputs[0].evalue.strip().startswith("error: ")
    others = [cell for cell in code_cells(name) if cell is not mistake]
    assert not [output for cell in others for output in cell.outputs if output.output_type == "error"]


@every_chapter
def test_it_ends_with_things_to_try_three_exercises_and_a_summary(name: str) -> None:
    cells = "\n".join(cell.source for cell in code_cells(name))
    asked = re.findall(r"^answer = None.*\ncheck\((.*), answer\)$", cells, re.MULTILINE)
    assert asked == [f'"{name}/{number}"' for number in (1, 2, 3)]
    assert re.search(r"\btry\b.*\bexercise\b.*^## summary$", prose(name).lower(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_program_of_a_chapter_is_the_file(program: str) -> None:
    bodies = [
        cell.source.partition("\n")[2]
        for name in CHAPTERS
        if name[:2] == program[:2]
        for cell in code_cells(name)
        if cell.source.startswith("%%serq")
    ]
    assert read(TUTORIAL / "programs" / f"{program}.sq").text.rstrip("\n") in bodies


@every_chapter
def test_every_number_in_prose_stands_in_a_cell_above_it(name: str) -> None:
    above = ""
    for cell in chapter(name).cells:
        if cell.cell_type == "code":
            above += f"\n{cell.source}\n{shown(cell)}"
        elif not cell.source.startswith(("### Exercise", "**Exercise")):  # what is asked for there is no result
            numbers = DECIMAL.findall(NOT_A_RESULT.sub(" ", cell.source))
            known = set(DECIMAL.findall(above))
            assert [number for number in numbers if number not in known] == []


@every_chapter
def test_every_whole_number_in_prose_is_shown_above_or_is_a_setting(name: str) -> None:
    """From three digits on: smaller ones are counted by the reader. Prose has 30 000 for 30_000, 30000 and 3e4."""
    sources = "\n".join(cell.source for cell in code_cells(name)).replace("_", "")
    settings = set(WHOLE.findall(sources)) | {f"{float(number):.0f}" for number in re.findall(r"\b\d+e\d\b", sources)}
    above = ""
    for cell in chapter(name).cells:
        if cell.cell_type == "code":
            above += f"\n{shown(cell)}"
        elif not cell.source.startswith("### Exercise"):
            numbers = set(WHOLE.findall(NOT_A_RESULT.sub(" ", cell.source).replace("\u00a0", "")))
            known = settings | set(WHOLE.findall(above)) | ELSEWHERE.get(name, set())
            assert {number for number in numbers - known if not YEAR.fullmatch(number)} == set()


@pytest.fixture(scope="module")
def _compiled() -> None:
    """The engine is on disk: in an empty home the first run of all says that it compiles, and no chapter says so."""
    serq_lab.load(TUTORIAL / "programs" / "00-start.sq").run(horizon=6000)


@every_chapter
@pytest.mark.usefixtures("_compiled")
def test_run_again_it_says_the_same(name: str, tmp_path: Path) -> None:
    """nbval compares all text, to the digit."""
    command = [sys.executable, "-m", "pytest", "--nbval", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    command += ["-c", os.devnull, "--nbval-sanitize-with", str(TUTORIAL / "nbval-sanitize.cfg")]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [*command, str(TUTORIAL / f"{name}.ipynb")],
        capture_output=True, text=True, cwd=tmp_path, check=False, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert f"{len(code_cells(name))} passed" in done.stdout
