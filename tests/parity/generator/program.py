"""A whole random program: from choices to its text.

Comes in: `choices.py`. Goes out: `Generated`. The parts: `plan.py`, `declarations.py`, `session.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.parity.generator import session as s
from tests.parity.generator.choices import Choices
from tests.parity.generator.declarations import declarations, gauges
from tests.parity.generator.plan import Plan, plan

TRACES = ("trace_ordered.csv", "trace_override.csv", "trace_random.csv")


@dataclass(frozen=True)
class Generated:
    """A random program."""

    text: str
    features: frozenset[str]
    trace: str | None = None  # a file of the corpus


def generate(choices: Choices) -> Generated:
    """The program that the choices give; each ends within some thousand events."""
    it = plan(choices)
    trace = choices.one(*TRACES) if it.has("trace") else None
    above = declarations(it)
    is_closed, arrive = _arrivals(it)
    sides = it.has("sides")
    body = _body(it, is_server=sides)
    if re.search(r"run (up|down)(\[[^]]*\])?, ", body):
        above.insert(0, f"share {choices.one('maxmin', 'bottleneck')};")
    around = _life(it, "request;" if sides else body, is_closed)
    workload = [f"arrive {arrive};"]
    if trace is not None:
        workload.append(f'trace "{trace}"{choices.one("", " ordered")};')
    workload += [_init(it), _turn(it)]
    if it.has("hidden"):
        workload.append("hidden secret;")
    if sides:
        workload.append(f"session {{ {around} }}")
    below = [f"server {{ {body} }}" if sides else f"session {{ {around} }}", *gauges(it), _run(it, arrive)]
    text = "\n".join([*above, "workload {", *(f"  {line}" for line in workload), "}", *below])
    return Generated(text + "\n", it.features, trace)


def _arrivals(it: Plan) -> tuple[bool, str]:
    """Whether ended sessions are replaced at once, and the arrivals."""
    one = it.choices.one
    if it.has("nobody"):
        return False, "none"
    steady = ["renewal(0.5)", "batch(9)", "closed(5)", "renewal(1)", "batch(24)", "closed(9)"]
    drawn = ["poisson(1.3)", "renewal(~uniform(0.1, 1))", "poisson(2)", "renewal(~erlang(2, 0.8))", "poisson(0.6)"]
    arrive = one(*steady, *drawn * (1 + it.has("draws")))
    return arrive.startswith("closed"), arrive


def _init(it: Plan) -> str:
    drawn = it.has("draws")
    need = it.choices.one("2", "1 + serial - 5 * floor(serial / 5)", *["1 + floor(~uniform(0, 5))"] * drawn)
    rounds = it.choices.one("2", "1 + pri", *["1 + floor(~uniform(0, 4))"] * drawn)
    sets = [f"need = {need}", "pri = serial - 3 * floor(serial / 3)", "born = now", f"rounds = {rounds}"]
    if it.members:
        sets.append(f"at = serial - {it.members} * floor(serial / {it.members})")
    if it.has("hidden"):
        sets.append(f"secret = {it.choices.one('2', 'need', *['~exp(2)'] * drawn)}")
    return f"init {{ {' '.join(f'set {text};' for text in sets)} }}"


def _turn(it: Plan) -> str:
    ask = it.choices.one("2", "min(turn_no, 4)", *["1 + floor(~exp(1.5))", "~uniform(0, 3)"] * it.has("draws"))
    observed = f" observe {it.name('o')} = turn_no + ask;" if it.choices.chance(20) else ""
    return f"turn {{ set ask = {ask};{observed} }}"


def _body(it: Plan, is_server: bool) -> str:
    """What a turn asks for."""
    scope = s.Scope(depth=3 if it.has("nested") else 2, may_end=not is_server)
    first = s.hold(it, scope) if it.choices.chance(60) else s.block(it, scope, 1, 1)
    return f"set since = now; {first} {s.block(it, scope, 0, 3)} observe {it.name('o')} = now - since;"


def _life(it: Plan, body: str, is_closed: bool) -> str:
    """The session around its turns. One that may be replaced at once lets some time pass first."""
    first = "run nap (0.125); " if is_closed else ""
    route = s.choose(it, s.Scope(0)) + " " if it.has("choose") and it.members else ""
    if not it.has("turns"):
        return f"{first}turn; {route}{body}"
    last = it.choices.one("turn_no >= rounds", "turn_no >= 3", *["more == 0"] * it.has("trace"))
    think = it.choices.one(
        "0.25", "1", "need / 4 + 0.1", *["~exp(1) + 0.01"] * it.has("draws"), *["think"] * it.has("trace")
    )
    pause = f"run nap (max({think}, 0.05));"
    return f"{first}loop {{ turn; {route}{body} branch ({last}) {{ end; }} {pause} }}"


def _run(it: Plan, arrive: str) -> str:
    chance = it.choices.chance
    settings = [f"seed {it.choices.number(1, 999)};"]
    if arrive.startswith(("poisson", "renewal")) and chance(20):
        settings.append(f"arrivals {it.choices.number(20, 60)}; horizon 300;")
    else:
        settings.append(f"horizon {it.choices.one('50', '25', '100', '12.5', '160')};")
    if it.has("warmup"):
        settings.append(f"warmup {it.choices.one('5', '3', '2.5')};")
    return f"run {{ {' '.join(settings)} }}"
