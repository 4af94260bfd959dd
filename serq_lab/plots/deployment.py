"""What a program is built of: its pools, its stages, and the way of a session between them.

In comes a `Program`, out go Axes; `way.py` finds the way.
"""

from __future__ import annotations

import math
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from serq_lab.pipeline import Program
from serq_lab.plots.style import AMBER, FONT_SIZE, GREY, INK, SKY, SMALL, describe, new_axes
from serq_lab.plots.way import ARRIVE, END, Place, Way, way_of
from serq_lab.report.text import shortest
from serq_lab.semantics import model as m

STEP = 2.6  # from one place to the next
WIDTH, HEIGHT = 1.7, 0.9  # of a box with one line of small words
LINE = 0.22  # of each further one
ROOMY = HEIGHT + 2 * LINE  # pools up to here need no higher picture
STAGES_AT, POOLS_AT = 0.0, 2.1
LEAST_STAGES = 2  # so that a small program is not drawn large
NARROW = 10  # characters between two boxes
DARK_AMBER = "#8A5A00"
PAPER = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"}  # an arrow ends at its words

Point = tuple[float, float]


def draw_deployment(program: Program) -> Axes:
    """Draw the pools, stages and moves of a program, with the sizes that its text gives them.

    Parameters
    ----------
    program : Program

    Returns
    -------
    Axes
        Stages are boxes on the way from arrival to end, pools are boxes above it. A dashed line leads from a pool to
        the stages that a session visits while it holds of it; a pool's name on an arrow is where sessions wait for it.
    """
    model, way = program.model, way_of(program.model)
    n_places = 2 + max(len(way.stages), LEAST_STAGES)
    tallest = max((_height(pool_words(model, row)) for row in range(len(model.pools))), default=0.0)
    height = 3.8 + max(0.0, tallest - ROOMY) if model.pools else 2.4
    (ax,) = new_axes(width=1.0 + 1.9 * n_places, heights=(height,))
    ax.set_axis_off()
    ax.set_aspect("equal")
    at: dict[Place, Point] = {stage: (STEP * (k + 1), STAGES_AT) for k, stage in enumerate(way.stages)}
    at |= {ARRIVE: (0.0, STAGES_AT), END: (STEP * (len(way.stages) + 1), STAGES_AT)}
    for place, point in at.items():
        if isinstance(place, int):
            family = model.stages[place]
            _box(ax, point, _label(family), stage_words(family, model.constants, place), SKY, family.size)
        else:
            ax.text(*point, place, ha="center", va="center", fontsize=FONT_SIZE, color=INK, style="italic")
    _draw_pools(ax, model, way, at)
    _draw_moves(ax, model, way, at)
    unvisited = [_label(s) for k, s in enumerate(model.stages) if k not in way.stages]
    if unvisited:
        ax.set_title(f"not visited: {', '.join(unvisited)}", fontsize=SMALL, loc="left")
    ax.set_xlim(-0.9, at[END][0] + 0.9)
    top = POOLS_AT - HEIGHT / 2 + tallest if model.pools else STAGES_AT + 1.0
    ax.set_ylim(STAGES_AT - 1.6, top + 0.3)
    describe(ax, words(model, way))
    return ax


def stage_words(family: m.Stage, constants: m.Constants, row: int) -> str:
    """The kind of a stage, as ``fifo, 4 servers``."""
    if family.kind != "fifo":
        return {"ps": "shared", "delay": "delay", "step": "iterations"}[family.kind]
    n = constants.servers[row]
    return f"fifo, {n} server{'s' if n > 1 else ''}"


def pool_words(model: m.Model, row: int) -> str:
    """Capacity and rules of a pool, a line each, as ``cap 10`` and ``queue by key``."""
    family, constants = model.pools[row], model.constants
    words = [f"cap {shortest(constants.caps[row])}"]
    if not math.isnan(constants.blocks[row]):
        words.append(f"blocks of {shortest(constants.blocks[row])}")
    if family.admit_via is not None:
        words.append(f"admit via {_label(model.stages[family.admit_via.family])}")
    if family.queue_keys is not None:
        words.append("queue by key")
    if family.evict_keys is not None:
        words.append("evict by key")
    if family.preempt != "none":
        words.append(f"preempt {family.preempt}")
    if family.spill is not None:
        words.append(f"spill to {_label(model.pools[family.spill.pool.family])}")
        words.append(f"via {_label(model.stages[family.spill.stage.family])}")
    return "\n".join(words)


def _draw_pools(ax: Axes, model: m.Model, way: Way, at: dict[Place, Point]) -> None:
    wanted = {
        row: _middle([at[stage][0] for stage in way.held.get(row, ())] or [STEP]) for row in range(len(model.pools))
    }
    taken = -math.inf
    for row in sorted(wanted, key=wanted.__getitem__):
        family = model.pools[row]
        taken = max(wanted[row], taken + WIDTH + 0.4)
        point = (taken, POOLS_AT)
        _box(ax, point, _label(family), pool_words(model, row), AMBER, family.size)
        for stage in way.held.get(row, ()):
            x, y = at[stage]
            ax.plot(
                [point[0], x],
                [POOLS_AT - HEIGHT / 2, y + HEIGHT / 2],
                color=GREY,
                linestyle="--",
                linewidth=1.5,
                zorder=1,
            )


def _middle(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers)


def _height(below: str) -> float:
    """Of a box with such words."""
    return HEIGHT + LINE * below.count("\n")


def _box(ax: Axes, middle: Point, name: str, below: str, colour: str, size: int | None) -> None:
    """A box with a name and small words; a pile of them for an array."""
    height = _height(below)
    for k in reversed(range(1 if size is None else min(size, 3))):
        corner = (middle[0] - WIDTH / 2 + 0.09 * k, middle[1] - HEIGHT / 2 + 0.09 * k)
        ax.add_patch(
            FancyBboxPatch(
                corner,
                WIDTH,
                height,
                boxstyle="round,pad=0,rounding_size=0.12",
                facecolor=colour,
                edgecolor=INK,
                linewidth=1.5,
                zorder=2 - 0.1 * k,
            )
        )
    ax.text(
        middle[0],
        middle[1] - HEIGHT / 2 + height - 0.25,
        name,
        ha="center",
        va="center",
        fontsize=FONT_SIZE,
        color=INK,
        weight="bold",
        zorder=3,
    )
    ax.text(
        middle[0],
        middle[1] - HEIGHT / 2 + 0.16,
        below,
        ha="center",
        va="bottom",
        fontsize=SMALL - 1,
        color=INK,
        zorder=3,
    )


def _draw_moves(ax: Axes, model: m.Model, way: Way, at: dict[Place, Point]) -> None:
    """Straight arrows to the next place, bows below for all others."""
    for (start, end), pools in way.moves.items():
        (x, y), (to, _) = at[start], at[end]
        names = ", ".join(_label(model.pools[row]) for row in sorted(pools))
        if math.isclose(to - x, STEP):
            first, last, bow = (x + _reach(start), y), (to - _reach(end), y), 0.0
            label: Point = ((first[0] + last[0]) / 2, y + 0.1)
        else:
            back = -1 if to <= x else 1
            leaves, comes = (0.35, -0.35) if start == end else (-0.3, 0.55) if back < 0 else (0.1, -0.3)
            first, last = (x + leaves, y - HEIGHT / 2), (to + comes, y - HEIGHT / 2)
            if start in (ARRIVE, END):
                first = (x, y - 0.25)
            if end in (ARRIVE, END):
                last = (to, y - 0.25)
            span = abs(last[0] - first[0])
            bow = back * min(0.45, (1.9 if back > 0 else 1.0) / span) if start != end else -0.9
            is_back_to_neighbour = math.isclose(x - to, STEP)  # between the boxes there is room
            depth = 0.16 if is_back_to_neighbour else HEIGHT / 2 + abs(bow) * span / 2 + 0.1
            label = ((x + to) / 2 if is_back_to_neighbour else (first[0] + last[0]) / 2, y - depth)
        ax.add_patch(
            FancyArrowPatch(
                first,
                last,
                connectionstyle=f"arc3,rad={bow}",
                arrowstyle="-|>",
                mutation_scale=18,
                color=INK,
                linewidth=1.8,
                shrinkA=0,
                shrinkB=0,
                zorder=2,
            )
        )
        if names:
            is_narrow = abs(to - x) < STEP or math.isclose(abs(to - x), STEP)
            text = f"waits for\n{fill(names, NARROW)}" if is_narrow else f"waits for {names}"
            above = "bottom" if bow == 0 else "top"
            ax.text(*label, text, ha="center", va=above, fontsize=SMALL - 1, color=DARK_AMBER, zorder=4, bbox=PAPER)


def _reach(place: Place) -> float:
    return WIDTH / 2 if isinstance(place, int) else 0.5


def _label(family: m.Pool | m.Stage) -> str:
    return family.name if family.size is None else f"{family.name}[{family.size}]"


def words(model: m.Model, way: Way) -> str:
    """What the picture shows, for those who cannot see it."""

    def name(place: Place) -> str:
        return f'"{model.stages[place].name}"' if isinstance(place, int) else place

    moves = [
        f"from {name(start)} to {name(end)}"
        + (f", waiting for {' and '.join(_label(model.pools[row]) for row in sorted(pools))}" if pools else "")
        for (start, end), pools in way.moves.items()
    ]
    pools = [
        f'pool "{family.name}" ({pool_words(model, row).replace(chr(10), ", ")}) held at '
        + (", ".join(name(stage) for stage in sorted(way.held.get(row, ()))) or "no stage")
        for row, family in enumerate(model.pools)
    ]
    stages = [f'"{model.stages[k].name}" ({stage_words(model.stages[k], model.constants, k)})' for k in way.stages]
    sentences = [f"Stages {', '.join(stages) or 'none'}", f"a session goes {'; '.join(moves)}", *pools]
    return "".join(f"{sentence[0].upper()}{sentence[1:]}. " for sentence in sentences).rstrip()
