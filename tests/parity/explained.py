"""Differences from the reference that are known, and not ours: `differences.md` says which, with programs.

Comes in: a program, and what the reference said. Goes out: the reason, if there is one. Read by `differential.py`.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

from tests.parity.cases import HERE
from tests.parity.generator.program import Generated
from tests.parity.reference import Result

LAST_BIT = "the last bit of a logarithm decides a tie: with the C library's logarithm there is no difference"
_WITH_LIBRARY_LOGARITHM = """
import math, pickle, sys
import numpy as np
from serq_lab.kernel.draws import streams

streams.logarithm = lambda operations, x: np.array([math.log(each) for each in x])
from tests.parity.differential import run_ours

sys.stdout.buffer.write(pickle.dumps(run_ours(pickle.load(sys.stdin.buffer))))
"""


def run_with_library_logarithm(program: Generated) -> Result:
    """Our report of a program with the C library's ln in place of our own, which differs in the last bit now and then.

    In plain Python, in a process of its own.
    """
    done = subprocess.run(
        [sys.executable, "-c", _WITH_LIBRARY_LOGARITHM],
        input=pickle.dumps(program), stdout=subprocess.PIPE, cwd=HERE.parents[1],
        env={**os.environ, "SERQ_LAB_JIT": "0"}, check=True, timeout=600,
    )  # fmt: skip
    result: Result = pickle.loads(done.stdout)
    return result


def why_refused(text: str, refusal: str) -> str | None:
    """Why the reference did not run a program that we run."""
    if "no entry found for key" in refusal and "preempt lifo" in text and "growing" in text:
        return "the reference panics when a victim was already served in the iteration"
    if "victim holds the pool" in refusal and "preempt lifo" in text and "lease" in text:
        return "the reference panics when it takes a session for a victim that only has a lease of the pool"
    return None
