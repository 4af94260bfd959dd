"""Faults of a program as data: the collection, and the kinds that several checks share.

In come names, values and spans; out go `Diagnostic`s. A fault that only one check can find is worded where
that check stands. Next on the way: `checker.py` raises what was collected as one `ProgramError`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import isinf, isnan

from serq_lab.diagnostics.catalogue import code, did_you_mean, quoted
from serq_lab.diagnostics.diagnostic import Diagnostic, Label
from serq_lab.semantics.model import BUILT_IN_ATTRIBUTES
from serq_lab.semantics.moments import Moment, where_readable
from serq_lab.source import SourceText, Span


class Faults:
    """The faults and warnings of one check, each place and cause once."""

    def __init__(self) -> None:
        self.errors: list[Diagnostic] = []
        self.warnings: list[Diagnostic] = []
        self._seen: set[tuple[object, ...]] = set()

    def add(self, fault: Diagnostic, cause: str | None = None) -> None:
        """Add a fault unless it was added before, at this place or (with `cause`) for this cause anywhere."""
        place = None if fault.span is None else (id(fault.span.source), fault.span.start, fault.span.stop)
        keys: list[tuple[object, ...]] = [(fault.code, place, "" if place else fault.message)]
        if cause is not None:
            keys.append((fault.code, "cause", cause))
        if any(key in self._seen for key in keys):
            return
        self._seen.update(keys)
        (self.errors if fault.severity == "error" else self.warnings).append(fault)

    def error(self, code: str, message: str, span: Span | None, hint: str | None = None, *labels: Label) -> None:
        self.add(Diagnostic(code, message, span, labels, hint))

    def warning(self, code: str, message: str, span: Span, hint: str | None = None) -> None:
        self.add(Diagnostic(code, message, span, (), hint, "warning"))


def in_order(faults: Iterable[Diagnostic], source: SourceText) -> tuple[Diagnostic, ...]:
    """Faults sorted by place: those of the program first, then other texts, then those without a place."""

    def place(fault: Diagnostic) -> tuple[int, str, int, int]:
        if fault.span is None:
            return (2, "", 0, 0)
        ours = fault.span.source is source
        return (0 if ours else 1, "" if ours else fault.span.source.name, fault.span.start, fault.span.stop)

    return tuple(sorted(faults, key=place))


_BETWEEN = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*(\w+|.)?", re.DOTALL)


def behind(span: Span) -> Span:
    """The word or sign behind a span: where something that should have come before is missed."""
    found = _BETWEEN.match(span.source.text, span.stop)
    if found is None or found[1] is None:
        return Span(span.source, span.stop - 1, span.stop)
    return Span(span.source, found.start(1), found.end(1))


def number(value: float) -> str:
    """A value as messages quote it: ``2``, ``0.25``, ``inf``, ``NaN``."""
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "inf" if value > 0 else "-inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def count_of(n: int, noun: str) -> str:
    """``1 argument``, ``2 arguments``."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def unknown(kind: str, name: str, span: Span, candidates: Iterable[str], hint: str) -> Diagnostic:
    """A name that nothing declares; `hint` is used where no valid name is near."""
    guess = did_you_mean(name, candidates)
    return Diagnostic("unknown-" + kind, f'there is no {kind} "{name}"', span, (), guess or hint)


def given_twice(what: str, span: Span, first: Span, hint: str = "keep one of the two") -> Diagnostic:
    return Diagnostic("given-twice", f"{what} is given twice", span, (Label(first, "given here first"),), hint)


def name_clash(name: str, what: str, span: Span, other: str, other_span: Span | None) -> Diagnostic:
    """One name with two meanings; `what` and `other` are nouns with their article."""
    labels = () if other_span is None else (Label(other_span, "declared here"),)
    message = f'"{name}" is {what} here, and also {other}; one name has one meaning'
    return Diagnostic("name-clash", message, span, labels, f"rename one of the two, for example `{name}_2`")


def wrong_argument_count(
    name: str, span: Span, parameters: Sequence[str], got: int, declared: Span | None = None
) -> Diagnostic:
    """A call with too few or too many arguments; `parameters` are words for those it takes.

    `declared` is the place of a definition; without one, the name is a word of the language.
    """
    labels = () if declared is None else (Label(declared, "declared here"),)
    takes = count_of(len(parameters), "argument") if parameters else "no arguments"
    if declared is None and name in ("min", "max"):
        takes = f"at least {takes}"
    were = "was" if got == 1 else "were"
    shown = code(name) if declared is None else quoted(name)
    message = f"{shown} takes {takes}, and {got or 'none'} {were} given"
    return Diagnostic("argument-count", message, span, labels, f"write `{name}({', '.join(parameters)})`")


def variable_out_of_place(name: str, span: Span, moment: Moment) -> Diagnostic:
    """A context variable read where it does not exist."""
    return Diagnostic(
        "not-readable-here",
        f"`{name}` cannot be read in {moment.words}",
        span,
        hint=f"read `{name}` in {where_readable(name)}, or give your own value another name",
    )


def attribute_out_of_place(name: str, span: Span, moment: Moment) -> Diagnostic:
    """A session attribute read where there is no session."""
    if moment.words == "a constant":
        hint = f"declare the value as a constant, `let {name} = ...;`, under a name of its own"
    elif moment.words == "a gauge":
        hint = f"record it in the session, `observe {name}_seen = {name};`"
    else:
        hint = "use a constant" + ", or the state of pools and stages" * moment.board
    shown = code(name) if name in BUILT_IN_ATTRIBUTES or name.endswith(")") else quoted(name)
    return Diagnostic(
        "not-readable-here",
        f"{shown} belongs to one session, and {moment.words} has no session to read it from",
        span,
        hint=hint,
    )


def state_out_of_place(what: str, span: Span, moment: Moment) -> Diagnostic:
    """The clock or an observable read where nothing runs yet, or where it is no plain level."""
    return Diagnostic(
        "not-readable-here",
        f"{what} cannot be read in {moment.words}",
        span,
        hint="use numbers and `let` constants here"
        if not moment.board
        else "read it in a session statement: `observe x = ...;`",
    )


def nested_too_deeply(span: Span, limit: int) -> Diagnostic:
    message = f"this is nested more than {limit} levels deep once definitions are written out"
    hint = "`set` parts of it to attributes, or declare parts as constants"
    return Diagnostic("nested-too-deeply", message, span, (), hint)


def draw_out_of_place(span: Span, moment: Moment) -> Diagnostic:
    return Diagnostic(
        "draw-not-allowed",
        f"{moment.words} may not draw: {moment.why_no_draw}",
        span,
        hint="`set` an attribute to the draw in the `init` or `turn` block and read that",
    )
