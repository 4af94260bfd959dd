"""A kernel at the end of a chapter is small enough for a class on one machine."""

from __future__ import annotations

import sys

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell

from tests.tutorial.many_kernels import memory
from tests.tutorial.run_chapters import A_MINUTE, ENVIRONMENT, TUTORIAL

WITHOUT_PYARROW = 'import sys; sys.modules["pyarrow"] = None'
"""A class installs ``serq-lab[lab]``, which does not bring it; where it is there, pandas loads its 35 MB."""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize("chapter", ["02-memory", "05-the-engine"])
def test_a_kernel_at_the_end_of_a_chapter(chapter: str) -> None:
    notebook = nbformat.read(TUTORIAL / f"{chapter}.ipynb", as_version=4)
    notebook.cells.insert(0, new_code_cell(WITHOUT_PYARROW))
    client = NotebookClient(notebook, timeout=A_MINUTE, resources={"metadata": {"path": str(TUTORIAL)}})
    with client.setup_kernel(env=ENVIRONMENT):
        for row, cell in enumerate(notebook.cells):
            client.execute_cell(cell, row)
        resident, _, _ = memory(client.km.provisioner.process.pid)
    assert 100 < resident < 350  # in MB; above the first, or it was not the kernel that was looked at
