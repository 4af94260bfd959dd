"""The board: which slot holds what an expression can read, and where an attribute stands in a session's vector.

The header, the lets, a few slots a pool member, a few a stage member (`kernel/storage/state.py` has the fields).
Used by `expressions.py` and `lower.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from serq_lab.kernel.storage.state import BOARD, POOL_SHOWN, STAGE_SHOWN
from serq_lab.semantics.model import Model, Pool, Stage


def _slots(dtype: np.dtype[np.void]) -> dict[str, int]:
    assert dtype.names is not None
    return {name: i for i, name in enumerate(dtype.names)}


HEADER_SLOTS, POOL_SLOTS, STAGE_SLOTS = _slots(BOARD), _slots(POOL_SHOWN), _slots(STAGE_SHOWN)


def first_members(families: Sequence[Pool] | Sequence[Stage]) -> list[int]:
    """The number of each family's first member, and behind them that of all members."""
    firsts = [0]
    for family in families:
        firsts.append(firsts[-1] + family.n_members)
    return firsts


class BoardLayout:
    """Slots of a model's board, and of its sessions' vectors.

    Attributes
    ----------
    first_pool, first_stage : list of int
        The number of each family's first member; one more at the end: how many there are.
    n_slots : int
        Of the board.
    n_attributes : int
        A session's vector has these, then what it has cached in each pool.
    """

    def __init__(self, model: Model) -> None:
        self.first_pool = first_members(model.pools)
        self.first_stage = first_members(model.stages)
        self.lets_at = len(HEADER_SLOTS)
        self.pools_at = self.lets_at + len(model.lets)
        self.stages_at = self.pools_at + len(POOL_SLOTS) * self.n_pools
        self.n_slots = self.stages_at + len(STAGE_SLOTS) * self.n_stages
        self.n_attributes = len(model.attributes)

    @property
    def n_pools(self) -> int:
        return self.first_pool[-1]

    @property
    def n_stages(self) -> int:
        return self.first_stage[-1]

    def n_members(self, family: int, is_pool: bool) -> int:
        firsts = self.first_pool if is_pool else self.first_stage
        return firsts[family + 1] - firsts[family]

    @property
    def vector_length(self) -> int:
        return self.n_attributes + self.n_pools

    def header(self, name: str) -> int:
        """The slot of ``now`` or of a context variable."""
        return HEADER_SLOTS[name]

    def let(self, number: int) -> int:
        return self.lets_at + number

    def pool(self, family: int, name: str) -> int:
        """The slot of a family's first member; the next member's is `POOL_STRIDE` further on."""
        return self.pools_at + len(POOL_SLOTS) * self.first_pool[family] + POOL_SLOTS[name]

    def stage(self, family: int, name: str) -> int:
        """The slot of a family's first member; the next member's is `STAGE_STRIDE` further on."""
        return self.stages_at + len(STAGE_SLOTS) * self.first_stage[family] + STAGE_SLOTS[name]


POOL_STRIDE, STAGE_STRIDE = len(POOL_SLOTS), len(STAGE_SLOTS)
