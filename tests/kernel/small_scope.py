"""All worlds of a few sessions with small scripts, run on the engine and on the plain pool.

A session's script is a choice of numbers: when it starts, what it holds, how long it stays, by how much it grows,
whether it releases early, what it leaves in the cache, when it comes back. A `Space` lists the values of each; all
combinations of scripts for all sessions are its *worlds*, and `check` runs every one. Times are small whole numbers, so
that most instants are shared. To be quick, one run of the engine holds many worlds, each with its own pool of an array
and its own sessions, which find their scripts from `serial`. The spaces stand in `test_small_scope.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import serq_lab
from serq_lab.pipeline import Program
from serq_lab.report.report import Report
from tests.kernel.plain_pool import Entry, Key, PlainPool, Rules, Session, Statement

HORIZON = 16.0  # a power of two: dividing an area by it loses nothing
WORLDS_A_RUN = 250

PROGRAM = """
let First = 0; // the number of the first world of this run
let Worlds = {worlds};
let Scripts = {scripts};
pool p[Worlds] {{ cap {cap}; {options} }}
stage nap : delay;
workload {{
  arrive batch({n_sessions} * Worlds);
  init {{
    set world = floor(serial / {n_sessions});
    set who = serial - {n_sessions} * world;
    set rest = floor((First + world) / Scripts ^ who);
    set rest = rest - Scripts * floor(rest / Scripts);
    {choices}
  }}
}}
session {{
  run nap (start);
  loop {{
    turn;
    hold p[world] (units) reuse (reuse) {{
      observe admitted = used(p[world]);
      observe cached = cached;
      run nap (stay);
      branch (more > 0) {{ grow p[world] (more); observe grown = used(p[world]); run nap (1); }}
      branch (early) {{ release p[world]; observe released = used(p[world]); run nap (1); }}
    }} cache (kept);
    observe left = cachedin(p[world]);
    branch (turn_no >= {n_turns}) {{ observe ended = cachedin(p[world]); end; }}
    run nap (gap);
  }}
}}
run {{ horizon {horizon}; }}
"""


class Script(NamedTuple):
    """One session's choice: the attributes of the program, under their names."""

    start: int
    units: int
    stay: int
    more: int
    early: int
    kept: int
    reuse: int
    gap: int


NAMES = Script._fields
Seen = list[tuple[str, int, int, float, float]]


@dataclass(frozen=True)
class Space:
    """What the scripts choose from, and the pool's options: as text for the engine, as functions for the plain pool."""

    cap: int
    units: tuple[int, ...]
    start: tuple[int, ...] = (0, 1)
    stay: tuple[int, ...] = (1,)
    more: tuple[int, ...] = (0,)
    early: tuple[int, ...] = (0,)
    kept: tuple[int, ...] = (0,)
    reuse: tuple[int, ...] = (99,)
    gap: tuple[int, ...] = (1,)
    n_turns: int = 1
    n_sessions: int = 3
    options: str = ""
    is_lifo: bool = False
    block: int = 0
    queue_key: Callable[[Session], Key] | None = None
    evict_key: Callable[[Entry], Key] | None = None

    @property
    def choices(self) -> list[tuple[int, ...]]:
        return [getattr(self, name) for name in NAMES]

    @property
    def n_scripts(self) -> int:
        return math.prod(map(len, self.choices))

    @property
    def n_worlds(self) -> int:
        return int(self.n_scripts**self.n_sessions)

    @property
    def text(self) -> str:
        block = f"block {self.block}; " if self.block else ""
        return self.options + block + ("preempt lifo; " if self.is_lifo else "")

    def program(self) -> Program:
        """The last attribute is the digit of a script's number that changes fastest, as in `itertools.product`."""
        lines = []
        for name in reversed(NAMES):
            values = getattr(self, name)
            lines.append(f"set digit = rest - {len(values)} * floor(rest / {len(values)});")
            lines.append(f"set rest = floor(rest / {len(values)});")
            chain = "".join(f"digit == {digit} ? {value} : " for digit, value in enumerate(values[:-1]))
            lines.append(f"set {name} = {chain}{values[-1]};")
        return serq_lab.compile(
            PROGRAM.format(
                worlds=WORLDS_A_RUN, scripts=self.n_scripts, cap=self.cap, horizon=HORIZON, choices=" ".join(lines),
                options=self.text, n_sessions=self.n_sessions, n_turns=self.n_turns,
            )
        )  # fmt: skip

    def scripts(self) -> list[Script]:
        """All of them, in the order of their numbers."""
        return [Script(**dict(zip(NAMES, values, strict=True))) for values in product(*self.choices)]

    def statements(self, script: Script) -> list[Statement]:
        """What the program's session does, statement after statement."""
        statements: list[Statement] = [("nap", script.start)]
        for turn in range(self.n_turns):
            statements += [("turn", 0), ("hold", script.units), ("observe", 0), ("nap", script.stay)]
            statements += [("grow", script.more), ("nap", 1)] * (script.more > 0)
            statements += [("release", 0), ("nap", 1)] * script.early
            statements += [("leave", 0)] + [("nap", script.gap)] * (turn < self.n_turns - 1)
        return statements

    def rules(self) -> Rules:
        return Rules(self.cap, self.block, self.queue_key, self.evict_key, self.is_lifo)

    def numbers(self, world: int) -> list[int]:
        """The number of each session's script in a world."""
        return [world // self.n_scripts**who % self.n_scripts for who in range(self.n_sessions)]

    def plain(self, scripts: list[Script]) -> PlainPool:
        """The run of the world with these scripts on the plain pool."""
        sessions = [
            Session(who, self.statements(script), script.kept, script.reuse) for who, script in enumerate(scripts)
        ]
        pool = PlainPool(self.rules(), sessions, HORIZON)
        pool.run()
        return pool


def seen_by(report: Report, n_sessions: int) -> list[Seen]:
    """What the sessions of each world observed, sorted."""
    worlds: list[Seen] = [[] for _ in range(WORLDS_A_RUN)]
    for name, row in report.observe.items():
        columns = (row.sessions.tolist(), row.turns.tolist(), row.times.tolist(), row.samples.tolist())
        for serial, turn, time, value in zip(*columns, strict=True):
            worlds[serial // n_sessions].append((name, serial % n_sessions, turn, time, value))
    return [sorted(seen) for seen in worlds]


def counts_of(report: Report, world: int) -> dict[str, float]:
    pool = report.pool[f"p[{world}]"]
    return {
        "admissions": pool.admissions, "rejected": pool.rejected, "preemptions": pool.preemptions, "stuck": pool.stuck,
        "evicted_entries": pool.evicted_entries, "evicted_units": pool.evicted_units,
        "used_area": pool.mean_used * HORIZON, "cached_area": pool.mean_cached * HORIZON,
        "queue_area": pool.mean_queue * HORIZON,
    }  # fmt: skip


def check(space: Space) -> dict[str, float]:
    """Run every world on both, and compare all; gives what was counted, over all worlds."""
    program, scripts = space.program(), space.scripts()
    totals: dict[str, float] = {}
    for first in range(0, space.n_worlds, WORLDS_A_RUN):
        report = program.run({"First": first})
        seen, n_events = seen_by(report, space.n_sessions), 0.0
        for row in range(WORLDS_A_RUN):  # past the last world the numbers start anew
            world = [scripts[number] for number in space.numbers(first + row)]
            plain = space.plain(world)
            assert seen[row] == sorted(plain.seen), world
            n_events += plain.counts.pop("events")
            assert counts_of(report, row) == plain.counts, world
            for name, value in plain.counts.items():
                totals[name] = totals.get(name, 0.0) + value
        assert report.events == n_events  # stale ones too
    return totals
