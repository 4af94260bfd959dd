"""Raw memory, and what makes a Python function kernel code.

Memory comes from Python's raw allocator, which native code calls without the GIL. Used by everything in this folder.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

JIT = os.environ.get("SERQ_LAB_JIT", "1") != "0"

Row = Any  # a numba record in native code, an np.record in plain Python

_reallocate = ctypes.pythonapi.PyMem_RawRealloc
_reallocate.argtypes, _reallocate.restype = [ctypes.c_void_p, ctypes.c_size_t], ctypes.c_void_p
_free = ctypes.pythonapi.PyMem_RawFree
_free.argtypes, _free.restype = [ctypes.c_void_p], None
REALLOCATE_ADDRESS = ctypes.cast(_reallocate, ctypes.c_void_p).value or 0


def enlarge(address: int, n_bytes: int) -> int:
    """The same memory with another size, perhaps elsewhere; new memory for address 0."""
    return int(_reallocate(address, n_bytes) or 0)


def free(address: int) -> None:
    """Give memory back."""
    _free(address)


class SpareBlocks:
    """Memory of one program's samples, one block a table at most, from run to run.

    Pages that are there already need not be cleared and mapped again: that is a sixth of a short run.
    """

    def __init__(self) -> None:
        self._blocks: dict[int, tuple[int, int]] = {}
        weakref.finalize(self, _free_blocks, self._blocks).atexit = False

    def take(self, table: int) -> tuple[int, int]:
        """The address and the bytes of a spare block; (0, 0) if there is none."""
        return self._blocks.pop(table, (0, 0))

    def keep(self, table: int, address: int, n_bytes: int) -> None:
        """A block that nobody uses any more; freed if the table has a spare one."""
        block = (address, n_bytes)
        if self._blocks.setdefault(table, block) is not block:
            free(address)


def _free_blocks(blocks: dict[int, tuple[int, int]]) -> None:
    for address, _ in blocks.values():
        free(address)


MOST_ROOM = 4 / 3  # of a block that is kept, in parts of what it holds


class RawBlock:
    """Memory as an array's base; with the last array on it, it goes back to the spare blocks.

    Parameters
    ----------
    address : int
        Where a table grew.
    room, n_rows : int
        What it has room for; what it holds. Much more room than that is given back at once.
    dtype : dtype
        Of a row.
    spares : SpareBlocks
    table : int
        Whose spare it becomes.
    """

    def __init__(
        self, address: int, room: int, n_rows: int, dtype: np.dtype[Any], spares: SpareBlocks, table: int
    ) -> None:
        if address == 0 or room > n_rows * MOST_ROOM:
            room = max(1, n_rows)
            address = enlarge(address, room * dtype.itemsize)
        self.address, self.room = address, room
        self.__array_interface__ = {
            "version": 3,
            "shape": (n_rows * dtype.itemsize,),
            "typestr": "|u1",
            "data": (address, False),
        }
        # Not at exit: arrays on it may outlive this module.
        weakref.finalize(self, spares.keep, table, address, room * dtype.itemsize).atexit = False


class KernelFunction(NamedTuple):
    """A function of the kernel; `records` are the dtypes of its `Row` arguments that are not the RUN record."""

    function: Callable[..., Any]
    records: dict[str, np.dtype[Any]]
    is_inlined: bool


KERNEL_FUNCTIONS: list[KernelFunction] = []
"""All of them: what `compilation.py` makes native code of."""


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function as kernel code; its types are those of its annotations. It stays plain Python itself."""
    KERNEL_FUNCTIONS.append(KernelFunction(function, {}, is_inlined=False))
    return function


def inlined(function: Callable[..., Any], records: dict[str, np.dtype[Any]] | None = None) -> Callable[..., Any]:
    """As `kernel`, and put into its callers: for what is small, or is called in one place on the way of an event."""
    KERNEL_FUNCTIONS.append(KernelFunction(function, records or {}, is_inlined=True))
    return function
