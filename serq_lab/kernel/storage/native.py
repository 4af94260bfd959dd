"""Reaching memory from native code: what numba has no words for, as LLVM instructions.

Addresses are int64. `plain.py` has the same in Python, and `compilation.py` puts one in the place of the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import from_dtype, types
from numba.extending import intrinsic

from serq_lab.kernel.draws.streams import spread
from serq_lab.kernel.storage import plain
from serq_lab.kernel.storage.access import FRONT_ROOM, ROW_ACCESSES, RowAccess

_BIT, _BYTE, _WORD, _WIDE, _REAL = ir.IntType(1), ir.IntType(8), ir.IntType(64), ir.IntType(128), ir.DoubleType()
_REALS = _REAL.as_pointer()
_EXPRESSION = ir.FunctionType(_REAL, [_REALS, _REALS]).as_pointer()
_STATEMENTS = ir.FunctionType(_WORD, [_WORD, _REALS, _REALS]).as_pointer()
_REALLOCATE = ir.FunctionType(_WORD, [_WORD, _WORD]).as_pointer()

Generate = Callable[[Any, Any, Any, Any], Any]


def _instruction(result: Any, arguments: list[Any], generate: Generate) -> Any:
    """An instruction of fixed types, callable from kernel code."""

    def typed(typing: Any, *given: Any) -> Any:
        return result(*arguments), generate

    return _with_arity(typed, len(arguments))


def _with_arity(typed: Callable[..., Any], n: int) -> Any:
    # numba wants the parameters spelled out
    if n == 1:
        return intrinsic(lambda typing, a: typed(typing, a))
    if n == 2:
        return intrinsic(lambda typing, a, b: typed(typing, a, b))
    if n == 3:
        return intrinsic(lambda typing, a, b, c: typed(typing, a, b, c))
    if n == 4:
        return intrinsic(lambda typing, a, b, c, d: typed(typing, a, b, c, d))
    return intrinsic(lambda typing, a, b, c, d, e: typed(typing, a, b, c, d, e))


def _declared(builder: Any, name: str, kind: ir.FunctionType) -> Any:
    return builder.module.globals.get(name) or ir.Function(builder.module, kind, name)


def _call(kind: Any) -> Generate:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointers = [builder.inttoptr(a, _REALS) for a in args[-2:]]
        return builder.call(builder.inttoptr(args[0], kind), [*args[1:-2], *pointers])

    return generate


def _reallocate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.call(builder.inttoptr(args[0], _REALLOCATE), args[1:])


def _load(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.load(builder.inttoptr(args[0], _REALS))


def _store(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    builder.store(args[1], builder.inttoptr(args[0], _REALS))
    return context.get_dummy_value()


def _bits(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.bitcast(args[0], _WORD)


def _is_before(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    def joined(high: Any, low: Any) -> Any:
        return builder.or_(builder.shl(builder.sext(high, _WIDE), _WIDE(64)), builder.zext(low, _WIDE))

    return builder.icmp_signed("<", joined(*args[:2]), joined(*args[2:]))


_LANES = FRONT_ROOM // 2
_VECTOR = ir.VectorType(_WORD, _LANES)


def _insert_in_order(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """In vectors: what is due later stays, the others move one place on. Half a front is enough for few."""
    b = builder
    front, n, *values = args
    columns = [b.inttoptr(b.add(front, _WORD(8 * FRONT_ROOM * k)), _VECTOR.as_pointer()) for k in range(3)]
    fresh = [spread(b, value, _LANES) for value in values]
    with b.if_then(b.icmp_signed(">=", n, _WORD(_LANES - 1))):
        _insert_in_half(b, columns, fresh, 1)
    _insert_in_half(b, columns, fresh, 0)
    return context.get_dummy_value()


def _insert_in_half(b: Any, columns: list[Any], fresh: list[Any], half: int) -> None:
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [2 * _LANES - 1, *range(_LANES - 1)])
    places = [b.gep(column, [_WORD(half)]) for column in columns]
    here = [b.load(place, align=64) for place in places]
    before = [b.load(column, align=64) for column in columns] if half else here  # in the first half that stays anyway
    moved = [b.shuffle_vector(own, other, lanes) for own, other in zip(here, before, strict=True)]
    stays, follows = b.icmp_signed(">", here[0], fresh[0]), b.icmp_signed(">", moved[0], fresh[0])
    for k, place in enumerate(places):
        b.store(b.select(stays, here[k], b.select(follows, fresh[k], moved[k])), place, align=64)


def _rarely(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind = ir.FunctionType(_BIT, [_BIT, _BIT])
    return builder.call(_declared(builder, "llvm.expect.i1", kind), [args[0], _BIT(0)])


def native_forms() -> dict[Callable[..., Any], Any]:
    """What stands in native code for each function of `plain.py` and `access.rows_of` that the kernel calls."""
    address, addresses = types.int64, [types.int64] * 3
    forms: dict[Callable[..., Any], Any] = {
        plain.call_expression: _instruction(types.float64, addresses, _call(_EXPRESSION)),
        plain.call_statements: _instruction(types.int64, [address] * 4, _call(_STATEMENTS)),
        plain.reallocate: _instruction(types.int64, addresses, _reallocate),
        plain.load_float: _instruction(types.float64, [address], _load),
        plain.store_float: _instruction(types.void, [address, types.float64], _store),
        plain.bits_of: _instruction(types.int64, [types.float64], _bits),
        plain.is_before: _instruction(types.boolean, [address] * 4, _is_before),
        plain.insert_in_order: _instruction(types.void, [address] * 5, _insert_in_order),
        plain.rarely: _instruction(types.boolean, [types.boolean], _rarely),
    }
    return forms | {access.function: _row(access) for access in ROW_ACCESSES}


def _row(access: RowAccess) -> Any:
    """A row as a bare pointer."""
    assert access.owner.fields is not None
    offset = access.owner.fields[access.table][1]
    record, size = from_dtype(access.dtype), access.dtype.itemsize

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        base = builder.bitcast(args[0], _BYTE.as_pointer())
        start = builder.load(builder.bitcast(builder.gep(base, [_WORD(offset)]), _WORD.as_pointer()))
        if access.is_fixed:
            start.set_metadata("invariant.load", builder.module.add_metadata([]))
        address = builder.add(start, builder.mul(args[1], _WORD(size)))
        return builder.inttoptr(address, context.get_value_type(record))

    return _instruction(record, [from_dtype(access.owner), types.int64], generate)
