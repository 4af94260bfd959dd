"""The controls of a panel: for which lets and run settings there is one, and where each starts.

In come a program and what `explore` was given; out go `Control`s and what stays fixed. Next on the way: `panel.py`,
which makes a widget of each. The values of a control come from `ranges.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import ipywidgets

from serq_lab.diagnostics.catalogue import did_you_mean, listed
from serq_lab.notebook.cell_error import UsageError
from serq_lab.notebook.panel.first_view import first_axis
from serq_lab.notebook.panel.ranges import Given, asked_values, is_counted, lets_in_use, nearest, usual_values
from serq_lab.semantics.constants import evaluate

if TYPE_CHECKING:
    from serq_lab.pipeline import Program, Value

SETTINGS = ("horizon", "warmup", "seed", "arrivals")
WHOLE_SETTINGS = ("seed", "arrivals")


class Control(NamedTuple):
    """A let or run setting that can be moved; `is_choice` where the caller gave the values one by one."""

    name: str
    values: tuple[float, ...]
    start: float
    comment: str = ""
    is_choice: bool = False

    def widget(self) -> ipywidgets.SelectionSlider | ipywidgets.Dropdown:
        """A slider along the values, so that both its ends can be reached; or a list of them."""
        kind = ipywidgets.Dropdown if self.is_choice else ipywidgets.SelectionSlider
        return kind(
            options=[(f"{value:.6g}", value) for value in self.values],
            value=self.start,
            description=self.name,
            tooltip=f"{self.name}: {self.comment}" if self.comment else self.name,
            style={"description_width": "80px"},
            layout={"width": "290px"},
        )


class Controls(NamedTuple):
    """`moved` have a control; the lets in `fixed` and the settings in `settings` were given one value; `left_out` are
    lets for which no range could be guessed; `axis` is the name of the control on the x axis at first.
    """

    moved: list[Control]
    fixed: dict[str, Value]
    settings: dict[str, float]
    left_out: list[str]
    axis: str


def controls_of(
    program: Program,
    names: Sequence[str],
    fixed: Mapping[str, Value],
    settings: Mapping[str, float | Given | None],
    ranges: Mapping[str, float | Given],
) -> Controls:
    """The controls for `explore(program, *names, set=fixed, **settings, **ranges)`.

    Raises
    ------
    UsageError
        A name is no let, or what was given for one is no range.
    ProgramError
        A value in `fixed` makes no sense.
    """
    model = program.model
    rows = {let.name: row for row, let in enumerate(model.lets)}
    for name in (*names, *ranges):
        if name not in rows:
            known = did_you_mean(name, (*rows, *SETTINGS)) or f"its lets are {listed(rows, 'and')}" if rows else ""
            raise UsageError(f"the program has no let `{name}`; {known or 'it has none'}")
    present = dict(zip(rows, evaluate(model, fixed).lets, strict=True))
    used, moved, left_out = lets_in_use(model), [], []
    for name, row in rows.items():
        is_wanted = name in names or name in ranges
        is_constant = not model.lets[row].uses
        if not is_wanted and (names or row not in used or not is_constant):
            continue
        control = _of_let(program, row, ranges.get(name), fixed, present[name])
        if len(control.values) > 1:
            moved.append(control)
        elif is_wanted:
            raise UsageError(f"`{name}` is {present[name]:g}: give a range for it, as in `explore({name}=(1, 9))`")
        else:
            left_out.append(name)
    single, chosen = _of_settings(settings)
    kept = {name: value for name, value in fixed.items() if name not in {control.name for control in moved}}
    if not moved and not chosen:
        raise UsageError("there is nothing to move: write a number of the program as a `let`, as in `let C = 10;`")
    controls = [*moved, *chosen]
    axis = first_axis(model, [control.name for control in controls], [*names, *ranges])
    return Controls(controls, kept, single, left_out, axis)


def _of_let(
    program: Program, row: int, given: float | Given | None, fixed: Mapping[str, Value], present: float
) -> Control:
    model = program.model
    let = model.lets[row]
    if given is None or isinstance(given, (int, float)):
        start = present if given is None else float(given)
        return Control(let.name, usual_values(model, row, fixed, start), start, let.comment)
    values = asked_values(let.name, given, present, is_counted(model, row, present))
    return Control(let.name, values, nearest(values, present), let.comment, not isinstance(given, tuple))


def _of_settings(settings: Mapping[str, float | Given | None]) -> tuple[dict[str, float], list[Control]]:
    single: dict[str, float] = {}
    chosen = []
    for name, given in settings.items():
        if isinstance(given, (int, float)):
            single[name] = given
        elif given is not None:
            values = asked_values(name, given, None, name in WHOLE_SETTINGS)
            chosen.append(Control(name, values, values[0], f"{name} of the run", not isinstance(given, tuple)))
    return single, chosen
