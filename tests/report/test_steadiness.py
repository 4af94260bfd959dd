"""Whether a run had settled: what `test_notes.py` does not ask."""

from __future__ import annotations

import math

import numpy as np
import pytest

import serq_lab
from serq_lab.report.steadiness import Growth, growth_of


def test_growth_in_numbers() -> None:
    assert growth_of(np.arange(20.0)) == Growth(first=4.5, second=14.5, least=0.0, most=19.0)


@pytest.mark.parametrize(
    "windows",
    [np.full(20, 3.0), np.tile([1.0, 5.0], 10), 100 + np.arange(20.0), np.append(np.arange(19.0), math.nan)],
    ids=["constant", "alternating", "hardly", "unfinished"],
)
def test_no_growth(windows: np.ndarray) -> None:
    assert growth_of(windows) is None


@pytest.mark.parametrize(("arrive", "grows"), [("poisson(1.5)", True), ("poisson(0.5)", False), ("closed(40)", False)])
def test_open_populations_alone_grow(arrive: str, grows: bool) -> None:
    text = f"stage s : fifo; workload {{ arrive {arrive}; }} session {{ run s (~exp(1)); }} run {{ horizon 3000; }}"
    report = serq_lab.compile(text).run()
    assert (report.growth is not None) == grows
    assert any("still growing" in note for note in report.notes) == grows
    assert report.live_windows.mean() == pytest.approx(report.mean_live)
