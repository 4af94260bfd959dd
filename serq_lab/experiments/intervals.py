"""What replications say: intervals of means, and a test on the warm-up. Replications are independent by design.

In come a few numbers of one point, out goes a half width or a verdict; read by `curve.py` and `table.py`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

CONFIDENCE = 0.95

SURE = 0.99
LEAST_DIFFERENCE = 0.05
LEAST_REPLICATIONS = 3
"""Of the test on the warm-up, see `is_warmup_short`."""


def student(confidence: float, degrees: int) -> float:
    """The point that |t| stays below with this probability, for Student's t with so many degrees of freedom.

    From SciPy's special functions: its module of distributions takes half a second to import.
    """
    return float(stdtrit(degrees, (1 + confidence) / 2))


def half_width(values: NDArray[np.float64]) -> float:
    """Half the 95% interval of the mean of independent values; NaNs are left out, infinite below two values.

    Student's t times the standard error. (Law, Simulation Modeling and Analysis, section 9.4.1.)
    """
    values = values[np.isfinite(values)]
    n = len(values)
    if n < 2:
        return math.inf
    return student(CONFIDENCE, n - 1) * float(values.std(ddof=1)) / math.sqrt(n)


def is_warmup_short(first: NDArray[np.float64], later: NDArray[np.float64]) -> bool:
    """Whether the measured time began while the population was still on its way from the empty system.

    Parameters
    ----------
    first, later : ndarray of float64, shape (replications,)
        The mean number of live sessions in the first twentieth of the measured time, and in the others.

    Notes
    -----
    A paired t test at the level of 1% over replications, with the difference at least a twentieth of the later mean:
    less than that moves the mean by less than 0.25%. Needs three replications.
    """
    differences = (first - later)[np.isfinite(first - later)]
    n = len(differences)
    if n < LEAST_REPLICATIONS:
        return False
    difference = abs(float(differences.mean()))
    noise = student(SURE, n - 1) * float(differences.std(ddof=1)) / math.sqrt(n)
    return difference > noise and difference > LEAST_DIFFERENCE * float(np.nanmean(later))
