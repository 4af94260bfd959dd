"""What parts of a model read, so that the kernel keeps up to date only what somebody looks at.

Used by `lower.py`.
"""

from __future__ import annotations

from typing import Any

from serq_lab.lowering.board import BoardLayout
from serq_lab.lowering.trees import parts
from serq_lab.semantics import model as m
from serq_lab.semantics.names import POOL_OBSERVABLES


def readings_of_stages(model: m.Model) -> list[set[str]]:
    """Of each family of stages, the observables that the program reads."""
    readings: list[set[str]] = [set() for _ in model.stages]
    for part in parts((model.session, model.init, model.turn, model.pools, model.stages, model.gauges)):
        if isinstance(part, m.Observable) and part.name not in POOL_OBSERVABLES:
            readings[part.target.family].add(part.name)
    return readings


REFRESHED = {"work": 0, "budget_left": 1}
"""What is computed only before it is read, with its number in the kernel's table of refreshes."""


def refreshed_for(tree: Any, model: m.Model, layout: BoardLayout) -> dict[tuple[int, int], None]:
    """What to compute before a tree is evaluated, as an ordered set of (member, what).

    What a step stage's budget and chunk read comes before what is left of it.
    """
    wanted: dict[tuple[int, int], None] = {}
    for part in parts(tree):
        if isinstance(part, m.Observable) and part.name in REFRESHED:
            family = part.target.family
            if part.name == "budget_left":
                stage = model.stages[family]
                wanted |= refreshed_for((stage.budget, stage.chunk), model, layout)
            for member in range(layout.first_stage[family], layout.first_stage[family + 1]):
                wanted[(member, REFRESHED[part.name])] = None
    return wanted


def reads_kv(tree: Any) -> bool:
    """Whether a step stage's expressions read how much memory its residents hold."""
    return any(isinstance(part, m.Context) and part.name in ("kv_decode", "kv_prefill") for part in parts(tree))


def is_static(hold: m.Hold) -> bool:
    """Whether the units and reserves of a hold rest on lets and attributes alone: they cannot change in a queue."""
    readings = (m.Draw, m.Observable, m.Now, m.Context)
    return not any(isinstance(part, readings) for part in parts(hold.claims))


def most_keys(model: m.Model) -> int:
    """The most keys that anything is chosen by, at least 1."""
    lists = [
        *(part.keys for part in parts((model.session, model.stages)) if isinstance(part, (m.Choose, m.Order))),
        *(keys for pool in model.pools for keys in (pool.evict_keys, pool.queue_keys) if keys),
    ]
    return max([1, *map(len, lists)])


def holds_of(model: m.Model) -> list[m.Hold]:
    """All holds of the session, outer before inner."""
    return [part for part in parts((model.session,)) if isinstance(part, m.Hold)]


def keeps_prefixes(model: m.Model) -> bool:
    """Whether any hold caches, so that sessions have entries of their own."""
    return any(hold.cache is not None for hold in holds_of(model))


def preempts(model: m.Model) -> bool:
    """Whether any pool preempts, so that it matters how far a session got before."""
    return any(pool.preempt == "lifo" for pool in model.pools)
