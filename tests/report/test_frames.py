"""The report as pandas frames."""

from __future__ import annotations

import pytest

from tests.report import hand_made, oracle


def test_frames_of_the_chapter() -> None:
    report, _ = oracle.chapter()
    frames = report.frames()
    assert list(frames) == ["observe", "gauge", "stage", "pool", "samples"]
    assert frames["observe"].loc["admit_wait", "mean"] == report.observe["admit_wait"].mean
    assert list(frames["observe"].columns) == ["count", "mean", "half_width", "cv2", "p99"]
    assert frames["stage"].loc["server", "completed"] == 75462
    assert frames["pool"].loc["mem", "admissions"] == 79460
    assert len(frames["gauge"]) == 0


def test_samples_are_one_row_each() -> None:
    report = hand_made.report(observations={"x": hand_made.samples([1.0, 2.0]), "y": hand_made.samples([5.0])})
    samples = report.frames()["samples"]
    assert samples["observe"].tolist() == ["x", "x", "y"]
    assert samples["value"].tolist() == [1.0, 2.0, 5.0]
    assert samples["time"].tolist() == [0.0, 1.0, 0.0]
    assert samples.groupby("observe")["value"].mean()["x"] == pytest.approx(1.5)


def test_a_report_without_rows() -> None:
    frames = hand_made.report().frames()
    assert all(len(frame) == 0 for frame in frames.values())
    assert list(frames["samples"].columns) == ["observe", "time", "session", "turn", "value"]
