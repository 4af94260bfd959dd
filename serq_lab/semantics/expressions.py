"""Questions about resolved expressions: their value before the run, their parts, what they read.

In come expressions of the model; out go numbers and rows. Arithmetic is IEEE double throughout, as in a run:
no operands raise a Python exception. Read by every check of this layer; next on the way: `constants.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from math import inf, isnan, nan
from typing import Any

from serq_lab.semantics import model as m


def value(expression: m.Expression, lets: Sequence[float]) -> float:
    """The value of a constant expression, in IEEE arithmetic: no Python exception for any operands.

    Parameters
    ----------
    expression : Expression
        Reads lets and numbers only (`names.is_constant`).
    lets : sequence of float
        The lets' values, by row; those it reads must be there.

    Returns
    -------
    float
        x/0 is infinite, 0/0 NaN; `min` and `max` pass over a NaN; truth is non-zero, NaN included; `pow` is
        C's.
    """
    return _VALUE[type(expression)](expression, lets)


def divide(a: float, b: float) -> float:
    if b != 0.0:
        return a / b
    return nan if a == 0.0 or isnan(a) else math.copysign(inf, a) * math.copysign(1.0, b)


def power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        negative = base < 0 and exponent % 2 == 1
        return -inf if negative else inf
    except ValueError:  # a negative base with a fraction above, or zero to a negative power
        if base != 0.0:
            return nan
        return math.copysign(inf, base) if exponent % 2 == 1 else inf


def _exponential(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return inf


def _logarithm(x: float) -> float:
    if x > 0:
        return math.log(x)
    return -inf if x == 0 else nan


def _whole(round_to: Callable[[float], int]) -> Callable[[float], float]:
    def rounded(x: float) -> float:
        return math.copysign(float(round_to(x)), x) if math.isfinite(x) else x

    return rounded


def _least(a: float, b: float) -> float:
    return a if a < b or isnan(b) else b


def _greatest(a: float, b: float) -> float:
    return a if a > b or isnan(b) else b


_FUNCTIONS: dict[str, Callable[..., float]] = {
    "abs": abs,
    "floor": _whole(math.floor),
    "ceil": _whole(math.ceil),
    "sqrt": lambda x: math.sqrt(x) if x >= 0 else nan,
    "exp": _exponential,
    "ln": _logarithm,
    "pow": power,
}
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


def _chain(node: m.Chain, lets: Sequence[float]) -> float:
    total = value(node.operands[0], lets)
    for operator, operand in zip(node.operators, node.operands[1:], strict=True):
        x = value(operand, lets)
        if operator == "+":
            total += x
        elif operator == "-":
            total -= x
        elif operator == "*":
            total *= x
        else:
            total = divide(total, x)
    return total


def _logical(node: m.Logical, lets: Sequence[float]) -> float:
    decides = node.operator == "||"
    for operand in node.operands:
        if (value(operand, lets) != 0.0) == decides:
            return float(decides)
    return float(not decides)


def _conditional(node: m.Conditional, lets: Sequence[float]) -> float:
    return value(node.if_true if value(node.condition, lets) != 0.0 else node.if_false, lets)


def _function(node: m.Function, lets: Sequence[float]) -> float:
    arguments = [value(argument, lets) for argument in node.arguments]
    if node.name in ("min", "max"):
        pick = _least if node.name == "min" else _greatest
        result = arguments[0]
        for argument in arguments[1:]:
            result = pick(result, argument)
        return result
    return float(_FUNCTIONS[node.name](*arguments))


def _comparison(node: m.Comparison, lets: Sequence[float]) -> float:
    return float(_COMPARISONS[node.operator](value(node.left, lets), value(node.right, lets)))


_VALUE: dict[type, Callable[[Any, Sequence[float]], float]] = {
    m.Constant: lambda node, lets: float(node.value),
    m.LetValue: lambda node, lets: lets[node.let],
    m.Negation: lambda node, lets: -value(node.operand, lets),
    m.Not: lambda node, lets: float(value(node.operand, lets) == 0.0),
    m.Chain: _chain,
    m.Comparison: _comparison,
    m.Logical: _logical,
    m.Conditional: _conditional,
    m.Function: _function,
}


# ---------------------------------------------------------------------- parts


def parts(expression: m.Expression) -> tuple[m.Expression, ...]:
    """The expressions directly inside one, indices of arrays included."""
    return _PARTS[type(expression)](expression)


def _none(node: m.Expression) -> tuple[m.Expression, ...]:
    return ()


def _observable(node: m.Observable) -> tuple[m.Expression, ...]:
    index = node.target.index
    return node.arguments if index is None else (index, *node.arguments)


_PARTS: dict[type, Callable[[Any], tuple[m.Expression, ...]]] = {
    m.Constant: _none,
    m.LetValue: _none,
    m.Now: _none,
    m.Attribute: _none,
    m.Context: _none,
    m.Observable: _observable,
    m.Negation: lambda node: (node.operand,),
    m.Not: lambda node: (node.operand,),
    m.Chain: lambda node: node.operands,
    m.Comparison: lambda node: (node.left, node.right),
    m.Logical: lambda node: node.operands,
    m.Conditional: lambda node: (node.condition, node.if_true, node.if_false),
    m.Function: lambda node: node.arguments,
    m.Draw: lambda node: node.arguments,
}


def walk(expression: m.Expression) -> Iterator[m.Expression]:
    """An expression and all expressions inside it, from the left."""
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(parts(node)))


_LIVE = (m.Now, m.Attribute, m.Context, m.Observable, m.Draw)


def is_constant(expression: m.Expression) -> bool:
    """Whether the value is known before the run: numbers and lets only."""
    return not any(isinstance(node, _LIVE) for node in walk(expression))


def lets_read(expression: m.Expression) -> frozenset[int]:
    """The rows of the lets that an expression reads, directly."""
    return frozenset(node.let for node in walk(expression) if isinstance(node, m.LetValue))


def board_read(expression: m.Expression) -> m.Observable | None:
    """The first read of a state that changes in the run; `blocksize` is a constant."""
    for node in walk(expression):
        if isinstance(node, m.Observable) and node.name != "blocksize":
            return node
    return None
