"""HTML of reports and programs: what it says, and what it must not hold."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

import serq_lab
from tests.notebook.programs import MEMORY, SMALL
from tests.report import hand_made

VOID = {"br", "img", "meta"}


class Reader(HTMLParser):
    """Checks that tags close in order, and collects words, tags and attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)


def assert_is_plain(html: str) -> Reader:
    """No script, no event handler, nothing to fetch."""
    reader = Reader(html)
    assert "script" not in reader.tags
    assert [name for name, _ in reader.attributes if name.startswith("on")] == []
    assert not re.search(r"https?:|url\(|@import|src=(?!\"data:)", html)
    return reader


def test_a_report_has_both_forms() -> None:
    report = serq_lab.load(MEMORY).run()
    reader = assert_is_plain(report._repr_html_())
    for words in ("admit_wait", "0.0947", "±0.0050", "mem", "units", "jobs / time", "run: horizon 100000 end 100000"):
        assert any(words in text for text in reader.words), words
    text = report.to_text()
    cells = {word for word in reader.words if re.fullmatch(r"[\d.]+", word)}
    assert cells <= set(text.split())


def test_a_note_stands_below_its_row() -> None:
    report = serq_lab.compile(SMALL).run()
    words = Reader(report.to_html()).words
    at = words.index("mem")
    below = next(index for index, word in enumerate(words) if word.startswith("note: 2 of 6 sessions"))
    assert at < below
    assert "server" not in words[at:below]
    assert words.count(words[below]) == 1


def test_a_note_on_several_rows_stands_below_the_last_of_them() -> None:
    words = Reader(serq_lab.compile(SMALL).run().to_html()).words
    few = next(word for word in words if word.startswith("note: fewer than 40 samples"))
    assert '"got"' in few
    assert '"gone"' in few
    assert words.index("got") < words.index("gone") < words.index(few) < words.index("mem")


def test_each_note_of_the_text_is_in_the_html() -> None:
    rows = hand_made.pool_records(1, admissions=[3], stuck=[1])
    report = hand_made.report(pools=[hand_made.pool("kv")], pool_rows=rows)
    assert report.notes
    words = Reader(report.to_html()).words
    assert all(note in words for note in report.notes)


def test_a_program_shows_its_parts() -> None:
    program = serq_lab.load(MEMORY)
    words = " ".join(assert_is_plain(program._repr_html_()).words)
    for wanted in (
        "Lambda 0.8 arrivals per second",
        "C 10 units of memory",
        "mem 10",
        "fifo(4)",
        "admit_wait, response",
    ):
        assert wanted in words


def test_names_and_texts_are_escaped() -> None:
    program = serq_lab.compile("let C = 1; // <b>&\n" + SMALL.replace("let C = 4;", "let D = C;"), name="<i>")
    html = program._repr_html_()
    assert "<b>" not in html
    assert "<i>" not in html
    assert "&lt;b&gt;&amp;" in html


@pytest.mark.parametrize("shown", ["report", "program"])
def test_the_same_again_is_the_same_text(shown: str) -> None:
    def html() -> str:
        program = serq_lab.compile(SMALL)
        return program._repr_html_() if shown == "program" else program.run()._repr_html_()

    assert html() == html()
    assert "0x" not in html()
