"""Text to tree, or to every fault of the text's form that can be told apart from its consequences.

In comes a `SourceText`; out goes the tree of `nodes.py`, or a `ProgramError`. The grammar is `grammar.lark`;
the way through the text is in `reading.py`, which takes tokens from `scanner.py`, nodes from
`tree_builder.py` and the words for faults from `syntax_faults.py`. Next on the way: `semantics/expand`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Union, cast

from serq_lab.diagnostics import catalogue
from serq_lab.diagnostics.errors import ProgramError
from serq_lab.source import SourceText, Span
from serq_lab.syntax import nodes
from serq_lab.syntax.grammar import words
from serq_lab.syntax.reading import Reading
from serq_lab.syntax.scanner import scan

LONGEST_TEXT = 1_000_000  # characters
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


def parse(source: SourceText) -> nodes.Program:
    """The tree of a program.

    Parameters
    ----------
    source : SourceText
        The whole text; an empty one is an empty program.

    Returns
    -------
    Program
        Its items in order, and its comments.

    Raises
    ------
    ProgramError
        With the faults of the text's form, sorted by place, at most ten.
    """
    items, comments = _read(source, "program")
    _refuse_reserved_names(items)
    return nodes.Program(Span(source, 0, len(source.text)), items, comments)


def parse_expression(source: SourceText) -> nodes.Expression:
    """The tree of one expression, as somebody gives it for a let; raises `ProgramError`."""
    return cast(nodes.Expression, _read(source, "expression")[0])


def parse_definition_body(source: SourceText) -> Union[nodes.Expression, nodes.Block]:
    """The tree of what can stand behind ``def f(x)``: an expression or a block; raises `ProgramError`."""
    return cast(Union[nodes.Expression, nodes.Block], _read(source, "definition_body")[0])


def possible_after(source: SourceText) -> frozenset[str]:
    """What the grammar can go on with behind the beginning of a program, for completion.

    Returns
    -------
    frozenset of str
        Words and signs as they are typed, and `stop.NAME`, `NUMBER`, `STRING` and `END`; empty inside a comment that
        is still open and behind a text that is none.
    """
    if len(source.text) > LONGEST_TEXT or _NO_TEXT.search(source.text) or scan(source).open_comment is not None:
        return frozenset()
    return Reading(source, "program").possible_next()


def _read(source: SourceText, start: str) -> tuple[Any, tuple[nodes.Comment, ...]]:
    """What a text that should be a `start` is, and its comments."""
    if len(source.text) > LONGEST_TEXT:
        raise ProgramError([catalogue.text_too_long(source, LONGEST_TEXT)])
    found = _NO_TEXT.search(source.text)
    if found is not None:
        raise ProgramError([catalogue.not_a_text(Span(source, *found.span()))])
    return Reading(source, start).result()


def _refuse_reserved_names(items: Iterable[nodes.Item]) -> None:
    """A word of the language can name anything but a definition: ``set (3);`` would not be a call of it."""
    faults = []
    for item in items:
        if isinstance(item, nodes.Definition):
            named = [
                (item.name, "a definition"),
                *((parameter, "a parameter") for parameter in item.parameters),
            ]
            faults += [
                catalogue.reserved_word(identifier.name, identifier.span, what)
                for identifier, what in named
                if identifier.name in words()
            ]
    if faults:
        raise ProgramError(faults)
