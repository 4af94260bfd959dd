"""The chapters run anew, so that what they show is what their cells say today.

In come the notebooks as they are; out go the same with the outputs of one run from the top. ``python -m
tests.tutorial.run_chapters`` runs all of them, with names behind it as ``02-memory`` some; `test_chapters.py` holds
them to it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "tutorial"
CHAPTERS = sorted(path.stem for path in TUTORIAL.glob("[0-9][0-9]-*.ipynb"))

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
"""Of a kernel: it runs the lab of this folder."""

A_MINUTE = 60  # seconds for a cell; the longest takes a few
WIDGET = "application/vnd.jupyter.widget-view+json"


def run_anew(name: str) -> None:
    """Run a chapter in a kernel of its own and write it back, without what differs from run to run."""
    path = TUTORIAL / f"{name}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    metadata = dict(notebook.metadata)
    client = NotebookClient(
        notebook,
        timeout=A_MINUTE,
        record_timing=False,
        coalesce_streams=True,  # how the output of a loop is cut in pieces is chance
        store_widget_state=False,
        resources={"metadata": {"path": str(TUTORIAL)}},
    )
    client.execute(env=ENVIRONMENT)
    notebook.metadata = nbformat.from_dict(metadata)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET, None)  # on a page without a kernel it is an empty box
    nbformat.write(notebook, path)


if __name__ == "__main__":
    for chapter in sys.argv[1:] or CHAPTERS:
        run_anew(chapter)
        print(chapter)
