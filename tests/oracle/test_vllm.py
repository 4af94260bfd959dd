"""A request written in serQ is served step by step as vLLM's scheduler serves it, in every recorded scenario."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracle.plain_scheduler import Scheduler
from tests.oracle.scenarios import RECORDED, answer_of, run


def test_all_scenarios_are_here() -> None:
    assert len(RECORDED) == 12
    assert all(scenario["name"] == name for name, scenario in RECORDED.items())


@pytest.mark.parametrize("name", RECORDED)
def test_steps_are_those_of_the_scheduler(name: str, tmp_path: Path) -> None:
    scenario = RECORDED[name]
    recorded = {key: value for key, value in scenario["answer"].items() if value is not None}
    answer = answer_of(scenario, run(scenario, tmp_path))
    assert {key: answer[key] for key in recorded} == recorded


def test_the_limit_of_a_prefill_does_not_hold_for_one_that_is_alone(tmp_path: Path) -> None:
    """One request of 60 tokens in iterations of 32 takes two; beside a second one, three chunks of 24 at the most."""
    engine = {**RECORDED["alone"]["engine"], "blocks": 99}
    alone = {"id": 0, "arrival_step": 0, "prompt_tokens": 60, "output_tokens": 2}
    other = {**alone, "id": 1}
    for requests, first in (([alone], 2), ([alone, other], 3)):
        scenario = {"engine": engine, "requests": requests}
        assert answer_of(scenario, run(scenario, tmp_path))["requests"][0]["first_token_step"] == first


@pytest.mark.parametrize("name", [name for name in RECORDED if name not in ("multi_turn_cache", "serve_prefill_first")])
def test_the_plain_scheduler_gives_the_recorded_answers_too(name: str) -> None:
    assert Scheduler(RECORDED[name]).answer() == RECORDED[name]["answer"]


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Any]:
    """Up to four requests, each of which fits alone, in a memory that is often too small for all."""
    requests = [
        {
            "id": n,
            "arrival_step": draw(st.integers(0, 12)),
            "prompt_tokens": draw(st.integers(1, 40)),
            "output_tokens": draw(st.integers(1, 16)),
        }
        for n in range(draw(st.integers(1, 4)))
    ]
    block = draw(st.sampled_from([1, 4, 16]))
    least = max(math.ceil((each["prompt_tokens"] + each["output_tokens"]) / block) for each in requests)
    order = draw(st.sampled_from(["oldest_admission_first", "newest_admission_first"]))
    most = 2 if order == "newest_admission_first" else 4  # why, `newest_first.sq` says
    engine = {
        "token_budget": draw(st.integers(2, 48)),
        "max_running": draw(st.integers(1, most)),
        "block_tokens": block,
        "blocks": least + draw(st.integers(0, least)),
        "prefill_cap": draw(st.none() | st.integers(1, 24)),
        "prefix_cache": False,
        "serve_order": order,
    }
    return {"engine": engine, "requests": requests}


@settings(max_examples=60, deadline=None)
@given(scenario=scenarios())
def test_any_scenario_is_served_as_by_the_plain_scheduler(
    tmp_path_factory: pytest.TempPathFactory, scenario: dict[str, Any]
) -> None:
    report = run(scenario, tmp_path_factory.mktemp("scenario"))
    assert answer_of(scenario, report) == Scheduler(scenario).answer()
