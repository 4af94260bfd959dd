"""What an expression may read, and where: section 2 of the language, as data.

In comes nothing: this is a table. `names.py` asks it about every name it resolves. A *moment* is a place in a
program together with the time at which it is read; whatever a moment does not list is an error there, never a
silent 0.
"""

from __future__ import annotations

from dataclasses import dataclass

EVICTION_VARIABLES = frozenset({"size", "age", "last", "waiting"})
PLAN_VARIABLES = frozenset({"residents", "decoders", "kv_decode", "kv_prefill"})
ITERATION_VARIABLES = frozenset({"tokens", "prefilled", "attention"})
RESIDENT_VARIABLES = frozenset({"decoding", "admission", "remaining"})
CONTEXT_VARIABLES = EVICTION_VARIABLES | {"present"} | PLAN_VARIABLES | ITERATION_VARIABLES | RESIDENT_VARIABLES


@dataclass(frozen=True)
class Moment:
    """One row of the table.

    Parameters
    ----------
    words : str
        How messages call the place: "a hold's header".
    session : bool
        Session attributes and the session's own cached prefix may be read.
    hidden : bool
        ... those too that the workload hides from the scheduler.
    board : bool
        Observables of pools and stages may be read.
    clock : bool
        `now` may be read.
    draws : bool
        ``~`` may draw.
    variables : frozenset of str
        The context variables that exist there.
    why_no_draw : str
        The reason that messages give where `draws` is false.
    """

    words: str
    session: bool = False
    hidden: bool = False
    board: bool = False
    clock: bool = False
    draws: bool = False
    variables: frozenset[str] = frozenset()
    why_no_draw: str = ""


STATEMENT = Moment("a session statement", session=True, hidden=True, board=True, clock=True, draws=True)
WORKLOAD_BLOCK = Moment("an `init` or `turn` block", session=True, hidden=True, board=True, clock=True, draws=True)
CACHE_CLAUSE = Moment("a `cache` clause", session=True, hidden=True, board=True, clock=True, draws=True)
HEADER = Moment("a hold's header", session=True, board=True, clock=True, draws=True)
QUEUE_KEY = Moment(
    "a `queue by` key", session=True, board=True, clock=True, why_no_draw="it is read anew at every selection"
)
EVICTION_KEY = Moment(
    "an `evict by` key", session=True, board=True, clock=True, draws=True, variables=EVICTION_VARIABLES
)
SPILL_CLAUSE = Moment(
    "a `spill` clause", session=True, board=True, clock=True, draws=True, variables=EVICTION_VARIABLES
)
PS_CAPACITY = Moment("a `ps` capacity", board=True, clock=True, draws=True, variables=frozenset({"present"}))
BUDGET = Moment("a step's `budget`", board=True, clock=True, draws=True, variables=PLAN_VARIABLES)
CHUNK = Moment("a step's `chunk`", board=True, clock=True, draws=True, variables=PLAN_VARIABLES)
COST = Moment("a step's `cost`", board=True, clock=True, draws=True, variables=PLAN_VARIABLES | ITERATION_VARIABLES)
SERVING_ORDER = Moment(
    "a step's serving order",
    session=True,
    board=True,
    clock=True,
    variables=PLAN_VARIABLES | RESIDENT_VARIABLES,
    why_no_draw="it is read anew after every resident",
)
GAUGE = Moment("a gauge", board=True, why_no_draw="it only shows the state")
RENEWAL_GAP = Moment("a renewal gap", clock=True, draws=True)
CONSTANT = Moment("a constant", why_no_draw="its value is fixed before the run")

MOMENTS = (
    STATEMENT, WORKLOAD_BLOCK, CACHE_CLAUSE, HEADER, QUEUE_KEY, EVICTION_KEY, SPILL_CLAUSE, PS_CAPACITY,
    BUDGET, CHUNK, COST, SERVING_ORDER, GAUGE, RENEWAL_GAP, CONSTANT,
)  # fmt: skip


def where_readable(variable: str) -> str:
    """The places where a context variable exists, in words: "a step's `budget`, `chunk` or `cost`"."""
    first, *others = [moment.words for moment in MOMENTS if variable in moment.variables]
    places = [first, *(place.removeprefix("a step's ") for place in others)]
    return ", ".join(places[:-1]) + " or " + places[-1] if others else first
