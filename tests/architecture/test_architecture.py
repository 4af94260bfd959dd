"""The shape of the code: who imports whom, how long files and functions are, what an import brings along."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "serq_lab").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))

LEAST_LINES, MOST_LINES, MOST_WIDTH, MOST_BODY_LINES, MOST_FILES = 60, 400, 120, 40, 13

SHORT_FILES = {
    "serq_lab/version.py": "one number, which the build reads too",
    "serq_lab/commands/terminal.py": "what the subcommands print",
    "serq_lab/diagnostics/diagnostic.py": "one record",
    "serq_lab/diagnostics/errors.py": "three exceptions",
    "serq_lab/report/frames.py": "keeps pandas apart from the rest of the report",
    "serq_lab/lowering/trees.py": "how a resolved tree is walked, for two readers",
    "serq_lab/notebook/cell_error.py": "how mistakes look in a notebook, and nothing else",
    "serq_lab/notebook/display.py": "what one object shows",
    "serq_lab/notebook/lexer.py": "a table of tokens",
    "serq_lab/reading.py": "what the pipeline and the formatter start with",
    "serq_lab/report/as_json.py": "one format of the report, beside text.py",
}
"""Files below 60 lines, each with its reason; ``__init__.py`` may always be short."""

LONG_FILES = {
    "serq_lab/syntax/nodes.py": "one record for each form of the grammar: a table, to be read as one",
}
"""Files above 400 lines, each with its reason."""

LONG_FUNCTIONS: dict[str, str] = {}
"""Functions above 40 lines without docstring and signature, as ``file:name``, each with its reason."""


OPTIONAL = {
    "matplotlib": ("serq_lab/plots/", "serq_lab/notebook/", "serq_lab/experiments/sweep.py"),  # the last names a type
    "distributed": ("serq_lab/commands/sweep.py",),
}
"""Packages of an extra, each with the places where alone it is imported."""


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_who_imports_whom(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    code = lint_imports(config_filename="pyproject.toml", no_cache=True)
    assert code == 0, capsys.readouterr().out


@pytest.mark.parametrize("path", SOURCES + TESTS, ids=relative)
def test_files_are_of_a_readable_size(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    name = relative(path)
    if path in SOURCES and path.name != "__init__.py" and name not in SHORT_FILES:
        assert len(lines) >= LEAST_LINES, f"{name} has {len(lines)} lines: give it more to say, or a reason"
    if name not in LONG_FILES:
        assert len(lines) <= MOST_LINES, f"{name} has {len(lines)} lines"
    wide = [number for number, line in enumerate(lines, 1) if len(line) > MOST_WIDTH]
    assert not wide, f"{name}: wider than {MOST_WIDTH} in lines {wide}"


def test_exceptions_are_still_needed() -> None:
    length = {relative(path): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert [name for name in SHORT_FILES if length.get(name, LEAST_LINES) >= LEAST_LINES] == []
    assert [name for name in LONG_FILES if length.get(name, MOST_LINES) <= MOST_LINES] == []
    long = {name for path in SOURCES for name, size in functions(path) if size > MOST_BODY_LINES}
    assert set(LONG_FUNCTIONS) - long == set()


def imported(path: Path) -> set[str]:
    """The top-level packages that a file imports anywhere."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names}


def test_what_is_imported_is_declared() -> None:
    engine = [path for path in SOURCES if not is_of_the_lab(path)]
    assert outside(engine) - set(OPTIONAL) == declared("dependencies") | {"llvmlite"}  # numba brings llvmlite
    lab = {name.lower() for name in outside(filter(is_of_the_lab, SOURCES))}
    assert lab <= declared("dependencies") | declared("lab")


def is_of_the_lab(path: Path) -> bool:
    return relative(path).startswith("serq_lab/notebook/")


def declared(extra: str) -> set[str]:
    """What a list of `pyproject.toml` asks for."""
    block = re.search(rf"^{extra} = \[\n(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.S | re.M)
    assert block is not None
    return set(re.findall(r'^  "([a-z]+)', block.group(1), re.M))


def outside(paths: Iterable[Path]) -> set[str]:
    """The packages that files import and that are not Python's, nor ours."""
    return {name for path in paths for name in imported(path)} - sys.stdlib_module_names - {"serq_lab"}


def test_the_file_that_registers_with_ipython_is_short() -> None:
    lines = (ROOT / "serq_lab/notebook/extension.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 120


@pytest.mark.parametrize("package", OPTIONAL)
def test_what_is_optional_is_imported_where_it_is_asked_for(package: str) -> None:
    users = [relative(path) for path in SOURCES if package in imported(path)]
    assert users
    assert [path for path in users if not path.startswith(OPTIONAL[package])] == []


def functions(path: Path) -> list[tuple[str, int]]:
    """Name and number of lines, from the first statement behind the docstring on, of each function of a
    file."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            if body:
                found.append((f"{relative(path)}:{node.name}", body[-1].end_lineno - body[0].lineno + 1))
    return found


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_functions_fit_on_a_screen(path: Path) -> None:
    long = {name: size for name, size in functions(path) if size > MOST_BODY_LINES and name not in LONG_FUNCTIONS}
    assert long == {}


def test_folders_are_small() -> None:
    folders = {path.parent for path in SOURCES}
    assert {relative(f): n for f in folders if (n := len(list(f.glob("*.py")))) > MOST_FILES} == {}


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_every_file_says_what_it_is(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not text or ast.get_docstring(ast.parse(text)), f"{relative(path)} has no docstring"


def test_importing_the_package_is_light() -> None:
    heavy = ("IPython", "ipywidgets", "pygments", "matplotlib", "pandas", "numba", "llvmlite", "tqdm", "click")
    program = f"import sys, serq_lab; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
    assert done.stderr == ""


def test_a_run_needs_no_pandas_and_no_progress_bar() -> None:
    program = (
        "import sys, serq_lab; serq_lab.load('tutorial/programs/02-memory.sq').run(horizon=6000).to_text();"
        "print([name for name in ('pandas', 'tqdm', 'click', 'matplotlib') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
