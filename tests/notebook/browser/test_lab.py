"""The end of a lab: whoever ends ``serq lab`` ends JupyterLab and its kernels."""

from __future__ import annotations

import sys
from pathlib import Path
from time import monotonic, sleep

import psutil
import pytest

from tests.notebook.browser.lab import Lab


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM: a process is ended without being asked")
def test_a_lab_that_is_told_to_end_leaves_nothing_behind(tmp_path: Path) -> None:
    lab = Lab(tmp_path / "work")
    try:
        lab.wait()
        lab.start_kernel()
        lab.start_kernel()
        stop_at = monotonic() + 60
        while len(kernels := kernels_below(lab.pid)) < 2 and monotonic() < stop_at:
            sleep(0.1)
        all_of_it = psutil.Process(lab.pid).children(recursive=True)
    finally:
        lab.close()
    assert len(kernels) == 2
    assert [process for process in all_of_it if process.is_running()] == []


def kernels_below(pid: int) -> list[psutil.Process]:
    below = psutil.Process(pid).children(recursive=True)
    return [process for process in below if "ipykernel_launcher" in process.cmdline()]
