"""From kernel functions to object code: what numba is for.

numba writes LLVM code of each function; linking, optimising and translating is done once, at the end, for all of them
together. (Left to itself numba does all three for every function with everything that it calls, over and over: twice
the time, and less inlining.) Signatures come from the annotations, so each function is compiled for one set of types.

Imported by `entry.py` where there is no code yet, once a machine: nothing else needs numba, and it takes half a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import numba
import numpy as np
from llvmlite import binding as llvm
from numba import from_dtype, njit, types
from numba.core import codegen
from numba.core.compiler_lock import global_compiler_lock

from serq_lab.kernel.storage.memory import KERNEL_FUNCTIONS, KernelFunction
from serq_lab.kernel.storage.native import native_forms
from serq_lab.kernel.storage.object_code import target_machine

_TYPES = {"int": types.int64, "float": types.float64, "bool": types.boolean, "None": types.void}
_OPTIONS: dict[str, Any] = {
    "nogil": True, "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True,
}  # fmt: skip
FULL = 3  # of the levels of optimisation


def compile_entry(entry: Callable[..., Any], run: np.dtype[Any]) -> bytes:
    """Object code for this processor, in which a kernel function goes by its Python name.

    It calls nothing outside of itself, so it does not depend on numba or Python. It leaves numba in this process with
    code that others cannot use: `entry.py` calls it in a process of its own.

    Parameters
    ----------
    entry : callable
    run : dtype
        What `Row` means in the annotations.
    """
    forms = native_forms()
    known = {each.function: each for each in KERNEL_FUNCTIONS}
    with global_compiler_lock, _only_writing() as written:
        for function in _callees_first(known[entry], known):
            forms[function.function] = _compiled(function, forms, run)
    (result,) = forms[entry].overloads.values()
    module = llvm.parse_assembly(_linked(result.library, written, result.fndesc.llvm_func_name))
    module.get_function(result.fndesc.llvm_func_name).name = entry.__name__
    return bytes(target_machine(optimisation=FULL).emit_object(module))


@contextmanager
def _only_writing() -> Iterator[list[Any]]:
    """Let numba write code and do nothing with it; gives the list in which its libraries gather, one a function."""
    library: Any = codegen.JITCodeLibrary
    generator: Any = codegen.JITCPUCodegen
    record: Any = types.Record
    own = library.finalize, library.add_linking_library, generator.set_env, record.__repr__
    written: list[Any] = []

    def finalize(self: Any) -> None:
        self._finalized = True
        written.append(self)

    library.finalize = finalize
    record.__repr__ = lambda self: self.name  # else all fields are spelled out again in every pass
    library.add_linking_library = lambda self, other: None
    generator.set_env = lambda self, name, environment: None
    try:
        yield written
    finally:
        library.finalize, library.add_linking_library, generator.set_env, record.__repr__ = own


def _linked(entry: Any, written: list[Any], name: str) -> str:
    """The code of all libraries in one module, optimised, in which only the entry can be seen from outside."""
    module = entry._final_module
    for library in written:
        if library is not entry:
            module.link_in(library._final_module, preserve=True)
    for function in module.functions:
        if not function.is_declaration and function.name != name:
            function.linkage = "internal"
    config: Any = numba.config  # its settings are made when it is imported
    before, config.OPT = config.OPT, type(config.OPT)(FULL)
    try:
        entry._optimize_final_module()
    finally:
        config.OPT = before
    return str(entry._final_module)


def _callees_first(entry: KernelFunction, known: dict[Callable[..., Any], KernelFunction]) -> Iterator[KernelFunction]:
    """An entry and the kernel functions that it needs, each behind those that it calls."""
    done: set[Callable[..., Any]] = set()

    def visit(function: KernelFunction) -> Iterator[KernelFunction]:
        if function.function in done:
            return
        done.add(function.function)
        for callee in _functions_named_in(function.function).values():
            if callee in known:
                yield from visit(known[callee])
        yield function

    return visit(entry)


def _functions_named_in(function: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """The functions of its module that a function's code names."""
    assert isinstance(function, FunctionType)
    named = {name: function.__globals__.get(name) for name in function.__code__.co_names}
    return {name: value for name, value in named.items() if isinstance(value, FunctionType)}


def _compiled(function: KernelFunction, forms: dict[Callable[..., Any], Any], run: np.dtype[Any]) -> Any:
    """A function as numba compiles it, with the native forms of the functions that it names."""
    python = function.function
    assert isinstance(python, FunctionType)
    names = {name: forms[each] for name, each in _functions_named_in(python).items() if each in forms}
    copy = FunctionType(
        python.__code__, {**python.__globals__, **names}, python.__name__, python.__defaults__, python.__closure__
    )
    dispatcher: Any = njit(**_OPTIONS, forceinline=function.is_inlined)(copy)
    dispatcher.compile(_signature(function, run))
    dispatcher.disable_compile()
    return dispatcher


def _signature(function: KernelFunction, run: np.dtype[Any]) -> Any:
    """The signature that a function's annotations say."""
    annotations = dict(function.function.__annotations__)
    result = _TYPES[annotations.pop("return")]
    arguments = [
        from_dtype(function.records.get(name, run)) if kind == "Row" else _TYPES[kind]
        for name, kind in annotations.items()
    ]
    return result(*arguments)
