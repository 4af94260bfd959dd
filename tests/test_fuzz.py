"""Whatever stands in a text, compiling it gives a program or faults of the text, never anything else."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import serq_lab
from serq_lab.diagnostics.diagnostic import Diagnostic
from serq_lab.diagnostics.errors import ProgramError

TESTS = Path(__file__).parent
PATHS = sorted([*TESTS.rglob("*.sq"), *TESTS.parent.joinpath("tutorial", "programs").glob("*.sq")])
LONGEST = 5000  # characters: the corpus has some texts that are long on purpose
TEXTS = [text for path in PATHS if len(text := path.read_text(encoding="utf-8")) <= LONGEST]

_PIECE = re.compile(r"\s+|\w+|<=|>=|==|!=|&&|\|\||.", re.DOTALL)
PIECES = sorted({piece for text in TEXTS for piece in _PIECE.findall(text) if not piece.isspace()})
ODD_PIECES = ["", "\0", "\t", "\r\n", "\ufeff", '"', "/*", "*/", "1e999", "1e", "..", "λ", "#", "()", "{}", "-" * 200]

place = st.floats(0, 1, exclude_max=True)  # of a text of any length


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A program of the corpus with a few of its words and signs taken away, repeated, exchanged or replaced."""
    pieces = _PIECE.findall(draw(st.sampled_from(TEXTS)))
    donor = _PIECE.findall(draw(st.sampled_from(TEXTS)))
    for _ in range(draw(st.integers(1, 4))):
        start = int(draw(place) * (len(pieces) + 1))
        stop = min(start + draw(st.integers(0, 12)), len(pieces))
        other = int(draw(place) * (len(donor) + 1))
        pieces[start:stop] = draw(
            st.one_of(
                st.just([]),
                st.just(pieces[start:stop] * 2),
                st.just(pieces[start:stop][::-1]),
                st.just(donor[other : other + 12]),
                st.lists(st.sampled_from(PIECES + ODD_PIECES), min_size=1, max_size=3),
            )
        )
    return "".join(pieces)


def compiles_or_says_why(text: str) -> None:
    """A program that compiles can be shown and lowered; a fault has words and, if any, a place in its text."""
    try:
        program = serq_lab.compile(text, name="fuzz.sq")
    except ProgramError as error:
        faults, shown = error.diagnostics, str(error)
    else:
        assert program.source == text
        assert {fault.code for fault in not_lowered(program)} <= {"cannot-run"}
        return
    assert faults
    for fault in faults:
        assert fault.message
        assert fault.span is None or 0 <= fault.span.start <= fault.span.stop <= len(fault.span.source.text)
    assert shown.startswith("error: ")


def not_lowered(program: serq_lab.Program) -> tuple[Diagnostic, ...]:
    """Why a program cannot be run, if so."""
    try:
        program.lowered()
    except ProgramError as error:
        return error.diagnostics
    return ()


@settings(max_examples=300, deadline=None)
@given(mutated())
def test_mutated_programs(text: str) -> None:
    compiles_or_says_why(text)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([*PIECES, *ODD_PIECES, " ", "\n"]), max_size=60).map(" ".join))
def test_words_in_any_order(text: str) -> None:
    compiles_or_says_why(text)
