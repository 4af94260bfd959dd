"""A sweep: a program at many points, each several times, and the table that comes of it.

In come a `Program` and values for some of its lets; out goes a `Sweep`: a frame of all runs, curves with intervals
(`curve.py`), their knee (`knee.py`) and a picture (`plots/curves.py`). `task.py` is one run, `executors.py` where it
takes place, `store.py` what survives a killed sweep.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from serq_lab.diagnostics.diagnostic import Diagnostic
from serq_lab.diagnostics.errors import ProgramError, RunError
from serq_lab.experiments.curve import Curve, curve_of
from serq_lab.experiments.executors import run_all
from serq_lab.experiments.knee import Knee, NoKnee, find_knee
from serq_lab.experiments.store import Store
from serq_lab.experiments.table import OWN_COLUMNS, table_of
from serq_lab.experiments.task import Result, Task, files_of, replication_seed
from serq_lab.pipeline import Program
from serq_lab.semantics.constants import check_override_names
from serq_lab.semantics.faults import Faults

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

Grid = Mapping[str, Iterable[float]]


class Row(NamedTuple):
    """A run as a sweep keeps it: a `Result` with its values packed, fields and values apart."""

    point: tuple[float, ...]
    replication: int
    seed: int
    error: str
    binds: str
    is_growing: bool
    turned_away: float
    fields: tuple[str, ...]
    values: array[float]


class Sweep:
    """What a sweep found.

    Attributes
    ----------
    name : str
        Of the program.
    over : dict of str to tuple of float
        The lets that were varied, with their values.
    replications : int
        How often each point was run.
    rows : tuple of Row
        One a run, replications of a point together, the last let varying fastest.
    """

    def __init__(
        self, name: str, over: Mapping[str, tuple[float, ...]], replications: int, rows: Sequence[Row]
    ) -> None:
        self.name = name
        self.over = dict(over)
        self.replications = replications
        self.rows = tuple(rows)

    @cached_property
    def frame(self) -> pandas.DataFrame:
        """One row a point and replication.

        Columns: the lets by their names, ``replication seed error steady unsteady turned_away binds``, then every
        field of the report by a dotted name, as ``observe.admit_wait.mean`` or ``run.events``. A run that failed has
        its message in ``error`` and NaN elsewhere; ``unsteady`` says why a row is not ``steady``.
        """
        return table_of(list(self.over), self.rows)

    def curve(self, metric: str, by: str | None = None, at: Mapping[str, float] | None = None) -> Curve:
        """A field of the report over one let, with intervals.

        Parameters
        ----------
        metric : str
            A column of `frame`, as ``observe.admit_wait.mean``.
        by : str, optional
            The let; may be left out if only one was varied.
        at : mapping of str to float, optional
            A value for each of the other lets that were varied.

        Raises
        ------
        KeyError
            A name or value is not in the sweep; the message says what is.
        """
        return curve_of(self.frame, self.over, metric, by, at or {})

    def curves(self, metric: str, by: str | None = None) -> list[Curve]:
        """One curve for each combination of the other lets."""
        by = by or next(iter(self.over))
        others = {name: values for name, values in self.over.items() if name != by}
        return [self.curve(metric, by, dict(zip(others, point, strict=True))) for point in product(*others.values())]

    def knee(self, metric: str, by: str | None = None, at: Mapping[str, float] | None = None) -> Knee | NoKnee:
        """Where a curve bends, see `knee.find_knee`; arguments as of `curve`."""
        return find_knee(self.curve(metric, by, at))

    def plot(self, metric: str, by: str | None = None, at: Mapping[str, float] | None = None) -> Axes:
        """The picture of a curve with its knee, see `plots.plot_curve`; arguments as of `curve`."""
        from serq_lab.plots.curves import plot_curve  # matplotlib takes a second, and a table needs none

        curve = self.curve(metric, by, at)
        return plot_curve(curve, find_knee(curve))

    def __repr__(self) -> str:
        over = ", ".join(f"{name} at {len(values)} values" for name, values in self.over.items())
        return f'<sweep of "{self.name}": {over}, {self.replications} replications>'


def sweep(
    program: Program,
    over: Grid,
    *,
    replications: int = 10,
    seed: int | None = None,
    horizon: float | None = None,
    warmup: float | None = None,
    executor: Executor | None = None,
    progress: Callable[[float], None] | None = None,
    resume: str | os.PathLike[str] | None = None,
    check: bool = False,
) -> Sweep:
    """Run a program at every point of a grid; `Program.sweep` says what the arguments mean."""
    grid = _grid_of(program, over, replications)
    seeds = [
        replication_seed(program.model.constants.seed if seed is None else seed, replication)
        for replication in range(replications)
    ]
    points = list(product(*grid.values()))
    definitions, files = tuple(sorted(program.definitions.items())), files_of(program)
    keys = [(point, replication) for point in points for replication in range(replications)]

    def task(point: tuple[float, ...], replication: int) -> Task:
        lets = tuple(zip(grid, point, strict=True))
        return Task(
            program.source, program.name, definitions, files, lets, seeds[replication],
            None if horizon is None else float(horizon), None if warmup is None else float(warmup), check,
        )  # fmt: skip

    tasks = ((number, task(*key)) for number, key in enumerate(keys))
    rows: list[Row | None] = [None] * len(keys)
    known: dict[tuple[str, ...], tuple[str, ...]] = {}  # the same names in every row: kept once
    results = _results(tasks, executor, resume)
    with closing(results):
        for n_done, (number, result) in enumerate(results, 1):
            point, replication = keys[number]
            fields = known.setdefault(tuple(result.values), tuple(result.values))
            packed = array("d", result.values.values())
            rows[number] = Row(point, replication, seeds[replication], *result[1:5], fields, packed)
            if progress is not None:
                progress(n_done / len(keys))
    return Sweep(program.name, grid, replications, _unless_all_failed([row for row in rows if row is not None]))


def _results(
    tasks: Iterable[tuple[int, Task]], executor: Executor | None, resume: str | os.PathLike[str] | None
) -> Generator[tuple[int, Result], None, None]:
    """Results by number: what the file of an earlier sweep has, and what is run now, as it finishes."""
    if resume is None:
        yield from run_all(tasks, executor)
        return
    with closing(Store(resume)) as store:
        missing = []
        for number, task in tasks:
            kept = store.get(task)
            if kept is None:
                missing.append((number, task))
            else:
                yield number, kept
        by_number = dict(missing)
        for number, result in run_all(missing, executor) if missing else ():
            store.put(by_number[number], result)
            yield number, result


def _grid_of(program: Program, over: Grid, replications: int) -> dict[str, tuple[float, ...]]:
    """The values of each let as floats; a ProgramError says what is wrong with them."""
    faults = Faults()
    grid = {name: tuple(float(value) for value in values) for name, values in over.items()}
    check_override_names(dict.fromkeys(grid, 0.0), list(program.lets), faults)
    for name, values in grid.items():
        if not values:
            faults.error("no-values", f'there are no values for "{name}"', None, "give it some, as in range(4, 21)")
        if len(set(values)) < len(values):
            twice = next(value for value in values if values.count(value) > 1)
            faults.error("value-twice", f'"{name}" is given {twice:g} twice', None, "give each value once")
        if name in OWN_COLUMNS:
            hint = "rename the let"
            faults.error("taken-name", f'a table has a column "{name}" of its own', None, hint)
    if replications < 1:
        message = f"the number of replications must be at least 1, and is {replications}"
        faults.error("bad-replications", message, None, "10 give an interval")
    if faults.errors:
        raise ProgramError(faults.errors)
    return grid


def _unless_all_failed(rows: list[Row]) -> list[Row]:
    if all(row.error for row in rows):
        point = ", ".join(f"{value:g}" for value in rows[0].point)
        message = f"all {len(rows)} runs of the sweep failed; the first, at {point}: {rows[0].error}"
        raise RunError([Diagnostic("all-failed", message, None, hint="run that point alone to see its place")])
    return rows
