"""A sweep keeps numbers, not samples: ten times the points take hardly more memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

MEASURE = """
import resource
import numpy as np
from tests.experiments.sweeping import queue

program = queue()

def peak_after(n):
    found = program.sweep({"Lambda": np.linspace(0.1, 0.8, n)}, replications=1, horizon=400)
    assert len(found.frame) == n
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

few, many = peak_after(500), peak_after(10_000)
print(many - few)
"""


def test_memory_of_ten_thousand_points_stays_flat() -> None:
    done = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    # In MB. The frame itself has 32 columns, 2.5 MB; the samples alone of 9,500 more runs would take 45 MB.
    assert int(done.stdout) < 30
