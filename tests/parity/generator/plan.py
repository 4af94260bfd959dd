"""What a random program consists of, before a line of it is written: features, pools, stages.

A program has each feature or not, and the share of features differs from program to program: rare ones meet in
every combination, and some programs are plain. Comes in: `choices.py`. Next: `declarations.py`, `session.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.parity.generator.choices import Choices

COMMON = (
    *("cache", "blocks", "nested", "grow", "draws", "fifo", "ps", "gauges", "warmup", "queue by", "evict by"),
    *("estimates", "reserve", "at admission", "release", "choose", "aggregates", "defs", "sides", "hidden", "drop"),
    *("end", "turns", "with", "ps formula", "two servers", "ties", "functions"),
)
RARE = ("step", "lifo", "arrays", "lease", "load", "spill", "flows", "trace")
STEP = ("growing", "memory", "admit via", "budget", "chunk", "order", "serving forms", "transfer", "two engines")


@dataclass(frozen=True)
class Pool:
    """A pool that the program declares."""

    name: str
    is_array: bool = False
    is_lifo: bool = False
    is_tier: bool = False
    via: str | None = None  # the step stage that serves its queue
    block: str | None = None


@dataclass(frozen=True)
class Stage:
    """A stage that the program declares."""

    name: str
    kind: str  # fifo, ps, delay, step, link (of flows)
    is_array: bool = False
    memory: str | None = None


@dataclass
class Plan:
    """What there is to write about."""

    choices: Choices
    features: frozenset[str]
    members: int = 0  # of every array; 0: no arrays
    pools: list[Pool] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    n_names: int = 0

    def has(self, feature: str) -> bool:
        return feature in self.features

    def name(self, stem: str) -> str:
        """A name that nothing else has."""
        self.n_names += 1
        return f"{stem}{self.n_names}"

    def of_kind(self, *kinds: str) -> list[Stage]:
        return [stage for stage in self.stages if stage.kind in kinds]

    @property
    def holdable(self) -> list[Pool]:
        return [pool for pool in self.pools if not pool.is_tier]

    def ref(self, thing: Pool | Stage) -> str:
        """A pool or stage as a statement names it: a member by the session's attribute `at`, which is
        truncated."""
        if not thing.is_array:
            return thing.name
        # The statements of a hold must name its pools as its header does.
        index = "at" if isinstance(thing, Pool) else self.choices.one("at", "at", "at", "at + 0.3")
        return f"{thing.name}[{index}]"

    def fixed(self, thing: Pool | Stage) -> str:
        """A pool or stage as a gauge or a stage names it."""
        return f"{thing.name}[{self.choices.number(0, self.members - 1)}]" if thing.is_array else thing.name


def plan(choices: Choices) -> Plan:
    """Choose what a program consists of."""
    common, rare = choices.one(20, 40, 60, 80), choices.one(0, 20, 40, 60)
    features = {name for name in COMMON if choices.chance(common)} | {name for name in RARE if choices.chance(rare)}
    if "step" in features:
        features |= {name for name in STEP if choices.chance(common + 20)}
    if features & {"lifo", "spill"}:
        features |= {"grow", "cache"}
    if choices.chance(1):
        features.add("nobody")
    result = Plan(choices, frozenset(features))
    if result.has("arrays"):
        result.members = choices.number(2, 3)
    _stages(result)
    _pools(result)
    return result


def _array(it: Plan, percent: int = 50) -> bool:
    return it.members > 0 and it.choices.chance(percent)


def _stages(it: Plan) -> None:
    it.stages.append(Stage("nap", "delay"))
    if it.has("fifo"):
        it.stages.append(Stage("desk", "fifo", _array(it)))
    if it.has("ps"):
        it.stages.append(Stage("share", "ps", _array(it, 30)))
    if it.has("step"):
        first = "decode" if it.has("two engines") else "eng"
        memory = "kv" if it.has("memory") else None
        it.stages.append(Stage(first, "step", _array(it), memory))
        if it.has("two engines"):
            memory = it.choices.one(None, "mem") if it.has("memory") else None
            it.stages.append(Stage("prefill", it.choices.one("step", "fifo"), _array(it, 30), memory))
    if it.has("serving forms"):
        it.stages.append(Stage("tool", "delay"))
    if it.has("transfer") or it.has("spill"):
        it.stages.append(Stage("link", it.choices.one("fifo", "delay", "ps"), _array(it, 20)))
    if it.has("flows"):
        it.stages.append(Stage("up", "link", _array(it)))
        it.stages.append(Stage("down", "link", _array(it, 30)))


def _pools(it: Plan) -> None:
    names = ["kv", "mem", "seat"][: it.choices.number(1, 3)]
    if any(stage.memory == "mem" for stage in it.stages) or it.has("transfer"):
        names = ["kv", "mem", *names[2:]]
    engines = {stage.memory: stage for stage in it.stages if stage.memory}
    for name in names:
        engine = engines.get(name)
        # Arrays are joined member by member; the memory of an array may also be one pool for all.
        is_array = _array(it) if engine is None or engine.is_array else False
        via = None
        if it.has("admit via") and it.choices.chance(60 if name == "seat" else 25):
            via = it.choices.one(*it.of_kind("step")).name
            if is_array and not next(stage for stage in it.stages if stage.name == via).is_array:
                is_array = False
            if not is_array and next(stage for stage in it.stages if stage.name == via).is_array:
                via = None
        is_lifo = it.has("lifo") and it.choices.chance(60)
        block = it.choices.one("2", "3", "0.5", "4") if it.has("blocks") and it.choices.chance(60) else None
        it.pools.append(Pool(name, is_array, is_lifo, via=via, block=block))
    if it.has("spill"):
        it.pools.append(Pool("tier", is_tier=True))
