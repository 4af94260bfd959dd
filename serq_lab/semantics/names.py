"""The names of a program: what each can mean, and what is wrong with one that means nothing.

In comes what `checker.py` found declared; out go rows and faults. Next on the way: `resolver.py` looks names
up here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Union

from serq_lab.diagnostics.diagnostic import Diagnostic, Label
from serq_lab.semantics import model as m
from serq_lab.semantics.faults import Faults, name_clash, unknown
from serq_lab.semantics.moments import CONSTANT, CONTEXT_VARIABLES, Moment
from serq_lab.source import Span
from serq_lab.syntax import nodes

# The parameters of each, in words.
FUNCTIONS = {
    **dict.fromkeys(("min", "max", "pow"), ("a", "b")),
    **dict.fromkeys(("abs", "floor", "ceil", "sqrt", "exp", "ln"), ("x",)),
}
STAGE_OBSERVABLES = {
    **dict.fromkeys(("queue", "busy", "work", "est_lambda", "est_rho", "est_wait", "budget_left"), ("stage",)),
    "price": ("stage", "hit", "extra"),
}
POOL_OBSERVABLES = dict.fromkeys(("used", "free", "cachedin", "holders", "queued", "blocksize"), ("pool",))
# The rule (constants.RULES) and the words of each parameter.
DISTRIBUTIONS = {
    "exp": (("mean", "mean"),),
    "uniform": (("number", "low"), ("number", "high")),
    "erlang": (("phases", "number of phases"), ("mean", "mean")),
    "h2": (("mean", "mean"), ("number", "cv2")),
    "bernoulli": (("probability", "probability"),),
    "det": (("number", "value"),),
}
TRACE_ATTRIBUTES = ("new", "out", "think", "more", "forced")
# What to write for a value that other languages have a name for.
ANALOGUES = {
    **dict.fromkeys(("true", "True", "yes"), "write `1`: what is not 0 is true"),
    **dict.fromkeys(("false", "False", "no"), "write `0`: 0 is false"),
    **dict.fromkeys(("time", "clock"), "the time is `now`"),
    **dict.fromkeys(("infinity", "Infinity", "Inf"), "write `inf`"),
    **dict.fromkeys(("pi", "Pi"), "write `3.141592653589793`"),
}
CALLABLES = FUNCTIONS.keys() | STAGE_OBSERVABLES.keys() | POOL_OBSERVABLES.keys()


@dataclass
class Family:
    """A pool or stage as declared; `size` is None for a single one, 0 while its size is not known."""

    row: int
    noun: str
    declaration: Union[nodes.Pool, nodes.Stage]
    size: int | None
    is_used: bool = False

    @property
    def name(self) -> str:
        return self.declaration.name.name

    @property
    def is_step(self) -> bool:
        return isinstance(self.declaration, nodes.Stage) and isinstance(self.declaration.kind, nodes.StepKind)

    @property
    def has_block(self) -> bool:
        return any(
            isinstance(option, nodes.Option) and option.keyword == "block"
            for option in getattr(self.declaration, "options", ())
        )


@dataclass
class Names:
    """Every name of a program that an expression can mean, with its row.

    `assigned` are the attributes that some `set` or `choose` assigns, with the first place; `hidden` those
    that the workload hides; `admission_names` every name bound ``at admission`` anywhere.
    """

    lets: dict[str, int] = field(default_factory=dict)
    later_lets: dict[str, Span] = field(default_factory=dict)
    attributes: dict[str, int] = field(
        default_factory=lambda: {name: row for row, name in enumerate(m.BUILT_IN_ATTRIBUTES)}
    )
    assigned: dict[str, Span] = field(default_factory=dict)
    hidden: dict[str, Span] = field(default_factory=dict)
    pools: dict[str, Family] = field(default_factory=dict)
    stages: dict[str, Family] = field(default_factory=dict)
    definitions: dict[str, nodes.Definition] = field(default_factory=dict)
    admission_names: set[str] = field(default_factory=set)
    has_trace: bool = False


def unknown_name(node: nodes.Name, names: Names, moment: Moment) -> tuple[Diagnostic, str | None]:
    """The fault of a name that is no value at a moment, and its cause (to report it once) where it is
    nowhere known.
    """
    name, span = node.name, node.span
    for table, noun, reads in ((names.pools, "pool", "used"), (names.stages, "stage", "queue")):
        if name in table:
            message = f'"{name}" is a {noun}, and a value is needed here'
            return Diagnostic("not-a-value", message, span, (), f"read its state, as in `{reads}({name})`"), None
    if name in names.later_lets:
        declared = names.later_lets[name]
        label = Label(declared, "declared here")
        if declared.start < span.start:
            message = f'the constant "{name}" uses itself'
            return Diagnostic("let-order", message, span, (label,), "give it a value of its own"), None
        message = f'"{name}" is declared further down, and a constant uses the ones above it'
        return Diagnostic("let-order", message, span, (label,), f"move `let {name}` up, above this line"), None
    if name in names.definitions or name in CALLABLES:
        noun = f'"{name}" is a definition' if name in names.definitions else f"`{name}` is a function"
        hint = f"give it its arguments in parentheses: `{name}(...)`"
        return Diagnostic("not-a-value", f"{noun}, and a value is needed here", span, (), hint), None
    if name in names.admission_names:
        message = f'"{name}" is named `at admission`, and is known in its hold\'s units, clauses and block only'
        hint = f'`set` an attribute in the hold\'s block to keep the value of "{name}"'
        return Diagnostic("admission-name-outside", message, span, (), hint), None
    candidates = set(names.lets) | moment.variables | {"inf"}
    if name in ANALOGUES:
        hint = ANALOGUES[name]
    elif moment is CONSTANT:
        hint = f"declare it above: `let {name} = 1;`"
    elif moment.session:
        hint = f"declare it, `let {name} = 1;`, or `set {name} = ...;` in the session"
        candidates |= names.attributes.keys()
    else:
        hint = f"declare it: `let {name} = 1;`"
    if moment.clock:
        candidates.add("now")
    return unknown("name", name, span, candidates, hint), name


def unknown_family(name: str, span: Span, families: dict[str, Family], names: Names) -> tuple[Diagnostic, str | None]:
    """The fault of a name that is no pool, or no stage, and its cause where it is nowhere known."""
    wanted, other = ("pool", "stage") if families is names.pools else ("stage", "pool")
    others = names.stages if wanted == "pool" else names.pools
    if name in others:
        message = f'"{name}" is a {other}, and a {wanted} is needed here'
        label = Label(others[name].declaration.name.span, "declared here")
        hint = f"name a {wanted}" + (f', for example "{next(iter(families))}"' if families else "")
        return Diagnostic("not-a-" + wanted, message, span, (label,), hint), None
    declaration = f"pool {name} {{ cap 10; }}" if wanted == "pool" else f"stage {name} : fifo;"
    return unknown(wanted, name, span, families, f"declare it: `{declaration}`"), name


@dataclass(frozen=True)
class Meaning:
    """One thing that a name is declared as; `what` is a noun with its article."""

    what: str
    name: nodes.Identifier


def check_meanings(meanings: Sequence[Meaning], has_trace: bool, faults: Faults) -> None:
    """Report each name with two meanings, at the later place."""
    own = [name for name in m.BUILT_IN_ATTRIBUTES if has_trace or name not in TRACE_ATTRIBUTES]
    first: dict[str, Meaning] = {}
    for meaning in sorted(meanings, key=lambda each: each.name.span.start):
        name, what, span = meaning.name.name, meaning.what, meaning.name.span
        is_body_name = what in ("a definition", "a session attribute")
        if (name in CONTEXT_VARIABLES or name in ("now", "inf")) and what != "a definition":
            faults.add(name_clash(name, what, span, "a name that the language supplies", None))
        elif name in own and not is_body_name:
            faults.add(name_clash(name, what, span, "an attribute of every session", None))
        else:
            other = first.setdefault(name, meaning)
            if other.what != what and not {other.what, what} <= {"a definition", "a session attribute"}:
                faults.add(name_clash(name, what, span, other.what, other.name.span))
