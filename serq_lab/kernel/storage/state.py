"""The state of a run: one `RUN` record, and the tables that hang off it.

A session is in one place at a time, so the lists that it can stand in (ready, a pool's queue, a pool's growers, a
stage's waiting line) share its links. Built by `setup.py`, changed by everything in this folder.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from serq_lab.kernel.storage.access import FRONT_ROOM, growth_of, rows_of
from serq_lab.kernel.storage.tables import CLAIM, EXPRESSION, F8, I8, OP, REFRESH, TARGET, record


class Place(IntEnum):
    """Where a session is."""

    FREE = 0  # no session: the row waits to be used again
    READY = 1
    QUEUED = 2
    GROWING = 3
    AT_STAGE = 4
    RUNNING = 5  # its statements are being carried out


SESSION = record(
    place=I8, entry=I8, serial=I8, next=I8, previous=I8,
    # the hold it waits for or is in: rows of ALLOCATION, innermost first
    pending=I8, innermost=I8, queue_pool=I8, queued_at=F8, admission=I8, was_preempted=I8, was_stuck=I8,
    # a growth that stalls
    grow_allocation=I8, grow_units=F8,
    # its job: one at a time; `mark` is the ps clock's or the end's, `work` what is left of a step's tokens, or of a
    # flow at `flows_at`
    stage=I8, mode=I8, work=F8, mark=F8, joined_at=F8, started_at=F8, job_event=I8,
    job_next=I8, job_previous=I8,
    # at a step stage: the allocation that grows (-1: none) and what it stalls for, the residents' order, the tokens of
    # this iteration and their order
    growing=I8, grow_short=F8, resident_next=I8, resident_previous=I8, is_taken=I8, scheduled=F8, scheduled_next=I8,
    # its last token: when, at which stage, in which turn; the turn of its last decode
    token_at=F8, token_stage=I8, token_turn=F8, decode_turn=F8, is_set_back=I8,
    first_lease=I8, trace_row=I8, trace_end=I8, is_ownerless=I8, first_hop=I8, rate=F8,
)  # fmt: skip

# One claim of a hold on one pool, or a lease of it. The claims of a hold are linked by `next_claim`; the first of them,
# `head`, stands for the hold and links by `outer` to the hold around it. `position`: `LANGUAGE.md` section 5,
# "Leaving". The held allocations of a pool that preempts are linked in order of admission.
ALLOCATION = record(
    session=I8, op=I8, claim=I8, pool=I8, units=F8, needs=F8, position=F8, head=I8, is_moved=I8, is_held=I8,
    admission=I8, next_claim=I8, outer=I8, next_lease=I8, lease_event=I8, next_holder=I8, previous_holder=I8,
)  # fmt: skip

# A cached prefix: `owner` is its session's row, -1 when dead: left behind, or its session has ended. Linked in release
# order. The dead entries of one session, or spilled from one, are linked in a ring by `sibling`.
ENTRY = record(owner=I8, pool=I8, units=F8, released_at=F8, next=I8, previous=I8, sibling=I8)

# A session's own entry in a pool (row: session * n_pools + pool), -1 when none; how far its previous preemption got.
OWN = record(entry=I8, preempted_position=F8)

# One stage of a flow. Those of a flow are linked by `next_hop`, those of a stage by `next` and `previous`, in order of
# joining.
HOP = record(session=I8, stage=I8, next_hop=I8, next=I8, previous=I8)

POOL = record(
    cap=F8, block=F8, first_evict_key=I8, n_evict_keys=I8, first_queue_key=I8, n_queue_keys=I8, is_lifo=I8, via=I8,
    spill_pool=I8, spill_stage=I8, spill_work=I8, spill_condition=I8, is_memory=I8,
    # what is about to be spilled into it, from which pool, for which entry of its own (-1: none yet)
    spilled=F8, spilled_from=I8, spilled_entry=I8, spilled_owner=I8, spilled_sibling=I8, spilled_work=F8,
    queue_head=I8, queue_tail=I8, grower_head=I8, grower_tail=I8, oldest=I8, youngest=I8, last_holder=I8,
    n_entries=I8,
    wait_sum=F8, wait_count=I8, admissions=I8, evicted_entries=I8, evicted_units=F8, preemptions=I8, spills=I8,
    rejected=I8, stuck=I8, rejected_least=F8, rejected_most=F8,
)  # fmt: skip

# The jobs from `job_head` on are sessions; at a stage that flows share they are hops. A fifo or delay stage with
# nothing to keep beside its line `is_simple`.
STAGE = record(
    kind=I8, servers=F8, capacity=I8, budget=I8, chunk=I8, cost=I8, cost_span=I8, memory=I8, order=I8, first_key=I8,
    n_keys=I8, only=I8,
    is_simple=I8, is_flow=I8, is_estimated=I8, is_listed=I8, heap=I8, span=I8,
    wait_head=I8, wait_tail=I8, job_head=I8, job_tail=I8,
    clock=F8, clock_at=F8, rate=F8, is_dirty=I8, pending_event=I8, pending_session=I8, pending_mark=F8,
    flow_capacity=F8, capacity_left=F8, n_unrated=I8,
    n_estimates=I8, last_start=F8, mean_gap=F8, mean_wait=F8, mean_service=F8,
    completed=I8, wait_sum=F8, service_sum=F8,
    # an engine: residents in order of admission, those with tokens in the present iteration
    reads_kv=I8, cost_reads_kv=I8, is_running=I8, is_planning=I8, is_admitting=I8, has_prefill=I8,
    is_steady=I8, left=F8, left_to_admit=F8, chunk_now=F8, tokens=F8, iteration_start=F8, iteration_cost=F8,
    least_work=F8, least_room=F8, scheduled_kv=F8,
    resident_head=I8, resident_tail=I8, first_untaken=I8, scheduled_head=I8, scheduled_tail=I8, n_scheduled=I8,
    n_residents=F8, n_decoders=F8, kv_decode=F8, kv_prefill=F8,
    iterations=I8, kind_since=F8, iteration_kind=I8, prefill_only_time=F8, decode_only_time=F8, mixed_time=F8,
    decodes_since=F8, decode_iterations=I8, decode_sum=F8, decode_time_sum=F8, gap_count=I8, gap_sum=F8, gaps=I8,
    gaps_room=I8, gap_bin=I8, equal_gap=F8, n_equal_gaps=I8,
)  # fmt: skip


class IterationKind(IntEnum):
    """What an iteration has given tokens to."""

    NONE = 0
    PREFILL = 1
    DECODE = 2
    BOTH = 3


# Events behind those of the front, `order` that of scheduling; also the marks of a ps stage, `order` that of starting.
HEAP = record(items=I8, items_room=I8, n=I8, span=I8)
HEAP_ITEM = record(time=F8, order=I8, tag=I8)
HEAP_KEY = record(bits=I8, order=I8, tag=I8)  # the same with the bits of the time, which compare in fewer instructions
# The front of the queue of events: the bits of their times, their orders, their tags.
ORDERS_AT, TAGS_AT = FRONT_ROOM, 2 * FRONT_ROOM
TAG_KINDS = 16  # an event's tag is its subject times this, plus its kind


class EventKind(IntEnum):
    WARMUP = 0
    ARRIVAL = 1
    JOB_END = 2  # of a fifo or delay stage: subject is the session
    PS_END = 3  # subject is the stage
    LEASE_END = 4  # subject is the allocation
    ITERATION_END = 5  # subject is the stage
    FLOW_END = 6  # of whichever flow ends first
    START = 7  # before all others


OBSERVATION = record(samples=I8, samples_room=I8, n=I8)
SAMPLE = np.dtype([("value", F8), ("time", F8), ("session", np.uint32), ("turn", np.uint32)], align=True)
GAUGE = record(expression=I8, changes=I8, changes_room=I8, n=I8)
CHANGE = record(time=F8, value=F8)
WINDOW = record(area=F8)
N_GAP_EDGES = 4201  # of bins 1 % wide, from 1.01^-2100 to 1.01^2100
GAP = record(count=I8, least=F8, greatest=F8)  # of the gaps between tokens of one bin of 1 %
WORD = record(value=I8)
N_TRACE_WORDS = 33
TRACE_ROW = record(new=F8, out=F8, think=F8, forced=F8)
TRACE_SESSION = record(first=I8, end=I8)  # its rows
N_WINDOWS = 20
SCRATCH = record(value=F8)

# The board: what an expression can read and that is not the session's own. This header, then the lets, then a
# POOL_SHOWN a pool, then a STAGE_SHOWN a stage. Every field is a slot of eight bytes. `member` and `argument`: of the
# operation that a session hands to the kernel.
BOARD = record(
    member=I8, argument=F8, is_warm=I8, turns=I8, observations=I8, reallocate=I8,
    streams=I8, refill=I8, may_be_over=I8, failure=I8, failure_span=I8, failure_value=F8, now=F8,
    size=F8, age=F8, last=F8, waiting=F8, present=F8, residents=F8, decoders=F8, kv_decode=F8, kv_prefill=F8,
    tokens=F8, prefilled=F8, attention=F8, decoding=F8, admission=F8, remaining=F8,
)  # fmt: skip
# What is averaged over time has its integral beside it, up to `since` (`statistics.py`); `load` is that part
# of a stage's capacity which flows use; others have 1 while a job is present, and do not keep it.
POOL_SHOWN = record(
    used=F8, cached=F8, queued=F8, holders=F8, used_area=F8, cached_area=F8, queued_area=F8, holders_area=F8, since=F8,
    cap=F8, block=F8,
)  # fmt: skip
STAGE_SHOWN = record(
    queue=F8, load=F8, decodes=F8, queue_area=F8, load_area=F8, decodes_area=F8, since=F8,
    busy=F8, work=F8, est_lambda=F8, est_rho=F8, est_wait=F8, budget_left=F8,
)  # fmt: skip

_TABLES = {
    "ops": OP, "claims": CLAIM, "targets": TARGET, "expressions": EXPRESSION, "refreshes": REFRESH,
    "sessions": SESSION, "allocations": ALLOCATION, "hops": HOP, "entries": ENTRY, "owns": OWN,
    "front": WORD, "pools": POOL, "stages": STAGE, "heaps": HEAP, "gauges": GAUGE, "windows": WINDOW,
    "trace_rows": TRACE_ROW, "trace_sessions": TRACE_SESSION, "trace_words": WORD, "gap_edges": SCRATCH,
    "scratch": SCRATCH, "board": BOARD, "pools_shown": POOL_SHOWN, "stages_shown": STAGE_SHOWN,
}  # fmt: skip

RUN = record(
    # settings
    horizon=F8, warmup=F8, limit=I8, arrival_kind=I8, gap=I8, gap_span=I8, population=I8,
    n_pools=I8, n_stages=I8, n_gauges=I8, n_slots=I8, vector_bytes=I8, reallocate=I8, go=I8, share=I8,
    has_owns=I8, has_keyed_entries=I8, has_init=I8, n_steps=I8, is_ordered=I8,
    is_simple=I8,  # its stages are, and it has no gauges
    is_calm=I8, is_stepwise=I8,
    # counters and clocks
    now=F8, order=I8, n_front=I8, is_planning=I8, events=I8, arrivals=I8, ended=I8,
    live=I8, admission=I8, n_preemptions=I8, n_at_instant=I8,
    n_evictions_seen=I8,  # of what a session had cached that waits for a pool, and may read it in its header
    are_pools_stale=I8,  # something changed in them behind the last settling
    progress_events=I8, progress_at=F8, asking=I8, failed_at=F8, live_area=F8, live_since=F8,
    n_due=I8, going_nowhere=I8,  # sessions to replace, or one that runs over and over while time stands still
    n_open=I8,  # at an instant: sessions that are ready or due, pools where somebody waits; one more unless `is_simple`
    window=I8, window_start_area=F8, window_end=F8,
    # lists
    ready_head=I8, ready_tail=I8, free_session=I8, n_sessions=I8, free_allocation=I8, n_allocations=I8,
    free_entry=I8, n_entries=I8, n_waiting=I8, n_dirty=I8,
    # flows, in order of starting, linked as jobs are
    flow_head=I8, flow_tail=I8, free_hop=I8, n_hops=I8, flows_at=F8, have_flows_changed=I8, flow_event=I8,
    pending_flow=I8,
    # vectors: n_slots float64 a session, then one cachedin a pool; snapshots of the same for keyed entries
    vectors=I8, vectors_room=I8, snapshots=I8, snapshots_room=I8,
    **{name + suffix: I8 for name in _TABLES for suffix in ("", "_room")},
)  # fmt: skip

op_at = rows_of(RUN, "ops", OP, is_fixed=True)
claim_at = rows_of(RUN, "claims", CLAIM, is_fixed=True)
target_at = rows_of(RUN, "targets", TARGET, is_fixed=True)
expression_at = rows_of(RUN, "expressions", EXPRESSION, is_fixed=True)
refresh_at = rows_of(RUN, "refreshes", REFRESH, is_fixed=True)
session_at = rows_of(RUN, "sessions", SESSION)
allocation_at = rows_of(RUN, "allocations", ALLOCATION)
hop_at = rows_of(RUN, "hops", HOP)
entry_at = rows_of(RUN, "entries", ENTRY)
own_at = rows_of(RUN, "owns", OWN)
pool_at = rows_of(RUN, "pools", POOL, is_fixed=True)
stage_at = rows_of(RUN, "stages", STAGE, is_fixed=True)
heap_at = rows_of(RUN, "heaps", HEAP, is_fixed=True)
gauge_at = rows_of(RUN, "gauges", GAUGE, is_fixed=True)
window_at = rows_of(RUN, "windows", WINDOW, is_fixed=True)
scratch_at = rows_of(RUN, "scratch", SCRATCH, is_fixed=True)
board_at = rows_of(RUN, "board", BOARD, is_fixed=True)
trace_row_at = rows_of(RUN, "trace_rows", TRACE_ROW, is_fixed=True)
trace_session_at = rows_of(RUN, "trace_sessions", TRACE_SESSION, is_fixed=True)
trace_word_at = rows_of(RUN, "trace_words", WORD, is_fixed=True)
pool_shown_at = rows_of(RUN, "pools_shown", POOL_SHOWN, is_fixed=True)
stage_shown_at = rows_of(RUN, "stages_shown", STAGE_SHOWN, is_fixed=True)
item_at = rows_of(HEAP, "items", HEAP_ITEM)
key_at = rows_of(HEAP, "items", HEAP_KEY)
front_at = rows_of(RUN, "front", WORD, is_fixed=True)
front_time_at = rows_of(RUN, "front", SCRATCH, is_fixed=True)
gap_edge_at = rows_of(RUN, "gap_edges", SCRATCH, is_fixed=True)
gap_at = rows_of(STAGE, "gaps", GAP, is_fixed=True)
change_at = rows_of(GAUGE, "changes", CHANGE)

ensure_sessions = growth_of(RUN, "sessions", SESSION)
ensure_vectors = growth_of(RUN, "vectors", SCRATCH)
ensure_snapshots = growth_of(RUN, "snapshots", SCRATCH)
ensure_allocations = growth_of(RUN, "allocations", ALLOCATION)
ensure_hops = growth_of(RUN, "hops", HOP)
ensure_entries = growth_of(RUN, "entries", ENTRY)
ensure_owns = growth_of(RUN, "owns", OWN)
ensure_items = growth_of(HEAP, "items", HEAP_ITEM)
ensure_changes = growth_of(GAUGE, "changes", CHANGE)
