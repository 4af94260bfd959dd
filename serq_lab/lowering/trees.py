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
