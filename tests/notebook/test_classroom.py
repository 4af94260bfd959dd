"""A chapter handed out and collected with nbgrader itself: a right answer has its point, a wrong one has none."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from serq_lab.notebook.classroom import with_points, write_course
from tests.notebook.programs import ROOT


def exercise(number: int) -> nbformat.NotebookNode:
    source = f'answer = None\ncheck("02-memory/{number}", answer)'
    return new_code_cell(source, id=f"exercise-{number}", metadata={"tags": ["exercise"]})


def chapter() -> nbformat.NotebookNode:
    cells = [
        new_markdown_cell("# A chapter"),
        new_code_cell("from serq_lab.exercises import check", id="checker"),
        exercise(1),
        exercise(2),
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})


def nbgrader(course: Path, *arguments: str) -> None:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=course,
        env={**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_an_exercise_becomes_an_answer_and_a_point() -> None:
    made = with_points(chapter())
    nbformat.validate(made)
    graded = [cell.metadata.nbgrader.grade_id for cell in made.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    assert graded == ["02-memory-1-point", "02-memory-2-point"]
    assert made.cells[3].source == 'assert check("02-memory/1", answer)'


def test_handed_out_collected_and_graded(tmp_path: Path) -> None:
    chapters, course = tmp_path / "chapters", tmp_path / "course"
    chapters.mkdir()
    nbformat.write(chapter(), chapters / "02-memory.ipynb")
    assert write_course(course, chapters) == ["02-memory"]
    nbgrader(course, "generate_assignment", "02-memory")
    released = nbformat.read(course / "release" / "02-memory" / "02-memory.ipynb", as_version=4)
    assert released.cells[2].source == 'answer = None\ncheck("02-memory/1", answer)'

    for student, answer in (("ada", "8"), ("bert", "4")):
        handed_in = course / "submitted" / student / "02-memory" / "02-memory.ipynb"
        handed_in.parent.mkdir(parents=True)
        released.cells[2].source = f'answer = {answer}\ncheck("02-memory/1", answer)'
        nbformat.write(released, handed_in)
    nbgrader(course, "autograde", "02-memory")

    with sqlite3.connect(course / "gradebook.db") as book:
        rows = book.execute(
            "SELECT s.student_id, SUM(g.auto_score) FROM grade g "
            "JOIN submitted_notebook n ON g.notebook_id = n.id "
            "JOIN submitted_assignment s ON n.assignment_id = s.id GROUP BY s.student_id"
        ).fetchall()
    book.close()
    assert dict(rows) == {"ada": 1.0, "bert": 0.0}


def test_the_chapters_themselves_become_assignments(tmp_path: Path) -> None:
    names = write_course(tmp_path)
    assert names == sorted(path.stem for path in (ROOT / "tutorial").glob("*.ipynb"))
    for name in names:
        made = nbformat.read(tmp_path / "source" / name / f"{name}.ipynb", as_version=4)
        nbformat.validate(made)
        assert sum(cell.metadata.get("nbgrader", {}).get("points", 0) for cell in made.cells) == 3
