"""The chapter's run as the oracle made it, in the shape of our records: a report can be held to its block."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyserq

from serq_lab.kernel.records import SampleRecords
from serq_lab.report.report import Report
from tests.report import hand_made

PROGRAM = Path(__file__).parents[2] / "tutorial" / "programs" / "02-memory.sq"

BLOCK = """\
run: horizon 100000 end 100000 warmup 5000 seed 1 events 158920 arrivals 79460 ended 75462 turns 75462 \
mean live 0.871

observe     count    mean   95% CI     cv2     p99
----------  -----  ------  -------  ------  ------
admit_wait  75462  0.0947  ±0.0050  13.756  1.8649
response    75462  1.0959  ±0.0090   0.944  4.8777

stage   number   util   done    thru    wait  service  iters
------  ------  -----  -----  ------  ------  -------  -----
server   0.795  0.560  75462  0.7943  0.0000   1.0012      0

pool  used  cached  queue  holders    wait  admits  evict(n)  evict(u)  preempt  spill  rej  stuck
----  ----  ------  -----  -------  ------  ------  --------  --------  -------  -----  ---  -----
mem    2.8     0.0  0.075    0.795  0.0947   79460         0         0        0      0    0      0"""


@cache
def chapter() -> tuple[Report, Any]:
    """Our report on the oracle's run of chapter 2, and the oracle's own."""
    theirs = pyserq.run(pyserq.compile(str(PROGRAM)))
    span = theirs.end - theirs.warmup
    (server,), (mem,) = theirs.stages, theirs.pools
    n_waited = 75462
    ours = hand_made.report(
        observations={
            name: SampleRecords(
                np.array(theirs.observe(name).samples),
                np.array(theirs.observe(name).times),
                np.array(theirs.observe(name).sessions, np.uint32),
                np.array(theirs.observe(name).turns, np.uint32),
            )
            for name in theirs.observes
        },
        stages=[hand_made.stage("server")],
        pools=[hand_made.pool("mem")],
        stage_rows=hand_made.stage_records(
            1,
            number_area=[server.mean_number * span],
            busy_area=[server.utilization * span],
            completed=[server.completed],
            wait_sum=[0.0],
            service_sum=[server.mean_service * server.completed],
        ),
        pool_rows=hand_made.pool_records(
            1,
            used_area=[mem.mean_used * span],
            queue_area=[mem.mean_queue * span],
            holders_area=[mem.mean_holders * span],
            wait_sum=[mem.mean_wait * n_waited],
            wait_count=[n_waited],
            admissions=[mem.admissions],
        ),
        lets={"Lambda": 0.8, "S": 1.0, "C": 10.0},
        horizon=theirs.horizon,
        warmup=theirs.warmup,
        events=theirs.events,
        arrivals=theirs.arrivals,
        ended=theirs.ended,
        turns=theirs.turns,
        live_area=theirs.mean_live * span,
        live_windows=np.full(20, theirs.mean_live),
    )
    return ours, theirs
