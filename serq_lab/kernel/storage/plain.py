"""Reaching memory from plain Python: slow, and every row number is checked.

`access.py` gives it to the kernel's files; `native.py` has the same for native code.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from serq_lab.kernel.storage.memory import enlarge

FUNCTIONS: dict[int, Callable[..., float]] = {}
"""What stands for the addresses of native functions."""


def view(address: int, dtype: np.dtype[Any]) -> Any:
    """The record at an address; writes go to memory."""
    buffer: Any = (ctypes.c_char * dtype.itemsize).from_address(int(address))
    return np.ndarray((), np.dtype((np.record, dtype)), buffer)[()]


def rows_of(table: str, dtype: np.dtype[Any]) -> Any:
    """As `access.rows_of`: a row is a record on the same memory."""

    def at(record: Any, i: int) -> Any:
        if not 0 <= i < record[table + "_room"]:
            raise IndexError(f"row {i} of {table}, which has room for {record[table + '_room']}")
        return view(int(record[table]) + int(i) * dtype.itemsize, dtype)

    return at


def call_expression(function: int, session: int, board: int) -> float:
    """The value of an expression."""
    return FUNCTIONS[int(function)](int(session), int(board))


def call_statements(function: int, entry: int, session: int, board: int) -> int:
    """The operation that a session's statements come to from an entry on."""
    return int(FUNCTIONS[int(function)](int(entry), int(session), int(board)))


def reallocate(function: int, address: int, n_bytes: int) -> int:
    """Enlarged memory."""
    return enlarge(int(address), int(n_bytes))


def load_float(address: int) -> float:
    """The double at an address."""
    return ctypes.c_double.from_address(int(address)).value


def store_float(address: int, value: float) -> None:
    """Put a double at an address."""
    ctypes.c_double.from_address(int(address)).value = value


def bits_of(x: float) -> int:
    """The bits of a double as a whole number; those of numbers that are not negative are in the same order."""
    return int(struct.unpack("q", struct.pack("d", x))[0])


def is_before(bits: int, order: int, other_bits: int, other_order: int) -> bool:
    """Which of two items comes first; times are given by their bits."""
    return (bits, order) < (other_bits, other_order)


FRONT_ROOM = 16  # places: one that is never due, and behind it those of 15 events, the latest first


def insert_in_order(front: int, n: int, bits: int, order: int, tag: int) -> None:
    """Put an event into a front of n: in front of all that are due at its time or before."""
    words: Any = (ctypes.c_int64 * (3 * FRONT_ROOM)).from_address(int(front))
    at = int(n) + 1
    while words[at - 1] <= bits:
        at -= 1
    for column, value in zip(range(0, 3 * FRONT_ROOM, FRONT_ROOM), (bits, order, tag), strict=True):
        words[column + at + 1 : column + n + 2] = words[column + at : column + n + 1]
        words[column + at] = int(value)


def rarely(condition: bool) -> bool:
    """The condition itself."""
    return condition
