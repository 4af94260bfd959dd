"""How each item, option and statement is spelled: its text, cut where a block of others stands in it.

In comes a node of `nodes.py`; out go its `Piece`s in order. `printer.py` puts them on one line or on several.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Union

from serq_lab.syntax import nodes
from serq_lab.syntax.expression_printer import print_arguments, print_expression
from serq_lab.syntax.nodes import Expression, Reference


@dataclass(frozen=True)
class Body:
    """What stands in braces. The ``{`` is the first behind `start`; `stop` is behind the ``}``."""

    nodes: Sequence[nodes.Node]
    start: int
    stop: int


@dataclass(frozen=True)
class Clauses:
    """Parts of a header that may stand on lines of their own."""

    parts: Sequence[str]


Piece = Union[str, Clauses, Body]


def pieces_of(node: nodes.Node) -> list[Piece]:
    """The spelling of an item, an option, an item of a workload, a setting or a statement."""
    for spell in (_item, _option, _workload_item, _statement_with_block, _statement):
        pieces = spell(node)
        if pieces is not None:
            return pieces
    raise AssertionError(f"no item, option or statement: {type(node).__name__}")


def _item(node: nodes.Node) -> list[Piece] | None:
    match node:
        case nodes.Let(name=name, value=value):
            return [f"let {name.name} = {print_expression(value)};"]
        case nodes.Gauge(name=name, value=value):
            return [f"gauge {name.name} = {print_expression(value)};"]
        case nodes.Use(path=path):
            return [f'use "{path}";']
        case nodes.Share(policy=policy):
            return [f"share {policy};"]
        case nodes.Definition():
            return _definition(node)
        case nodes.Pool(name=name, size=size, options=options):
            return [f"pool {name.name}{_index(size)} ", Body(options, _end(name, size), node.span.stop)]
        case nodes.Stage(name=name, size=size, kind=nodes.StepKind(options=options, span=span)):
            return [f"stage {name.name}{_index(size)} : step ", Body(options, span.start, span.stop)]
        case nodes.Stage(name=name, size=size, kind=kind):
            return [f"stage {name.name}{_index(size)} : {_kind(kind)};"]
        case nodes.Workload(items=items):
            return ["workload ", Body(items, node.span.start, node.span.stop)]
        case nodes.Session(body=body):
            return ["session ", _body(body)]
        case nodes.Server(body=body):
            return ["server ", _body(body)]
        case nodes.RunBlock(settings=settings):
            return ["run ", Body(settings, node.span.start, node.span.stop)]
    return None


def _definition(node: nodes.Definition) -> list[Piece]:
    header = f"def {node.name.name}({', '.join(parameter.name for parameter in node.parameters)}) "
    if isinstance(node.body, nodes.Block):
        return [header, _body(node.body)]
    return [f"{header}= {print_expression(node.body)};"]


def _kind(kind: nodes.StageKind) -> str:
    match kind:
        case nodes.FifoKind(servers=None):
            return "fifo"
        case nodes.FifoKind(servers=servers) if servers is not None:
            return f"fifo({print_expression(servers)})"
        case nodes.PsKind(capacity=capacity):
            return f"ps({print_expression(capacity)})"
    return "delay"


def _option(node: nodes.Node) -> list[Piece] | None:
    match node:
        case nodes.Option(keyword=keyword, value=value):
            return [f"{keyword} {print_expression(value)};"]
        case nodes.EvictOption(keys=keys):
            return ["evict lru;" if keys is None else f"evict by {print_arguments(keys)};"]
        case nodes.QueueOption(keys=keys):
            return ["queue fifo;" if keys is None else f"queue by {print_arguments(keys)};"]
        case nodes.PreemptOption(policy=policy):
            return [f"preempt {policy};"]
        case nodes.AdmitOption(stage=stage):
            return [f"admit via {_reference(stage)};"]
        case nodes.SpillOption(pool=pool, stage=stage, work=work, condition=condition):
            target = f"{_reference(pool)} via {_reference(stage)}"
            return [f"spill {target} ({print_expression(work)}) when ({print_expression(condition)});"]
        case nodes.MemoryOption(pool=pool):
            return [f"memory {_reference(pool)};"]
        case nodes.ServeOption(order=order):
            return [f"serve {_order(order)};"]
    return None


def _order(order: nodes.Order) -> str:
    text = f"by {print_arguments(order.keys)}" if order.kind == "by" else order.kind.replace("_", " ")
    if order.only is None:
        return text
    only = f"only ({print_expression(order.only)})"
    return only if order.kind == "admission" else f"{only} {text}"


def _workload_item(node: nodes.Node) -> list[Piece] | None:
    match node:
        case nodes.Arrive(process=process, value=value):
            return [f"arrive {process};" if value is None else f"arrive {process}({print_expression(value)});"]
        case nodes.Trace(path=path, ordered=ordered):
            return [f'trace "{path}"{" ordered" if ordered else ""};']
        case nodes.InitBlock(body=body):
            return ["init ", _body(body)]
        case nodes.TurnBlock(body=body):
            return ["turn ", _body(body)]
        case nodes.WorkloadSession(body=body):
            return ["session ", _body(body)]
        case nodes.Hidden(names=names):
            return [f"hidden {', '.join(name.name for name in names)};"]
    return None


def _statement_with_block(node: nodes.Node) -> list[Piece] | None:
    match node:
        case nodes.Hold(body=body):
            return [_hold_header(node), _body(body), _hold_end(node)]
        case nodes.Branch(drawn=drawn, guard=guard, then=then, otherwise=otherwise):
            header = f"branch {'with ' if drawn else ''}({print_expression(guard)}) "
            pieces: list[Piece] = [header, _body(then)]
            return pieces if otherwise is None else [*pieces, " else ", _body(otherwise)]
        case nodes.Loop(body=body):
            return ["loop ", _body(body)]
    return None


def _hold_header(hold: nodes.Hold) -> Clauses:
    parts = ["hold " + ", ".join(map(_claim, hold.claims))]
    if hold.reuse is not None:
        parts.append(f"reuse ({print_expression(hold.reuse)})")
    if hold.bindings:
        bindings = ", ".join(f"{name.name} = {print_expression(value)}" for name, value in hold.bindings)
        parts.append(f"at admission ({bindings})")
    return Clauses(parts)


def _claim(claim: nodes.Claim) -> str:
    text = f"{_reference(claim.pool)} ({print_expression(claim.units)})"
    return text if claim.reserve is None else f"{text} reserve ({print_expression(claim.reserve)})"


def _hold_end(hold: nodes.Hold) -> str:
    text = "" if hold.cache is None else f" cache ({print_expression(hold.cache)})"
    if hold.lease is not None:
        pool, time = hold.lease
        text += f" lease {_reference(pool)} ({print_expression(time)})"
    return text + ";" if text else ""


def _statement(node: nodes.Node) -> list[Piece] | None:
    match node:
        case nodes.Turn() | nodes.Request() | nodes.End() | nodes.Drop() | nodes.Release():
            pool = f" {_reference(node.pool)}" if isinstance(node, (nodes.Drop, nodes.Release)) else ""
            return [f"{type(node).__name__.lower()}{pool};"]
        case nodes.Set(name=name, value=value) | nodes.Observe(name=name, value=value):
            return [f"{type(node).__name__.lower()} {name.name} = {print_expression(value)};"]
        case nodes.Grow(pool=pool, amount=amount) | nodes.Load(pool=pool, amount=amount):
            return [f"{type(node).__name__.lower()} {_reference(pool)} ({print_expression(amount)});"]
        case nodes.Run(stages=stages, mode=mode, work=work, growing=growing):
            held = ", ".join(map(_reference, stages)) + (f" {mode}" if mode else "")
            return [f"run {held} ({print_expression(work)}){_growing(growing)};"]
        case nodes.Choose(name=name, count=count, keys=keys):
            return [f"choose {name.name} in {print_expression(count)} by {print_arguments(keys)};"]
        case nodes.Serve(word=word, index=index, stage=stage, work=work, growing=growing):
            place = _index(index) if stage is None else f" on {_reference(stage)}"
            return [f"{word}{place} {_work(work, place)}{_growing(growing)};"]
        case nodes.Transfer(index=index, stages=stages, work=work, origin=origin, destination=destination):
            place = f" on {', '.join(map(_reference, stages))}" if stages else _index(index)
            ends = f"from {_reference(origin)} to {_reference(destination)}"
            return [f"transfer{place} {_work(work, place)} {ends} ({print_expression(node.amount)});"]
        case nodes.Invoke(callee=callee, arguments=arguments):
            return [f"{callee.name}{print_arguments(arguments)};"]
    return None


def _work(work: Expression, place: str) -> str:
    """The work of a serving form: bare if it is short and follows the word, else as in a `run`."""
    text = print_expression(work)
    is_short = isinstance(work, (nodes.Number, nodes.Name, nodes.Draw)) and text != "on"
    return text if is_short and not place else f"({text})"


def _growing(pool: Reference | None) -> str:
    return "" if pool is None else f" growing {_reference(pool)}"


def _reference(reference: Reference) -> str:
    return reference.name.name + _index(reference.index)


def _index(index: Expression | None) -> str:
    return "" if index is None else f"[{print_expression(index)}]"


def _end(name: nodes.Identifier, size: Expression | None) -> int:
    return name.span.stop if size is None else size.span.stop


def _body(block: nodes.Block) -> Body:
    return Body(block.statements, block.span.start, block.span.stop)
