"""What the tests of sweeps share: small programs, and when two frames are the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas

import serq_lab

PROGRAMS = Path(__file__).parents[2] / "tutorial" / "programs"

QUEUE = """
let Lambda = 0.5;
let Servers = 1;
stage server : fifo(Servers);
workload { arrive poisson(Lambda); }
session { set t0 = now; run server (~exp(1)); observe response = now - t0; }
run { horizon 500; warmup 50; seed 7; }
"""

CRASH = """
let C = 4;
pool mem { cap C; }
stage server : fifo;
workload { arrive poisson(0.5); }
session { set t0 = now; hold mem (1) { grow mem (C > 2 ? 0 : 0 / 0); run server (1); } observe response = now - t0; }
run { horizon 100; }
"""


def memory() -> serq_lab.Program:
    """The program of the second chapter."""
    return serq_lab.load(PROGRAMS / "02-memory.sq")


def queue() -> serq_lab.Program:
    """A short M/M/1 or M/M/c queue."""
    return serq_lab.compile(QUEUE, name="queue")


def assert_same(one: pandas.DataFrame, other: pandas.DataFrame) -> None:
    """Bit for bit the same, NaNs included."""
    assert list(one.columns) == list(other.columns)
    for name in one.columns:
        assert one[name].dtype == other[name].dtype, name
        first, second = one[name].to_numpy(), other[name].to_numpy()
        if first.dtype == np.float64:
            assert first.tobytes() == second.tobytes(), name
        else:
            assert first.tolist() == second.tolist(), name
