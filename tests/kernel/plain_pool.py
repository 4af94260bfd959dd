"""A pool as section 5 of `LANGUAGE.md` describes it, in plain slow Python that shares nothing with the kernel.

In comes one script a session, out go what each saw and what the pool counted. `test_small_scope.py` holds the engine
against it. There is one pool and one `delay` stage; every rule that these can show is here, each in the words of the
specification and in the order in which it says that things happen.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

Key = tuple[float, ...]
Statement = tuple[str, float]
"""``("nap", time)``, ``("turn", 0)``, ``("hold", units)``, ``("observe", 0)`` of what was consumed,
``("grow", units)``, ``("release", 0)``, and ``("leave", 0)`` at the end of the hold's block."""
COUNTS = (
    *("events", "admissions", "rejected", "evicted_entries", "evicted_units", "preemptions", "stuck"),
    *("used_area", "cached_area", "queue_area"),
)


@dataclass
class Entry:
    """A cached prefix; `owner` is its session's number, -1 when that has ended."""

    owner: int
    units: float
    last: float


@dataclass
class Session:
    serial: int
    script: Sequence[Statement]
    kept: float  # by its `cache` clause
    reuse: float = math.inf
    units: float = 0.0  # what it joined the queue for
    at: int = 0  # the statement that comes next
    turn_no: int = 0
    hold_at: int = 0  # the statement of its hold
    is_holding: bool = False
    allocation: float = 0.0
    consumed: float = 0.0  # where the hold's position starts, and stays: nothing moves it here
    admission: int = 0
    was_preempted: bool = False
    reached: float | None = None  # by the previous preemption, until that is forgotten
    was_stuck: bool = False
    asked: float = 0.0  # the allocation that a stalled growth asks for
    wake: int = -1  # the event that its nap waits for; any other is stale
    news: str = ""  # what it observes first when it goes on: that it was admitted, or has grown


@dataclass
class Rules:
    """The options of the pool; the keys are those of `queue by` and `evict by`."""

    cap: float
    block: float = 0.0
    queue_key: Callable[[Session], Key] | None = None
    evict_key: Callable[[Entry], Key] | None = None
    is_lifo: bool = False


@dataclass
class PlainPool:
    """One run; `seen` has (what, session, turn, time, value), as the program's observations have it."""

    rules: Rules
    sessions: list[Session]
    horizon: float
    seen: list[tuple[str, int, int, float, float]] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)  # in order of release
    queue: list[Session] = field(default_factory=list)
    growers: list[Session] = field(default_factory=list)
    ready: list[Session] = field(default_factory=list)
    events: list[tuple[float, int, Session]] = field(default_factory=list)
    counts: dict[str, float] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0.0))
    now: float = 0.0

    def __post_init__(self) -> None:
        self.orders = count()
        self.admissions = count(1)

    # ------------------------------------------------------------ time

    def run(self) -> None:
        self.ready = list(self.sessions)
        self.settle()
        while self.events and self.events[0][0] <= self.horizon:
            time, order, session = heapq.heappop(self.events)
            self.pass_time(time)
            self.counts["events"] += 1
            if session.wake == order:
                session.wake = -1
                self.ready.append(session)
            self.settle()
        self.pass_time(self.horizon)

    def pass_time(self, time: float) -> None:
        passed = time - self.now
        self.counts["used_area"] += self.used() * passed
        self.counts["cached_area"] += self.cached() * passed
        self.counts["queue_area"] += len(self.queue) * passed
        self.now = time

    def settle(self) -> None:
        while self.ready:
            while self.ready:
                self.execute(self.ready.pop(0))
            self.serve()

    # ------------------------------------------------------------ what the pool holds

    def used(self) -> float:
        return sum(session.allocation for session in self.sessions)

    def cached(self) -> float:
        return sum(entry.units for entry in self.entries)

    def fits(self, units: float) -> bool:
        """Cached units never block."""
        return self.used() + units <= self.rules.cap

    def up(self, units: float) -> float:
        return math.ceil(units / self.rules.block) * self.rules.block if self.rules.block else units

    def down(self, units: float) -> float:
        return math.floor(units / self.rules.block) * self.rules.block if self.rules.block else units

    def own_entry(self, session: Session) -> Entry | None:
        return next((entry for entry in self.entries if entry.owner == session.serial), None)

    def own_units(self, session: Session) -> float:
        own = self.own_entry(session)
        return own.units if own else 0.0

    def make_room(self, units: float) -> None:
        """Evict until so many more fit: the entry with the least key, of equals the one released first."""
        while self.used() + self.cached() + units > self.rules.cap:
            key = self.rules.evict_key
            victim = min(self.entries, key=key) if key else self.entries[0]
            size = victim.units
            if self.rules.block and size > self.rules.block:
                size = self.rules.block
                victim.units -= size
            else:
                self.entries = [entry for entry in self.entries if entry is not victim]
                self.counts["evicted_entries"] += 1
            self.counts["evicted_units"] += size

    # ------------------------------------------------------------ a session

    def note(self, what: str, session: Session, value: float) -> None:
        self.seen.append((what, session.serial, session.turn_no, self.now, value))

    def execute(self, session: Session) -> None:
        """Run a session until it has to wait."""
        if session.news:
            self.note(session.news, session, self.used())
            session.news = ""
        while session.at < len(session.script):
            word, amount = session.script[session.at]
            session.at += 1
            if word == "turn":
                session.turn_no += 1
            elif word == "nap":
                self.nap(session, amount)
                return
            elif word == "hold":
                session.hold_at = session.at - 1
                self.join(session, amount)
                return
            elif word == "grow":
                if not self.grow(session, self.up(session.allocation + amount)):
                    return
                self.note("grown", session, self.used())
            elif word == "observe":
                self.note("cached", session, session.consumed)
            elif word == "release":
                self.give_back(session)
                session.reached = None
                self.serve()
                self.note("released", session, self.used())
            elif word == "leave":
                self.leave(session)
        self.end(session)

    def nap(self, session: Session, time: float) -> None:
        if time <= 0.0:
            self.ready.append(session)
            return
        session.wake = next(self.orders)
        heapq.heappush(self.events, (self.now + time, session.wake, session))

    def end(self, session: Session) -> None:
        self.note("ended", session, self.own_units(session))
        self.abandon_entry(session)

    def abandon_entry(self, session: Session) -> None:
        """A session ends: its entry stays, with nobody to use it."""
        for entry in self.entries:
            if entry.owner == session.serial:
                entry.owner = -1

    # ------------------------------------------------------------ joining and admission

    def join(self, session: Session, units: float) -> None:
        session.units = self.up(units)
        if session.units > self.rules.cap:
            self.counts["rejected"] += 1
            session.at = len(session.script)
            self.abandon_entry(session)
        elif session.was_preempted:
            self.queue.insert(0, session)
        else:
            self.queue.append(session)

    def head(self) -> Session:
        key = self.rules.queue_key
        first = self.queue[0]
        return first if first.was_preempted or key is None else min(self.queue, key=key)

    def serve(self) -> None:
        """Retry the growers, the first stalled first, and then admit."""
        while self.growers and self.fits(self.growers[0].asked - self.growers[0].allocation):
            session = self.growers.pop(0)
            self.enlarge(session, session.asked)
            self.ready.append(session)
            session.news = "grown"
        while self.queue and self.fits(self.head().units):
            session = self.head()
            self.queue.remove(session)
            self.admit(session)

    def admit(self, session: Session) -> None:
        """The session's own entry is consumed, room is made, the units are allocated."""
        own = self.own_entry(session)
        session.consumed = 0.0
        if own:  # what is not consumed stays behind in its place, ownerless
            session.consumed = self.down(min(own.units, session.reuse))
            own.units, own.owner = own.units - session.consumed, -1
            self.entries = [entry for entry in self.entries if entry.units > 0.0]
        self.make_room(session.units)
        session.allocation, session.is_holding = session.units, True
        session.admission, session.was_preempted = next(self.admissions), False
        self.counts["admissions"] += 1
        session.news = "admitted"
        self.ready.append(session)

    # ------------------------------------------------------------ leaving

    def give_back(self, session: Session) -> None:
        """The units go back, and what the hold keeps of them is cached as the youngest entry."""
        if not session.is_holding:
            return
        keeps = self.down(min(session.kept, session.allocation))
        session.allocation, session.is_holding = 0.0, False
        if keeps > 0.0:
            own = self.own_entry(session)
            self.entries = [entry for entry in self.entries if entry is not own]
            self.make_room(keeps)
            self.entries.append(Entry(session.serial, keeps, self.now))

    def leave(self, session: Session) -> None:
        self.give_back(session)
        session.reached = None
        self.serve()
        self.note("left", session, self.own_units(session))

    # ------------------------------------------------------------ growing and preemption

    def enlarge(self, session: Session, units: float) -> None:
        more = units - session.allocation
        self.make_room(more)
        session.allocation = units

    def grow(self, session: Session, units: float) -> bool:
        """Enlarge a hold at once if it fits, even if growers wait; else stall, or preempt until it fits."""
        while not self.fits(units - session.allocation):
            if not self.rules.is_lifo:
                session.asked = units
                self.growers.append(session)
                return False
            victim = max((holder for holder in self.sessions if holder.is_holding), key=lambda s: s.admission)
            self.preempt(victim)
            if victim is session:
                return False
        self.enlarge(session, units)
        return True

    def preempt(self, victim: Session) -> None:
        """The victim leaves where it is, its hold is undone, and it goes to the head of the queue with that hold."""
        victim.wake, victim.news = -1, ""
        self.ready = [session for session in self.ready if session is not victim]
        self.counts["preemptions"] += 1
        if victim.reached is not None and victim.reached >= victim.consumed and not victim.was_stuck:
            victim.was_stuck = True
            self.counts["stuck"] += 1
        victim.reached = victim.consumed
        self.give_back(victim)
        victim.was_preempted = True
        victim.at = victim.hold_at + 1
        self.join(victim, victim.script[victim.hold_at][1])
