"""Native expressions against their plain Python: every construct, bit for bit, failures and draws included."""

from __future__ import annotations

import ctypes
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serq_lab.kernel.draws import streams
from serq_lab.kernel.records import FailureKind
from serq_lab.kernel.storage import plain
from serq_lab.lowering import closures
from serq_lab.lowering.closures import ClosureCompiler
from serq_lab.lowering.expressions import ExpressionCompiler
from serq_lab.semantics import model as m
from serq_lab.source import Span
from tests.lowering.trees import LAYOUT, TEXT, Memory, bits, draws, expressions, leaves, numbers, span_number

NATIVE = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p)
HERE = Span(TEXT, 7, 9)


@pytest.fixture(autouse=True)
def _plain_access(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closures reach memory from Python here, although the kernel is native."""
    monkeypatch.setattr(closures, "load_float", plain.load_float)
    monkeypatch.setattr(closures, "store_float", plain.store_float)


def natively(tree: m.Expression, stream: int, memory: Memory, n: int = 1) -> list[float]:
    compiler = ExpressionCompiler(LAYOUT, span_number)
    number = compiler.add_value(tree, stream)
    function = NATIVE(int(compiler.compile()[number]))
    return [function(*memory.addresses) for _ in range(n)]


def in_python(tree: m.Expression, stream: int, memory: Memory, n: int = 1) -> list[float]:
    compiler = ClosureCompiler(LAYOUT, span_number)
    return [compiler.value(tree, stream, *memory.addresses) for _ in range(n)]


def same(tree: m.Expression, values: list[float], seed: int = 1, stream: int = streams.SESSION, n: int = 1) -> Memory:
    """Evaluate both ways, n times, and compare all that is to be seen; gives the memory that one has left."""
    native, python = Memory(values, seed), Memory(values, seed)
    before = native.session.tobytes()
    got, expected = natively(tree, stream, native, n), in_python(tree, stream, python, n)
    assert [bits(value) for value in got] == [bits(value) for value in expected]
    assert native.failure == python.failure
    assert native.drawn == python.drawn
    assert native.session.tobytes() == python.session.tobytes() == before
    return native


values = st.lists(numbers, min_size=10, max_size=40)


@settings(max_examples=200, deadline=None)
@given(expressions, values, st.integers(0, 2**64 - 1), st.integers(0, 3))
def test_any_expression(tree: m.Expression, values: list[float], seed: int, stream: int) -> None:
    same(tree, values, seed, stream)


@settings(max_examples=60, deadline=None)
@given(draws(leaves), values, st.integers(0, 2**64 - 1))
def test_draws_beyond_a_refill(tree: m.Draw, values: list[float], seed: int) -> None:
    memory = same(tree, values, seed, n=150)
    others = [drawn for k, drawn in enumerate(memory.drawn) if k != streams.SESSION]
    assert others == [(streams.N_UNIFORMS, 0)] * 3


def attribute(k: int) -> m.Attribute:
    return m.Attribute(Span(TEXT, 100 + k, 101 + k), k)


def draw(name: str, *arguments: m.Expression) -> m.Draw:
    return m.Draw(HERE, name, arguments)


BAD_PARAMETERS = [
    ("exp", (-1.0,), 0), ("exp", (math.nan,), 0), ("det", (math.nan,), 0), ("uniform", (math.nan, 1.0), 0),
    ("uniform", (0.0, math.inf), 1), ("bernoulli", (-0.1,), 0), ("bernoulli", (1.5,), 0), ("bernoulli", (math.nan,), 0),
    ("erlang", (2.0, -1.0), 1), ("erlang", (math.nan, 1.0), 0), ("erlang", (1e7, 1.0), 0), ("h2", (-2.0, 1.0), 0),
    ("h2", (1.0, math.nan), 1), ("h2", (1.0, math.inf), 1),
]  # fmt: skip


@pytest.mark.parametrize(("name", "parameters", "wrong"), BAD_PARAMETERS)
def test_a_parameter_that_makes_no_sense_is_noted_at_its_place(
    name: str, parameters: tuple[float, ...], wrong: int
) -> None:
    tree = draw(name, *(attribute(k) for k in range(len(parameters))))
    memory = same(tree, [0.0] * 40 + list(parameters[::-1]))
    assert memory.failure == (FailureKind.PARAMETER, 100 + wrong, bits(parameters[wrong]))


GOOD_PARAMETERS = [
    ("exp", (0.0,)), ("exp", (math.inf,)), ("det", (-5.0,)), ("uniform", (3.0, 1.0)), ("bernoulli", (0.0,)),
    ("bernoulli", (1.0,)), ("erlang", (0.2, 1.0)), ("erlang", (-3.0, 0.0)), ("h2", (1.0, 0.1)), ("h2", (0.0, 9.0)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "parameters"), GOOD_PARAMETERS)
def test_parameters_at_the_edge_are_fine(name: str, parameters: tuple[float, ...]) -> None:
    memory = same(draw(name, *(attribute(k) for k in range(len(parameters)))), [0.0] * 40 + list(parameters[::-1]))
    assert memory.failure is None


@pytest.mark.parametrize("index", [-1.0, 3.0, 1e300, math.nan, math.inf, -math.inf])
def test_an_index_out_of_range_is_noted_at_its_place(index: float) -> None:
    tree = m.Observable(HERE, "used", m.Target(Span(TEXT, 55, 60), 1, attribute(0)))
    assert same(tree, [0.0] * 40 + [index]).failure == (FailureKind.INDEX, 55, bits(index))


@pytest.mark.parametrize("index", [-0.9, 0.0, 2.0, 2.999])
def test_an_index_is_truncated(index: float) -> None:
    tree = m.Observable(HERE, "used", m.Target(Span(TEXT, 55, 60), 1, attribute(0)))
    assert same(tree, [0.0] * 40 + [index]).failure is None


def test_the_first_reason_counts() -> None:
    wrong = draw("exp", attribute(0)), draw("exp", attribute(1))
    memory = same(m.Chain(HERE, wrong, ("+",)), [0.0] * 40 + [-2.0, -1.0])
    assert memory.failure == (FailureKind.PARAMETER, 100, bits(-1.0))


def test_what_is_skipped_draws_nothing() -> None:
    zero, one, uniform = m.Constant(HERE, 0.0), m.Constant(HERE, 1.0), draw("bernoulli", m.Constant(HERE, 0.5))
    for tree, n_drawn in (
        (m.Logical(HERE, "&&", (zero, uniform)), 0),
        (m.Logical(HERE, "||", (one, uniform)), 0),
        (m.Logical(HERE, "||", (zero, uniform)), 1),
        (m.Conditional(HERE, one, zero, uniform), 0),
        (m.Conditional(HERE, uniform, uniform, uniform), 2),
        (draw("det", one), 0),
        (draw("erlang", m.Constant(HERE, 3.0), one), 3),
        (draw("h2", one, one), 2),
    ):
        at, counter = same(tree, [0.0] * 40).drawn[streams.SESSION]
        assert (at if counter else 0) == n_drawn


def test_many_functions_are_compiled_together() -> None:
    compiler = ExpressionCompiler(LAYOUT, span_number)
    numbers = [compiler.add_value(m.Constant(HERE, float(k)), streams.SESSION) for k in range(200)]
    addresses = compiler.compile()
    memory = Memory([0.0], 1)
    assert [NATIVE(int(addresses[number]))(*memory.addresses) for number in numbers] == list(range(200))
