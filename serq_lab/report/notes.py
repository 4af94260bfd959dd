"""Notes: one plain sentence wherever the tables alone would mislead a reader.

In comes a `Report` with the `Records` behind it, out go `Note`s, in text lines that start with ``note:``. A kind of
note is one function here; it says nothing where there is nothing to say.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from serq_lab.kernel.records import Records
from serq_lab.report.estimates import LEAST_SAMPLES
from serq_lab.report.rows import Gauge, Observation
from serq_lab.report.steadiness import Growth
from serq_lab.report.text import decimal, shortest

if TYPE_CHECKING:
    from serq_lab.report.report import Report

WIDE_INTERVAL = 0.1
"""A half width above this share of the mean is worth a note."""

MOST_NAMES = 5
"""So many names are written out in a note; the others are counted."""


class Note(NamedTuple):
    """One sentence, and the last row that it speaks of: its table (``observe gauge stage pool``) and its label, both
    "" for a note on the whole run.
    """

    sentence: str
    table: str = ""
    row: str = ""

    def __str__(self) -> str:
        return f"note: {self.sentence}"


def report_notes(report: Report, records: Records, caps: Mapping[str, float]) -> list[Note]:
    """All notes of a run, in the order of the tables.

    Parameters
    ----------
    report : Report
    records : Records
        Those that the report was made from.
    caps : mapping of str to float
        Capacity of each family of pools, units.
    """
    observed = list(report.observe.values())
    growth = list(_growth(report.growth))
    return [
        *_few_samples(observed),
        *_wide_intervals([*observed, *report.gauge.values()], is_steady=not growth),
        *growth,
        *_turned_away(report, records, caps),
        *_stuck(report, caps),
        *_unused_pools(report),
    ]


def _few_samples(observations: Sequence[Observation]) -> Iterator[Note]:
    silent = [row.name for row in observations if row.count == 0]
    if silent:
        yield Note(f"nothing was observed as {_names(silent)} after the warm-up.", "observe", silent[-1])
    few = [row for row in observations if 0 < row.count < LEAST_SAMPLES]
    if few:
        counts = _listed([f'"{row.name}" ({row.count})' for row in few])
        yield Note(f"fewer than {LEAST_SAMPLES} samples, too few for an interval: {counts}.", "observe", few[-1].name)


def _wide_intervals(rows: Iterable[Observation | Gauge], *, is_steady: bool) -> Iterator[Note]:
    wide = [row for row in rows if math.isfinite(row.half_width) and 0 < WIDE_INTERVAL * abs(row.mean) < row.half_width]
    if wide:
        advice = "; a longer horizon would tell more" if is_steady else ""
        figures = [
            f'"{row.name}" ({decimal(row.mean, 4)} with a half width of {decimal(row.half_width, 4)})' for row in wide
        ]
        sentence = f"the interval is wider than a tenth of the mean: {_listed(figures)}{advice}."
        yield Note(sentence, "observe" if isinstance(wide[-1], Observation) else "gauge", wide[-1].name)


def _growth(growth: Growth | None) -> Iterator[Note]:
    if growth is None:
        return
    if growth.second > growth.first:
        yield Note(
            "the number of live sessions was still growing at the end "
            f"({decimal(growth.first, 1)} on average over the first half of the measured time, "
            f"{decimal(growth.second, 1)} over the second): the means depend on the horizon."
        )
    else:
        yield Note(
            "the number of live sessions had not settled by the end: it swung between "
            f"{decimal(growth.least, 1)} and {decimal(growth.most, 1)}, as slowly as the run is long, and may be "
            "growing: the means depend on the horizon."
        )


def _turned_away(report: Report, records: Records, caps: Mapping[str, float]) -> Iterator[Note]:
    for row, pool in enumerate(report.pool.values()):
        if pool.rejected:
            least = f"{records.pools.rejected_least[row]:.6g}"
            most = f"{records.pools.rejected_most[row]:.6g}"
            asked = f"{least} units" if least == most else f"between {least} and {most} units"
            who = "they" if pool.rejected > 1 else "it"
            cap = shortest(caps[pool.name])
            yield Note(
                f"{pool.rejected} of {_count(report.arrivals, 'session')} {_were(pool.rejected)} turned away "
                f'at pool "{pool.label}": {who} asked for {asked}, its capacity is {cap}; '
                "the means describe the others.",
                "pool",
                pool.label,
            )


def _stuck(report: Report, caps: Mapping[str, float]) -> Iterator[Note]:
    for pool in report.pool.values():
        if pool.stuck:
            yield Note(
                f"{_count(pool.stuck, 'session')} {_were(pool.stuck)} stuck at pool "
                f'"{pool.label}": preempted again without having got further than the time before; '
                f"its capacity of {shortest(caps[pool.name])} may be too small for what one session grows to.",
                "pool",
                pool.label,
            )


def _unused_pools(report: Report) -> Iterator[Note]:
    unused = [
        pool.label
        for pool in report.pool.values()
        if pool.admissions == 0 and pool.rejected == 0 and pool.mean_cached == 0
    ]
    if unused:
        yield Note(f"nobody was admitted to {_names(unused, 'pool')}.", "pool", unused[-1])


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _names(names: Sequence[str], word: str = "") -> str:
    quoted = _listed([f'"{name}"' for name in names])
    return f"{word if len(names) == 1 else word + 's'} {quoted}" if word else quoted


def _listed(parts: Sequence[str]) -> str:
    hidden = len(parts) - MOST_NAMES
    return ", ".join(parts[:MOST_NAMES]) + (f" and {hidden} more" if hidden > 0 else "")
