"""A pool over time: head-of-line blocking at a glance."""

from __future__ import annotations

import pytest
from matplotlib.patches import Rectangle

import serq_lab
from serq_lab.plots import alt_text, plot_timeline
from serq_lab.plots.style import png
from serq_lab.plots.timeline import Rank, blocked, ranks
from serq_lab.report.pool_log import Waiting
from tests.experiments.sweeping import PROGRAMS, memory
from tests.report.test_pool_log import BY_HAND, PREEMPTS, by_hand

ONE, TWO = Waiting(1, 3.0), Waiting(2, 2.0)


def test_who_stood_where() -> None:
    assert sorted(ranks(by_hand(0, 8))) == [Rank(ONE, 0, 2.0, 3.5), Rank(TWO, 1, 3.0, 3.5)]


def test_the_head_blocks_from_when_one_behind_it_would_fit() -> None:
    assert list(blocked(by_hand(0, 8))) == [(3.0, 3.5)]
    assert list(blocked(by_hand(0, 3.2))) == [(3.0, 3.2)]
    assert list(blocked(by_hand(0, 8, C=7))) == []


def test_a_queue_by_keys_is_not_blocked_by_its_first() -> None:
    keyed = serq_lab.compile(BY_HAND.replace("cap C;", "cap C; queue by (units);")).pool_logs(0, 8)["mem"]
    assert list(blocked(keyed)) == []


def patches(ax: object) -> list[Rectangle]:
    return [each for each in ax.patches if isinstance(each, Rectangle)]


def test_the_picture_by_hand() -> None:
    ax = plot_timeline(serq_lab.compile(BY_HAND), 0, 8)
    upper, lower = ax.figure.axes
    assert upper is ax
    assert [(box.get_x(), box.get_width(), box.get_y(), box.get_height()) for box in patches(upper)] == [
        (1.0, 2.5, 0.0, 4.0),
        (3.5, 2.5, 0.0, 3.0),
        (3.5, 2.5, 3.0, 2.0),
    ]
    framed = [box for box in patches(lower) if box.get_linewidth() == 2]
    assert [(box.get_x(), box.get_width()) for box in framed] == [(2.0, 1.5)]
    assert lower.get_yticklabels()[0].get_text() == "head"
    assert "grey: the head does not fit, one behind it would" in lower.get_title(loc="right")
    assert [text.get_text() for text in lower.texts] == ["1 needs 3"]
    assert "for 0.5 units of time its head does not fit while one behind it would" in alt_text(ax)
    assert "5 turned away" in alt_text(ax)


def test_a_session_keeps_its_colour_from_the_queue_to_the_pool() -> None:
    ax = plot_timeline(serq_lab.compile(BY_HAND), 0, 8)
    upper, lower = ax.figure.axes
    waiting = [box.get_facecolor() for box in patches(lower) if box.get_height() == 0.8]
    assert [box.get_facecolor() for box in patches(upper)][1:] == waiting


def test_cached_prefixes_are_hatched_and_evictions_marked() -> None:
    program = serq_lab.load(PROGRAMS / "04-cache.sq")
    ax = plot_timeline(program, 100, 110, set={"Capacity": 15000})
    hatched = [box for box in patches(ax) if box.get_hatch()]
    assert 0 < len(hatched) < len(patches(ax))
    assert {"cached", "eviction"} <= {text.get_text() for text in ax.get_legend().get_texts()}
    assert len(png(ax)) > 10_000


def test_a_preempted_hold_is_crossed_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    program = serq_lab.compile(BY_HAND)
    log = program.pool_logs(0, 8)["mem"]
    cut = log.holds[1]._replace(is_preempted=True)
    made = log._replace(holds=(log.holds[0], cut, log.holds[2]), preemptions=((6.0, 1.0),))
    monkeypatch.setattr(serq_lab.Program, "pool_logs", lambda *given, **more: {"mem": made})
    ax = plot_timeline(program, 0, 8)
    (crosses,) = [line for line in ax.lines if line.get_marker() == "X"]
    assert crosses.get_xydata().tolist() == [[6.0, 1.5]]
    assert ", 1 preemptions" in alt_text(ax)


def test_a_long_queue_is_cut() -> None:
    ax = plot_timeline(memory(), 0, 400, set={"C": 5, "Lambda": 1.2})
    assert len(ax.figure.axes[1].get_yticks()) == 12


def test_an_endless_pool_where_nobody_waits() -> None:
    ax = plot_timeline(memory(), 0, 20, set={"C": "inf"})
    assert "capacity inf" in alt_text(ax)
    assert "up to 0 sessions" in alt_text(ax)
    assert len(png(ax)) > 10_000


def test_a_pool_that_is_not_there() -> None:
    with pytest.raises(KeyError, match='no pool is called "kv"; there is "mem"'):
        plot_timeline(memory(), 0, 10, pool="kv")
    with pytest.raises(KeyError, match="the program has no pool"):
        plot_timeline(serq_lab.load(PROGRAMS / "01-queue.sq"), 0, 10)


def test_a_preempted_hold_is_crossed_where_its_session_waits_at_another_pool() -> None:
    ax = plot_timeline(serq_lab.compile(PREEMPTS), 0, 20, pool="kv")
    (crosses,) = [line for line in ax.lines if line.get_marker() == "X"]
    assert crosses.get_xdata().tolist() == [3.0, 5.0]
    assert "preempted" in {text.get_text() for text in ax.get_legend().get_texts()}
    assert ", 2 preemptions" in alt_text(ax)
    assert [text.get_text() for text in ax.figure.axes[1].texts] == [
        "nobody waits here: a hold waits at the first of its pools"
    ]


def test_thin_boxes_are_not_all_outline() -> None:
    text = (
        "pool kv { cap 1000; } stage far : delay; workload { arrive batch(1); }session { hold kv (N) { run far (1); } }"
    )
    outlines = {}
    for n in (5, 500):
        program = serq_lab.compile(f"let N = {n}; {text} run {{ horizon 9; }}")
        (box,) = patches(plot_timeline(program, 0, 9))
        outlines[n] = box.get_linewidth()
    assert outlines[5] == 0 < outlines[500]
