"""What values a slider steps through, for each let of a program.

In come a checked model and what the caller asked for; out go tuples of values, the let's own among them. A slider
walks along such a tuple, so both its ends can be reached, counts stay whole and tiny steps work. Read by `panel.py`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Union

from serq_lab.diagnostics.errors import ProgramError
from serq_lab.lowering.trees import parts
from serq_lab.notebook.cell_error import UsageError
from serq_lab.semantics import model as m
from serq_lab.semantics.constants import Override, evaluate

Values = tuple[float, ...]
Given = Union[tuple[float, ...], Sequence[float]]
"""ipywidgets' abbreviations: a number to start at, ``(low, high)``, ``(low, high, step)``, or a list of values."""

COUNTS = {"members", "terms", "servers", "population", "arrivals", "seed"}
"""Rules (`semantics.constants.RULES`) of values that are whole."""

SPREAD = 4.0
"""Without a hint a slider goes from the value over this to the value times this."""

SMALL, LARGE = 0.01, 1000.0
"""A value below or above these gets a logarithmic slider."""

MOST_STEPS = 60
MOST_WHOLE = 100

_HINT = re.compile(r"\[\s*([-+.\deE_]+)\s*\.\.\s*([-+.\deE_]+)\s*\]")


def lets_in_use(model: m.Model) -> frozenset[int]:
    """The rows of the lets that a run depends on, directly or through other lets."""
    trees = (
        model.pools, model.stages, model.arrivals, model.init, model.turn, model.session, model.gauges, model.settings,
        model.structure, tuple(requirement.value for requirement in model.requirements),
    )  # fmt: skip
    return lets_read_by(model, trees)


def lets_read_by(model: m.Model, tree: object) -> frozenset[int]:
    """The rows of the lets that a tree or a tuple of them reads, directly or through other lets."""
    reached = {node.let for node in parts(tree) if isinstance(node, m.LetValue)}
    waiting = list(reached)
    while waiting:
        new = model.lets[waiting.pop()].uses - reached
        reached |= new
        waiting += new
    return frozenset(reached)


def usual_values(model: m.Model, row: int, lets: Mapping[str, Override], present: float) -> Values:
    """The values of a let's slider when nothing was asked for: from the hint in its comment, or from its use.

    Parameters
    ----------
    model : Model
    row : int
        The let.
    lets : mapping of str to float or str
        What else is given from outside: values that break a rule with these are left out.
    present : float
        The value that the slider starts at; it is one of the values.

    Returns
    -------
    tuple of float
        Ascending; empty where no range can be guessed, as for an infinite value.
    """
    if not math.isfinite(present):
        return ()
    rules = rules_of(model, row)
    is_whole = is_counted(model, row, present)
    hint = hinted(model.lets[row].comment)
    if hint is not None:
        values = between(*hint, through=present, whole=is_whole or is_all_whole(*hint, present))
    elif "probability" in rules and 0 <= present <= 1:
        values = between(0.0, 1.0, through=present)
    else:
        values = _around(present, is_whole)
    name = model.lets[row].name
    return tuple(value for value in values if _is_allowed(model, {**lets, name: value}))


def rules_of(model: m.Model, row: int) -> set[str]:
    """The rules (`semantics.constants.RULES`) that hold of a let because of where the program uses it as it is."""
    return {each.rule for each in model.requirements if each.value == m.LetValue(each.span, row)}


def is_counted(model: m.Model, row: int, present: float) -> bool:
    """Whether only whole values of a let make sense: for a count, and a capacity that is whole as it stands."""
    rules = rules_of(model, row)
    return bool(rules & COUNTS) or ("capacity" in rules and present.is_integer())


def _around(present: float, is_whole: bool) -> Values:
    if present == 0:
        return between(0.0, 10.0 if is_whole else 1.0, whole=is_whole)
    low, high = sorted((present / SPREAD, present * SPREAD))
    is_log = not SMALL <= abs(present) < LARGE
    if is_whole:
        low = max(1.0, math.ceil(low)) if present > 0 else low
    return between(low, high, through=present, whole=is_whole, logarithmic=is_log and present > 0)


def _is_allowed(model: m.Model, lets: Mapping[str, Override]) -> bool:
    try:
        evaluate(model, lets)
    except ProgramError:
        return False
    return True


def hinted(comment: str) -> tuple[float, float] | None:
    """The range that a comment gives, as in ``units of memory [4..20]``; None where there is none."""
    found = _HINT.search(comment)
    if found is None:
        return None
    try:
        low, high = (float(number) for number in found.groups())
    except ValueError:
        return None
    return (low, high) if low < high and math.isfinite(high - low) else None


def asked_values(name: str, given: Given, through: float | None, whole: bool = False) -> Values:
    """The values that the caller asked for.

    Parameters
    ----------
    name : str
        What messages call the slider.
    given : tuple or list
        ``(low, high)``, ``(low, high, step)``, or any other sequence: the values themselves.
    through : float or None
        A value that should be among those of a range.
    whole : bool
        Whether only whole numbers make sense.
    """
    numbers = [float(each) for each in given if _is_number(each)] if isinstance(given, Iterable) else []
    if not numbers or len(numbers) != len(list(given)):
        raise UsageError(f"`{name}` is {given!r}: give (low, high), (low, high, step) or a list, as in `{name}=(1, 9)`")
    if not isinstance(given, tuple):
        return tuple(dict.fromkeys(numbers))
    if len(numbers) not in (2, 3) or not numbers[0] < numbers[1]:
        raise UsageError(f"`{name}` is {given!r}: a range is (low, high) with low below high, as in `{name}=(1, 9)`")
    low, high, *step = numbers
    if step and not step[0] > 0:
        raise UsageError(f"`{name}` has a step of {step[0]:g}: give one above 0")
    if step:
        n_steps = math.floor((high - low) / step[0] + 1e-9)
        return tuple(dict.fromkeys([*(_to_digits(low + k * step[0], 12) for k in range(n_steps + 1)), high]))
    is_odd = through is not None and math.isfinite(through) and not float(through).is_integer()
    whole = whole or (is_all_whole(low, high) and not is_odd)
    return between(low, high, through=through, whole=whole)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def is_all_whole(*values: float) -> bool:
    return all(float(value).is_integer() for value in values)


def between(
    low: float, high: float, *, through: float | None = None, whole: bool = False, logarithmic: bool | None = None
) -> Values:
    """Handy values from `low` to `high`, both included, and `through` where it lies between them.

    Steps are 1, 2 or 5 times a power of ten; on a logarithmic range, which is taken where it spans two decades unless
    `logarithmic` says otherwise, the ratio of neighbours is even, up to rounding to three digits.
    """
    if logarithmic is None:
        logarithmic = low > 0 and high / low >= 100
    if whole:
        low, high = math.ceil(low), math.floor(high)
    if logarithmic:
        steps = MOST_STEPS - 20
        inner = [_to_digits(low * (high / low) ** (k / steps), 3) for k in range(1, steps)]
        inner = [round(value) for value in inner] if whole else inner
    else:
        step = handy_step((high - low) / (MOST_WHOLE if whole else MOST_STEPS), least=1.0 if whole else 0.0)
        inner = [_to_digits(k * step, 12) for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    ends = [low, high] if through is None or not low <= through <= high else [low, through, high]
    return tuple(sorted({float(value) for value in [*ends, *inner] if low <= value <= high}))


def handy_step(least_step: float, least: float = 0.0) -> float:
    """The least of 1, 2 and 5 times a power of ten that is at least this."""
    if least_step <= least:
        return least
    power = 10.0 ** math.floor(math.log10(least_step))
    return max(least, next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least_step * (1 - 1e-9)))


def _to_digits(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def thinned(values: Sequence[float], present: float, most: int) -> Values:
    """At most so many of the values, evenly spread, both ends and the nearest to `present` included."""
    if len(values) <= most:
        return tuple(values)
    last = len(values) - 1
    rows = {round(k * last / (most - 2)) for k in range(most - 1)}
    return tuple(values[row] for row in sorted(rows | {values.index(nearest(values, present))}))


def nearest(values: Sequence[float], present: float) -> float:
    here = max(min(present, max(values)), min(values))
    return min(values, key=lambda value: abs(value - here))
