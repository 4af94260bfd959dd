"""Who gets tokens in an iteration of a step stage, and who is admitted to it (`LANGUAGE.md` section 7.5, steps 1 to 4).

Used by `iteration.py`.
"""

from __future__ import annotations

import math

from serq_lab.kernel.cache.eviction import takes_lead
from serq_lab.kernel.evaluation import (
    count_residents,
    evaluate,
    read_budget,
    read_chunk,
    refresh_for,
    share_of_iteration,
)
from serq_lab.kernel.growth import GRANTED, STALLED, grow
from serq_lab.kernel.pools import admit, advance, dequeue, fits, queue_head
from serq_lab.kernel.sessions import run_admitted
from serq_lab.kernel.step.residents import schedule_tokens, unschedule
from serq_lab.kernel.storage.lists import make_ready
from serq_lab.kernel.storage.memory import Row, inlined, kernel
from serq_lab.kernel.storage.state import (
    Place,
    allocation_at,
    board_at,
    pool_at,
    scratch_at,
    session_at,
    stage_at,
)
from serq_lab.kernel.storage.tables import Mode, OrderKind


@kernel
def plan(run: Row, i: int) -> bool:
    """Give the budget of one iteration to residents and newcomers; false if the stage has nothing to do."""
    stage = stage_at(run, i)
    begin_plan(run, i)
    n_preemptions = run.n_preemptions
    stage.is_planning = 1
    while True:
        serve_residents(run, i)
        is_full = not stage.left > 0.0 or has_exclusive_prefill(run, i)
        if is_full or run.n_preemptions > n_preemptions or board_at(run, 0).failure != 0:
            break
        if not admit_next(run, i):
            break
    stage.is_planning = 0
    if run.n_preemptions > n_preemptions:
        run.are_pools_stale = 1
    return stage.n_scheduled > 0 or run.n_preemptions > n_preemptions


@inlined
def begin_plan(run: Row, i: int) -> None:
    """Read budget and chunk over the residents; none of them has been taken."""
    stage, board = stage_at(run, i), board_at(run, 0)
    refresh_for(run, stage.budget)
    refresh_for(run, stage.chunk)
    count_residents(run, i)
    stage.left = read_budget(run, i)
    stage.chunk_now = read_chunk(run, i)
    stage.n_residents, stage.n_decoders = board.residents, board.decoders
    stage.kv_decode, stage.kv_prefill = board.kv_decode, board.kv_prefill
    stage.has_prefill = 1 if stage.n_decoders < stage.n_residents else 0
    stage.scheduled_head, stage.scheduled_tail, stage.n_scheduled = -1, -1, 0
    stage.first_untaken = stage.resident_head
    s = stage.resident_head
    while s >= 0:
        session_at(run, s).is_taken = 0
        s = session_at(run, s).resident_next


@kernel
def serve_residents(run: Row, i: int) -> None:
    """Take residents one by one in serving order while there is budget, each at most once."""
    stage = stage_at(run, i)
    while stage.left > 0.0:
        s = next_resident(run, i)
        if s < 0:
            return
        session_at(run, s).is_taken = 1
        if stage.only < 0 or read_for(run, s, i, stage.only) != 0.0:
            serve_resident(run, s, i)


@kernel
def next_resident(run: Row, i: int) -> int:
    """The resident to be taken next, -1 if all have been."""
    stage = stage_at(run, i)
    order = stage.order
    first, first_decode, least = -1, -1, -1
    while stage.first_untaken >= 0 and session_at(run, stage.first_untaken).is_taken:
        stage.first_untaken = session_at(run, stage.first_untaken).resident_next
    s = stage.first_untaken
    while s >= 0:
        session = session_at(run, s)
        if not session.is_taken:
            if first < 0:
                first = s
                if order != OrderKind.BY and order != OrderKind.DECODE_FIRST:
                    return s
            if session.mode == Mode.DECODE and first_decode < 0:
                first_decode = s
                if order == OrderKind.DECODE_FIRST:
                    return s
            if order == OrderKind.BY and leads(run, s, i, least < 0):
                least = s
        s = session_at(run, s).resident_next
    return least if order == OrderKind.BY else first


@kernel
def leads(run: Row, s: int, i: int, is_first: bool) -> bool:
    """Whether a resident's keys precede the least so far."""
    stage = stage_at(run, i)
    for k in range(stage.n_keys):
        scratch_at(run, stage.n_keys + k).value = read_for(run, s, i, stage.first_key + k)
    return takes_lead(run, stage.n_keys, is_first)


@kernel
def read_for(run: Row, s: int, i: int, expression: int) -> float:
    """The value of an expression of the serving order, for one resident."""
    stage, session, board = stage_at(run, i), session_at(run, s), board_at(run, 0)
    board.residents, board.decoders = stage.n_residents, stage.n_decoders
    board.kv_decode, board.kv_prefill = stage.kv_decode, stage.kv_prefill
    board.decoding = 1.0 if session.mode == Mode.DECODE else 0.0
    board.admission = session.admission if session.admission >= 0 else math.inf
    board.remaining = session.work
    return evaluate(run, expression, s)


@inlined
def has_exclusive_prefill(run: Row, i: int) -> bool:
    """Whether a prefill has the iteration of an `exclusive prefill` stage to itself."""
    stage = stage_at(run, i)
    if stage.order != OrderKind.EXCLUSIVE_PREFILL or stage.scheduled_head < 0:
        return False
    return session_at(run, stage.scheduled_head).mode == Mode.PREFILL


@kernel
def serve_resident(run: Row, s: int, i: int) -> None:
    """Give a resident what it can have of the budget."""
    stage, session = stage_at(run, i), session_at(run, s)
    if session.place == Place.GROWING:  # it waits for a growth of an earlier iteration
        return
    left = stage.left
    is_prefill = session.mode == Mode.PREFILL
    is_exclusive = stage.order == OrderKind.EXCLUSIVE_PREFILL
    if is_exclusive:
        if has_exclusive_prefill(run, i) or (stage.has_prefill and not is_prefill):
            return
        if is_prefill:
            left += scheduled_tokens(run, i)
    tokens = min(share_of_iteration(run, s, stage.chunk_now), left)
    if not tokens > 0.0 or (session.growing >= 0 and not reach(run, s, tokens)):
        return
    if is_exclusive and is_prefill:
        take_tokens_back(run, i)
    schedule_tokens(run, s, i, tokens)


@kernel
def scheduled_tokens(run: Row, i: int) -> float:
    """The tokens given out so far."""
    tokens = 0.0
    s = stage_at(run, i).scheduled_head
    while s >= 0:
        tokens += session_at(run, s).scheduled
        s = session_at(run, s).scheduled_next
    return tokens


@kernel
def take_tokens_back(run: Row, i: int) -> None:
    """A prefill takes the place of the decodes that were served: tokens and positions go back, grown units stay."""
    stage = stage_at(run, i)
    while stage.scheduled_head >= 0:
        s = stage.scheduled_head
        session = session_at(run, s)
        stage.left += session.scheduled
        if session.growing >= 0:
            advance(run, session.growing, -session.scheduled)
        unschedule(run, s, i)


@kernel
def reach(run: Row, s: int, tokens: float) -> bool:
    """Let a growing job's hold reach so many tokens more; false if it stalls, or is preempted, on the way."""
    session = session_at(run, s)
    a = session.growing
    allocation = allocation_at(run, a)
    short = allocation.position + tokens - allocation.units
    if short > 0.0:
        outcome = grow(run, s, a, short)
        if outcome == STALLED:
            session_at(run, s).grow_short = short
        if outcome != GRANTED:
            return False
    advance(run, a, tokens)
    return True


@kernel
def first_queue(run: Row, i: int) -> int:
    """The first pool whose queue a stage serves and in which somebody waits, -1 if there is none."""
    found = -1
    for p in range(run.n_pools - 1, -1, -1):
        if pool_at(run, p).via == i and pool_at(run, p).queue_head >= 0:
            found = p
    return found


@inlined
def begin_admitting(run: Row, i: int) -> None:
    """What keys and headers read as `budget_left`: a prefill that would have the iteration to itself finds it all."""
    stage = stage_at(run, i)
    stage.is_admitting = 1
    stage.left_to_admit = stage.left
    if stage.order == OrderKind.EXCLUSIVE_PREFILL:
        stage.left_to_admit += scheduled_tokens(run, i)


@kernel
def is_next_admitted(run: Row, i: int) -> bool:
    """Whether the head of the first queue that a stage serves fits beside the residents' tokens of one iteration."""
    p = first_queue(run, i)
    if p < 0:
        return False
    stage = stage_at(run, i)
    begin_admitting(run, i)
    s = queue_head(run, p)
    is_fit = fits(run, session_at(run, s).pending, s)
    stage.is_admitting = 0
    return is_fit


@kernel
def admit_next(run: Row, i: int) -> bool:
    """Admit the head of the first queue that a stage serves, and run it up to its first wait; false if none fits."""
    p = first_queue(run, i)
    if p < 0:
        return False
    stage = stage_at(run, i)
    begin_admitting(run, i)
    s = queue_head(run, p)
    head = session_at(run, s).pending
    is_fit = fits(run, head, s)
    if is_fit:
        dequeue(run, s, p)
        admit(run, s, head)
    stage.is_admitting = 0
    if is_fit:
        run.are_pools_stale = 1
        make_ready(run, s)
        run_admitted(run)
    return is_fit
