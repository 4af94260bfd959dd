"""Random small programs of pools, caches and stages: each can run, each ends soon."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

Draw = Callable[..., object]

UNITS = ("0", "1", "2", "3", "5", "2.5", "need", "need + turn_no", "1 + serial / 3", "9")
MOMENTARY = ("1 + queued(a)", "free(a) / 2", "~uniform(0, 4)")  # may change while a session waits
TIMES = ("0", "0.25", "0.5", "1", "need / 4", "~exp(0.5)", "~uniform(0, 1)")
QUEUE_KEYS = ("need", "-serial", "need, -serial", "used(a) - need")
EVICT_KEYS = ("size", "-last", "age / size", "waiting, need", "size, -last", "serial")
KEPT = ("need", "computed", "99", "3 - turn_no")
REUSED = ("need", "1", "0", "99", "2.5")
GUARDS = ("need > 2", "serial == 2", "~bernoulli(0.5)", "queue(desk) > 1", "cachedin(a) > 1")


class Writer:
    """Writes statements, with choices that hypothesis makes."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.n_observations = 0

    def one(self, *of: str) -> str:
        return str(self.draw(st.sampled_from(of)))

    def number(self, least: int, most: int) -> int:
        value = self.draw(st.integers(least, most))
        assert isinstance(value, int)
        return value

    def chance(self) -> bool:
        return self.number(0, 1) == 1

    def statement(self, depth: int, held: tuple[str, ...]) -> str:
        """One statement inside the holds on the pools `held`."""
        kinds = ["run", "observe", "set"] + ["hold"] * 2 * (depth > 0) + ["grow"] * bool(held)
        kind = self.one(*kinds, *(("drop", "branch") if depth > 0 else ()))
        if kind == "hold":
            return self.hold(depth - 1, held)
        if kind == "branch":
            return f"branch ({self.one(*GUARDS)}) {self.block(depth - 1, held)}"
        if kind == "grow":
            return f"grow {self.one(*held)} ({self.one('0', '1', '2', 'need')});"
        if kind == "set":
            return f"set need = {self.one('need + 1', '1 + floor(~uniform(0, 6))', '3 - need / 2', 'turn_no')};"
        if kind == "observe":
            self.n_observations += 1
            value = self.one("now", "used(a) + queued(a)", "cachedin(b)", "holders(a)", "work(desk)", "need")
            return f"observe o{self.n_observations} = {value};"
        if kind == "drop":
            return f"drop {self.one('a', 'b')};"
        return f"run {self.one('desk', 'share', 'nap')} ({self.one(*TIMES)});"

    def block(self, depth: int, held: tuple[str, ...]) -> str:
        return "{ " + " ".join(self.statement(depth, held) for _ in range(self.number(1, 3))) + " }"

    def hold(self, depth: int, held: tuple[str, ...]) -> str:
        """A hold of one pool or both; pools are held in one order only, so that nobody waits in a circle."""
        pools = [pool for pool in ("a", "b") if pool not in held]
        if not pools:
            return ""
        if len(pools) == 2 and not self.chance():
            pools = [self.one(*pools)]
        claims = [f"{pool} ({self.one(*UNITS, *MOMENTARY)})" + self.option("reserve", UNITS) for pool in pools]
        has_cache = self.chance()
        reuse = self.option("reuse", REUSED) if has_cache else ""
        release = f"release {pools[0]}; run nap (0.5);" if self.number(0, 3) == 0 else ""
        body = f"{{ {self.block(depth, (*held, *pools))[2:-2]} {release} }}"
        kept = KEPT if held else (*KEPT, "cached + 1")
        return f"hold {', '.join(claims)}{reuse} {body}" + (f" cache ({self.one(*kept)});" if has_cache else "")

    def option(self, word: str, values: tuple[str, ...]) -> str:
        return f" {word} ({self.one(*values)})" if self.number(0, 2) == 0 else ""

    def pool(self, name: str) -> str:
        options = [f"cap {self.one('4', '6', '8', '13', '8.5')};"]
        options.append(self.one("", "", "block 2;", "block 0.5;"))
        options.append(self.one("", f"queue by ({self.one(*QUEUE_KEYS)});"))
        options.append(self.one("", f"evict by ({self.one(*EVICT_KEYS)});"))
        return f"pool {name} {{ {' '.join(option for option in options if option)} }}"


@st.composite
def programs(draw: Draw) -> str:
    """A program's text."""
    w = Writer(draw)
    arrivals = w.one("batch(6)", "closed(4)", "renewal(0.5)", "poisson(2)", "renewal(~uniform(0.1, 1))")
    body = " ".join(w.statement(2, ()) for _ in range(w.number(1, 4)))
    return "\n".join(
        [
            w.pool("a"),
            w.pool("b"),
            f"stage desk : fifo({w.one('1', '2')});",
            "stage share : ps(min(present, 2));",
            "stage nap : delay;",
            f"workload {{ arrive {arrivals}; init {{ set need = {w.one('2', '1 + serial', '~uniform(1, 6)')}; }} }}",
            # A round takes time even if the session is turned away at once and another takes its place.
            f"session {{ loop {{ turn; run nap (0.25); {body} branch (turn_no >= {w.number(1, 5)}) {{ end; }} }} }}",
            "gauge level = used(a);",
            f"run {{ horizon {w.number(6, 20)}; warmup {w.one('0', '3')}; seed {w.number(1, 99)}; }}",
        ]
    )
