"""Blocks of statements, resolved and held to the rules of where a statement may stand.

In come blocks written out (`expand/blocks.py`); out go the model's blocks. Expressions go through
`resolver.py` with the moment at which each is read. Next on the way: `checker.py` puts the model together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from serq_lab.diagnostics.catalogue import quoted
from serq_lab.diagnostics.diagnostic import Label
from serq_lab.semantics import faults as f
from serq_lab.semantics import model as m
from serq_lab.semantics.expand.blocks import is_read_in_block
from serq_lab.semantics.expressions import walk
from serq_lab.semantics.moments import CACHE_CLAUSE, HEADER, STATEMENT, WORKLOAD_BLOCK
from serq_lab.semantics.names import Family
from serq_lab.semantics.resolver import Resolver
from serq_lab.source import Span
from serq_lab.syntax import nodes


@dataclass
class Findings:
    """What the statements of a program tell about the rest of it.

    `flow_stages` are the stage families that some run holds together with another, with that run, and
    `has_unknown_flow` says that such a run names a stage that is none; `releases` are those outside a hold on
    their pool, which need a lease somewhere; `leased` are the pool families with a lease; `has_turn` says that a
    `turn` was written.
    """

    flow_stages: dict[int, Span] = field(default_factory=dict)
    has_unknown_flow: bool = False
    releases: list[tuple[Span, m.Target]] = field(default_factory=list)
    leased: set[int] = field(default_factory=set)
    has_turn: bool = False


class Statements:
    """Resolves blocks; `observations` maps each observation to its row, in order of first appearance."""

    def __init__(self, resolver: Resolver, observations: dict[str, int]) -> None:
        self.observations = observations
        self.findings = Findings()
        self._resolver = resolver
        self._names = resolver.names
        self._faults = resolver.faults
        self._holds: list[frozenset[int]] = []  # the pools of the holds around, outermost first
        self._stages = {family.row: family for family in resolver.names.stages.values()}
        self._pools = {family.row: family for family in resolver.names.pools.values()}

    # ------------------------------------------------------------------- blocks

    def workload_block(self, block: nodes.Block, word: str) -> m.Block:
        """An ``init`` or ``turn`` block: it only sets and observes."""
        written: list[m.Statement] = []
        for statement in block.statements:
            if isinstance(statement, (nodes.Set, nodes.Observe)):
                value = self._resolver.expression(statement.value, WORKLOAD_BLOCK)
                written.append(self._assignment(statement, value))
            else:
                message = f"`{word}` blocks only `set` and `observe`; nothing can wait or branch there"
                hint = "write a condition as `c ? a : b`, and move everything else into the session"
                self._faults.error("workload-statement", message, statement.span, hint)
        return tuple(written)

    def block(self, block: nodes.Block) -> m.Block:
        resolver = self._resolver
        resolver.depth += 1
        self._check_reached(block.statements)
        written: list[m.Statement] = []
        for statement in block.statements:
            written.extend(_STATEMENT[type(statement)](self, statement))
        resolver.depth -= 1
        return tuple(written)

    def _check_reached(self, statements: Sequence[nodes.Statement]) -> None:
        for statement, following in pairwise(statements):
            if isinstance(statement, nodes.End):
                message = "this is never reached, because the session has ended before it"
                hint = "move it above `end;`, or take it out"
                self._faults.error("after-end", message, following.span, hint, Label(statement.span, "ends here"))
                return
            if ends(statement):
                word = "loop" if isinstance(statement, nodes.Loop) else "branch"
                message = f"this is never reached: the {word} before it is left by `end` only"
                self._faults.warning("never-reached", message, following.span, "take it out, or move it up")
                return

    # -------------------------------------------------------- single statements

    def _set_or_observe(self, statement: nodes.Set | nodes.Observe) -> Sequence[m.Statement]:
        return (self._assignment(statement, self._resolver.expression(statement.value, STATEMENT)),)

    def _assignment(self, statement: nodes.Set | nodes.Observe, value: m.Expression) -> m.Statement:
        name = statement.name.name
        if isinstance(statement, nodes.Observe):
            row = self.observations.setdefault(name, len(self.observations))
            return m.Observe(statement.span, row, value)
        return m.Set(statement.span, self._names.attributes[name], value)

    def _target(self, reference: nodes.Reference) -> m.Target | None:
        return self._resolver.target(reference, self._names.pools, STATEMENT)

    def _is_held(self, target: m.Target) -> bool:
        return any(target.family in pools or _UNKNOWN in pools for pools in self._holds)

    def _must_be_held(self, statement: nodes.Statement, word: str, target: m.Target) -> None:
        if not self._is_held(target):
            name = self._pools[target.family].name
            message = f'`{word}` needs a hold on "{name}" around it, and there is none'
            hint = f"move it into the block of a `hold {name} (...) {{ ... }}`"
            self._faults.error("outside-hold", message, statement.span, hint)

    def _grow_or_load(self, statement: nodes.Grow | nodes.Load) -> Sequence[m.Statement]:
        target = self._target(statement.pool)
        amount = self._resolver.expression(statement.amount, STATEMENT)
        if target is None:
            return ()
        is_grow = isinstance(statement, nodes.Grow)
        self._must_be_held(statement, "grow" if is_grow else "load", target)
        return ((m.Grow if is_grow else m.Load)(statement.span, target, amount),)

    def _turn(self, statement: nodes.Turn) -> Sequence[m.Statement]:
        self.findings.has_turn = True
        return (m.Turn(statement.span),)

    def _drop_or_release(self, statement: nodes.Drop | nodes.Release) -> Sequence[m.Statement]:
        target = self._target(statement.pool)
        if target is None:
            return ()
        if isinstance(statement, nodes.Drop):
            return (m.Drop(statement.span, target),)
        if not self._is_held(target):
            self.findings.releases.append((statement.span, target))
        return (m.Release(statement.span, target),)

    def check_releases(self) -> None:
        """After all statements: a release needs a hold around it or a lease somewhere in the program."""
        for span, target in self.findings.releases:
            if not self.findings.leased & {target.family, _UNKNOWN}:
                name = self._pools[target.family].name
                message = f'`release {name}` gives nothing back: no hold on "{name}" is around it, and no lease'
                hint = f"move it into a hold's block, or write `lease {name} (...)` behind a hold"
                self._faults.error("release-nothing", message + " of it is ever made", span, hint)

    def _choose(self, choose: nodes.Choose) -> Sequence[m.Statement]:
        count = self._resolver.expression(choose.count, STATEMENT)
        self._resolver.require_if_constant("choices", f"the count of `choose {choose.name.name}`", count)
        keys = tuple(self._resolver.expression(key, STATEMENT) for key in choose.keys)
        return (m.Choose(choose.span, self._names.attributes[choose.name.name], count, keys),)

    def _branch(self, branch: nodes.Branch) -> Sequence[m.Statement]:
        guard = self._resolver.expression(branch.guard, STATEMENT)
        if branch.drawn:
            self._resolver.require_if_constant("probability", "the probability of `branch with`", guard)
            guard = m.Draw(guard.span, "bernoulli", (guard,))
        else:
            self._resolver.require_if_constant("guard", f"the guard {quoted(guard.span.text)}", guard)
        then = self.block(branch.then)
        otherwise = self.block(branch.otherwise) if branch.otherwise else ()
        return (m.Branch(branch.span, guard, then, otherwise),)

    def _loop(self, loop: nodes.Loop) -> Sequence[m.Statement]:
        if not any(may_leave_or_wait(statement) for statement in loop.body.statements):
            message = "this loop passes no time and never ends, so the clock would stand still"
            hint = "let it `run` on a stage, or leave it with `branch (...) { end; }`"
            self._faults.error("loop-without-time", message, loop.span, hint)
        return (m.Loop(loop.span, self.block(loop.body)),)

    # --------------------------------------------------------------------- run

    def _run(self, run: nodes.Run) -> Sequence[m.Statement]:
        resolver = self._resolver
        found = [resolver.target(stage, self._names.stages, STATEMENT) for stage in run.stages]
        work = resolver.expression(run.work, STATEMENT)
        growing = None if run.growing is None else self._target(run.growing)
        stages = tuple(target for target in found if target is not None)
        self.findings.has_unknown_flow |= len(stages) < len(found) and len(found) > 1
        if len(stages) < len(found) or (run.growing is not None and growing is None):
            return ()
        families = [self._stages[target.family] for target in stages]
        if len(stages) > 1:
            self._check_flow(run, stages, families)
        elif self._check_mode(run, families[0]) and growing is not None:
            self._must_be_held(run, "growing", growing)
        return (m.Run(run.span, stages, run.mode, work, growing),)

    def _check_mode(self, run: nodes.Run, family: Family) -> bool:
        """Whether mode and `growing` fit the stage; reports where they do not."""
        declared = Label(family.declaration.name.span, "declared here")
        name = family.name
        if family.is_step and run.mode is None:
            message = f'"{name}" is a step stage, and a run there is a `prefill` or a `decode`'
            hint = f"write `run {name} prefill (...)` or `run {name} decode (...)`"
            self._faults.error("mode-missing", message, run.span, hint, declared)
            return False
        if not family.is_step and (run.mode or run.growing):
            message = f'`{run.mode or "growing"}` is for step stages, and "{name}" is none'
            hint = f"write `run {name} (...)`"
            self._faults.error("mode-on-other-stage", message, run.span, hint, declared)
            return False
        return True

    def _check_flow(self, run: nodes.Run, stages: Sequence[m.Target], families: Sequence[Family]) -> None:
        if run.mode or run.growing:
            message = f"`{run.mode or 'growing'}` is for a run on one step stage, and this one holds several stages"
            self._faults.error("mode-on-flow", message, run.span, "take it out")
        for position, target in enumerate(stages):
            family = families[position]
            self.findings.flow_stages.setdefault(family.row, run.span)
            if target in stages[:position]:
                place = run.stages[position].span
                message = f'the stage "{place.text}" is named twice in one run'
                self._faults.error("given-twice", message, place, "name each stage once")

    # -------------------------------------------------------------------- hold

    def _hold(self, hold: nodes.Hold) -> Sequence[m.Statement]:
        resolver = self._resolver
        targets = [self._target(claim.pool) for claim in hold.claims]
        bound = [(name, resolver.expression(value, HEADER)) for name, value in hold.bindings]
        units = [resolver.expression(claim.units, HEADER) for claim in hold.claims]
        reserves = [
            None if claim.reserve is None else resolver.expression(claim.reserve, HEADER) for claim in hold.claims
        ]
        reuse = None if hold.reuse is None else resolver.expression(hold.reuse, HEADER)
        if reuse is not None and hold.cache is None:
            message = "`reuse` bounds what a hold takes from the cache, and without `cache` it takes nothing"
            hint = "write `cache (0)` behind the block to use the prefix and keep nothing"
            self._faults.error("reuse-without-cache", message, reuse.span, hint)
        for value in (*units, *reserves, reuse):
            self._warn_of_draw(value)
        self._check_claims(hold, targets)
        body = self._bound_sets(bound) + self._body(hold, targets)
        around, resolver.uncached_hold = resolver.uncached_hold, None
        cache = None if hold.cache is None else resolver.expression(hold.cache, CACHE_CLAUSE)
        lease = None if hold.lease is None else self._lease(hold.lease, targets)
        resolver.uncached_hold = around
        if None in targets or (hold.lease is not None and lease is None):
            return ()
        claims = tuple(
            m.Claim(claim.span, target, amount, reserve)
            for claim, target, amount, reserve in zip(hold.claims, targets, units, reserves, strict=True)
            if target is not None
        )
        return (m.Hold(hold.span, claims, reuse, body, cache, lease),)

    def _body(self, hold: nodes.Hold, targets: Sequence[m.Target | None]) -> m.Block:
        resolver = self._resolver
        # Where `reuse` has no `cache` either, that fault says it all.
        is_uncached = hold.cache is None and hold.reuse is None
        around, resolver.uncached_hold = resolver.uncached_hold, hold if is_uncached else None
        self._holds.append(frozenset(_UNKNOWN if target is None else target.family for target in targets))
        body = self.block(hold.body)
        self._holds.pop()
        resolver.uncached_hold = around
        return body

    def _bound_sets(self, bound: Sequence[tuple[nodes.Identifier, m.Expression]]) -> m.Block:
        """The names bound at admission that the block reads, set at its top, where they must not differ."""
        sets = []
        for name, value in bound:
            if is_read_in_block(name):
                self._check_same_in_block(name, value)
                sets.append(m.Set(name.span, self._names.attributes[name.name], value))
        return tuple(sets)

    def _check_same_in_block(self, name: nodes.Identifier, value: m.Expression) -> None:
        for node in walk(value):
            is_state = isinstance(node, m.Observable) and node.name != "blocksize"
            is_cached = isinstance(node, m.Attribute) and node.attribute == _CACHED
            if is_state or is_cached:
                written, read = name.name.rstrip("'"), quoted(node.span.text)
                message = f'the hold\'s block reads "{written}", and {read} has another value there'
                hint = "`set` an attribute in the block to what it needs"
                if is_cached:
                    hint = "read `cached` itself in the block: what this admission took from the prefix"
                label = Label(node.span, "read at admission")
                self._faults.error("admission-name-live", message, name.span, hint, label)
                return

    def _check_claims(self, hold: nodes.Hold, targets: Sequence[m.Target | None]) -> None:
        for position, target in enumerate(targets):
            if target is not None and target in targets[:position]:
                claim = hold.claims[position]
                what = f"the pool {quoted(claim.pool.span.text)}"
                first = hold.claims[targets.index(target)]
                hint = "claim the sum once, or put one hold inside the other"
                self._faults.add(f.given_twice(f"{what} in one hold", claim.span, first.span, hint))

    def _lease(
        self, lease: tuple[nodes.Reference, nodes.Expression], targets: Sequence[m.Target | None]
    ) -> tuple[m.Target, m.Expression] | None:
        target = self._target(lease[0])
        time = self._resolver.expression(lease[1], CACHE_CLAUSE)
        self.findings.leased.add(_UNKNOWN if target is None else target.family)
        if target is None:
            return None
        if target not in targets and None not in targets:
            message = f"the hold does not take {quoted(lease[0].span.text)}, so there is nothing to lease"
            hint = "name a pool as the hold does, its index included"
            self._faults.error("lease-not-held", message, lease[0].span, hint)
        return target, time

    def _warn_of_draw(self, value: m.Expression | None) -> None:
        draws = () if value is None else (node for node in walk(value) if isinstance(node, m.Draw))
        draw = next((draw for draw in draws if draw.distribution != "det"), None)
        if draw is not None:
            message = "this draws anew at each attempt to admit the session"
            hint = "`set` an attribute to the draw before the hold to draw once"
            self._faults.warning("draw-in-header", message, draw.span, hint)


_UNKNOWN = -1  # in place of a pool family that a hold names and that is none
_CACHED = m.BUILT_IN_ATTRIBUTES.index("cached")


def ends(statement: nodes.Statement) -> bool:
    """Whether what follows the statement can surely not be reached."""
    if isinstance(statement, nodes.Branch):
        sides = (statement.then, statement.otherwise)
        return all(side is not None and any(ends(inner) for inner in side.statements) for side in sides)
    return isinstance(statement, (nodes.End, nodes.Loop))


def may_leave_or_wait(statement: nodes.Statement) -> bool:
    """Whether a statement may end the session or let time pass."""
    if isinstance(statement, nodes.Branch):
        sides = (statement.then, statement.otherwise)
        return any(side is not None and any(map(may_leave_or_wait, side.statements)) for side in sides)
    return isinstance(statement, (nodes.End, nodes.Run, nodes.Hold, nodes.Grow, nodes.Loop))


_STATEMENT: dict[type, Callable[[Statements, Any], Sequence[m.Statement]]] = {
    nodes.Turn: Statements._turn,
    nodes.End: lambda s, statement: (m.End(statement.span),),
    nodes.Set: Statements._set_or_observe,
    nodes.Observe: Statements._set_or_observe,
    nodes.Grow: Statements._grow_or_load,
    nodes.Load: Statements._grow_or_load,
    nodes.Drop: Statements._drop_or_release,
    nodes.Release: Statements._drop_or_release,
    nodes.Choose: Statements._choose,
    nodes.Branch: Statements._branch,
    nodes.Loop: Statements._loop,
    nodes.Run: Statements._run,
    nodes.Hold: Statements._hold,
}
