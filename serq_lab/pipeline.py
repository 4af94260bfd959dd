"""The way from a program's text to a report, top to bottom.

==========  ==================================  ==============================================
product     type                                made by
==========  ==================================  ==============================================
source      `source.SourceText`                 `read`, or the caller
tree        `syntax.nodes.Program`              `syntax.parser.parse`
model       `semantics.model.Model`             `semantics.checker.check`
lowered     `lowering.lower.LoweredProgram`     `lowering.lower.lower`
constants   `semantics.model.Constants`         `semantics.constants.evaluate`
tables      `kernel.storage.setup.RunTables`    `LoweredProgram.setup`
records     `kernel.records.Records`            `kernel.event_loop.simulate`
report      `report.report.Report`              `Report`
==========  ==================================  ==============================================

The files behind the engine are imported when the first run needs them: numpy and LLVM take a while, and
checking or formatting a program needs none of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypedDict

from serq_lab.diagnostics.diagnostic import Diagnostic
from serq_lab.diagnostics.errors import InternalError, ProgramError, RunError
from serq_lab.reading import read, refusal, tree_of
from serq_lab.semantics import checker, constants
from serq_lab.semantics.model import Constants, Model
from serq_lab.source import SourceText

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from serq_lab.experiments.sweep import Sweep
    from serq_lab.kernel.records import Failure
    from serq_lab.lowering.lower import LoweredProgram
    from serq_lab.lowering.traces import Trace
    from serq_lab.notebook.panel.panel import Panel
    from serq_lab.report.pool_log import PoolLog
    from serq_lab.report.report import Report

Value = float | str
"""What a let can be set to: a number, or the text of an expression over lets above it."""


Range = tuple[float, ...] | Sequence[float]
"""Where a slider moves: ``(low, high)``, ``(low, high, step)``, or the values themselves as a list."""


class Settings(TypedDict):
    """What a run may replace of the program's `run` block; None keeps what is written there."""

    horizon: float | None
    warmup: float | None
    seed: int | None
    arrivals: int | None


def load(path: str | os.PathLike[str], *, defs: Mapping[str, str] | None = None) -> Program:
    """The program in a file.

    Parameters
    ----------
    path : path
        A file of UTF-8 text.
    defs : mapping of str to str, optional
        New bodies for expression definitions: ``{"f": "x * 2"}``.

    Raises
    ------
    ProgramError
        The file cannot be read, or the text is wrong.
    """
    return Program(read(path), defs)


def compile(text: str, *, name: str = "<program>", defs: Mapping[str, str] | None = None) -> Program:
    """The program in a text; `name` is what messages call it. Otherwise as `load`."""
    return Program(SourceText(text, name), defs)


class Program:
    """A checked program, ready to run any number of times, also in several threads at once.

    Attributes
    ----------
    source : str
        The text.
    source_text : SourceText
        The text with its name, into which the spans of the model point.
    name : str
        What messages call it.
    definitions : dict of str to str
        The new bodies that it was given for expression definitions.
    lets : dict of str to float
        The lets in their order, with the values that the text gives them.
    model : Model
        What the checker found out.
    warnings : tuple of Diagnostic
        What is allowed, but probably not meant.
    """

    def __init__(self, source: SourceText, defs: Mapping[str, str] | None = None) -> None:
        self.source_text = source
        self._definitions = dict(defs or {})
        self._tree = tree_of(source)
        self.model = self._check({}, Settings(horizon=None, warmup=None, seed=None, arrivals=None))
        self._lowered: LoweredProgram | None = None
        self._lowering = Lock()

    @property
    def source(self) -> str:
        return self.source_text.text

    @property
    def name(self) -> str:
        return self.source_text.name

    @property
    def definitions(self) -> dict[str, str]:
        return dict(self._definitions)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return self.model.warnings

    @property
    def trace_path(self) -> Path | None:
        """The file that the program's `trace` names, which is read in every run; None if it names none."""
        trace = self.model.trace
        return None if trace is None else Path(self.source_text.name).parent / trace.path

    @property
    def lets(self) -> dict[str, float]:
        values = self.model.constants.lets
        return {let.name: value for let, value in zip(self.model.lets, values, strict=True)}

    def run(
        self,
        set: Mapping[str, Value] | None = None,
        *,
        seed: int | None = None,
        horizon: float | None = None,
        warmup: float | None = None,
        arrivals: int | None = None,
        trace: str | os.PathLike[str] | None = None,
        progress: Callable[[float], None] | None = None,
        check: bool = False,
    ) -> Report:
        """Run the program.

        Parameters
        ----------
        set : mapping of str to float or str, optional
            New values for lets, numbers or expressions over lets above them; lets that depend on them follow.
        seed, horizon, warmup, arrivals : optional
            In place of those in the program's `run` block.
        trace : path, optional
            A file in place of the one that the program's `trace` names.
        progress : callable, optional
            Called now and then with the share of the horizon that has passed; what it raises abandons the
            run.
        check : bool
            Also test the engine's own invariants after every event; slow.

        Raises
        ------
        ProgramError
            A name in `set` is no let, or a value makes no sense.
        RunError
            The run stopped: where, when, in which session, with which value.
        InternalError
            `check` found the engine in the wrong: when, where and with which numbers.
        """
        from serq_lab.kernel.event_loop import simulate
        from serq_lab.kernel.invariants.reading import InvariantError
        from serq_lab.report.report import Report

        if trace is not None and self.model.trace is None:
            raise refusal(
                "no-trace",
                "the program has no trace that another file could replace",
                'write `trace "file.csv";` in its `workload`',
            )
        given = _given(set, horizon=horizon, warmup=warmup, seed=seed, arrivals=arrivals)
        model, lowered, values = self._prepared(*given)
        tables = lowered.setup(values, self._trace_of(model, trace))
        try:
            records = simulate(tables, on_slice=_share_of(progress, values.horizon), check=check)
        except InvariantError as breach:
            raise InternalError(str(breach)) from breach
        if records.failure is not None:
            raise _run_error(records.failure, lowered, model)
        return Report(model, values, records)

    def _trace_of(self, model: Model, path: str | os.PathLike[str] | None) -> Trace:
        from serq_lab.lowering.traces import NO_TRACE, read_trace

        own = self.trace_path
        if model.trace is None or own is None:
            return NO_TRACE
        return read_trace(own if path is None else path, model.trace.span)

    def sweep(
        self,
        over: Mapping[str, Iterable[float]],
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
        """Run the program at every point of a grid, each several times.

        Parameters
        ----------
        over : mapping of str to values
            Which lets to vary: ``{"C": range(4, 21)}``; several make a grid.
        replications : int
            How often each point is run. The first has the seed itself, so a single run is a point of the sweep; the
            others have seeds derived from (seed, replication) alone, so all points share their arrivals and draws.
        seed, horizon, warmup : optional
            In place of those in the program's `run` block.
        executor : concurrent.futures.Executor, optional
            Where the runs take place: threads on the cores of this machine by default;
            `serq_lab.experiments.processes()`, Dask's ``client.get_executor()``, and others. The numbers are the
            same wherever they come from.
        progress : callable, optional
            Called now and then with the share of the runs that have finished.
        resume : path, optional
            An SQLite file that keeps what is finished: a sweep that was killed does only what is missing.
        check : bool
            Also test the engine's own invariants after every event; slow.

        Returns
        -------
        Sweep
            Its `frame`, `curve`, `knee` and `plot`. A run that failed is a row with its message.

        Raises
        ------
        ProgramError
            A name in `over` is no let, or has no values.
        RunError
            All runs failed, or a worker did, or lacks this version of the package.
        """
        from serq_lab.experiments.sweep import sweep

        return sweep(
            self, over, replications=replications, seed=seed, horizon=horizon, warmup=warmup, executor=executor,
            progress=progress, resume=resume, check=check,
        )  # fmt: skip

    def pool_logs(
        self, start: float, stop: float, set: Mapping[str, Value] | None = None, *, seed: int | None = None
    ) -> dict[str, PoolLog]:
        """What happens in each pool between two instants, by the pools' names: holds, cached prefixes, queues.

        Parameters
        ----------
        start, stop : float
            In the program's unit of time, within its horizon.
        set, seed : optional
            As of `run`.

        Raises
        ------
        ProgramError, RunError
            As from `run`.
        """
        from serq_lab.report.pool_log import log_pools
        from serq_lab.report.report import members
        from serq_lab.report.rows import label

        model, lowered, values = self._prepared(*_given(set, seed=seed))
        if not 0 <= start < stop or start >= values.horizon:
            message = f"there is no time from {start:g} to {stop:g} in a run up to {values.horizon:g}"
            raise refusal("no-time", message, f"stay between 0 and {values.horizon:g}, the earlier instant first")
        tables = lowered.setup(values, self._trace_of(model, None))
        logs, failure = log_pools(tables, start, min(stop, values.horizon))
        if failure is not None:
            raise _run_error(failure, lowered, model)
        return dict(zip((label(*member) for member in members(model.pools)), logs, strict=True))

    def explore(
        self,
        *names: str,
        set: Mapping[str, Value] | None = None,
        seed: int | Range | None = None,
        horizon: float | Range | None = None,
        warmup: float | Range | None = None,
        arrivals: int | Range | None = None,
        **ranges: float | Range,
    ) -> Panel:
        """A panel with sliders for a notebook: the figures, what binds and a curve follow them.

        The curve starts over the first let that is named here, else over the first that the capacity of a pool, or
        else the arrivals, depend on; it shows the mean of the first observation that measures time (``now - t0``), or
        else of the first.

        Parameters
        ----------
        *names : str
            The lets to have sliders for; all that a run depends on if there are none here.
        set : mapping of str to float or str, optional
            Where sliders start, and values of lets without one.
        seed, horizon, warmup, arrivals : number, tuple or list, optional
            A number in place of that in the program's `run` block, or a range to move it over.
        **ranges : number, tuple or list
            By the name of a let: where its slider starts, ``(low, high)``, ``(low, high, step)`` or a list of values.
            Without one the range comes from a hint in the let's comment, ``// units of memory [4..20]``, or else from
            how the program uses the let.

        Raises
        ------
        ValueError
            A name is no let, or what was given for one is no range: one sentence.
        ProgramError, RunError
            The program cannot be run with the values that the sliders start at.
        """
        from serq_lab.notebook.panel.panel import explore

        settings = {"horizon": horizon, "warmup": warmup, "seed": seed, "arrivals": arrivals}
        return explore(self, names, set or {}, settings, ranges)

    def lowered(self) -> LoweredProgram:
        """The program in the form that the engine runs; made once."""
        with self._lowering:
            if self._lowered is None:
                self._lowered = _lower(self.model)
            return self._lowered

    def _prepared(self, lets: Mapping[str, Value], settings: Settings) -> tuple[Model, LoweredProgram, Constants]:
        try:
            values = constants.evaluate(self.model, lets, **settings)
            is_of_this_shape = values.structure == self.model.constants.structure
        except ProgramError:
            is_of_this_shape = False
        if is_of_this_shape:
            return self.model, self.lowered(), values
        # An array of another size is another model; and what is wrong with a value, the checker says best.
        model = self._check(lets, settings)
        return model, _lower(model), model.constants

    def _check(self, overrides: Mapping[str, Value], settings: Settings) -> Model:
        return checker.check(
            self._tree, self.source_text, overrides=overrides, definitions=self._definitions, **settings
        )

    def _repr_html_(self) -> str:
        from serq_lab.notebook.display import program_html

        return program_html(self)

    def __repr__(self) -> str:
        return f'<program "{self.name}">'


def _given(
    lets: Mapping[str, Value] | None,
    *,
    horizon: float | None = None,
    warmup: float | None = None,
    seed: int | None = None,
    arrivals: int | None = None,
) -> tuple[dict[str, Value], Settings]:
    """What a caller wants in place of the program's own; numbers of numpy and whole numbers alike become floats."""
    values = {let: value if isinstance(value, str) else float(value) for let, value in (lets or {}).items()}
    return values, Settings(horizon=horizon, warmup=warmup, seed=seed, arrivals=arrivals)


def _run_error(failure: Failure, lowered: LoweredProgram, model: Model) -> RunError:
    from serq_lab.failures import diagnose

    return RunError([diagnose(failure, lowered.spans, model)])


def _lower(model: Model) -> LoweredProgram:
    from serq_lab.lowering.lower import lower

    return lower(model)


def _share_of(progress: Callable[[float], None] | None, horizon: float) -> Callable[[float], None] | None:
    return None if progress is None else lambda now: progress(min(now / horizon, 1.0))
