"""The chapters' programs give the chapters' numbers, to the last printed digit."""

from __future__ import annotations

import math

import pyserq
import pytest

import serq_lab
from serq_lab.reading import read
from serq_lab.syntax.parser import parse
from serq_lab.syntax.printer import print_program
from tests.parity.cases import differences
from tests.report.oracle import BLOCK
from tests.tutorial.running import PROGRAMS, report, shown

NAMES = ("01-queue", "02-memory", "03-sessions", "04-cache")


def test_the_first_chapter() -> None:
    queue = report("01-queue")
    response, wait = queue.observe["response"], queue.observe["wait"]
    assert (shown(response.mean), shown(response.half_width)) == ("4.8040", "0.2377")
    assert (shown(wait.mean), shown(wait.half_width)) == ("3.8023", "0.2330")
    assert (shown(response.p99), shown(wait.p99)) == ("20.4865", "19.3448")
    assert queue.events == 158920


def test_the_second_chapter() -> None:
    assert report("02-memory").to_text() == BLOCK


@pytest.mark.parametrize(
    ("cap", "wait", "response", "rejected"),
    [
        (4, "1.1893", "2.1902", 19925),
        (6, "1.5358", "2.5369", 0),
        (10, "0.0947", "1.0959", 0),
        (20, "0.0006", "1.0039", 0),
    ],
)
def test_the_sweep_of_the_second_chapter(cap: int, wait: str, response: str, rejected: int) -> None:
    row = report("02-memory", C=cap)
    assert shown(row.observe["admit_wait"].mean) == wait
    assert shown(row.observe["response"].mean) == response
    assert row.pool["mem"].rejected == rejected
    turned_away = [note for note in row.notes if "turned away" in note]
    assert bool(turned_away) == bool(rejected)


def test_the_note_on_those_turned_away() -> None:
    assert report("02-memory", C=4).notes == [
        'note: 19925 of 79460 sessions were turned away at pool "mem": they asked for 5 units, '
        "its capacity is 4; the means describe the others."
    ]


def test_the_third_chapter() -> None:
    sessions = report("03-sessions")
    response = sessions.observe["response"]
    assert (shown(response.mean), shown(response.half_width)) == ("0.1801", "0.0069")
    assert response.count == 43950
    assert shown(sessions.observe["context"].mean) == "4935.0401"


def test_the_fourth_chapter() -> None:
    cached = report("04-cache")
    response = cached.observe["response"]
    assert (shown(response.mean), shown(response.half_width)) == ("0.0635", "0.0007")
    assert shown(cached.observe["hitrate"].mean) == "1.0000"
    assert shown(cached.pool["kv"].mean_cached, 1) == "28834.6"


@pytest.mark.parametrize(
    ("capacity", "hitrate", "evicted"),
    [(60000, "0.979", 789), (30000, "0.719", 11130), (15000, "0.356", 25243), (10000, "0.260", 27696)],
)
def test_the_sweep_of_the_fourth_chapter(capacity: int, hitrate: str, evicted: int) -> None:
    row = report("04-cache", Capacity=capacity)
    assert shown(row.observe["hitrate"].mean, 3) == hitrate
    assert row.pool["kv"].evicted_entries == evicted


@pytest.mark.parametrize("name", NAMES)
def test_every_chapter_against_the_oracle(name: str) -> None:
    theirs = pyserq.run(pyserq.compile(str(PROGRAMS / f"{name}.sq")))
    ours = report(name)
    for observation in theirs.observes:
        row, reference = ours.observe[observation], theirs.observe(observation)
        got = [row.count, row.mean, row.half_width, row.cv2, row.p99]
        wanted = [reference.count, reference.mean, reference.ci, reference.cv2, reference.p99]
        assert differences(got, wanted) == []
        assert differences(row.samples.tolist(), reference.samples) == []
        assert row.sessions.tolist() == reference.sessions
    assert ours.events == theirs.events
    assert math.isclose(ours.mean_live, theirs.mean_live, rel_tol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_chapters_have_no_note_and_no_warning(name: str) -> None:
    assert report(name).notes == []
    assert serq_lab.load(PROGRAMS / f"{name}.sq").warnings == ()


@pytest.mark.parametrize(("load", "is_said"), [(0.8, False), (1.0, True), (1.1, True)])
def test_a_queue_that_never_settles_is_said_to_grow(load: float, is_said: bool) -> None:
    notes = report("01-queue", Lambda=load).notes
    assert any("growing" in note for note in notes) == is_said


@pytest.mark.parametrize("name", NAMES)
def test_chapters_are_in_canonical_form(name: str) -> None:
    source = read(PROGRAMS / f"{name}.sq")
    assert print_program(parse(source)) == source.text
