"""What a run was short of: the place where its sessions waited.

In comes a `Report` with its `Model`; out goes one word for `Report.binds`, read by sweeps and their pictures.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar

from serq_lab.report.rows import Pool, Stage
from serq_lab.semantics import model as checked

if TYPE_CHECKING:
    from serq_lab.report.report import Report

LITTLE_WAITING = 0.1
"""Of the live sessions: while fewer wait, nothing is short."""

FULL = 0.9
"""A stage whose servers are this busy is short of them, wherever its sessions queue."""

MANY_PREEMPTED = 0.1
"""Of the admissions: a pool that preempts so often is full."""


def binding(report: Report, model: checked.Model, servers: Mapping[str, int], caps: Mapping[str, float]) -> str:
    """What kept the sessions of a run waiting.

    Parameters
    ----------
    report : Report
    model : Model
        The program, for the kinds of its stages.
    servers : mapping of str to int
        How many servers each family of fifo stages has.
    caps : mapping of str to float
        The capacity of each family of pools.

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

    A session queues at the first pool of its hold, whatever keeps it there: that pool, another pool of the hold, or
    the budget of the step stage that admits. The queue counts for the one with the highest load. That of a pool is
    what is used and one mean allocation more, over its capacity: from 1 on the next hold does not fit. A pool that
    preempts more than a tenth of its holds is full, too: what those compute anew may fill every iteration, and memory
    is what is short. The load of a budget is the share of the time in which an iteration prefills. Who waits at a
    step stage waits for its budget or its memory, in the same way. These are means over the run: of two that are
    short in turns one is named.
    """
    kinds = {family.name: family.kind for family in model.stages}
    stages, pools = list(report.stage.values()), list(report.pool.values())
    suspects = _Suspects(model, pools, stages, caps)
    waiting: dict[str, float] = defaultdict(float)
    for pool in pools:
        waiting[suspects.of_queue(pool)] += pool.mean_queue
    for stage in stages:
        waiting[suspects.of_stage(stage)] += _waiting_at(stage, kinds[stage.name])
    if not sum(waiting.values()) >= LITTLE_WAITING * report.mean_live > 0:
        return "arrivals" if model.arrivals.process in ("poisson", "renewal", "none") else "population"
    full = dict(_full_stages(stages, kinds, servers))
    scores = full or waiting
    return max(scores, key=scores.__getitem__)


class _Suspects:
    """What those may be waiting for that are seen waiting at a place."""

    def __init__(self, model: checked.Model, pools: list[Pool], stages: list[Stage], caps: Mapping[str, float]) -> None:
        self._model, self._pools, self._stages, self._caps = model, pools, stages, caps
        self._pool_families = {family.name: family for family in model.pools}
        self._stage_families = {family.name: family for family in model.stages}
        self._beside: dict[str, set[str]] = {}  # of each first pool of a hold, the others
        for hold in _holds(model.session):
            first, *others = (model.pools[claim.pool.family].name for claim in hold.claims)
            self._beside.setdefault(first, set()).update(others)

    def of_queue(self, pool: Pool) -> str:
        """The word for the queue of a pool."""
        via = self._pool_families[pool.name].admit_via
        stages = _members(self._stages, {self._model.stages[via.family].name}, pool) if via is not None else []
        return self._worst([pool, *_members(self._pools, self._beside.get(pool.name, set()), pool)], stages)

    def of_stage(self, stage: Stage) -> str:
        """The word for those at a stage whose turn has not come."""
        family = self._stage_families[stage.name]
        if family.kind != "step":
            return f'servers of "{stage.label}"'
        memory = {self._model.pools[family.memory.family].name} if family.memory is not None else set()
        return self._worst(_members(self._pools, memory, stage), [stage])

    def _worst(self, pools: list[Pool], stages: list[Stage]) -> str:
        loads = {_word(pool): self._load(pool) for pool in pools}
        loads |= {f'budget of "{stage.label}"': stage.prefill_only + stage.mixed for stage in stages}
        return max(loads, key=loads.__getitem__)

    def _load(self, pool: Pool) -> float:
        if pool.mean_holders == 0:
            return 0.0
        load = (pool.mean_used + pool.mean_used / pool.mean_holders) / self._caps[pool.name]
        return max(load, 1.0) if pool.preemptions > MANY_PREEMPTED * pool.admissions else load


Member = TypeVar("Member", Pool, Stage)


def _members(rows: list[Member], names: set[str], beside: Pool | Stage) -> list[Member]:
    """The members of some families; of an array beside another the one of the same index."""
    return [
        row for row in rows if row.name in names and (None in (row.index, beside.index) or row.index == beside.index)
    ]


def _holds(block: checked.Block) -> Iterator[checked.Hold]:
    for statement in block:
        if isinstance(statement, checked.Hold):
            yield statement
        if isinstance(statement, checked.Hold | checked.Loop):
            yield from _holds(statement.body)
        elif isinstance(statement, checked.Branch):
            yield from _holds(statement.then)
            yield from _holds(statement.otherwise)


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
