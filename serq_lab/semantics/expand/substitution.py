"""Expressions written out: definitions replaced by their bodies, aggregates by their terms.

In come expressions as written, with what the names around them stand for; out go trees in which `Call` names
functions only and no `Aggregate` is left. An argument is written out where it stands, before it goes into a
body, so its names keep their meaning. `blocks.py` does the same for statements with the help of this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from serq_lab.diagnostics.catalogue import quoted
from serq_lab.diagnostics.diagnostic import Label
from serq_lab.semantics import faults as f
from serq_lab.semantics.constants import MAX_TERMS
from serq_lab.semantics.resolver import MAX_NESTING
from serq_lab.source import Span
from serq_lab.syntax import nodes

MAX_NODES = 200_000
MAX_STEPS = 2_000_000


class TooLargeError(Exception):
    """Writing the program out would not end within bounds; a fault was reported."""


@dataclass
class Binding:
    """What a name stands for while a body is written out.

    Parameters
    ----------
    node : Expression
        Already written out.
    draws : bool
        It draws, so it may be read once only.
    n_nodes : int
        Its size.
    is_parameter : bool
        A definition's parameter; else a name bound ``at admission`` or an aggregate's index.
    """

    node: nodes.Expression
    draws: bool = False
    n_nodes: int = 1
    is_parameter: bool = True
    n_reads: int = 0


Bindings = Mapping[str, Binding]


def failed(span: Span) -> nodes.Name:
    """Stands in for what could not be written out; nothing complains about an empty name."""
    return nodes.Name(span, "")


class Substitution:
    """Writes expressions out, and keeps the bounds on what writing out may make.

    Parameters
    ----------
    definitions : mapping of str to Definition
        In the order in which they may use each other.
    count_value : callable
        The value of an aggregate's count: of its written-out expression, the aggregate's span and words for
        it; None where it is wrong.
    faults : Faults
        Takes what is wrong.

    Attributes
    ----------
    definitions : mapping
        As given.
    aggregate_variables : list of Identifier
        The indices of aggregates, for the check that one name has one meaning.
    used_definitions : dict of str to Span
        Definitions that were used, with the first place.
    """

    def __init__(
        self,
        definitions: Mapping[str, nodes.Definition],
        count_value: Callable[[nodes.Expression, Span, str], int | None],
        faults: f.Faults,
    ) -> None:
        self.definitions = definitions
        self.aggregate_variables: list[nodes.Identifier] = []
        self.used_definitions: dict[str, Span] = {}
        self._ordinals = {name: ordinal for ordinal, name in enumerate(definitions)}
        self._count_value = count_value
        self._faults = faults
        self._within: list[nodes.Definition] = []  # the definitions being written out, outermost first
        self._copying = 0  # above 0 while what is written out may be written out several times
        self._n_terms = 0
        self._n_draws = 0
        self._n_nodes = 0  # what copying has made; the text itself is not counted
        self._n_steps = 0  # the copying done for it, that of arguments nobody reads included
        self._depth = 0

    # ------------------------------------------------------------- expressions

    def expression(self, node: nodes.Expression, bindings: Bindings) -> nodes.Expression:
        self.enter(node)
        try:
            return _EXPRESSION[type(node)](self, node, bindings)
        finally:
            self.leave()

    def enter(self, node: nodes.Node) -> None:
        """One level deeper; raises `TooLargeError` at the bounds."""
        self.count_copy(node.span)
        if self._depth >= MAX_NESTING:
            self._faults.add(f.nested_too_deeply(node.span, MAX_NESTING))
            raise TooLargeError
        self._depth += 1

    def leave(self) -> None:
        self._depth -= 1

    def count_copy(self, span: Span) -> None:
        if self._copying:
            self._n_steps += 1
            self._count(1, span)

    def _count(self, n: int, span: Span) -> None:
        self._n_nodes += n
        if self._n_nodes > MAX_NODES or self._n_steps > MAX_STEPS:
            message = f"written out, the definitions make more than {MAX_NODES:,} parts"
            hint = "`set` an attribute to what is used often, and pass its name"
            place = self.used_definitions.get(self._within[0].name.name, span) if self._within else span
            self._faults.error("expansion-too-large", message, place, hint)
            raise TooLargeError

    def expressions(self, parts: Sequence[nodes.Expression], bindings: Bindings) -> tuple[nodes.Expression, ...]:
        return tuple([self.expression(part, bindings) for part in parts])

    def optional(self, node: nodes.Expression | None, bindings: Bindings) -> nodes.Expression | None:
        return None if node is None else self.expression(node, bindings)

    def _name(self, node: nodes.Name, bindings: Bindings) -> nodes.Expression:
        binding = bindings.get(node.name)
        if binding is None:
            return node
        self._read(binding, node.span)
        if isinstance(binding.node, nodes.Name) and binding.node.name.endswith("'"):
            return nodes.Name(node.span, binding.node.name)  # named at admission: it is read here, in the block
        return binding.node

    def _read(self, binding: Binding, span: Span) -> None:
        binding.n_reads += 1
        self._n_draws += binding.draws
        self._count(binding.n_nodes, span)

    def _member(self, node: nodes.Member, bindings: Bindings) -> nodes.Expression:
        reference = nodes.Reference(node.span, nodes.Identifier(node.span, node.name), node.index)
        written = self.reference(reference, bindings)
        if written.index is None:
            return failed(node.span)
        return nodes.Member(written.span, written.name.name, written.index)

    def _call(self, node: nodes.Call, bindings: Bindings) -> nodes.Expression:
        definition = self.definitions.get(node.callee.name)
        if definition is None:
            return nodes.Call(node.span, node.callee, self.expressions(node.arguments, bindings))
        if isinstance(definition.body, nodes.Block):
            message = f'"{node.callee.name}" is a definition of statements, and a value is needed here'
            hint = f"use it as a statement: `{node.callee.name}(...);`"
            self._faults.error("definition-kind", message, node.callee.span, hint, declared(definition))
            return failed(node.span)
        inner = self.bind(definition, node.callee, node.arguments, bindings)
        if inner is None:
            return failed(node.span)
        with self.inside(definition):
            body = self.expression(definition.body, inner)
        return body if self.drawn_once(definition, node.callee, inner) else failed(node.span)

    def _draw(self, node: nodes.Draw, bindings: Bindings) -> nodes.Expression:
        self._n_draws += 1
        return nodes.Draw(node.span, node.distribution, self.expressions(node.arguments, bindings))

    def _aggregate(self, node: nodes.Aggregate, bindings: Bindings) -> nodes.Expression:
        variable = node.variable
        self.aggregate_variables.append(variable)
        self.no_parameter(variable, bindings)
        count = self.expression(node.count, bindings)
        n_terms = self._count_value(count, node.span, f"the count of `{node.function} {variable.name}`")
        if n_terms is None:
            return failed(node.span)
        self._n_terms += n_terms
        if self._n_terms > MAX_TERMS:
            message = f"the program's aggregates write out {self._n_terms:,} terms, and {MAX_TERMS:,} are the most"
            self._faults.error("too-many-terms", message, node.span, "count over fewer members")
            raise TooLargeError
        inner = dict(bindings)
        terms = []
        self._copying += 1
        for term in range(n_terms):
            inner[variable.name] = Binding(nodes.Number(variable.span, float(term), str(term)), is_parameter=False)
            terms.append(self.expression(node.body, inner))
        self._copying -= 1
        if n_terms == 1:
            return terms[0]
        if node.function == "sum":
            return nodes.Chain(node.span, tuple(terms), ("+",) * (n_terms - 1))
        callee = nodes.Identifier(node.span, node.function)
        return nodes.Call(node.span, callee, tuple(terms))

    # ------------------------------------------------------------- definitions

    def bind(
        self,
        definition: nodes.Definition,
        callee: nodes.Identifier,
        arguments: Sequence[nodes.Expression],
        bindings: Bindings,
    ) -> dict[str, Binding] | None:
        """A definition's parameters bound to written-out arguments, or None where it cannot be used here."""
        name = callee.name
        self.used_definitions.setdefault(name, callee.span)
        user = self._within[-1].name if self._within else None
        if user is not None and self._ordinals[name] >= self._ordinals[user.name]:
            if name == user.name:
                hint = "write the repetition as a `loop`, or take this use out"
                label = Label(callee.span, "used here")
                self._faults.error("definition-recursive", f'"{name}" uses itself', user.span, hint, label)
            else:
                message = f'"{user.name}" uses "{name}", which is defined further down'
                hint = f"move `def {name}` above `def {user.name}`"
                self._faults.error("definition-order", message, callee.span, hint, declared(definition))
            return None
        if len(arguments) != len(definition.parameters):
            words = [parameter.name for parameter in definition.parameters]
            fault = f.wrong_argument_count(name, callee.span, words, len(arguments), definition.name.span)
            self._faults.add(fault)
            return None
        # A body takes the place of its use: it sees what is bound around there, but no other's parameters.
        inner = {key: binding for key, binding in bindings.items() if not binding.is_parameter}
        for parameter, argument in zip(definition.parameters, arguments, strict=True):
            inner[parameter.name] = self.binding(argument, bindings)
        return inner

    def binding(self, argument: nodes.Expression, bindings: Bindings, is_parameter: bool = True) -> Binding:
        n_draws, n_nodes = self._n_draws, self._n_nodes
        self._copying += 1
        node = self.expression(argument, bindings)
        self._copying -= 1
        draws, size = self._n_draws > n_draws, self._n_nodes - n_nodes
        self._n_draws, self._n_nodes = n_draws, n_nodes  # it counts where it is read
        return Binding(node, draws, size, is_parameter)

    def drawn_once(self, definition: nodes.Definition, callee: nodes.Identifier, inner: Mapping[str, Binding]) -> bool:
        for parameter in definition.parameters:
            binding = inner[parameter.name]
            if binding.draws and binding.n_reads > 1:
                message = (
                    f'the argument for "{parameter.name}" draws, and "{definition.name.name}" reads it '
                    f"{binding.n_reads} times: each would draw anew"
                )
                hint = "`set` an attribute to the draw first, and pass its name"
                label = Label(parameter.span, "the parameter")
                self._faults.error("drawn-twice", message, callee.span, hint, label)
                return False
        return True

    def no_parameter(self, name: nodes.Identifier, bindings: Bindings) -> None:
        if name.name in bindings and bindings[name.name].is_parameter:
            message = f'"{name.name}" stands for what is passed here, and cannot be assigned, observed or bound'
            self._faults.error("parameter-assigned", message, name.span, "give the two different names")

    def reference(self, reference: nodes.Reference, bindings: Bindings) -> nodes.Reference:
        index = self.optional(reference.index, bindings)
        binding = bindings.get(reference.name.name)
        if binding is None:
            return nodes.Reference(reference.span, reference.name, index)
        self._read(binding, reference.span)
        node = binding.node
        if isinstance(node, nodes.Name):
            return nodes.Reference(node.span, nodes.Identifier(node.span, node.name), index)
        if isinstance(node, nodes.Member) and index is None:
            return nodes.Reference(node.span, nodes.Identifier(node.span, node.name), node.index)
        passed = quoted(node.span.text)
        message = f"{quoted(reference.span.text)} must name a pool or a stage, and {passed} was passed"
        if isinstance(node, nodes.Member):
            message = f"{passed} was passed, which has its index already"
        self._faults.error("not-a-family", message, reference.span, "pass the name of a pool or stage")
        return nodes.Reference(reference.span, nodes.Identifier(reference.span, ""), None)

    @contextmanager
    def inside(self, definition: nodes.Definition | None) -> Iterator[None]:
        """While the body of a definition (or, with None, the server's block) is written out."""
        outer = self._within
        self._within = [] if definition is None else [*outer, definition]
        self._copying += 1
        yield
        self._copying -= 1
        self._within = outer


def declared(definition: nodes.Definition) -> Label:
    return Label(definition.name.span, "defined here")


_EXPRESSION: dict[type, Callable[[Substitution, Any, Bindings], nodes.Expression]] = {
    nodes.Number: lambda s, node, bindings: node,
    nodes.Name: Substitution._name,
    nodes.Member: Substitution._member,
    nodes.Unary: lambda s, node, bindings: nodes.Unary(node.span, node.operator, s.expression(node.operand, bindings)),
    nodes.Chain: lambda s, node, bindings: nodes.Chain(
        node.span, s.expressions(node.operands, bindings), node.operators
    ),
    nodes.Power: lambda s, node, bindings: nodes.Power(node.span, *s.expressions((node.base, node.exponent), bindings)),
    nodes.Comparison: lambda s, node, bindings: nodes.Comparison(
        node.span, node.operator, *s.expressions((node.left, node.right), bindings)
    ),
    nodes.Logical: lambda s, node, bindings: nodes.Logical(
        node.span, node.operator, s.expressions(node.operands, bindings)
    ),
    nodes.Conditional: lambda s, node, bindings: nodes.Conditional(
        node.span, *s.expressions((node.condition, node.if_true, node.if_false), bindings)
    ),
    nodes.Call: Substitution._call,
    nodes.Draw: Substitution._draw,
    nodes.Aggregate: Substitution._aggregate,
}
