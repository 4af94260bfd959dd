"""What is a number before the run: lets under overrides, and every value that rests on them.

In comes a checked `Model` with new values for some lets or run settings; out go `Constants`, or a
`ProgramError` when a value breaks a rule. This is the fast path of a slider: nothing is parsed or resolved
again. `checker.py` uses the same functions for the first time round. Next on the way: `lowering/lower.py`
writes the lets on the board.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf, isnan, nan
from typing import NamedTuple, Union

from serq_lab.diagnostics.catalogue import did_you_mean, quoted
from serq_lab.diagnostics.diagnostic import Label
from serq_lab.diagnostics.errors import ProgramError
from serq_lab.semantics import model as m
from serq_lab.semantics.expressions import is_constant, lets_read, value
from serq_lab.semantics.faults import Faults, in_order, number
from serq_lab.semantics.moments import CONSTANT
from serq_lab.semantics.names import Names
from serq_lab.semantics.resolver import Resolver, failed
from serq_lab.source import SourceText, Span
from serq_lab.syntax.parser import parse_expression

__all__ = ["Override", "collect", "evaluate", "value"]

Override = Union[float, str]
Given = Mapping[str, Union[float, None]]

# ---------------------------------------------------------------------- rules

MAX_MEMBERS = 10_000
MAX_TERMS = 4096
MAX_POPULATION = 10_000_000
MAX_PHASES = 1_000_000
MAX_CHOICES = 1_000_000


OPEN_PROCESSES = ("poisson", "renewal")
GIVEN = {
    "horizon": "the horizon",
    "warmup": "the warm-up",
    "seed": "the seed",
    "arrivals": "the number of arrivals",
}
"""The run settings in words, for values in place of the program's."""


class Rule(NamedTuple):
    """What must hold of a value: the test of (value, limit), its words behind "must be", and what to do."""

    test: Callable[[float, float], bool]
    words: str
    hint: str


def _count(least: int, most: float) -> Callable[[float, float], bool]:
    return lambda v, limit: least <= v <= most and v == math.floor(v)


def _is_positive(v: float, limit: float) -> bool:
    return 0 < v < inf


def _is_not_negative(v: float, limit: float) -> bool:
    return v >= 0  # false for NaN


RULES: dict[str, Rule] = {
    "capacity": Rule(_is_not_negative, "0 or more", "give it a number, or `inf` for no limit"),
    "flow capacity": Rule(
        lambda v, limit: v > 0, "above 0, because flows share it", "give it a number above 0, as in `ps(1)`"
    ),
    "block": Rule(_is_positive, "above 0 and finite", "give the size of a block, or leave `block` out"),
    "members": Rule(_count(1, MAX_MEMBERS), f"a whole number from 1 to {MAX_MEMBERS:,}", "give it a size, as in `[4]`"),
    "terms": Rule(
        _count(1, MAX_TERMS),
        f"a whole number from 1 to {MAX_TERMS:,}",
        "count members, as in `sum i in 4 (i)`",
    ),
    "servers": Rule(_count(1, MAX_POPULATION), "a whole number of at least 1", "give it a number, as in `fifo(2)`"),
    "population": Rule(
        _count(0, MAX_POPULATION),
        f"a whole number from 0 to {MAX_POPULATION:,}",
        "give a number of sessions, or let them come one by one: `arrive poisson(0.8);`",
    ),
    "choices": Rule(
        lambda v, limit: v <= MAX_CHOICES, f"at most {MAX_CHOICES:,}", "choose among the members of an array"
    ),
    "rate": Rule(
        lambda v, limit: 0 <= v < inf,
        "finite and 0 or more",
        "a rate is arrivals in a unit of time, as in `poisson(0.8)`",
    ),
    "gap": Rule(_is_positive, "above 0 and finite", "a gap is a time, as in `renewal(1.25)`"),
    "horizon": Rule(_is_positive, "above 0 and finite", "say when the run ends: `horizon 10000;`"),
    "warmup": Rule(lambda v, limit: 0 <= v < inf, "0 or more, and below the horizon", "leave it out to measure from 0"),
    "seed": Rule(_count(0, 2**64 - 1), "a whole number from 0 to 2^64 - 1", "any such number will do: `seed 1;`"),
    "arrivals": Rule(_count(1, 2.0**53), "a whole number of at least 1", "leave it out for arrivals without end"),
    "guard": Rule(lambda v, limit: v in (0.0, 1.0), "0 or 1", "compare, as in `branch (x > 0)`"),
    "cost": Rule(_is_not_negative, "0 or more", "give it a number of at least 0, or use `max(0, ...)`"),
    "mean": Rule(_is_not_negative, "0 or more", "give it a positive mean"),
    "probability": Rule(
        lambda v, limit: 0 <= v <= 1, "from 0 to 1", "a probability is a part of 1: write `0.3` for 30 %"
    ),
    "phases": Rule(lambda v, limit: v <= MAX_PHASES, f"at most {MAX_PHASES:,}", "with many phases use the mean itself"),
    "number": Rule(
        lambda v, limit: not isnan(v), "a number", "look for a division `0 / 0` or a difference `inf - inf`"
    ),
    "index": Rule(
        lambda v, limit: 0 <= v < limit and v == math.floor(v),
        "a whole number inside the array",
        "members are numbered from 0",
    ),
}


def _hint(requirement: m.Requirement, got: float) -> str:
    if requirement.rule == "guard" and 0 < got < 1:
        return f"write `branch with ({number(got)})` to draw with this probability"
    if requirement.rule == "index":
        return f"members are numbered from 0 to {int(requirement.limit) - 1}"
    return RULES[requirement.rule].hint


class LetTable(NamedTuple):
    """The lets with the values in force; `given` are the rows whose formula came from outside."""

    lets: Sequence[m.Let]
    values: Sequence[float]
    given: frozenset[int]


def check_requirements(requirements: Sequence[m.Requirement], table: LetTable, faults: Faults) -> None:
    """Report every requirement whose value breaks its rule, with the lets that the value rests on."""
    for requirement in requirements:
        got = value(requirement.value, table.values)
        rule = RULES[requirement.rule]
        if rule.test(got, requirement.limit):
            continue
        direct = lets_read(requirement.value)
        labels = tuple(
            Label(table.lets[row].span, f'"{table.lets[row].name}" is {number(table.values[row])}')
            for row in sorted(direct)
        )
        message = f"{requirement.subject} must be {rule.words}, and is {number(got)}{_with_given(direct, table)}"
        code = "bad-" + requirement.rule.replace(" ", "-")
        faults.error(code, message, requirement.span, _hint(requirement, got), *labels)


def _with_given(rows: frozenset[int], table: LetTable) -> str:
    """Which values from outside a value rests on: ", with `C` = -1 given from outside"."""
    reached, waiting = set(rows), list(rows)
    while waiting:
        for row in table.lets[waiting.pop()].uses - reached:
            reached.add(row)
            waiting.append(row)
    given = [f'"{table.lets[row].name}" = {number(table.values[row])}' for row in sorted(reached & table.given)]
    return f", with {' and '.join(given)} given from outside" if given else ""


def check_let(let: m.Let, got: float, given: bool, faults: Faults) -> None:
    if isnan(got):
        origin = f'"{let.name}" as given from outside' if given else f'the constant "{let.name}"'
        hint = "a constant is a number or `inf`; look for `0 / 0` or `inf - inf`"
        faults.error("let-nan", f"{origin} is NaN", let.value.span, hint)


# ------------------------------------------------------------------ overrides


def given_span(text: str, words: str) -> Span:
    """The place of a value that came from outside: a text of its own, named by `words`."""
    return Span(SourceText(text, words), 0, len(text))


def override_formula(name: str, given: Override, above: Sequence[str], faults: Faults) -> m.Expression:
    """The formula of a let given from outside; `above` are the lets it may use, in order of row."""
    words = f'the value given for "{name}"'
    if not isinstance(given, str):
        return m.Constant(given_span(number(given), words), float(given))
    source = SourceText(given, words)
    try:
        tree = parse_expression(source)
    except ProgramError as error:
        for fault in error.diagnostics:
            faults.add(fault)
        return failed(Span(source, 0, len(given)))
    own = Faults()
    names = Names(lets={above_name: row for row, above_name in enumerate(above)})
    formula = Resolver(names, own).expression(tree, CONSTANT)
    for fault in own.errors:
        if fault.code == "unknown-name":
            hint = fault.hint if fault.hint and fault.hint.startswith("did you") else None
            fault = replace(fault, hint=hint or f'a value for "{name}" may use numbers and the constants above it')
        faults.add(fault)
    return formula


def check_override_names(overrides: Mapping[str, Override], names: Sequence[str], faults: Faults) -> None:
    for name in overrides:
        if name not in names:
            listed = ", ".join(map(quoted, names))
            all_of_them = f"the program's constants are {listed}" if names else "the program has no constants"
            hint = did_you_mean(name, names) or all_of_them
            faults.error("unknown-override", f'there is no constant "{name}" to set', None, hint)


# ------------------------------------------------------------------- evaluate


def evaluate(
    model: m.Model,
    overrides: Mapping[str, Override],
    *,
    horizon: float | None = None,
    warmup: float | None = None,
    seed: int | None = None,
    arrivals: int | None = None,
) -> m.Constants:
    """The constants of a checked program under new values.

    Parameters
    ----------
    model : Model
        The checked program.
    overrides : mapping of str to float or str
        New values of lets, as numbers or as expressions over the lets above; lets that use them follow.
    horizon, warmup, seed, arrivals : number, optional
        In place of the `run` settings.

    Returns
    -------
    Constants
        If its `structure` differs from that of ``model.constants``, the program must be checked again.

    Raises
    ------
    ProgramError
        When an override names no let, or a value breaks a rule: all such faults together.
    """
    given = {"horizon": horizon, "warmup": warmup, "seed": seed, "arrivals": arrivals}
    if not overrides and all(setting is None for setting in given.values()):
        return model.constants
    faults = Faults()
    table = _let_table(model, overrides, faults)
    if not faults.errors:
        check_requirements(model.requirements, table, faults)
        settings = settings_values(model.settings, model.arrivals, table.values, given, faults)
    if faults.errors:
        raise ProgramError(in_order(faults.errors, model.source))
    return collect(model.arrivals, model.pools, model.stages, model.structure, table.values, settings)


def _let_table(model: m.Model, overrides: Mapping[str, Override], faults: Faults) -> LetTable:
    names = [let.name for let in model.lets]
    check_override_names(overrides, names, faults)
    lets: list[m.Let] = list(model.lets)
    values: list[float] = []
    given = set()
    for row, let in enumerate(model.lets):
        if let.name in overrides:
            given.add(row)
            formula = override_formula(let.name, overrides[let.name], names[:row], faults)
            lets[row] = m.Let(let.span, let.name, formula, let.comment, lets_read(formula))
        elif let.value.span.source is not let.span.source:  # it was given from outside when it was checked
            given.add(row)
        values.append(nan if faults.errors else value(lets[row].value, values))
        if not faults.errors:
            check_let(lets[row], values[row], row in given, faults)
    return LetTable(lets, values, frozenset(given))


def settings_values(
    settings: m.RunSettings, arrivals: m.Arrivals, lets: Sequence[float], given: Given, faults: Faults
) -> dict[str, float]:
    """The run settings as numbers; `given` are values in place of the program's own, None where those count.

    Reports what is wrong with given values and with the two times together; the program's own values are
    held to their rules by `check_requirements`.
    """
    own = {
        "horizon": settings.horizon,
        "warmup": settings.warmup,
        "seed": settings.seed,
        "arrivals": settings.arrivals,
    }
    found: dict[str, float] = {}
    for name, expression in own.items():
        replacement = given.get(name)
        if replacement is not None:
            found[name] = replacement
            if not RULES[name].test(replacement, inf):
                subject = GIVEN[name]
                message = f"{subject} given must be {RULES[name].words}, and is {number(replacement)}"
                faults.error("bad-" + name, message, None)
        elif expression is not None and is_constant(expression):
            # A seed given from outside is a Python integer, which a double may not hold: take it as it is.
            found[name] = expression.value if isinstance(expression, m.Constant) else value(expression, lets)
    horizon, warmup = found.get("horizon", inf), found.get("warmup", 0.0)
    if warmup >= horizon > 0:
        message = f"the warm-up, {number(warmup)}, must be below the horizon, {number(horizon)}"
        place: Span | None = settings.warmup.span
        if given.get("warmup") is not None or given.get("horizon") is not None:
            place = None
        faults.error("bad-warmup", message, place, "raise the horizon or shorten the warm-up")
    if given.get("arrivals") is not None and arrivals.process not in OPEN_PROCESSES:
        message = f"a number of arrivals was given, and `{arrivals.process}` arrivals cannot be limited"
        faults.error("arrivals-not-open", message, None, "use `arrive poisson(...)` or `arrive renewal(...)`")
    return found


def collect(
    arrivals: m.Arrivals,
    pools: Sequence[m.Pool],
    stages: Sequence[m.Stage],
    structure: Sequence[m.Expression],
    lets: Sequence[float],
    settings: Mapping[str, float],
) -> m.Constants:
    """Everything that is a number before the run, of a program without faults."""
    population = 0
    if arrivals.process in ("closed", "batch") and arrivals.value is not None:
        population = int(value(arrivals.value, lets))
    return m.Constants(
        lets=tuple(lets),
        caps=tuple([value(pool.cap, lets) for pool in pools]),
        blocks=tuple([nan if pool.block is None else value(pool.block, lets) for pool in pools]),
        servers=tuple([0 if s.servers is None else int(value(s.servers, lets)) for s in stages]),
        population=population,
        horizon=float(settings["horizon"]),
        warmup=float(settings["warmup"]),
        seed=int(settings["seed"]),
        arrivals=int(settings["arrivals"]) if "arrivals" in settings else None,
        structure=tuple([value(expression, lets) for expression in structure]),
    )
