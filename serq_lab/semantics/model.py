"""The model: a checked program, names resolved to numbers, sugar written out. What `lowering/lower.py` reads.

Made by `checker.py`. Pools and stages are *families* here (an array is one family); a family's members are
numbered from 0. Expressions hold no names: a let, an attribute, a family is its row in the model's tuples.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Union

from serq_lab.diagnostics.diagnostic import Diagnostic
from serq_lab.source import SourceText, Span


@dataclass(frozen=True)
class Resolved:
    span: Span = field(repr=False, compare=False)


@dataclass(frozen=True)
class Constant(Resolved):
    value: float


@dataclass(frozen=True)
class LetValue(Resolved):
    let: int


@dataclass(frozen=True)
class Now(Resolved):
    pass


@dataclass(frozen=True)
class Attribute(Resolved):
    attribute: int


@dataclass(frozen=True)
class Context(Resolved):
    """``size age last waiting present residents decoders kv_decode kv_prefill tokens prefilled attention
    decoding admission remaining``.
    """

    name: str


@dataclass(frozen=True)
class Target(Resolved):
    """A member of a family: `index` is None for a family that is no array."""

    family: int
    index: Expression | None


@dataclass(frozen=True)
class Observable(Resolved):
    """``queue busy work est_lambda est_rho est_wait price budget_left`` of a stage, ``used free cachedin
    holders queued blocksize`` of a pool. `arguments` are ``hit, extra`` of `price`, else empty.
    """

    name: str
    target: Target
    arguments: tuple[Expression, ...] = ()


@dataclass(frozen=True)
class Negation(Resolved):
    operand: Expression


@dataclass(frozen=True)
class Not(Resolved):
    operand: Expression


@dataclass(frozen=True)
class Chain(Resolved):
    """Operands joined by ``+ -`` or ``* /`` from the left."""

    operands: tuple[Expression, ...]
    operators: tuple[str, ...]


@dataclass(frozen=True)
class Comparison(Resolved):
    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Logical(Resolved):
    operator: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Conditional(Resolved):
    condition: Expression
    if_true: Expression
    if_false: Expression


@dataclass(frozen=True)
class Function(Resolved):
    """``min max`` (two or more arguments) ``abs floor ceil sqrt exp ln pow``; ``a ^ b`` is `pow`."""

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Draw(Resolved):
    """``exp uniform erlang h2 bernoulli det``."""

    distribution: str
    arguments: tuple[Expression, ...]


Expression = Union[
    Constant, LetValue, Now, Attribute, Context, Observable, Negation, Not, Chain, Comparison, Logical,
    Conditional, Function, Draw,
]  # fmt: skip


@dataclass(frozen=True)
class Set(Resolved):
    attribute: int
    value: Expression


@dataclass(frozen=True)
class Observe(Resolved):
    observation: int
    value: Expression


@dataclass(frozen=True)
class Turn(Resolved):
    """The lowering writes the model's `turn` block out behind it."""


@dataclass(frozen=True)
class End(Resolved):
    pass


@dataclass(frozen=True)
class Claim(Resolved):
    pool: Target
    units: Expression
    reserve: Expression | None


@dataclass(frozen=True)
class Hold(Resolved):
    """``at admission`` is substituted in the header; names that the body reads are `Set` at its top."""

    claims: tuple[Claim, ...]
    reuse: Expression | None
    body: Block
    cache: Expression | None
    lease: tuple[Target, Expression] | None


@dataclass(frozen=True)
class Grow(Resolved):
    pool: Target
    amount: Expression


@dataclass(frozen=True)
class Drop(Resolved):
    pool: Target


@dataclass(frozen=True)
class Release(Resolved):
    pool: Target


@dataclass(frozen=True)
class Load(Resolved):
    pool: Target
    amount: Expression


@dataclass(frozen=True)
class Run(Resolved):
    """`mode` is ``"prefill"``, ``"decode"`` or None; several stages are a flow."""

    stages: tuple[Target, ...]
    mode: str | None
    work: Expression
    growing: Target | None


@dataclass(frozen=True)
class Branch(Resolved):
    """``branch with (p)`` has a `Draw` of bernoulli as its guard."""

    guard: Expression
    then: Block
    otherwise: Block


@dataclass(frozen=True)
class Loop(Resolved):
    body: Block


@dataclass(frozen=True)
class Choose(Resolved):
    attribute: int
    count: Expression
    keys: tuple[Expression, ...]


Statement = Union[Set, Observe, Turn, End, Hold, Grow, Drop, Release, Load, Run, Branch, Loop, Choose]
Block = tuple[Statement, ...]


@dataclass(frozen=True)
class Let(Resolved):
    """`span` is the whole declaration, `comment` the one behind it on its line, without marks ("" if none),
    `uses` the lets that its formula reads, directly.
    """

    name: str
    value: Expression
    comment: str
    uses: frozenset[int]


@dataclass(frozen=True)
class Spill(Resolved):
    pool: Target
    stage: Target
    work: Expression
    condition: Expression


@dataclass(frozen=True)
class Pool(Resolved):
    """A family of pools.

    `size` is None for a single pool; `cap` and `block` are constant expressions (lets only); `evict_keys` and
    `queue_keys` are None for ``lru`` and ``fifo``; `preempt` is ``"none"`` or ``"lifo"``; `admit_via` is a
    stage family, joined as `LANGUAGE.md` section 8 says, or None.
    """

    name: str
    size: int | None
    cap: Expression
    block: Expression | None
    evict_keys: tuple[Expression, ...] | None
    queue_keys: tuple[Expression, ...] | None
    preempt: str
    admit_via: Target | None
    spill: Spill | None

    @property
    def n_members(self) -> int:
        return 1 if self.size is None else self.size


@dataclass(frozen=True)
class Order(Resolved):
    """`kind`: ``admission by decode_first exclusive_prefill``."""

    kind: str
    keys: tuple[Expression, ...]
    only: Expression | None


@dataclass(frozen=True)
class Stage(Resolved):
    """A family of stages; `kind` is ``"fifo"``, ``"ps"``, ``"delay"`` or ``"step"``.

    `servers` (fifo) is a constant expression; `capacity` (ps) may read `Context("present")`; `budget`,
    `cost`, `chunk`, `memory` and `order` belong to a step stage (`budget` and `chunk` None when not given).
    `is_flow`: some run holds several stages of which this family is one, so every job here is a flow.
    """

    name: str
    size: int | None
    kind: str
    servers: Expression | None = None
    capacity: Expression | None = None
    budget: Expression | None = None
    cost: Expression | None = None
    chunk: Expression | None = None
    memory: Target | None = None
    order: Order | None = None
    is_flow: bool = False

    @property
    def n_members(self) -> int:
        return 1 if self.size is None else self.size


@dataclass(frozen=True)
class Arrivals(Resolved):
    """`process`: ``poisson renewal closed batch none``; `value` a rate, gap (may draw), count or None."""

    process: str
    value: Expression | None


@dataclass(frozen=True)
class TraceFile(Resolved):
    path: str
    ordered: bool


@dataclass(frozen=True)
class Gauge(Resolved):
    name: str
    value: Expression


@dataclass(frozen=True)
class RunSettings(Resolved):
    """Constant expressions; `warmup` and `seed` have their defaults, `arrivals` is None without a limit."""

    horizon: Expression
    warmup: Expression
    seed: Expression
    arrivals: Expression | None


@dataclass(frozen=True)
class Constants:
    """Everything that is a number before the run, for one set of let values. Made by `constants.py`.

    `caps`, `blocks` (NaN where a pool has none) and `servers` (0 where a stage has none) are one value a *family*;
    `population` is the count of ``closed`` or ``batch``, else 0; `structure` are the values of what the model's shape
    rests on (array sizes, aggregate counts, constant indices): if they differ, the program must be checked again.
    """

    lets: tuple[float, ...]
    caps: tuple[float, ...]
    blocks: tuple[float, ...]
    servers: tuple[int, ...]
    population: int
    horizon: float
    warmup: float
    seed: int
    arrivals: int | None
    structure: tuple[float, ...]


@dataclass(frozen=True)
class Requirement(Resolved):
    """A value known before the run, and its `rule`, a key of `constants.RULES`.

    `subject` is what messages call the value; `limit` is the length of the array of an ``"index"``.
    """

    rule: str
    subject: str
    value: Expression
    limit: float = inf


@dataclass(frozen=True)
class Model:
    """A checked program.

    `attributes` starts with `BUILT_IN_ATTRIBUTES`; `observations` stand in order of first appearance, `init` and `turn`
    first; an override stands in `lets` as that let's formula. `requirements` must hold of values that depend on lets;
    `structure` are the expressions behind `Constants.structure`; `libraries` are the files that it uses.
    """

    source: SourceText
    lets: tuple[Let, ...]
    attributes: tuple[str, ...]
    observations: tuple[str, ...]
    gauges: tuple[Gauge, ...]
    pools: tuple[Pool, ...]
    stages: tuple[Stage, ...]
    share: str | None
    arrivals: Arrivals
    trace: TraceFile | None
    init: Block
    turn: Block
    session: Block
    settings: RunSettings
    constants: Constants
    warnings: tuple[Diagnostic, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    structure: tuple[Expression, ...] = ()
    libraries: tuple[SourceText, ...] = ()


BUILT_IN_ATTRIBUTES = ("serial", "turn_no", "cached", "computed", "new", "out", "think", "more", "forced")
