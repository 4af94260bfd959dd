"""The way of a session: from where to where it goes, and what it holds on the way.

In comes a checked model, out goes a `Way` for `deployment.py` to draw.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Union

from serq_lab.semantics import model as m

ARRIVE, END = "arrive", "end"
Place = Union[str, int]
"""`ARRIVE`, `END`, or the number of a stage family."""


@dataclass
class Way:
    """What a walk through the session's statements finds.

    Attributes
    ----------
    stages : list of int
        Families, in the order in which a session first comes to them.
    moves : dict of (Place, Place) to set of int
        From one place to the next, with the families of the pools that a session may wait for in between.
    held : dict of int to set of int
        For each family of pools the stages that a session visits while it holds of it.
    """

    stages: list[int] = field(default_factory=list)
    moves: dict[tuple[Place, Place], set[int]] = field(default_factory=dict)
    held: dict[int, set[int]] = field(default_factory=dict)


Here = dict[Place, frozenset[int]]
"""Where a session may come from, with the pools that it has passed since."""


def way_of(model: m.Model) -> Way:
    """The way of a session of a program."""
    way = Way()
    walk = _Walk(way)
    walk.visit(END, walk.block(model.session, {ARRIVE: frozenset()}, ()), ())
    return way


class _Walk:
    def __init__(self, way: Way) -> None:
        self.way = way

    def block(self, statements: m.Block, here: Here, held: tuple[int, ...]) -> Here:
        """Go through statements; gives where a session may be when it has passed them, nowhere if it never does."""
        for statement in statements:
            if not here:
                break
            here = self.statement(statement, here, held)
        return here

    def statement(self, statement: m.Statement, here: Here, held: tuple[int, ...]) -> Here:
        if isinstance(statement, m.Run):
            for target in statement.stages:
                self.visit(target.family, here, held)
            return {target.family: frozenset() for target in statement.stages}
        if isinstance(statement, m.Hold):
            pools = tuple(claim.pool.family for claim in statement.claims)
            for pool in pools:
                self.way.held.setdefault(pool, set())
            waited = {place: passed | set(pools) for place, passed in here.items()}
            return self.block(statement.body, waited, (*held, *pools))
        if isinstance(statement, m.Branch):
            return _either(self.block(statement.then, here, held), self.block(statement.otherwise, here, held))
        if isinstance(statement, m.Loop):
            return self.loop(statement, here, held)
        if isinstance(statement, m.End):
            self.visit(END, here, held)
            return {}
        return here

    def loop(self, loop: m.Loop, here: Here, held: tuple[int, ...]) -> Here:
        """Round and round, until a round leads nowhere new; nobody comes out but by `end`."""
        while True:
            following = _either(here, self.block(loop.body, here, held))
            if following == here:
                return {}
            here = following

    def visit(self, place: Place, here: Here, held: tuple[int, ...]) -> None:
        if isinstance(place, int):
            if place not in self.way.stages:
                self.way.stages.append(place)
            for pool in held:
                self.way.held[pool].add(place)
        for start, passed in here.items():
            self.way.moves.setdefault((start, place), set()).update(passed)


def _either(one: Here, other: Here) -> Here:
    return {place: one.get(place, frozenset()) | other.get(place, frozenset()) for place in {**one, **other}}
