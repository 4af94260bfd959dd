"""The parser that lark makes of `grammar.lark`, and how what it names is typed.

Used by `reading.py`. Making it takes lark about 0.1 s, so it is made at the first parse and its table is
kept in the user's cache folder, where lark finds it again as long as the grammar and lark are the same.
"""

from __future__ import annotations

import os
from functools import lru_cache
from importlib.resources import files

from lark import Lark
from platformdirs import user_cache_path

from serq_lab.syntax.stop import END, NAME, NUMBER, STRING
from serq_lab.syntax.tree_builder import TreeBuilder


@lru_cache(maxsize=1)
def grammar() -> Lark:
    """The parser for a ``program``, an ``expression`` or a ``definition_body``."""
    return Lark(
        files("serq_lab.syntax").joinpath("grammar.lark").read_text(encoding="utf-8"),
        parser="lalr",
        lexer="basic",  # unused: tokens come from `scanner.py`
        start=["program", "expression", "definition_body"],
        keep_all_tokens=True,
        maybe_placeholders=True,
        transformer=TreeBuilder(),
        cache=table_file() or False,
    )


def table_file() -> str | None:
    """Where lark keeps the parse table; None if there is no such place, and then the table is made anew."""
    try:
        folder = user_cache_path("serq-lab", appauthor=False)
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # read-only, or no home at all
        return None
    return str(folder / "parse-table") if os.access(folder, os.W_OK) else None


@lru_cache(maxsize=1)
def terminals() -> dict[str, str]:
    """The grammar's name of each word and sign, by how it is typed."""
    return {terminal.pattern.value: terminal.name for terminal in grammar().terminals if terminal.pattern}


@lru_cache(maxsize=1)
def spellings() -> dict[str, str]:
    """How each of the grammar's names is typed, or what it is called where programs differ in that."""
    spelled = {name: typed for typed, name in terminals().items()}
    return {**spelled, "NAME": NAME, "NUMBER": NUMBER, "STRING": STRING, "$END": END}


@lru_cache(maxsize=1)
def words() -> frozenset[str]:
    """The words of the language."""
    return frozenset(typed for typed in terminals() if typed.isidentifier())
