"""What all tests share."""

from __future__ import annotations

import pytest

import serq_lab


@pytest.fixture(scope="session", autouse=True)
def engine() -> None:
    """The engine is compiled before the first test, so that no test sees the line that says so."""
    serq_lab.compile("workload { arrive batch(1); } session { end; } run { horizon 1; }").run()
