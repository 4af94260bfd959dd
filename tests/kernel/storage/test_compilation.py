"""The cache of compiled code: kept, loaded, and made anew when what lies there is damaged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from serq_lab.kernel.storage import compilation

RUN = np.dtype([("events", np.int64)], align=True)


def advance(runs, n):  # type: ignore[no-untyped-def]  # numba has its own types
    """A stand-in for the engine: adds to a counter."""
    run = runs[0]
    run.events += n
    return run.events > 10


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    monkeypatch.setattr(compilation, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(compilation, "_prepare", lambda run: None)

    def load() -> Any:
        entry = numba.njit(nogil=True)(advance)
        compilation.load_entry(entry, RUN)
        runs = np.zeros(1, dtype=RUN)
        assert [entry(runs, 6), entry(runs, 6)] == [False, True]
        assert runs["events"][0] == 12
        return entry

    return load


def kept(folder: Path, suffix: str) -> Path:
    (found,) = folder.rglob(f"*.{suffix}")
    return found


def test_compiles_once_and_says_so(load: Callable[[], Any], capsys: pytest.CaptureFixture[str]) -> None:
    load()
    assert capsys.readouterr().err.count("compiling the engine, once for this machine ...") == 1
    load()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "nonsense"])
def test_what_is_damaged_is_made_anew(
    load: Callable[[], Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str, damage: str
) -> None:
    load()
    file = kept(tmp_path, suffix)
    data = file.read_bytes()
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes({"empty": b"", "cut": data[: len(data) // 2], "nonsense": b"x" * len(data)}[damage])
    capsys.readouterr()
    load()
    assert capsys.readouterr().err.count("compiling") == 1
    load()
    assert capsys.readouterr().err == ""


def test_without_a_folder_it_compiles_in_memory(
    load: Callable[[], Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compilation, "cache_folder", lambda: None)
    load()
    assert "not kept" in capsys.readouterr().err


def test_a_full_disk_is_no_fault(
    load: Callable[[], Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", full)
    load()
    assert capsys.readouterr().err.count("compiling") == 1


def test_an_unwritable_home_has_no_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("not a folder")
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *args, **kwargs: in_the_way)
    assert compilation.cache_folder() is None
