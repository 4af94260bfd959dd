"""Stages to the last bit: ends at one instant at a shared stage, and the estimates."""

from __future__ import annotations

import pytest

import serq_lab

TWO_SHARES = """
stage share[2] : ps(0.75);
stage nap : delay;
workload { arrive batch(6); init { set at = serial - 2 * floor(serial / 2); } }
session { run nap (START); run share[at] (2 / 3); run nap (0.6); run share[at] (2 / 3); observe done = now; }
run { horizon 50; }
"""


@pytest.mark.parametrize("start", ["0", "0.125"])
def test_a_clock_beyond_the_next_mark_ends_that_job_now_and_not_before(start: str) -> None:
    """With 0.75 / 3 for 8/3 each clock comes out one unit in the last place above its three marks of 4/3; the
    second job of a stage is still not due before the first one of the other stage, which ends at this instant."""
    report = serq_lab.compile(TWO_SHARES.replace("START", start)).run()
    assert len(set(report.observe["done"].times.tolist())) == 1
    assert report.observe["done"].sessions.tolist() == [0, 1, 2, 3, 4, 5]


DRAWN = """
pool p1 { cap 6; block 3; }
pool p2 { cap 9; block 2; }
stage s0 : fifo(3);
stage s1 : ps(2);
workload {
  arrive poisson(1.5);
  init { set need = 1 + floor(~uniform(0, 5)); set pri = serial - 3 * floor(serial / 3); }
  turn { set need = 1 + floor(~uniform(0, 4)); }
}
session {
  loop {
    turn;
    run s0 (~exp(0.6));
    hold p2 (~uniform(0, 3)) {
      run s1 (~uniform(0, 1));
      branch (pri == 1) { } else { hold p1 (need) { run s0 (0.2 * need); } }
      run s0 (~exp(0.5));
    }
    branch (turn_no >= 3) { end; }
    run s1 (0.4);
  }
}
run { horizon 90; warmup 5; seed 873; }
"""


def test_a_job_that_is_due_is_not_scheduled_into_the_past() -> None:
    """An end before now would be one event more before the header of the next in line is read again, and drawn."""
    assert serq_lab.compile(DRAWN).run().events == 916  # as pyserq 0.1.2 counts


def test_estimates_are_weighted_sums() -> None:
    """To the last bit (section 7.6): 0.99 of the average and 0.01 of the value, not the average and 0.01 of the
    difference, which for equal gaps would stay as it is."""
    text = """
    stage desk : fifo;
    workload { arrive renewal(0.75); }
    session { run desk (0.5); observe rate = est_lambda(desk); observe wait = est_wait(desk); }
    run { horizon 4; }
    """
    report = serq_lab.compile(text).run()
    gap = 0.99 * 0.75 + 0.01 * 0.75
    assert gap != 0.75
    assert report.observe["rate"].samples.tolist()[:3] == [0.0, 1 / 0.75, 1 / gap]
    assert report.observe["wait"].samples.tolist()[:3] == [0.0, 0.0, 0.0]


def test_a_serving_order_reads_the_attributes_of_each_resident() -> None:
    text = """
    stage engine : step { budget 2; cost 1; serve by (odd); }
    workload { arrive batch(6); init { set odd = serial - 2 * floor(serial / 2); } }
    session { run engine decode (1); observe done = now; }
    run { horizon 9; }
    """
    assert serq_lab.compile(text).run().observe["done"].sessions.tolist() == [0, 2, 4, 1, 3, 5]
