"""Random programs give the reference's numbers, every field and every sample; hypothesis makes a failing one small."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.parity import reference
from tests.parity.constructs import AT_WORK, WRITTEN, at_work, written
from tests.parity.differential import DIFFERENT, SAME, judge, smaller
from tests.parity.generator.choices import again, by_hypothesis, by_seed
from tests.parity.generator.program import Generated, generate
from tests.parity.reference import Reference

pytestmark = pytest.mark.skipif(not reference.IS_THERE, reason=reference.WHY_NOT)

N_PROGRAMS = 300
ENDLESS = "stage nap : delay; workload { arrive batch(1); } session { loop { set a = a + 1; } } run { horizon 1; }"
FINE = "stage nap : delay; workload { arrive batch(9); } session { run nap (1); observe a = now; } run { horizon 9; }"


@pytest.fixture(scope="module")
def pyserq() -> Iterator[Reference]:
    with Reference() as found:
        yield found


@st.composite
def programs(draw: st.DrawFn) -> Generated:
    return generate(by_hypothesis(draw))


@settings(
    max_examples=N_PROGRAMS,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
@given(program=programs())
def test_random_programs(pyserq: Reference, program: Generated) -> None:
    verdict = judge(program, pyserq)
    assert verdict.kind != DIFFERENT, "\n".join([*verdict.lines[:5], program.text])


def test_most_programs_are_compared(pyserq: Reference) -> None:
    """So that agreement means something."""
    kinds = [judge(generate(by_seed(seed)), pyserq).kind for seed in range(40)]
    assert kinds.count(SAME) >= 35


def test_a_seed_gives_one_program_and_its_choices_the_same() -> None:
    choices = by_seed(5)
    first = generate(choices)
    assert generate(by_seed(5)) == first == generate(again(choices.made))
    assert len({generate(by_seed(seed)).text for seed in range(50)}) == 50


def test_the_simplest_program_is_plain() -> None:
    assert len(generate(again([])).text) < 600


class Altered(Reference):
    """A reference with one field changed."""

    def run(self, text: str, trace: str | None) -> dict[str, Any]:
        result = super().run(text, trace)
        if "report" in result and result["report"]["ended"] > 3:
            result["report"]["turns"] += 1
        return result


def test_a_difference_is_seen_and_made_small() -> None:
    with Altered() as altered:

        def is_bad(program: Generated) -> bool:
            return judge(program, altered).kind == DIFFERENT

        seed = next(seed for seed in range(1000) if is_bad(generate(by_seed(seed))))
        choices = by_seed(seed)
        program = generate(choices)
        small = smaller(choices.made, is_bad)
        assert is_bad(small)
        assert len(small.text) <= len(program.text)
        assert "turns" in judge(small, altered).lines[0]


def test_every_sample_is_compared(pyserq: Reference) -> None:
    class Late(Reference):
        def run(self, text: str, trace: str | None) -> dict[str, Any]:
            result = super().run(text, trace)
            result["arrays"]["a.times"][4] += 1e-6
            return result

    program = Generated(FINE, frozenset())
    assert judge(program, pyserq).kind == SAME
    with Late() as late:
        assert judge(program, late).lines == ["a.times[4]: np.float64(1.0) instead of np.float64(1.000001)"]


def test_a_reference_that_hangs_or_dies_is_started_again() -> None:
    with Reference(patience=1.0) as found:
        assert "no answer" in found.run(ENDLESS, None)["refused"]
        assert found.run(FINE, None)["report"]["ended"] == 9
        assert "died" in found.run("let a = " + "(" * 50_000 + "1" + ")" * 50_000 + ";" + FINE, None)["refused"]
        assert found.run(FINE, None)["report"]["ended"] == 9
        assert "horizon" in found.run(FINE.replace("horizon 9", "seed 1"), None)["refused"]


def test_constructs_are_told_apart(pyserq: Reference) -> None:
    program = replace(generate(by_seed(1)), text=FINE)
    assert written(program.text) == {"arrive batch", "delay"}
    assert at_work(FINE, pyserq.run(FINE, None)["report"]) == set()
    reached = {name for seed in range(300) for name in written(generate(by_seed(seed)).text)}
    assert set(WRITTEN) - reached == set()
    assert set(AT_WORK).isdisjoint(WRITTEN)
