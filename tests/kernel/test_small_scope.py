"""Every order of joining, leaving, growing, releasing, evicting and preempting that a few sessions can bring about.

The engine is held against `plain_pool.py`, which is section 5 of `LANGUAGE.md` in plain Python, on all worlds of the
spaces below: what each session saw and when, what the pool counted, the areas under what was used, cached and queued,
and the number of events. Each space names what it must bring about, so that none is exhaustive about nothing.
"""

from __future__ import annotations

import pytest

import serq_lab
from tests.kernel.plain_pool import PlainPool, Rules, Session, Statement
from tests.kernel.small_scope import Space, check

RUNS_LIFO = True
"""Whether the engine runs `preempt lifo`; as long as it does not, it has to refuse it."""

GROWING = {
    "capacity 1, nothing held too": Space(1, (0, 1), more=(0, 1), early=(0, 1)),
    "capacity 2": Space(2, (1, 2), more=(0, 1), early=(0, 1)),
    "capacity 3": Space(3, (1, 2, 3), more=(0, 1), early=(0, 1)),
    "capacity 4": Space(4, (1, 2, 4), more=(0, 2), early=(0, 1)),
    "more than there is": Space(2, (1, 2), more=(0, 3)),
    "by key": Space(
        3, (1, 2, 3), more=(0, 1), options="queue by (units, -serial); ", queue_key=lambda s: (s.units, -s.serial)
    ),
}
LEAVING = {
    f"capacity {cap}": Space(cap, units, stay=(0, 1, 2), start=(0, 1))
    for cap, units in ((1, (1,)), (2, (1, 2)), (3, (1, 2, 3)), (4, (1, 3, 4)))
}
CACHING = {
    "capacity 1": Space(1, (0, 1), kept=(0, 1, 99), n_turns=2),
    "capacity 2": Space(2, (1, 2), kept=(0, 1, 99), n_turns=2),
    "capacity 3": Space(3, (1, 2), kept=(0, 1, 99), gap=(1, 2), n_turns=2, n_sessions=2, early=(0, 1)),
    "capacity 4": Space(4, (1, 2, 3), kept=(0, 1, 99), n_turns=2),
    "reusing a part": Space(4, (1, 3), kept=(99,), reuse=(0, 1, 99), n_turns=2),
    "reusing a part, in blocks": Space(4, (1, 3, 4), kept=(99,), reuse=(1, 3), n_turns=2, block=2),
    "reusing a part, small ones first": Space(
        4, (1, 3), kept=(1, 99), reuse=(0, 1), n_turns=3, options="evict by (size); ", evict_key=lambda e: (e.units,)
    ),
    "rounds of three": Space(3, (1, 2), kept=(0, 99), n_turns=3),
    "growing": Space(3, (1, 2), more=(0, 1), kept=(0, 99), n_turns=2),
    "in blocks": Space(4, (1, 3), kept=(0, 1, 99), n_turns=2, block=2),
    "in blocks, growing": Space(4, (1, 3), more=(0, 1), kept=(0, 99), n_turns=2, block=2),
    "small ones go first": Space(
        3, (1, 2, 3), kept=(0, 1, 99), n_turns=2, options="evict by (size); ", evict_key=lambda e: (e.units,)
    ),
    "young ones go first": Space(
        3, (1, 2), kept=(0, 1, 99), n_turns=2, options="evict by (-last); ", evict_key=lambda e: (-e.last,)
    ),
    "pairs": Space(3, (1, 2, 3), more=(0, 1, 2), early=(0, 1), kept=(0, 99), n_turns=2, n_sessions=2),
}
PREEMPTING = {
    "capacity 1": Space(1, (0, 1), more=(0, 1), early=(0, 1), is_lifo=True),
    "capacity 2": Space(2, (1, 2), more=(0, 1), early=(0, 1), is_lifo=True),
    "capacity 2, keeping": Space(2, (1, 2), more=(0, 1), kept=(0, 99), is_lifo=True),
    "capacity 3": Space(3, (1, 2), stay=(1, 2), more=(0, 2), is_lifo=True),
    "capacity 3, coming back": Space(3, (1, 2), more=(0, 1), kept=(0, 99), n_turns=2, n_sessions=3, is_lifo=True),
    "capacity 4": Space(4, (1, 3), more=(0, 1), early=(0, 1), is_lifo=True),
    "in blocks": Space(4, (1, 3), more=(0, 1), kept=(0, 99), block=2, is_lifo=True),
    "by key": Space(
        3, (1, 2, 3), more=(0, 1), options="queue by (-serial); ", queue_key=lambda s: (-s.serial,), is_lifo=True
    ),
}


@pytest.mark.parametrize("name", GROWING)
def test_joining_growing_and_releasing(name: str) -> None:
    assert check(GROWING[name])["queue_area"] > 0.0


@pytest.mark.parametrize("name", LEAVING)
def test_joining_and_leaving(name: str) -> None:
    assert check(LEAVING[name])["queue_area"] > 0.0


def test_being_turned_away() -> None:
    assert check(Space(2, (1, 3), kept=(0, 99), n_turns=2))["rejected"] > 0.0


@pytest.mark.parametrize("name", CACHING)
def test_caching_and_evicting(name: str) -> None:
    totals = check(CACHING[name])
    assert totals["cached_area"] > 0.0
    assert totals["evicted_units"] >= totals["evicted_entries"] > 0.0


@pytest.mark.parametrize("name", PREEMPTING)
def test_preempting(name: str) -> None:
    space = PREEMPTING[name]
    if not RUNS_LIFO:
        with pytest.raises(serq_lab.ProgramError, match="preempt lifo"):
            check(space)
        return
    assert check(space)["preemptions"] > 0.0


def run_plain(rules: Rules, *scripts: list[Statement], kept: float = 0.0) -> PlainPool:
    pool = PlainPool(rules, [Session(serial, script, kept) for serial, script in enumerate(scripts)], 16.0)
    pool.run()
    return pool


def when(pool: PlainPool, what: str) -> list[tuple[int, float]]:
    return [(serial, time) for name, serial, _, time, _ in pool.seen if name == what]


def hold(units: float, *body: Statement) -> list[Statement]:
    return [("hold", units), *body, ("leave", 0)]


def test_the_plain_pool_preempts_the_youngest_who_comes_first_again() -> None:
    """Session 0 grows at 1 and takes the place of 2, then of 1; both go ahead of 3, the one preempted last first."""
    first = hold(2, ("nap", 1), ("grow", 3), ("nap", 2))
    pool = run_plain(Rules(5, is_lifo=True), first, *[hold(units, ("nap", 4)) for units in (2, 1, 5)])
    assert when(pool, "admitted") == [(0, 0.0), (1, 0.0), (2, 0.0), (1, 3.0), (2, 3.0), (3, 7.0)]
    assert pool.counts["preemptions"] == 2


@pytest.mark.parametrize(("kept", "n_stuck"), [(0.0, 1), (99.0, 0)])
def test_the_plain_pool_preempts_the_grower_itself_if_it_is_the_youngest(kept: float, n_stuck: int) -> None:
    """Session 1 loses its own hold and is given it again at once, at 1 and at 2. If the hold keeps nothing, the second
    time finds it no further than the first; if it keeps what it had, it has come further."""
    grower = hold(2, ("nap", 1), ("grow", 1), ("nap", 1))
    pool = run_plain(Rules(4, is_lifo=True), hold(2, ("nap", 3)), grower, kept=kept)
    assert when(pool, "admitted") == [(0, 0.0), (1, 0.0), (1, 1.0), (1, 2.0)]
    assert when(pool, "grown") == [(1, 3.0)]
    assert (pool.counts["preemptions"], pool.counts["stuck"]) == (2, n_stuck)
