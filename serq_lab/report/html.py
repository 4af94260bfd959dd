"""A report as HTML for notebooks: the tables of `text.py` with units in their headings, notes below their rows.

In comes a `Report`, out goes HTML with its own style and nothing else: no script, no file to fetch. Colours come from
the page, so that a light and a dark theme both read well; what a colour says, a word says too. `table`, `page` and
`STYLE` are used by `notebook/` as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from serq_lab.report.text import report_tables, run_line

if TYPE_CHECKING:
    from serq_lab.report.report import Report

UNITS = {
    "observe": {"count": "samples"},
    "stage": {
        "number": "jobs", "util": "share", "done": "jobs", "thru": "jobs / time", "wait": "time", "service": "time",
    },
    "step": {
        "prefill": "share", "decode": "share", "mixed": "share", "decodes": "jobs", "batch": "jobs",
        "duration": "time", "gap": "time", "gap p50": "time", "gap p99": "time",
    },
    "pool": {
        "used": "units", "cached": "units", "queue": "sessions", "holders": "holds", "wait": "time",
        "evict(n)": "entries", "evict(u)": "units", "rej": "sessions", "stuck": "sessions",
    },
}  # fmt: skip
"""The unit of each column; an observation and a gauge have that of what the program observes."""

MEANINGS = {
    "95% CI": "half of the 95% interval of the mean",
    "cv2": "squared coefficient of variation: variance over squared mean; 1 for an exponential",
    "p99": "99 of 100 samples are not above this",
    "util": "share of the time that a server was busy, on average over the servers",
    "thru": "throughput: jobs done in a unit of time",
    "cached": "units kept for sessions that come back",
    "holders": "holds inside the pool, on average",
    "admits": "sessions admitted",
    "rej": "sessions turned away because they could never fit",
    "stuck": "sessions preempted again without having got further than the time before",
    "evict(n)": "cache entries evicted",
    "evict(u)": "units evicted",
}
"""What a heading tells when the pointer rests on it."""

STYLE = """
.serq {font-size: 13px; line-height: 1.45; color: inherit; max-width: 100%; overflow-x: auto}
.serq table {border-collapse: collapse; margin: 0 0 10px 0; border: 0; font-size: inherit; table-layout: auto}
.serq th, .serq td {padding: 3px 12px 3px 0; text-align: right; white-space: nowrap; border: 0; background: none}
.serq thead th {border-bottom: 1px solid rgba(128, 128, 128, .6); vertical-align: bottom; font-weight: 600}
.serq table tbody tr:nth-child(n) {background: none; border-bottom: 1px solid rgba(128, 128, 128, .2)}
.serq th:first-child, .serq td:first-child {text-align: left; min-width: 90px}
.serq td {font-variant-numeric: tabular-nums}
.serq th.serq-words, .serq td.serq-words {text-align: left; white-space: normal; max-width: 46em}
.serq small {font-weight: normal; opacity: .8; font-size: 11px}
.serq p {margin: 0 0 10px 0}
.serq .serq-note {text-align: left; white-space: normal; max-width: 60em; padding: 3px 8px;
  border-left: 4px solid #c77700}
.serq .serq-note div {width: 0; min-width: 100%}
.serq pre.serq-error {margin: 0 0 10px 0; padding: 6px 10px; border-left: 4px solid #d1242f; background: none;
  color: inherit; white-space: pre; overflow-x: auto; font-family: monospace}
""".strip()


def report_html(report: Report) -> str:
    """The run line, the tables and the notes."""
    notes: dict[tuple[str, str], list[str]] = {}
    for note in report.notes_by_row:
        notes.setdefault((note.table, note.row), []).append(str(note))
    parts = [f"<p>{escape(run_line(report))}</p>", *map(note_html, notes.get(("", ""), []))]
    for header, rows in report_tables(report, "±"):
        kind = header[0]
        below = {row[0]: notes.get((kind, row[0]), []) for row in rows}
        parts.append(table(header, rows, units=UNITS.get(kind, {}), notes=below))
    return page(*parts)


def page(*parts: str) -> str:
    """Pieces of HTML with the style that they need."""
    return f'<div class="serq"><style>{STYLE}</style>{"".join(parts)}</div>'


def note_html(note: str) -> str:
    return f'<p class="serq-note">{escape(note)}</p>'


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    units: Mapping[str, str] | None = None,
    notes: Mapping[str, Sequence[str]] | None = None,
    words: Sequence[str] = (),
) -> str:
    """A table of cells as text.

    Parameters
    ----------
    header : sequence of str
        The headings of the columns.
    rows : sequence of sequence of str
        The first cell is the row's label. Empty text without rows.
    units : mapping of str to str
        The unit of a column, by its heading.
    notes : mapping of str to sequence of str
        What to say below a row, by its label.
    words : sequence of str
        The headings of columns that hold words, and no numbers.
    """
    if not rows:
        return ""
    headings = "".join(_heading(name, (units or {}).get(name, ""), name in words) for name in header)
    body = []
    for row in rows:
        cells = [_cell(cell, name in words) for name, cell in zip(header[1:], row[1:], strict=True)]
        body.append(f'<tr><th scope="row">{escape(row[0])}</th>{"".join(cells)}</tr>')
        body += [
            f'<tr><td class="serq-note" colspan="{len(header)}"><div>{escape(note)}</div></td></tr>'
            for note in (notes or {}).get(row[0], [])
        ]
    return f"<table><thead><tr>{headings}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _heading(name: str, unit: str, is_words: bool) -> str:
    meaning = f' title="{escape(MEANINGS[name])}"' if name in MEANINGS else ""
    below = f"<br><small>{escape(unit)}</small>" if unit else ""
    style = ' class="serq-words"' if is_words else ""
    return f'<th scope="col"{style}{meaning}>{escape(name)}{below}</th>'


def _cell(text: str, is_words: bool) -> str:
    return f'<td class="serq-words">{escape(text)}</td>' if is_words else f"<td>{escape(text)}</td>"
