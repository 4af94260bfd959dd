"""How kernel code reaches the rows of tables, and calls what the lowering made.

All state of a run hangs off one `RUN` record, which holds the address and the room of every table. Kernel functions
take that one record: in native code it is a bare pointer, so a call copies nothing, and a table can grow in place in
the middle of an event. (Passing bundles of arrays instead costs seven words an array at each call, and an array cannot
be replaced from inside.) A row is a record too: ``session_at(run, s).entry``. It must be fetched again after anything
that may grow its table.

With ``SERQ_LAB_JIT=0`` in the environment the same functions run as plain Python on the same memory: for debugging and
coverage. `tables.py` and `state.py` say what the tables are.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from serq_lab.kernel.storage.memory import JIT, Row, inlined

LEAST_ROOM = 256  # rows of a table that has grown once

_ways = import_module("serq_lab.kernel.storage." + ("native" if JIT else "plain"))

call_expression: Callable[[int, int, int], float] = _ways.call_expression
call_statements: Callable[[int, int, int], int] = _ways.call_statements
reallocate: Callable[[int, int, int], int] = _ways.reallocate
load_float: Callable[[int], float] = _ways.load_float
store_float: Callable[[int, float], None] = _ways.store_float
rarely: Callable[[bool], bool] = _ways.rarely
"""The condition itself; native code keeps the way short on which it does not hold."""


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
    at: Callable[[Row, int], Row] = _ways.rows_of(owner, table, dtype, is_fixed)
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
