"""Kept object code: made once, shared by processes, made anew when damaged, and not needed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kernel.running import ROOT

PROGRAM = """
import ctypes, sys
from llvmlite import binding as llvm
from serq_lab.kernel.storage.object_code import load_kept, target_machine

if sys.argv[1:]:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)


def make():
    print("made")
    module = llvm.parse_assembly("define i64 @answer() { ret i64 42 }")
    module.verify()
    return target_machine().emit_object(module)


engine = load_kept("answer", make)
print(ctypes.CFUNCTYPE(ctypes.c_int64)(engine.get_function_address("answer"))())
"""
MADE, LOADED = "made\n42\n", "42\n"


def start(home: Path, *arguments: str, sources: Path = ROOT) -> subprocess.Popen[str]:
    environment = {**os.environ, "HOME": str(home), "PYTHONPATH": str(sources)}
    environment.pop("XDG_CACHE_HOME", None)
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments], env=environment, cwd=sources, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def run(home: Path, *arguments: str, n_processes: int = 1, sources: Path = ROOT) -> list[str]:
    """What each process says, all of them started at once; none has anything to say on stderr."""
    processes = [start(home, *arguments, sources=sources) for _ in range(n_processes)]
    ends = [process.communicate(timeout=60) for process in processes]
    assert [err for _, err in ends] == [""] * n_processes
    return [out for out, _ in ends]


def kept(home: Path) -> list[Path]:
    return sorted(home.rglob("answer-*"))


def test_it_is_made_once(tmp_path: Path) -> None:
    assert run(tmp_path) == [MADE]
    (file,) = kept(tmp_path)
    before = file.read_bytes()
    assert run(tmp_path) == [LOADED]
    assert file.read_bytes() == before


def test_of_eight_processes_at_once_one_makes_it(tmp_path: Path) -> None:
    assert sorted(run(tmp_path, n_processes=8)) == sorted([MADE] + 7 * [LOADED])
    assert len(kept(tmp_path)) == 1
    assert run(tmp_path) == [LOADED]


def half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def change_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-40] ^= 1
    path.write_bytes(content)


def put_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", [half, empty, change_a_bit])
def test_what_is_damaged_is_made_anew(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    run(tmp_path)
    damage(kept(tmp_path)[0])
    assert run(tmp_path) == [MADE]
    assert run(tmp_path) == [LOADED]


def test_eight_processes_on_a_truncated_file(tmp_path: Path) -> None:
    run(tmp_path)
    half(kept(tmp_path)[0])
    assert sorted(run(tmp_path, n_processes=8)) == sorted([MADE] + 7 * [LOADED])


def test_a_folder_in_the_place_of_the_file_is_left_alone(tmp_path: Path) -> None:
    run(tmp_path)
    put_a_folder(kept(tmp_path)[0])
    assert run(tmp_path) == [MADE]
    assert [path.is_dir() for path in kept(tmp_path)] == [True]


def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    home = tmp_path / "a file, no folder"
    home.write_text("")
    assert run(home, n_processes=2) == [MADE, MADE]


def test_a_full_disk(tmp_path: Path) -> None:
    assert run(tmp_path, "100") == [MADE]
    assert kept(tmp_path) == []


def test_an_edited_kernel_is_another(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "serq_lab", tmp_path / "serq_lab", ignore=shutil.ignore_patterns("__pycache__"))
    assert run(tmp_path, sources=tmp_path) == [MADE]
    for edited in ("pools.py", "storage/memory.py"):
        path = tmp_path / "serq_lab" / "kernel" / edited
        path.write_text(path.read_text(encoding="utf-8") + "\n# edited\n", encoding="utf-8")
        assert run(tmp_path, sources=tmp_path) == [MADE]
    assert run(tmp_path, sources=tmp_path) == [LOADED]
