"""The fast path of a slider: new values for a checked program."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest

from serq_lab.diagnostics.errors import ProgramError
from serq_lab.semantics.constants import evaluate
from tests.semantics.checking import checked, program

ITEMS = """let n = 2; let c = 10; let p = 0.25;
pool p1[n] { cap c; block c / 5; }
stage s : fifo(n);
stage z : ps(c);
"""
PROGRAM = program(
    "branch with (p) { branch (c > 3) { end; } } run gates[n] (~exp(c));",
    ITEMS,
    "arrive batch(n);",
    "horizon 100 * c; warmup n; seed n;",
)


def test_all_values_follow() -> None:
    model = checked(PROGRAM)
    assert model.constants == evaluate(model, {}) or math.isnan(model.constants.blocks[0])
    found = evaluate(model, {"c": 20, "p": "n / 4"})
    assert found.lets == (2.0, 20.0, 0.5)
    assert found.caps[-1] == 20.0
    assert found.blocks[-1] == 4.0
    assert found.servers[-2:] == (2, 0)
    assert (found.population, found.horizon, found.warmup, found.seed) == (2, 2000.0, 2.0, 2)


def test_a_new_shape_shows() -> None:
    model = checked(PROGRAM)
    assert evaluate(model, {"c": 20}).structure == model.constants.structure
    assert evaluate(model, {"n": 1}).structure != model.constants.structure


def test_the_same_values_as_a_fresh_check() -> None:
    model = checked(PROGRAM)
    fresh = checked(PROGRAM, overrides={"c": "n * 8"}, horizon=50, seed=3)
    found = evaluate(model, {"c": "n * 8"}, horizon=50, seed=3)
    assert repr(found) == repr(fresh.constants)
    assert repr(evaluate(fresh, {}, horizon=50, seed=3)) == repr(fresh.constants)


@pytest.mark.parametrize(
    ("overrides", "given", "code", "words"),
    [
        ({"c": -1}, {}, "bad-capacity", '"c" = -1 given from outside'),
        ({"p": 1.5}, {}, "bad-probability", '"p" = 1.5 given from outside'),
        ({"n": 3}, {}, "bad-index", "is 3"),
        ({"n": 1.5}, {}, "bad-population", "1.5"),
        ({"q": 1}, {}, "unknown-override", '"q"'),
        ({"c": "p"}, {}, "unknown-name", '"p"'),
        ({}, {"horizon": 2}, "bad-warmup", "the warm-up, 2"),
        ({}, {"horizon": math.inf}, "bad-horizon", "inf"),
        ({}, {"warmup": -1}, "bad-warmup", "-1"),
        ({}, {"seed": 2**64}, "bad-seed", "18446744073709551616"),
        ({}, {"arrivals": 4}, "arrivals-not-open", "`batch`"),
    ],
)
def test_refused(overrides: dict[str, Any], given: dict[str, Any], code: str, words: str) -> None:
    with pytest.raises(ProgramError) as caught:
        evaluate(checked(PROGRAM), overrides, **given)
    found = {each.code: each for each in caught.value.diagnostics}
    assert code in found
    assert words in found[code].message


def test_settings_given() -> None:
    model = checked(program(workload="arrive poisson(1);"))
    found = evaluate(model, {}, horizon=7, warmup=2, seed=2**63 + 1, arrivals=5)
    assert (found.horizon, found.warmup, found.seed, found.arrivals) == (7.0, 2.0, 2**63 + 1, 5)
    again = checked(program(workload="arrive poisson(1);"), horizon=7, warmup=2, seed=2**63 + 1, arrivals=5)
    assert repr(again.constants) == repr(found)
    assert repr(evaluate(again, {})) == repr(found)


def test_a_slider_is_fast() -> None:
    model = checked(PROGRAM)
    times = []
    for step in range(50):
        start = time.perf_counter()
        evaluate(model, {"c": 5.0 + step})
        times.append(time.perf_counter() - start)
    assert min(times) < 1e-3
