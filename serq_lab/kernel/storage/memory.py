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


class RawBlock:
    """Memory as an array's base; freed with the last array on it.

    Parameters
    ----------
    address : int
        Where a table grew; what it has beyond `n_rows` is given back.
    n_rows : int
    dtype : dtype
        Of a row.
    """

    def __init__(self, address: int, n_rows: int, dtype: np.dtype[Any]) -> None:
        self.address = enlarge(address, max(1, n_rows * dtype.itemsize))
        self.__array_interface__ = {
            "version": 3,
            "shape": (n_rows,),
            "typestr": f"|V{dtype.itemsize}",
            "descr": dtype.descr,
            "data": (self.address, False),
        }
        weakref.finalize(self, _free, self.address).atexit = False  # arrays on it may outlive this module


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
