"""How kernel code reaches the rows of tables, and calls what the lowering made.

All state of a run hangs off one `RUN` record, which holds the address and the room of every table. Kernel functions
take that one record: in native code it is a bare pointer, so a call copies nothing, and a table can grow in place in
the middle of an event. (Passing bundles of arrays instead costs seven words an array at each call, and an array cannot
be replaced from inside.) A row is a record too: ``session_at(run, s).entry``. It must be fetched again after anything
that may grow its table.

What stands here is plain Python, as in all kernel files; `compilation.py` puts the instructions of `native.py` in its
place. With ``SERQ_LAB_JIT=0`` in the environment the Python runs itself, on the same memory: for debugging and
coverage. `tables.py` and `state.py` say what the tables are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from serq_lab.kernel.storage import plain
from serq_lab.kernel.storage.memory import Row, inlined
from serq_lab.kernel.storage.plain import (
    FRONT_ROOM,
    bits_of,
    call_expression,
    call_statements,
    insert_in_order,
    is_before,
    load_float,
    rarely,
    reallocate,
    store_float,
)

__all__ = [
    "FRONT_ROOM", "ROW_ACCESSES", "RowAccess", "bits_of", "call_expression", "call_statements", "growth_of",
    "insert_in_order", "is_before", "load_float", "rarely", "reallocate", "rows_of", "store_float",
]  # fmt: skip

LEAST_ROOM = 256  # rows of a table that has grown once


class RowAccess(NamedTuple):
    """A function that `rows_of` made, and what it was made of."""

    function: Callable[[Row, int], Row]
    owner: np.dtype[Any]
    table: str
    dtype: np.dtype[Any]
    is_fixed: bool


ROW_ACCESSES: list[RowAccess] = []


def rows_of(
    owner: np.dtype[Any], table: str, dtype: np.dtype[Any], *, is_fixed: bool = False
) -> Callable[[Row, int], Row]:
    """The function ``at(record, i)`` that gives row i of a table.

    Parameters
    ----------
    owner : dtype
        Of the record that holds the table's address, as an int64 field named `table`, and its room.
    table : str
    dtype : dtype
        Of a row.
    is_fixed : bool
        The table never grows, so its address can be kept in a register.
    """
    at: Callable[[Row, int], Row] = plain.rows_of(table, dtype)
    ROW_ACCESSES.append(RowAccess(at, owner, table, dtype, is_fixed))
    return at


def growth_of(owner_dtype: np.dtype[Any], table: str, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """The function ``ensure(owner, run, n)`` that gives a table room for n rows; arguments as of `rows_of`."""
    room, size = table + "_room", dtype.itemsize

    def ensure(owner: Row, run: Row, n: int) -> None:
        if rarely(n > owner[room]):
            wanted = max(LEAST_ROOM, n, owner[room] * 2)
            owner[table] = reallocate(run.reallocate, owner[table], wanted * size)
            owner[room] = wanted

    return inlined(ensure, {"owner": owner_dtype})
