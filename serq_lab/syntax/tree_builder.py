"""The tree's nodes from the rules of `grammar.lark`: a method for each rule, or for each name after an arrow.

In come the parts of a rule, its tokens among them (`scanner.Token`) and what was made of its inner rules;
out goes a node of `nodes.py` whose span runs from the first part to the last. Called by `reading.py` while
it parses.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, Union

from lark import Transformer, v_args

from serq_lab.source import Span
from serq_lab.syntax import nodes
from serq_lab.syntax.nodes import Block, Expression, Identifier, Reference
from serq_lab.syntax.scanner import Token


class Part(NamedTuple):
    """What a rule leaves that is no node of its own: a list, or what stood in parentheses, and where."""

    span: Span
    value: Any


Spanned = Union[Token, nodes.Node, Part, None]


def _span(*parts: Spanned) -> Span:
    """From the first part to the last one that is there."""
    present = [part.span for part in parts if part is not None]
    return present[0].to(present[-1])


def _value(part: Part | None) -> Any:
    return None if part is None else part.value


def _identifier(token: Token) -> Identifier:
    return Identifier(token.span, token.value)


@v_args(inline=True)
class TreeBuilder(Transformer[Token, Any]):
    """Holds no state. A parameter with a leading underscore is a part that leaves nothing but its place."""

    # ------------------------------------------------------------ what several rules share

    def program(self, *items: nodes.Item) -> tuple[nodes.Item, ...]:
        return items

    def name(self, token: Token) -> Identifier:
        return _identifier(token)

    def _list(self, *parts: Any) -> Part:
        # part ("," part)*
        return Part(_span(*parts), parts[::2])

    names = references = claims = _list

    def by(self, *parts: Any) -> Part:
        return Part(_span(*parts), parts[2::2])

    def _enclosed(self, open_: Token, inner: Expression, close: Token) -> Part:
        return Part(_span(open_, close), inner)

    parens = index = _enclosed

    def _clause(self, word: Token | None = None, part: Part | Spanned = None) -> Part | None:
        # word and part, or nothing
        if word is None:
            return None
        return Part(_span(word, part), part.value if isinstance(part, Part) else part)

    reserve = reuse = cache = growing = otherwise = _clause

    def _word(self, word: Token | None = None) -> Token | None:
        return word

    mode = comparator = aggregate_word = _word

    def reference(self, name: Identifier, index: Part | None) -> Reference:
        return Reference(_span(name, index), name, _value(index))

    def binding(self, name: Identifier, _equals: Token, value: Expression) -> Part:
        return Part(_span(name, value), (name, value))

    def block(self, open_: Token, *rest: Any) -> Block:
        return Block(_span(open_, rest[-1]), rest[:-1])

    # ------------------------------------------------------------ expressions

    def number(self, token: Token) -> nodes.Number:
        return nodes.Number(token.span, float(token.value.replace("_", "")), token.value)

    def name_expression(self, token: Token) -> nodes.Name:
        return nodes.Name(token.span, token.value)

    def member(self, name: Token, index: Part) -> nodes.Member:
        return nodes.Member(_span(name, index), name.value, index.value)

    def parenthesised(self, open_: Token, inner: Expression, close: Token) -> Expression:
        # the parentheses leave no node; they belong to the place of what they enclose
        return replace(inner, span=_span(open_, close))

    def unary(self, sign: Token, operand: Expression) -> nodes.Unary:
        return nodes.Unary(_span(sign, operand), sign.value, operand)

    def power(self, base: Expression, _sign: Token, exponent: Expression) -> nodes.Power:
        return nodes.Power(_span(base, exponent), base, exponent)

    def _chain(self, *parts: Any) -> nodes.Chain:
        return nodes.Chain(_span(parts[0], parts[-1]), parts[::2], tuple(sign.value for sign in parts[1::2]))

    sum = product = _chain

    def comparison(self, left: Expression, sign: Token, right: Expression) -> nodes.Comparison:
        return nodes.Comparison(_span(left, right), sign.value, left, right)

    def _logical(self, *parts: Any) -> nodes.Logical:
        return nodes.Logical(_span(parts[0], parts[-1]), parts[1].value, parts[::2])

    conjunction = disjunction = _logical

    def conditional(
        self, condition: Expression, _then: Token, if_true: Expression, _else: Token, if_false: Expression
    ) -> nodes.Conditional:
        return nodes.Conditional(_span(condition, if_false), condition, if_true, if_false)

    def arguments(self, open_: Token, *rest: Any) -> Part:
        return Part(_span(open_, rest[-1]), rest[:-1:2])

    def call(self, name: Token, arguments: Part) -> nodes.Call:
        return nodes.Call(_span(name, arguments), _identifier(name), arguments.value)

    def draw(self, sign: Token, name: Token, arguments: Part) -> nodes.Draw:
        return nodes.Draw(_span(sign, arguments), _identifier(name), arguments.value)

    def aggregate(
        self, word: Token, variable: Identifier, _in: Token, count: Expression, body: Part
    ) -> nodes.Aggregate:
        return nodes.Aggregate(_span(word, body), word.value, variable, count, body.value)

    # ------------------------------------------------------------ statements

    def plain_statement(self, word: Token, last: Token) -> nodes.Turn | nodes.Request | nodes.End:
        span = _span(word, last)
        if word.value == "turn":
            return nodes.Turn(span)
        return nodes.Request(span) if word.value == "request" else nodes.End(span)

    def assignment(self, word: Token, binding: Part, last: Token) -> nodes.Set | nodes.Observe:
        kind = nodes.Set if word.value == "set" else nodes.Observe
        return kind(_span(word, last), *binding.value)

    def claim(self, pool: Reference, units: Part, reserve: Part | None) -> nodes.Claim:
        return nodes.Claim(_span(pool, units, reserve), pool, units.value, _value(reserve))

    def at_admission(self, *parts: Any) -> tuple[tuple[Identifier, Expression], ...]:
        return tuple(binding.value for binding in parts[3::2])

    def lease(self, *parts: Any) -> Part | None:
        return Part(_span(*parts), (parts[1], parts[2].value)) if parts else None

    def hold(
        self, word: Token, claims: Part, reuse: Part | None, bindings: Any, body: Block, cache: Part | None,
        lease: Part | None, semicolon: Token | None,
    ) -> nodes.Hold:  # fmt: skip
        span = _span(word, body, cache, lease, semicolon)
        return nodes.Hold(span, claims.value, _value(reuse), bindings, body, _value(cache), _value(lease))

    def change(self, word: Token, pool: Reference, amount: Part, last: Token) -> nodes.Grow | nodes.Load:
        kind = nodes.Grow if word.value == "grow" else nodes.Load
        return kind(_span(word, last), pool, amount.value)

    def give_back(self, word: Token, pool: Reference, last: Token) -> nodes.Drop | nodes.Release:
        kind = nodes.Drop if word.value == "drop" else nodes.Release
        return kind(_span(word, last), pool)

    def run(
        self, word: Token, stages: Part, mode: Token | None, work: Part, growing: Part | None, last: Token
    ) -> nodes.Run:
        return nodes.Run(_span(word, last), stages.value, mode.value if mode else None, work.value, _value(growing))

    def branch(
        self, word: Token, with_: Token | None, guard: Part, then: Block, otherwise: Part | None
    ) -> nodes.Branch:
        return nodes.Branch(_span(word, then, otherwise), with_ is not None, guard.value, then, _value(otherwise))

    def loop(self, word: Token, body: Block) -> nodes.Loop:
        return nodes.Loop(_span(word, body), body)

    def choose(
        self, word: Token, name: Identifier, _in: Token, count: Expression, by: Part, last: Token
    ) -> nodes.Choose:
        return nodes.Choose(_span(word, last), name, count, by.value)

    def no_place(self) -> tuple[None, tuple[()]]:
        return None, ()

    def index_place(self, index: Part) -> tuple[Expression, tuple[()]]:
        return index.value, ()

    def stages_place(self, _on: Token, *stages: Any) -> tuple[None, tuple[Reference, ...]]:
        return None, stages[::2]

    def serving_form(self, word: Token, place: Any, work: Expression, growing: Part | None, last: Token) -> nodes.Serve:
        index, stages = place
        stage = stages[0] if stages else None
        return nodes.Serve(_span(word, last), word.value, index, stage, work, _value(growing))

    def transfer(
        self, word: Token, place: Any, work: Expression, _from: Token, origin: Reference, _to: Token,
        destination: Reference, amount: Part, last: Token,
    ) -> nodes.Transfer:  # fmt: skip
        index, stages = place
        return nodes.Transfer(_span(word, last), index, stages, work, origin, destination, amount.value)

    def invoke(self, callee: Identifier, arguments: Part, last: Token) -> nodes.Invoke:
        return nodes.Invoke(_span(callee, last), callee, arguments.value)

    # ------------------------------------------------------------ items

    def let(self, word: Token, binding: Part, last: Token) -> nodes.Let:
        return nodes.Let(_span(word, last), *binding.value)

    def gauge(self, word: Token, binding: Part, last: Token) -> nodes.Gauge:
        return nodes.Gauge(_span(word, last), *binding.value)

    def use(self, word: Token, path: Token, last: Token) -> nodes.Use:
        return nodes.Use(_span(word, last), path.value[1:-1])

    def expression_definition(
        self, word: Token, name: Identifier, _open: Token, names: Part | None, _close: Token, _equals: Token,
        body: Expression, last: Token,
    ) -> nodes.Definition:  # fmt: skip
        return nodes.Definition(_span(word, last), name, _value(names) or (), body)

    def statement_definition(
        self, word: Token, name: Identifier, _open: Token, names: Part | None, _close: Token, body: Block
    ) -> nodes.Definition:
        return nodes.Definition(_span(word, body), name, _value(names) or (), body)

    def pool(self, word: Token, name: Identifier, size: Part | None, _open: Token, *rest: Any) -> nodes.Pool:
        return nodes.Pool(_span(word, rest[-1]), name, _value(size), rest[:-1])

    def stage(
        self, word: Token, name: Identifier, size: Part | None, _colon: Token, kind: nodes.StageKind,
        last: Token | None,
    ) -> nodes.Stage:  # fmt: skip
        return nodes.Stage(_span(word, kind, last), name, _value(size), kind)

    def workload(self, word: Token, _open: Token, *rest: Any) -> nodes.Workload:
        return nodes.Workload(_span(word, rest[-1]), rest[:-1])

    def block_item(self, word: Token, body: Block) -> nodes.Session | nodes.Server:
        kind = nodes.Session if word.value == "session" else nodes.Server
        return kind(_span(word, body), body)

    def run_block(self, word: Token, _open: Token, *rest: Any) -> nodes.RunBlock:
        return nodes.RunBlock(_span(word, rest[-1]), rest[:-1])

    def share(self, word: Token, policy: Token, last: Token) -> nodes.Share:
        return nodes.Share(_span(word, last), policy.value)

    # ------------------------------------------------------------ inside items

    def option(self, word: Token, value: Expression, last: Token) -> nodes.Option:
        return nodes.Option(_span(word, last), word.value, value)

    def evict(self, word: Token, order: Token | Part, last: Token) -> nodes.EvictOption:
        return nodes.EvictOption(_span(word, last), order.value if isinstance(order, Part) else None)

    def queue(self, word: Token, order: Token | Part, last: Token) -> nodes.QueueOption:
        return nodes.QueueOption(_span(word, last), order.value if isinstance(order, Part) else None)

    def preempt(self, word: Token, policy: Token, last: Token) -> nodes.PreemptOption:
        return nodes.PreemptOption(_span(word, last), policy.value)

    def admit(self, word: Token, _via: Token, stage: Reference, last: Token) -> nodes.AdmitOption:
        return nodes.AdmitOption(_span(word, last), stage)

    def spill(
        self, word: Token, pool: Reference, _via: Token, stage: Reference, work: Part, _when: Token,
        condition: Part, last: Token,
    ) -> nodes.SpillOption:  # fmt: skip
        return nodes.SpillOption(_span(word, last), pool, stage, work.value, condition.value)

    def fifo(self, word: Token, servers: Part | None) -> nodes.FifoKind:
        return nodes.FifoKind(_span(word, servers), _value(servers))

    def ps(self, word: Token, capacity: Part) -> nodes.PsKind:
        return nodes.PsKind(_span(word, capacity), capacity.value)

    def delay(self, word: Token) -> nodes.DelayKind:
        return nodes.DelayKind(word.span)

    def step(self, word: Token, _open: Token, *rest: Any) -> nodes.StepKind:
        return nodes.StepKind(_span(word, rest[-1]), rest[:-1])

    def memory(self, word: Token, pool: Reference, last: Token) -> nodes.MemoryOption:
        return nodes.MemoryOption(_span(word, last), pool)

    def serve(self, word: Token, order: nodes.Order, last: Token) -> nodes.ServeOption:
        return nodes.ServeOption(_span(word, last), order)

    def fixed_order(self, *words: Token) -> nodes.Order:
        return nodes.Order(_span(*words), "_".join(word.value for word in words), (), None)

    def order_by(self, by: Part) -> nodes.Order:
        return nodes.Order(by.span, "by", by.value, None)

    def only(self, word: Token, condition: Part, order: nodes.Order | None) -> nodes.Order:
        kind, keys = (order.kind, order.keys) if order else ("admission", ())
        return nodes.Order(_span(word, condition, order), kind, keys, condition.value)

    def arrive(self, word: Token, process: Token, value: Part, last: Token) -> nodes.Arrive:
        return nodes.Arrive(_span(word, last), process.value, value.value)

    def arrive_none(self, word: Token, process: Token, last: Token) -> nodes.Arrive:
        return nodes.Arrive(_span(word, last), process.value, None)

    def trace(self, word: Token, path: Token, ordered: Token | None, last: Token) -> nodes.Trace:
        return nodes.Trace(_span(word, last), path.value[1:-1], ordered is not None)

    def workload_block(self, word: Token, body: Block) -> nodes.InitBlock | nodes.TurnBlock | nodes.WorkloadSession:
        span = _span(word, body)
        if word.value == "init":
            return nodes.InitBlock(span, body)
        return nodes.TurnBlock(span, body) if word.value == "turn" else nodes.WorkloadSession(span, body)

    def hidden(self, word: Token, names: Part, last: Token) -> nodes.Hidden:
        return nodes.Hidden(_span(word, last), names.value)
