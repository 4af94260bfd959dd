"""From the model to tables: statements written out flat, names turned into rows, expressions into native code.

Comes in: a `Model`. Goes out: a `LoweredProgram`, good for any number of runs at once; its `setup` adds the numbers of
one run. Next on the way: `kernel/storage/setup.py` and `kernel/event_loop.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from serq_lab.kernel.draws.streams import ARRIVALS, EVICTION, SESSION, WORKLOAD, keys_of
from serq_lab.kernel.storage.memory import JIT, SpareBlocks
from serq_lab.kernel.storage.setup import Image, RunTables, TraceTables, image_of
from serq_lab.kernel.storage.tables import (
    CLAIM,
    EXPRESSION,
    OP,
    REFRESH,
    SERIAL,
    START_OF_INIT,
    START_OF_SESSION,
    TARGET,
    ArrivalKind,
    Mode,
    OpKind,
    OrderKind,
    ProgramTables,
    Share,
    StageKind,
)
from serq_lab.lowering.board import BoardLayout
from serq_lab.lowering.closures import ClosureCompiler, ClosureSegments
from serq_lab.lowering.expressions import ExpressionCompiler
from serq_lab.lowering.members import Members
from serq_lab.lowering.readings import (
    is_calm,
    is_static,
    is_steady,
    keeps_prefixes,
    most_keys,
    preempts,
    readings_of_stages,
    reads_kv,
    refreshed_for,
)
from serq_lab.lowering.segments import SegmentWriter
from serq_lab.lowering.traces import NO_TRACE, Trace, choice_words
from serq_lab.lowering.trees import expressions_of
from serq_lab.semantics import model as m
from serq_lab.source import Span

MODES = {None: Mode.NONE, "prefill": Mode.PREFILL, "decode": Mode.DECODE}
STAGE_KINDS = {"fifo": StageKind.FIFO, "ps": StageKind.PS, "delay": StageKind.DELAY, "step": StageKind.STEP}
ORDER_KINDS = {
    "admission": OrderKind.ADMISSION, "by": OrderKind.BY, "decode_first": OrderKind.DECODE_FIRST,
    "exclusive_prefill": OrderKind.EXCLUSIVE_PREFILL,
}  # fmt: skip
HANDED_OVER = (m.Run, m.Hold, m.Grow, m.Drop, m.Release, m.Load, m.Choose)  # statements: the kernel carries them out
SHARES = {None: Share.NONE, "maxmin": Share.MAXMIN, "bottleneck": Share.BOTTLENECK}
ARRIVAL_KINDS = {
    "none": ArrivalKind.NONE, "renewal": ArrivalKind.RENEWAL, "poisson": ArrivalKind.POISSON,
    "closed": ArrivalKind.CLOSED, "batch": ArrivalKind.BATCH,
}  # fmt: skip


class LoweredProgram:
    """A program as the kernel runs it.

    Attributes
    ----------
    spans : list of Span
        What a failure's `span` points into.
    """

    def __init__(self, model: m.Model) -> None:
        self.model = model
        self.layout = BoardLayout(model)
        self.spans: list[Span] = []
        self._span_rows: dict[tuple[int, int, int], int] = {}
        self._compiler: ExpressionCompiler | ClosureCompiler
        self._code: SegmentWriter | ClosureSegments
        if JIT:
            self._compiler = ExpressionCompiler(self.layout, self._span_row)
            self._code = SegmentWriter(self._compiler)
        else:
            self._compiler = ClosureCompiler(self.layout, self._span_row)
            self._code = ClosureSegments(self._compiler)
        self._functions: list[int] = []  # of each expression, its number in the compiler
        self._refreshed: list[tuple[int, int]] = []  # of each expression, its rows of `_refreshes`
        self._ops: list[dict[str, int]] = []
        self._claims: list[tuple[int, int, int]] = []
        self._targets: list[tuple[int, int, int, int]] = []
        self._refreshes: list[tuple[int, int]] = []
        self._stream = SESSION
        self._spares = SpareBlocks()
        self._write_program()
        self.tables = self._finish()
        self._image = self._image_of_runs()

    def setup(self, constants: m.Constants, trace: Trace = NO_TRACE) -> RunTables:
        """The tables of one run: those of the program, the numbers of `constants`, and the rows of a trace."""
        is_traced = trace is not NO_TRACE
        return RunTables(
            image=self._image,
            program=self.tables,
            owner=self,
            spares=self._spares,
            members=self._members.numbers(constants),
            lets=constants.lets,
            keys=keys_of(constants.seed),
            trace=TraceTables(trace.rows, trace.sessions, choice_words(constants.seed)) if is_traced else None,
            horizon=constants.horizon,
            warmup=constants.warmup,
            limit=constants.arrivals or 0,
            population=constants.population,
        )

    def _image_of_runs(self) -> Image:
        model, (pools, stages) = self.model, self._members.initial
        return image_of(
            self.tables,
            pools,
            stages,
            self._gauges,
            n_lets=len(model.lets),
            n_observations=len(model.observations),
            n_keys=most_keys(model),
            n_pools=len(pools),
            n_slots=self.layout.n_attributes,
            vector_bytes=8 * (self.layout.n_attributes + len(pools)),
            go=self._compiler.go,
            has_owns=keeps_prefixes(model) or preempts(model),
            has_keyed_entries=any(pool.evict_keys or pool.spill for pool in model.pools),
            is_calm=is_calm(model),
            is_ordered=model.trace is not None and model.trace.ordered,
            arrival_kind=ARRIVAL_KINDS[model.arrivals.process],
            gap=self._gap,
            gap_span=self._span_row(model.arrivals.span),
            has_init=bool(model.init),
            share=SHARES[model.share],
        )

    # ------------------------------------------------------------ program

    def _write_program(self) -> None:
        model = self.model
        self._members = Members(model, self.layout)
        self._gap = self._arrival_gap()
        for row, pool in zip(self._members.pools, model.pools, strict=True):
            self._write_pool(row, pool)
        self._gauges = [self._value(gauge.value) for gauge in model.gauges]
        self._stream = WORKLOAD
        self._code.enter(START_OF_INIT)
        self._code.clear(SERIAL + 1, self.layout.vector_length - SERIAL - 1)
        self._write_block(model.init)
        self._stop(OpKind.READY, model.arrivals.span)
        self._stream = SESSION
        self._code.enter(START_OF_SESSION)
        if not model.init:
            self._code.clear(SERIAL + 1, self.layout.vector_length - SERIAL - 1)
        self._write_block(model.session)
        self._stop(OpKind.END, model.arrivals.span)
        self._code.finish()
        for row, stage, read in zip(self._members.stages, model.stages, readings_of_stages(model), strict=True):
            self._write_stage(row, stage, read)

    def _arrival_gap(self) -> int:
        arrivals = self.model.arrivals
        if arrivals.value is None or arrivals.process not in ("poisson", "renewal"):
            return -1
        gap, span = arrivals.value, arrivals.span
        if arrivals.process == "poisson":
            unit = m.Draw(span, "exp", (m.Constant(span, 1.0),))
            gap = m.Chain(span, (unit, gap), ("/",))  # not times the mean gap: its last bit would be another
        return self._value(gap, ARRIVALS)

    def _write_pool(self, row: Any, pool: m.Pool) -> None:
        row["spill_work"] = row["spill_condition"] = -1
        if pool.spill is not None:
            row["spill_condition"] = self._value(pool.spill.condition, EVICTION)
            row["spill_work"] = self._value(pool.spill.work, EVICTION)
        row["first_evict_key"], row["n_evict_keys"] = self._keys(pool.evict_keys or (), EVICTION)
        row["first_queue_key"], row["n_queue_keys"] = self._keys(pool.queue_keys or ())
        row["is_lifo"] = pool.preempt == "lifo"

    def _write_stage(self, row: Any, stage: m.Stage, read: set[str]) -> None:
        """`read` are the observables of the stage that the program reads."""
        row["kind"] = STAGE_KINDS[stage.kind]
        row["span"] = self._span_row(stage.span)
        for name in ("capacity", "budget", "chunk", "cost"):
            tree = getattr(stage, name)
            row[name] = -1 if tree is None else self._value(tree)
        if stage.cost is not None:
            row["cost_span"] = self._span_row(stage.cost.span)
        if stage.order is not None:
            row["order"] = ORDER_KINDS[stage.order.kind]
            row["first_key"], row["n_keys"] = self._keys(stage.order.keys)
            row["only"] = -1 if stage.order.only is None else self._value(stage.order.only)
        row["is_steady"] = is_steady(stage) and not any(pool.spill for pool in self.model.pools)
        row["reads_kv"] = reads_kv((stage.budget, stage.chunk, stage.order))
        row["cost_reads_kv"] = reads_kv(stage.cost)
        row["is_estimated"] = bool(read & {"est_lambda", "est_rho", "est_wait", "price"})
        row["is_listed"] = "work" in read
        row["is_flow"] = stage.is_flow

    # --------------------------------------------------------- statements

    def _write_block(self, block: m.Block) -> None:
        for statement in block:
            self._write_refresh(statement)
            getattr(self, "_write_" + type(statement).__name__.lower())(statement)

    def _stop(self, kind: OpKind, span: Span, **values: int) -> None:
        """Hand an operation to the kernel; what is written next is where the session goes on."""
        op = dict.fromkeys(OP.names or (), -1)
        op.update(kind=int(kind), span=self._span_row(span), **values)
        self._ops.append(op)
        self._code.stop(len(self._ops) - 1)

    def _write_refresh(self, statement: m.Statement) -> None:
        first, n = self._refreshed_by(tuple(expressions_of(statement)))
        if n:
            self._stop(OpKind.REFRESH, statement.span, first_refreshed=first, n_refreshed=n)

    def _write_set(self, s: m.Set) -> None:
        self._code.assign(s.attribute, s.value, self._stream)

    def _write_observe(self, s: m.Observe) -> None:
        self._code.observe(s.observation, s.value, self._stream)

    def _write_turn(self, s: m.Turn) -> None:
        self._code.turn()
        if self.model.trace is not None:
            self._stop(OpKind.TURN, s.span)
        stream, self._stream = self._stream, WORKLOAD
        self._write_block(self.model.turn)
        self._stream = stream

    def _write_end(self, s: m.End) -> None:
        self._stop(OpKind.END, s.span)

    def _write_hold(self, s: m.Hold) -> None:
        first_claim = len(self._claims)
        claims = [
            (self._target(c.pool), self._value(c.units), -1 if c.reserve is None else self._value(c.reserve))
            for c in s.claims
        ]
        self._claims.extend(claims)
        header = {
            "first_claim": first_claim, "n_claims": len(claims), "is_static": int(is_static(s)),
            "reuse": -1 if s.reuse is None else self._value(s.reuse),
            "has_cache": int(s.cache is not None),
            "cache": -1 if s.cache is None else self._value(s.cache),
            "lease": -1 if s.lease is None else first_claim + [c.pool for c in s.claims].index(s.lease[0]),
            "lease_time": -1 if s.lease is None else self._value(s.lease[1]),
        }  # fmt: skip
        self._stop(OpKind.HOLD, s.span, **header)
        self._write_block(s.body)
        self._stop(OpKind.LEAVE, s.span, **header)

    def _write_run(self, s: m.Run) -> None:
        self._member(s.stages[0], is_pool=False)
        self._code.argument(s.work, self._stream)
        if self.model.stages[s.stages[0].family].is_flow:
            first_target = len(self._targets)
            others = [self._target(stage, is_pool=False) for stage in s.stages[1:]]
            self._stop(OpKind.FLOW, s.span, first_target=first_target, n_targets=len(others))
            return
        growing = -1 if s.growing is None else self._target(s.growing)
        self._stop(OpKind.RUN, s.span, mode=MODES[s.mode], growing=growing)

    def _write_grow(self, s: m.Grow) -> None:
        self._member(s.pool, is_pool=True)
        self._code.argument(s.amount, self._stream)
        self._stop(OpKind.GROW, s.span)

    def _write_load(self, s: m.Load) -> None:
        self._member(s.pool, is_pool=True)
        self._code.argument(s.amount, self._stream)
        self._stop(OpKind.LOAD, s.span)

    def _write_drop(self, s: m.Drop) -> None:
        self._member(s.pool, is_pool=True)
        self._stop(OpKind.DROP, s.span)

    def _write_release(self, s: m.Release) -> None:
        self._member(s.pool, is_pool=True)
        self._stop(OpKind.RELEASE, s.span)

    def _write_branch(self, s: m.Branch) -> None:
        otherwise, done = self._code.new_label(), self._code.new_label()
        self._code.unless(s.guard, self._stream, otherwise)
        self._write_block(s.then)
        self._code.jump(done)
        self._code.place(otherwise)
        self._write_block(s.otherwise)
        self._code.place(done)

    def _write_loop(self, s: m.Loop) -> None:
        start = self._code.new_label()
        self._code.place(start)
        self._write_block(s.body)
        if any(isinstance(statement, HANDED_OVER) for statement in s.body):
            self._code.jump(start)  # the kernel counts what it is handed
        else:
            self._code.repeat(start, s.span)

    def _write_choose(self, s: m.Choose) -> None:
        count = self._value(s.count)
        first_key, n_keys = self._keys(s.keys)
        self._stop(OpKind.CHOOSE, s.count.span, slot=s.attribute, expression=count, first_key=first_key, n_keys=n_keys)

    def _member(self, target: m.Target, is_pool: bool) -> None:
        """The pool or stage that the next operation is about."""
        firsts = self.layout.first_pool if is_pool else self.layout.first_stage
        first = firsts[target.family]
        self._code.member(target, first, self.layout.n_members(target.family, is_pool), self._stream)

    # --------------------------------------------------------------- rows

    def _span_row(self, span: Span) -> int:
        key = (id(span.source), span.start, span.stop)
        if key not in self._span_rows:
            self._span_rows[key] = len(self.spans)
            self.spans.append(span)
        return self._span_rows[key]

    def _value(self, tree: m.Expression, stream: int | None = None) -> int:
        return self._expression(self._compiler.add_value(tree, self._stream if stream is None else stream), tree)

    def _keys(self, keys: Sequence[m.Expression], stream: int | None = None) -> tuple[int, int]:
        """Keys stand in adjacent rows: the first of them, and how many."""
        rows = [self._value(key, stream) for key in keys]
        return (rows[0] if rows else -1), len(rows)

    def _expression(self, number: int, tree: Any) -> int:
        self._functions.append(number)
        self._refreshed.append(self._refreshed_by(tree))
        return len(self._functions) - 1

    def _refreshed_by(self, tree: Any) -> tuple[int, int]:
        """The rows of what must be computed before a tree is evaluated: the first, and how many."""
        first = len(self._refreshes)
        self._refreshes.extend(refreshed_for(tree, self.model, self.layout))
        return first, len(self._refreshes) - first

    def _target(self, target: m.Target, is_pool: bool = True) -> int:
        self._targets.append(self._target_row(target, is_pool))
        return len(self._targets) - 1

    def _target_row(self, target: m.Target, is_pool: bool) -> tuple[int, int, int, int]:
        firsts = self.layout.first_pool if is_pool else self.layout.first_stage
        first, n_members = firsts[target.family], firsts[target.family + 1] - firsts[target.family]
        index = -1
        if isinstance(target.index, m.Constant):
            first += int(target.index.value)
        elif target.index is not None:
            index = self._value(target.index)
        return first, n_members, index, self._span_row(target.span)

    def _finish(self) -> ProgramTables:
        addresses = self._compiler.compile()
        names = OP.names or ()
        expressions = [
            (addresses[f], *refreshed) for f, refreshed in zip(self._functions, self._refreshed, strict=True)
        ]
        return ProgramTables(
            ops=rows([tuple(op[name] for name in names) for op in self._ops], OP),
            claims=rows(self._claims, CLAIM),
            targets=rows(self._targets, TARGET),
            expressions=rows(expressions, EXPRESSION),
            refreshes=rows(self._refreshes, REFRESH),
        )


def rows(values: Sequence[tuple[int, ...]], dtype: np.dtype[Any]) -> NDArray[np.void]:
    """Tuples as records."""
    return np.array(values, dtype=dtype)


def lower(model: m.Model) -> LoweredProgram:
    """Turn a model into what the kernel runs."""
    return LoweredProgram(model)
