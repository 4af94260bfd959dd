"""The figures of a panel as HTML and text."""

from __future__ import annotations

import math

import pytest

from serq_lab.notebook.panel.figures import Result, half_width, spoken, statistics
from serq_lab.notebook.panel.showing import change, figure, figures_html, listed, panel_text

FIGURES = {
    "observe.w.mean": 0.5,
    "observe.w.p99": math.nan,
    "observe.w.half_width": 0.01,
    "pool.kv[1].mean_used": 1234.0,
    "pool.kv[1].rejected": 3.0,
    "mean_live": 2.0,
}
NOW = Result((("C", 6.0),), FIGURES, ("note: <odd>",), 3, 'memory of "kv[1]"')


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (0.0, "0.0000"),
        (1.53579, "1.5358"),
        (1234.0, "1234"),
        (2e-5, "2e-05"),
        (math.nan, "-"),
        (math.inf, "inf"),
        (-0.5, "-0.5000"),
    ],
)
def test_figures(value: float, wanted: str) -> None:
    assert figure(value) == wanted


@pytest.mark.parametrize(
    ("before", "now", "wanted"),
    [
        (1.0, 1.5, "+0.5000 (+50 %)"),
        (1.5, 1.0, "−0.5000 (−33.3 %)"),
        (2.0, 2.0, "same"),
        (0.0, 1.0, "+1.0000"),
        (math.nan, 1.0, "-"),
        (math.inf, math.inf, "-"),
        (1e-9, 1.0, "+1.0000"),
    ],
)
def test_changes(before: float, now: float, wanted: str) -> None:
    assert change(before, now) == wanted


def test_names_as_readers_say_them() -> None:
    assert [spoken(name) for name in FIGURES] == [
        "w mean", "w p99", "w half width", "kv[1] mean used", "kv[1] rejected", "live sessions mean",
    ]  # fmt: skip
    assert "observe.w.half_width" not in [name for _, name in statistics(FIGURES)]
    assert half_width(FIGURES, "observe.w.mean") == 0.01
    assert math.isnan(half_width(FIGURES, "observe.w.p99"))


def test_what_is_looked_at_comes_first_and_once() -> None:
    assert listed(FIGURES, "pool.kv[1].rejected") == [
        "pool.kv[1].rejected", "observe.w.mean", "observe.w.p99", "pool.kv[1].mean_used",
    ]  # fmt: skip
    assert listed(FIGURES, "observe.w.mean").count("observe.w.mean") == 1


def test_the_table_compares_with_the_pinned_run_only_where_there_is_one() -> None:
    alone, pinned = (figures_html(NOW, other, "observe.w.mean") for other in (None, NOW))
    assert "pinned" not in alone
    assert "±0.0100" in alone
    assert "pinned: C = 6" in pinned
    assert pinned.count("same") == 2
    assert "note: &lt;odd&gt;" in alone
    assert [html.count("binds: memory of &quot;kv[1]&quot;") for html in (alone, pinned)] == [1, 2]


def test_text() -> None:
    assert panel_text(NOW, "observe.w.mean").splitlines() == [
        "C = 6",
        'binds: memory of "kv[1]"',
        "w mean           0.5000",
        "w p99            -",
        "kv[1] mean used  1234",
        "note: <odd>",
    ]
