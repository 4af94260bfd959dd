"""Names to numbers: expressions of the tree become expressions of the model.

In come expanded expressions (`expand.py`) with the `Moment` at which they are read; out go resolved ones, in
which a let, an attribute, a family is its row. Every name is checked against the moment's row of
`moments.py` on the way. Next: `statements.py` and `declarations.py` resolve the program's parts with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from typing import Any

from serq_lab.diagnostics.catalogue import listed, quoted
from serq_lab.diagnostics.diagnostic import Diagnostic, Label
from serq_lab.semantics import faults as f
from serq_lab.semantics import model as m
from serq_lab.semantics.expressions import is_constant
from serq_lab.semantics.moments import BUDGET, CHUNK, CONSTANT, CONTEXT_VARIABLES, GAUGE, Moment
from serq_lab.semantics.names import (
    CALLABLES,
    DISTRIBUTIONS,
    FUNCTIONS,
    POOL_OBSERVABLES,
    STAGE_OBSERVABLES,
    TRACE_ATTRIBUTES,
    Family,
    Names,
    unknown_family,
    unknown_name,
)
from serq_lab.source import Span
from serq_lab.syntax import nodes

MAX_NESTING = 150


class Resolver:
    """Resolves expressions, reports what is wrong with them, and notes what must hold of their constants.

    A part that cannot be resolved becomes `FAILED`'s kind of node, which nothing else complains about; the
    model it stands in is never handed out, because a fault was reported.
    """

    def __init__(self, names: Names, faults: f.Faults) -> None:
        self.names = names
        self.faults = faults
        self.requirements: list[m.Requirement] = []
        self.structure: list[m.Expression] = []
        self.read_lets: set[int] = set()
        self.own_step: int | None = None  # the step stage whose budget or chunk is being resolved
        self.budget_reads: dict[int, dict[int, Span]] = {}
        self.uncached_hold: nodes.Hold | None = None  # the innermost hold, where it has no `cache`
        self.depth = 0
        self._moment = CONSTANT

    def expression(self, node: nodes.Expression, moment: Moment) -> m.Expression:
        outer, self._moment = self._moment, moment
        try:
            return self._resolve(node)
        finally:
            self._moment = outer

    def require_if_constant(self, rule: str, subject: str, value: m.Expression) -> None:
        """Hold a value to a rule of `constants.RULES` before the run, where it is known then."""
        if is_constant(value):
            self.requirements.append(m.Requirement(value.span, rule, subject, value))

    # ------------------------------------------------------------- expressions

    def _resolve(self, node: nodes.Expression) -> m.Expression:
        if self.depth >= MAX_NESTING:
            self.faults.add(f.nested_too_deeply(node.span, MAX_NESTING), "nested-too-deeply")
            return failed(node.span)
        self.depth += 1
        try:
            return _RESOLVE[type(node)](self, node)
        finally:
            self.depth -= 1

    def _all(self, parts: Iterable[nodes.Expression]) -> tuple[m.Expression, ...]:
        return tuple([self._resolve(part) for part in parts])

    def _name(self, node: nodes.Name) -> m.Expression:
        name, names, moment = node.name, self.names, self._moment
        if name in names.lets:
            self.read_lets.add(names.lets[name])
            return m.LetValue(node.span, names.lets[name])
        if name == "inf":
            return m.Constant(node.span, inf)
        if name == "now":
            if not moment.clock:
                self.faults.add(f.state_out_of_place("`now`", node.span, moment))
            return m.Now(node.span)
        if name in CONTEXT_VARIABLES:
            if name not in moment.variables:
                self.faults.add(f.variable_out_of_place(name, node.span, moment))
            return m.Context(node.span, name)
        if name in names.attributes:
            return self._attribute(node)
        if name:  # an empty name stands where an expansion has failed already
            self.faults.add(*unknown_name(node, names, moment))
        return failed(node.span)

    def _attribute(self, node: nodes.Name) -> m.Expression:
        name = node.name
        if not self._moment.session:
            self.faults.add(f.attribute_out_of_place(name, node.span, self._moment))
            return failed(node.span)
        if name in self.names.hidden and not self._moment.hidden:
            message = f'"{name}" is hidden from the scheduler, and {self._moment.words} is read by it'
            hint = f'use an estimate that is not hidden, or take "{name}" out of `hidden`'
            self.faults.error("hidden", message, node.span, hint, Label(self.names.hidden[name], "hidden here"))
        if name == "cached" and self.uncached_hold is not None:
            self.faults.add(*_cached_in(self.uncached_hold, node.span))
        if name in TRACE_ATTRIBUTES and not self.names.has_trace and name not in self.names.assigned:
            hint = 'add `trace "file.csv";` to the workload, or give a trace to the run'
            message = f'"{name}" comes with a trace, and the workload names none: it reads 0'
            self.faults.warning("no-trace", message, node.span, hint)
        return m.Attribute(node.span, self.names.attributes[name])

    def _member_as_value(self, node: nodes.Member) -> m.Expression:
        message = f"{quoted(node.span.text)} is a pool or a stage, and a value is needed here"
        self.faults.error("not-a-value", message, node.span, f"read its state, for example `used({node.span.text})`")
        return failed(node.span)

    def _aggregate(self, node: nodes.Aggregate) -> m.Expression:
        """Only in a value given from outside: in a program they are written out before."""
        message = f"`{node.function} {node.variable.name} in` cannot stand in a value given from outside"
        self.faults.error("aggregate-outside", message, node.span, "declare a constant with it in the program")
        return failed(node.span)

    def _unary(self, node: nodes.Unary) -> m.Expression:
        operand = self._resolve(node.operand)
        return m.Negation(node.span, operand) if node.operator == "-" else m.Not(node.span, operand)

    # -------------------------------------------------------- calls and draws

    def _call(self, node: nodes.Call) -> m.Expression:
        name = node.callee.name
        if name in STAGE_OBSERVABLES or name in POOL_OBSERVABLES:
            return self._observable(node)
        if name not in FUNCTIONS:
            families = self.names.pools.keys() | self.names.stages.keys()  # an observable may be meant
            self._all(a for a in node.arguments if getattr(a, "name", None) not in families)
            hint = f"the functions are {listed(sorted(FUNCTIONS), 'and')}"
            if name in ("log", "loge"):
                hint = "the natural logarithm is `ln(x)`, that to base 10 `ln(x) / ln(10)`"
            known = CALLABLES | self.names.definitions.keys()
            self.faults.add(f.unknown("function", name, node.callee.span, known, hint), name)
            return failed(node.span)
        arguments = self._all(node.arguments)
        wanted, got = FUNCTIONS[name], len(arguments)
        if got != len(wanted) and not (name in ("min", "max") and got > len(wanted)):
            self.faults.add(f.wrong_argument_count(name, node.span, wanted, got))
            return failed(node.span)
        return m.Function(node.span, name, arguments)

    def _observable(self, node: nodes.Call) -> m.Expression:
        name, moment = node.callee.name, self._moment
        of_stage = name in STAGE_OBSERVABLES
        wanted = STAGE_OBSERVABLES[name] if of_stage else POOL_OBSERVABLES[name]
        if (name != "blocksize" and not moment.board) or moment is CONSTANT:
            self.faults.add(f.state_out_of_place(f"`{name}`", node.span, moment))
            return failed(node.span)
        if len(node.arguments) != len(wanted):
            self.faults.add(f.wrong_argument_count(name, node.span, wanted, len(node.arguments)))
            return failed(node.span)
        first = node.arguments[0]
        if not isinstance(first, (nodes.Name, nodes.Member)):
            noun = "stage" if of_stage else "pool"
            message = f"`{name}` reads a {noun}, and {quoted(first.span.text)} is none"
            names = self.names.stages if of_stage else self.names.pools
            hint = f"name one: `{name}({next(iter(names), noun)})`"
            self.faults.error("not-a-" + noun, message, first.span, hint)
            return failed(node.span)
        index = first.index if isinstance(first, nodes.Member) else None
        families = self.names.stages if of_stage else self.names.pools
        target = self._target(first.name, first.span, index, families, moment)
        rest = self._all(node.arguments[1:])
        if target is None or not self._observable_fits(name, node, target):
            return failed(node.span)
        return m.Observable(node.span, name, target, rest)

    def _observable_fits(self, name: str, node: nodes.Call, target: m.Target) -> bool:
        """The rules of single observables; reports what breaks one."""
        moment = self._moment
        argument = node.arguments[0].span.text
        if name == "blocksize":
            family = self._family(target, self.names.pools)
            if not family.has_block:
                message = f'`blocksize({argument})`: the pool "{family.name}" has no `block`'
                declared = Label(family.declaration.name.span, "declared here")
                self.faults.error("no-block", message, node.span, "give the pool a `block`", declared)
                return False
        elif name == "cachedin" and not moment.session:
            self.faults.add(f.attribute_out_of_place(f"cachedin({argument})", node.span, moment))
            return False
        elif name in ("work", "budget_left") and moment is GAUGE:
            self.faults.add(f.state_out_of_place(f"`{name}`", node.span, moment))
            return False
        elif name == "budget_left":
            family = self._family(target, self.names.stages)
            if not family.is_step:
                message = f'`budget_left({argument})`: "{family.name}" is no step stage and has no budget'
                declared = Label(family.declaration.name.span, "declared here")
                self.faults.error("not-a-step", message, node.span, "name a stage of the kind `step`", declared)
                return False
            if self.own_step is not None and moment in (BUDGET, CHUNK):
                self.budget_reads.setdefault(self.own_step, {}).setdefault(target.family, node.span)
        return True

    @staticmethod
    def _family(target: m.Target, families: dict[str, Family]) -> Family:
        return next(family for family in families.values() if family.row == target.family)

    def _draw(self, node: nodes.Draw) -> m.Expression:
        name, moment = node.distribution.name, self._moment
        arguments = self._all(node.arguments)
        if name not in DISTRIBUTIONS:
            hint = f"the distributions are {listed(map(_call_of, DISTRIBUTIONS), 'and')}"
            self.faults.add(f.unknown("distribution", name, node.distribution.span, DISTRIBUTIONS, hint), name)
            return failed(node.span)
        if not moment.draws:
            span = node.distribution.span if moment is CONSTANT else node.span
            self.faults.add(f.draw_out_of_place(span, moment))
        parameters = DISTRIBUTIONS[name]
        if len(arguments) != len(parameters):
            wanted = [words.split()[-1] for _, words in parameters]
            span = node.distribution.span.to(node.span)
            self.faults.add(f.wrong_argument_count("~" + name, span, wanted, len(arguments)))
            return failed(node.span)
        for (rule, words), argument in zip(parameters, arguments, strict=True):
            self.require_if_constant(rule, f"the {words} of `~{name}`", argument)
        return m.Draw(node.span, name, arguments)

    # ------------------------------------------------------------------ targets

    def target(
        self, reference: nodes.Reference, families: dict[str, Family], moment: Moment, *, whole: bool = False
    ) -> m.Target | None:
        """A pool or stage that a statement names; with `whole`, an array without an index means all of it."""
        return self._target(reference.name.name, reference.span, reference.index, families, moment, whole=whole)

    def _target(
        self,
        name: str,
        span: Span,
        index: nodes.Expression | None,
        families: dict[str, Family],
        moment: Moment,
        *,
        whole: bool = False,
    ) -> m.Target | None:
        position = None if index is None else self.expression(index, moment)
        family = families.get(name)
        if family is None:
            if name:
                self.faults.add(*unknown_family(name, span, families, self.names))
            return None
        family.is_used = True
        declared = Label(family.declaration.name.span, "declared here")
        if family.size is None and position is not None:
            message = f'"{name}" is a single {family.noun}, and takes no index'
            self.faults.error("index-on-single", message, span, f"write `{name}`", declared)
            return None
        if family.size is not None and position is None and not whole:
            array = f"an array of {family.size}" if family.size else "an array"
            message = f'"{name}" is {array}, and needs an index here'
            self.faults.error("array-without-index", message, span, f"name a member: `{name}[0]`", declared)
            return None
        if position is not None:
            self._check_index(position, family, span, moment is GAUGE or whole)
        return m.Target(span, family.row, position)

    def _check_index(self, position: m.Expression, family: Family, span: Span, must_be_constant: bool) -> None:
        if is_constant(position):
            subject = f'the index of "{family.name}", an array of {family.size},'
            limit = family.size or inf
            self.requirements.append(m.Requirement(span, "index", subject, position, limit))
            self.structure.append(position)
        elif must_be_constant and not is_failed(position):
            message = f'the index of "{family.name}" must be known before the run here'
            self.faults.error("index-not-constant", message, position.span, "use a number or a constant")


def _call_of(distribution: str) -> str:
    """How a draw is written: ``~exp(mean)``."""
    return f"~{distribution}({', '.join(words.split()[-1] for _, words in DISTRIBUTIONS[distribution])})"


def _cached_in(hold: nodes.Hold, span: Span) -> tuple[Diagnostic, str]:
    """The fault of reading `cached` in a hold that takes nothing from the cache; once a hold."""
    message = "`cached` is read in a hold without `cache`, which takes nothing from the cache"
    hint = "write `cache (0)` behind the hold's block to use the prefix, or read `cached` before the hold"
    label = Label(hold.claims[0].span, "this hold has no `cache`")
    return Diagnostic("cached-without-cache", message, span, (label,), hint), f"hold at {hold.span.start}"


def failed(span: Span) -> m.Expression:
    """What stands in place of an expression that could not be resolved; a fault was reported."""
    return m.Context(span, "")


def is_failed(expression: m.Expression) -> bool:
    return isinstance(expression, m.Context) and not expression.name


_RESOLVE: dict[type, Callable[[Resolver, Any], m.Expression]] = {
    nodes.Number: lambda r, node: m.Constant(node.span, node.value),
    nodes.Name: Resolver._name,
    nodes.Member: Resolver._member_as_value,
    nodes.Unary: Resolver._unary,
    nodes.Chain: lambda r, node: m.Chain(node.span, r._all(node.operands), node.operators),
    nodes.Power: lambda r, node: m.Function(node.span, "pow", r._all((node.base, node.exponent))),
    nodes.Comparison: lambda r, node: m.Comparison(node.span, node.operator, *r._all((node.left, node.right))),
    nodes.Logical: lambda r, node: m.Logical(node.span, node.operator, r._all(node.operands)),
    nodes.Conditional: lambda r, node: m.Conditional(node.span, *r._all((node.condition, node.if_true, node.if_false))),
    nodes.Call: Resolver._call,
    nodes.Aggregate: Resolver._aggregate,
    nodes.Draw: Resolver._draw,
}
