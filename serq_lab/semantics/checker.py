"""Tree to model: the one way through this layer, read from top to bottom in `_Checker.model`.

In comes a program's tree with what is given from outside: values of constants, bodies of definitions, run
settings; out goes a `Model`, or one `ProgramError` with every fault found. Next on the way:
`lowering/lower.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from serq_lab.diagnostics.catalogue import did_you_mean
from serq_lab.diagnostics.diagnostic import Diagnostic, Label
from serq_lab.diagnostics.errors import ProgramError
from serq_lab.semantics import constants as c
from serq_lab.semantics import model as m
from serq_lab.semantics import whole_program
from serq_lab.semantics.declarations import Declarations
from serq_lab.semantics.expand.blocks import Blocks, is_read_in_block
from serq_lab.semantics.expand.parts import Gathering, Parts
from serq_lab.semantics.expand.serving_forms import ServingForms
from serq_lab.semantics.expand.sides import Sides, take_sides
from serq_lab.semantics.expand.substitution import Substitution, TooLargeError
from serq_lab.semantics.expressions import lets_read
from serq_lab.semantics.faults import Faults, given_twice, in_order, number
from serq_lab.semantics.lets import Lets
from serq_lab.semantics.names import Family, Meaning, Names, check_meanings
from serq_lab.semantics.resolver import Resolver
from serq_lab.semantics.statements import Statements
from serq_lab.source import SourceText, Span
from serq_lab.syntax import nodes


def check(
    tree: nodes.Program,
    source: SourceText,
    *,
    overrides: Mapping[str, c.Override] | None = None,
    definitions: Mapping[str, str] | None = None,
    horizon: float | None = None,
    warmup: float | None = None,
    seed: int | None = None,
    arrivals: int | None = None,
) -> m.Model:
    """Check a program.

    Parameters
    ----------
    tree : Program
        From `syntax.parser.parse`.
    source : SourceText
        Its text; paths in `use` are relative to the folder of its name.
    overrides : mapping of str to float or str, optional
        Values of lets, as numbers or as expressions over the lets above; lets that use them follow.
    definitions : mapping of str to str, optional
        New bodies of expression definitions.
    horizon, warmup, seed, arrivals : number, optional
        In place of the `run` settings.

    Returns
    -------
    Model

    Raises
    ------
    ProgramError
        With every fault found, sorted by place.
    """
    given = {"horizon": horizon, "warmup": warmup, "seed": seed, "arrivals": arrivals}
    checker = _Checker(source, Faults())
    try:
        model = checker.model(tree, overrides or {}, definitions or {}, given)
    except TooLargeError:  # what is too large to be written out was reported
        model = None
    faults = checker.faults
    if faults.errors or model is None:
        raise ProgramError(in_order(checker.with_uses(faults.errors), source))
    return replace(model, warnings=in_order(faults.warnings, source), libraries=checker.libraries)


class _Checker:
    """The state of one check; its methods stand in the order in which they run."""

    def __init__(self, source: SourceText, faults: Faults) -> None:
        self.faults = faults
        self._source = source
        self._names = Names()
        self._resolver = Resolver(self._names, faults)
        self._lets = Lets(self._resolver)
        self._parts = Parts()
        self._substitution = self._new_substitution()

    @property
    def libraries(self) -> tuple[SourceText, ...]:
        return tuple(self._parts.libraries)

    def _new_substitution(self) -> Substitution:
        def count(node: nodes.Expression, span: Span, subject: str) -> int | None:
            return self._lets.whole(node, span, "terms", subject)

        return Substitution(self._parts.definitions, count, self.faults)

    def _write(self, node: nodes.Expression) -> nodes.Expression:
        return self._substitution.expression(node, {})

    def model(
        self,
        tree: nodes.Program,
        overrides: Mapping[str, c.Override],
        bodies: Mapping[str, str],
        given: c.Given,
    ) -> m.Model | None:
        """The model, or None where faults were found on the way."""
        self._read(tree, overrides, bodies)
        declarations = Declarations(self._resolver, self._write)
        workload = self._workload_items(declarations)
        sides = self._sides(workload)
        statements = Statements(self._resolver, {})
        init = statements.workload_block(sides.init, "init") if sides.init else ()
        turn = statements.workload_block(sides.turn, "turn") if sides.turn else ()
        session = statements.block(sides.session) if sides.session else ()
        statements.check_releases()
        if session and not statements.findings.has_turn:
            self._warn_of_no_turn(workload)
        pools, stages = self._pools_and_stages(declarations, statements)
        gauges = self._gauges(declarations, statements.observations)
        arrivals = self._arrivals(declarations, workload)
        settings = self._settings(declarations, arrivals, given)
        numbers = self._check_values(settings, arrivals, given)
        attributes = self._check_whole(session, has_overrides=bool(overrides))
        if self.faults.errors or settings is None:
            return None
        requirements = tuple([each for each in self._resolver.requirements if lets_read(each.value)])
        structure = tuple([each for each in self._resolver.structure if lets_read(each)])
        return m.Model(
            source=self._source,
            lets=tuple(self._lets.rows),
            attributes=attributes,
            observations=tuple(statements.observations),
            gauges=gauges,
            pools=pools,
            stages=stages,
            share=self._parts.share.policy if self._parts.share else None,
            arrivals=arrivals,
            trace=self._trace(workload),
            init=init,
            turn=turn,
            session=session,
            settings=settings,
            constants=c.collect(arrivals, pools, stages, structure, self._lets.values, numbers),
            requirements=requirements,
            structure=structure,
        )

    def _read(self, tree: nodes.Program, overrides: Mapping[str, c.Override], bodies: Mapping[str, str]) -> None:
        self._parts = Gathering(bodies, self.faults).program(tree, self._source)
        self._names.definitions = self._parts.definitions
        self._substitution = self._new_substitution()
        self._lets.declare(self._parts.lets, tree.comments, overrides, self._write)
        self._declare_families()

    def _check_whole(self, session: m.Block, has_overrides: bool) -> tuple[str, ...]:
        """What only the whole program shows; the attributes' names, as messages call them."""
        attributes = tuple([name.rstrip("'") for name in self._names.attributes])
        whole_program.check_headers(session, attributes, self.faults)
        used = self._substitution.used_definitions
        whole_program.warn_of_unused(self._parts, self._names, used, self._resolver, has_overrides)
        return attributes

    def _sides(self, workload: Mapping[str, nodes.WorkloadItem]) -> Sides:
        """The blocks of a session, written out, and the attributes that they assign, declared."""
        forms = ServingForms(self._parts.stages, self.faults)
        blocks = Blocks(self._substitution, forms, self._parts.server, self.faults)
        sides = take_sides(self._parts, workload, blocks, self.faults)
        self._declare_attributes(sides, blocks)
        self._check_meanings(blocks)
        if sides.session is None and "arrive" in workload:
            message = "whoever arrives leaves at once: there is no `session` block"
            self.faults.warning("no-session", message, workload["arrive"].span, "add `session { ... }`")
        return sides

    def _pools_and_stages(
        self, declarations: Declarations, statements: Statements
    ) -> tuple[tuple[m.Pool, ...], tuple[m.Stage, ...]]:
        flows = statements.findings.flow_stages
        pools = tuple([declarations.pool(family) for family in self._names.pools.values()])
        stages = tuple([declarations.stage(family, family.row in flows) for family in self._names.stages.values()])
        whole_program.check_spill_cycles(pools, self.faults)
        whole_program.check_budget_cycles(self._resolver.budget_reads, self.faults)
        if not statements.findings.has_unknown_flow:
            whole_program.check_flows(stages, flows, self._parts.share, self.faults)
        return pools, stages

    # ------------------------------------------------------------ what is declared

    def _declare_families(self) -> None:
        for noun, declared, table in (
            ("pool", self._parts.pools, self._names.pools),
            ("stage", self._parts.stages, self._names.stages),
        ):
            for declaration in declared:
                name = declaration.name
                if name.name in table:
                    first = table[name.name].declaration.name.span
                    self.faults.add(given_twice(f'the {noun} "{name.name}"', name.span, first, "rename one of the two"))
                    continue
                size: int | None = None
                if declaration.size is not None:
                    subject = f'the size of the array "{name.name}"'
                    written = self._write(declaration.size)
                    size = self._lets.whole(written, declaration.size.span, "members", subject) or 0
                table[name.name] = Family(len(table), noun, declaration, size)

    def _workload_items(self, declarations: Declarations) -> dict[str, nodes.WorkloadItem]:
        """The workload's items by keyword, once each; `hidden` may stand several times."""
        items = self._parts.workload.items if self._parts.workload else ()
        others: list[nodes.WorkloadItem] = [item for item in items if not isinstance(item, nodes.Hidden)]
        found = declarations.by_kind(others, "")
        self._names.has_trace = "trace" in found
        hidden = self._names.hidden
        for item in items:
            for name in item.names if isinstance(item, nodes.Hidden) else ():
                if name.name in hidden:
                    self.faults.add(given_twice(f'the hidden name "{name.name}"', name.span, hidden[name.name]))
                hidden.setdefault(name.name, name.span)
        return found

    def _declare_attributes(self, sides: Sides, blocks: Blocks) -> None:
        names = self._names
        for block in sides.blocks:
            for name in assigned(block):
                names.attributes.setdefault(name.name, len(names.attributes))
                names.assigned.setdefault(name.name, name.span)
        names.admission_names = {name.name for name in blocks.admission_names}
        for hidden, span in names.hidden.items():
            if hidden not in names.attributes:
                message = f'"{hidden}" is hidden, and nothing sets it'
                hint = did_you_mean(hidden, names.assigned) or f"take it out, or `set {hidden} = ...;`"
                self.faults.error("hidden-unset", message, span, hint)

    def _check_meanings(self, blocks: Blocks) -> None:
        """One name has one meaning."""
        names = self._names
        meanings = [Meaning("a constant", let.name) for let in self._parts.lets]
        meanings += [Meaning("a pool", pool.name) for pool in self._parts.pools]
        meanings += [Meaning("a stage", stage.name) for stage in self._parts.stages]
        meanings += [Meaning("a definition", each.name) for each in names.definitions.values()]
        meanings += [
            Meaning("a session attribute", nodes.Identifier(span, name)) for name, span in names.assigned.items()
        ]
        meanings += [Meaning("the index of an aggregate", name) for name in self._substitution.aggregate_variables]
        meanings += [Meaning("named at admission", name) for name in blocks.read_admission_names]
        check_meanings(meanings, names.has_trace, self.faults)

    # -------------------------------------------------------- gauges, arrivals, run

    def _gauges(self, declarations: Declarations, observations: Iterable[str]) -> tuple[m.Gauge, ...]:
        seen: dict[str, nodes.Gauge] = {}
        for gauge in self._parts.gauges:
            name = gauge.name
            if name.name in seen:
                self.faults.add(given_twice(f'the gauge "{name.name}"', name.span, seen[name.name].name.span))
            elif name.name in observations:
                message = f'"{name.name}" is a gauge here, and also an observation'
                self.faults.error("name-clash", message, name.span, f"rename one, for example `{name.name}_level`")
            seen.setdefault(name.name, gauge)
        return tuple([declarations.gauge(gauge) for gauge in seen.values()])

    def _arrivals(self, declarations: Declarations, workload: Mapping[str, nodes.WorkloadItem]) -> m.Arrivals:
        arrive = workload.get("arrive")
        if isinstance(arrive, nodes.Arrive):
            return declarations.arrivals(arrive)
        place = self._parts.workload.span if self._parts.workload else _end_of(self._source)
        hint = "add an `arrive`, for example `arrive poisson(0.8);`"
        self.faults.warning("no-arrivals", "nobody ever arrives: there is no `arrive`", place, hint)
        return m.Arrivals(place, "none", None)

    def _warn_of_no_turn(self, workload: Mapping[str, nodes.WorkloadItem]) -> None:
        for word, what in (("turn", "this block is never carried out"), ("trace", "no row of the trace is ever read")):
            if word in workload:
                message = f"{what}: the session never says `turn`"
                hint = "write `turn;` where a turn of the session begins"
                self.faults.warning("no-turn", message, workload[word].span, hint)

    @staticmethod
    def _trace(workload: Mapping[str, nodes.WorkloadItem]) -> m.TraceFile | None:
        trace = workload.get("trace")
        return m.TraceFile(trace.span, trace.path, trace.ordered) if isinstance(trace, nodes.Trace) else None

    def _settings(self, declarations: Declarations, arrivals: m.Arrivals, given: c.Given) -> m.RunSettings | None:
        run = self._parts.run
        options = declarations.by_kind(run.settings if run else (), "")
        place = run.span if run else _end_of(self._source)
        found: dict[str, m.Expression] = {}
        for name in ("horizon", "warmup", "seed", "arrivals"):
            option, replacement = options.get(name), given.get(name)
            if replacement is not None:
                found[name] = m.Constant(c.given_span(number(replacement), f"the {name} given"), replacement)
            elif option is not None:
                found[name] = declarations.setting(option)
        if "arrivals" in found and arrivals.process not in c.OPEN_PROCESSES and given.get("arrivals") is None:
            message = f"`arrivals` limits open arrivals, and those here are `{arrivals.process}`"
            hint = "use `arrive poisson(...)` or `arrive renewal(...)`, or take `arrivals` out"
            self.faults.error("arrivals-not-open", message, options["arrivals"].span, hint)
        if "horizon" not in found:
            message = "the run has no horizon"
            self.faults.error("no-horizon", message, place, "add when it ends: `run { horizon 10000; }`")
            return None
        warmup = found.get("warmup", m.Constant(place, 0.0))
        seed = found.get("seed", m.Constant(place, 1.0))
        return m.RunSettings(place, found["horizon"], warmup, seed, found.get("arrivals"))

    def _check_values(self, settings: m.RunSettings | None, arrivals: m.Arrivals, given: c.Given) -> dict[str, float]:
        self._lets.check_requirements()
        if settings is None or not all(map(self._lets.is_known, (settings.horizon, settings.warmup, settings.seed))):
            return {}
        return c.settings_values(settings, arrivals, self._lets.values, given, self.faults)

    def with_uses(self, faults: Sequence[Diagnostic]) -> list[Diagnostic]:
        """Faults inside a definition also show where the definition was used first."""
        shown = []
        for fault in faults:
            for name, place in self._substitution.used_definitions.items():
                body = self._parts.definitions[name].body.span
                span = fault.span
                if span is not None and span.source is body.source and body.start <= span.start < body.stop:
                    fault = replace(fault, labels=(*fault.labels, Label(place, f'"{name}" is used here')))
                    break
            shown.append(fault)
        return shown


def _end_of(source: SourceText) -> Span:
    """The last character of a text, for what is missing in it."""
    stop = len(source.text.rstrip())
    return Span(source, max(stop - 1, 0), stop)


def assigned(block: nodes.Block) -> Iterator[nodes.Identifier]:
    """The names that the statements of a block assign, in order."""
    for statement in block.statements:
        if isinstance(statement, (nodes.Set, nodes.Choose)):
            yield statement.name
        elif isinstance(statement, nodes.Hold):
            yield from (name for name, _ in statement.bindings if is_read_in_block(name))
            yield from assigned(statement.body)
        elif isinstance(statement, nodes.Loop):
            yield from assigned(statement.body)
        elif isinstance(statement, nodes.Branch):
            yield from assigned(statement.then)
            yield from assigned(statement.otherwise) if statement.otherwise else ()
