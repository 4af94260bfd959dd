"""Notebooks as files: a lab notebook for a user's own program, and a copy of the tutorial to work in.

In come paths; out go files, ready for JupyterLab. Called by the commands ``serq notebook`` and ``serq lab``.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from serq_lab.notebook.panel.controls import controls_of
from serq_lab.notebook.panel.first_view import first_statistic
from serq_lab.notebook.panel.ranges import thinned
from serq_lab.pipeline import Program
from serq_lab.reading import tutorial_folder
from serq_lab.syntax.scanner import scan

POINTS = 9  # of the sweep

KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
"""The kernel that every installation has: a name from one machine's environment would open on no other."""


def write_notebook(program: Program, name: str, path: Path) -> None:
    """Write a lab notebook for a program.

    Parameters
    ----------
    program : Program
    name : str
        What the notebook calls the program, a name in Python.
    path : Path
        Where the notebook goes; an existing file is replaced.
    """
    cells = [("markdown", heading(program, name)), ("code", "%load_ext serq_lab")]
    cells += [("code", f"%%serq {name}\n{program.source.rstrip()}")]
    lets = [let.name for let in program.model.lets]
    if lets and program.model.observations:
        cells += _experiments(program, name)
    notebook = new_notebook(metadata={"kernelspec": KERNEL, "language_info": {"name": "python"}})
    for number, (kind, text) in enumerate(cells):
        make = new_markdown_cell if kind == "markdown" else new_code_cell
        notebook.cells.append(make(text, id=f"cell-{number}"))  # ids that do not change from one time to the next
    nbformat.validate(notebook)
    nbformat.write(notebook, path)


def heading(program: Program, name: str) -> str:
    """The comment that the program begins with, its first line as the title."""
    found = scan(program.source_text)
    first = found.tokens[0].span.start
    lines = []
    for comment in found.comments:
        if comment.span.start < first:
            inner = comment.text[2:-2] if comment.text.startswith("/*") else comment.text[2:]
            lines += [line.strip().lstrip("*").strip() for line in inner.splitlines()]
    title, *rest = [line for line in lines if line] or [name]
    return "\n\n".join(part for part in (f"# {title.rstrip('.')}", " ".join(rest)) if part)


def _experiments(program: Program, name: str) -> list[tuple[str, str]]:
    controls = controls_of(program, (), {}, {}, {})
    axis = controls.axis
    control = next(each for each in controls.moved if each.name == axis)
    values = ", ".join(f"{value:.6g}" for value in thinned(control.values, control.start, POINTS))
    statistic = first_statistic(program.model)
    return [
        ("markdown", "## Move the numbers\n\nEach `let` has a slider; the picture follows."),
        ("code", f"{name}.explore()"),
        ("markdown", f"## How it depends on {axis}\n\nEvery point is run ten times: the band is what chance can do."),
        (
            "code",
            f'sweep = {name}.sweep({{"{axis}": [{values}]}}, replications=10)\nsweep.plot("{statistic}", by="{axis}")',
        ),
        ("markdown", "## Where it bends\n\nThe knee, with its interval; or why there is none."),
        ("code", f'sweep.knee("{statistic}", by="{axis}")'),
    ]


def copy_tutorial(folder: Path) -> Path:
    """Copy the tutorial into a folder; what is there already, a student's own work, stays as it is."""
    source = tutorial_folder()
    for file in sorted(source.rglob("*")):
        if file.is_file() and not any(part.startswith((".", "__")) for part in file.relative_to(source).parts):
            target = folder / file.relative_to(source)
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target)
    return folder


def open_lab(folder: Path, options: Sequence[str]) -> None:
    """Run JupyterLab on a folder until it is told to end.

    It runs in this process, so that a signal that ends this one is JupyterLab's own: it ends its kernels first.

    Parameters
    ----------
    folder : Path
        Its notebooks are seen.
    options : sequence of str
        Options of JupyterLab, as in ``["--no-browser"]``.
    """
    from jupyterlab.labapp import LabApp  # takes a second to import

    os.chdir(folder)
    LabApp.launch_instance(list(options))
