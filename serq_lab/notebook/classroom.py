"""The chapters as an nbgrader course: exercises that are handed out, collected, and graded by running them.

In come the chapters; out goes a folder for nbgrader, each chapter an assignment. A chapter's exercise is one cell,
``answer = None`` and a `check`; here it becomes a cell for the answer and a locked one that gives the point.
``python -m serq_lab.notebook.classroom COURSE`` writes it; `tutorial/for-teachers.md` goes on from there.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell

from serq_lab.reading import tutorial_folder

TAG = "exercise"
CHECK = re.compile(r'check\("(?P<exercise>[^"]+)", (?P<name>\w+)\)')

CONFIG = """\
c = get_config()
c.CourseDirectory.course_id = "{course}"
c.ClearSolutions.code_stub = {{"python": "answer = None"}}  # what a student finds in place of a solution
c.ExecutePreprocessor.timeout = 120  # seconds a cell: the first run on a machine compiles the engine
"""


def write_course(course: Path, chapters: Path | None = None) -> list[str]:
    """Write an nbgrader course with every chapter as an assignment.

    Parameters
    ----------
    course : Path
        The folder of the course; its configuration is written unless there is one.
    chapters : Path, optional
        Where the chapters are; the tutorial by default.

    Returns
    -------
    list of str
        The assignments, by the names of their chapters.
    """
    source = tutorial_folder() if chapters is None else chapters
    names = []
    course.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.glob("*.ipynb")):
        target = course / "source" / path.stem / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(with_points(nbformat.read(path, as_version=4)), target)
        names.append(path.stem)
    config = course / "nbgrader_config.py"
    if not config.exists():
        config.write_text(CONFIG.format(course=course.resolve().name), encoding="utf-8")
    return names


def with_points(chapter: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A chapter whose exercises carry nbgrader's metadata: a cell for the answer, and a locked one for its point."""
    cells = []
    for cell in chapter.cells:
        found = CHECK.search(cell.source) if TAG in cell.metadata.get("tags", []) else None
        cells.append(cell)
        if found is not None:
            exercise, name = found["exercise"], found["name"]
            grade_id = exercise.replace("/", "-")
            answer, given = cell.source[: found.start()].rstrip(), cell.source[found.start() :]
            cell.source = f"### BEGIN SOLUTION\n{answer}\n### END SOLUTION\n{given}"
            cell.metadata["nbgrader"] = _metadata(grade_id, solution=True)
            point = new_code_cell(f'assert check("{exercise}", {name})', id=f"{grade_id}-point")
            point.metadata["nbgrader"] = {**_metadata(f"{grade_id}-point", solution=False), "points": 1}
            cells.append(point)
    chapter.cells = cells
    return chapter


def _metadata(grade_id: str, *, solution: bool) -> dict[str, Any]:
    return {
        "schema_version": 3, "grade_id": grade_id, "solution": solution, "grade": not solution,
        "locked": not solution, "task": False,
    }  # fmt: skip


if __name__ == "__main__":
    print("\n".join(write_course(Path(sys.argv[1]))))
