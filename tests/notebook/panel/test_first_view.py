"""What a panel opens on: the view that tells most, by a rule that fits in a sentence."""

from __future__ import annotations

from typing import Any

import pytest

import serq_lab
from serq_lab.notebook.panel.controls import controls_of
from serq_lab.notebook.panel.first_view import first_statistic
from serq_lab.reading import tutorial_folder
from tests.notebook.programs import SMALL


def axis(program: serq_lab.Program, *names: str, **ranges: Any) -> str:
    return controls_of(program, names, {}, {}, ranges).axis


@pytest.mark.parametrize(
    ("chapter", "over", "statistic"),
    [
        ("00-start", "Rate", "response"),
        ("01-queue", "Lambda", "response"),
        ("02-memory", "C", "admit_wait"),
        ("03-sessions", "Lambda", "response"),
        ("04-cache", "Capacity", "response"),
        ("05-engine", "blocks", "ttft"),
        ("06-cliff", "blocks", "ttft"),
        ("replay", "num_gpu_blocks", "ttft"),
    ],
)
def test_the_chapters_unasked(chapter: str, over: str, statistic: str) -> None:
    program = serq_lab.load(tutorial_folder() / "programs" / f"{chapter}.sq")
    assert axis(program) == over
    assert first_statistic(program.model) == f"observe.{statistic}.mean"


def test_what_is_named_first_comes_first() -> None:
    engine = serq_lab.load(tutorial_folder() / "programs" / "05-engine.sq")
    assert axis(engine, "Lambda", "blocks") == "Lambda"
    assert axis(engine, B=(256, 4096), blocks=(2000, 12_000)) == "B"
    assert axis(engine, "alpha", B=(256, 4096)) == "alpha"


def test_a_let_behind_another_one_counts() -> None:
    program = serq_lab.compile(SMALL.replace("let C = 4;", "let A = 1; let B = 4; let C = A * 0 + B; let D = 2;"))
    assert axis(program) == "A"
    assert "C" not in [control.name for control in controls_of(program, (), {}, {}, {}).moved]


@pytest.mark.parametrize(
    ("observed", "first"),
    [
        ("observe a = u > 1; observe b = now;  observe c = now - u;", "c"),
        ("observe a = u > 1; observe b = (now - u) * 1000;", "b"),
        ("observe a = u > 1; observe b = now - u < 2;", "a"),
        ("observe a = now - u < 2 ? 1 : 0; observe b = u;", "a"),
    ],
)
def test_time_is_what_is_reckoned_with_now(observed: str, first: str) -> None:
    workload = "workload { arrive batch(2); turn { set u = 0; } }"
    text = f"{workload} session {{ turn; {observed} end; }} run {{ horizon 9; }}"
    assert first_statistic(serq_lab.compile(text).model) == f"observe.{first}.mean"


def test_without_observations_it_is_the_sessions_alive() -> None:
    program = serq_lab.compile("let n = 2; workload { arrive batch(n); } session { end; } run { horizon 1; }")
    assert first_statistic(program.model) == "mean_live"
    assert axis(program) == "n"
