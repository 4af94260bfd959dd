"""Walking the model's trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from serq_lab.semantics import model as m


def parts(tree: Any) -> Iterator[m.Resolved]:
    """The nodes of a resolved tree or a tuple of them, outer before inner, in the order of the text."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, tuple):
            waiting.extend(reversed(node))
        elif isinstance(node, m.Resolved):
            yield node
            waiting.extend(getattr(node, field.name) for field in reversed(fields(node)))


def expressions_of(statement: m.Statement) -> Iterator[m.Expression]:
    """What a statement itself evaluates in the session's course: not its blocks, not what the kernel reads later."""
    match statement:
        case m.Set() | m.Observe():
            yield statement.value
        case m.Branch():
            yield statement.guard
        case m.Run():
            yield statement.work
            yield from _indices(*statement.stages)
        case m.Grow() | m.Load():
            yield statement.amount
            yield from _indices(statement.pool)
        case m.Drop() | m.Release():
            yield from _indices(statement.pool)


def _indices(*targets: m.Target) -> Iterator[m.Expression]:
    for target in targets:
        if target.index is not None:
            yield target.index
