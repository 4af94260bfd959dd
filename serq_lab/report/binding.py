"""What a run was short of: the place where its sessions waited.

In comes a `Report` with its `Model`; out goes one word for `Report.binds`, read by sweeps and their pictures.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from serq_lab.report.rows import Pool, Stage
from serq_lab.semantics import model as checked

if TYPE_CHECKING:
    from serq_lab.report.report import Report

LITTLE_WAITING = 0.1
"""Of the live sessions: while fewer wait, nothing is short."""

FULL = 0.9
"""A stage whose servers are this busy is short of them, wherever its sessions queue."""


def binding(report: Report, model: checked.Model, servers: Mapping[str, int]) -> str:
    """What kept the sessions of a run waiting.

    Parameters
    ----------
    report : Report
    model : Model
        The program, for the kinds of its stages.
    servers : mapping of str to int
        How many servers each family of fifo stages has.

    Returns
    -------
    str
        ``arrivals`` (or ``population``, where it is given) while less than a tenth of the live sessions wait;
        else ``servers of "S"`` for the fullest stage whose servers are at least 90% busy; else the place with the
        most waiting sessions: ``memory of "p"``, ``slots of "p"`` where every holder has one unit, ``servers of
        "S"``, or ``budget of "S"`` for a step stage.

    Notes
    -----
    How many wait, on average, is at a pool its queue, at a fifo stage throughput times wait (Little's law), at a ps
    stage the sessions beside the one that would be alone, at a step stage those present that neither decode nor are
    the one whose prefill is in the iteration.
    """
    kinds = {family.name: family.kind for family in model.stages}
    stages, pools = list(report.stage.values()), list(report.pool.values())
    waiting = {_word(pool): pool.mean_queue for pool in pools}
    for stage in stages:
        word = "budget" if kinds[stage.name] == "step" else "servers"
        waiting[f'{word} of "{stage.label}"'] = _waiting_at(stage, kinds[stage.name])
    if not sum(waiting.values()) >= LITTLE_WAITING * report.mean_live > 0:
        return "arrivals" if model.arrivals.process in ("poisson", "renewal", "none") else "population"
    full = dict(_full_stages(stages, kinds, servers))
    scores = full or waiting
    return max(scores, key=scores.__getitem__)


def _word(pool: Pool) -> str:
    counts_slots = math.isclose(pool.mean_used, pool.mean_holders) and pool.mean_used > 0
    return f'{"slots" if counts_slots else "memory"} of "{pool.label}"'


def _waiting_at(stage: Stage, kind: str) -> float:
    if kind == "fifo":
        return stage.throughput * stage.mean_wait if stage.completed else stage.mean_number
    if kind == "ps":
        return max(stage.mean_number - stage.utilization, 0.0)
    if kind == "step":
        return max(stage.mean_number - stage.mean_decodes - stage.prefill_only - stage.mixed, 0.0)
    return 0.0


def _full_stages(
    stages: list[Stage], kinds: Mapping[str, str], servers: Mapping[str, int]
) -> Iterator[tuple[str, float]]:
    for stage in stages:
        load = 0.0
        if kinds[stage.name] == "fifo" and stage.completed:
            load = stage.throughput * stage.mean_service / servers[stage.name]
        elif kinds[stage.name] == "ps":
            load = stage.utilization
        if load >= FULL:
            yield f'servers of "{stage.label}"', load
