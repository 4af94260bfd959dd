"""A session's statements to native code, up to what the kernel must do: join a pool, run on a stage, end.

Comes in: statements, in order, from `lower.py`. Goes out: one function ``int64 go(int64 entry, double *session, double
*board)`` that goes on at an entry, behind the operation of that row or at one of the starts, and gives the row of the
operation that the kernel must carry out next, or -1 when the run must stop. Setting, observing, branching and looping
happen here, without the kernel. `closures.py` has the same in plain Python.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from serq_lab.kernel.draws.streams import RARELY_CALLED
from serq_lab.kernel.records import FailureKind
from serq_lab.kernel.storage.state import OBSERVATION, SAMPLE
from serq_lab.kernel.storage.tables import SERIAL, TURN_NO
from serq_lab.lowering.expressions import F64, I1, I64, POINTER, Body, ExpressionCompiler
from serq_lab.semantics import model as m
from serq_lab.source import Span

I8, I32 = ir.IntType(8), ir.IntType(32)
MEMSET = "llvm.memset.p0.i64"
STOP = -1
LEAST_SAMPLES = 4096  # of an observation with any: memory that is not touched costs nothing
MOST_REPEATS = 1_000_000  # of loops without waiting

Label = Any  # an LLVM block


class SegmentWriter:
    """Writes the function; each `stop` hands over to the kernel and opens an entry where the session goes on.

    Parameters
    ----------
    compiler : ExpressionCompiler
        Whose module the function joins.
    """

    def __init__(self, compiler: ExpressionCompiler) -> None:
        kind = ir.FunctionType(I64, [I64, POINTER, POINTER])
        self.function = ir.Function(compiler.module, kind, "go")
        self.body = Body(compiler, self.function, 0)
        self.b = self.body.b
        self.repeats = self.b.alloca(I64)
        self.b.store(I64(0), self.repeats)
        lost = self.function.append_basic_block()
        self.switch = self.b.switch(self.function.args[0], lost)
        self.b.position_at_end(lost)
        self.b.unreachable()

    def enter(self, entry: int) -> None:
        """A place where the kernel can go on."""
        block = self.function.append_basic_block()
        self.switch.add_case(I64(entry), block)
        self.b.position_at_end(block)

    def stop(self, op: int) -> None:
        """Hand operation `op` to the kernel; behind it is an entry of the same number."""
        self.b.ret(I64(op))
        self.enter(op)

    def new_label(self) -> Label:
        """A place to jump to, not placed yet."""
        return self.function.append_basic_block()

    def place(self, label: Label) -> None:
        """What is written next stands at the label."""
        if not self.b.block.is_terminated:
            self.b.branch(label)
        self.b.position_at_end(label)

    def jump(self, label: Label) -> None:
        """Go to a label; what is written next, up to a label, is never reached."""
        self.b.branch(label)
        self.b.position_at_end(self.function.append_basic_block())

    def repeat(self, label: Label, span: Span) -> None:
        """Go back to the start of a loop, not for ever without waiting."""
        b = self.b
        repeats = b.add(b.load(self.repeats), I64(1))
        b.store(repeats, self.repeats)
        with b.if_then(b.icmp_signed(">", repeats, I64(MOST_REPEATS)), likely=False):
            self._fail(FailureKind.NO_PROGRESS, span, F64(float(MOST_REPEATS)))
        self.jump(label)

    def unless(self, guard: m.Expression, stream: int, label: Label) -> None:
        """To the label where the guard is 0, on where it is 1; anything else stops the run."""
        b = self.b
        value = self._value(guard, stream)
        if self.body.is_truth(value):
            self.b.cbranch(self.body.truth(value), following := self.new_label(), label)
            self.b.position_at_end(following)
            return
        with b.if_then(b.fcmp_unordered("!=", value, F64(1.0))):
            with b.if_then(b.fcmp_unordered("!=", value, F64(0.0)), likely=False):
                self._fail(FailureKind.GUARD, guard.span, value)
            b.branch(label)

    def assign(self, attribute: int, value: m.Expression, stream: int) -> None:
        """`set`."""
        self.b.store(self._value(value, stream), self._attribute(attribute))

    def clear(self, first: int, n: int) -> None:
        """A new session: n slots of its vector, from `first` on, are 0."""
        kind = ir.FunctionType(ir.VoidType(), [I8.as_pointer(), I8, I64, I1])
        memset = self.function.module.globals.get(MEMSET) or ir.Function(self.function.module, kind, MEMSET)
        start = self.b.bitcast(self._attribute(first), I8.as_pointer())
        self.b.call(memset, [start, I8(0), I64(8 * n), I1(0)])

    def turn(self) -> None:
        """`turn`, but for what the workload does at it."""
        b = self.b
        place = self._attribute(TURN_NO)
        b.store(b.fadd(b.load(place), F64(1.0)), place)
        turns = self.body.board_word("turns")
        b.store(b.add(b.load(turns), b.load(self.body.board_word("is_warm"))), turns)

    def argument(self, value: m.Expression, stream: int) -> None:
        """The work or amount of the operation that comes next."""
        self.b.store(self._value(value, stream), self.body.board_place("argument"))

    def member(self, target: m.Target, first: int, n_members: int, stream: int) -> None:
        """The pool or stage of the operation that comes next; `first` is the family's first member."""
        self.body.stream = stream
        member = self.body.member(target, n_members)
        self.b.store(self.b.add(I64(first), member), self.body.board_word("member"))
        if target.index is not None and not isinstance(target.index, m.Constant):
            self._stop_if_failed()

    def observe(self, observation: int, value: m.Expression, stream: int) -> None:
        """`observe`: after the warm-up, one more row of the observation's table of samples."""
        b, word = self.b, OBSERVATION.itemsize // 8
        drawn = self._value(value, stream)
        with b.if_then(b.icmp_signed("!=", b.load(self.body.board_word("is_warm")), I64(0))):
            tables = b.inttoptr(b.load(self.body.board_word("observations")), I64.as_pointer())
            samples, room, n = (b.gep(tables, [I64(word * observation + k)]) for k in range(3))
            count = b.load(n)
            with b.if_then(b.icmp_signed(">=", count, b.load(room)), likely=False):
                b.call(self._enlarging(), [samples, self.body.board])
            row = b.inttoptr(b.add(b.load(samples), b.mul(count, I64(SAMPLE.itemsize))), POINTER)
            b.store(drawn, row)
            b.store(b.load(self.body.board_place("now")), b.gep(row, [I64(1)]))
            names = b.bitcast(b.gep(row, [I64(2)]), I32.as_pointer())
            for k, attribute in enumerate((SERIAL, TURN_NO)):
                whole = b.fptosi(b.load(self._attribute(attribute)), I64)
                b.store(b.trunc(whole, I32), b.gep(names, [I64(k)]))
            b.store(b.add(count, I64(1)), n)

    def finish(self) -> None:
        """The last statement is written."""
        for block in self.function.blocks:
            if not block.is_terminated:  # behind an `end`
                self.b.position_at_end(block)
                self.b.unreachable()

    # ------------------------------------------------------------ helpers

    def _enlarging(self) -> ir.Function:
        """The function ``void enlarge(int64 *observation, double *board)``: room for more of its samples."""
        module = self.function.module
        if "enlarge" in module.globals:
            return module.globals["enlarge"]
        kind = ir.FunctionType(ir.VoidType(), [I64.as_pointer(), POINTER])
        function = ir.Function(module, kind, "enlarge")
        function.calling_convention = RARELY_CALLED
        table, board = function.args
        b = ir.IRBuilder(function.append_basic_block())
        samples, room = table, b.gep(table, [I64(1)])
        doubled = b.mul(b.load(room), I64(2))
        wanted = b.select(b.icmp_signed(">", doubled, I64(LEAST_SAMPLES)), doubled, I64(LEAST_SAMPLES))
        address = b.gep(board, [I64(self.body.layout.header("reallocate"))])
        reallocate = ir.FunctionType(I64, [I64, I64]).as_pointer()
        found = b.inttoptr(b.load(b.bitcast(address, I64.as_pointer())), reallocate)
        b.store(b.call(found, [b.load(samples), b.mul(wanted, I64(SAMPLE.itemsize))]), samples)
        b.store(wanted, room)
        b.ret_void()
        return function

    def _value(self, tree: m.Expression, stream: int) -> ir.Value:
        self.body.stream = stream
        return self.body.value(tree)

    def _attribute(self, attribute: int) -> ir.Value:
        return self.b.gep(self.body.session, [I64(attribute)])

    def _fail(self, kind: FailureKind, span: Span, value: ir.Value) -> None:
        self.body.note_failure(kind, span, value)
        self.b.ret(I64(STOP))

    def _stop_if_failed(self) -> None:
        failure = self.b.load(self.body.board_word("failure"))
        with self.b.if_then(self.b.icmp_signed("!=", failure, I64(0)), likely=False):
            self.b.ret(I64(STOP))
