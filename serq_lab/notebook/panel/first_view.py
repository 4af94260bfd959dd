"""What a panel shows before anybody has chosen: which let is on the x axis, and which statistic over it.

In come a model and the names of controls; out go one of these and a dotted name (`figures.py`). Called by
`controls.py`, by `panel.py`, and for the notebooks of ``serq notebook``.
"""

from __future__ import annotations

from collections.abc import Sequence

from serq_lab.lowering.trees import parts
from serq_lab.notebook.panel.ranges import lets_read_by
from serq_lab.semantics import model as m


def first_axis(model: m.Model, names: Sequence[str], named: Sequence[str] = ()) -> str:
    """The control on the x axis at first.

    Parameters
    ----------
    model : Model
    names : sequence of str
        The controls, in the order of the panel.
    named : sequence of str
        Those of them that the caller asked for by name, in the caller's order.

    Returns
    -------
    str
        The first that the caller has named; else the first let that the capacity of a pool depends on, directly or
        through other lets; else the first that the arrivals depend on; else the first of all.
    """
    capacities = lets_read_by(model, tuple(pool.cap for pool in model.pools))
    arrivals = lets_read_by(model, model.arrivals)
    candidates = [*named]
    for rows in (capacities, arrivals):
        lets = {model.lets[row].name for row in rows}
        candidates += [name for name in names if name in lets]
    return [*candidates, *names][0]


def first_statistic(model: m.Model) -> str:
    """The statistic that is looked at first, as a dotted name.

    Parameters
    ----------
    model : Model

    Returns
    -------
    str
        The mean of the first observation that measures time; else of the first observation; else of the sessions
        alive.

    Notes
    -----
    An observation measures time where it is reckoned with ``now``, as ``now - t0`` and ``(now - t0) / tokens`` are. A
    comparison with it is a share, and ``now`` by itself an instant.
    """
    if not model.observations:
        return "mean_live"
    timed = {node.observation for node in parts(model.session) if isinstance(node, m.Observe) and _is_time(node.value)}
    return f"observe.{model.observations[min(timed, default=0)]}.mean"


def _is_time(value: m.Expression) -> bool:
    return isinstance(value, m.Chain) and any(isinstance(node, m.Now) for node in parts(value))
