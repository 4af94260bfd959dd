"""The links of the chapters and pages: those within the project are followed, those that leave it are listed.

In come the notebooks and the pages in Markdown; out go the links that lead nowhere, and `tutorial/links.txt`, which a
teacher gives to a program that has a network. ``python -m tests.tutorial.links`` writes that file anew; `test_links.py`
holds it to the pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import nbformat

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "tutorial"
PAGES = [ROOT / "README.md", *sorted(TUTORIAL.rglob("*.ipynb")), *sorted(TUTORIAL.rglob("*.md"))]
LIST = TUTORIAL / "links.txt"

CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.S | re.M)
TARGET = re.compile(r"\]\(\s*([^)\s]*)\s*\)")
BARE = re.compile(r"https?://[^\s)>\"'`]+")


class Link(NamedTuple):
    """Where a link stands, and what it leads to."""

    page: Path
    target: str


@cache
def prose(page: Path) -> str:
    """The text of a page, or of a notebook's cells of text."""
    if page.suffix != ".ipynb":
        return page.read_text(encoding="utf-8")
    cells = nbformat.read(page, as_version=nbformat.NO_CONVERT).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def links() -> Iterator[Link]:
    """All links of all pages, in their order; an address in the open counts as one, a program's text does not."""
    for page in PAGES:
        text = CODE.sub("", prose(page))
        targets = TARGET.findall(text)
        yield from (Link(page, target) for target in targets)
        yield from (Link(page, url) for url in BARE.findall(text) if url not in targets)


def anchors(page: Path) -> set[str]:
    """What may stand behind the ``#`` of a link to a page: its headings, as GitHub and Jupyter write them."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", prose(page), flags=re.S | re.M), re.M)
    plain = [re.sub(r"[`*_]", "", heading).strip() for heading in headings]
    jupyter = {heading.replace(" ", "-") for heading in plain}
    return jupyter | {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in plain}


def fault(link: Link) -> str:
    """What is wrong with a link within the project, or with the form of one that leaves it; empty if nothing is."""
    if "://" in link.target:
        is_whole = re.fullmatch(r"https://[\w.-]+\.[a-z]+(/[\w.~%+#?&=@:/()-]*)?", link.target)
        return "" if is_whole else "not an address"
    path, _, anchor = link.target.partition("#")
    page = (link.page.parent / path).resolve() if path else link.page
    if not page.exists():
        return "no such file"
    return f"no heading #{anchor}" if anchor and anchor not in anchors(page) else ""


def listing() -> str:
    """The addresses outside, one a line, each once."""
    return "".join(f"{url}\n" for url in sorted({link.target for link in links() if "://" in link.target}))


if __name__ == "__main__":
    LIST.write_text(listing(), encoding="utf-8")
