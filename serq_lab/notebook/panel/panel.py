"""`program.explore()`: a slider for each let, and the numbers and the picture that follow it.

In come controls (`controls.py`); a change of one becomes a `Wish` for the `Worker`, whose thread runs the program and
puts finished figures and pictures in place of the last ones. What is on show names the values that it belongs to.
"""

from __future__ import annotations

import traceback
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from html import escape
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from serq_lab.diagnostics.errors import ProgramError, RunError
from serq_lab.notebook.cell_error import error_html
from serq_lab.notebook.panel import showing
from serq_lab.notebook.panel.controls import SETTINGS, WHOLE_SETTINGS, Controls, controls_of
from serq_lab.notebook.panel.figures import Lets, Result, result_of, statistics
from serq_lab.notebook.panel.first_view import first_statistic
from serq_lab.notebook.panel.lifetimes import forget, is_watched, register
from serq_lab.notebook.panel.picture import WIDTH, Picture, View, title
from serq_lab.notebook.panel.ranges import Given, thinned
from serq_lab.notebook.panel.widgets import Widgets
from serq_lab.notebook.panel.worker import Hurry, OvertakenError, Worker
from serq_lab.usage import ProgressBar

if TYPE_CHECKING:
    from serq_lab.pipeline import Program, Value

POINTS = 17  # of a curve
AT_ONCE = 0.8  # seconds that the cell itself spends on the first curve
QUIET = 0.08  # seconds without a change before the curve is filled in
BETWEEN_PICTURES = 0.4  # seconds, while the curve is being filled in
KEPT = 400  # results


class Wish(NamedTuple):
    """What the reader wants to see: a run with these values, this view of it, compared with a pinned run."""

    lets: Lets
    view: View
    pinned: Result | None


def explore(
    program: Program,
    names: Sequence[str],
    fixed: Mapping[str, Value],
    settings: Mapping[str, float | Given | None],
    ranges: Mapping[str, float | Given],
) -> Panel:
    """A panel for a program; the parameters are those of `Program.explore`, gathered."""
    panel = Panel(program, controls_of(program, names, fixed, settings, ranges))
    register(panel)
    return panel


class Panel:
    """Sliders, a picture and figures for one program; a cell that ends in one shows it.

    Attributes
    ----------
    present : Result
        The run that is on show.
    widgets : Widgets
        The parts that are seen.
    n_runs : int
        How many times the program has been run for this panel.
    """

    def __init__(self, program: Program, controls: Controls) -> None:
        self._program = program
        self._controls = controls
        self._values = {control.name: control.values for control in controls.moved}
        self._results: OrderedDict[Lets, Result | None] = OrderedDict()
        self._picture = Picture()
        self._pinned: Result | None = None
        self._worker: Worker[Wish] = Worker(self._work)
        self.n_runs = 0
        lets = tuple((control.name, control.start) for control in controls.moved)
        with ProgressBar(shown=is_watched(), in_notebook=True) as bar:
            self.present = self._run(lets, bar.move)  # what is wrong at the start fails the cell
        self.widgets = Widgets(
            controls.moved,
            axis=controls.axis,
            statistics=statistics(self.present.figures),
            statistic=first_statistic(program.model),
        )
        try:
            self._show_at_once()
        except BaseException:  # an interrupt most likely: nothing of a panel that nobody gets may stay
            self.close()
            raise
        self.widgets.when_changed(self._ask)
        self.widgets.when_pinned(self.pin, self.unpin)

    # ------------------------------------------------------------ what a reader does

    def pin(self) -> None:
        """Keep the run on show, to compare later ones with."""
        self._pinned = self.present
        self.widgets.unpin.disabled = False
        self._ask()

    def unpin(self) -> None:
        """Compare with nothing any more."""
        self._pinned = None
        self.widgets.unpin.disabled = True
        self._ask()

    def finish(self, timeout: float = 60.0) -> bool:
        """Wait until all that was asked for is on show; False if that takes longer than `timeout` seconds."""
        return self._worker.finish(timeout)

    def close(self) -> None:
        """End the panel: its thread, its widgets, its results."""
        self._worker.close()
        self.widgets.close()
        self._results.clear()
        forget(self)

    def _ask(self) -> None:
        self._worker.submit(self._wish())

    def _wish(self) -> Wish:
        axis = self.widgets.axis.value
        view = View(self.widgets.statistic.value, axis, self._values[axis])
        return Wish(self.widgets.lets(), view, self._pinned)

    # ------------------------------------------------------------ in the worker's thread

    def _work(self, wish: Wish, hurry: Hurry) -> None:
        try:
            present = self._result(wish.lets, self._progress(wish, hurry))
            if present is None:  # it failed before, as a point of a curve: let it say why
                present = self._run(wish.lets, self._progress(wish, hurry))
            self._show(present, wish)
            if self._missing(wish):
                hurry.rest(QUIET)
                self._fill(present, wish, hurry)
        except OvertakenError:
            raise
        except (ProgramError, RunError) as error:
            self.widgets.show_error(error_html(error))
        except Exception:
            # Nobody else would hear of it: a thread has no cell to fail.
            self.widgets.show_error(f'<pre class="serq-error">{escape(traceback.format_exc())}</pre>')

    def _progress(self, wish: Wish, hurry: Hurry) -> Callable[[float], None]:
        """Called between the slices of a run: gives up when overtaken, and says how far a slow one has come."""
        due_at = monotonic() + 0.5

        def progress(share: float) -> None:
            nonlocal due_at
            hurry.check()
            if monotonic() > due_at:
                due_at = monotonic() + 0.25
                self.widgets.say(f"running {showing.lets_text(wish.lets)}: {100 * share:.0f} %")

        return progress

    def _show(self, present: Result, wish: Wish) -> None:
        self.present = present
        self.widgets.show_figures(showing.figures_html(present, wish.pinned, wish.view.statistic))
        self._draw(present, wish)

    def _draw(self, present: Result, wish: Wish) -> None:
        self.widgets.image.value = self._picture.draw(wish.view, present, self._curve(wish), wish.pinned)

    def _fill(self, present: Result, wish: Wish, hurry: Hurry) -> None:
        """Run the missing points of the curve, from the present value outwards, and draw what is there now and then."""
        drawn_at = monotonic()
        for lets in self._missing(wish):
            self._result(lets, lambda share: hurry.check())
            hurry.check()
            if monotonic() > drawn_at + BETWEEN_PICTURES:
                self._draw(present, wish)
                drawn_at = monotonic()
        self._draw(present, wish)

    # ------------------------------------------------------------ runs

    def _show_at_once(self) -> None:
        """The first picture, as far as its curve can be had in a moment; the rest follows in the background."""
        wish, stop_at = self._wish(), monotonic() + AT_ONCE
        for lets in self._missing(wish):
            if monotonic() > stop_at:
                break
            try:
                self._result(lets, _until(stop_at))
            except OvertakenError:
                break
        self._show(self.present, wish)
        if self._missing(wish):
            self._worker.submit(wish)

    def _run(self, lets: Lets, progress: Callable[[float], None]) -> Result:
        values = dict(lets)
        settings: dict[str, Any] = dict(self._controls.settings)
        settings |= {name: values.pop(name) for name in SETTINGS if name in values}
        settings |= {name: int(settings[name]) for name in WHOLE_SETTINGS if name in settings}
        self.n_runs += 1
        report = self._program.run({**self._controls.fixed, **values}, progress=progress, **settings)
        result = result_of(report, lets)
        self._keep(lets, result)
        return result

    def _result(self, lets: Lets, progress: Callable[[float], None]) -> Result | None:
        """A run's result, from memory where it is there; None for one that failed."""
        if lets in self._results:
            self._results.move_to_end(lets)
            return self._results[lets]
        try:
            return self._run(lets, progress)
        except (ProgramError, RunError):
            self._keep(lets, None)
            return None

    def _keep(self, lets: Lets, result: Result | None) -> None:
        self._results[lets] = result
        while len(self._results) > KEPT:
            self._results.popitem(last=False)

    def _at(self, wish: Wish, x: float) -> Lets:
        return tuple((name, x if name == wish.view.axis else value) for name, value in wish.lets)

    def _curve(self, wish: Wish) -> dict[float, Result]:
        """The points of the curve that are known."""
        found = {x: self._results.get(self._at(wish, x)) for x in wish.view.values}
        return {x: result for x, result in found.items() if result is not None}

    def _missing(self, wish: Wish) -> list[Lets]:
        """What has to be run for the curve, from the present value outwards."""
        here = dict(wish.lets)[wish.view.axis]
        points = sorted(thinned(wish.view.values, here, POINTS), key=lambda x: abs(x - here))
        return [lets for x in points if (lets := self._at(wish, x)) not in self._results]

    # ------------------------------------------------------------ what a notebook shows

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        statistic, picture = self.widgets.statistic.value, self.widgets.image.value
        alternative = title(self._wish().view, self.present.lets)
        return {
            "text/plain": showing.panel_text(self.present, statistic),
            "text/html": showing.panel_html(self.present, picture, WIDTH, statistic, alternative),
            **self.widgets.view(),
        }

    def __repr__(self) -> str:
        return f"<panel: {showing.lets_text(self.present.lets)}>"


def _until(stop_at: float) -> Callable[[float], None]:
    """Progress that gives a run up at an instant."""

    def progress(share: float) -> None:
        if monotonic() > stop_at:
            raise OvertakenError

    return progress
