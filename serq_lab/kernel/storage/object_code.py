"""Native code from a file of the user's cache, or else made, and kept there for the next process.

Loading object code takes a few milliseconds. What made it may take longer: numba half a second to import and set
up, and twenty to compile the kernel. Used by `streams.py` and `entry.py`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import llvmlite
from llvmlite import binding as llvm

DIGEST_BYTES = 32


def load_kept(name: str, make: Callable[[], bytes]) -> Any:
    """An LLVM engine with the code that `make` gives; keep it while its addresses are in use.

    Parameters
    ----------
    name : str
        Of the file, before what it depends on.
    make : callable
        Gives object code for this processor. Called when no undamaged file is there; where no folder can be written,
        in every process.
    """
    folder = cache_folder()
    code = make() if folder is None else _kept(folder, folder / f"{name}-{_circumstances()}.o", make)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


def _kept(folder: Path, file: Path, make: Callable[[], bytes]) -> bytes:
    code = _read(file)
    if code is None:
        with _locked(folder):  # thirty kernels that start at once compile once
            code = _read(file)
            if code is None:
                code = make()
                _write(code, file)
    return code


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Wait until no other process makes code for a folder; go on at once where files cannot be locked."""
    try:
        import fcntl

        lock = (folder / ".lock").open("w")
    except (ImportError, OSError):  # Windows, or a full disk
        yield
        return
    with lock:
        with suppress(OSError):  # some network file systems
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def target_machine(*, optimisation: int = 2) -> Any:
    """What generates code for this processor; `optimisation` is LLVM's level, 0 to 3."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=target_features(),
        opt=optimisation,
        codemodel="jitdefault",
    )


def target_features() -> str:
    """What this processor can do, in LLVM's words: ``+avx2,-sse4a,...``."""
    return str(llvm.get_host_cpu_features().flatten())


@lru_cache(maxsize=1)
def cache_folder() -> Path | None:
    """The user's cache folder; None if it cannot be written."""
    from platformdirs import user_cache_path

    try:
        folder: Path = user_cache_path("serq-lab", appauthor=False)
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # read-only, or no home at all
        return None
    return folder if os.access(folder, os.W_OK) else None


@lru_cache(maxsize=1)
def _circumstances() -> str:
    """What the code depends on: the kernel's sources, the processor, and LLVM, which loads it.

    Not on Python or numba: kernel code calls nothing of theirs, and what a source means stays the same.
    """
    key = hashlib.sha256()
    for file in sorted(Path(__file__).parent.parent.rglob("*.py")):
        key.update(file.read_bytes())
    for part in (llvmlite.__version__, llvm.get_host_cpu_name(), target_features()):
        key.update(part.encode())
    return key.hexdigest()[:16]


def _read(file: Path) -> bytes | None:
    """The code in a file; None if there is none, or if it is damaged."""
    try:
        content = file.read_bytes()
    except OSError:
        return None
    digest, code = content[:DIGEST_BYTES], content[DIGEST_BYTES:]
    return code if hashlib.sha256(code).digest() == digest else None


def _write(code: bytes, file: Path) -> None:
    """Put code into a file in one step: another process sees all of it or none."""
    beside = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        beside.write_bytes(hashlib.sha256(code).digest() + code)
        beside.replace(file)
    except OSError:  # a full disk, say: then the code serves this process alone
        with suppress(OSError):
            beside.unlink()
