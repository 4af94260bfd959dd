"""`Report`: what a run measured, under the names of the program.

In come a `Model`, the `Constants` of the run and its `Records`; out go rows (`rows.py`), text (`text.py`),
JSON (`as_json.py`), HTML (`html.py`), tables for pandas (`frames.py`) and notes (`notes.py`). Nothing is computed
before it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from serq_lab.diagnostics.catalogue import did_you_mean
from serq_lab.kernel.records import Records
from serq_lab.report.as_json import report_json
from serq_lab.report.binding import binding
from serq_lab.report.html import report_html
from serq_lab.report.notes import Note, report_notes
from serq_lab.report.rows import Gauge, MeasuredTime, Observation, Pool, Stage, label, pool_row, stage_row
from serq_lab.report.steadiness import LEAST_ARRIVALS, Growth, growth_of
from serq_lab.report.text import report_text
from serq_lab.semantics import model as checked
from serq_lab.semantics.model import Constants, Model

if TYPE_CHECKING:
    import numpy as np
    import pandas
    from numpy.typing import NDArray

Row = TypeVar("Row", bound=Observation | Gauge | Stage | Pool)


class Rows(Mapping[str, Row]):
    """Rows by name, in the order of the report; a member of an array is ``"kv[1]"``.

    An unknown name is a KeyError that says what it is near to.
    """

    def __init__(self, word: str, rows: Mapping[str, Row], arrays: Mapping[str, int]) -> None:
        self._word = word
        self._rows: Mapping[str, Row] = rows
        self._arrays = arrays

    def __getitem__(self, name: str) -> Row:
        if name in self._rows:
            return self._rows[name]
        if name in self._arrays:
            last = self._arrays[name] - 1
            raise KeyError(f'{self._word} "{name}" is an array: ask for a member, "{name}[0]" to "{name}[{last}]"')
        near = did_you_mean(str(name), [*self._rows, *self._arrays])
        known = ", ".join(f'"{row}"' for row in list(self._rows)[:10])
        hint = near or (f"there is {known}" if known else "the program has none")
        raise KeyError(f'no {self._word} is called "{name}"; {hint}')

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"<{self._word}: {', '.join(self._rows) or 'none'}>"


class Report:
    """What one run measured.

    Attributes
    ----------
    observe : mapping of str to Observation
        ``report.observe["response"].mean``.
    gauge : mapping of str to Gauge
    stage : mapping of str to Stage
        ``report.stage["server"].utilization``.
    pool : mapping of str to Pool
        ``report.pool["kv[1]"].rejected``.
    lets : dict of str to float
        The value that each let of the program had in this run.
    seed : int
    settings : dict of str to float, int or None
        ``horizon``, ``warmup``, ``seed`` and ``arrivals`` of this run.
    notes : list of str
        What a reader of the tables should know; see `notes.py`.
    end, horizon, warmup, mean_live : float
    events, arrivals, ended, turns : int
        See `LANGUAGE.md` section 10.
    """

    def __init__(self, model: Model, constants: Constants, records: Records) -> None:
        self._model = model
        self._records = records
        self.lets: dict[str, float] = {let.name: value for let, value in zip(model.lets, constants.lets, strict=True)}
        self.settings: dict[str, float | int | None] = {
            "horizon": constants.horizon,
            "warmup": constants.warmup,
            "seed": constants.seed,
            "arrivals": constants.arrivals,
        }
        self.horizon = constants.horizon
        self.warmup = constants.warmup
        self.seed = constants.seed
        self.end = records.end
        self.events = records.events
        self.arrivals = records.arrivals
        self.ended = records.ended
        self.turns = records.turns
        self.mean_live = records.live_area / self._measured.length
        self._caps = dict(zip((family.name for family in model.pools), constants.caps, strict=True))
        self._servers = constants.servers

    @property
    def _measured(self) -> MeasuredTime:
        return MeasuredTime(self.warmup, self.end)

    @cached_property
    def observe(self) -> Mapping[str, Observation]:
        named = zip(self._model.observations, self._records.samples, strict=True)
        return Rows("observation", {name: Observation(name, samples) for name, samples in named}, {})

    @cached_property
    def gauge(self) -> Mapping[str, Gauge]:
        named = zip(self._model.gauges, self._records.gauges, strict=True)
        rows = {gauge.name: Gauge(gauge.name, changes, self._measured) for gauge, changes in named}
        return Rows("gauge", rows, {})

    @cached_property
    def stage(self) -> Mapping[str, Stage]:
        families = self._model.stages
        rows = {
            label(name, index): stage_row(name, index, self._records.stages, row, self._measured)
            for row, (name, index) in enumerate(members(families))
        }
        return Rows("stage", rows, _arrays(families))

    @cached_property
    def pool(self) -> Mapping[str, Pool]:
        families = self._model.pools
        rows = {
            label(name, index): pool_row(name, index, self._records.pools, row, self._measured)
            for row, (name, index) in enumerate(members(families))
        }
        return Rows("pool", rows, _arrays(families))

    @property
    def step_stages(self) -> list[Stage]:
        """The step stages among `stage`."""
        steps = {family.name for family in self._model.stages if family.kind == "step"}
        return [stage for stage in self.stage.values() if stage.name in steps]

    @property
    def n_stuck(self) -> int:
        """How many sessions were stuck, over all pools."""
        return int(self._records.pools.stuck.sum())

    @property
    def notes(self) -> list[str]:
        return [str(note) for note in self.notes_by_row]

    @cached_property
    def notes_by_row(self) -> list[Note]:
        """The notes, each with the row that it speaks of."""
        return report_notes(self, self._records, self._caps)

    @cached_property
    def growth(self) -> Growth | None:
        """How the number of live sessions moved if it had not settled by the end; None for a steady run."""
        is_open = self._model.arrivals.process in ("poisson", "renewal") and self.settings["arrivals"] is None
        return growth_of(self.live_windows) if is_open and self.arrivals >= LEAST_ARRIVALS else None

    @property
    def live_windows(self) -> NDArray[np.float64]:
        """Time averages of the number of live sessions over 20 equal windows of [warmup, horizon], shape (20,);
        NaN where the run did not reach."""
        return self._records.live_windows

    @cached_property
    def binds(self) -> str:
        """What kept sessions waiting: ``arrivals``, ``memory of "mem"``...; see `binding.py`."""
        servers = dict(zip((family.name for family in self._model.stages), self._servers, strict=True))
        return binding(self, self._model, servers, self._caps)

    @property
    def turned_away(self) -> float:
        """The share of the sessions, between 0 and 1, that asked for more than a pool has."""
        n_rejected = sum(pool.rejected for pool in self.pool.values())
        return n_rejected / self.arrivals if self.arrivals else 0.0

    def to_text(self, *, notes: bool = True, plus_minus: str = "±") -> str:
        """The run line, the tables and, if `notes`, the notes; no newline at the end.

        `plus_minus` stands before the half width of an interval.
        """
        return report_text(self, notes=notes, plus_minus=plus_minus)

    def to_json(self) -> str:
        """The report as JSON text on one line: NaN and infinities are null, whole numbers have no point."""
        return report_json(self)

    def frames(self) -> dict[str, pandas.DataFrame]:
        """The tables as pandas frames: ``observe gauge stage pool``, rows by name, and ``samples``, one row
        each."""
        from serq_lab.report.frames import report_frames  # pandas takes half a second to import

        return report_frames(self)

    def to_html(self) -> str:
        """The same tables as HTML, each note below its row; no script and nothing to fetch."""
        return report_html(self)

    def _repr_html_(self) -> str:
        return self.to_html()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        # What IPython shows where there is no HTML: the tables, and not the one line of `repr`.
        printer.text(self.to_text())

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<report: end {self.end:g}, {self.arrivals} arrivals, {self.events} events>"


Families = Iterable[checked.Pool] | Iterable[checked.Stage]


def members(families: Families) -> Iterator[tuple[str, int | None]]:
    """Name and number of each member, in the order of the records; None for a family that is no array."""
    for family in families:
        if family.size is None:
            yield family.name, None
        else:
            yield from ((family.name, index) for index in range(family.size))


def _arrays(families: Families) -> dict[str, int]:
    return {family.name: family.size for family in families if family.size is not None}
