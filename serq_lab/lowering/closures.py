"""Expressions as Python closures: what `expressions.py` does with native code, for a kernel that runs as Python.

Used instead of it when ``SERQ_LAB_JIT=0``; the same interface, the same numbers, hundreds of times slower.
"""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from serq_lab.kernel.draws.streams import LOGARITHMS_AT, N_UNIFORMS, STREAM_WORDS, refill
from serq_lab.kernel.records import FailureKind
from serq_lab.kernel.storage.access import load_float, store_float
from serq_lab.kernel.storage.memory import enlarge
from serq_lab.kernel.storage.plain import FUNCTIONS, view
from serq_lab.kernel.storage.state import OBSERVATION, SAMPLE
from serq_lab.kernel.storage.tables import SERIAL, TURN_NO
from serq_lab.lowering.board import HEADER_SLOTS, POOL_STRIDE, STAGE_STRIDE, BoardLayout
from serq_lab.lowering.expressions import POOL_FIELDS
from serq_lab.lowering.segments import LEAST_SAMPLES, MOST_REPEATS
from serq_lab.semantics import model as m
from serq_lab.semantics.constants import MAX_PHASES
from serq_lab.semantics.expressions import value
from serq_lab.semantics.names import POOL_OBSERVABLES
from serq_lab.source import Span

Closure = Callable[[int, int], float]

_numbers = itertools.count(1)


class ClosureCompiler:
    """Collects the functions of a program; parameters as of `ExpressionCompiler`."""

    def __init__(self, layout: BoardLayout, span_number: Callable[[Span], int]) -> None:
        self.layout = layout
        self.span_number = span_number
        self.closures: list[Closure] = []
        self.go = 0
        self.statements: ClosureSegments | None = None

    def add_value(self, tree: m.Expression, stream: int) -> int:
        """A function that gives an expression's value; returns its number."""
        self.closures.append(lambda session, board: self.value(tree, stream, session, board))
        return len(self.closures) - 1

    def compile(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Numbers under which the kernel finds the functions."""
        addresses = [next(_numbers) for _ in self.closures]
        FUNCTIONS.update(zip(addresses, self.closures, strict=True))
        self.go = next(_numbers)
        if self.statements is not None:
            FUNCTIONS[self.go] = self.statements.go
        return np.array(addresses, dtype=np.int64)

    def value(self, tree: m.Expression, stream: int, session: int, board: int) -> float:
        """The value of an expression over the vector and the board at two addresses."""
        layout = self.layout

        def of(part: m.Expression) -> float:
            return self.value(part, stream, session, board)

        def numbers(operands: Sequence[m.Expression]) -> tuple[m.Expression, ...]:
            return tuple(m.Constant(x.span, of(x)) for x in operands)

        match tree:
            case m.Constant():
                return tree.value
            case m.LetValue():
                return load_float(board + 8 * layout.let(tree.let))
            case m.Now():
                return load_float(board + 8 * layout.header("now"))
            case m.Attribute():
                return load_float(session + 8 * tree.attribute)
            case m.Context():
                return load_float(board + 8 * layout.header(tree.name))
            case m.Negation():
                return -of(tree.operand)
            case m.Not():
                return float(of(tree.operand) == 0.0)
            case m.Chain():
                return value(replace(tree, operands=numbers(tree.operands)), ())
            case m.Comparison():
                left, right = numbers((tree.left, tree.right))
                return value(replace(tree, left=left, right=right), ())
            case m.Function():
                return value(replace(tree, arguments=numbers(tree.arguments)), ())
            case m.Logical():
                decided = tree.operator == "||"
                return float(any((of(x) != 0.0) == decided for x in tree.operands) == decided)
            case m.Conditional():
                return of(tree.if_true) if of(tree.condition) != 0.0 else of(tree.if_false)
            case m.Draw():
                return self._draw(tree, [of(x) for x in tree.arguments], stream, board)
            case m.Observable():
                return self._observable(tree, of, session, board)
        raise AssertionError(tree)

    def _observable(self, tree: m.Observable, of: Callable[[m.Expression], float], session: int, board: int) -> float:
        layout, family, is_pool = self.layout, tree.target.family, tree.name in POOL_OBSERVABLES
        firsts = layout.first_pool if is_pool else layout.first_stage
        index = 0.0 if tree.target.index is None else of(tree.target.index)
        if not -1.0 < index < firsts[family + 1] - firsts[family]:
            self.note_failure(board, FailureKind.INDEX, tree.target.span, index)
            index = 0.0
        member = int(index)

        def shown(name: str) -> float:
            slot = layout.pool(family, name) if is_pool else layout.stage(family, name)
            return load_float(board + 8 * (slot + member * (POOL_STRIDE if is_pool else STAGE_STRIDE)))

        if tree.name == "free":
            return shown("cap") - shown("used")
        if tree.name == "cachedin":
            return load_float(session + 8 * (layout.n_attributes + firsts[family] + member))
        if tree.name == "price":
            hit, extra = (of(a) for a in tree.arguments)
            delay = shown("est_lambda") * (extra * (2.0 * hit + extra) / 2.0 + extra * shown("est_wait"))
            return extra + delay / (1.0 - shown("est_rho"))
        return shown(POOL_FIELDS.get(tree.name, tree.name))

    def _draw(self, tree: m.Draw, arguments: list[float], stream: int, board: int) -> float:
        def checked(k: int, least: float = -math.inf, most: float = math.inf, is_finite: bool = False) -> float:
            value = arguments[k]
            if least <= value <= most and not (is_finite and math.isinf(value)):
                return value
            self.note_failure(board, FailureKind.PARAMETER, tree.arguments[k].span, value)
            return 0.0

        def uniform() -> float:
            return _next_of_stream(board, stream, 1)

        def exponential(mean: float) -> float:
            return -mean * _next_of_stream(board, stream, LOGARITHMS_AT)

        if tree.distribution == "exp":
            return exponential(checked(0, least=0.0))
        if tree.distribution == "det":
            return checked(0)
        if tree.distribution == "uniform":
            low, high = checked(0, is_finite=True), checked(1, is_finite=True)
            return low + (high - low) * uniform()
        if tree.distribution == "bernoulli":
            return float(uniform() < checked(0, least=0.0, most=1.0))
        if tree.distribution == "erlang":
            phases = math.floor(max(checked(0, most=MAX_PHASES), 1.0))
            mean = checked(1, least=0.0) / phases
            total = 0.0
            for _ in range(int(phases)):
                total += exponential(mean)
            return total
        mean, c = checked(0, least=0.0), max(checked(1, is_finite=True), 1.0)
        p = (1.0 + math.sqrt((c - 1.0) / (c + 1.0))) / 2.0
        q = p if uniform() < p else 1.0 - p
        return exponential(mean / (2.0 * q))

    def note_failure(self, board: int, kind: FailureKind, span: Span, value: float) -> None:
        failure = ctypes.c_int64.from_address(board + 8 * HEADER_SLOTS["failure"])
        if failure.value == 0:
            failure.value = int(kind)
            ctypes.c_int64.from_address(board + 8 * HEADER_SLOTS["failure_span"]).value = self.span_number(span)
            store_float(board + 8 * HEADER_SLOTS["failure_value"], value)
            ctypes.c_int64.from_address(board + 8 * HEADER_SLOTS["may_be_over"]).value = 1


def _next_of_stream(board: int, stream: int, column: int) -> float:
    streams = ctypes.c_int64.from_address(board + 8 * HEADER_SLOTS["streams"]).value
    address = streams + 8 * STREAM_WORDS * stream
    following = ctypes.c_int64.from_address(address)
    if following.value >= N_UNIFORMS:
        memory: Any = (ctypes.c_int64 * STREAM_WORDS).from_address(address)
        refill(np.frombuffer(memory, dtype=np.int64))
    following.value += 1
    return load_float(address + 8 * (following.value - 1 + column))


def _word(board: int, name: str) -> ctypes.c_int64:
    return ctypes.c_int64.from_address(board + 8 * HEADER_SLOTS[name])


class ClosureSegments:
    """A session's statements as a list of steps; the interface of `SegmentWriter`.

    A step is a function of the two addresses that gives the number of the step to go on with, or an operation for the
    kernel as a negative number: -2 - row; -1 stops the run.
    """

    def __init__(self, compiler: ClosureCompiler) -> None:
        self.compiler = compiler
        compiler.statements = self
        self.steps: list[Callable[[int, int], int]] = []
        self.entries: dict[int, int] = {}
        self.labels: list[int] = []
        self.repeats = 0

    def go(self, entry: int, session: int, board: int) -> int:
        """Go on at an entry, up to the next operation."""
        self.repeats = 0
        at = self.entries[entry]
        while at >= 0:
            at = self.steps[at](session, board)
        return -1 if at == -1 else -2 - at

    def enter(self, entry: int) -> None:
        self.entries[entry] = len(self.steps)

    def stop(self, op: int) -> None:
        self.steps.append(lambda session, board: -2 - op)
        self.enter(op)

    def new_label(self) -> int:
        self.labels.append(-1)
        return len(self.labels) - 1

    def place(self, label: int) -> None:
        self.labels[label] = len(self.steps)

    def jump(self, label: int) -> None:
        self.steps.append(lambda session, board: self.labels[label])

    def repeat(self, label: int, span: Span) -> None:
        def back(session: int, board: int) -> int:
            self.repeats += 1
            if self.repeats <= MOST_REPEATS:
                return self.labels[label]
            self.compiler.note_failure(board, FailureKind.NO_PROGRESS, span, float(MOST_REPEATS))
            return -1

        self.steps.append(back)

    def unless(self, guard: m.Expression, stream: int, label: int) -> None:
        following = len(self.steps) + 1

        def test(session: int, board: int) -> int:
            value = self.compiler.value(guard, stream, session, board)
            if value == 1.0:
                return following
            if value == 0.0:
                return self.labels[label]
            self.compiler.note_failure(board, FailureKind.GUARD, guard.span, value)
            return -1

        self.steps.append(test)

    def assign(self, attribute: int, value: m.Expression, stream: int) -> None:
        self._do(lambda session, board: self._store(value, stream, session, board, session + 8 * attribute))

    def argument(self, value: m.Expression, stream: int) -> None:
        slot = 8 * HEADER_SLOTS["argument"]
        self._do(lambda session, board: self._store(value, stream, session, board, board + slot))

    def clear(self, first: int, n: int) -> None:
        self._do(lambda session, board: ctypes.memset(session + 8 * first, 0, 8 * n))

    def turn(self) -> None:
        def turn(session: int, board: int) -> None:
            store_float(session + 8 * TURN_NO, load_float(session + 8 * TURN_NO) + 1.0)
            _word(board, "turns").value += _word(board, "is_warm").value

        self._do(turn)

    def member(self, target: m.Target, first: int, n_members: int, stream: int) -> None:
        following = len(self.steps) + 1

        def find(session: int, board: int) -> int:
            index = 0.0
            if target.index is not None:
                index = self.compiler.value(target.index, stream, session, board)
            if not -1.0 < index < n_members:
                self.compiler.note_failure(board, FailureKind.INDEX, target.span, index)
                return -1
            _word(board, "member").value = first + int(index)
            return following

        self.steps.append(find)

    def observe(self, observation: int, value: m.Expression, stream: int) -> None:
        def observe(session: int, board: int) -> None:
            drawn = self.compiler.value(value, stream, session, board)
            if not _word(board, "is_warm").value:
                return
            row = view(_word(board, "observations").value + OBSERVATION.itemsize * observation, OBSERVATION)
            if row.n >= row.samples_room:
                room = max(LEAST_SAMPLES, 2 * int(row.samples_room))
                row.samples = enlarge(int(row.samples), room * SAMPLE.itemsize)
                row.samples_room = room
            sample = view(int(row.samples) + int(row.n) * SAMPLE.itemsize, SAMPLE)
            sample.value, sample.time = drawn, load_float(board + 8 * HEADER_SLOTS["now"])
            sample.session = int(load_float(session + 8 * SERIAL))
            sample.turn = int(load_float(session + 8 * TURN_NO))
            row.n += 1

        self._do(observe)

    def finish(self) -> None:
        """Nothing is left to do."""

    def _do(self, action: Callable[[int, int], object]) -> None:
        following = len(self.steps) + 1

        def step(session: int, board: int) -> int:
            action(session, board)
            return following

        self.steps.append(step)

    def _store(self, value: m.Expression, stream: int, session: int, board: int, address: int) -> None:
        store_float(address, self.compiler.value(value, stream, session, board))
