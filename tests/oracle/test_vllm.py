"""A request written in serQ is served step by step as vLLM's scheduler serves it, in every recorded scenario."""

from __future__ import annotations

from pathlib import Path

import pytest

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
