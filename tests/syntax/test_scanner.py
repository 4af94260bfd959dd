"""Words, numbers, strings and signs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serq_lab.source import SourceText
from serq_lab.syntax.scanner import scan


def kinds(text: str) -> list[tuple[str, str]]:
    return [(token.kind, token.value) for token in scan(SourceText(text)).tokens[:-1]]


@pytest.mark.parametrize(
    "text", ["10", "1_000", ".5", "5.", "1e3", "1.5E-3", "2e+5", "1_", "1__0", "1._5", "5.e3", "009"]
)
def test_numbers(text: str) -> None:
    assert kinds(text) == [("number", text)]


@pytest.mark.parametrize("text", ["1e", "1e+", "0x10", "3a", "1.2.3", "1..2", ".5.5", "1e5x", "1e1_0", "5.a", "3é"])
def test_what_only_looks_like_a_number_is_one_token(text: str) -> None:
    assert kinds(text) == [("bad_number", text)]


@pytest.mark.parametrize("text", ["a", "_", "__a1", "é", "aé", "größe", "変数", "Ω2", "ªb", "a²"])
def test_names(text: str) -> None:
    assert kinds(text) == [("word", text)]


@pytest.mark.parametrize("text", ["%", "$", "٣", "𝟏", "\u200b", "·", "'", "#", "&", "|", "."])
def test_what_belongs_to_no_token(text: str) -> None:
    assert kinds(text) == [("unknown", text)]


def test_signs_are_as_long_as_they_can_be() -> None:
    text = "<= < >= > == = != ! && || ? : ~ ^ + - * / ( ) [ ] { } , ;"
    assert kinds(text.replace(" ", "\t")) == [("sign", sign) for sign in text.split()]
    assert [value for _, value in kinds("a<=-b&&!c")] == ["a", "<=", "-", "b", "&&", "!", "c"]


def test_strings_end_with_their_line() -> None:
    assert kinds('"a b" "c;\nd') == [("string", '"a b"'), ("open_string", '"c;'), ("word", "d")]


def test_comments_are_kept_apart() -> None:
    found = scan(SourceText("a // one\nb /* two\n// */ c /* /* */ d"))
    assert [comment.text for comment in found.comments] == ["// one", "/* two\n// */", "/* /* */"]
    assert [token.value for token in found.tokens] == ["a", "b", "c", "d", ""]
    assert found.open_comment is None


def test_an_open_comment_ends_the_text_at_its_start() -> None:
    found = scan(SourceText("a; /* b"))
    assert found.open_comment is not None
    assert (found.open_comment.start, found.open_comment.text) == (3, "/*")
    assert [token.value for token in found.tokens] == ["a", ";", ""]


@pytest.mark.parametrize("blank", [" ", "\t", "\r\n", "\x0b", "\x0c", "\xa0", "\u2028", "\u3000"])
def test_blanks(blank: str) -> None:
    assert [value for _, value in kinds(f"a{blank}+{blank}1")] == ["a", "+", "1"]


def test_the_end_stands_behind_the_last_token() -> None:
    assert scan(SourceText("a ;  // x\n\n")).tokens[-1].span.start == 3
    assert scan(SourceText("")).tokens[-1].span.start == 0
    assert kinds("\ufefflet") == [("word", "let")]


@given(st.text(max_size=60))
def test_every_character_is_in_one_token_or_comment_or_blank(text: str) -> None:
    found = scan(SourceText(text))
    if found.open_comment is None:
        pieces = [token.span for token in found.tokens] + [comment.span for comment in found.comments]
        covered = {offset for span in pieces for offset in range(span.start, span.stop)}
        assert sum(span.stop - span.start for span in pieces) == len(covered)
        assert all(text[offset].isspace() or text[offset] == "\ufeff" for offset in set(range(len(text))) - covered)
