"""Rows of pools and stages, one a member: arrays written out, and joined to one another (`LANGUAGE.md` section 8).

`lower.py` fills in the rows of the families; here they become those of the members, for one set of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import inf

import numpy as np
from numpy.typing import NDArray

from serq_lab.kernel.storage.setup import MemberNumbers, initial_members
from serq_lab.kernel.storage.state import POOL, STAGE
from serq_lab.lowering.board import BoardLayout
from serq_lab.semantics import model as m
from serq_lab.semantics.expressions import value

NONE = -1


class Members:
    """The rows of a model's pools and stages.

    Attributes
    ----------
    pools, stages : ndarray of POOL and STAGE
        A row a family.
    """

    def __init__(self, model: m.Model, layout: BoardLayout) -> None:
        self.pools, self.stages = np.zeros(len(model.pools), dtype=POOL), np.zeros(len(model.stages), dtype=STAGE)
        self._families = model.stages
        self._have_flows = any(family.is_flow for family in model.stages)
        self._pool_sizes = [pool.n_members for pool in model.pools]
        self._stage_sizes = [stage.n_members for stage in model.stages]
        first_pools, first_stages = layout.first_pool, layout.first_stage
        spills = [pool.spill for pool in model.pools]
        self._memories = joined(self._stage_sizes, [stage.memory for stage in model.stages], first_pools)
        self._links = {
            "via": joined(self._pool_sizes, [pool.admit_via for pool in model.pools], first_stages),
            "spill_pool": joined(self._pool_sizes, [spill.pool if spill else None for spill in spills], first_pools),
            "spill_stage": joined(self._pool_sizes, [spill.stage if spill else None for spill in spills], first_stages),
            "is_memory": [int(p in self._memories) for p in range(layout.n_pools)],
        }

    @cached_property
    def initial(self) -> tuple[NDArray[np.void], NDArray[np.void]]:
        """Rows of pools and of stages, one a member, without the numbers of a run; when the families are filled in."""
        pools, stages = np.repeat(self.pools, self._pool_sizes), np.repeat(self.stages, self._stage_sizes)
        for name, numbers in self._links.items():
            pools[name] = numbers
        stages["memory"] = self._memories
        initial_members(pools, stages)
        return pools, stages

    def numbers(self, constants: m.Constants) -> MemberNumbers:
        """The numbers of one run."""
        capacities: list[float] = []
        if self._have_flows:
            lets = constants.lets
            values = [value(s.capacity, lets) if s.is_flow and s.capacity else 0.0 for s in self._families]
            capacities = spread(values, self._stage_sizes)
        servers = [inf if s.kind == "delay" else n for s, n in zip(self._families, constants.servers, strict=True)]
        return MemberNumbers(
            caps=spread(constants.caps, self._pool_sizes),
            blocks=spread(constants.blocks, self._pool_sizes),
            servers=spread(servers, self._stage_sizes),
            flow_capacities=capacities,
        )


def spread(values: Sequence[float], sizes: Sequence[int]) -> list[float]:
    """The value of each family, once a member."""
    return [value for value, n in zip(values, sizes, strict=True) for _ in range(n)]


def joined(sizes: Sequence[int], targets: Sequence[m.Target | None], firsts: Sequence[int]) -> list[int]:
    """For each member of each family the member that its target names, -1 for none.

    `sizes` are the families' numbers of members, `firsts` the first members of the families that are named.
    """
    return [
        _member(target, k, n_members, firsts)
        for n_members, target in zip(sizes, targets, strict=True)
        for k in range(n_members)
    ]


def _member(target: m.Target | None, k: int, n_members: int, firsts: Sequence[int]) -> int:
    if target is None:
        return NONE
    first, n_named = firsts[target.family], firsts[target.family + 1] - firsts[target.family]
    if isinstance(target.index, m.Constant):
        return first + int(target.index.value)
    return first + k if n_named > 1 and n_named == n_members else first
