"""ln(x) for 0 < x <= 1, the same bits on every machine, for numpy arrays and for LLVM vectors.

Exponential draws take the logarithm of every uniform, so a library's logarithm, whose last bit differs between
platforms, would make runs differ too. Here only additions, multiplications and divisions are used, in a stated order,
never fused. One algorithm serves both: `Operations` names what it needs.

x = 2^e m with m in [sqrt(1/2), sqrt(2)); s = (m - 1) / (m + 1) in two parts; ln m = 2 (s + s^3/3 + s^5/5 + ...).
Sources: the series, Abramowitz and Stegun 4.1.27; splitting and exact products, T. J. Dekker, "A floating-point
technique for extending the available precision", Numer. Math. 18 (1971). About one value in 300 is not the nearest
double; the error stays below 0.54 units in the last place.
Used by `streams.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from llvmlite import ir

N_TERMS = 11  # (0.1716^2)^11 / 23 is below 2^-60
SPLITTER = 134217729.0  # 2^27 + 1
# ln 2 in two parts, the first with so few bits that its multiples by whole numbers up to 64 are exact
LN2_HIGH = float.fromhex("0x1.62e42fefa3800p-1")
LN2_LOW = float.fromhex("0x1.ef35793c76730p-45")
SQRT_HALF_BITS = 0x3FE6A09E667F3BCD


class Operations(Protocol):
    """What the algorithm asks of its numbers; `x` and the results are arrays or vectors of doubles."""

    number: Callable[[float], Any]
    add: Callable[[Any, Any], Any]
    sub: Callable[[Any, Any], Any]
    mul: Callable[[Any, Any], Any]
    div: Callable[[Any, Any], Any]

    def exact_product(self, a: Any, b: Any) -> tuple[Any, Any]:
        """a b rounded, and what the rounding took."""
        ...

    def split_exponent(self, x: Any) -> tuple[Any, Any]:
        """e, as doubles, and m."""
        ...


def logarithm(o: Operations, x: Any) -> Any:
    """ln(x), elementwise, for 2^-53 <= x <= 1."""
    e, m = o.split_exponent(x)
    one = o.number(1.0)
    top, bottom = o.sub(m, one), o.add(m, one)
    bottom_rest = o.sub(m, o.sub(bottom, one))  # what rounding took from m + 1
    inverse = o.div(one, bottom)
    s = o.mul(top, inverse)
    product, error = o.exact_product(s, bottom)
    remainder = o.sub(o.sub(o.sub(top, product), error), o.mul(s, bottom_rest))
    s_rest = o.mul(remainder, inverse)
    square = o.mul(s, s)
    series = o.number(2.0 / (2 * N_TERMS + 1))
    for k in range(N_TERMS - 1, 0, -1):
        series = o.add(o.mul(series, square), o.number(2.0 / (2 * k + 1)))
    tail = o.add(o.mul(o.mul(s, square), series), o.mul(o.number(2.0), s_rest))
    big, small = o.mul(e, o.number(LN2_HIGH)), o.mul(o.number(2.0), s)
    total = o.add(big, small)
    rest = o.sub(small, o.sub(total, big))  # exact: where e is not 0, big is the larger
    return o.add(total, o.add(rest, o.add(tail, o.mul(e, o.number(LN2_LOW)))))


def dekker_product(o: Operations, a: Any, b: Any) -> tuple[Any, Any]:
    """`Operations.exact_product` by the operations that every processor has (Dekker)."""
    product = o.mul(a, b)
    a_high, a_low = _split(o, a)
    b_high, b_low = _split(o, b)
    error = o.sub(o.mul(a_high, b_high), product)
    error = o.add(o.add(error, o.mul(a_high, b_low)), o.mul(a_low, b_high))
    return product, o.add(error, o.mul(a_low, b_low))


def _split(o: Operations, a: Any) -> tuple[Any, Any]:
    """a as the sum of two numbers of 26 bits (Dekker)."""
    scaled = o.mul(a, o.number(SPLITTER))
    high = o.sub(scaled, o.sub(scaled, a))
    return high, o.sub(a, high)


class ArrayOperations:
    """The operations on numpy arrays."""

    def __init__(self) -> None:
        self.number: Callable[[float], Any] = np.float64
        self.add: Callable[[Any, Any], Any] = np.add
        self.sub: Callable[[Any, Any], Any] = np.subtract
        self.mul: Callable[[Any, Any], Any] = np.multiply
        self.div: Callable[[Any, Any], Any] = np.divide

    def exact_product(self, a: Any, b: Any) -> tuple[Any, Any]:
        """a b rounded, and what the rounding took."""
        return dekker_product(self, a, b)

    def split_exponent(self, x: Any) -> tuple[Any, Any]:
        """e, as doubles, and m."""
        bits = np.asarray(x, dtype=np.float64).view(np.int64)
        e = (bits - SQRT_HALF_BITS) >> 52
        return e.astype(np.float64), (bits - (e << 52)).view(np.float64)


class VectorOperations:
    """The operations on LLVM vectors: they write code.

    Parameters
    ----------
    b : llvmlite.ir.IRBuilder
    lanes : int
    has_fma : bool
        The processor multiplies and adds with one rounding.
    """

    def __init__(self, b: ir.IRBuilder, lanes: int, has_fma: bool) -> None:
        self.b, self.lanes, self.has_fma = b, lanes, has_fma
        self.real, self.word = ir.VectorType(ir.DoubleType(), lanes), ir.VectorType(ir.IntType(64), lanes)
        self.add: Callable[[Any, Any], Any] = b.fadd
        self.sub: Callable[[Any, Any], Any] = b.fsub
        self.mul: Callable[[Any, Any], Any] = b.fmul
        self.div: Callable[[Any, Any], Any] = b.fdiv
        self.number: Callable[[float], Any] = lambda value: ir.Constant(self.real, [value] * lanes)

    def exact_product(self, a: ir.Value, b: ir.Value) -> tuple[ir.Value, ir.Value]:
        """a b rounded, and what the rounding took: both ways to it are exact, so they give the same."""
        if not self.has_fma:
            return dekker_product(self, a, b)
        product = self.b.fmul(a, b)
        kind = ir.FunctionType(self.real, [self.real] * 3)
        fma = self.b.module.declare_intrinsic(f"llvm.fma.v{self.lanes}f64", (), kind)
        return product, self.b.call(fma, [a, b, self.b.fneg(product)])

    def split_exponent(self, x: ir.Value) -> tuple[ir.Value, ir.Value]:
        """e, as doubles, and m."""
        b, shift = self.b, ir.Constant(self.word, [52] * self.lanes)
        bits = b.bitcast(x, self.word)
        e = b.ashr(b.sub(bits, ir.Constant(self.word, [SQRT_HALF_BITS] * self.lanes)), shift)
        return b.sitofp(e, self.real), b.bitcast(b.sub(bits, b.shl(e, shift)), self.real)
