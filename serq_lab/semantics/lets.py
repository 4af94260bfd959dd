"""The program's constants, and what the shape of the program takes from them.

In come the lets as written and values from outside; out go the model's lets with their values, and the whole
numbers that array sizes and aggregates need while the rest is still being written out. Called by
`checker.py`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from math import nan

from serq_lab.semantics import constants as c
from serq_lab.semantics import model as m
from serq_lab.semantics.expressions import is_constant, lets_read, value
from serq_lab.semantics.faults import given_twice
from serq_lab.semantics.moments import CONSTANT
from serq_lab.semantics.resolver import Resolver
from serq_lab.source import Span
from serq_lab.syntax import nodes


class Lets:
    """The lets in force.

    Attributes
    ----------
    rows : list of Let
        In order of declaration.
    values : list of float
        Their values; NaN where a fault was reported.
    """

    def __init__(self, resolver: Resolver) -> None:
        self.rows: list[m.Let] = []
        self.values: list[float] = []
        self._resolver = resolver
        self._faults = resolver.faults
        self._given: set[int] = set()
        self._failed: set[int] = set()

    @property
    def table(self) -> c.LetTable:
        return c.LetTable(self.rows, self.values, frozenset(self._given))

    def declare(
        self,
        lets: Sequence[nodes.Let],
        comments: Sequence[nodes.Comment],
        overrides: Mapping[str, c.Override],
        write: Callable[[nodes.Expression], nodes.Expression],
    ) -> None:
        """Resolve and evaluate the lets from the top; `write` writes an expression out."""
        first: dict[str, nodes.Let] = {}
        for let in lets:
            if let.name.name in first:
                earlier = first[let.name.name].name.span
                self._faults.add(given_twice(f'the constant "{let.name.name}"', let.name.span, earlier))
            first.setdefault(let.name.name, let)
        c.check_override_names(overrides, list(first), self._faults)
        names = self._resolver.names
        names.later_lets = {name: let.name.span for name, let in first.items()}
        for row, (name, let) in enumerate(first.items()):
            n_faults = len(self._faults.errors)
            if name in overrides:
                self._given.add(row)
                formula = c.override_formula(name, overrides[name], list(names.lets), self._faults)
            else:
                formula = self._resolver.expression(write(let.value), CONSTANT)
            uses = lets_read(formula)
            comment = trailing_comment(let.span, comments)
            self.rows.append(m.Let(let.span, name, formula, comment, uses))
            self.values.append(self._value_of(row, n_faults))
            del names.later_lets[name]
            names.lets[name] = row

    def _value_of(self, row: int, n_faults: int) -> float:
        let = self.rows[row]
        if is_constant(let.value) and len(self._faults.errors) == n_faults and not let.uses & self._failed:
            got = value(let.value, self.values)
            c.check_let(let, got, row in self._given, self._faults)
            if got == got:
                return got
        self._failed.add(row)
        return nan

    def is_known(self, expression: m.Expression) -> bool:
        """Whether an expression is constant and none of the lets it reads has failed."""
        return is_constant(expression) and not lets_read(expression) & self._failed

    def whole(self, node: nodes.Expression, span: Span, rule: str, subject: str) -> int | None:
        """The value of a written-out count that shapes the program; None where it is wrong or not known.

        `span` is the place to show when the value breaks the rule.
        """
        expression = self._resolver.expression(node, CONSTANT)
        if not self.is_known(expression):
            return None
        requirement = m.Requirement(span, rule, subject, expression)
        n_faults = len(self._faults.errors)
        c.check_requirements([requirement], self.table, self._faults)
        if len(self._faults.errors) > n_faults:
            return None
        self._resolver.requirements.append(requirement)
        self._resolver.structure.append(expression)
        return int(value(expression, self.values))

    def check_requirements(self) -> None:
        """Report every requirement noted so far whose value is known and breaks its rule."""
        known = [each for each in self._resolver.requirements if self.is_known(each.value)]
        c.check_requirements(known, self.table, self._faults)


def trailing_comment(span: Span, comments: Sequence[nodes.Comment]) -> str:
    """The text of the comment behind a declaration on its line, without marks; "" where there is none."""
    position = bisect_left(comments, span.stop, key=lambda comment: comment.span.start)
    if position == len(comments):
        return ""
    comment = comments[position]
    between = span.source.text[span.stop : comment.span.start]
    if between.strip(" \t"):
        return ""
    text = comment.text
    inner = text[2:-2] if text.startswith("/*") else text[2:]
    return " ".join(inner.split())
