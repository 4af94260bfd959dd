"""The links of the chapters and pages lead somewhere, as far as that can be known without a network."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.tutorial.links import LIST, PAGES, ROOT, Link, anchors, fault, links, listing

CHAPTERS = sorted(page for page in PAGES if page.suffix == ".ipynb")


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_its_links_lead_somewhere(page: Path) -> None:
    assert [(link.target, fault(link)) for link in links() if link.page == page and fault(link)] == []


@pytest.mark.parametrize(
    ("target", "wrong"),
    [
        ("https://arxiv.org/abs/2309.06180", ""),
        ("https:/arxiv.org", "no such file"),
        ("http://arxiv.org", "not an address"),
        ("https://arxiv", "not an address"),
        ("tutorial/02-memory.ipynb", ""),
        ("tutorial/02-memry.ipynb", "no such file"),
        ("tutorial/reference/errors.md#unknown-name", ""),
        ("tutorial/reference/errors.md#unknown-nam", "no heading #unknown-nam"),
        ("#the-lab", ""),
        ("#The-lab", ""),
        ("#the-bal", "no heading #the-bal"),
    ],
)
def test_a_fault_is_seen(target: str, wrong: str) -> None:
    assert fault(Link(ROOT / "README.md", target)) == wrong


def test_headings_within_programs_are_none() -> None:
    errors = next(page for page in PAGES if page.name == "errors.md")
    assert "unknown-name" in anchors(errors)
    assert not any(anchor.startswith("#") for anchor in anchors(errors))


def test_the_list_of_addresses_is_up_to_date() -> None:
    assert LIST.read_text(encoding="utf-8") == listing(), "run `python -m tests.tutorial.links`"


def test_each_chapter_leads_to_the_next() -> None:
    for chapter, following in pairwise(CHAPTERS):
        assert following.name in [link.target for link in links() if link.page == chapter]


def test_sources_of_programs_are_those_of_one_version() -> None:
    """A line of a branch that moves on is another line tomorrow."""
    sources = [
        link.target for link in links() if re.match(r"https://(github\.com/vllm-project/|docs\.vllm\.ai/)", link.target)
    ]
    assert sources
    assert [url for url in sources if "/v0.8.5/" not in url] == []
