"""What a run measures: time averages are those of the gauges, samples are kept in order and from the warm-up."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyserq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import serq_lab
from tests.kernel.programs import programs

GAUGES = {
    "g_used": "used(a)", "g_queue": "queued(a)", "g_holders": "holders(b)", "g_desk": "queue(desk)",
    "g_busy": "queue(share) > 0 ? 1 : 0", "g_nap": "busy(nap)",
}  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(programs())
def test_time_averages_are_those_of_the_gauges(text: str) -> None:
    """A gauge's mean is computed from its change points, a pool's or stage's kept up to date in the run."""
    gauges = "\n".join(f"gauge {name} = {value};" for name, value in GAUGES.items())
    report = serq_lab.compile(text + gauges).run()
    measured = {
        "g_used": report.pool["a"].mean_used, "g_queue": report.pool["a"].mean_queue,
        "g_holders": report.pool["b"].mean_holders, "g_desk": report.stage["desk"].mean_number,
        "g_busy": report.stage["share"].utilization, "g_nap": report.stage["nap"].mean_number,
    }  # fmt: skip
    assert {name: pytest.approx(report.gauge[name].mean, rel=1e-9, abs=1e-12) for name in GAUGES} == measured


@settings(max_examples=20, deadline=None)
@given(programs())
def test_samples_come_in_order_of_time_from_the_warm_up_on(text: str) -> None:
    report = serq_lab.compile(text).run()
    for row in report.observe.values():
        assert len(row.samples) == len(row.times) == len(row.sessions) == len(row.turns)
        assert (np.diff(row.times) >= 0).all()
        assert ((row.times >= report.warmup) & (row.times <= report.end)).all()
        assert (row.sessions < report.arrivals).all()
    for row in report.gauge.values():
        assert row.times[0] == 0.0
        assert (np.diff(row.times) > 0).all()
        assert (np.diff(row.values) != 0).all()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 12), st.integers(1, 9), st.sampled_from([0.0, 0.5, 2.0, 7.25]))
def test_live_sessions_are_averaged_from_the_warm_up(n: int, life: int, warmup: float) -> None:
    """n sessions that come at 0 and live for a while; windows of the average are twentieths of the time."""
    text = f"""
      stage nap : delay; workload {{ arrive batch({n}); }} session {{ run nap ({life}); }}
      run {{ horizon 10; warmup {warmup}; }}
    """
    program = serq_lab.compile(text)
    report = program.run()
    expected = n * max(life - warmup, 0.0) / (10.0 - warmup)
    assert report.mean_live == pytest.approx(expected, abs=1e-12)
    assert report.ended == (n if life >= warmup else 0)


def test_what_happens_at_the_warm_up_counts_and_waits_are_whole() -> None:
    text = """
      pool p { cap 1; } stage desk : fifo;
      workload { arrive batch(3); }
      session { hold p (1) { run desk (4); observe done = now; } }
      run { horizon 20; warmup 4; }
    """
    report = serq_lab.compile(text).run()
    assert report.observe["done"].samples.tolist() == [4.0, 8.0, 12.0]
    assert report.pool["p"].mean_wait == (4.0 + 8.0) / 2
    assert report.stage["desk"].completed == 3
    assert report.stage["desk"].mean_service == 4.0
    assert report.pool["p"].admissions == 3


def test_a_gauge_has_one_point_an_instant_and_remembers_a_nan_once() -> None:
    text = """
      pool p { cap 2; } stage nap : delay;
      workload { arrive batch(2); }
      session { run nap (1 + serial); hold p (1) { run nap (2); } run nap (3); }
      gauge ratio = used(p) / used(p);
      gauge used = used(p);
      run { horizon 20; }
    """
    report = serq_lab.compile(text).run()
    assert report.gauge["ratio"].times.tolist() == [0.0, 1.0, 4.0]
    assert [math.isnan(value) for value in report.gauge["ratio"].values] == [True, False, True]
    assert report.gauge["used"].times.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert report.gauge["used"].values.tolist() == [0.0, 1.0, 2.0, 1.0, 0.0]


def test_estimates_are_the_reference_s_to_the_bit(tmp_path: Path) -> None:
    text = """
      stage desk : fifo; workload { arrive renewal(~uniform(0.5, 2)); }
      session { run desk (~uniform(0, 2)); observe l = est_lambda(desk); observe r = est_rho(desk);
        observe w = est_wait(desk); }
      run { horizon 300; }
    """
    path = tmp_path / "program.sq"
    path.write_text(text, encoding="utf-8")
    theirs, ours = pyserq.run(pyserq.compile(str(path))), serq_lab.compile(text).run()
    for name in ("l", "r", "w"):
        assert ours.observe[name].samples.tolist() == list(theirs.observe(name).samples)
