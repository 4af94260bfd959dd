"""What a run measures while it runs: time averages, samples, gauges.

Areas and sums only; `report/` makes means and intervals of them. Used by everything that changes a quantity.
"""

from __future__ import annotations

from serq_lab.kernel.evaluation import NO_SESSION, evaluate
from serq_lab.kernel.storage.access import rarely
from serq_lab.kernel.storage.memory import Row, inlined, kernel
from serq_lab.kernel.storage.state import (
    N_WINDOWS,
    IterationKind,
    change_at,
    ensure_changes,
    gauge_at,
    pool_shown_at,
    stage_at,
    stage_shown_at,
    window_at,
)


@inlined
def touch_pool(run: Row, p: int) -> None:
    """Bring a pool's time averages to now, before one of its quantities changes."""
    shown = pool_shown_at(run, p)
    passed = run.now - shown.since
    if passed > 0.0:  # also: infinity times no time is nothing
        shown.used_area += shown.used * passed
        shown.cached_area += shown.cached * passed
        shown.queued_area += shown.queued * passed
        shown.holders_area += shown.holders * passed
        shown.since = run.now


@inlined
def touch_stage(run: Row, i: int, load: float) -> None:
    """Bring a stage's time averages to now, before one of its quantities changes; `load` is what it carried."""
    shown = stage_shown_at(run, i)
    passed = run.now - shown.since
    shown.queue_area += shown.queue * passed
    shown.load_area += load * passed
    shown.since = run.now


@inlined
def load_of(run: Row, i: int) -> float:
    """1 while a stage has jobs; of one that flows share, the part of its capacity that they carry."""
    shown = stage_shown_at(run, i)
    if rarely(stage_at(run, i).is_flow != 0):
        return shown.load
    return 1.0 if shown.queue > 0.0 else 0.0


@kernel
def touch_decodes(run: Row, i: int) -> None:
    """Bring the time average of the decodes in a step stage's iterations to now, before they change."""
    stage, shown = stage_at(run, i), stage_shown_at(run, i)
    shown.decodes_area += shown.decodes * (run.now - stage.decodes_since)
    stage.decodes_since = run.now


@inlined
def touch_live(run: Row) -> None:
    """Bring the time average of the live sessions to now."""
    if rarely(run.now >= run.window_end):
        close_windows(run)
    run.live_area += run.live * (run.now - run.live_since)
    run.live_since = run.now


@kernel
def close_windows(run: Row) -> None:
    """Close the windows of the live sessions that time has passed: their area is that of the average since."""
    while run.window < N_WINDOWS and run.now >= run.window_end:
        reached = run.live_area + run.live * (run.window_end - run.live_since)
        window_at(run, run.window).area = reached - run.window_start_area
        run.window_start_area = reached
        run.window += 1
        run.window_end = run.warmup + (run.window + 1) * ((run.horizon - run.warmup) / N_WINDOWS)


@kernel
def account_kind(run: Row, i: int) -> None:
    """Count the time that a step stage has been in iterations of one kind to that kind."""
    stage = stage_at(run, i)
    passed = run.now - stage.kind_since
    stage.kind_since = run.now
    if stage.iteration_kind == IterationKind.PREFILL:
        stage.prefill_only_time += passed
    elif stage.iteration_kind == IterationKind.DECODE:
        stage.decode_only_time += passed
    elif stage.iteration_kind == IterationKind.BOTH:
        stage.mixed_time += passed


@inlined
def show_iteration(run: Row, i: int, kind: int, n_decodes: int) -> None:
    """The kind of a step stage's running iteration, if there is one, and its decodes; mostly as before."""
    stage = stage_at(run, i)
    if stage.iteration_kind != kind:
        account_kind(run, i)
        stage.iteration_kind = kind
    if stage_shown_at(run, i).decodes != n_decodes:
        touch_decodes(run, i)
        stage_shown_at(run, i).decodes = n_decodes


@kernel
def touch_all(run: Row) -> None:
    """Bring all time averages to now."""
    touch_live(run)
    for p in range(run.n_pools):
        touch_pool(run, p)
    for i in range(run.n_stages):
        touch_stage(run, i, load_of(run, i))
        touch_decodes(run, i)
        account_kind(run, i)


@kernel
def restart_averages(run: Row) -> None:
    """The warm-up ends: time averages start again."""
    touch_all(run)
    run.live_area = 0.0
    for p in range(run.n_pools):
        pool = pool_shown_at(run, p)
        pool.used_area, pool.cached_area, pool.queued_area, pool.holders_area = 0.0, 0.0, 0.0, 0.0
    for i in range(run.n_stages):
        stage = stage_shown_at(run, i)
        stage.queue_area, stage.load_area, stage.decodes_area = 0.0, 0.0, 0.0
        times = stage_at(run, i)
        times.prefill_only_time, times.decode_only_time, times.mixed_time = 0.0, 0.0, 0.0


@inlined
def set_live(run: Row, live: int) -> None:
    """The number of live sessions changes."""
    touch_live(run)
    run.live = live


@inlined
def count_job_in(run: Row, i: int) -> None:
    """One job more is at a stage."""
    shown = stage_shown_at(run, i)
    touch_stage(run, i, 1.0 if shown.queue > 0.0 else 0.0)
    shown.queue += 1.0


@inlined
def count_job_out(run: Row, i: int) -> None:
    """One job less is at a stage."""
    touch_stage(run, i, 1.0)
    stage_shown_at(run, i).queue -= 1.0


@inlined
def change_flows(run: Row, i: int, change: float) -> None:
    """The number of jobs changes at a stage that flows share: its load is what they carry."""
    shown = stage_shown_at(run, i)
    touch_stage(run, i, shown.load)
    shown.queue += change


@inlined
def set_used(run: Row, p: int, used: float, holders: float) -> None:
    """The units in use in a pool, and the allocations there, change."""
    touch_pool(run, p)
    shown = pool_shown_at(run, p)
    shown.used, shown.holders = used, holders


@inlined
def set_cached(run: Row, p: int, cached: float) -> None:
    """The cached units of a pool change."""
    touch_pool(run, p)
    pool_shown_at(run, p).cached = cached


@inlined
def change_queued(run: Row, p: int, change: float) -> None:
    """The length of a pool's queue changes."""
    touch_pool(run, p)
    pool_shown_at(run, p).queued += change


@inlined
def same(a: float, b: float) -> bool:
    """Equal, or both no number."""
    return a == b or (a != a and b != b)


@kernel
def record_gauges(run: Row) -> None:
    """One change point an instant: its last value, if it differs from the one before."""
    for g in range(run.n_gauges):
        gauge = gauge_at(run, g)
        value = evaluate(run, gauge.expression, NO_SESSION)
        if gauge.n > 0 and change_at(gauge, gauge.n - 1).time == run.now:
            gauge.n -= 1
        if gauge.n > 0 and same(change_at(gauge, gauge.n - 1).value, value):
            continue
        ensure_changes(gauge, run, gauge.n + 1)
        change = change_at(gauge, gauge.n)
        change.time = run.now
        change.value = value
        gauge.n += 1
