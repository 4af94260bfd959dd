"""Tables in raw memory, and how kernel code reaches their rows.

All state of a run hangs off one `Run` record, which holds the address and the room of every table. Kernel functions
take that one record: in native code it is a bare pointer, so a call copies nothing, and a table can grow in place
in the middle of an event. (Passing bundles of arrays instead costs seven words an array at each call, and an array
cannot be replaced from inside.) A row is a record too: ``session_at(run, s).pc``.

A row must be fetched again after anything that may grow its table.

With ``SERQ_LAB_JIT=0`` in the environment the same functions run as plain Python on the same memory, with row
numbers checked: slow, for debugging and coverage. Used by `tables.py` and `state.py`, which say what the tables are.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import from_dtype, njit, types
from numba.extending import intrinsic

JIT = os.environ.get("SERQ_LAB_JIT", "1") != "0"

# Python's raw allocator: on every platform, and safe without the GIL.
_reallocate = ctypes.pythonapi.PyMem_RawRealloc
_reallocate.argtypes, _reallocate.restype = [ctypes.c_void_p, ctypes.c_size_t], ctypes.c_void_p
_free = ctypes.pythonapi.PyMem_RawFree
_free.argtypes, _free.restype = [ctypes.c_void_p], None
REALLOCATE_ADDRESS = ctypes.cast(_reallocate, ctypes.c_void_p).value or 0


def reallocate_in_python(address: int, n_bytes: int) -> int:
    """Memory of the raw allocator, enlarged; at address 0, new."""
    return int(_reallocate(address, n_bytes) or 0)


Row = Any  # a numba record in native code, an np.record in plain Python
RowAt = Callable[[Row, int], Row]

LEAST_ROOM = 256

PYTHON_EXPRESSIONS: dict[int, Callable[[int, int], float]] = {}  # stands for addresses in plain Python


class KernelFunction(NamedTuple):
    """A function of the kernel; `records` are the dtypes of its `Row` arguments that are not the RUN record."""

    dispatcher: Any
    records: dict[str, np.dtype[Any]] | None


KERNEL_FUNCTIONS: list[KernelFunction] = []


def kernel(function: Callable[..., Any], records: dict[str, np.dtype[Any]] | None = None) -> Callable[..., Any]:
    """Mark a function as kernel code: native unless ``SERQ_LAB_JIT=0``, its types those of its annotations."""
    return _registered(function, records, is_inlined=False)


def inlined(function: Callable[..., Any], records: dict[str, np.dtype[Any]] | None = None) -> Callable[..., Any]:
    """As `kernel`, and put into its callers: for what is small, or is called in one place on the way of an event."""
    return _registered(function, records, is_inlined=True)


def _registered(function: Callable[..., Any], records: Any, is_inlined: bool) -> Callable[..., Any]:
    if not JIT:
        return function
    jitted: Callable[..., Any] = njit(
        nogil=True,
        error_model="numpy",
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        forceinline=is_inlined,
    )(function)
    KERNEL_FUNCTIONS.append(KernelFunction(jitted, records))
    return jitted


def entry(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function as one that Python calls."""
    if not JIT:
        return function
    jitted: Callable[..., Any] = njit(nogil=True, error_model="numpy")(function)
    return jitted


def view(address: int, dtype: np.dtype[Any]) -> Row:
    """The record at an address, for plain Python; writes go to memory."""
    buffer = (ctypes.c_char * dtype.itemsize).from_address(int(address))
    return np.ndarray((), np.dtype((np.record, dtype)), buffer)[()]


def rows_of(run: np.dtype[Any], table: str, dtype: np.dtype[Any], *, is_fixed: bool = False) -> RowAt:
    """The function ``at(run, i)`` that gives row i of a table.

    Parameters
    ----------
    run : dtype
        The record that holds the table's address, as an int64 field named `table`.
    table : str
    dtype : dtype
        Of a row.
    is_fixed : bool
        The table never grows, so its address can be kept in a register.
    """
    if not JIT:

        def at_checked(owner: Row, i: int) -> Row:
            if not 0 <= i < owner[table + "_room"]:
                raise IndexError(f"row {i} of {table}, which has room for {owner[table + '_room']}")
            return view(int(owner[table]) + int(i) * dtype.itemsize, dtype)

        return at_checked
    from llvmlite import ir

    assert run.fields is not None
    offset = run.fields[table][1]
    record, size = from_dtype(dtype), dtype.itemsize

    @intrinsic
    def at(typing, owner, i):  # type: ignore[no-untyped-def]  # numba reads the annotations as types
        def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
            word = ir.IntType(64)
            base = builder.bitcast(args[0], ir.IntType(8).as_pointer())
            field = builder.bitcast(builder.gep(base, [word(offset)]), word.as_pointer())
            start = builder.load(field)
            if is_fixed:
                start.set_metadata("invariant.load", builder.module.add_metadata([]))
            address = builder.add(start, builder.mul(args[1], word(size)))
            return builder.inttoptr(address, context.get_value_type(record))

        return record(owner, types.int64), generate

    return at  # type: ignore[no-any-return]


if JIT:

    @intrinsic
    def call_expression(typing, function, session, board):  # type: ignore[no-untyped-def]
        """Call ``double f(double *session, double *board)``, all three given by address."""

        def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
            from llvmlite import ir

            pointer = ir.DoubleType().as_pointer()
            kind = ir.FunctionType(ir.DoubleType(), [pointer, pointer]).as_pointer()
            values = [builder.inttoptr(a, pointer) for a in args[1:]]
            return builder.call(builder.inttoptr(args[0], kind), values)

        return types.float64(types.int64, types.int64, types.int64), generate

    @intrinsic
    def call_statements(typing, function, session, board):  # type: ignore[no-untyped-def]
        """Call ``int64 go(double *session, double *board)``, all three given by address."""

        def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
            from llvmlite import ir

            pointer, word = ir.DoubleType().as_pointer(), ir.IntType(64)
            kind = ir.FunctionType(word, [pointer, pointer]).as_pointer()
            values = [builder.inttoptr(a, pointer) for a in args[1:]]
            return builder.call(builder.inttoptr(args[0], kind), values)

        return types.int64(types.int64, types.int64, types.int64), generate

    @intrinsic
    def clear(typing, address, n_bytes):  # type: ignore[no-untyped-def]
        """Set memory to zero."""

        def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
            from llvmlite import ir

            byte = ir.IntType(8)
            start = builder.inttoptr(args[0], byte.as_pointer())
            kind = ir.FunctionType(ir.VoidType(), [byte.as_pointer(), byte, ir.IntType(64), ir.IntType(1)])
            name = "llvm.memset.p0.i64"
            function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
            builder.call(function, [start, byte(0), args[1], ir.IntType(1)(0)])
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    @intrinsic
    def reallocate(typing, function, address, n_bytes):  # type: ignore[no-untyped-def]
        """Call ``void *f(void *, size_t)``, given by address."""

        def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
            from llvmlite import ir

            word = ir.IntType(64)
            kind = ir.FunctionType(word, [word, word]).as_pointer()
            return builder.call(builder.inttoptr(args[0], kind), args[1:])

        return types.int64(types.int64, types.int64, types.int64), generate

    @intrinsic
    def load_float(typing, address):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
            from llvmlite import ir

            return builder.load(builder.inttoptr(args[0], ir.DoubleType().as_pointer()))

        return types.float64(types.int64), generate

    @intrinsic
    def store_float(typing, address, value):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
            from llvmlite import ir

            builder.store(args[1], builder.inttoptr(args[0], ir.DoubleType().as_pointer()))
            return context.get_dummy_value()

        return types.void(types.int64, types.float64), generate

else:

    def call_expression(function: int, session: int, board: int) -> float:
        return PYTHON_EXPRESSIONS[int(function)](int(session), int(board))

    def call_statements(function: int, session: int, board: int) -> int:
        return int(PYTHON_EXPRESSIONS[int(function)](int(session), int(board)))

    def clear(address: int, n_bytes: int) -> None:
        ctypes.memset(int(address), 0, int(n_bytes))

    def reallocate(function: int, address: int, n_bytes: int) -> int:
        return reallocate_in_python(int(address), int(n_bytes))

    def load_float(address: int) -> float:
        return ctypes.c_double.from_address(int(address)).value

    def store_float(address: int, value: float) -> None:
        ctypes.c_double.from_address(int(address)).value = value


def growth_of(owner_dtype: np.dtype[Any], table: str, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """The function ``ensure(owner, run, n)`` that gives a table room for n rows; arguments as of `rows_of`."""
    room, size = table + "_room", dtype.itemsize

    def ensure(owner: Row, run: Row, n: int) -> None:
        if n > owner[room]:
            wanted = max(LEAST_ROOM, n, owner[room] * 2)
            owner[table] = reallocate(run.reallocate, owner[table], wanted * size)
            owner[room] = wanted

    return inlined(ensure, {"owner": owner_dtype})


class RawBlock:
    """Memory of the raw allocator as an array's base; freed with the last array on it."""

    def __init__(self, address: int, n_rows: int, dtype: np.dtype[Any]) -> None:
        # Give back what a growing table had in advance.
        self.address = int(_reallocate(address, max(1, n_rows * dtype.itemsize)))
        self.__array_interface__ = {
            "version": 3, "shape": (n_rows,), "typestr": f"|V{dtype.itemsize}", "descr": dtype.descr,
            "data": (self.address, False),
        }  # fmt: skip

        weakref.finalize(self, _free, self.address).atexit = False  # arrays on it may outlive this module


def free(address: int) -> None:
    """Give memory back to the raw allocator."""
    _free(address)
