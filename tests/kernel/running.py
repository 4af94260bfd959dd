"""What the tests of the kernel share: runs held in the middle, and Python processes with settings of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import serq_lab
from serq_lab.kernel.event_loop import run_slice
from serq_lab.kernel.storage.setup import RunTables, Simulation

ROOT = Path(__file__).parents[2]


def tables_of(text: str) -> RunTables:
    program = serq_lab.compile(text)
    return program.lowered().setup(program.model.constants)


def simulation_of(text: str, n_events: int) -> Simulation:
    """A run of a program, stopped after a number of events."""
    simulation = Simulation(tables_of(text))
    while simulation.runs["events"][0] < n_events:
        run_slice(simulation.runs, 1)
    return simulation


def python(code: str, *arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh process of this checkout, with these variables in the environment besides ours."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        input=stdin, env={**os.environ, **environment}, cwd=ROOT,
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip


PEAK = """
import re, resource, sys
from pathlib import Path

def peak():
    status = Path("/proc/self/status")
    if status.exists():  # of this process alone; `getrusage` also counts what its parent had when it was started
        return int(re.search(r"VmHWM:\\s*(\\d+) kB", status.read_text())[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
"""
"""Code that defines `peak()`: the most memory that its process has had, in bytes."""
