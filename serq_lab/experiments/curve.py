"""A curve: one field of the report over one let, with an interval at each point.

In comes the frame of a sweep, out goes a `Curve`; `knee.py` finds where it bends, `plots/curves.py` draws it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas
from numpy.typing import NDArray

from serq_lab.diagnostics.catalogue import did_you_mean
from serq_lab.experiments.intervals import half_width


@dataclass(frozen=True)
class Curve:
    """Points in order of `x`; n of them, r replications each.

    Attributes
    ----------
    metric, by : str
        What is drawn over which let.
    at : dict of str to float
        The values of the other lets that were varied.
    x : ndarray of float64, shape (n,)
    values : ndarray of float64, shape (n, r)
        One column a replication; NaN where a run failed or had no such value.
    turned_away : ndarray of float64, shape (n,)
        The share of the sessions that asked for more than a pool has.
    binds : tuple of str
        What most runs of a point were short of; "" where all failed.
    unsteady : tuple of str
        Why a point is not steady, in half of its runs or more; "" if it is.
    """

    metric: str
    by: str
    at: Mapping[str, float]
    x: NDArray[np.float64]
    values: NDArray[np.float64]
    turned_away: NDArray[np.float64]
    binds: tuple[str, ...]
    unsteady: tuple[str, ...]

    @cached_property
    def replications(self) -> NDArray[np.int64]:
        """How many runs of each point have a value, shape (n,)."""
        counts: NDArray[np.int64] = np.isfinite(self.values).sum(axis=1)
        return counts

    @cached_property
    def mean(self) -> NDArray[np.float64]:
        """The mean over the replications of each point, shape (n,); NaN where there is none."""
        return np.array([row[np.isfinite(row)].mean() if np.isfinite(row).any() else math.nan for row in self.values])

    @cached_property
    def half_width(self) -> NDArray[np.float64]:
        """Half the 95% interval of each mean, shape (n,): Student's t with r - 1 degrees of freedom times the standard
        error. Infinite with one replication, from which nothing can be said."""
        return np.array([half_width(row) for row in self.values])

    @property
    def is_full(self) -> NDArray[np.bool_]:
        """Which points count: somebody has a value, nobody is turned away, the population settled; shape (n,)."""
        steady = np.array([not reason for reason in self.unsteady], bool)
        full: NDArray[np.bool_] = np.isfinite(self.mean) & ~(self.turned_away > 0) & steady
        return full

    @cached_property
    def frame(self) -> pandas.DataFrame:
        """One row a point: the let, ``mean half_width replications turned_away binds unsteady``."""
        frame: pandas.DataFrame = pandas.DataFrame(
            {
                self.by: self.x, "mean": self.mean, "half_width": self.half_width, "replications": self.replications,
                "turned_away": self.turned_away, "binds": self.binds, "unsteady": self.unsteady,
            }
        )  # fmt: skip
        return frame

    def _repr_html_(self) -> str:
        return str(self.frame.to_html(index=False))

    def __str__(self) -> str:
        return f"{self.metric} by {self.by}\n{self.frame.to_string(index=False)}"


def curve_of(
    frame: pandas.DataFrame,
    over: Mapping[str, tuple[float, ...]],
    metric: str,
    by: str | None,
    at: Mapping[str, float],
) -> Curve:
    """The curve of a metric; `Sweep.curve` says what the arguments mean.

    Parameters
    ----------
    frame : DataFrame
        Of the sweep.
    over : mapping of str to tuple of float
        What was varied.
    """
    by = _let(over, by)
    _require_others(over, by, at)
    require_metric(frame, metric)
    for name, value in at.items():
        frame = frame[frame[name] == value]
    groups = [(x, frame[frame[by] == x]) for x in sorted(over[by])]
    return Curve(
        metric, by, dict(at),
        x=np.array([x for x, _ in groups]),
        values=np.array([group[metric].to_numpy(np.float64) for _, group in groups]),
        turned_away=np.array([_mean(group["turned_away"].to_numpy(np.float64)) for _, group in groups]),
        binds=tuple(_usual(group["binds"]) for _, group in groups),
        unsteady=tuple(usual_reason(group["unsteady"]) for _, group in groups),
    )  # fmt: skip


def require_metric(frame: pandas.DataFrame, metric: str) -> None:
    """A KeyError if the runs of a sweep have no such field, with what it may have meant."""
    if metric not in frame.columns:
        numbers = [str(name) for name in frame.columns if "." in str(name)]
        near = did_you_mean(metric, numbers) or f'there is "{numbers[0]}", "{numbers[1]}"...: see frame.columns'
        raise KeyError(f'the runs have no "{metric}"; {near}')


def _let(over: Mapping[str, tuple[float, ...]], by: str | None) -> str:
    if by is None and len(over) == 1:
        return next(iter(over))
    if not over:
        raise KeyError("the sweep varies nothing: give it values of a let, as in {'C': range(4, 21)}")
    names = ", ".join(f'"{name}"' for name in over)
    if by is None:
        raise KeyError(f"the sweep varies {names}: say which is drawn, as in by={next(iter(over))!r}")
    if by not in over:
        raise KeyError(f'the sweep does not vary "{by}"; it varies {names}')
    return by


def _require_others(over: Mapping[str, tuple[float, ...]], by: str, at: Mapping[str, float]) -> None:
    for name in at:
        if name == by or name not in over:
            raise KeyError(f'at={{"{name}": ...}} names no other let of the sweep')
    for name, values in over.items():
        if name != by and at.get(name) not in values:
            listed, example = ", ".join(f"{value:g}" for value in values), f'at={{"{name}": {values[0]:g}}}'
            raise KeyError(f'the sweep also varies "{name}", over {listed}: pick one, as in {example}')


def _mean(values: NDArray[np.float64]) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan


def _usual(words: pandas.Series[str]) -> str:
    """The word that most runs have; of equals the first."""
    counts = Counter(word for word in words if word)
    return counts.most_common(1)[0][0] if counts else ""


def usual_reason(reasons: pandas.Series[str]) -> str:
    """Why half of the runs or more are not steady; "" if fewer are not."""
    unsteady = [reason for reason in reasons if reason]
    return unsteady[0] if 2 * len(unsteady) >= len(reasons) else ""
