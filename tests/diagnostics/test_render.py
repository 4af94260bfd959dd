"""Caret text: the frame, and the caret under the right character whatever stands before it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serq_lab.diagnostics.diagnostic import Diagnostic, Label
from serq_lab.diagnostics.errors import ProgramError
from serq_lab.diagnostics.render import in_order, render
from serq_lab.source import SourceText, Span


def span_of(source: SourceText, part: str) -> Span:
    start = source.text.index(part)
    return Span(source, start, start + len(part))


def rows(source: SourceText, part: str, *labels: Label) -> list[str]:
    return render([Diagnostic("x", "wrong", span_of(source, part), labels)]).split("\n")


def test_the_whole_frame() -> None:
    source = SourceText("stage s : fifo;\nset a = 1\n\n\nrun s (a);\n", "two.sq")
    end = Span(source, source.text.index("\n\n"), source.text.index("\n\n"))
    fault = Diagnostic("x", 'expected ";"', span_of(source, "run"), (Label(end, "here"),), "put it there")
    assert render([fault]) == (
        'error: expected ";"\n'
        " --> two.sq:5:1\n"
        "  |\n"
        "2 | set a = 1\n"
        "  |          - here\n"
        "...\n"
        "5 | run s (a);\n"
        "  | ^^^\n"
        "hint: put it there"
    )


def test_neighbouring_lines_have_no_gap_and_numbers_are_right_aligned() -> None:
    source = SourceText("\n" * 8 + "first\nsecond\n")
    shown = rows(source, "second", Label(span_of(source, "first"), "before"))
    assert shown[2:] == ["   |", " 9 | first", "   | ----- before", "10 | second", "   | ^^^^^^"]


def test_several_marks_of_a_line_have_a_row_each() -> None:
    source = SourceText("f(1, )")
    assert rows(source, ")", Label(span_of(source, ","), "take it away"))[3:] == [
        "1 | f(1, )",
        "  |      ^",
        "  |    - take it away",
    ]


def test_a_label_in_another_text_has_its_own_excerpt() -> None:
    here, there = SourceText("f(1, 2)", "here.sq"), SourceText("\ndef f(x) = x;", "lib.sq")
    shown = rows(here, "f(1, 2)", Label(span_of(there, "f(x)"), "declared here"))
    assert shown[5:] == [" ::: lib.sq:2:5", "  |", "2 | def f(x) = x;", "  |     ---- declared here"]


def test_without_a_place_there_is_only_the_sentence() -> None:
    assert render([Diagnostic("x", "there is no file", None, (), "look again")]) == (
        "error: there is no file\nhint: look again"
    )


def test_a_warning_says_so() -> None:
    assert render([Diagnostic("x", "odd", None, severity="warning")]) == "warning: odd"


def test_faults_are_sorted_by_place_with_a_blank_line_between() -> None:
    source = SourceText("a b c")
    faults = [Diagnostic("x", part, span_of(source, part)) for part in "cab"]
    assert [fault.message for fault in in_order(faults)] == ["a", "b", "c"]
    assert render(faults).split("\n\n")[1].startswith("error: b")


def test_of_several_lines_the_first_is_underlined() -> None:
    source = SourceText("run a,\n    b (1);")
    assert rows(source, "a,\n    b")[3:] == ["1 | run a,", "  |     ^^"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("blank", ["\t", "  \t", "\t \t"])
def test_tabs_are_widened_alike_in_text_and_caret(end: str, blank: str) -> None:
    source = SourceText(f"let a = 1;{end}{blank}x{end}")
    text, caret = rows(source, "x")[3:]
    assert text.index("x") == caret.index("^")
    assert "\t" not in text + caret
    assert "\r" not in text


def test_wide_characters_take_two_columns_and_accents_none() -> None:
    source = SourceText("変数 e\u0301 x")
    assert rows(source, "x")[3:] == ["1 | 変数 e\u0301 x", "  |        ^"]
    assert rows(source, "変数")[4] == "  | ^^^^"


def test_the_end_of_the_text_is_pointed_at_behind_its_last_character() -> None:
    source = SourceText("session {")
    fault = Diagnostic("x", "unexpected end", Span(source, 9, 9))
    assert render([fault]).split("\n")[3:] == ["1 | session {", "  |          ^"]


def test_what_would_disturb_the_terminal_is_escaped() -> None:
    source = SourceText("a\x1b[31m \ud800 x", "na\x07me")
    shown = rows(source, "x")
    assert shown[1] == " --> na\\x07me:1:10"
    assert shown[3:] == ["1 | a\\x1b[31m \\ud800 x", "  | " + " " * 17 + "^"]


def test_what_an_encoding_cannot_show_is_escaped_and_underlined_as_wide() -> None:
    source = SourceText("set größe = ä;")
    fault = Diagnostic("x", "wrong", span_of(source, "größe"))
    shown = render([fault], encoding="ascii").split("\n")
    assert shown[3:] == [r"1 | set gr\xf6\xdfe = \xe4;", "  |     ^^^^^^^^^^^"]
    assert render([fault], encoding="latin-1") == render([fault])


@given(st.integers(0, 400), st.integers(0, 400), st.integers(1, 200))
def test_a_long_line_is_cut_to_a_window_round_the_caret(before: int, after: int, width: int) -> None:
    source = SourceText("." * before + "x" * width + "." * after)
    text, caret = rows(source, "x" * width)[3:]
    assert max(len(text), len(caret)) <= 4 + 100 + 6
    column = caret.index("^")
    assert text[column] == "x"
    assert text[column - 1] != "x"
    assert len(caret) <= len(text)


def test_between_the_two_characters_of_a_line_end_is_the_end_of_the_line() -> None:
    source = SourceText("let a\r\n")
    shown = render([Diagnostic("x", "wrong", Span(source, 6, 6))])
    assert shown.split("\n")[-1] == "  |      ^"


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=40), st.data())
def test_any_place_of_any_text_can_be_shown(text: str, data: st.DataObject) -> None:
    source = SourceText(text)
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, len(text)))
    shown = render([Diagnostic("x", "wrong", Span(source, start, stop))])
    assert "^" in shown.split("\n")[-1]


def test_the_frame_is_ascii() -> None:
    source = SourceText("let a = ;")
    render([Diagnostic("x", "wrong", span_of(source, ";"), (Label(span_of(source, "a"), "b"),), "c")]).encode("ascii")


def test_a_notebook_shows_the_caret_text_alone() -> None:
    source = SourceText("let a = ;", "cell")
    error = ProgramError([Diagnostic("x", "wrong", span_of(source, ";"))])
    assert error._render_traceback_() == str(error).split("\n")
    assert str(error).startswith("error: wrong\n --> cell:1:9\n")
