"""What a class needs of one machine: kernels that start at the same instant and run the first cells of chapter 2.

In come numbers of kernels, and how many of the chapter's cells of code to run (all by default); out goes a line of
memory and seconds for each. ``python -m tests.tutorial.many_kernels 1,4,8 2`` measures up to the first report. The
figures on the teachers' page come from here; memory is read from ``/proc``, so this runs on Linux.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from time import monotonic
from typing import NamedTuple

import nbformat
from nbclient import NotebookClient

from tests.tutorial.run_chapters import A_MINUTE, ENVIRONMENT, TUTORIAL

MEGABYTE = 1024  # in kilobytes, which /proc counts in


class Kernel(NamedTuple):
    """One kernel after its last cell: megabytes, and seconds from its start to the first report and to the end."""

    resident: float
    proportional: float
    private: float
    to_report: float
    to_end: float


def memory(pid: int) -> tuple[float, float, float]:
    """Of a process: all resident pages, the same with shared ones divided among those who share, and its own alone."""
    found = {"Rss": 0, "Pss": 0, "Private_Clean": 0, "Private_Dirty": 0}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, _, rest = line.partition(":")
        if name in found:
            found[name] = int(rest.split()[0])
    private = found["Private_Clean"] + found["Private_Dirty"]
    return found["Rss"] / MEGABYTE, found["Pss"] / MEGABYTE, private / MEGABYTE


def run_one(n_cells: int, all_done: Barrier) -> Kernel:
    """Start a kernel, run the first cells, and look at its memory when all the others are done too."""
    notebook = nbformat.read(TUTORIAL / "02-memory.ipynb", as_version=4)
    cells = [(row, cell) for row, cell in enumerate(notebook.cells) if cell.cell_type == "code"][:n_cells]
    client = NotebookClient(notebook, timeout=10 * A_MINUTE, resources={"metadata": {"path": str(TUTORIAL)}})
    started_at, to_report = monotonic(), 0.0
    with client.setup_kernel(env=ENVIRONMENT):
        for row, cell in cells:
            client.execute_cell(cell, row)
            if cell.source.startswith("%%serq") and not to_report:
                to_report = monotonic() - started_at
        to_end = monotonic() - started_at
        all_done.wait()
        found = memory(client.km.provisioner.process.pid)
        all_done.wait()
    return Kernel(*found, to_report, to_end)


def measure(n_kernels: int, n_cells: int) -> str:
    all_done = Barrier(n_kernels, timeout=10 * A_MINUTE)

    def run(_: int) -> Kernel:
        try:
            return run_one(n_cells, all_done)
        except BaseException:
            all_done.abort()  # nobody waits for one that is lost
            raise

    with ThreadPoolExecutor(n_kernels) as threads:
        kernels = list(threads.map(run, range(n_kernels)))
    means = [sum(column) / n_kernels for column in list(zip(*kernels, strict=True))[:3]]
    return (
        f"{n_kernels} kernels, MB each: resident {means[0]:.0f}, proportional {means[1]:.0f}, private {means[2]:.0f}; "
        f"the last one's first report after {max(kernel.to_report for kernel in kernels):.1f} s, "
        f"its last cell after {max(kernel.to_end for kernel in kernels):.1f} s"
    )


if __name__ == "__main__":
    for number in sys.argv[1].split(","):
        print(measure(int(number), int(sys.argv[2]) if len(sys.argv) > 2 else 1000), flush=True)
