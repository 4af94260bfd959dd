"""Iterations of step stages, in programs small enough to follow by hand."""

from __future__ import annotations

import serq_lab

SERVED_BEFORE_ITS_MEMORY_GOES = """
pool kv { cap 8; block 1; preempt lifo; }
stage engine : step { budget 10; cost 1; memory kv; serve by (-admission); }
stage clock : delay;
workload { arrive batch(2); }
session {
  run clock (serial);
  hold kv (4) {
    observe computed = computed;
    run engine prefill (4 - cached) growing kv;
    run engine decode (2) growing kv;
  } cache (6)
  observe last = now;
}
run { horizon 60; }
"""


def test_a_victim_that_had_been_served_has_not_computed_those_tokens() -> None:
    """At 1 session 1 gets its 4 tokens first, and 0 then grows into its memory: 1 has not computed any of them."""
    report = serq_lab.compile(SERVED_BEFORE_ITS_MEMORY_GOES).run(check=True)
    assert report.pool["kv"].preemptions == 1
    assert report.observe["computed"].samples.tolist() == [0.0, 0.0, 0.0]
    assert report.observe["last"].samples.tolist() == [3.0, 6.0]
