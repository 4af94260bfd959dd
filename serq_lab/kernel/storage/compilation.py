"""From kernel functions to native code: compiled once a machine, then loaded from a cache on disk.

Only the entry is compiled with full optimisation, with everything that it calls in it; what it calls is prepared with
little. (Left to itself numba optimises every function again in each of its callers, which takes twice as long and
inlines less.) Signatures come from the annotations, so each function is compiled for one set of types.
Used by `event_loop.py`.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from llvmlite import binding as llvm
from numba import from_dtype, types

from serq_lab.kernel.storage.memory import KERNEL_FUNCTIONS, KernelFunction

_TYPES = {"int": types.int64, "float": types.float64, "bool": types.boolean, "None": types.void}
SETTINGS: Any = numba.config  # what it holds is made when it is imported
_lock = threading.Lock()


def load_entry(entry: Any, run: np.dtype[Any]) -> None:
    """Make an entry ready to be called with an array of `run` records: from the cache, or by compiling.

    Says so in one line on stderr when it compiles. Where no folder can be written, or what lies there is damaged,
    it compiles in memory.
    """
    with _lock:
        if entry.signatures:
            return
        signature = types.boolean(types.Array(from_dtype(run), 1, "C"), types.int64)
        folder = cache_folder()
        is_kept = folder is not None and _use_cache(entry, folder)
        if is_kept and folder is not None and _is_complete(folder):
            try:
                entry.compile(signature)
                return
            except Exception:  # a damaged file can raise anything
                _empty(folder)
        where = "" if is_kept else " (no folder for a cache can be written, so it is not kept)"
        print(f"serq-lab: compiling the engine, once for this machine{where} ...", file=sys.stderr, flush=True)
        _prepare(run)
        try:
            entry.compile(signature)
        except OSError:  # a full disk: compiled, but not kept
            if not entry.signatures:
                raise


def _is_complete(folder: Path) -> bool:
    """Whether both files of numba's are there; if only one is, it goes."""
    if list(folder.rglob("*.nbi")) and list(folder.rglob("*.nbc")):
        return True
    _empty(folder)
    return False


def _empty(folder: Path) -> None:
    for file in folder.rglob("*.nb?"):
        file.unlink(missing_ok=True)


def cache_folder() -> Path | None:
    """Where the compiled kernel lies: a folder for these sources, these versions and this processor."""
    from platformdirs import user_cache_path

    key = hashlib.sha256(__file__.encode())  # numba's index knows the files by their paths
    for file in sorted(Path(__file__).parent.parent.rglob("*.py")):
        key.update(file.read_bytes())
    for part in (sys.version, numba.__version__, llvmlite.__version__, np.__version__, llvm.get_host_cpu_name(),
                 llvm.get_host_cpu_features().flatten()):  # fmt: skip
        key.update(part.encode())
    try:
        folder: Path = user_cache_path("serq-lab", appauthor=False) / f"kernel-{key.hexdigest()[:16]}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "writable").touch()
    except (OSError, RuntimeError):
        return None
    return folder


def _use_cache(entry: Any, folder: Path) -> bool:
    """Let numba keep the entry's code in a folder."""
    before = SETTINGS.CACHE_DIR
    SETTINGS.CACHE_DIR = str(folder)
    try:
        entry.enable_caching()
    except RuntimeError:  # numba found the folder not fit after all
        return False
    finally:
        SETTINGS.CACHE_DIR = before
    return True


def _signature(function: KernelFunction, run: np.dtype[Any]) -> Any:
    """The signature that a function's annotations say; `Row` is the RUN record."""
    annotations = dict(function.dispatcher.py_func.__annotations__)
    result = _TYPES[annotations.pop("return")]
    records = function.records or {}
    arguments = [
        from_dtype(records.get(name, run)) if kind == "Row" else _TYPES[kind] for name, kind in annotations.items()
    ]
    return result(*arguments)


def _callees_first() -> Iterator[KernelFunction]:
    """All kernel functions, each behind those that it calls."""
    of_dispatcher = {id(function.dispatcher): function for function in KERNEL_FUNCTIONS}
    done: set[int] = set()

    def visit(function: KernelFunction) -> Iterator[KernelFunction]:
        if id(function) in done:
            return
        done.add(id(function))
        python = function.dispatcher.py_func
        for name in python.__code__.co_names:
            callee = of_dispatcher.get(id(python.__globals__.get(name)))
            if callee is not None:
                yield from visit(callee)
        yield function

    for function in KERNEL_FUNCTIONS:
        yield from visit(function)


@contextmanager
def _little_optimisation() -> Iterator[None]:
    level = SETTINGS.OPT
    SETTINGS.OPT = type(level)(1)
    try:
        yield
    finally:
        SETTINGS.OPT = level


def _prepare(run: np.dtype[Any]) -> None:
    """Compile every kernel function, so that compiling the entry only has to put them together."""
    with _little_optimisation():
        for function in _callees_first():
            if not function.dispatcher.signatures:
                function.dispatcher.compile(_signature(function, run))
                function.dispatcher.disable_compile()
