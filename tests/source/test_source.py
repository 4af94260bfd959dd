"""Lines and columns, whatever the line ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serq_lab.source import SourceText, Span


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_positions_count_from_one_with_any_line_end(end: str) -> None:
    source = SourceText(end.join(["let a = 1;", "", "\tlet b = 2;"]))
    assert source.n_lines == 3
    assert source.position(0) == (1, 1)
    assert source.position(source.text.index("b")) == (3, 6)
    assert [source.line(number) for number in (1, 2, 3)] == ["let a = 1;", "", "\tlet b = 2;"]


def test_a_part_of_a_cell_counts_lines_as_the_cell_does() -> None:
    source = SourceText("let a = 1;\nlet b = 2;\n", "cell", first_line=2)
    assert source.position(source.text.index("b")) == (3, 5)
    assert [source.line(number) for number in (2, 3, 4)] == ["let a = 1;", "let b = 2;", ""]
    assert Span(source, 0, 3).line == 2


def test_the_end_of_the_text_has_a_position() -> None:
    assert SourceText("").position(0) == (1, 1)
    assert SourceText("ab").position(2) == (1, 3)
    assert SourceText("ab\n").position(3) == (2, 1)


def test_form_feeds_and_the_like_end_no_line() -> None:
    assert SourceText("a\x0cb\x85c\u2028d").n_lines == 1


@given(st.text(alphabet="ab\n\r", max_size=30))
def test_lines_and_positions_agree(text: str) -> None:
    source = SourceText(text)
    for offset, character in enumerate(text):
        line, column = source.position(offset)
        if character not in "\r\n":
            assert source.line(line)[column - 1] == character


def test_spans_join_and_know_their_place() -> None:
    source = SourceText("run a,\n  b (w);", "two.sq")
    first, last = Span(source, 4, 5), Span(source, 9, 10)
    joined = first.to(last)
    assert (first.text, last.text, joined.text) == ("a", "b", "a,\n  b")
    assert (joined.line, joined.column, last.line, last.column) == (1, 5, 2, 3)


def test_a_long_text_is_cut_into_lines_at_once() -> None:
    source = SourceText("let a = 1;\n" * 100_000)
    assert source.position(len(source.text)) == (100_001, 1)
