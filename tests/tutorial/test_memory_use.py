"""A kernel at the end of a chapter is small enough for a class on one machine."""

from __future__ import annotations

import sys

import nbformat
import pytest
from nbclient import NotebookClient

from tests.tutorial.many_kernels import memory
from tests.tutorial.run_chapters import A_MINUTE, ENVIRONMENT, TUTORIAL


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_a_kernel_after_the_chapter_of_the_engine() -> None:
    notebook = nbformat.read(TUTORIAL / "05-the-engine.ipynb", as_version=4)
    client = NotebookClient(notebook, timeout=A_MINUTE, resources={"metadata": {"path": str(TUTORIAL)}})
    with client.setup_kernel(env=ENVIRONMENT):
        for row, cell in enumerate(notebook.cells):
            client.execute_cell(cell, row)
        resident, _, _ = memory(client.km.provisioner.process.pid)
    assert 100 < resident < 350  # in MB; above the first, or it was not the kernel that was looked at
