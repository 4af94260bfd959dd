"""Blocks written out: statement definitions, serving forms, the server's side, names bound at admission.

In come blocks as written; out go blocks without `Invoke`, `Request`, `Serve` and `Transfer`. Next on the way:
`statements.py` resolves them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from serq_lab.diagnostics.diagnostic import Label
from serq_lab.semantics import faults as f
from serq_lab.semantics.expand.serving_forms import ServingForms
from serq_lab.semantics.expand.substitution import Binding, Bindings, Substitution, declared, failed
from serq_lab.syntax import nodes
from serq_lab.syntax.forms import ANALOGUES

Statements = Sequence[nodes.Statement]


class Blocks:
    """Writes blocks out.

    Parameters
    ----------
    substitution : Substitution
        Writes the expressions out.
    forms : ServingForms
        Knows the stage that a serving form means.
    server : Server or None
        What stands for ``request;``.
    faults : Faults
        Takes what is wrong.

    Attributes
    ----------
    admission_names, read_admission_names : list of Identifier
        Every name bound ``at admission``; those that the hold's own block reads. In what is written out the
        latter have an apostrophe behind (one more inside each other), so no other name is taken for them.
    n_requests : int
        How often the server's block was asked for.
    """

    def __init__(
        self,
        substitution: Substitution,
        forms: ServingForms,
        server: nodes.Server | None,
        faults: f.Faults,
    ) -> None:
        self.admission_names: list[nodes.Identifier] = []
        self.read_admission_names: list[nodes.Identifier] = []
        self.n_requests = 0
        self._substitution = substitution
        self._forms = forms
        self._server = server
        self._faults = faults
        self._in_server = False

    def block(self, block: nodes.Block, bindings: Bindings) -> nodes.Block:
        self._substitution.enter(block)
        try:
            written: list[nodes.Statement] = []
            for statement in block.statements:
                self._substitution.count_copy(statement.span)
                written.extend(_STATEMENT[type(statement)](self, statement, bindings))
            return nodes.Block(block.span, tuple(written))
        finally:
            self._substitution.leave()

    # ------------------------------------------------------------------- sides

    def _turn_or_end(self, statement: nodes.Turn | nodes.End, bindings: Bindings) -> Statements:
        if not self._in_server:
            return (statement,)
        word = "turn" if isinstance(statement, nodes.Turn) else "end"
        message = f"`{word}` is not for the server: whether a session goes on is the workload's to say"
        hint = f"move `{word};` into the workload's `session`"
        self._faults.error("not-in-server", message, statement.span, hint)
        return ()

    def _request(self, statement: nodes.Request, bindings: Bindings) -> Statements:
        if self._in_server:
            message = "`request` is not for the server, which would ask itself"
            hint = "move `request;` into the workload's `session`"
            self._faults.error("not-in-server", message, statement.span, hint)
            return ()
        self.n_requests += 1
        if self._server is None:
            message = "`request` has nobody to ask: there is no `server` block"
            hint = "add `server { ... }` at top level"
            self._faults.error("request-without-server", message, statement.span, hint)
            return ()
        self._in_server = True
        with self._substitution.inside(None):
            block = self.block(self._server.body, {})
        self._in_server = False
        return block.statements

    # ------------------------------------------------------------- definitions

    def _invoke(self, statement: nodes.Invoke, bindings: Bindings) -> Statements:
        callee, substitution = statement.callee, self._substitution
        definition = substitution.definitions.get(callee.name)
        if definition is None:
            definitions = substitution.definitions.items()
            known = [name for name, each in definitions if isinstance(each.body, nodes.Block)]
            hint = ANALOGUES.get(callee.name, f"define it: `def {callee.name}(...) {{ ... }}`")
            self._faults.add(f.unknown("statement", callee.name, callee.span, known, hint), callee.name)
            return ()
        if not isinstance(definition.body, nodes.Block):
            message = f'"{callee.name}" is a definition of an expression, and a statement is needed here'
            hint = f"use its value: `observe x = {callee.name}(...);`"
            self._faults.error("definition-kind", message, callee.span, hint, declared(definition))
            return ()
        inner = substitution.bind(definition, callee, statement.arguments, bindings)
        if inner is None:
            return ()
        with substitution.inside(definition):
            block = self.block(definition.body, inner)
        return block.statements if substitution.drawn_once(definition, callee, inner) else ()

    # -------------------------------------------------------------------- hold

    def _hold(self, hold: nodes.Hold, bindings: Bindings) -> Statements:
        s = self._substitution
        header, body, bound = dict(bindings), dict(bindings), []
        for position, (name, value) in enumerate(hold.bindings):
            self._check_admission_name(hold, position, bindings)
            binding = s.binding(value, header, is_parameter=False)
            if binding.draws:
                message = f'"{name.name}" draws, and what is named `at admission` is read again at each attempt'
                hint = "`set` an attribute to the draw before the hold, and use that"
                label = Label(value.span, "this draws")
                self._faults.error("draw-not-allowed", message, f.behind(value.span), hint, label)
                binding = Binding(failed(value.span), is_parameter=False)
            header[name.name] = binding
            inner_name = name.name + "'"
            while any(isinstance(b.node, nodes.Name) and b.node.name == inner_name for b in bindings.values()):
                inner_name += "'"
            body[name.name] = Binding(nodes.Name(name.span, inner_name), is_parameter=False)
            bound.append((name, nodes.Identifier(name.span, inner_name), binding.node))
        self.admission_names.extend(name for name, _ in hold.bindings)
        claims = tuple(
            nodes.Claim(
                claim.span,
                s.reference(claim.pool, bindings),
                s.expression(claim.units, header),
                s.optional(claim.reserve, header),
            )
            for claim in hold.claims
        )
        reuse = s.optional(hold.reuse, header)
        block = self.block(hold.body, body)
        cache = s.optional(hold.cache, header)
        lease = hold.lease and (s.reference(hold.lease[0], bindings), s.expression(hold.lease[1], header))
        is_read = {name.name: body[name.name].n_reads > 0 for name, _, _ in bound}
        self.read_admission_names.extend(name for name, _, _ in bound if is_read[name.name])
        named = tuple((inner if is_read[name.name] else name, value) for name, inner, value in bound)
        return (nodes.Hold(hold.span, claims, reuse, named, block, cache, lease),)

    def _check_admission_name(self, hold: nodes.Hold, position: int, bindings: Bindings) -> None:
        name = hold.bindings[position][0]
        self._substitution.no_parameter(name, bindings)
        for earlier, _ in hold.bindings[:position]:
            if earlier.name == name.name:
                hint = "give the second one another name"
                self._faults.add(f.given_twice(f'"{name.name}"', name.span, earlier.span, hint))
                return

    # ----------------------------------------------------------- other statements

    def _assignment(self, statement: nodes.Set | nodes.Observe, bindings: Bindings) -> Statements:
        self._substitution.no_parameter(statement.name, bindings)
        value = self._substitution.expression(statement.value, bindings)
        return (type(statement)(statement.span, statement.name, value),)

    def _amount(self, statement: nodes.Grow | nodes.Load, bindings: Bindings) -> Statements:
        s = self._substitution
        pool, amount = s.reference(statement.pool, bindings), s.expression(statement.amount, bindings)
        return (type(statement)(statement.span, pool, amount),)

    def _pool(self, statement: nodes.Drop | nodes.Release, bindings: Bindings) -> Statements:
        return (type(statement)(statement.span, self._substitution.reference(statement.pool, bindings)),)

    def _run(self, run: nodes.Run, bindings: Bindings) -> Statements:
        s = self._substitution
        stages = tuple(s.reference(stage, bindings) for stage in run.stages)
        work = s.expression(run.work, bindings)
        growing = run.growing and s.reference(run.growing, bindings)
        return (nodes.Run(run.span, stages, run.mode, work, growing),)

    def _serve(self, form: nodes.Serve, bindings: Bindings) -> Statements:
        s = self._substitution
        index = s.optional(form.index, bindings)
        named = form.stage and s.reference(form.stage, bindings)
        work = s.expression(form.work, bindings)
        growing = form.growing and s.reference(form.growing, bindings)
        stage = named or self._forms.stage_of(form, index)
        if stage is None:
            return ()
        mode = form.word if form.word != "tool" and self._forms.is_step(stage) else None
        return (nodes.Run(form.span, (stage,), mode, work, growing),)

    def _transfer(self, form: nodes.Transfer, bindings: Bindings) -> Statements:
        s = self._substitution
        index = s.optional(form.index, bindings)
        stages = tuple(s.reference(stage, bindings) for stage in form.stages)
        work = s.expression(form.work, bindings)
        origin, destination = s.reference(form.origin, bindings), s.reference(form.destination, bindings)
        amount = s.expression(form.amount, bindings)
        if not stages:
            stage = self._forms.stage_of(form, index)
            if stage is None:
                return ()
            stages = (stage,)
        return (
            nodes.Run(form.span, stages, None, work, None),
            nodes.Load(form.span, destination, amount),
            nodes.Release(form.span, origin),
        )

    def _branch(self, branch: nodes.Branch, bindings: Bindings) -> Statements:
        guard = self._substitution.expression(branch.guard, bindings)
        then = self.block(branch.then, bindings)
        otherwise = branch.otherwise and self.block(branch.otherwise, bindings)
        return (nodes.Branch(branch.span, branch.drawn, guard, then, otherwise),)

    def _choose(self, choose: nodes.Choose, bindings: Bindings) -> Statements:
        self._substitution.no_parameter(choose.name, bindings)
        count = self._substitution.expression(choose.count, bindings)
        keys = self._substitution.expressions(choose.keys, bindings)
        return (nodes.Choose(choose.span, choose.name, count, keys),)


def is_read_in_block(name: nodes.Identifier) -> bool:
    """Whether a name bound at admission, as it stands in a hold written out, is read in the hold's block."""
    return name.name.endswith("'")


_STATEMENT: dict[type, Callable[[Blocks, Any, Bindings], Statements]] = {
    nodes.Turn: Blocks._turn_or_end,
    nodes.End: Blocks._turn_or_end,
    nodes.Request: Blocks._request,
    nodes.Set: Blocks._assignment,
    nodes.Observe: Blocks._assignment,
    nodes.Hold: Blocks._hold,
    nodes.Grow: Blocks._amount,
    nodes.Load: Blocks._amount,
    nodes.Drop: Blocks._pool,
    nodes.Release: Blocks._pool,
    nodes.Run: Blocks._run,
    nodes.Serve: Blocks._serve,
    nodes.Transfer: Blocks._transfer,
    nodes.Branch: Blocks._branch,
    nodes.Loop: lambda b, loop, bindings: (nodes.Loop(loop.span, b.block(loop.body, bindings)),),
    nodes.Choose: Blocks._choose,
    nodes.Invoke: Blocks._invoke,
}
