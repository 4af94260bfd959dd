"""The items of a program, sorted by kind, and the definitions of the libraries it uses.

In comes the tree of a program; out go its `Parts`, with `use` carried out: libraries read, parsed and their
definitions taken in where the `use` stands. Next on the way: `substitution.py` and `blocks.py` write
definitions out.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from serq_lab.diagnostics.catalogue import did_you_mean, quoted
from serq_lab.diagnostics.diagnostic import Label
from serq_lab.diagnostics.errors import ProgramError
from serq_lab.semantics.faults import Faults, given_twice
from serq_lab.semantics.names import CALLABLES, DISTRIBUTIONS
from serq_lab.source import SourceText
from serq_lab.syntax import nodes
from serq_lab.syntax.parser import parse, parse_definition_body

MAX_LIBRARIES = 100


@dataclass
class Parts:
    """A program's items; `definitions` are in the order in which they may use each other, `libraries` as they are
    used."""

    lets: list[nodes.Let] = field(default_factory=list)
    definitions: dict[str, nodes.Definition] = field(default_factory=dict)
    pools: list[nodes.Pool] = field(default_factory=list)
    stages: list[nodes.Stage] = field(default_factory=list)
    gauges: list[nodes.Gauge] = field(default_factory=list)
    workload: nodes.Workload | None = None
    session: nodes.Session | None = None
    server: nodes.Server | None = None
    share: nodes.Share | None = None
    run: nodes.RunBlock | None = None
    libraries: list[SourceText] = field(default_factory=list)


def _real_path(path: str) -> str:
    return path if "\0" in path else os.path.realpath(path)


_Item = TypeVar("_Item", nodes.Workload, nodes.Session, nodes.Server, nodes.Share, nodes.RunBlock)


class Gathering:
    """Sorts items into `Parts`."""

    def __init__(self, bodies: Mapping[str, str], faults: Faults) -> None:
        self.parts = Parts()
        self.faults = faults
        self._bodies = bodies
        self._program = ""  # the program's own path
        self._read: set[str] = set()  # libraries taken in already

    def program(self, tree: nodes.Program, source: SourceText) -> Parts:
        parts = self.parts
        self._program = _real_path(source.name)
        for item in tree.items:
            if isinstance(item, nodes.Let):
                parts.lets.append(item)
            elif isinstance(item, nodes.Definition):
                self._definition(item)
            elif isinstance(item, nodes.Use):
                self._use(item, source, ())
            elif isinstance(item, nodes.Pool):
                parts.pools.append(item)
            elif isinstance(item, nodes.Stage):
                parts.stages.append(item)
            elif isinstance(item, nodes.Gauge):
                parts.gauges.append(item)
            elif isinstance(item, nodes.Workload):
                parts.workload = self._only(parts.workload, item, "`workload`")
            elif isinstance(item, nodes.Session):
                parts.session = self._only(parts.session, item, "`session`")
            elif isinstance(item, nodes.Server):
                parts.server = self._only(parts.server, item, "`server`")
            elif isinstance(item, nodes.Share):
                parts.share = self._only(parts.share, item, "`share`")
            else:
                parts.run = self._only(parts.run, item, "`run`")
        self._check_bodies()
        return parts

    def _only(self, first: _Item | None, item: _Item, what: str) -> _Item:
        if first is None:
            return item
        place = item.body.span if isinstance(item, (nodes.Session, nodes.Server)) else item.span
        self.faults.add(given_twice(what, place, first.span, "put everything into one"))
        return first

    # --------------------------------------------------------------- definitions

    def _definition(self, item: nodes.Definition) -> None:
        name, span = item.name.name, item.name.span
        first = self.parts.definitions.get(name)
        if first is not None:
            self.faults.add(given_twice(f'the definition "{name}"', span, first.name.span, "rename one of the two"))
            return
        if name in CALLABLES or name in DISTRIBUTIONS:
            message = f'"{name}" is a function of the language'
            self.faults.error("name-clash", message, span, f"rename the definition, for example `my_{name}`")
            return
        seen: dict[str, nodes.Identifier] = {}
        for parameter in item.parameters:
            if parameter.name in seen:
                what = f'the parameter "{parameter.name}"'
                hint = "give each parameter a name of its own"
                self.faults.add(given_twice(what, parameter.span, seen[parameter.name].span, hint))
            seen[parameter.name] = parameter
        if name in self._bodies:
            item = replace(item, body=self._new_body(item))
        self.parts.definitions[name] = item

    def _new_body(self, item: nodes.Definition) -> nodes.Expression | nodes.Block:
        """The body given from outside, or the old one where that is no use."""
        name = item.name.name
        source = SourceText(self._bodies[name], f'the given body of "{name}"')
        try:
            body = parse_definition_body(source)
        except ProgramError as error:
            for fault in error.diagnostics:
                self.faults.add(fault)
            return item.body
        if isinstance(body, nodes.Block) or isinstance(item.body, nodes.Block):
            message = f'only the body of an expression definition can be given, and "{name}" is one of statements'
            if isinstance(body, nodes.Block) and not isinstance(item.body, nodes.Block):
                message = f'the body given for "{name}" is a block of statements, and "{name}" is an expression'
            self.faults.error("bad-definition-body", message, None, f"give an expression, as in `def {name}(x) = x;`")
            return item.body
        return body

    def _check_bodies(self) -> None:
        for name in self._bodies:
            if name not in self.parts.definitions:
                known = self.parts.definitions
                listed = ", ".join(map(quoted, known))
                all_of_them = f"the program's definitions are {listed}" if known else "the program has none"
                hint = did_you_mean(name, known) or all_of_them
                self.faults.error("unknown-definition", f'there is no definition "{name}" to replace', None, hint)

    # ----------------------------------------------------------------- libraries

    def _use(self, item: nodes.Use, source: SourceText, users: Sequence[tuple[str, nodes.Use]]) -> None:
        """Take the definitions of a library in; `users` are the libraries on the way to this one, and their
        `use`.
        """
        path = os.path.join(os.path.dirname(source.name), item.path)
        real = _real_path(path)
        if real == self._program or real in (user for user, _ in users):
            message = f'"{item.path}" is used by itself'
            self.faults.error("use-cycle", message, item.span, "take this `use` out")
            return
        if real in self._read:
            return
        self._read.add(real)
        if len(self._read) > MAX_LIBRARIES:
            self.faults.error("use-too-many", f"more than {MAX_LIBRARIES} files are used", item.span, "use fewer")
            return
        text = self._text(item, path)
        if text is None:
            return
        library = SourceText(text, path)
        self.parts.libraries.append(library)
        try:
            tree = parse(library)
        except ProgramError as error:
            for fault in error.diagnostics:
                self.faults.add(replace(fault, labels=(*fault.labels, Label(item.span, "used here"))))
            return
        for inner in tree.items:
            if isinstance(inner, nodes.Definition):
                self._definition(inner)
            elif isinstance(inner, nodes.Use):
                self._use(inner, library, (*users, (real, item)))
            else:
                message = f'a file that is used holds definitions only, and "{item.path}" holds something else'
                label = Label(item.span, "used here")
                self.faults.error("use-other-item", message, inner.span, "move this into the program", label)

    def _text(self, item: nodes.Use, path: str) -> str | None:
        try:
            with open(path, encoding="utf-8", newline="") as file:
                return file.read()
        except FileNotFoundError:
            problem, hint = "is not there", "paths are relative to the file that says `use`"
        except IsADirectoryError:
            problem, hint = "is a directory", "name a file"
        except UnicodeDecodeError:
            problem, hint = "is no text in UTF-8", "name a file with definitions"
        except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
            reason = error.strerror if isinstance(error, OSError) else "such a path cannot be"
            problem, hint = f"cannot be read: {reason}", "paths are relative to the file that says `use`"
        self.faults.error("use-unreadable", f'the file "{item.path}" {problem}', item.span, hint)
        return None
