"""Every program of the corpus gives its numbers: counts exactly, the rest to 1e-9."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.parity.cases import HERE, Case, cases, compare, differences, run

CORPUS, RANDOM = cases("corpus"), cases("random")


def named(found: list[Case]) -> list[object]:
    return [pytest.param(case, id=case.name) for case in found]


def test_nothing_was_lost() -> None:
    assert len(CORPUS) == len(list((HERE / "corpus").glob("*.sq"))) >= 80
    assert len(RANDOM) == len(list((HERE / "random").glob("*.sq"))) >= 120


@pytest.mark.parametrize("case", named(CORPUS + RANDOM))
def test_numbers(case: Case) -> None:
    if "quirks" in case.expected:
        assert (HERE / "ours" / f"{case.name}.json").exists(), "record it: python -m tests.parity.cases NAME"
    assert compare(case, run(case)) == []


@pytest.mark.parametrize("case", named(CORPUS))
def test_the_engine_agrees_with_itself(case: Case) -> None:
    """With the engine's own invariants tested after every event, the report is the same."""
    assert run(case, check=True).to_json() == run(case).to_json()


def test_a_difference_is_seen(tmp_path: Path) -> None:
    wanted = {"count": 3, "mean": 1.0, "p99": None, "rows": [{"name": "a"}]}
    assert differences({**wanted, "mean": 1.0 + 5e-10}, wanted) == []
    assert differences({**wanted, "count": 4}, wanted) == [".count: 4 instead of 3"]
    assert differences({**wanted, "mean": 1.0 + 5e-9}, wanted) != []
    assert differences({**wanted, "p99": 0}, wanted) == [".p99: 0 instead of None"]
    assert differences({**wanted, "rows": [{"name": "b"}]}, wanted) == [".rows[0].name: 'b' instead of 'a'"]
    assert differences(dict(reversed(wanted.items())), wanted) != []
