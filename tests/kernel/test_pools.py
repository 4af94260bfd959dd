"""Pools: whatever is held, grown, released and cached, the state stays sound and the numbers are the reference's."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyserq
import pytest
from hypothesis import HealthCheck, given, settings

import serq_lab
from serq_lab.kernel.draws.streams import SESSION, new_streams, refill
from serq_lab.report.report import Report
from tests.kernel.programs import programs
from tests.parity.cases import differences


def reference(text: str, folder: Path) -> object:
    path = folder / "program.sq"
    path.write_text(text, encoding="utf-8")
    return json.loads(pyserq.run(pyserq.compile(str(path))).json())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(programs())
def test_random_programs_stay_sound_and_agree_with_the_reference(tmp_path: Path, text: str) -> None:
    report = serq_lab.compile(text).run(check=True)
    assert differences(json.loads(report.to_json()), reference(text, tmp_path)) == []


def run(session: str, pool: str = "cap 10;", workload: str = "arrive batch(1);") -> Report:
    """A program around one pool and a session's statements, run to time 100, its state checked."""
    text = f"pool p {{ {pool} }} pool q {{ cap 10; }} stage nap : delay;\n"
    text += f"workload {{ {workload} }} session {{ {session} }} run {{ horizon 100; }}"
    return serq_lab.compile(text).run(check=True)


def values(report: Report, name: str) -> list[float]:
    return report.observe[name].samples.tolist()


def test_blocks_round_up_what_is_held_and_down_what_is_kept() -> None:
    report = run(
        "hold p (5) { observe u = used(p); run nap (1); } cache (5); observe c = cachedin(p);", "cap 10; block 4;"
    )
    assert values(report, "u") == [8.0]
    assert values(report, "c") == [4.0]


def test_only_the_head_of_a_queue_is_admitted() -> None:
    session = "hold p (serial == 1 ? 9 : 2) { run nap (3); } observe done = now;"
    report = run(session, workload="arrive batch(3);")
    assert values(report, "done") == [3.0, 6.0, 9.0]


def test_a_key_lets_another_go_first() -> None:
    session = "hold p (6) { run nap (1); } observe who = serial;"
    report = run(session, "cap 10; queue by (-serial);", "arrive batch(4);")
    assert values(report, "who") == [3.0, 2.0, 1.0, 0.0]


def test_who_can_never_fit_is_turned_away_with_what_it_asked() -> None:
    report = run(
        "hold p (8 + serial) reserve (2 * serial) { run nap (1); } observe in_ = serial;", workload="arrive batch(7);"
    )
    assert values(report, "in_") == [0.0, 1.0, 2.0]
    pool = report.pool["p"]
    assert pool.rejected == 4
    assert report.ended == 7


def test_several_pools_are_held_together_or_not_at_all() -> None:
    session = "hold q (1), p (7) { observe free_q = free(q); run nap (2); }"
    report = run(session, workload="arrive batch(3);")
    assert values(report, "free_q") == [9.0, 9.0, 9.0]
    assert report.pool["q"].admissions == report.pool["p"].admissions == 3


def test_growers_go_before_the_queue() -> None:
    session = """
      branch (serial == 0) { hold p (5) { run nap (2); } }
      branch (serial == 1) { hold p (5) { grow p (3); observe grown = now; run nap (1); } }
      branch (serial == 2) { hold p (4) { observe came = now; run nap (1); } }
    """
    report = run(session, workload="arrive batch(3);")
    assert values(report, "grown") == [2.0]
    assert values(report, "came") == [3.0]


def test_what_is_released_early_serves_the_queue_at_once() -> None:
    session = "hold p (8) { run nap (1); release p; run nap (5); } observe done = now;"
    report = run(session, workload="arrive batch(3);")
    assert values(report, "done") == [6.0, 7.0, 8.0]


@pytest.mark.parametrize(("inner", "holders"), [("q", 1.0), ("p", 2.0)])
def test_a_second_hold_counts_beside_the_first(inner: str, holders: float) -> None:
    session = f"hold p (2) {{ hold {inner} (3) {{ observe h = holders(p); run nap (1); }} observe after = used(p); }}"
    report = run(session)
    assert values(report, "h") == [holders]
    assert values(report, "after") == [2.0]


def test_a_session_is_turned_away_only_when_all_its_pools_were_asked() -> None:
    """The header of every pool is read at joining, and draws, whatever the first one says (section 5)."""
    session = "branch (serial < 3) { hold p (99), q (~uniform(0, 4)) { } } observe x = ~uniform(0, 1);"
    report = run(session, workload="arrive batch(4);")
    drawn = pyserq.Rng(1 ^ 0x5851F42D4C957F2D)
    assert values(report, "x") == [[drawn.random_f64() for _ in range(4)][-1]]
    assert (report.pool["p"].rejected, report.pool["q"].rejected) == (3, 0)


def test_of_two_pools_that_are_too_small_the_first_counts() -> None:
    report = run("hold p (1), q (11) { }", workload="arrive batch(2);")
    assert (report.pool["p"].rejected, report.pool["q"].rejected) == (0, 2)
    report = run("hold p (11), q (11) { }", workload="arrive batch(2);")
    assert (report.pool["p"].rejected, report.pool["q"].rejected) == (2, 0)


@pytest.mark.parametrize(
    ("header", "n_drawn"),
    [("p (99), q (1) reserve (~uniform(0, 1))", 0), ("p (99) reserve (~uniform(0, 1)), q (~uniform(0, 1))", 2)],
)
def test_joining_reads_all_units_and_then_reserves_up_to_the_pool_that_turns_away(header: str, n_drawn: int) -> None:
    report = run(
        f"branch (serial == 0) {{ hold {header} {{ }} }} observe x = ~uniform(0, 1);", workload="arrive batch(2);"
    )
    drawn = pyserq.Rng(1 ^ 0x5851F42D4C957F2D)
    assert values(report, "x") == [[drawn.random_f64() for _ in range(3)][n_drawn]]


def drawn_units(before: str) -> float:
    """What a session is admitted with whose header draws anew at each attempt; `before` happens while it waits."""
    session = f"""
      hold q (1) {{ }} lease q (0.5);
      branch (serial == 0) {{ hold p (10) {{ run nap (2); {before} run nap (2); }} }}
      else {{ run nap (1); hold p (5 + ~uniform(0, 1)) {{ observe units = used(p); }} }}
    """
    text = f"""
      pool p {{ cap 10; }} pool q {{ }} stage nap : delay; workload {{ arrive batch(2); }}
      session {{ {session} }} run {{ horizon 9; seed 3; }}
    """
    return float(serq_lab.compile(text).run().observe["units"].samples[0])


def test_a_release_that_finds_nothing_serves_the_pools_all_the_same() -> None:
    waited, served_once, served_twice = (drawn_units("release q; " * n) for n in range(3))
    drawn = new_streams(3)[SESSION]
    refill(drawn)
    uniforms = (5.0 + drawn.view(np.float64)[1:9]).tolist()
    assert waited in uniforms
    at = uniforms.index(waited)
    assert [at, at + 1, at + 2] == [uniforms.index(units) for units in (waited, served_once, served_twice)]
