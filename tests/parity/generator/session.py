"""The statements of a random session.

Kept out, as the reference has faults there: a hold on a pool that the session already holds or leases, and a hold
that keeps more than it frees. Kept out as nobody would wait for their end: cycles that pass no time.
Comes in: `plan.py`, `expressions.py`. Next: `program.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tests.parity.generator import expressions as e
from tests.parity.generator.plan import Plan, Pool, Stage


@dataclass
class Hold:
    """A hold that is being written."""

    pools: list[Pool]
    released: set[str] = field(default_factory=set)
    is_moved: bool = False  # by a growing run or a load: then the position can pass the units


@dataclass(frozen=True)
class Scope:
    """Where a statement stands."""

    depth: int  # of blocks that may still be opened
    holds: tuple[Hold, ...] = ()
    leased: frozenset[str] = frozenset()
    has_cached: bool = True  # `cached` may be read
    may_end: bool = True

    @property
    def held(self) -> frozenset[str]:
        return frozenset(pool.name for hold in self.holds for pool in hold.pools)

    @property
    def growable(self) -> list[tuple[Hold, Pool]]:
        return [(hold, pool) for hold in self.holds for pool in hold.pools if pool.name not in hold.released]

    def inner(self) -> Scope:
        return replace(self, depth=self.depth - 1)


def block(it: Plan, scope: Scope, least: int = 1, most: int = 3) -> str:
    return " ".join(statement(it, scope) for _ in range(it.choices.number(least, most)))


def statement(it: Plan, scope: Scope) -> str:
    """One statement."""
    kinds = ["run"] * 4 + ["observe", "set"] + ["hold"] * 6 * (scope.depth > 0 and bool(_free_pools(it, scope)))
    kinds += ["branch"] * (scope.depth > 0) + ["run engine"] * 4 * it.has("step") + ["flow"] * 3 * it.has("flows")
    kinds += ["grow"] * 3 * (it.has("grow") and bool(scope.growable))
    kinds += ["release"] * (it.has("release") and bool(scope.growable)) + ["drop"] * (
        it.has("drop") and it.has("cache")
    )
    kinds += ["choose"] * 2 * (it.has("choose") and it.members > 0 and not scope.holds and not scope.leased)
    kinds += ["pick"] * it.has("choose")
    kinds += ["end"] * (it.has("end") and scope.may_end) + ["visit"] * it.has("defs")
    kinds += ["tool"] * it.has("serving forms")
    return WRITERS[it.choices.one(*kinds)](it, scope)


def run(it: Plan, scope: Scope) -> str:
    stages = [stage for stage in it.stages if stage.kind in ("fifo", "ps", "delay")]
    return f"run {it.ref(it.choices.one(*stages))} ({e.duration(it)});"


def flow(it: Plan, scope: Scope) -> str:
    up, down = (it.ref(stage) for stage in it.of_kind("link"))
    return f"run {it.choices.one(f'{up}, {down}', f'{down}, {up}', up, down)} ({e.duration(it)});"


def run_engine(it: Plan, scope: Scope, mode: str | None = None) -> str:
    """A run on a step stage, growing what the session holds where that can be."""
    engines = it.of_kind("step")
    mode = mode or it.choices.one("prefill", "decode")
    engine, is_form = it.choices.one(*engines), it.has("serving forms") and it.choices.chance(60)
    if is_form:  # a form means the stage of its name, or else the only engine
        engine = next((stage for stage in it.stages if stage.name == mode), engines[0])
    growing = ""
    if engine.kind == "step" and it.has("growing") and scope.growable and it.choices.chance(75):
        hold, pool = _growable_at(it, scope, engine)
        hold.is_moved = True
        growing = f" growing {it.ref(pool)}"
    if is_form:
        index = "[at]" if engine.is_array else ""
        return f"{mode}{index} ({e.tokens(it)}){growing};"
    word = f"{mode} on {it.ref(engine)}" if it.choices.chance(30) else f"run {it.ref(engine)} {mode}"
    return f"{word} ({e.tokens(it)}){growing};"


def _growable_at(it: Plan, scope: Scope, engine: Stage) -> tuple[Hold, Pool]:
    """Mostly the memory of the engine."""
    memory = [pair for pair in scope.growable if pair[1].name == engine.memory]
    return it.choices.one(*memory, *memory, *scope.growable)


def tool(it: Plan, scope: Scope) -> str:
    return f"tool {it.choices.one('0.3', '0.5', 'need / 5')};"


def visit(it: Plan, scope: Scope) -> str:
    stages = [stage for stage in it.stages if stage.kind in ("fifo", "ps", "delay")]
    return f"visit({it.ref(it.choices.one(*stages))}, {it.choices.one('0.5', 'ask / 4', 'spend')});"


def observe(it: Plan, scope: Scope) -> str:
    return f"observe {it.name('o')} = {e.observed(it, scope.has_cached)};"


def assign(it: Plan, scope: Scope) -> str:
    options = ["need = need > 5 ? 1 : need + 1", "need = 1 + turn_no - 4 * floor(turn_no / 4)", "ask = 3 - ask / 2"]
    options += ["since = now", "pri = 1 - pri"] + ["need = 1 + floor(~uniform(0, 6))"] * it.has("draws")
    return f"set {it.choices.one(*options)};"


def branch(it: Plan, scope: Scope) -> str:
    if it.has("with") and it.choices.chance(40):
        head = f"branch with ({it.choices.one('0.3', '0.5', 'need / 7')})"
    else:
        head = f"branch ({e.guard(it, scope.has_cached)})"
    other = f" else {{ {block(it, scope.inner())} }}" if it.choices.chance(40) else ""
    return f"{head} {{ {block(it, scope.inner(), 1, 2)} }}{other}"


def end(it: Plan, scope: Scope) -> str:
    test = it.choices.one("serial - 5 * floor(serial / 5) == 3", "turn_no > 2", "serial == 1")
    return f"branch ({test}) {{ end; }}"


def grow(it: Plan, scope: Scope) -> str:
    _, pool = it.choices.one(*scope.growable)
    return f"grow {it.ref(pool)} ({it.choices.one('1', '2', 'need', '0', '0.5', 'ask + 1')});"


def release(it: Plan, scope: Scope) -> str:
    hold, pool = it.choices.one(*scope.growable)
    hold.released.add(pool.name)
    return f"release {it.ref(pool)};"


def drop(it: Plan, scope: Scope) -> str:
    return f"drop {it.ref(it.choices.one(*it.pools))};"


def pick(it: Plan, scope: Scope) -> str:
    """A `choose` of something other than a member."""
    count, keys = (
        it.choices.one("3", "need", "2.5", "0"),
        it.choices.one("abs(pri - 1)", "pri > 1 ? 0 : 1, -pri", "need - pri"),
    )
    return f"choose pri in {count} by ({keys});"


def choose(it: Plan, scope: Scope) -> str:
    return f"choose at in {it.choices.one(str(it.members), '2', '1')} by ({e.routing_keys(it)});"


def _free_pools(it: Plan, scope: Scope) -> list[Pool]:
    """Pools that may be held: later ones than those held, so that nobody waits in a circle, and none leased."""
    names = [pool.name for pool in it.pools]
    first = max((names.index(name) for name in scope.held), default=-1) + 1
    if scope.holds and not it.has("nested"):
        return []
    return [pool for pool in it.pools[first:] if not pool.is_tier and pool.name not in scope.leased]


def hold(it: Plan, scope: Scope) -> str:
    """A hold of one pool or several, perhaps with a lease."""
    chance = it.choices.chance
    free = _free_pools(it, scope)
    pools = [it.choices.one(*free)]
    pools += [pool for pool in free if pool not in pools and chance(30)]
    if chance(30):
        pools = pools[::-1]
    this = Hold(pools)
    has_cache = it.has("cache") and chance(70)
    body = []
    loaded = it.choices.one("1", "2", "0.5") if it.has("load") and chance(40) else None
    if loaded is not None:
        this.is_moved = True
        body.append(f"load {it.ref(pools[0])} ({loaded});")
    if any(pool.is_lifo for pool in pools):
        body.append("run nap (0.25);")  # a session may preempt itself, and starts again
    inner = replace(scope, depth=scope.depth - 1, holds=(*scope.holds, this), has_cached=scope.has_cached and has_cache)
    body.append(block(it, inner, 1, 4))
    if it.has("step") and chance(60):
        body += [run_engine(it, inner, "prefill"), run_engine(it, inner, "decode")]
    text = header(it, this, has_cache, loaded) + f" {{ {' '.join(body)} }}"
    cache = (
        f" cache ({e.kept(it, pools[0], scope.has_cached and has_cache and not this.is_moved)})" if has_cache else ""
    )
    if not it.has("lease") or not chance(50) or any(pool.is_lifo for hold in scope.holds for pool in hold.pools):
        return text + cache + ";"
    return text + cache + lease(it, scope, this)


def header(it: Plan, this: Hold, has_cache: bool, loaded: str | None) -> str:
    """The head of a hold, up to its body."""
    chance, claims = it.choices.chance, []
    named = it.name("part") if it.has("at admission") and chance(40) else None
    for pool in this.pools:
        units = named if named and chance(60) else e.amount(it, pool)
        if this.is_moved and has_cache:
            units = f"max({units}, cachedin({it.ref(pool)}))"
        if loaded is not None and pool is this.pools[0]:
            units = f"{loaded} + ({units})"
        reserve = f" reserve ({e.amount(it, pool)})" if it.has("reserve") and chance(40) else ""
        claims.append(f"{it.ref(pool)} ({units}){reserve}")
    reuse = f" reuse ({e.reused(it)})" if has_cache and chance(30) else ""
    options = ("need + 1", "min(need, ask)", f"1 + used({it.ref(this.pools[0])}) / 4", "turn_no")
    at = f" at admission ({named} = {it.choices.one(*options)})" if named else ""
    return f"hold {', '.join(claims)}{reuse}{at}"


def lease(it: Plan, scope: Scope, this: Hold) -> str:
    """A lease, and its end before the session can hold the pool again."""
    pool = it.choices.one(*this.pools)
    times = ["inf", "1", "0.5", "need / 3", "0"] + ["~exp(1)"] * it.has("draws")
    after = replace(scope, leased=scope.leased | {pool.name})
    parts = [f" lease {it.ref(pool)} ({it.choices.one(*times)});"]
    others = [other for other in _free_pools(it, after) if other.name != pool.name and not other.is_array]
    if it.has("transfer") and scope.depth > 0 and others and it.choices.chance(70):
        return parts[0] + " " + transfer(it, after, pool, it.choices.one(*others))
    parts.append(block(it, after, 0, 2))
    if scope.may_end and it.choices.chance(30):
        parts.append(end(it, after))
    return " ".join([*parts, f"release {it.ref(pool)};"])


def transfer(it: Plan, scope: Scope, source: Pool, target: Pool) -> str:
    """A hold that takes over what the lease keeps."""
    link = next(stage for stage in it.stages if stage.name == "link")
    on = "[at]" if link.is_array else ""
    has_cache = it.has("cache") and it.choices.chance(60)
    this = Hold([target], is_moved=True)
    inner = replace(scope, depth=scope.depth - 1, holds=(*scope.holds, this), has_cached=scope.has_cached and has_cache)
    body = [f"transfer{on} ({e.duration(it)}) from {it.ref(source)} to {it.ref(target)} (1);"]
    if target.is_lifo:
        body.insert(0, "run nap (0.25);")
    body.append(block(it, inner, 0, 2))
    cache = f" cache ({e.kept(it, target, False)})" if has_cache else ""
    return f"{header(it, this, has_cache, '1')} {{ {' '.join(body)} }}{cache};"


WRITERS = {
    "run": run, "observe": observe, "set": assign, "hold": hold, "branch": branch, "run engine": run_engine,
    "flow": flow, "grow": grow, "release": release, "drop": drop, "choose": choose, "end": end, "visit": visit,
    "tool": tool, "pick": pick,
}  # fmt: skip
