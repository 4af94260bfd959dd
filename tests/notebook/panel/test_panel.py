"""The panel: what follows a slider, whose picture it is, and what is left when it is gone."""

from __future__ import annotations

import gc
import threading
import warnings
from collections.abc import Callable, Iterator
from time import monotonic, sleep
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from ipywidgets.widgets.widget import _instances as alive

import serq_lab
from serq_lab import ProgramError, RunError
from serq_lab.notebook.cell_error import UsageError
from serq_lab.notebook.panel import lifetimes
from serq_lab.notebook.panel import panel as panel_module
from serq_lab.notebook.panel.panel import Panel
from tests.notebook.programs import MEMORY, SMALL

STOPS_AT_FIVE = SMALL.replace(
    "set u = serial + 1;", "set u = serial + 1; branch (serial == 2 && C == 5 ? 0.5 : 0) { end; }"
)


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    yield
    for _, panel in list(lifetimes._LIVING):
        panel.close()
    for widget in list(alive.values()):
        widget.close()


def explored(text: str = SMALL, *names: str, **ranges: Any) -> Panel:
    panel = serq_lab.compile(text).explore(*names, **ranges)
    assert panel.finish()
    return panel


def move(panel: Panel, **values: float) -> None:
    for name, value in values.items():
        panel.widgets.controls[name].value = value
    assert panel.finish()


def shown(panel: Panel) -> str:
    return str(panel.widgets.table.value)


# ------------------------------------------------------------------ what there is


def test_a_slider_for_each_let_that_a_run_depends_on() -> None:
    panel = explored()
    assert list(panel.widgets.controls) == ["C", "Wait"]
    slider = panel.widgets.controls["C"]
    assert (slider.description, slider.tooltip) == ("C", "C: units of memory [2..9]")
    assert [value for _, value in slider.options] == [2, 3, 4, 5, 6, 7, 8, 9]
    assert slider.value == 4


def test_lets_by_name_and_ranges_and_settings() -> None:
    assert list(explored(SMALL, "Wait").widgets.controls) == ["Wait"]
    panel = explored(SMALL, C=(3, 6), horizon=[50, 100], seed=7)
    assert list(panel.widgets.controls) == ["C", "Wait", "horizon"]
    assert panel.present.lets == (("C", 4.0), ("Wait", 1.0), ("horizon", 50.0))
    assert explored(SMALL, C=7).widgets.controls["C"].value == 7
    assert explored(SMALL, set={"C": "2 + 3"}).widgets.controls["C"].value == 5


def test_a_let_that_follows_others_has_a_slider_only_when_asked_for() -> None:
    text = SMALL.replace("let Unused = C;", "let Half = C / 2;").replace("run server (Wait)", "run server (Half)")
    assert list(explored(text).widgets.controls) == ["C"]
    panel = explored(text, "Half", set={"C": 6})
    assert dict(panel.present.lets) == {"Half": 3.0}


@pytest.mark.parametrize(
    ("ranges", "said"),
    [
        ({"Cc": (1, 2)}, "the program has no let `Cc`; did you mean"),
        ({"C": (5, 1)}, "a range is \\(low, high\\) with low below high"),
        ({"C": "wide"}, "give \\(low, high\\)"),
    ],
)
def test_what_cannot_be_moved_is_said_in_one_sentence(ranges: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        serq_lab.compile(SMALL).explore(**ranges)


def test_no_guess_for_an_infinite_value() -> None:
    text = SMALL.replace("let C = 4; // units of memory [2..9]", "let C = inf;")
    assert list(explored(text).widgets.controls) == ["Wait"]
    assert explored(text, C=(2, 9)).widgets.controls["C"].value == 9
    with pytest.raises(UsageError, match=r"`C` is inf: give a range for it, as in `explore\(C=\(1, 9\)\)`"):
        serq_lab.compile(text).explore("C")


def test_what_is_wrong_at_the_start_fails_the_cell() -> None:
    with pytest.raises(ProgramError):
        serq_lab.compile(SMALL).explore(set={"C": -1})
    with pytest.raises(RunError):
        serq_lab.compile(STOPS_AT_FIVE).explore(set={"C": 5})
    assert len(alive) == 0


def test_an_interrupt_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Panel, "_missing", interrupted)
    with pytest.raises(KeyboardInterrupt):
        serq_lab.compile(SMALL).explore()
    assert len(alive) == 0


# ------------------------------------------------------------------ what follows


def test_the_figures_follow_and_say_whose_they_are() -> None:
    panel = serq_lab.load(MEMORY).explore(C=(4, 20))
    assert "C = 10" in shown(panel)
    assert "0.0947" in shown(panel)
    before = bytes(panel.widgets.image.value)
    move(panel, C=6)
    assert "Lambda = 0.8, S = 1, C = 6" in shown(panel)
    assert "1.5358" in shown(panel)
    assert "0.0947" not in shown(panel)
    assert bytes(panel.widgets.image.value) != before
    assert bytes(panel.widgets.image.value).startswith(b"\x89PNG")


def test_a_move_along_the_curve_runs_nothing_again() -> None:
    panel = explored()
    n_runs = panel.n_runs
    for value in (2, 9, 4):
        move(panel, C=value)
        assert dict(panel.present.lets)["C"] == value
    assert panel.n_runs == n_runs


def test_a_move_across_it_fills_a_new_curve() -> None:
    panel = explored()
    move(panel, Wait=2)
    assert len(panel._curve(panel._wish())) == 8
    assert {dict(result.lets)["Wait"] for result in panel._curve(panel._wish()).values()} == {2.0}


def test_what_to_look_at_and_over_what() -> None:
    panel = explored()
    options = [value for _, value in panel.widgets.statistic.options]
    assert {"observe.got.mean", "pool.mem.mean_used", "stage.server.utilization", "pool.mem.rejected"} <= set(options)
    picture = bytes(panel.widgets.image.value)
    panel.widgets.statistic.value = "pool.mem.rejected"
    assert panel.finish()
    assert bytes(panel.widgets.image.value) != picture
    panel.widgets.axis.value = "Wait"
    assert panel.finish()
    assert len(panel._curve(panel._wish())) >= panel_module.POINTS - 1


def test_a_pinned_run_to_compare_with() -> None:
    panel = explored()
    panel.widgets.pin.click()
    move(panel, Wait=2)
    assert "pinned: C = 4, Wait = 1" in shown(panel)
    assert "+1.7500 (+100 %)" in shown(panel)
    assert "same" in shown(panel)
    panel.widgets.unpin.click()
    assert panel.finish()
    assert "pinned" not in shown(panel)
    assert panel.widgets.unpin.disabled


def test_notes_are_shown() -> None:
    assert "note: 2 of 6 sessions were turned away" in shown(explored())


# ------------------------------------------------------------------ D4: errors


def test_an_error_shows_in_the_panel_and_goes_with_the_next_good_value() -> None:
    panel = explored(STOPS_AT_FIVE)
    picture = bytes(panel.widgets.image.value)
    move(panel, C=5)
    assert "the guard" in shown(panel)
    assert "^^^" in shown(panel)
    assert "Traceback" not in shown(panel)
    assert dict(panel.present.lets)["C"] == 4
    assert bytes(panel.widgets.image.value) == picture
    move(panel, C=6)
    assert "the guard" not in shown(panel)
    assert "C = 6" in shown(panel)
    assert dict(panel.present.lets)["C"] == 6


def test_our_own_fault_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    panel = explored()

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("one < nothing")

    monkeypatch.setattr(panel_module.showing, "figures_html", broken)
    move(panel, C=5)
    assert "ZeroDivisionError: one &lt; nothing" in shown(panel)


# ------------------------------------------------------------------ D1: the latest value wins


class SlowProgram:
    """`Program.run`, taking its time between two calls of `progress`; counts runs, and how many at once."""

    def __init__(self, run: Callable[..., Any], seconds: float) -> None:
        self._run, self._seconds = run, seconds
        self.n_started = self.n_done = self.n_inside = self.most_inside = 0

    def __call__(
        self, program: serq_lab.Program, *arguments: Any, progress: Callable[[float], None], **more: Any
    ) -> Any:
        self.n_started += 1
        self.n_inside += 1
        self.most_inside = max(self.most_inside, self.n_inside)
        try:
            stop_at = monotonic() + self._seconds
            while monotonic() < stop_at:
                sleep(0.002)
                progress(0.5)
            report = self._run(program, *arguments, progress=progress, **more)
        finally:
            self.n_inside -= 1
        self.n_done += 1
        return report


@pytest.mark.parametrize("seconds", [0.0, 0.2])
def test_a_storm_ends_on_the_last_value(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    panel = explored(STOPS_AT_FIVE, C=(2, 9))
    slow = SlowProgram(serq_lab.Program.run, seconds)
    monkeypatch.setattr(serq_lab.Program, "run", lambda program, *a, **k: slow(program, *a, **k))
    monkeypatch.setattr(panel_module, "POINTS", 3)
    values = [value for _, value in panel.widgets.controls["Wait"].options]
    for step in range(50):
        panel.widgets.controls["C"].value = 5 if step == 25 else 6
        panel.widgets.controls["Wait"].value = values[step % len(values)]
        sleep(0.04)
    in_the_storm = slow.n_started
    assert panel.finish()
    assert in_the_storm <= 20
    assert slow.most_inside == 1
    assert dict(panel.present.lets) == {"C": 6.0, "Wait": values[49 % len(values)]}
    assert f"C = 6, Wait = {values[49 % len(values)]:.6g}" in shown(panel)


def test_a_run_that_was_overtaken_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    panel = explored()
    slow = SlowProgram(serq_lab.Program.run, 5.0)
    monkeypatch.setattr(serq_lab.Program, "run", lambda program, *a, **k: slow(program, *a, **k))
    panel.widgets.controls["Wait"].value = 2.0
    while slow.n_started == 0:
        sleep(0.005)
    begun_at = monotonic()
    panel.widgets.controls["Wait"].value = 1.0  # known already: needs no run
    assert panel.finish()
    assert monotonic() - begun_at < 2.0
    assert slow.n_done == 0
    assert "Wait = 1" in shown(panel)


def test_a_slow_run_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    panel = explored()
    said: list[str] = []
    monkeypatch.setattr(panel.widgets, "say", said.append)
    slow = SlowProgram(serq_lab.Program.run, 0.7)
    monkeypatch.setattr(serq_lab.Program, "run", lambda program, *a, **k: slow(program, *a, **k))
    panel.widgets.controls["Wait"].value = 2.0
    while not any(said):
        sleep(0.01)
    panel.close()
    assert next(filter(None, said)) == "running C = 4, Wait = 2: 50 %"


# ------------------------------------------------------------------ D2, D3, D5, E1: nothing is left behind


def test_a_redraw_swaps_one_finished_picture_for_another() -> None:
    panel = explored()
    seen: list[bytes] = []
    panel.widgets.image.observe(lambda change: seen.append(bytes(change["new"])), names="value")
    move(panel, C=5)
    assert len(seen) == 1
    assert seen[0].endswith(b"IEND\xaeB`\x82")
    assert panel.widgets.image.layout.height == "340px"


def test_many_changes_leave_no_figures_widgets_or_threads() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        panel = explored()
        n_widgets = len(alive)
        for step in range(30):
            move(panel, C=2 + step % 8)
    assert len(alive) == n_widgets
    pyplot = __import__("sys").modules.get("matplotlib.pyplot")
    assert pyplot is None or pyplot.get_fignums() == []
    assert len(panel._results) <= panel_module.KEPT
    for thread in threading.enumerate():
        if thread.name == "serq-lab panel":
            thread.join(10)
    assert not [thread for thread in threading.enumerate() if thread.name == "serq-lab panel"]


def test_the_results_that_are_kept_are_numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panel_module, "KEPT", 20)
    panel = explored()
    for _, value in panel.widgets.controls["Wait"].options[:6]:
        move(panel, Wait=value)
        assert len(panel._results) <= 20


def living_reports() -> list[object]:
    gc.collect()
    return [each for each in gc.get_objects() if type(each).__name__ == "Report"]


def test_a_panel_keeps_no_report() -> None:
    reports = living_reports()  # of other tests: kept here, so that no new one takes their identity
    known = {id(each) for each in reports}
    panel = explored()
    assert not [each for each in living_reports() if id(each) not in known]
    assert panel.present.figures


def test_running_a_cell_again_ends_its_last_panel(shell: InteractiveShell) -> None:
    cell = "import serq_lab\nserq_lab.compile(text).explore()"
    shell.user_ns["text"] = SMALL
    panels = []
    for _ in range(20):
        panels.append(shell.run_cell(cell, store_history=True).result)
        assert panels[-1].finish()
        if len(panels) == 1:
            n_widgets = len(alive)
    assert len(alive) == n_widgets
    assert lifetimes.n_living() == 1
    n_runs = [panel.n_runs for panel in panels]
    panels[3].widgets.controls["C"].value = 5
    move(panels[-1], Wait=2)
    assert [panel.n_runs for panel in panels[:-1]] == n_runs[:-1]


def test_two_panels_in_one_cell_live_side_by_side(shell: InteractiveShell) -> None:
    shell.user_ns["text"] = SMALL
    cell = "import serq_lab\na, b = (serq_lab.compile(text).explore() for _ in range(2))"
    shell.run_cell(cell, store_history=True)
    assert lifetimes.n_living() == 2
    shell.run_cell(cell, store_history=True)
    assert lifetimes.n_living() == 2
    shell.run_cell("%%serq --explore\n" + SMALL, store_history=True)
    assert lifetimes.n_living() == 3


# ------------------------------------------------------------------ D8: without a front end


def test_without_a_front_end_a_picture_and_a_table_are_left() -> None:
    panel = explored()
    bundle = panel._repr_mimebundle_()
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == panel.widgets.box.model_id
    assert 'src="data:image/png;base64,iVBOR' in bundle["text/html"]
    assert "<script" not in bundle["text/html"]
    assert "got mean" in bundle["text/html"]
    assert bundle["text/plain"].splitlines()[0] == "C = 4, Wait = 1"
    assert "note: " in bundle["text/plain"]
    assert repr(panel) == "<panel: C = 4, Wait = 1>"
