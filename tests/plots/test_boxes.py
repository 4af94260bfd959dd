"""Boxes of a pool: as many units as are held, never two at one place, never outside the pool."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serq_lab.plots.boxes import Box, Places, place
from serq_lab.report.pool_log import PoolLog, Stay

CAP = 10.0


def log_of(holds: list[Stay], cached: tuple[Stay, ...] = ()) -> PoolLog:
    return PoolLog(0, 100, CAP, True, tuple(holds), cached, (), (), (), (), (), ())


def stay(session: int, start: float, end: float, *units: float) -> Stay:
    """A stay whose units change once a unit of time."""
    return Stay(session, start, end, tuple((start + k, float(each)) for k, each in enumerate(units)))


@st.composite
def full_logs(draw: st.DrawFn) -> PoolLog:
    """Stays that come and go in steps of time, as many as fit, some of which grow or shrink."""
    used = [0.0] * 40
    stays = []
    for session in range(draw(st.integers(1, 25))):
        start, length = draw(st.integers(0, 30)), draw(st.integers(1, 9))
        units = [draw(st.integers(1, 6))] * length
        for k in range(1, length):
            units[k] = draw(st.sampled_from([units[k - 1], units[k - 1], max(units[k - 1] - 1, 1), units[k - 1] + 1]))
        if all(used[start + k] + each <= CAP for k, each in enumerate(units)):
            for k, each in enumerate(units):
                used[start + k] += each
            stays.append(stay(session, float(start), float(start + length), *units))
    return log_of(stays)


@given(full_logs())
def test_boxes_hold_the_units_of_their_stay_and_do_not_overlap(log: PoolLog) -> None:
    boxes = place(log)
    for k in range(40):
        now = k + 0.5
        here = [box for box in boxes if box.start <= now < box.end]
        for hold in log.holds:
            is_here = hold.start <= now < hold.end
            expected = [units for time, units in hold.steps if time <= now][-1] if is_here else 0.0
            assert sum(box.high - box.low for box in here if box.stay is hold) == pytest.approx(expected)
        ranges = sorted((box.low, box.high) for box in here)
        assert all(low >= 0 and high <= CAP for low, high in ranges)
        assert all(one[1] <= other[0] + 1e-9 for one, other in pairwise(ranges))


def test_what_does_not_fit_in_one_piece_is_drawn_in_several() -> None:
    holds = [stay(k, 0, 9 if k % 2 else 1, 2) for k in range(5)]  # 0 to 10, of which three leave
    boxes = place(log_of([*holds, stay(9, 1, 5, 6)]))
    assert [(box.low, box.high) for box in boxes if box.stay.session == 9] == [(8, 10), (4, 6), (0, 2)]


def test_a_prefix_takes_the_place_of_its_hold() -> None:
    hold, other = stay(0, 0, 3, 4), stay(1, 0, 9, 2)
    prefix = stay(0, 3, 9, 3)
    boxes = place(log_of([stay(2, 0, 3, 2), hold, other], (prefix,)))
    (held,), (kept,) = ([box for box in boxes if box.stay is each] for each in (hold, prefix))
    assert kept.is_cached
    assert held.low <= kept.low < kept.high <= held.high


def test_an_endless_pool() -> None:
    log = log_of([stay(0, 0, 2, 1e6), stay(1, 1, 2, 1e6)])._replace(cap=float("inf"))
    assert {(box.low, box.high) for box in place(log)} == {(0.0, 1e6), (1e6, 2e6)}


def test_places_come_back() -> None:
    places = Places(10)
    first, second = places.take(4), places.take(6)
    assert (first, second, places.take(1)) == ([(0, 4)], [(4, 10)], [])
    places.give((4, 10))
    places.give((0, 4))
    assert places.take(10) == [(0, 10)]


def test_boxes_name_their_stay() -> None:
    hold = stay(3, 0, 2, 5)
    assert place(log_of([hold])) == [Box(hold, False, 0, 2, 0, 5)]
