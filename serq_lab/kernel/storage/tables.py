"""The program as tables: what the lowering fills in and the kernel only reads.

Pools and stages are *members* here, arrays written out, families in order of declaration. A row number of -1 says
"none". Filled by `lowering/lower.py`; the state beside them is in `state.py`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

I8, F8 = np.int64, np.float64


# Slots of a session's vector: the built-in attributes that the engine itself sets, in the order of the model's.
SERIAL, TURN_NO, CACHED, COMPUTED, NEW, OUT, THINK, MORE, FORCED = range(9)


def record(**fields: type) -> np.dtype[np.void]:
    """A dtype of eight-byte fields, in the order given."""
    return np.dtype(list(fields.items()), align=True)


class OpKind(IntEnum):
    """What a session hands to the kernel."""

    HOLD = 0
    LEAVE = 1  # the end of a hold's block
    RUN = 2
    END = 3
    CHOOSE = 4
    GROW = 5
    DROP = 6
    RELEASE = 7
    LOAD = 8
    REFRESH = 9  # what the next statement reads and is costly to keep up to date
    TURN = 10  # what a trace has to say at a turn
    READY = 11  # the end of `init`
    FLOW = 12  # a run on stages that flows share, be it only one


START_OF_SESSION, START_OF_INIT = -1, -2  # of the entries into a session's statements; behind an operation: its row


# One operation. A hold `is_static` if its units and reserves cannot change while its
# session waits; `cache`, `reuse`, `lease` and `lease_time` are its clauses, repeated at its LEAVE. `first_target` and
# `n_targets` are the stages of a flow but for its first, `growing` a run's pool; `slot` is the attribute that a choice
# sets.
OP = record(
    kind=I8, span=I8, expression=I8, slot=I8, first_target=I8, n_targets=I8, first_claim=I8, n_claims=I8,
    is_static=I8, reuse=I8, has_cache=I8, cache=I8, lease=I8, lease_time=I8, mode=I8, growing=I8, first_key=I8,
    n_keys=I8, first_refreshed=I8, n_refreshed=I8,
)  # fmt: skip

CLAIM = record(target=I8, units=I8, reserve=I8)

# A pool or stage as a statement names it: member `first`, or `first` + index, which must be below `n_members`.
TARGET = record(first=I8, n_members=I8, index=I8, span=I8)

# A native function's address; before it is called, the `n_refreshed` stages from `first_refreshed` on have what is
# costly to keep up to date (`work`, `budget_left`) computed.
EXPRESSION = record(address=I8, first_refreshed=I8, n_refreshed=I8)

# A stage whose `work` (what = 0) or `budget_left` (1) an expression reads.
REFRESH = record(stage=I8, what=I8)


class StageKind(IntEnum):
    FIFO = 0
    PS = 1
    DELAY = 2
    STEP = 3


class Mode(IntEnum):
    NONE = 0
    PREFILL = 1
    DECODE = 2


class OrderKind(IntEnum):
    ADMISSION = 0
    BY = 1
    DECODE_FIRST = 2
    EXCLUSIVE_PREFILL = 3


class ArrivalKind(IntEnum):
    NONE = 0
    RENEWAL = 1
    POISSON = 2
    CLOSED = 3
    BATCH = 4


class Share(IntEnum):
    """How flows share their stages."""

    NONE = 0
    MAXMIN = 1
    BOTTLENECK = 2


class ProgramTables(NamedTuple):
    """The arrays that one compiled program shares among its runs; each of a dtype above, shape (n,)."""

    ops: NDArray[np.void]
    claims: NDArray[np.void]
    targets: NDArray[np.void]
    expressions: NDArray[np.void]
    refreshes: NDArray[np.void]
