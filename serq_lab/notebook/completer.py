"""Completion in a cell of serQ: what the grammar can go on with, and the program's own names where it wants one.

In come the text of a cell and the place of the cursor; out go words and what they are. The program need not be
whole, nor right: names are looked for among its tokens. Called by `extension.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from serq_lab.semantics.model import BUILT_IN_ATTRIBUTES
from serq_lab.semantics.moments import CONTEXT_VARIABLES
from serq_lab.semantics.names import DISTRIBUTIONS, FUNCTIONS, POOL_OBSERVABLES, STAGE_OBSERVABLES
from serq_lab.source import SourceText
from serq_lab.syntax.parser import possible_after
from serq_lab.syntax.scanner import Token, scan
from serq_lab.syntax.stop import NAME, NUMBER

BEFORE_A_POOL = {"hold", "grow", "drop", "release", "load", "memory", "growing", "lease", "from", "to", "spill"}
BEFORE_A_STAGE = {"run", "on", "via"}
BEFORE_AN_ATTRIBUTE = {"set", "choose", "hidden"}
BEFORE_A_NEW_NAME = {"let", "def", "pool", "stage", "gauge", "observe"}

_FRAGMENT = re.compile(r"[^\W\d]\w*\Z")
_OPTION = re.compile(r"--[\w-]*\Z")
_LET_OF_AN_OPTION = re.compile(r"--(?:set|explore)[ =](?:\S*,)?(\w*)\Z")
_LINE_COMMENT = re.compile(r"//[^\n]*\Z")


class Completions(NamedTuple):
    """`fragment` stands before the cursor; `words` could take its place, each with its kind."""

    fragment: str
    words: list[tuple[str, str]]


def complete(text: str, offset: int) -> Completions | None:
    """What can stand at an offset of a cell; None where it is no cell of ours."""
    lead = len(text) - len(text.lstrip())
    if not re.match(r"%%?serq\b", text[lead:]):
        return None
    end_of_line = text.find("\n", lead)
    if end_of_line < 0 or offset <= end_of_line:
        return _in_the_line(text[lead:offset], text[end_of_line + 1 :] if end_of_line >= 0 else "")
    if not text.startswith("%%", lead):
        return None
    return _in_the_program(text[end_of_line + 1 : offset], text[end_of_line + 1 :])


def _in_the_line(before: str, program: str) -> Completions:
    """Options of the magic, and lets behind ``--set`` and ``--explore``."""
    wanted = _LET_OF_AN_OPTION.search(before)
    if wanted is not None:
        return _starting_with(wanted.group(1), _marked(_names(program)["let"], "let"))
    option = _OPTION.search(before)
    if option is None:
        return Completions("", [])
    from serq_lab.notebook.magic import cell_command

    return _starting_with(option.group(), _marked((o for p in cell_command.params for o in p.opts), "option"))


def _in_the_program(before: str, program: str) -> Completions:
    found = _FRAGMENT.search(before)
    fragment = found.group() if found else ""
    read = before[: len(before) - len(fragment)]
    if _LINE_COMMENT.search(read):
        return Completions(fragment, [])
    source = SourceText(read)
    possible = possible_after(source)
    words = _marked(sorted(word for word in possible if word.isidentifier()), "keyword")
    names = _own_names(possible, scan(source).tokens, _names(program))
    return _starting_with(fragment, [*names, *words])


def _own_names(possible: frozenset[str], tokens: list[Token], names: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    """The names that can stand behind some tokens (the last is the end), where the grammar wants a name."""
    before = [token.value for token in tokens[-3:-1]]
    last = before[-1] if before else ""
    if NAME not in possible or last in BEFORE_A_NEW_NAME:
        return
    if last == "~":
        yield from _marked(DISTRIBUTIONS, "distribution")
    elif last in BEFORE_AN_ATTRIBUTE:
        yield from _marked(names["attribute"], "attribute")
    elif last in BEFORE_A_POOL or (last == "(" and before[0] in POOL_OBSERVABLES):
        yield from _marked(names["pool"], "pool")
    elif last in BEFORE_A_STAGE or (last == "(" and before[0] in STAGE_OBSERVABLES):
        yield from _marked(names["stage"], "stage")
    elif NUMBER in possible:
        yield from _marked(names["let"], "let")
        yield from _marked([*names["attribute"], *BUILT_IN_ATTRIBUTES], "attribute")
        yield from _marked(["now", "inf", *CONTEXT_VARIABLES], "value")
        yield from _marked([*FUNCTIONS, *STAGE_OBSERVABLES, *POOL_OBSERVABLES, *names["def"]], "function")
    elif "set" in possible:  # a statement begins here
        yield from _marked(names["def"], "def")
    else:
        for kind in ("pool", "stage"):
            yield from _marked(names[kind], kind)


def _names(program: str) -> dict[str, list[str]]:
    """The names that a program declares, by kind, in order; read from its tokens."""
    found: dict[str, list[str]] = {kind: [] for kind in ("let", "def", "pool", "stage", "attribute")}
    kinds = {"let": "let", "def": "def", "pool": "pool", "stage": "stage", "set": "attribute", "choose": "attribute"}
    tokens = scan(SourceText(program)).tokens
    for word, name in pairwise(tokens):
        kind = kinds.get(word.value)
        if kind is not None and name.kind == "word" and name.value not in found[kind]:
            found[kind].append(str(name))
    return found


def _marked(words: Iterable[str], kind: str) -> list[tuple[str, str]]:
    return [(word, kind) for word in words]


def _starting_with(fragment: str, words: Iterable[tuple[str, str]]) -> Completions:
    found: dict[str, str] = {}
    for word, kind in words:
        if word.startswith(fragment) and word != fragment:
            found.setdefault(word, kind)
    return Completions(fragment, list(found.items()))
