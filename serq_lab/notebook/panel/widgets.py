"""The parts of a panel that are seen: controls, choices, one picture, one table.

In come values to show, from whatever thread; out go the values of the controls, and calls when they change. Only
ipywidgets' own widgets, so that nothing is to be installed or fetched by a front end. Read by `panel.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from typing import Any

import ipywidgets
from ipywidgets import Widget

from serq_lab.notebook.panel.controls import Control
from serq_lab.notebook.panel.figures import Lets
from serq_lab.notebook.panel.picture import HEIGHT, WIDTH
from serq_lab.notebook.panel.showing import PICTURE_STYLE
from serq_lab.report.html import page

CHOICE = {"layout": {"width": "290px"}, "style": {"description_width": "80px"}}


class Widgets:
    """The widgets of one panel.

    Attributes
    ----------
    controls : dict of str to widget
        By the name of the let or setting.
    statistic, axis : Dropdown
        What to look at, and over which let.
    pin, unpin : Button
    image : Image
    table : HTML
        The figures, or the error that stands in their place.
    box : Box
        All of them.
    """

    def __init__(
        self, controls: Sequence[Control], *, axis: str, statistics: Sequence[tuple[str, str]], statistic: str
    ) -> None:
        self.controls = {control.name: control.widget() for control in controls}
        self.statistic = ipywidgets.Dropdown(options=statistics, value=statistic, description="look at", **CHOICE)
        self.axis = ipywidgets.Dropdown(options=list(self.controls), value=axis, description="over", **CHOICE)
        button = {"width": "98px"}
        self.pin = ipywidgets.Button(
            description="Pin", tooltip="Keep these figures, to compare later ones with", layout=button
        )
        self.unpin = ipywidgets.Button(
            description="Unpin", disabled=True, tooltip="Compare with nothing", layout=button
        )
        size = {"width": f"{WIDTH}px", "height": f"{HEIGHT}px", "flex": "0 0 auto"}
        self.image = ipywidgets.Image(format="png", width=WIDTH, height=HEIGHT, layout=size)
        self.image.add_class("serq-picture")
        self.table = ipywidgets.HTML(layout={"min_height": "200px"})
        self._status = ipywidgets.HTML(layout={"height": "28px"})
        style = ipywidgets.HTML(f"<style>{PICTURE_STYLE}</style>", layout={"display": "none"})
        buttons = ipywidgets.HBox([self.pin, self.unpin], layout={"margin": "0 0 0 84px"})
        left = ipywidgets.VBox(
            [*self.controls.values(), self.statistic, self.axis, buttons, self._status],
            layout={"flex": "0 0 auto", "width": "304px"},
        )
        top = ipywidgets.Box([left, self.image], layout={"flex_flow": "row wrap", "align_items": "flex-start"})
        self.box = ipywidgets.VBox([style, top, self.table])
        self.box.add_class("serq-panel")

    def lets(self) -> Lets:
        """The values of the controls, in their order."""
        return tuple((name, float(control.value)) for name, control in self.controls.items())

    def when_changed(self, ask: Callable[[], None]) -> None:
        """Have this called at each change of a control or choice."""
        for widget in (*self.controls.values(), self.statistic, self.axis):
            widget.observe(lambda change: ask(), names="value")

    def when_pinned(self, pin: Callable[[], None], unpin: Callable[[], None]) -> None:
        """Have these called at a click on the buttons."""
        self.pin.on_click(lambda button: pin())
        self.unpin.on_click(lambda button: unpin())

    def show_figures(self, html: str) -> None:
        """Put the figures in the place of what stood there, an error for example."""
        self.table.value = html
        self.say("")

    def show_error(self, html: str) -> None:
        """Put an error in the place of the figures: it goes with the next good value."""
        self.table.value = page(html)
        self.say("these values cannot be run: see below")

    def say(self, text: str) -> None:
        """One line below the controls."""
        self._status.value = f"<small>{escape(text)}</small>" if text else ""

    def view(self) -> dict[str, Any]:
        """How a notebook finds the widgets."""
        return {
            "application/vnd.jupyter.widget-view+json": {
                "version_major": 2,
                "version_minor": 0,
                "model_id": self.box.model_id,
            }
        }

    def close(self) -> None:
        """Take all of them out of the kernel and of the page, their layouts and styles too."""
        for widget in {each.model_id: each for each in with_parts([self.box])}.values():
            widget.unobserve_all()
            widget.close()


def with_parts(widgets: Iterable[Widget]) -> Iterator[Widget]:
    """Widgets, and all that hang on them."""
    for widget in widgets:
        yield widget
        yield from with_parts(
            part for name in ("layout", "style") if isinstance(part := getattr(widget, name, None), Widget)
        )
        yield from with_parts(getattr(widget, "children", ()))
