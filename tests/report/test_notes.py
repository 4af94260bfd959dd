"""Notes: said where due, and not where not."""

from __future__ import annotations

import numpy as np
import pytest

from tests.report import hand_made, oracle


def windows_of_a_queue(load: float, horizon: float, warmup: float, seed: int) -> np.ndarray:
    """Time averages of the number in an M/M/1 system of service rate 1 over 20 windows after the warm-up."""
    random = np.random.default_rng(seed)
    n_steps = int(horizon * (1 + load) * 1.2)
    gaps, ups = random.exponential(1 / (1 + load), n_steps), random.random(n_steps) * (1 + load) < load
    # Uniformised: a step down at an empty system changes nothing, so the level is a reflected random walk.
    walk = np.cumsum(np.where(ups, 1, -1))
    level = np.concatenate(([0], walk - np.minimum(np.minimum.accumulate(walk), 0)))
    times = np.concatenate(([0.0], np.cumsum(gaps)))
    area = np.concatenate(([0.0], np.cumsum(level[:-1] * gaps)))
    edges = np.linspace(warmup, horizon, 21)
    return np.diff(np.interp(edges, times, area)) / np.diff(edges)


def growth_notes(windows: np.ndarray, **settings: object) -> list[str]:
    settings = {"arrivals": 80000, "process": "poisson", **settings}
    return hand_made.report(live_windows=windows, **settings).notes  # type: ignore[arg-type]


def test_the_chapter_has_none() -> None:
    assert oracle.chapter()[0].notes == []


@pytest.mark.parametrize("seed", range(20))
def test_a_stable_queue_is_not_said_to_grow(seed: int) -> None:
    assert growth_notes(windows_of_a_queue(0.8, 100_000, 5000, seed)) == []


@pytest.mark.parametrize("seed", range(20))
def test_an_overloaded_queue_is_said_to_grow(seed: int) -> None:
    (note,) = growth_notes(windows_of_a_queue(1.1, 100_000, 5000, seed))
    assert note.startswith("note: the number of live sessions was still growing at the end (")


def test_a_queue_at_its_limit_is_noticed_nearly_always() -> None:
    noticed = [bool(growth_notes(windows_of_a_queue(1.0, 100_000, 5000, seed))) for seed in range(100)]
    assert sum(noticed) >= 85


def test_slow_swings_are_told_from_growth() -> None:
    (note,) = growth_notes(np.linspace(40, 10, 20))
    assert note == (
        "note: the number of live sessions had not settled by the end: it swung between 10.0 and 40.0, as "
        "slowly as the run is long, and may be growing: the means depend on the horizon."
    )


@pytest.mark.parametrize(
    "settings",
    [{"process": "closed"}, {"process": "batch"}, {"process": "none"}, {"limit": 5000}, {"arrivals": 99}],
)
def test_a_population_that_cannot_grow_or_is_small(settings: dict[str, object]) -> None:
    rising = np.linspace(1, 40, 20)
    assert len(growth_notes(rising)) == 1
    assert growth_notes(rising, **settings) == []


def test_windows_that_the_run_did_not_reach() -> None:
    assert growth_notes(np.array([1.0] * 10 + [np.nan] * 10)) == []


def test_nobody_ever_lives() -> None:
    assert growth_notes(np.zeros(20)) == []


def test_turned_away() -> None:
    report = hand_made.report(
        pools=[hand_made.pool("mem"), hand_made.pool("kv", 2)],
        caps=[4, 2.5],
        pool_rows=hand_made.pool_records(
            3,
            admissions=[5, 5, 5],
            rejected=[19925, 0, 1],
            rejected_least=[5, np.nan, 3],
            rejected_most=[5, np.nan, 7.5],
        ),
        arrivals=79460,
        live_windows=np.full(20, 1.0),
    )
    assert report.notes == [
        'note: 19925 of 79460 sessions were turned away at pool "mem": they asked for 5 units, '
        "its capacity is 4; the means describe the others.",
        'note: 1 of 79460 sessions was turned away at pool "kv[1]": it asked for between 3 and 7.5 units, '
        "its capacity is 2.5; the means describe the others.",
    ]


def test_stuck() -> None:
    report = hand_made.report(
        pools=[hand_made.pool("kv")],
        caps=[76],
        pool_rows=hand_made.pool_records(1, admissions=[9], stuck=[3]),
    )
    (note,) = report.notes
    assert note.startswith('note: 3 sessions were stuck at pool "kv": preempted again')
    assert "capacity of 76" in note
    assert report.n_stuck == 3


def test_few_samples_and_none() -> None:
    report = hand_made.report(
        observations={
            "plenty": hand_made.samples(np.ones(40)),
            "few": hand_made.samples([1.0, 2.0]),
            "almost": hand_made.samples(np.ones(39)),
            "never": hand_made.samples([]),
        }
    )
    assert report.notes == [
        'note: nothing was observed as "never" after the warm-up.',
        'note: fewer than 40 samples, too few for an interval: "few" (2), "almost" (39).',
    ]


def test_wide_intervals() -> None:
    # Alternating batches: 20 means of 1 +- x, so the half width is about 0.48 x.
    def swinging(x: float, base: float = 1.0) -> np.ndarray:
        return np.repeat(base + x * np.where(np.arange(20) % 2, 1, -1), 3)

    report = hand_made.report(
        observations={
            "narrow": hand_made.samples(swinging(0.1)),
            "wide": hand_made.samples(swinging(0.4)),
            "negative": hand_made.samples(swinging(0.4, -1.0)),
            "zero": hand_made.samples(np.zeros(60)),
            "missing": hand_made.samples(np.full(60, np.nan)),
            "endless": hand_made.samples(np.full(60, np.inf)),
        },
        gauges={"level": hand_made.changes((0, 0), (5, 8)), "flat": hand_made.changes((0, 3))},
    )
    (note,) = report.notes
    assert note == (
        'note: the interval is wider than a tenth of the mean: "wide" (1.0000 with a half width of 0.1921), '
        '"negative" (-1.0000 with a half width of 0.1921), "level" (4.0000 with a half width of 1.9207); '
        "a longer horizon would tell more."
    )


def test_unused_pools_are_counted_when_they_are_many() -> None:
    pools = [hand_made.pool("tier"), hand_made.pool("kv", 7)]
    used = hand_made.pool_records(8, cached_area=[3] + [0] * 7)
    assert hand_made.report(pools=pools, pool_rows=used).notes == [
        'note: nobody was admitted to pools "kv[0]", "kv[1]", "kv[2]", "kv[3]", "kv[4]" and 2 more.'
    ]
