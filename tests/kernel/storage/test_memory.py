"""Tables grow in the middle of a run, records outlive it, and nothing is left behind."""

from __future__ import annotations

import gc

import numpy as np

import serq_lab
from serq_lab.kernel.event_loop import run_slice, simulate
from serq_lab.kernel.storage.access import LEAST_ROOM
from serq_lab.kernel.storage.memory import RawBlock
from serq_lab.kernel.storage.plain import view
from tests.kernel.running import PEAK, python, simulation_of, tables_of

N = 3000
CROWD = f"""
pool shared {{ cap 5; evict by (size, last); }}
pool wide {{ cap inf; block 2; }}
stage nap : delay;
workload {{ arrive batch({N}); }}
session {{
  run nap (serial);
  hold wide (3) {{
    hold shared (2) {{ observe who = serial; run nap (0.5); }} cache (1);
    run nap (10000 - now);
  }} cache (2);
  observe left = cachedin(wide);
}}
gauge holders = holders(shared);
run {{ horizon 20000; }}
"""
TABLES = ("sessions", "vectors", "owns", "allocations", "entries", "snapshots")


def test_tables_grow_past_their_first_room_in_the_middle_of_a_run() -> None:
    simulation = simulation_of(CROWD, 0)
    while not run_slice(simulation.runs, 100):
        pass
    run = simulation.runs[0]
    assert {name: int(run[name + "_room"]) > LEAST_ROOM for name in TABLES} == dict.fromkeys(TABLES, True)
    assert simulation.heaps["items_room"][0] >= N
    records = simulation.records()
    assert records.samples[0].value.tolist() == list(range(N))
    assert records.samples[1].value.tolist() == [2.0] * N
    assert records.gauges[0].time.tolist() == [k / 2 for k in range(2 * N)]
    assert records.pools.evicted_entries.tolist() == [
        N - 4,
        0,
    ]  # beside the last there was room for three, then it kept one itself
    assert records.ended == N


def test_records_keep_their_memory_when_the_simulation_is_gone() -> None:
    program = serq_lab.compile(CROWD)
    report = program.run()
    samples, times = report.observe["who"].samples, report.observe["who"].times
    changes = report.gauge["holders"].values
    del report
    gc.collect()
    for _ in range(5):
        program.run()
    assert samples.tolist() == list(range(N))
    assert times.tolist() == list(range(N))
    assert changes.tolist() == [1.0, 0.0] * N
    samples += 1.0  # they are the reader's own
    assert program.run().observe["who"].samples.tolist() == list(range(N))


def test_records_fit_their_rows() -> None:
    """What a growing table had in advance is given back."""
    records = simulate(tables_of(CROWD))
    base = records.samples[0].value
    while base.base is not None and isinstance(base.base, np.ndarray):
        base = base.base
    assert isinstance(base.base, RawBlock)
    assert base.nbytes == N * 24


def test_a_row_of_plain_python_writes_to_memory() -> None:
    block = np.zeros(2, dtype=[("count", np.int64), ("value", np.float64)])
    row = view(block.ctypes.data + block.dtype.itemsize, block.dtype)
    row.count, row.value = 7, 0.5
    assert block.tolist() == [(0, 0.0), (7, 0.5)]


MEASURE = f"""{PEAK}
import contextlib, serq_lab

class Stop(Exception):
    pass

def stop(share):
    if share > 0.2:
        raise Stop

def run(n, **settings):
    for k in range(n):
        with contextlib.suppress(Stop):
            report = program.run(seed=k, **settings)

program = serq_lab.compile(sys.argv[1])
"""


def grown(text: str, before: str, measured: str) -> int:
    """By how many bytes the greatest memory of a process grows when it does something more often."""
    done = python(f"{MEASURE}\n{before}\nstart = peak()\n{measured}\nprint(peak() - start)", text)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_a_thousand_runs_leave_nothing_behind() -> None:
    """Each of them has tables and records of some 100 kB."""
    text = CROWD.replace(f"batch({N})", "batch(400)").replace("horizon 20000", "horizon 100")
    assert grown(text, "run(100)", "run(1000)") < 4_000_000


def test_abandoned_runs_leave_nothing_behind() -> None:
    """A run that is stopped between two slices has samples of a megabyte."""
    text = """
      stage nap : delay; workload { arrive renewal(1); } session { observe a = now; run nap (1); }
      run { horizon 200000; }
    """
    assert grown(text, "run(10, progress=stop)", "run(50, progress=stop)") < 4_000_000


def test_plain_python_refuses_a_row_that_is_not_there() -> None:
    code = """
import numpy as np
from serq_lab.kernel.storage.plain import view
from serq_lab.kernel.storage.state import HEAP, HEAP_ITEM, item_at
heap = np.zeros(1, dtype=HEAP)
items = np.zeros(3, dtype=HEAP_ITEM)
heap["items"], heap["items_room"] = items.ctypes.data, 3
item_at(view(heap.ctypes.data, HEAP), 2).time = 4.0
print(items["time"].tolist())
item_at(view(heap.ctypes.data, HEAP), 3)
"""
    done = python(code, SERQ_LAB_JIT="0")
    assert done.stdout.strip() == "[0.0, 0.0, 4.0]"
    assert "IndexError: row 3 of items, which has room for 3" in done.stderr
