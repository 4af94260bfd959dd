"""The cache of a pool against a plain model of it: a list in order of release."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import serq_lab
from serq_lab.report.report import Report

PROGRAM = """
pool p {{ cap {cap}; {block} {evict} }}
stage nap : delay;
workload {{ arrive batch({n_sessions}); }}
session {{
  loop {{
    run nap (~exp(1));
    set units = floor(~uniform(0, 7) * 4) / 4;
    set kept = floor(~uniform(0, 7) * 4) / 4;
    set bound = floor(~uniform(-1, 7) * 4) / 4;
    branch (~bernoulli(0.1)) {{ drop p; observe dropped = 1; }} else {{ observe dropped = 0; }}
    hold p (units) {reuse} {{ observe hit = cached; }} cache (kept);
    observe units = units; observe kept = kept; observe bound = bound; observe left = cachedin(p);
    branch (~bernoulli(0.05)) {{ observe ended = 1; end; }} else {{ observe ended = 0; }}
  }}
}}
gauge level = free(p);
run {{ horizon 60; seed {seed}; }}
"""


@dataclass
class Entry:
    """`owner` is -1 when nobody can use it any more; `key` is what it is evicted by, the least first."""

    owner: int
    units: float
    released_at: float


class PlainCache:
    """A pool in which nobody ever holds for long: so only its cache fills it."""

    def __init__(self, cap: float, block: float, by_size: bool) -> None:
        self.cap, self.block, self.by_size = cap, block, by_size
        self.entries: list[Entry] = []  # in order of release
        self.n_evicted, self.units_evicted = 0, 0.0

    def round_up(self, units: float) -> float:
        return math.ceil(units / self.block) * self.block if self.block else units

    def round_down(self, units: float) -> float:
        return math.floor(units / self.block) * self.block if self.block and units < math.inf else units

    def of(self, session: int) -> Entry | None:
        return next((entry for entry in self.entries if entry.owner == session), None)

    def take(self, session: int, most: float) -> float:
        """Consume a session's entry; what is left belongs to nobody."""
        entry = self.of(session)
        if entry is None:
            return 0.0
        taken = min(entry.units, self.round_down(most))
        entry.units -= taken
        entry.owner = -1
        if entry.units == 0:
            self.entries.remove(entry)
        return taken

    def make_room(self, units: float) -> None:
        while sum(entry.units for entry in self.entries) + units > self.cap:
            victim = min(self.entries, key=lambda entry: entry.units) if self.by_size else self.entries[0]
            gone = min(self.block, victim.units) if self.block else victim.units
            victim.units -= gone
            self.units_evicted += gone
            if victim.units == 0:
                self.entries.remove(victim)
                self.n_evicted += 1

    def hold(self, session: int, units: float, bound: float, kept: float, now: float) -> float:
        """A hold that ends at once; gives what it found."""
        units = self.round_up(units)
        hit = self.take(session, bound)
        self.make_room(units)
        kept = self.round_down(min(kept, units))
        if kept > 0:
            self.take(session, math.inf)
            self.entries.append(Entry(session, kept, now))
        return hit


def follow(report: Report, cache: PlainCache, has_reuse: bool) -> None:
    """Do with the plain cache what the sessions did, in their order, and see the same."""
    columns = {name: report.observe[name].samples.tolist() for name in report.observe}
    sessions, times = report.observe["hit"].sessions.tolist(), report.observe["hit"].times.tolist()
    for k, (session, now) in enumerate(zip(sessions, times, strict=True)):
        if columns["dropped"][k]:
            cache.take(session, math.inf)
        bound = max(columns["bound"][k], 0.0) if has_reuse else math.inf
        hit = cache.hold(session, columns["units"][k], bound, columns["kept"][k], now)
        assert columns["hit"][k] == hit
        mine = cache.of(session)
        assert columns["left"][k] == (0.0 if mine is None else mine.units)
        if columns["ended"][k] and mine is not None:
            mine.owner = -1
    pool = report.pool["p"]
    assert (pool.evicted_entries, pool.evicted_units) == (cache.n_evicted, cache.units_evicted)
    assert pool.admissions == len(times)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([8.0, 12.0, 20.0, 33.5]), st.sampled_from([0.0, 0.5, 2.0]), st.booleans(), st.booleans(),
    st.integers(1, 12), st.integers(0, 999),
)  # fmt: skip
def test_random_sessions(cap: float, block: float, by_size: bool, has_reuse: bool, n_sessions: int, seed: int) -> None:
    text = PROGRAM.format(
        cap=cap, n_sessions=n_sessions, seed=seed,
        block=f"block {block};" if block else "", evict="evict by (size);" if by_size else "",
        reuse="reuse (bound)" if has_reuse else "",
    )  # fmt: skip
    report = serq_lab.compile(text).run()
    assert report.observe["hit"].count > 0
    follow(report, PlainCache(cap, block, by_size), has_reuse)


def test_the_model_has_something_to_find() -> None:
    """Hits, partial hits and evictions do happen in these programs."""
    text = PROGRAM.format(cap=12, n_sessions=6, seed=1, block="", evict="", reuse="reuse (bound)")
    report = serq_lab.compile(text).run()
    hits = report.observe["hit"].samples
    assert (hits > 0).sum() > 20
    assert report.pool["p"].evicted_entries > 20


@pytest.mark.parametrize("key", ["-last", "age - 2 * size", "waiting, size", "rank"])
def test_keys_of_entries_whose_session_is_gone(key: str) -> None:
    """They read the attributes of the moment when the entry was put in."""
    text = f"""
      pool p {{ cap 6; evict by ({key}); }} stage nap : delay;
      workload {{ arrive batch(4); }}
      session {{
        run nap (serial);
        set rank = (serial == 1 ? -1 : serial);
        hold p (2) {{ run nap (0.5); }} cache (2);
        set rank = 99;
        branch (serial < 3) {{ end; }}
        run nap (1);
      }}
      run {{ horizon 100; }}
    """
    pool = serq_lab.compile(text).run(check=True).pool["p"]
    assert (pool.evicted_entries, pool.evicted_units) == (1, 2.0)


def test_an_entry_of_an_ended_session_stays_and_is_nobody_s() -> None:
    text = """
      pool p { cap 6; } stage nap : delay;
      workload { arrive batch(2); }
      session {
        run nap (serial);
        observe mine = cachedin(p);
        hold p (4) { observe hit = cached; } cache (4);
      }
      run { horizon 100; }
    """
    report = serq_lab.compile(text).run(check=True)
    assert report.observe["mine"].samples.tolist() == [0.0, 0.0]
    assert report.observe["hit"].samples.tolist() == [0.0, 0.0]
    assert report.pool["p"].evicted_units == 4.0
