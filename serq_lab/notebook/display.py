"""HTML of a program: what it is made of, for `Program._repr_html_`.

In comes a `Program`; out goes HTML in the style of `report/html.py`, without script or assets.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from serq_lab.report.html import note_html, page, table
from serq_lab.report.text import shortest

if TYPE_CHECKING:
    from serq_lab.pipeline import Program
    from serq_lab.source import Span

LONGEST = 90  # characters of a declaration


def program_html(program: Program) -> str:
    """What a program is made of: lets with their comments, pools, stages, arrivals and the run."""
    model = program.model
    lets = [
        [let.name, shortest(value), let.comment] for let, value in zip(model.lets, model.constants.lets, strict=True)
    ]
    pools = [
        [pool.name, shortest(cap), one_line(pool.span)]
        for pool, cap in zip(model.pools, model.constants.caps, strict=True)
    ]
    stages = [[stage.name, one_line(stage.span)] for stage in model.stages]
    others = [["arrivals", one_line(model.arrivals.span)], ["run", one_line(model.settings.span)]]
    if model.observations:
        others.append(["observed", ", ".join(model.observations)])
    return page(
        f"<p><strong>Program {escape(program.name)}</strong></p>",
        table(["let", "value", "what it is"], lets, words=["what it is"]),
        table(["pool", "capacity", "declared"], pools, units={"capacity": "units"}, words=["declared"]),
        table(["stage", "declared"], stages, words=["declared"]),
        table(["", "as written"], others, words=["as written"]),
        *(note_html(f"warning: {warning.message}") for warning in program.warnings),
    )


def one_line(span: Span) -> str:
    """A piece of the program on one line, and not too long."""
    text = " ".join(span.text.split())
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
