"""How Python calls the kernel.

The native code of an entry is what `compilation.py` makes and `object_code.py` keeps. Used by `event_loop.py`.
"""

from __future__ import annotations

import ctypes
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray

from serq_lab.kernel.storage.memory import JIT, kernel
from serq_lab.kernel.storage.object_code import cache_folder, load_kept

# What numba makes of ``f(run: Row, n: int) -> bool``: result and exception by reference, then the arguments. It
# returns 0 if all went well.
_Native = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)

_lock = threading.Lock()


def entry(function: Callable[..., Any]) -> Callable[[NDArray[np.void], int], bool]:
    """Make a function of the kernel callable from Python: native unless ``SERQ_LAB_JIT=0``.

    Parameters
    ----------
    function : callable
        ``f(run: Row, n: int) -> bool``.

    Returns
    -------
    callable
        The same, but of an array of one record. It holds no GIL. The first call loads the native code, or compiles
        it and says so in one line on stderr.
    """
    kernel(function)

    @wraps(function)
    def call(runs: NDArray[np.void], n: int) -> bool:
        if not JIT:
            return bool(function(runs.view(np.recarray)[0], n))
        with _lock:
            native = _native(function, runs.dtype)
        result, exception = ctypes.c_int8(), ctypes.c_void_p()
        status = native(ctypes.addressof(result), ctypes.addressof(exception), runs.ctypes.data, n)
        assert status == 0, f"the kernel came back with status {status}"
        return bool(result.value)

    return call


@lru_cache
def _native(function: Callable[..., Any], run: np.dtype[Any]) -> Any:
    code = load_kept("kernel", lambda: _compile(function, run))
    native: Any = _Native(code.get_function_address(function.__name__))
    native.code = code  # it lives as long as what calls it
    return native


def _compile(function: Callable[..., Any], run: np.dtype[Any]) -> bytes:
    """Compile, which takes long, and say so."""
    where = "" if cache_folder() is not None else " (no folder for a cache can be written, so it is not kept)"
    print(f"serq-lab: compiling the engine, once for this machine{where} ...", file=sys.stderr, flush=True)
    if sys.executable and hasattr(sys.modules[function.__module__], function.__name__):
        return _compile_apart(function, run)
    from serq_lab.kernel.storage.compilation import compile_entry

    return compile_entry(function, run)


_APART = """
import gc, pickle, sys
gc.set_threshold(100_000, 50, 50)  # nearly all that numba makes lives to the end: a tenth of the time went into looking
sys.path[:], module, name, run = pickle.load(sys.stdin.buffer)
from importlib import import_module
from serq_lab.kernel.storage.compilation import compile_entry

function = getattr(import_module(module), name).__wrapped__
sys.stdout.buffer.write(compile_entry(function, run))
"""


def _compile_apart(function: Callable[..., Any], run: np.dtype[Any]) -> bytes:
    """Compile in a process of its own: numba's memory goes with it, and what it did to numba."""
    asked = pickle.dumps((sys.path, function.__module__, function.__name__, run))
    return subprocess.run([sys.executable, "-c", _APART], input=asked, stdout=subprocess.PIPE, check=True).stdout
