"""The tree of a program as it is written: nothing resolved, nothing expanded.

Every node carries the span of its text. Comparing nodes ignores spans, so that print-then-parse can be
checked with ``==``. Made by `parser.py`, printed by `printer.py`, read by `semantics/expand.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Union

from serq_lab.source import Span


@dataclass(frozen=True)
class Node:
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True)
class Identifier(Node):
    """A name at the place where it stands."""

    name: str


# ---------------------------------------------------------------- expressions


@dataclass(frozen=True)
class Number(Node):
    value: float
    text: str = field(compare=False)


@dataclass(frozen=True)
class Name(Node):
    name: str


@dataclass(frozen=True)
class Member(Node):
    """``kv[i]`` inside an expression: only as the argument of an observable or a definition."""

    name: str
    index: Expression


@dataclass(frozen=True)
class Unary(Node):
    """``-a`` or ``!a``."""

    operator: str
    operand: Expression


@dataclass(frozen=True)
class Chain(Node):
    """``a + b - c`` or ``a * b / c``: one level of left-associative operators, flat.

    Flat because a sum of 100,000 terms is one node, not 100,000 nested ones; evaluated from the left.
    ``len(operators) == len(operands) - 1``.
    """

    operands: tuple[Expression, ...]
    operators: tuple[str, ...]


@dataclass(frozen=True)
class Power(Node):
    base: Expression
    exponent: Expression


@dataclass(frozen=True)
class Comparison(Node):
    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Logical(Node):
    """``a && b && c`` or ``a || b || c``, flat, evaluated from the left until decided."""

    operator: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Conditional(Node):
    condition: Expression
    if_true: Expression
    if_false: Expression


@dataclass(frozen=True)
class Call(Node):
    """``name(args)``: a function, an observable or an expression definition."""

    callee: Identifier
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Draw(Node):
    """``~name(args)``."""

    distribution: Identifier
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Aggregate(Node):
    """``max i in 4 (e)``."""

    function: str
    variable: Identifier
    count: Expression
    body: Expression


Expression = Union[Number, Name, Member, Unary, Chain, Power, Comparison, Logical, Conditional, Call, Draw, Aggregate]

# ----------------------------------------------------------------- statements


@dataclass(frozen=True)
class Reference(Node):
    """A pool or a stage, or a member of an array: ``kv`` or ``kv[i]``."""

    name: Identifier
    index: Expression | None


@dataclass(frozen=True)
class Claim(Node):
    pool: Reference
    units: Expression
    reserve: Expression | None


@dataclass(frozen=True)
class Turn(Node):
    pass


@dataclass(frozen=True)
class Request(Node):
    pass


@dataclass(frozen=True)
class End(Node):
    pass


@dataclass(frozen=True)
class Set(Node):
    name: Identifier
    value: Expression


@dataclass(frozen=True)
class Observe(Node):
    name: Identifier
    value: Expression


@dataclass(frozen=True)
class Hold(Node):
    claims: tuple[Claim, ...]
    reuse: Expression | None
    bindings: tuple[tuple[Identifier, Expression], ...]
    body: Block
    cache: Expression | None
    lease: tuple[Reference, Expression] | None


@dataclass(frozen=True)
class Grow(Node):
    pool: Reference
    amount: Expression


@dataclass(frozen=True)
class Drop(Node):
    pool: Reference


@dataclass(frozen=True)
class Release(Node):
    pool: Reference


@dataclass(frozen=True)
class Load(Node):
    pool: Reference
    amount: Expression


@dataclass(frozen=True)
class Run(Node):
    """``run a, b prefill (w) growing p;`` with mode ``"prefill"``, ``"decode"`` or None."""

    stages: tuple[Reference, ...]
    mode: str | None
    work: Expression
    growing: Reference | None


@dataclass(frozen=True)
class Serve(Node):
    """A serving form other than transfer: ``prefill w growing p;``, ``tool [i] z;``, ``decode on e w;``."""

    word: str
    index: Expression | None
    stage: Reference | None
    work: Expression
    growing: Reference | None


@dataclass(frozen=True)
class Transfer(Node):
    """``transfer x from p to q (n);`` over the stages named, or over `link` or `transfer`."""

    index: Expression | None
    stages: tuple[Reference, ...]
    work: Expression
    origin: Reference
    destination: Reference
    amount: Expression


@dataclass(frozen=True)
class Branch(Node):
    """``branch (e) {..} else {..}``; `drawn` for ``branch with (p)``; `otherwise` None without ``else``."""

    drawn: bool
    guard: Expression
    then: Block
    otherwise: Block | None


@dataclass(frozen=True)
class Loop(Node):
    body: Block


@dataclass(frozen=True)
class Choose(Node):
    name: Identifier
    count: Expression
    keys: tuple[Expression, ...]


@dataclass(frozen=True)
class Invoke(Node):
    """``name(args);``: a statement definition."""

    callee: Identifier
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Block(Node):
    statements: tuple[Statement, ...]


Statement = Union[
    Turn, Request, End, Set, Observe, Hold, Grow, Drop, Release, Load, Run, Serve, Transfer, Branch, Loop,
    Choose, Invoke,
]  # fmt: skip

# ---------------------------------------------------------------------- items


@dataclass(frozen=True)
class Let(Node):
    name: Identifier
    value: Expression


@dataclass(frozen=True)
class Use(Node):
    path: str


@dataclass(frozen=True)
class Definition(Node):
    """``def f(x) = e;`` or ``def f(x) { .. }``: the body is an expression or a block."""

    name: Identifier
    parameters: tuple[Identifier, ...]
    body: Expression | Block


@dataclass(frozen=True)
class Option(Node):
    """``cap 10;``, ``budget B;``, ``horizon 1e5;``: an option whose value is one expression."""

    keyword: str
    value: Expression


@dataclass(frozen=True)
class EvictOption(Node):
    """`keys` is None for ``evict lru``."""

    keys: tuple[Expression, ...] | None


@dataclass(frozen=True)
class PreemptOption(Node):
    policy: str


@dataclass(frozen=True)
class QueueOption(Node):
    """`keys` is None for ``queue fifo``."""

    keys: tuple[Expression, ...] | None


@dataclass(frozen=True)
class AdmitOption(Node):
    stage: Reference


@dataclass(frozen=True)
class SpillOption(Node):
    pool: Reference
    stage: Reference
    work: Expression
    condition: Expression


PoolOption = Union[Option, EvictOption, PreemptOption, QueueOption, AdmitOption, SpillOption]


@dataclass(frozen=True)
class Pool(Node):
    name: Identifier
    size: Expression | None
    options: tuple[PoolOption, ...]


@dataclass(frozen=True)
class MemoryOption(Node):
    pool: Reference


@dataclass(frozen=True)
class Order(Node):
    """``admission``, ``by (keys)``, ``decode first``, ``exclusive prefill``, ``only (e) order``.

    `kind` is one of ``admission by decode_first exclusive_prefill``; `only` the condition of ``only``, or
    None.
    """

    kind: str
    keys: tuple[Expression, ...]
    only: Expression | None


@dataclass(frozen=True)
class ServeOption(Node):
    order: Order


StepOption = Union[Option, MemoryOption, ServeOption]


@dataclass(frozen=True)
class FifoKind(Node):
    servers: Expression | None


@dataclass(frozen=True)
class PsKind(Node):
    capacity: Expression


@dataclass(frozen=True)
class DelayKind(Node):
    pass


@dataclass(frozen=True)
class StepKind(Node):
    options: tuple[StepOption, ...]


StageKind = Union[FifoKind, PsKind, DelayKind, StepKind]


@dataclass(frozen=True)
class Stage(Node):
    name: Identifier
    size: Expression | None
    kind: StageKind


@dataclass(frozen=True)
class Arrive(Node):
    """``arrive poisson(0.8);``: `process` is ``poisson renewal closed batch none``, `value` None for none."""

    process: str
    value: Expression | None


@dataclass(frozen=True)
class Trace(Node):
    path: str
    ordered: bool


@dataclass(frozen=True)
class InitBlock(Node):
    body: Block


@dataclass(frozen=True)
class TurnBlock(Node):
    body: Block


@dataclass(frozen=True)
class WorkloadSession(Node):
    body: Block


@dataclass(frozen=True)
class Hidden(Node):
    names: tuple[Identifier, ...]


WorkloadItem = Union[Arrive, Trace, InitBlock, TurnBlock, WorkloadSession, Hidden]


@dataclass(frozen=True)
class Workload(Node):
    items: tuple[WorkloadItem, ...]


@dataclass(frozen=True)
class Session(Node):
    body: Block


@dataclass(frozen=True)
class Server(Node):
    body: Block


@dataclass(frozen=True)
class RunBlock(Node):
    settings: tuple[Option, ...]


@dataclass(frozen=True)
class Share(Node):
    policy: str


@dataclass(frozen=True)
class Gauge(Node):
    name: Identifier
    value: Expression


Item = Union[Let, Use, Definition, Pool, Stage, Workload, Session, Server, RunBlock, Share, Gauge]


@dataclass(frozen=True)
class Comment(Node):
    """``// ..`` or ``/* .. */``, its marks included."""

    text: str


@dataclass(frozen=True)
class Program(Node):
    items: tuple[Item, ...]
    comments: tuple[Comment, ...] = field(default=(), compare=False)
