"""A report as text: the run line, the tables and the notes, laid out as section 10 of `LANGUAGE.md` says.

In comes a `Report`, out goes text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from serq_lab.report.rows import Gauge, Observation, Pool, Stage

if TYPE_CHECKING:
    from serq_lab.report.report import Report

OBSERVE_HEADER = ("observe", "count", "mean", "95% CI", "cv2", "p99")
GAUGE_HEADER = ("gauge", "mean", "95% CI", "min", "max")
STAGE_HEADER = ("stage", "number", "util", "done", "thru", "wait", "service", "iters")
STEP_HEADER = (
    "step", "prefill", "decode", "mixed", "decodes", "batch", "duration", "gap", "gap p50", "gap p99",
)  # fmt: skip
POOL_HEADER = (
    "pool", "used", "cached", "queue", "holders", "wait", "admits",
    "evict(n)", "evict(u)", "preempt", "spill", "rej", "stuck",
)  # fmt: skip


Cells = Sequence[str]


def report_text(report: Report, *, notes: bool, plus_minus: str) -> str:
    """The whole text, without a newline at its end."""
    tables = [table(header, rows) for header, rows in report_tables(report, plus_minus)]
    parts = [run_line(report), *tables, "\n".join(report.notes) if notes else ""]
    return "\n\n".join(part for part in parts if part)


def report_tables(report: Report, plus_minus: str) -> list[tuple[Cells, list[list[str]]]]:
    """The tables of a report in their order, each as its heading and its rows; the first cell is the row's label."""
    return [
        (OBSERVE_HEADER, [_observe_cells(row, plus_minus) for row in report.observe.values()]),
        (GAUGE_HEADER, [_gauge_cells(row, plus_minus) for row in report.gauge.values()]),
        (STAGE_HEADER, [_stage_cells(row) for row in report.stage.values()]),
        (STEP_HEADER, [_step_cells(row) for row in report.step_stages]),
        (POOL_HEADER, [_pool_cells(row) for row in report.pool.values()]),
    ]


def run_line(report: Report) -> str:
    """``run: horizon 100000 end 100000 warmup 5000 ... mean live 0.871``."""
    return (
        f"run: horizon {shortest(report.horizon)} end {shortest(report.end)} "
        f"warmup {shortest(report.warmup)} seed {report.seed} events {report.events} "
        f"arrivals {report.arrivals} ended {report.ended} turns {report.turns} "
        f"mean live {decimal(report.mean_live, 3)}"
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns two spaces apart, a rule below the header; the first is left aligned, the others right.

    Empty text without rows.
    """
    if not rows:
        return ""
    widths = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]
    rule = ["-" * width for width in widths]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        for cells in (header, rule, *rows)
    )


def decimal(value: float, places: int) -> str:
    """A number with that many decimals; ``NaN``, ``inf`` and ``-inf`` as such, and no ``-0.000``."""
    if not math.isfinite(value):
        return shortest(value)
    text = f"{value:.{places}f}"
    return text[1:] if text.startswith("-") and float(text) == 0 else text


def shortest(value: float) -> str:
    """A number as short as it can be written exactly, whole numbers without a point."""
    if math.isnan(value):
        return "NaN"
    if float(value).is_integer() and abs(value) < 1e15:
        return str(int(value))
    return repr(float(value))


def _observe_cells(row: Observation, plus_minus: str) -> list[str]:
    return [
        row.name,
        str(row.count),
        decimal(row.mean, 4),
        plus_minus + decimal(row.half_width, 4),
        decimal(row.cv2, 3),
        decimal(row.p99, 4),
    ]


def _gauge_cells(row: Gauge, plus_minus: str) -> list[str]:
    interval = plus_minus + decimal(row.half_width, 4)
    return [row.name, decimal(row.mean, 4), interval, decimal(row.min, 4), decimal(row.max, 4)]


def _stage_cells(row: Stage) -> list[str]:
    return [
        row.label,
        decimal(row.mean_number, 3),
        decimal(row.utilization, 3),
        str(row.completed),
        decimal(row.throughput, 4),
        decimal(row.mean_wait, 4),
        decimal(row.mean_service, 4),
        str(row.iterations),
    ]


def _step_cells(row: Stage) -> list[str]:
    return [
        row.label,
        decimal(row.prefill_only, 3),
        decimal(row.decode_only, 3),
        decimal(row.mixed, 3),
        decimal(row.mean_decodes, 3),
        decimal(row.mean_decode_batch, 3),
        decimal(row.mean_decode_step, 4),
        decimal(row.mean_itl, 4),
        decimal(row.itl_p50, 4),
        decimal(row.itl_p99, 4),
    ]


def _pool_cells(row: Pool) -> list[str]:
    return [
        row.label,
        decimal(row.mean_used, 1),
        decimal(row.mean_cached, 1),
        decimal(row.mean_queue, 3),
        decimal(row.mean_holders, 3),
        decimal(row.mean_wait, 4),
        str(row.admissions),
        str(row.evicted_entries),
        decimal(row.evicted_units, 0),
        str(row.preemptions),
        str(row.spills),
        str(row.rejected),
        str(row.stuck),
    ]
