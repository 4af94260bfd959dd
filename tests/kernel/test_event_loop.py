"""The loop: it can be interrupted, lets other threads run, runs in several of them, and stops where it says."""

from __future__ import annotations

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import serq_lab
from serq_lab.kernel import event_loop
from serq_lab.kernel.event_loop import run_slice, simulate
from tests.kernel.running import simulation_of, tables_of

MM1 = """
let Rate = 0.8;
stage server : fifo;
workload { arrive poisson(Rate); }
session { set t0 = now; run server (~exp(1)); observe response = now - t0; }
run { horizon 20000; seed 5; }
"""
LONG = MM1.replace("observe response = now - t0;", "").replace("20000", "1e12")
SLOW = """
pool memory { cap 4000; evict by (age / size, -last); }
stage nap : delay;
workload { arrive closed(40000); }
session { loop { run nap (~exp(1)); hold memory (1) { } cache (1); } }
run { horizon 1e9; }
"""
"""A program whose every event looks at thousands of entries."""


@pytest.mark.parametrize("text", [LONG, SLOW], ids=["many events", "slow events"])
def test_an_interrupt_ends_a_long_run_at_once(text: str) -> None:
    program = serq_lab.compile(text)
    program.run(horizon=1)
    sent: list[float] = []

    def interrupt() -> None:
        sent.append(time.perf_counter())
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    timer = threading.Timer(0.5, interrupt)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            program.run()
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.perf_counter() - sent[0] < 0.5
    timer.join()
    again = serq_lab.compile(MM1)  # nothing has come to harm
    assert again.run().to_json() == again.run().to_json()


def test_runs_in_threads_are_those_one_after_the_other() -> None:
    program = serq_lab.compile(MM1)
    rates = [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99]
    serial = [program.run(set={"Rate": rate}, seed=k).to_json() for k, rate in enumerate(rates)]
    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(program.run, {"Rate": rate}, seed=k) for k, rate in enumerate(rates)]
    assert [run.result().to_json() for run in runs] == serial


def test_a_run_lets_other_threads_work() -> None:
    """In one slice of a second or so, in which nothing returns to Python."""
    simulation = simulation_of(MM1.replace("20000", "3000000"), 0)
    run = threading.Thread(target=run_slice, args=(simulation.runs, 1 << 40))
    n_turns, started = 0, time.perf_counter()
    run.start()
    while run.is_alive():
        time.sleep(0.001)
        n_turns += 1
    assert simulation.records().end == 3_000_000
    assert n_turns > 20 * (time.perf_counter() - started) > 1


def test_the_size_of_slices_changes_nothing() -> None:
    whole = simulate(tables_of(MM1))
    for n in (1, 7, 1000):
        simulation = simulation_of(MM1, 0)
        while not run_slice(simulation.runs, n):
            pass
        records = simulation.records()
        assert (records.events, records.end, records.live_area) == (whole.events, whole.end, whole.live_area)
        assert records.samples[0].value.tolist() == whole.samples[0].value.tolist()


def test_the_present_time_is_told_between_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_loop, "EVENTS_A_SLICE", 500)
    times: list[float] = []
    records = simulate(tables_of(MM1), on_slice=times.append)
    assert records.events // 500 <= len(times) <= records.events // 500 + 6
    assert times == sorted(times)
    assert 0 < times[0] < times[-1] <= records.end == 20000


def test_events_at_the_horizon_happen_and_later_ones_do_not() -> None:
    text = """
      stage nap : delay; workload { arrive renewal(1); }
      session { observe came = now; run nap (serial / 1024); }
      run { horizon 5; }
    """
    records = simulate(tables_of(text))
    assert records.samples[0].value.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert records.end == 5.0
    assert records.live == 1  # the job of the fifth began at the end


def test_equal_times_come_in_the_order_of_scheduling() -> None:
    """All end at 3: session 0 since the start, the others since they began their second nap, the last one first."""
    text = """
      stage nap : delay; workload { arrive batch(5); }
      session { run nap (3 - serial / 2); run nap (serial / 2); observe who = serial; }
      run { horizon 5; }
    """
    assert simulate(tables_of(text)).samples[0].value.tolist() == [0.0, 4.0, 3.0, 2.0, 1.0]


def test_a_renewal_gap_that_is_no_gap_stops_the_run() -> None:
    text = "stage nap : delay; workload { arrive renewal(3 - now); } session { run nap (1); } run { horizon 50; }"
    with pytest.raises(serq_lab.RunError, match="the gap between two arrivals is 0") as caught:
        serq_lab.compile(text).run()
    assert caught.value.diagnostics[0].span is not None


@pytest.mark.parametrize(("seconds", "following"), [(0.001, 800), (0.01, 200), (0.03, 100), (0.2, 50)])
def test_slices_take_about_as_long(seconds: float, following: int) -> None:
    assert event_loop.next_slice(100, seconds) == following


def test_slices_are_neither_empty_nor_endless() -> None:
    assert event_loop.next_slice(1, 10.0) == 1
    assert event_loop.next_slice(event_loop.EVENTS_A_SLICE, 0.0) == event_loop.EVENTS_A_SLICE


def test_an_instant_without_end_stops_the_run() -> None:
    text = "stage nap : delay; workload { arrive closed(3); } session { run nap (0); } run { horizon 50; }"
    with pytest.raises(serq_lab.RunError, match="time does not pass"):
        serq_lab.compile(text).run()
