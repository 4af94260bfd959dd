"""Checks that need the whole program: joins of pools, stages and runs, headers that read too early, unused
names.

In comes what `checker.py` has resolved; out go faults and warnings.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from typing import Union

from serq_lab.diagnostics.diagnostic import Label
from serq_lab.semantics import model as m
from serq_lab.semantics.expand.parts import Parts
from serq_lab.semantics.expressions import board_read, is_constant, walk
from serq_lab.semantics.faults import Faults
from serq_lab.semantics.names import Names
from serq_lab.semantics.resolver import Resolver, is_failed
from serq_lab.source import Span
from serq_lab.syntax import nodes

# --------------------------------------------------------- pools, stages, runs


def check_spill_cycles(pools: Sequence[m.Pool], faults: Faults) -> None:
    """A spill that comes back to its own pool would have no end."""
    for pool in pools:
        seen, spill = {pool.name}, pool.spill
        while spill is not None:
            following = pools[spill.pool.family]
            if following.name == pool.name and pool.spill is not None:
                message = f'what "{pool.name}" spills comes back to it'
                hint = "spill into a pool that does not spill back"
                faults.error("spill-cycle", message, pool.spill.pool.span, hint)
            if following.name in seen:
                break
            seen.add(following.name)
            spill = following.spill


def check_budget_cycles(reads: Mapping[int, Mapping[int, Span]], faults: Faults) -> None:
    """A budget or chunk that reads its own budget, directly or over other stages, has no value."""
    for row, targets in reads.items():
        for first, span in targets.items():
            reached, waiting = {first}, [first]
            while waiting:
                for following in reads.get(waiting.pop(), {}):
                    if following not in reached:
                        reached.add(following)
                        waiting.append(following)
            if row in reached:
                message = "`budget_left` would need this stage's own `budget` or `chunk` to be known"
                hint = "use a number, or the state of pools and stages: `used(p)`, `queue(s)`"
                faults.error("not-readable-here", message, span, hint)


def check_flows(
    stages: Sequence[m.Stage], flows: Mapping[int, Span], share: nodes.Share | None, faults: Faults
) -> None:
    """The stages that flows hold are `ps` with a constant capacity, and the program says how they share."""
    for row, span in flows.items():
        stage = stages[row]
        capacity = stage.capacity
        if capacity is None or not (is_constant(capacity) or is_failed(capacity)):
            message = f'a run holds "{stage.name}" together with another stage, so it must be `ps`'
            hint = f"declare it as `stage {stage.name} : ps(1);`"
            label = Label(stage.span, "declared here")
            faults.error("flow-stage", message + " with a constant capacity", span, hint, label)
    if flows and share is None:
        span = min(flows.values(), key=lambda span: span.start)
        message = "a run holds several stages, and the program does not say how such runs share them"
        faults.error("share-missing", message, span, "add `share maxmin;` at top level")
    if share is not None and not flows:
        message = f"`share {share.policy}` has nothing to share: no run holds several stages"
        faults.error("share-unused", message, share.span, "take it out, or write `run a, b (work);`")


# ---------------------------------------------------------- the header moment

FromBoard = dict[int, m.Set]
_Header = tuple[Union[m.Expression, None], ...]


def check_headers(session: m.Block, attributes: Sequence[str], faults: Faults) -> None:
    """Report each header that reads an attribute set from the board before the hold."""
    _Path(attributes, faults).block(session, {})


class _Path:
    def __init__(self, attributes: Sequence[str], faults: Faults) -> None:
        self._attributes = attributes
        self._faults = faults

    def block(self, block: m.Block, from_board: FromBoard) -> FromBoard | None:
        """The attributes set from the board behind a block; None where nothing gets there."""
        now = dict(from_board)
        for statement in block:
            if isinstance(statement, m.Set):
                now.pop(statement.attribute, None)
                if board_read(statement.value) is not None:
                    now[statement.attribute] = statement
            elif isinstance(statement, m.Choose):
                now.pop(statement.attribute, None)
            elif isinstance(statement, m.Hold):
                self._check(statement, now)
                behind = self.block(statement.body, now)
                if behind is None:
                    return None
                now = behind
            elif isinstance(statement, m.Branch):
                sides = [self.block(side, now) for side in (statement.then, statement.otherwise)]
                reached = [side for side in sides if side is not None]
                if not reached:
                    return None
                now = {row: first for row, first in reached[0].items() if all(row in side for side in reached)}
            elif isinstance(statement, m.Loop):
                self.block(statement.body, now)
                return None
            elif isinstance(statement, m.End):
                return None
        return now

    def _check(self, hold: m.Hold, from_board: FromBoard) -> None:
        if not from_board:
            return
        header: _Header = (
            hold.reuse,
            *(part for claim in hold.claims for part in (claim.units, claim.reserve)),
        )
        for part in header:
            for node in () if part is None else walk(part):
                if isinstance(node, m.Attribute) and node.attribute in from_board:
                    assigned = from_board[node.attribute]
                    name = self._attributes[node.attribute]
                    read = board_read(assigned.value)
                    state = read.span.text if read is not None else "the board"
                    message = f'"{name}" is "{state}" from before the wait, and this header is read after it'
                    hint = f"read it when it counts: `hold ... at admission ({name} = ...) {{ ... }}`"
                    label = Label(assigned.span, "set here, before the session waits")
                    self._faults.error("stale-header", message, node.span, hint, label)


# --------------------------------------------------------------------- unused


def warn_of_unused(parts: Parts, names: Names, used: Container[str], resolver: Resolver, has_overrides: bool) -> None:
    """Warn of lets that nothing reads, and of pools and stages that nothing uses.

    What a definition mentions that is not `used` itself counts as used. With overrides a let may be unread
    only because a value replaced the formula that reads it; then lets are not looked at.
    """
    faults = resolver.faults
    idle = (definition for name, definition in parts.definitions.items() if name not in used)
    mentioned = {word for definition in idle for word in re.findall(r"\w+", definition.span.text)}
    for let in () if has_overrides else parts.lets:
        name = let.name.name
        if name in names.lets and names.lets[name] not in resolver.read_lets and name not in mentioned:
            hint = "take it out, or use its name where its value is meant"
            faults.warning("unused-let", f'nothing reads the constant "{name}"', let.name.span, hint)
    for families in (names.pools, names.stages):
        for name, family in families.items():
            if not family.is_used and name not in mentioned:
                use = f"hold {name} (1) {{ ... }}" if family.noun == "pool" else f"run {name} (1);"
                message = f'nothing uses the {family.noun} "{name}"'
                hint = f"take it out, or write `{use}`"
                faults.warning("unused-" + family.noun, message, family.declaration.name.span, hint)
