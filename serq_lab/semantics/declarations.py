"""Pools, stages, arrivals, gauges and run settings, resolved and held to their rules.

In come the program's items, their expressions written out on the way; out go the model's rows. Two steps:
families first, so that every name is known, then their options. Next on the way: `checker.py` puts the model
together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import TypeVar, Union

from serq_lab.diagnostics.diagnostic import Label
from serq_lab.semantics import model as m
from serq_lab.semantics.faults import behind, given_twice
from serq_lab.semantics.moments import (
    BUDGET,
    CHUNK,
    CONSTANT,
    COST,
    EVICTION_KEY,
    GAUGE,
    PS_CAPACITY,
    QUEUE_KEY,
    RENEWAL_GAP,
    SERVING_ORDER,
    SPILL_CLAUSE,
    Moment,
)
from serq_lab.semantics.names import Family
from serq_lab.semantics.resolver import Resolver
from serq_lab.syntax import nodes

_Option = TypeVar("_Option", bound=nodes.Node)
Write = Callable[[nodes.Expression], nodes.Expression]  # writes an expression out


class Declarations:
    """Resolves what is declared at top level."""

    def __init__(self, resolver: Resolver, write: Write) -> None:
        self._resolver = resolver
        self._names = resolver.names
        self._faults = resolver.faults
        self._write = write

    def _expression(self, node: nodes.Expression, moment: Moment) -> m.Expression:
        return self._resolver.expression(self._write(node), moment)

    def _all(self, parts: Sequence[nodes.Expression], moment: Moment) -> tuple[m.Expression, ...]:
        return tuple(self._expression(part, moment) for part in parts)

    def _constant(self, node: nodes.Expression, rule: str, subject: str) -> m.Expression:
        value = self._expression(node, CONSTANT)
        self._resolver.require_if_constant(rule, subject, value)
        return value

    def by_kind(self, options: Sequence[_Option], owner: str) -> dict[str, _Option]:
        """Options by keyword; reports one given twice."""
        found: dict[str, _Option] = {}
        for option in options:
            word = keyword(option)
            if word in found:
                what = f"`{word}`" + (f" of {owner}" if owner else "")
                self._faults.add(given_twice(what, option.span, found[word].span))
            found.setdefault(word, option)
        return found

    # -------------------------------------------------------------------- pools

    def pool(self, family: Family) -> m.Pool:
        name, pool = family.name, family.declaration
        assert isinstance(pool, nodes.Pool)
        cap: m.Expression = m.Constant(pool.name.span, inf)
        block: m.Expression | None = None
        evict_keys = queue_keys = admit_via = spill = None
        preempt = "none"
        for word, option in self.by_kind(pool.options, f'the pool "{name}"').items():
            if isinstance(option, nodes.Option) and word == "cap":
                cap = self._constant(option.value, "capacity", f'the capacity of "{name}"')
            elif isinstance(option, nodes.Option):
                block = self._constant(option.value, "block", f'the block of "{name}"')
            elif isinstance(option, nodes.EvictOption):
                evict_keys = None if option.keys is None else self._all(option.keys, EVICTION_KEY)
            elif isinstance(option, nodes.QueueOption):
                queue_keys = None if option.keys is None else self._all(option.keys, QUEUE_KEY)
            elif isinstance(option, nodes.PreemptOption):
                preempt = option.policy
            elif isinstance(option, nodes.AdmitOption):
                admit_via = self._admit_via(family, option)
            else:
                spill = self._spill(family, option)
        return m.Pool(pool.span, name, family.size, cap, block, evict_keys, queue_keys, preempt, admit_via, spill)

    def _admit_via(self, family: Family, option: nodes.AdmitOption) -> m.Target | None:
        target = self._joined(family, option.stage, self._names.stages, "`admit via`")
        if target is not None:
            stage = self._stage(target)
            if not stage.is_step:
                message = f'the queue of "{family.name}" is admitted via "{stage.name}", which is no step stage'
                hint = "name a stage of the kind `step`, or take `admit via` out"
                label = Label(stage.declaration.name.span, "declared here")
                self._faults.error("not-a-step", message, option.stage.span, hint, label)
        return target

    def _stage(self, target: m.Target) -> Family:
        return next(family for family in self._names.stages.values() if family.row == target.family)

    def _spill(self, family: Family, option: nodes.SpillOption) -> m.Spill | None:
        pool = self._joined(family, option.pool, self._names.pools, "`spill`")
        stage = self._joined(family, option.stage, self._names.stages, "`spill ... via`")
        work = self._expression(option.work, SPILL_CLAUSE)
        condition = self._expression(option.condition, SPILL_CLAUSE)
        if pool is None or stage is None:
            return None
        link = self._stage(stage)
        if link.is_step:
            message = f'a spill is a plain job, and "{link.name}" is a step stage'
            hint = "spill via a stage of the kind `fifo`, `ps` or `delay`"
            label = Label(link.declaration.name.span, "declared here")
            self._faults.error("spill-via-step", message, option.stage.span, hint, label)
        return m.Spill(option.span, pool, stage, work, condition)

    def _joined(
        self, family: Family, reference: nodes.Reference, families: dict[str, Family], words: str
    ) -> m.Target | None:
        """The family that another one joins: member by member, or one for all."""
        index = None if reference.index is None else self._write(reference.index)
        written = nodes.Reference(reference.span, reference.name, index)
        target = self._resolver.target(written, families, CONSTANT, whole=True)
        if target is None or target.index is not None:
            return target
        other = families[reference.name.name]
        n, wanted = other.size, family.size or 1
        if n not in (None, 0, 1, wanted) and family.size != 0:
            message = f'{words} joins "{family.name}", {_members(family.size)}, with "{other.name}",'
            message += f" {_members(n)}: they must be as many, or the latter one for all"
            hint = f"name one member, `{other.name}[0]`, or make both arrays equally long"
            label = Label(other.declaration.name.span, "declared here")
            self._faults.error("join-counts", message, reference.span, hint, label)
        return target

    # ------------------------------------------------------------------- stages

    def stage(self, family: Family, is_flow: bool) -> m.Stage:
        name, stage = family.name, family.declaration
        assert isinstance(stage, nodes.Stage)
        kind = stage.kind
        if isinstance(kind, nodes.FifoKind):
            one = m.Constant(kind.span, 1.0)
            subject = f'the number of servers of "{name}"'
            servers = one if kind.servers is None else self._constant(kind.servers, "servers", subject)
            return m.Stage(stage.span, name, family.size, "fifo", servers=servers, is_flow=is_flow)
        if isinstance(kind, nodes.PsKind):
            capacity = self._expression(kind.capacity, PS_CAPACITY)
            subject = f'the capacity of "{name}"'
            self._resolver.require_if_constant("flow capacity" if is_flow else "capacity", subject, capacity)
            return m.Stage(stage.span, name, family.size, "ps", capacity=capacity, is_flow=is_flow)
        if isinstance(kind, nodes.DelayKind):
            return m.Stage(stage.span, name, family.size, "delay", is_flow=is_flow)
        return self._step(family, stage, kind, is_flow)

    def _step(self, family: Family, stage: nodes.Stage, kind: nodes.StepKind, is_flow: bool) -> m.Stage:
        resolver, name = self._resolver, family.name
        options = self.by_kind(kind.options, f'the stage "{name}"')
        found: dict[str, m.Expression] = {}
        for word, moment in (("budget", BUDGET), ("chunk", CHUNK), ("cost", COST)):
            option = options.get(word)
            if isinstance(option, nodes.Option):
                resolver.own_step = family.row if word != "cost" else None
                found[word] = self._expression(option.value, moment)
                resolver.own_step = None
                if word != "chunk":
                    resolver.require_if_constant("cost", f'the {word} of "{name}"', found[word])
        if "cost" not in found:
            message = f'the step stage "{name}" ends before here and does not say what an iteration costs'
            hint = "add its duration, for example `cost 0.02 + 0.001 * tokens;`"
            label = Label(stage.name.span, "this stage")
            self._faults.error("step-without-cost", message, behind(stage.span), hint, label)
        memory, serve = options.get("memory"), options.get("serve")
        order = m.Order(kind.span, "admission", (), None)
        if isinstance(serve, nodes.ServeOption):
            only = serve.order.only
            order = m.Order(
                serve.order.span,
                serve.order.kind,
                self._all(serve.order.keys, SERVING_ORDER),
                None if only is None else self._expression(only, SERVING_ORDER),
            )
        return m.Stage(
            stage.span,
            name,
            family.size,
            "step",
            budget=found.get("budget"),
            cost=found.get("cost"),
            chunk=found.get("chunk"),
            memory=self._joined(family, memory.pool, self._names.pools, "`memory`")
            if isinstance(memory, nodes.MemoryOption)
            else None,
            order=order,
            is_flow=is_flow,
        )

    # -------------------------------------------------------- arrivals, gauges, run

    def arrivals(self, arrive: nodes.Arrive) -> m.Arrivals:
        process, value = arrive.process, arrive.value
        if value is None:
            return m.Arrivals(arrive.span, process, None)
        if process == "renewal":
            gap = self._expression(value, RENEWAL_GAP)
            self._resolver.require_if_constant("gap", "the gap between arrivals", gap)
            return m.Arrivals(arrive.span, process, gap)
        rule, subject = "population", f"the number of sessions of `{process}`"
        if process == "poisson":
            rule, subject = "rate", "the rate of `poisson`"
        return m.Arrivals(arrive.span, process, self._constant(value, rule, subject))

    def gauge(self, gauge: nodes.Gauge) -> m.Gauge:
        return m.Gauge(gauge.span, gauge.name.name, self._expression(gauge.value, GAUGE))

    def setting(self, option: nodes.Option) -> m.Expression:
        words = {"horizon": "the horizon", "warmup": "the warm-up", "seed": "the seed"}
        literal = option.value
        is_large = option.keyword == "seed" and isinstance(literal, nodes.Number) and literal.value == 2.0**64
        if is_large and isinstance(literal, nodes.Number) and int(literal.text) < 2**64:
            return m.Constant(literal.span, 2**64 - 1)  # a double rounds it up, out of bounds
        return self._constant(option.value, option.keyword, words.get(option.keyword, "the number of arrivals"))


def _members(size: Union[int, None]) -> str:
    return "a single one" if size is None else f"an array of {size}"


def keyword(option: nodes.Node) -> str:
    """The word that an option starts with, which may stand once."""
    if isinstance(option, nodes.Option):
        return option.keyword
    words = {
        nodes.EvictOption: "evict",
        nodes.PreemptOption: "preempt",
        nodes.QueueOption: "queue",
        nodes.AdmitOption: "admit via",
        nodes.SpillOption: "spill",
        nodes.MemoryOption: "memory",
        nodes.ServeOption: "serve",
        nodes.Arrive: "arrive",
        nodes.Trace: "trace",
        nodes.InitBlock: "init",
        nodes.TurnBlock: "turn",
        nodes.WorkloadSession: "session",
    }
    return words[type(option)]
