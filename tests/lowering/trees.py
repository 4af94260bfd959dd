"""Random resolved expressions over one small model, and memory in which they can be evaluated."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

import serq_lab
from serq_lab.kernel.draws import streams
from serq_lab.lowering.board import STAGE_STRIDE, BoardLayout
from serq_lab.semantics import model as m
from serq_lab.source import SourceText, Span

MODEL = serq_lab.compile("""
  let A = 1; let B = 2; let C = 3; let D = 4;
  pool p { cap 9; block 2; } pool many[3] { cap 9; }
  stage s : fifo; stage several[4] : delay;
  workload { arrive batch(1); init { set a = 1; set b = 2; set c = 3; set d = 4; } }
  session { hold p (1), many[0] (1) { run s (a + b); run several[0] (c + d); } }
  run { horizon A + B + C + D; }
""").model
LAYOUT = BoardLayout(MODEL)
N_POOLS, N_STAGES = 2, 2  # families
MEMBERS = {(True, 0): 1, (True, 1): 3, (False, 0): 1, (False, 1): 4}  # of (is a pool, family)

NUMBERS = (0.0, -0.0, 1.0, 2.0, 3.5, -1.0, 0.5, -2.5, 1e-300, 1e300, -1e300, 7.0, math.inf, -math.inf, math.nan)
CONTEXTS = ("size", "age", "last", "waiting", "present", "residents", "decoders", "kv_decode", "kv_prefill", "tokens",
            "prefilled", "attention", "decoding", "admission", "remaining")  # fmt: skip
OF_POOLS = ("used", "free", "cachedin", "holders", "queued", "blocksize")
OF_STAGES = ("queue", "busy", "work", "est_lambda", "est_rho", "est_wait", "budget_left", "price")

TEXT = SourceText("x" * 150)
numbers = st.sampled_from(NUMBERS) | st.floats(-10, 10)
spans = st.integers(0, 90).map(lambda k: Span(TEXT, k, k + 1))


def node(kind: Callable[..., Any], *fields: SearchStrategy[Any]) -> SearchStrategy[Any]:
    return st.builds(kind, spans, *fields)


def row(n: int) -> SearchStrategy[int]:
    return st.integers(0, n - 1)


some_attribute = node(m.Attribute, row(LAYOUT.n_attributes))
some_let = node(m.LetValue, row(len(MODEL.lets)))
leaves = (
    node(m.Constant, numbers) | some_let | node(m.Now) | some_attribute | node(m.Context, st.sampled_from(CONTEXTS))
)


def is_no_constant(tree: m.Expression) -> bool:
    return not isinstance(tree, m.Constant)


def targets(is_pool: bool, index: SearchStrategy[Any]) -> SearchStrategy[m.Target]:
    """A single family by its name; an array by an index, which may turn out to be out of range if it is no constant."""
    unknown = node(m.LetValue, row(4)) | index.filter(is_no_constant)

    def of(family: int) -> SearchStrategy[m.Target]:
        n = MEMBERS[is_pool, family]
        if n == 1:
            return node(m.Target, st.just(family), st.none())
        constant = node(m.Constant, st.integers(0, n - 1).map(float))
        return node(m.Target, st.just(family), constant | unknown)

    return row(N_POOLS if is_pool else N_STAGES).flatmap(of)


def draws(parameter: SearchStrategy[Any]) -> SearchStrategy[m.Draw]:
    """Constants among the parameters make sense, as the checker sees to; the others may not."""
    unknown = parameter.filter(is_no_constant)
    mean = node(m.Constant, st.floats(0, 5)) | unknown
    chance = node(m.Constant, st.floats(0, 1)) | unknown
    phases = node(m.Constant, st.floats(0, 6)) | some_attribute | some_let

    def draw(name: str, *arguments: SearchStrategy[Any]) -> SearchStrategy[m.Draw]:
        return node(m.Draw, st.just(name), st.tuples(*arguments))

    return st.one_of(
        draw("exp", mean), draw("uniform", mean, mean), draw("bernoulli", chance), draw("det", mean),
        draw("erlang", phases, mean), draw("h2", mean, mean),
    )  # fmt: skip


def larger(part: SearchStrategy[Any]) -> SearchStrategy[Any]:
    several = st.lists(part, min_size=2, max_size=4).map(tuple)

    def chain(operators: str) -> SearchStrategy[Any]:
        return several.flatmap(
            lambda parts: node(m.Chain, st.just(parts), st.tuples(*[st.sampled_from(operators)] * (len(parts) - 1)))
        )

    return st.one_of(
        node(m.Negation, part), node(m.Not, part), chain("+-"), chain("*/"),
        node(m.Comparison, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), part, part),
        node(m.Logical, st.sampled_from(["&&", "||"]), several), node(m.Conditional, part, part, part),
        node(m.Function, st.sampled_from(["min", "max"]), several),
        node(m.Function, st.sampled_from(["abs", "floor", "ceil", "sqrt", "exp", "ln"]), st.tuples(part)),
        node(m.Function, st.just("pow"), st.tuples(part, part)),
        node(m.Observable, st.sampled_from(OF_POOLS), targets(True, part)),
        node(m.Observable, st.sampled_from(OF_STAGES[:-1]), targets(False, part)),
        node(m.Observable, st.just("price"), targets(False, part), st.tuples(part, part)),
        draws(part),
    )  # fmt: skip


expressions = st.recursive(leaves, larger, max_leaves=12)
values = st.lists(numbers, min_size=LAYOUT.n_slots + LAYOUT.vector_length).map(tuple)


class Memory:
    """A board, a session's vector and random streams: what a function gets, and what it may change."""

    def __init__(self, values: Sequence[float], seed: int) -> None:
        self.board = np.resize(np.array(values, dtype=np.float64), LAYOUT.n_slots)
        self.session = np.resize(np.array(values[::-1], dtype=np.float64), LAYOUT.vector_length)
        rhos = LAYOUT.stage(0, "est_rho") + STAGE_STRIDE * np.arange(LAYOUT.n_stages)
        self.board[rhos] = np.fmin(self.board[rhos], 0.99)  # as the kernel sees to
        self.streams = streams.new_streams(seed)
        words = self.board.view(np.int64)
        words[LAYOUT.header("streams")], words[LAYOUT.header("refill")] = (
            self.streams.ctypes.data,
            streams.refill_address(),
        )
        words[LAYOUT.header("failure")] = 0

    @property
    def addresses(self) -> tuple[int, int]:
        return self.session.ctypes.data, self.board.ctypes.data

    @property
    def failure(self) -> tuple[int, int, bytes] | None:
        """Kind, span and value of the failure noted, or None."""
        words = self.board.view(np.int64)
        kind = int(words[LAYOUT.header("failure")])
        value = self.board[LAYOUT.header("failure_value")]
        return (kind, int(words[LAYOUT.header("failure_span")]), bits(value)) if kind else None

    @property
    def drawn(self) -> list[tuple[int, int]]:
        """How far each stream has got."""
        return [(int(stream[0]), int(stream[streams.COUNTER_AT])) for stream in self.streams]


def bits(value: float) -> bytes:
    """The bits of a number; all NaN are one."""
    return b"NaN" if math.isnan(value) else np.float64(value).tobytes()


def span_number(span: Span) -> int:
    return span.start
