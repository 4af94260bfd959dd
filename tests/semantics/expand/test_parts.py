"""Libraries: where they are looked for, what they may hold, and what is wrong with a `use`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from serq_lab.diagnostics.diagnostic import Diagnostic
from serq_lab.diagnostics.errors import ProgramError
from serq_lab.semantics.checker import check
from serq_lab.semantics.model import Model
from serq_lab.source import SourceText
from serq_lab.syntax.parser import parse

END = "run { horizon 1; }"


def model_of(folder: Path, text: str, **files: str) -> Model:
    """Check a program next to library files; `files` are texts by name without ``.lib``."""
    for name, content in files.items():
        path = folder / f"{name}.lib"
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
    source = SourceText(text + END, str(folder / "program.sq"))
    return check(parse(source), source)


def faults_of(folder: Path, text: str, **files: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(ProgramError) as caught:
        model_of(folder, text, **files)
    return caught.value.diagnostics


def fault_of(folder: Path, text: str, **files: str) -> tuple[str, str]:
    (found,) = faults_of(folder, text, **files)
    assert found.span is not None
    return found.code, found.span.text


def test_definitions_come_from_beside_the_program(tmp_path: Path) -> None:
    model = model_of(tmp_path, 'use "a.lib"; let x = half(6);', a="def half(x) = x / 2; // a library")
    assert model.constants.lets == (3.0,)


def test_libraries_use_libraries_beside_themselves(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.lib").write_text("def one() = 1;", encoding="utf-8")
    (tmp_path / "deep" / "a.lib").write_text('use "b.lib"; def two() = one() + one();', encoding="utf-8")
    assert model_of(tmp_path, 'use "deep/a.lib"; let x = two() + one();').constants.lets == (3.0,)


def test_a_library_used_over_two_ways_is_read_once(tmp_path: Path) -> None:
    text = 'use "a.lib"; use "b.lib"; let x = one();'
    assert model_of(tmp_path, text, a='use "b.lib";', b="def one() = 1;").constants.lets == (1.0,)


def test_the_order_of_definitions_goes_through_libraries(tmp_path: Path) -> None:
    text = 'def f(x) = g(x); use "a.lib"; let y = f(1);'
    assert fault_of(tmp_path, text, a="def g(x) = x;") == ("definition-order", "g")


@pytest.mark.parametrize(
    ("library", "code", "place"),
    [
        ("let a = 1;", "use-other-item", "let a = 1;"),
        ("pool p { }", "use-other-item", "pool p { }"),
        ('use "a.lib";', "use-cycle", 'use "a.lib";'),
        ('use "program.sq";', "use-cycle", 'use "program.sq";'),
        ('use "nowhere.lib";', "use-unreadable", 'use "nowhere.lib";'),
        ("def f(x) = x; def f(x) = x;", "given-twice", "f"),
    ],
)
def test_libraries_refused(tmp_path: Path, library: str, code: str, place: str) -> None:
    (tmp_path / "program.sq").write_text(END, encoding="utf-8")
    assert fault_of(tmp_path, 'use "a.lib";', a=library) == (code, place)


def test_a_fault_of_form_in_a_library_shows_the_use(tmp_path: Path) -> None:
    (found,) = faults_of(tmp_path, 'use "a.lib";', a="def f(x) = x +;")
    assert found.span is not None
    assert found.span.source.name.endswith("a.lib")
    assert found.labels[-1].span.text == 'use "a.lib";'


def test_a_cycle_of_libraries(tmp_path: Path) -> None:
    code, place = fault_of(tmp_path, 'use "a.lib";', a='use "b.lib";', b='use "a.lib";')
    assert (code, place) == ("use-cycle", 'use "a.lib";')


def test_what_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "binary.lib").write_bytes(b"\xff\xfe\x00def")
    (tmp_path / "folder").mkdir()
    for name, words in (("binary.lib", "no text"), ("folder", "directory"), ("none.lib", "not there")):
        (found,) = faults_of(tmp_path, f'use "{name}";')
        assert found.code == "use-unreadable"
        assert words in found.message
        assert found.hint


def test_paths_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file.lib").write_text("", encoding="utf-8")
    for path in ("file.lib/inner.lib", "x" * 5000):
        assert fault_of(tmp_path, f'use "{path}";') == ("use-unreadable", f'use "{path}";')


def test_files_are_counted(tmp_path: Path) -> None:
    chain = {f"l{i}": f'use "l{i + 1}.lib";' for i in range(120)}
    assert fault_of(tmp_path, 'use "l0.lib";', **chain)[0] == "use-too-many"


def test_a_library_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "secret.lib"
    path.write_text("", encoding="utf-8")
    os.chmod(path, 0)
    if os.access(path, os.R_OK):  # root reads everything
        assert model_of(tmp_path, 'use "secret.lib";').lets == ()
    else:
        assert fault_of(tmp_path, 'use "secret.lib";')[0] == "use-unreadable"
