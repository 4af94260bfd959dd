"""Colours: every character keeps its place, and words their meaning."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, String

from serq_lab.notebook.lexer import SerqLexer
from tests.notebook.programs import MEMORY


def test_the_entry_point_that_pygments_looks_for() -> None:
    text = (MEMORY.parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r'entry-points."pygments.lexers"\]\nserq = "([\w.]+):(\w+)"', text)
    assert found is not None
    assert getattr(import_module(found.group(1)), found.group(2)) is SerqLexer
    assert SerqLexer.aliases == ["serq"]
    assert SerqLexer.filenames == ["*.sq"]


@pytest.mark.parametrize("path", sorted(MEMORY.parent.glob("*.sq")), ids=lambda path: path.name)
def test_the_tutorial_has_no_colour_of_an_error(path: Path) -> None:
    text = "%%serq\n" + path.read_text(encoding="utf-8")
    assert Error not in {kind for kind, _ in SerqLexer().get_tokens(text)}


def test_what_words_are() -> None:
    text = 'let Cap = 2e5; // it\'s\npool mem { cap Cap; }\nsession { set s = ~exp(1); run x (max(s, 2)); }\nuse "f";'
    kinds = {value: kind for kind, value in SerqLexer().get_tokens(text)}
    assert kinds["let"] is kinds["pool"] is kinds["cap"] is kinds["session"] is Keyword
    assert kinds["mem"] is Name.Variable
    assert kinds["exp"] is kinds["max"] is Name.Builtin
    assert kinds["2e5"] is Number
    assert kinds["// it's"] is Comment.Single
    assert kinds['"f"'] is String
    assert kinds["~"] is Operator
    assert next(iter(SerqLexer().get_tokens("%%serq mem --seed 3\nlet a = 1;"))) == (
        Comment.Preproc,
        "%%serq mem --seed 3",
    )


@given(st.text(alphabet='let %serq\n\t "/*~exp(1.5e3);é{}#', max_size=60))
def test_nothing_is_lost(text: str) -> None:
    lexer = SerqLexer(stripnl=False, ensurenl=False)
    assert "".join(value for _, value in lexer.get_tokens(text)) == text
