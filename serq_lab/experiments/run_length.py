"""How long a run must be for a wanted interval, from a pilot.

In comes a program with a metric and a half width; out goes a `RunLength`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from serq_lab.diagnostics.diagnostic import Diagnostic
from serq_lab.diagnostics.errors import RunError
from serq_lab.experiments.curve import require_metric, usual_reason
from serq_lab.experiments.intervals import half_width as half_width_of
from serq_lab.pipeline import Program

CERTAIN = 1e-12


@dataclass(frozen=True, repr=False)
class RunLength:
    """A horizon that gives a wanted interval.

    Attributes
    ----------
    horizon, warmup : float
        To be given to `Program.sweep`; the warm-up is the pilot's.
    replications : int
        With so many, as in the pilot.
    half_width : float
        What was asked for: half the 95% interval of the mean over the replications.
    pilot_horizon, pilot_mean, pilot_half_width : float
        What the pilot had.
    events : float
        How many events a run of that length has, about.
    unsteady : str
        Why the pilot was not steady, which makes the recommendation worthless; "" if it was.
    """

    horizon: float
    warmup: float
    replications: int
    half_width: float
    pilot_horizon: float
    pilot_mean: float
    pilot_half_width: float
    events: float
    unsteady: str

    def __str__(self) -> str:
        doubt = f"; but the pilot was not steady: {self.unsteady}" if self.unsteady else ""
        return (
            f"horizon {self.horizon:g} with {self.replications} replications for ±{self.half_width:g} "
            f"(the pilot, with horizon {self.pilot_horizon:g}, has {self.pilot_mean:.4g} "
            f"±{self.pilot_half_width:.2g}){doubt}"
        )

    def __repr__(self) -> str:
        return f"<{self}>"


def recommend_run_length(
    program: Program,
    metric: str,
    half_width: float,
    *,
    set: Mapping[str, float] | None = None,
    replications: int = 10,
    seed: int | None = None,
    horizon: float | None = None,
    warmup: float | None = None,
) -> RunLength:
    """What horizon gives a wanted half width of a metric, from a pilot.

    Parameters
    ----------
    program : Program
    metric : str
        A column of a sweep's frame, as ``observe.response.mean``; a mean over the measured time.
    half_width : float
        Half the 95% interval that is wanted of its mean over the replications, above 0.
    set : mapping of str to float, optional
        Values of lets.
    replications : int
        Of the pilot, and of the runs to come; at least 2, and the pilot's own noise is large below 10.
    seed, horizon, warmup : optional
        Of the pilot, in place of the program's.

    Returns
    -------
    RunLength

    Raises
    ------
    RunError
        The pilot failed, or has no interval.
    ValueError
        `half_width` is not above 0, or there are fewer than 2 replications.

    Notes
    -----
    The variance of a time average falls as one over the measured time, once that is long beside the memory of the
    system. (Law, Simulation Modeling and Analysis, section 9.4.1, on replications; Whitt, Planning queueing
    simulations, Management Science 35, 1989, 1341-1366.)
    """
    if not half_width > 0:
        raise ValueError(f"the half width must be above 0, and is {half_width!r}: try a tenth of the mean")
    if replications < 2:
        raise ValueError(f"a pilot needs at least 2 replications for an interval, and has {replications}: try 10")
    point = {name: [value] for name, value in (set or {}).items()}
    frame = program.sweep(point, replications=replications, seed=seed, horizon=horizon, warmup=warmup).frame
    require_metric(frame, metric)
    values = frame[metric].to_numpy(np.float64)
    mean, found = float(np.nanmean(values)) if np.isfinite(values).any() else math.nan, half_width_of(values)
    if not math.isfinite(found):
        message = f'the pilot has no interval of "{metric}": it has {int(np.isfinite(values).sum())} values'
        raise RunError([Diagnostic("pilot", message, None, hint="give the pilot a longer horizon")])
    measured_from, until = float(np.nanmax(frame["run.warmup"])), float(np.nanmax(frame["run.horizon"]))
    factor = (max(found, CERTAIN * abs(mean)) / half_width) ** 2
    longer = measured_from + (until - measured_from) * factor
    return RunLength(
        longer, measured_from, replications, half_width, until, mean, found,
        float(np.nanmean(frame["run.events"])) * longer / until, usual_reason(frame["unsteady"]),
    )  # fmt: skip
