"""Sweeps over a program's lets: `sweep.py` runs them, `curve.py` and `knee.py` read them."""

from __future__ import annotations

from serq_lab.experiments.executors import processes
from serq_lab.experiments.run_length import recommend_run_length
from serq_lab.experiments.sweep import Sweep

__all__ = ["Sweep", "processes", "recommend_run_length"]
