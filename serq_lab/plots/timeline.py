"""A pool over time: who holds its units, what it remembers, and who waits below for the first in line.

In come a `Program` and two instants, out go Axes; `boxes.py` says where each hold is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from serq_lab.pipeline import Program, Value
from serq_lab.plots.boxes import Box, place
from serq_lab.plots.style import CYCLE, GREY, INK, ORANGE, SMALL, describe, new_axes
from serq_lab.report.pool_log import PoolLog, Waiting

LEAST_WIDTH, LEAST_HEIGHT = 0.025, 0.07  # of the picture: a box that has room for a number
LEAST_OUTLINED = 0.02  # lower ones would be nothing but outline
LEAST_WORDS = 0.065  # for what a session in the queue needs
MOST_ROWS = 12  # of the queue; who stands further back is counted
TOLERANCE = 1e-9

HELD: dict[str, Any] = {"edgecolor": INK}
CACHED: dict[str, Any] = {"edgecolor": GREY, "alpha": 0.45, "hatch": "////"}
ARRIVAL: dict[str, Any] = {"marker": "^", "color": INK, "markersize": 5, "linestyle": "none"}
EVICTION: dict[str, Any] = {"marker": "v", "color": ORANGE, "markersize": 8, "linestyle": "none"}
REJECTION: dict[str, Any] = {"marker": "x", "color": ORANGE, "markersize": 9, "linestyle": "none"}
PREEMPTION: dict[str, Any] = {
    "marker": "X", "color": ORANGE, "markersize": 11, "markeredgecolor": INK, "linestyle": "none",
}  # fmt: skip
BLOCKED = "#C9C9C9"


class Rank(NamedTuple):
    """A session at one place of the queue, from `start` to `end`; the head has place 0."""

    waiting: Waiting
    place: int
    start: float
    end: float


def plot_timeline(
    program: Program,
    start: float,
    stop: float,
    *,
    pool: str | None = None,
    set: Mapping[str, Value] | None = None,
    seed: int | None = None,
) -> Axes:
    """Draw a pool and its queue between two instants.

    Parameters
    ----------
    program : Program
    start, stop : float
        In the program's unit of time.
    pool : str, optional
        Which pool, as ``"mem"`` or ``"kv[1]"``; the first by default.
    set, seed : optional
        As of `Program.run`.

    Returns
    -------
    Axes
        Those of the pool, above those of the queue. A hold is a box of its units from admission to release, in the
        colour of its session; a cached prefix is hatched. In the queue the head is framed, and grey says that it
        blocks: it does not fit, and one behind it would.

    Raises
    ------
    KeyError
        The program has no such pool.
    """
    logs = program.pool_logs(start, stop, set, seed=seed)
    if not logs:
        raise KeyError("the program has no pool, and a timeline shows one")
    name = next(iter(logs)) if pool is None else pool
    if name not in logs:
        known = ", ".join(f'"{each}"' for each in list(logs)[:10])
        raise KeyError(f'no pool is called "{name}"; there is {known}')
    log = logs[name]
    n_rows = min(max((len(queue) for _, queue in log.queues), default=0), MOST_ROWS)
    axes = new_axes(width=10.0, heights=(4.2, 0.9 + 0.22 * max(n_rows, 2)))
    boxes = place(log)
    _draw_boxes(axes[0], log, boxes)
    _mark_events(axes[0], log, boxes)
    _draw_queue(axes[1], log, n_rows)
    if n_rows == 0:
        where = "nobody waits here" if len(logs) == 1 else "nobody waits here: a hold waits at the first of its pools"
        axes[1].text(0.5, 0.5, where, transform=axes[1].transAxes, ha="center", va="center", fontsize=SMALL, color=INK)
    axes[0].set_ylabel(f'units of "{name}"')
    axes[1].set_xlim(start, log.stop)
    axes[1].set_xlabel("time")
    describe(axes[0], words(name, log))
    return axes[0]


def colour(session: int) -> str:
    """A session keeps its colour in pool and queue."""
    return GREY if session < 0 else CYCLE[session % len(CYCLE)]


def _draw_boxes(ax: Axes, log: PoolLog, boxes: list[Box]) -> None:
    top = log.cap if math.isfinite(log.cap) else max([box.high for box in boxes], default=1.0)
    for box in boxes:
        look = CACHED if box.is_cached else HELD
        corner, fill = (box.start, box.low), colour(box.stay.session)
        line = 0.6 if (box.high - box.low) / top > LEAST_OUTLINED else 0.0
        ax.add_patch(Rectangle(corner, box.end - box.start, box.high - box.low, facecolor=fill, linewidth=line, **look))
        wide = (box.end - box.start) / (log.stop - log.start) > LEAST_WIDTH
        if wide and (box.high - box.low) / top > LEAST_HEIGHT and box.stay.session >= 0:
            middle = (box.start + box.end) / 2, (box.low + box.high) / 2
            ax.text(*middle, str(box.stay.session), ha="center", va="center", fontsize=SMALL, color=INK, clip_on=True)
    if math.isfinite(log.cap):
        ax.axhline(log.cap, color=INK, linewidth=2)
    ax.set_ylim(0, 1.08 * top)
    ax.grid(False)


def _mark_events(ax: Axes, log: PoolLog, boxes: list[Box]) -> None:
    """Ticks, crosses and arrows for what happens at an instant, and the legend."""
    handles: list[Patch | Line2D] = [Patch(facecolor=CYCLE[0], edgecolor=INK, label="hold, with its session")]
    if log.cached:
        handles.append(Patch(facecolor="white", edgecolor=GREY, hatch="////", label="cached"))
    at_edge = ax.get_xaxis_transform()
    for times, label, y, look in (
        (list(log.arrivals), "arrival", -0.025, ARRIVAL),
        ([time for time, _ in log.evictions], "eviction", 0.985, EVICTION),
        ([time for time, _ in log.rejections], "turned away", 0.985, REJECTION),
    ):
        if times:
            ax.plot(times, [y] * len(times), transform=at_edge, clip_on=False, zorder=5, **look)
            handles.append(Line2D([], [], label=label, **look))
    cut: dict[int, Box] = {}  # of each preempted hold its highest box, however many pieces it has
    for box in boxes:
        if box.stay.is_preempted and box.end == box.stay.end:
            cut[id(box.stay)] = max(cut.get(id(box.stay), box), box, key=lambda each: each.high - each.low)
    if cut:
        middles = [(box.low + box.high) / 2 for box in cut.values()]
        ax.plot([box.end for box in cut.values()], middles, zorder=5, **PREEMPTION)
        handles.append(Line2D([], [], label="preempted", **PREEMPTION))
    ax.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=len(handles), fontsize=SMALL, frameon=False,
        borderaxespad=0.2, handletextpad=0.4, columnspacing=1.4,
    )  # fmt: skip


def _draw_queue(ax: Axes, log: PoolLog, n_rows: int) -> None:
    for start, end in blocked(log):
        ax.axvspan(start, end, color=BLOCKED, linewidth=0, zorder=0)
    for rank in ranks(log):
        if rank.place >= n_rows:
            continue
        is_head = rank.place == 0 and log.is_fifo
        outline: dict[str, Any] = {"edgecolor": INK, "linewidth": 2, "zorder": 3} if is_head else {"zorder": 2}
        corner, fill = (rank.start, rank.place + 0.1), colour(rank.waiting.session)
        ax.add_patch(Rectangle(corner, rank.end - rank.start, 0.8, facecolor=fill, **outline))
        if (rank.end - rank.start) / (log.stop - log.start) > LEAST_WORDS:
            label = f"{rank.waiting.session} needs {rank.waiting.needs:.4g}"
            ax.text(
                (rank.start + rank.end) / 2, rank.place + 0.53, label,
                ha="center", va="center", fontsize=8, color=INK, clip_on=True, zorder=4,
            )  # fmt: skip
    ax.set_ylim(max(n_rows, 1), 0)
    names = ["head" if log.is_fifo else "1", *map(str, range(2, n_rows + 1))]
    ax.set_yticks([row + 0.5 for row in range(n_rows)], names[:n_rows])
    ax.set_ylabel("queue" if log.is_fifo else "queue\n(by its keys)")
    ax.grid(False)
    if any(True for _ in blocked(log)):
        ax.set_title("grey: the head does not fit, one behind it would", loc="right", fontsize=SMALL, color=INK)


def ranks(log: PoolLog) -> Iterator[Rank]:
    """Who stood where in the queue, as long stretches at one place."""
    since: dict[tuple[Waiting, int], float] = {}
    for time, queue in (*log.queues, (log.stop, ())):
        here = {(waiting, row) for row, waiting in enumerate(queue)}
        for key in [key for key in since if key not in here]:
            yield Rank(*key, since.pop(key), time)
        for key in here:
            since.setdefault(key, time)


def blocked(log: PoolLog) -> Iterator[tuple[float, float]]:
    """When the head of a queue in order of joining kept out one behind it that would fit."""
    times = sorted({time for time, _ in log.queues} | {time for time, _ in log.used})
    queues, levels = dict(log.queues), dict(log.used)
    queue: tuple[Waiting, ...] = ()
    used, since = 0.0, math.nan
    for time in [*times, log.stop]:
        queue, used = queues.get(time, queue), levels.get(time, used)
        room = log.cap - used + TOLERANCE
        is_blocked = log.is_fifo and bool(queue) and queue[0].needs > room and any(w.needs <= room for w in queue[1:])
        if math.isfinite(since) and (not is_blocked or time == log.stop):
            yield since, time
            since = math.nan
        elif is_blocked and not math.isfinite(since) and time < log.stop:
            since = time


def words(name: str, log: PoolLog) -> str:
    """What the picture shows, for those who cannot see it."""
    longest = max((len(queue) for _, queue in log.queues), default=0)
    blocked_for = sum(end - start for start, end in blocked(log))
    counted = (log.evictions, "evictions"), (log.preemptions, "preemptions"), (log.rejections, "turned away")
    also = "".join(f", {int(sum(count for _, count in events))} {word}" for events, word in counted if events)
    return (
        f'Pool "{name}" of capacity {log.cap:g} from {log.start:g} to {log.stop:g}: {len(log.holds)} holds, '
        f"{len(log.cached)} cached prefixes, {len(log.arrivals)} arrivals{also}. The queue has up to {longest} "
        f"sessions; for {blocked_for:.3g} units of time its head does not fit while one behind it would."
    )
