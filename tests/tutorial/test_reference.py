"""The reference pages: up to date, every example run, every code of an error explained."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import mistune
import pytest
from playwright.sync_api import sync_playwright

import serq_lab
from serq_lab.kernel.records import FailureKind
from serq_lab.semantics.constants import RULES
from tests.notebook.browser.lab import browser_path
from tests.tutorial.reference_pages import PAGES, Example, examples, filled, found_in, programs_of

SOURCES = Path(__file__).parents[2] / "serq_lab"
EXAMPLES = examples()
IN_PARTS = {
    "unknown-": ("name", "function", "distribution", "pool", "stage", "statement"),
    "not-a-": ("pool", "stage"),
    "unused-": ("pool", "stage"),
    "bad-": tuple(rule.replace(" ", "-") for rule in RULES),
}
"""Codes that the sources put together, by their first part."""


def codes_of_the_sources() -> set[str]:
    """The codes that the sources hand to a diagnostic, whole ones and those put together."""
    found = {first + last for first, lasts in IN_PARTS.items() for last in lasts}
    found |= {"run-" + kind.name.lower().replace("_", "-") for kind in FailureKind}
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args and _makes_a_fault(node.func):
                found |= {part.value for part in [node.args[0]] if isinstance(part, ast.Constant)}
                if isinstance(node.args[0], ast.BinOp):
                    assert isinstance(node.args[0].left, ast.Constant)
                    assert node.args[0].left.value in IN_PARTS
    return found


def _makes_a_fault(function: ast.expr) -> bool:
    if isinstance(function, ast.Attribute):
        return function.attr in ("error", "warning") and ast.unparse(function.value).endswith("faults")
    return isinstance(function, ast.Name) and function.id in ("Diagnostic", "refusal")


def test_every_code_has_its_section() -> None:
    codes = [example.code for example in EXAMPLES]
    assert len(codes) == len(set(codes))
    assert set(codes) == codes_of_the_sources()
    headings = re.findall(r"^### ", (PAGES / "errors.md").read_text(encoding="utf-8"), re.M)
    assert len(headings) == len(codes)


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.code for example in EXAMPLES])
def test_the_wrong_program_has_this_fault_alone_and_the_right_one_none(example: Example) -> None:
    assert {fault.code for fault in found_in(example.wrong, example.language)} == {example.code}
    assert found_in(example.right, example.language) == ()


@pytest.mark.parametrize("path", sorted(PAGES.glob("*.md")), ids=lambda path: path.stem)
def test_what_is_generated_is_up_to_date(path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    assert filled(page) == page, "run `python -m tests.tutorial.reference_pages`"


PROGRAMS = [
    (path.stem, text)
    for path in sorted(PAGES.glob("*.md"))
    if path.stem != "errors"
    for text in programs_of(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("page", "text"), PROGRAMS, ids=[page for page, _ in PROGRAMS])
def test_programs_on_the_other_pages_run(page: str, text: str) -> None:
    program = serq_lab.compile(text)
    assert program.warnings == ()
    report = program.run()
    assert report.ended > 0
    assert all(row.count > 0 for row in report.observe.values())
    assert [note for note in report.notes if "turned away" in note or "growing" in note] == []


def test_every_page_is_in_the_list_of_pages() -> None:
    listed = re.findall(r"\]\(([a-z-]+\.md)\)", (PAGES / "README.md").read_text(encoding="utf-8"))
    assert set(listed) == {path.name for path in PAGES.glob("*.md")} - {"README.md"}


@pytest.mark.skipif(browser_path() is None, reason="no chromium here: `apt-get install chromium`")
def test_the_cheat_sheet_prints_on_one_page() -> None:
    """At 70% of the size on a screen, as anybody would print it: its longest line then fits the paper too."""
    html = mistune.create_markdown(plugins=["table"])((PAGES / "cheat-sheet.md").read_text(encoding="utf-8"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1000, "height": 1400})
        page.set_content(f"<body>{html}</body>")
        widest = page.evaluate("Math.max(...[...document.querySelectorAll('pre')].map(e => e.scrollWidth))")
        pdf = page.pdf(format="A4", scale=0.7, margin={"left": "10mm", "right": "10mm"})
        browser.close()
    assert len(re.findall(rb"/Type\s*/Page[^s]", pdf)) == 1
    assert 0.7 * widest <= 190 / 25.4 * 96  # millimetres of paper to pixels
