"""What messages share: quotes, lists of words, near misses."""

from __future__ import annotations

import pytest

from serq_lab.diagnostics.catalogue import (
    bad_number,
    did_you_mean,
    listed,
    quoted,
    text_too_long,
    unknown_character,
)
from serq_lab.source import SourceText, Span


def test_quotes_are_short_and_on_one_line() -> None:
    assert quoted("a +\n   b") == '"a + b"'
    assert quoted("x" * 100) == '"' + "x" * 37 + '..."'
    assert quoted("\x1b\ud800") == '"\\x1b\\ud800"'


def test_lists_read_as_a_sentence() -> None:
    assert listed(["a"]) == "`a`"
    assert listed(["a", "b"]) == "`a` or `b`"
    assert listed(["a", "b", "c"], "and") == "`a`, `b` and `c`"


@pytest.mark.parametrize(
    ("name", "hint"),
    [("sesion", 'did you mean "session"?'), ("POOL", 'did you mean "pool"?'), ("xyz", None)],
)
def test_near_misses(name: str, hint: str | None) -> None:
    assert did_you_mean(name, ["pool", "session", "stage"]) == hint
    assert did_you_mean(name, []) is None


@pytest.mark.parametrize(("text", "product"), [("3a", "`3 * a`"), ("2.5rate", "`2.5 * rate`")])
def test_a_number_with_letters_may_be_a_product(text: str, product: str) -> None:
    hint = bad_number(Span(SourceText(text), 0, len(text))).hint
    assert hint is not None
    assert product in hint


@pytest.mark.parametrize(("character", "part"), [("\u200b", "U+200B (zero width space)"), ("§", '"§"')])
def test_characters_are_named(character: str, part: str) -> None:
    assert part in unknown_character(Span(SourceText(character), 0, 1)).message


def test_the_size_of_a_text_is_said_in_bytes() -> None:
    assert "3.0 MB" in text_too_long(SourceText("é" * 1_500_000), 1_000_000).message
