"""Rows of pools and stages, one a member: arrays written out, and joined to one another (`LANGUAGE.md` section 8).

`lower.py` fills in the rows of the families; here they become those of the members, for one set of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from serq_lab.kernel.storage.state import POOL, STAGE
from serq_lab.lowering.board import BoardLayout
from serq_lab.semantics import model as m

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

    def tables(self, constants: m.Constants) -> tuple[NDArray[np.void], NDArray[np.void]]:
        """Rows of pools and of stages, one a member, with the numbers of one run."""
        pools, stages = np.repeat(self.pools, self._pool_sizes), np.repeat(self.stages, self._stage_sizes)
        pools["cap"] = np.repeat(np.array(constants.caps, dtype=np.float64), self._pool_sizes)
        pools["block"] = np.repeat(np.array(constants.blocks, dtype=np.float64), self._pool_sizes)
        stages["servers"] = np.repeat(np.array(constants.servers, dtype=np.int64), self._stage_sizes)
        for name, numbers in self._links.items():
            pools[name] = numbers
        stages["memory"] = self._memories
        return pools, stages


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
