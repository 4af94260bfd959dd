"""The latest wish wins: what runs, what is dropped, and when the thread ends."""

from __future__ import annotations

import itertools
import threading
from time import monotonic, sleep

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serq_lab.notebook.panel import worker as worker_module
from serq_lab.notebook.panel.worker import Hurry, OvertakenError, Worker


@pytest.fixture(autouse=True)
def _no_pace(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if "paced" not in request.node.name:
        monkeypatch.setattr(worker_module, "PACE", 0.0)


def test_what_is_being_done_is_given_up_for_the_latest() -> None:
    begun, done = threading.Event(), []

    def work(wish: int, hurry: Hurry) -> None:
        begun.set()
        if wish == 0:
            hurry.rest(30)
        done.append(wish)

    worker = Worker(work)
    worker.submit(0)
    assert begun.wait(10)
    for wish in range(1, 9):
        worker.submit(wish)
    assert worker.finish(10)
    assert 0 not in done
    assert done[-1] == 8


@settings(max_examples=15, deadline=None)
@given(st.lists(st.floats(0, 0.01), min_size=1, max_size=12), st.floats(0, 0.02))
def test_the_last_wish_is_always_done_and_never_two_at_once(gaps: list[float], takes: float) -> None:
    n_inside, most_inside, done = 0, 0, []

    def work(wish: int, hurry: Hurry) -> None:
        nonlocal n_inside, most_inside
        n_inside += 1
        most_inside = max(most_inside, n_inside)
        try:
            hurry.rest(takes)
            done.append(wish)
        finally:
            n_inside -= 1

    worker = Worker(work)
    for wish, gap in enumerate(gaps):
        worker.submit(wish)
        sleep(gap)
    assert worker.finish(10)
    assert done[-1] == len(gaps) - 1
    assert done == sorted(done)
    assert most_inside == 1


def test_wishes_that_come_fast_are_paced() -> None:
    started: list[float] = []
    worker: Worker[int] = Worker(lambda wish, hurry: started.append(monotonic()))
    for wish in range(40):
        worker.submit(wish)
        sleep(0.01)
    assert worker.finish(10)
    gaps = [b - a for a, b in itertools.pairwise(started)]
    assert min(gaps) >= worker_module.PACE * 0.99
    assert len(started) >= 2


def test_no_thread_while_there_is_nothing_to_do() -> None:
    worker: Worker[int] = Worker(lambda wish, hurry: None)
    worker.submit(1)
    assert worker.finish(10)
    for thread in threading.enumerate():
        if thread.name == "serq-lab panel":
            thread.join(10)
    assert "serq-lab panel" not in {thread.name for thread in threading.enumerate()}
    worker.submit(2)
    assert worker.finish(10)


def test_a_closed_worker_drops_everything() -> None:
    done: list[int] = []
    begun = threading.Event()

    def work(wish: int, hurry: Hurry) -> None:
        begun.set()
        hurry.rest(30)
        done.append(wish)

    worker = Worker(work)
    worker.submit(1)
    assert begun.wait(10)
    worker.close()
    worker.submit(2)
    assert worker.finish(10)
    assert done == []


def test_hurry_says_so_at_once() -> None:
    hurry = Hurry(lambda: True, lambda seconds: None)
    with pytest.raises(OvertakenError):
        hurry.check()
