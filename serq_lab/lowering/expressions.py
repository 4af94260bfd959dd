"""Expressions to native code: one LLVM function an expression, compiled together in a few milliseconds.

Comes in: resolved expressions of the model, each with the stream that it draws from. Goes out: functions
``double f(double *session, double *board)`` by address. Everything that differs between runs, the lets and the random
streams too, is reached through the two arguments, so one compiled program serves any number of runs at once.
Next on the way: the kernel's `evaluation.py`, which calls them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from serq_lab.kernel.draws.streams import LOGARITHMS_AT, N_UNIFORMS, RARELY_CALLED, STREAM_WORDS, compile_module
from serq_lab.kernel.records import FailureKind
from serq_lab.lowering.board import POOL_STRIDE, STAGE_STRIDE, BoardLayout
from serq_lab.semantics import model as m
from serq_lab.semantics.constants import MAX_PHASES
from serq_lab.semantics.names import POOL_OBSERVABLES
from serq_lab.source import Span

I1, I64, F64 = ir.IntType(1), ir.IntType(64), ir.DoubleType()
POINTER = F64.as_pointer()

POOL_FIELDS = {"used": "used", "holders": "holders", "queued": "queued", "blocksize": "block"}


class ExpressionCompiler:
    """Collects the functions of a program, then compiles them at once.

    Parameters
    ----------
    layout : BoardLayout
    span_number : callable
        The row of a span in the program's list of spans: what a failure points at.
    """

    def __init__(self, layout: BoardLayout, span_number: Callable[[Span], int]) -> None:
        self.layout = layout
        self.span_number = span_number
        self.module = ir.Module("expressions")
        self.intrinsics: dict[str, ir.Function] = {}
        self.n_functions = 0
        self.engine: Any = None
        self.go = 0  # the address of the session's statements, which `SegmentWriter` writes

    def add_value(self, tree: m.Expression, stream: int) -> int:
        """A function that gives an expression's value; returns its number."""
        body = self._open(stream)
        body.b.ret(body.value(tree))
        return self.n_functions - 1

    def _open(self, stream: int) -> Body:
        kind = ir.FunctionType(F64, [POINTER, POINTER])
        function = ir.Function(self.module, kind, f"e{self.n_functions}")
        self.n_functions += 1
        return Body(self, function, stream)

    def compile(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Addresses of all functions, int64 of shape (n,); valid while this object lives."""
        self.engine = compile_module(self.module)
        self.go = self.engine.get_function_address("go")
        return np.array([self.engine.get_function_address(f"e{k}") for k in range(self.n_functions)], dtype=np.int64)

    def intrinsic(self, name: str, n_arguments: int = 1) -> ir.Function:
        if name not in self.intrinsics:
            kind = ir.FunctionType(F64, [F64] * n_arguments)
            self.intrinsics[name] = ir.Function(self.module, kind, f"llvm.{name}.f64")
        return self.intrinsics[name]


class Body:
    """The body of one function while it is written; `stream` is what it draws from."""

    def __init__(self, owner: ExpressionCompiler, function: ir.Function, stream: int) -> None:
        self.owner, self.layout, self.stream = owner, owner.layout, stream
        self.session, self.board = function.args[-2:]
        self.b = ir.IRBuilder(function.append_basic_block())
        self._truths: dict[ir.Value, ir.Value] = {}  # the bit that a number, 0 or 1, was made of

    # ------------------------------------------------------------ trees

    def value(self, tree: m.Expression) -> ir.Value:
        """Write code for an expression; operands are evaluated, and draw, from the left."""
        return getattr(self, "_" + type(tree).__name__.lower())(tree)

    def _constant(self, tree: m.Constant) -> ir.Value:
        return F64(tree.value)

    def _letvalue(self, tree: m.LetValue) -> ir.Value:
        return self._board_slot(self.layout.let(tree.let))

    def _now(self, tree: m.Now) -> ir.Value:
        return self._board_slot(self.layout.header("now"))

    def _attribute(self, tree: m.Attribute) -> ir.Value:
        return self.b.load(self.b.gep(self.session, [I64(tree.attribute)]))

    def _context(self, tree: m.Context) -> ir.Value:
        return self._board_slot(self.layout.header(tree.name))

    def _negation(self, tree: m.Negation) -> ir.Value:
        return self.b.fneg(self.value(tree.operand))

    def _not(self, tree: m.Not) -> ir.Value:
        return self._number(self.b.not_(self.truth(self.value(tree.operand))))

    def _chain(self, tree: m.Chain) -> ir.Value:
        operations = {"+": self.b.fadd, "-": self.b.fsub, "*": self.b.fmul, "/": self.b.fdiv}
        total = self.value(tree.operands[0])
        for operator, operand in zip(tree.operators, tree.operands[1:], strict=True):
            total = operations[operator](total, self.value(operand))
        return total

    def _comparison(self, tree: m.Comparison) -> ir.Value:
        left = self.value(tree.left)
        right = self.value(tree.right)
        if tree.operator == "!=":
            return self._number(self.b.fcmp_unordered("!=", left, right))
        return self._number(self.b.fcmp_ordered(tree.operator, left, right))

    def _logical(self, tree: m.Logical) -> ir.Value:
        is_and = tree.operator == "&&"
        done = self.b.append_basic_block()
        result = self._local(I1)
        self.b.store(I1(not is_and), result)
        for operand in tree.operands:
            truth = self.truth(self.value(operand))
            following = self.b.append_basic_block()
            self.b.cbranch(truth, *((following, done) if is_and else (done, following)))
            self.b.position_at_end(following)
        self.b.store(I1(is_and), result)
        self.b.branch(done)
        self.b.position_at_end(done)
        return self._number(self.b.load(result))

    def _conditional(self, tree: m.Conditional) -> ir.Value:
        values = []
        with self.b.if_else(self.truth(self.value(tree.condition))) as branches:
            for branch, part in zip(branches, (tree.if_true, tree.if_false), strict=True):
                with branch:
                    values.append((self.value(part), self.b.block))
        return self._phi(values)

    def _function(self, tree: m.Function) -> ir.Value:
        arguments = [self.value(a) for a in tree.arguments]
        if tree.name in ("min", "max"):
            before, total = "<" if tree.name == "min" else ">", arguments[0]
            for argument in arguments[1:]:  # of equals, 0 and -0, the second; LLVM's own `minnum` leaves that open
                is_first = self.b.fcmp_ordered(before, total, argument)
                is_nothing = self.b.fcmp_unordered("uno", argument, argument)
                total = self.b.select(self.b.or_(is_first, is_nothing), total, argument)
            return total
        names = {"abs": "fabs", "ln": "log"}
        return self.b.call(self.owner.intrinsic(names.get(tree.name, tree.name), len(arguments)), arguments)

    # ------------------------------------------------------- observables

    def _observable(self, tree: m.Observable) -> ir.Value:
        is_pool = tree.name in POOL_OBSERVABLES
        member = self.member(tree.target, self.layout.n_members(tree.target.family, is_pool))
        if tree.name == "price":
            return self._price(tree, member)
        if tree.name == "free":
            cap = self._member_slot(self.layout.pool(tree.target.family, "cap"), POOL_STRIDE, member)
            used = self._member_slot(self.layout.pool(tree.target.family, "used"), POOL_STRIDE, member)
            return self.b.fsub(cap, used)
        if tree.name == "cachedin":
            first = self.layout.n_attributes + self.layout.first_pool[tree.target.family]
            return self.b.load(self.b.gep(self.session, [self.b.add(member, I64(first))]))
        if tree.name in POOL_FIELDS:
            slot = self.layout.pool(tree.target.family, POOL_FIELDS[tree.name])
            return self._member_slot(slot, POOL_STRIDE, member)
        return self._member_slot(self.layout.stage(tree.target.family, tree.name), STAGE_STRIDE, member)

    def _price(self, tree: m.Observable, member: ir.Value) -> ir.Value:
        """Section 7.6: d + lambda ((h + d)^2 - h^2) / (2 (1 - rho)) + lambda wait d / (1 - rho)."""
        b = self.b
        hit, extra = (self.value(a) for a in tree.arguments)
        rate, rho, wait = (
            self._member_slot(self.layout.stage(tree.target.family, name), STAGE_STRIDE, member)
            for name in ("est_lambda", "est_rho", "est_wait")
        )
        middle = b.fdiv(b.fmul(extra, b.fadd(b.fmul(F64(2.0), hit), extra)), F64(2.0))
        delay = b.fmul(rate, b.fadd(middle, b.fmul(extra, wait)))
        return b.fadd(extra, b.fdiv(delay, b.fsub(F64(1.0), rho)))

    def member(self, target: m.Target, n_members: int) -> ir.Value:
        """The member a target names, as an integer; an index out of range notes a failure and gives 0."""
        if target.index is None:
            return I64(0)
        if isinstance(target.index, m.Constant):
            return I64(int(target.index.value))
        index = self.value(target.index)
        is_inside = self.b.and_(
            self.b.fcmp_ordered(">", index, F64(-1.0)), self.b.fcmp_ordered("<", index, F64(float(n_members)))
        )
        self._fail_unless(is_inside, FailureKind.INDEX, target.span, index)
        return self.b.fptosi(self.b.select(is_inside, index, F64(0.0)), I64)

    def _member_slot(self, slot: int, stride: int, member: ir.Value) -> ir.Value:
        return self.b.load(self.b.gep(self.board, [self.b.add(I64(slot), self.b.mul(member, I64(stride)))]))

    # ------------------------------------------------------------- draws

    def _draw(self, tree: m.Draw) -> ir.Value:
        arguments = [self.value(a) for a in tree.arguments]
        return getattr(self, "_draw_" + tree.distribution)(tree, arguments)

    def _draw_exp(self, tree: m.Draw, arguments: list[ir.Value]) -> ir.Value:
        return self._exponential(self._checked(tree, 0, arguments[0], least=0.0))

    def _draw_det(self, tree: m.Draw, arguments: list[ir.Value]) -> ir.Value:
        return self._checked(tree, 0, arguments[0])

    def _draw_uniform(self, tree: m.Draw, arguments: list[ir.Value]) -> ir.Value:
        low, high = (self._checked(tree, k, arguments[k], is_finite=True) for k in range(2))
        return self.b.fadd(low, self.b.fmul(self.b.fsub(high, low), self._uniform()))

    def _draw_bernoulli(self, tree: m.Draw, arguments: list[ir.Value]) -> ir.Value:
        chance = self._checked(tree, 0, arguments[0], least=0.0, most=1.0)
        return self._number(self.b.fcmp_ordered("<", self._uniform(), chance))

    def _draw_erlang(self, tree: m.Draw, arguments: list[ir.Value]) -> ir.Value:
        b = self.b
        phases = self._checked(tree, 0, arguments[0], most=float(MAX_PHASES))
        mean = self._checked(tree, 1, arguments[1], least=0.0)
        floor = self.owner.intrinsic("floor")
        phases = b.call(self.owner.intrinsic("maxnum", 2), [b.call(floor, [phases]), F64(1.0)])
        each = b.fdiv(mean, phases)
        total, left = self._local(), self._local()
        b.store(F64(0.0), total)
        b.store(phases, left)
        again, done = b.append_basic_block(), b.append_basic_block()
        b.branch(again)
        b.position_at_end(again)
        b.store(b.fadd(b.load(total), self._exponential(each)), total)
        b.store(b.fsub(b.load(left), F64(1.0)), left)
        b.cbranch(b.fcmp_ordered(">", b.load(left), F64(0.0)), again, done)
        b.position_at_end(done)
        return b.load(total)

    def _draw_h2(self, tree: m.Draw, arguments: list[ir.Value]) -> ir.Value:
        """Two exponential phases with balanced means; c is the squared coefficient of variation."""
        b = self.b
        mean = self._checked(tree, 0, arguments[0], least=0.0)
        c = self._checked(tree, 1, arguments[1], is_finite=True)
        c = b.call(self.owner.intrinsic("maxnum", 2), [c, F64(1.0)])
        share = b.fdiv(b.fsub(c, F64(1.0)), b.fadd(c, F64(1.0)))
        p = b.fdiv(b.fadd(F64(1.0), b.call(self.owner.intrinsic("sqrt"), [share])), F64(2.0))
        is_first = b.fcmp_ordered("<", self._uniform(), p)
        q = b.select(is_first, p, b.fsub(F64(1.0), p))
        return self._exponential(b.fdiv(mean, b.fmul(F64(2.0), q)))

    def _exponential(self, mean: ir.Value) -> ir.Value:
        return self.b.fmul(self.b.fneg(mean), self._next_of_stream(LOGARITHMS_AT))

    def _uniform(self) -> ir.Value:
        return self._next_of_stream(1)

    def _next_of_stream(self, column: int) -> ir.Value:
        """The next uniform of the stream, or its logarithm; the stream is refilled when it is used up."""
        b = self.b
        streams = b.load(self.board_word("streams"))
        stream = b.inttoptr(b.add(streams, I64(8 * STREAM_WORDS * self.stream)), I64.as_pointer())
        with b.if_then(b.icmp_signed(">=", b.load(stream), I64(N_UNIFORMS)), likely=False):
            kind = ir.FunctionType(ir.VoidType(), [I64.as_pointer()]).as_pointer()
            b.call(b.inttoptr(b.load(self.board_word("refill")), kind), [stream], cconv=RARELY_CALLED)
        index = b.load(stream)
        b.store(b.add(index, I64(1)), stream)
        return b.load(b.bitcast(b.gep(stream, [b.add(index, I64(column))]), POINTER))

    def _checked(
        self, tree: m.Draw, k: int, value: ir.Value, *, least: float | None = None, most: float | None = None,
        is_finite: bool = False,
    ) -> ir.Value:  # fmt: skip
        """A parameter of a draw; one that makes no sense, NaN always, notes a failure and becomes 0."""
        argument = tree.arguments[k]
        if isinstance(argument, m.Constant):
            return value  # the checker has seen it
        b = self.b
        tests: list[Callable[[], ir.Value]] = []  # none of which NaN passes
        if least is not None:
            tests.append(lambda: b.fcmp_ordered(">=", value, F64(least)))
        if most is not None:
            tests.append(lambda: b.fcmp_ordered("<=", value, F64(most)))
        if is_finite:
            fabs = self.owner.intrinsic("fabs")
            tests.append(lambda: b.fcmp_ordered("<", b.call(fabs, [value]), F64(math.inf)))
        if not tests:
            tests.append(lambda: b.fcmp_ordered("ord", value, value))
        bad, done = b.append_basic_block(), b.append_basic_block()
        for test in tests:
            good = b.append_basic_block()
            b.cbranch(test(), good, bad).set_weights([99, 1])
            b.position_at_end(good)
        b.branch(done)
        values = [(value, b.block)]
        b.position_at_end(bad)
        self.note_failure(FailureKind.PARAMETER, argument.span, value)
        values.append((F64(0.0), b.block))
        b.branch(done)
        b.position_at_end(done)
        return self._phi(values)

    # ----------------------------------------------------------- helpers

    def _fail_unless(self, is_good: ir.Value, kind: FailureKind, span: Span, value: ir.Value) -> None:
        with self.b.if_then(self.b.not_(is_good), likely=False):
            self.note_failure(kind, span, value)

    def note_failure(self, kind: FailureKind, span: Span, value: ir.Value) -> None:
        """Note why the run must stop; the first reason counts."""
        b = self.b
        failure = self.board_word("failure")
        with b.if_then(b.icmp_signed("==", b.load(failure), I64(0))):
            b.store(I64(int(kind)), failure)
            b.store(I64(self.owner.span_number(span)), self.board_word("failure_span"))
            b.store(value, self.board_place("failure_value"))
            b.store(I64(1), self.board_word("may_be_over"))

    def _phi(self, values: list[tuple[ir.Value, ir.Block]]) -> ir.Value:
        """The value of whichever block this one was reached from."""
        chosen = self.b.phi(F64)
        for value, block in values:
            chosen.add_incoming(value, block)
        return chosen

    def _local(self, kind: ir.Type = F64) -> ir.Value:
        with self.b.goto_entry_block():
            return self.b.alloca(kind)

    def board_place(self, name: str) -> ir.Value:
        """The address of a slot of the board's header."""
        return self.b.gep(self.board, [I64(self.layout.header(name))])

    def board_word(self, name: str) -> ir.Value:
        """The same for a slot that holds a whole number."""
        return self.b.bitcast(self.board_place(name), I64.as_pointer())

    def _board_slot(self, slot: int) -> ir.Value:
        return self.b.load(self.b.gep(self.board, [I64(slot)]))

    def truth(self, value: ir.Value) -> ir.Value:
        """Whether a value is not 0, as one bit."""
        return self._truths.get(value) or self.b.fcmp_unordered("!=", value, F64(0.0))

    def is_truth(self, value: ir.Value) -> bool:
        """Whether a value is sure to be 0 or 1."""
        return value in self._truths

    def _number(self, truth: ir.Value) -> ir.Value:
        value = self.b.uitofp(truth, F64)
        self._truths[value] = truth
        return value
