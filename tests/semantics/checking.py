"""What the tests of this layer share: programs in one line, checked, and the faults of what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from serq_lab.diagnostics.diagnostic import Diagnostic
from serq_lab.diagnostics.errors import ProgramError
from serq_lab.semantics.checker import check
from serq_lab.semantics.model import Model
from serq_lab.source import SourceText
from serq_lab.syntax.parser import parse

BASE = """pool kv { cap 9; }
pool blocks { cap 9; block 2; }
pool racks[3] { cap 9; }
stage desk : fifo;
stage nap : delay;
stage engine : step { cost 1; memory kv; }
stage gates[3] : fifo;
"""
"""Pools and stages of every kind; the programs below say the rest."""


def program(session: str = "end;", items: str = "", workload: str = "arrive batch(2);", run: str = "") -> str:
    """A whole program around a session's statements."""
    setting = run or "horizon 10;"
    return f"{BASE}{items}\nworkload {{ {workload} }}\nsession {{ {session} }}\nrun {{ {setting} }}\n"


def checked(text: str, **given: Any) -> Model:
    source = SourceText(text, "test.sq")
    return check(parse(source), source, **given)


def faults(text: str, **given: Any) -> tuple[Diagnostic, ...]:
    """What a program is refused with."""
    with pytest.raises(ProgramError) as caught:
        checked(text, **given)
    return caught.value.diagnostics


def fault(text: str, **given: Any) -> tuple[str, str]:
    """Code and underlined text of the only fault of a program."""
    found = faults(text, **given)
    assert len(found) == 1, [each.message for each in found]
    assert found[0].message
    assert found[0].hint
    return found[0].code, "" if found[0].span is None else found[0].span.text


def warnings(text: str) -> list[tuple[str, str]]:
    """Code and underlined text of each warning, those about what the base leaves unused apart."""
    found = checked(text).warnings
    return [(each.code, each.span.text) for each in found if each.span is not None and each.span.start >= len(BASE)]
