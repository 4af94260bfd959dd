"""The log of a pool agrees with what the run itself reports, and with what can be worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import serq_lab
from serq_lab import ProgramError, RunError
from serq_lab.report.pool_log import PoolLog, Waiting

PROGRAMS = Path(__file__).parents[2] / "tutorial" / "programs"

BY_HAND = """
let C = 6;
pool mem { cap C; }
stage far : delay;
workload { arrive renewal(1); }
session {
  set units = serial == 0 ? 4 : serial == 1 ? 3 : serial == 2 ? 2 : 7;
  hold mem (units) { run far (2.5); }
}
run { horizon 100; }
"""
# Arrivals at 1, 2, 3...: session 0 has 4 units from 1 to 3.5; session 1 needs 3 and waits from 2 on; session 2 needs 2,
# which are there, and waits behind it. Both are admitted at 3.5. Sessions from 3 on are turned away.


def by_hand(start: float, stop: float, **lets: float) -> PoolLog:
    return serq_lab.compile(BY_HAND).pool_logs(start, stop, lets)["mem"]


def test_holds_by_hand() -> None:
    log = by_hand(0, 8)
    assert [(hold.session, hold.start, hold.end, hold.steps) for hold in log.holds] == [
        (0, 1.0, 3.5, ((1.0, 4.0),)),
        (1, 3.5, 6.0, ((3.5, 3.0),)),
        (2, 3.5, 6.0, ((3.5, 2.0),)),
    ]
    assert log.used == ((0, 0.0), (1.0, 4.0), (3.5, 5.0), (6.0, 0.0))


def test_the_queue_by_hand() -> None:
    one, two = Waiting(1, 3.0), Waiting(2, 2.0)
    assert by_hand(0, 8).queues == ((0, ()), (2.0, (one,)), (3.0, (one, two)), (3.5, ()))
    assert by_hand(0, 8).is_fifo


def test_arrivals_and_rejections_by_hand() -> None:
    log = by_hand(0, 6.5)
    assert log.arrivals == (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    assert log.rejections == ((4.0, 1.0), (5.0, 1.0), (6.0, 1.0))


def test_a_log_that_starts_later_shows_what_is_there() -> None:
    log = by_hand(2.5, 3.2)
    assert [(hold.session, hold.start, hold.end) for hold in log.holds] == [(0, 2.5, 3.2)]
    assert log.queues == ((2.5, (Waiting(1, 3.0),)), (3.0, (Waiting(1, 3.0), Waiting(2, 2.0))))
    assert log.arrivals == (3.0,)
    assert log.used == ((2.5, 4.0),)


def test_a_log_in_parts_is_the_log_of_the_whole() -> None:
    program = serq_lab.load(PROGRAMS / "02-memory.sq")
    whole, late = (program.pool_logs(start, 200, {"C": 6})["mem"] for start in (0, 120))
    assert [hold for hold in whole.holds if hold.start > 120] == [hold for hold in late.holds if hold.start > 120]
    assert [change for change in whole.queues if change[0] > 120] == list(late.queues[1:])


def area(changes: tuple[tuple[float, float], ...], stop: float) -> float:
    ends = [*(time for time, _ in changes[1:]), stop]
    return sum(value * (end - time) for (time, value), end in zip(changes, ends, strict=True))


@pytest.mark.parametrize(("name", "lets"), [("02-memory", {"C": 6}), ("04-cache", {"Capacity": 15000})])
def test_the_log_adds_up_to_the_report(name: str, lets: dict[str, float]) -> None:
    program = serq_lab.load(PROGRAMS / f"{name}.sq")
    (row,) = program.run(lets, horizon=400, warmup=0).pool.values()
    (log,) = program.pool_logs(0, 400, lets).values()
    assert area(log.used, 400) / 400 == pytest.approx(row.mean_used)
    held = sum(area(hold.steps, hold.end) for hold in log.holds)
    cached = sum(area(entry.steps, entry.end) for entry in log.cached)
    assert held / 400 == pytest.approx(row.mean_used)
    assert cached / 400 == pytest.approx(row.mean_cached)
    queued = area(tuple((time, float(len(queue))) for time, queue in log.queues), 400)
    assert queued / 400 == pytest.approx(row.mean_queue)
    assert sum(count for _, count in log.evictions) == row.evicted_entries
    assert len(log.holds) == row.admissions


def test_a_hold_that_grows_has_steps() -> None:
    program = serq_lab.compile(
        "pool mem { cap 9; } stage far : delay; workload { arrive batch(1); }"
        "session { hold mem (2) { run far (1); grow mem (3); run far (1); } } run { horizon 9; }"
    )
    (hold,) = program.pool_logs(0, 5)["mem"].holds
    assert hold.steps == ((0.0, 2.0), (1.0, 5.0))
    assert hold.end == 2.0


PREEMPTS = """
let N = 2;
pool reqs { cap N; admit via engine; }
pool kv { cap 12; preempt lifo; }
stage engine : step { budget 8; memory kv; cost 1; }
workload { arrive batch(N); }
session { hold reqs (1), kv (4) { run engine prefill (4) growing kv; run engine decode (6) growing kv; } }
run { horizon 100; }
"""
# Both prefill four tokens until 1, and decode one a unit of time. At 3 they have 6 + 6 of 12 units, and at the start of
# the next iteration the younger one loses its units. It comes back at 4, behind an iteration, and finds room for four,
# which are gone again at 5. The first has its ten units at 7 and ends; the other starts anew.


@pytest.mark.parametrize("pool", ["reqs", "kv"])
def test_a_preempted_hold_is_known_in_every_pool_of_it(pool: str) -> None:
    """Its session waits at the first pool of the hold, wherever the units were short."""
    log = serq_lab.compile(PREEMPTS).pool_logs(0, 20)[pool]
    assert [(hold.session, hold.start, hold.end, hold.is_preempted) for hold in log.holds] == [
        (1, 0.0, 3.0, True),
        (0, 0.0, 7.0, False),
        (1, 4.0, 5.0, True),
        (1, 7.0, 14.0, False),
    ]


def test_a_hold_that_is_executed_again_at_once_was_preempted() -> None:
    program = serq_lab.compile(
        "pool kv { cap 8; preempt lifo; } stage far : delay; workload { arrive batch(2); }"
        "session { hold kv (serial == 0 ? 3 : now > 0 ? 1 : 4) { run far (1); grow kv (serial == 0 ? 3 : 0);"
        " run far (1); } } run { horizon 9; }"
    )
    log = program.pool_logs(0, 5)["kv"]
    assert [(hold.session, hold.start, hold.end, hold.is_preempted) for hold in log.holds] == [
        (1, 0.0, 1.0, True),
        (0, 0.0, 2.0, False),
        (1, 1.0, 3.0, False),
    ]


@pytest.mark.parametrize("n", [2, 3, 5])
def test_as_many_holds_are_preempted_as_the_report_counts(n: int) -> None:
    program = serq_lab.compile(PREEMPTS)
    log = program.pool_logs(0, 100, {"N": n})["kv"]
    preemptions = program.run({"N": n}).pool["kv"].preemptions
    assert preemptions >= 2
    assert sum(hold.is_preempted for hold in log.holds) == sum(count for _, count in log.preemptions) == preemptions


def test_a_queue_by_keys_has_no_head_of_line() -> None:
    keyed = serq_lab.compile(BY_HAND.replace("cap C;", "cap C; queue by (units);"))
    assert not keyed.pool_logs(0, 5)["mem"].is_fifo


@pytest.mark.parametrize(("start", "stop"), [(-1, 5), (5, 5), (6, 5), (100, 101)])
def test_times_that_make_no_sense(start: float, stop: float) -> None:
    with pytest.raises(ProgramError, match="there is no time from"):
        by_hand(start, stop)


def test_a_run_that_stops_within_the_log() -> None:
    program = serq_lab.compile(
        "stage s : fifo; pool mem { cap 1; } workload { arrive renewal(now < 3 ? 1 : 0); }"
        "session { hold mem (1) { run s (1); } } run { horizon 9; }"
    )
    with pytest.raises(RunError, match="the gap between two arrivals is 0"):
        program.pool_logs(0, 8)
