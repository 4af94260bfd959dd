"""The programs with an LLM engine: chapters 5 and 6 give the chapters' numbers, the replay those of the A100."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import serq_lab
from serq_lab.pipeline import read
from serq_lab.report.report import Report
from serq_lab.syntax.parser import parse
from serq_lab.syntax.printer import print_program
from tests.tutorial.running import PROGRAMS, report, shown

ROOT = Path(__file__).parents[2]
TRACES = ROOT.parent / "shared" / "data" / "traces"
"""Beside the checkout, not in it: their licence is not stated."""

A100: dict[str, Any] = json.loads((ROOT / "tests" / "data" / "a100.json").read_text())

is_recorded = pytest.mark.skipif(
    not TRACES.is_dir(), reason="the recorded traces are not here; their licence is not stated"
)


def test_the_fifth_chapter() -> None:
    engine = report("05-engine")
    hit, ttft, response = (engine.observe[name] for name in ("hit", "ttft", "response"))
    assert (shown(hit.mean), shown(hit.half_width), hit.count) == ("0.7927", "0.0040", 43947)
    assert (shown(ttft.mean), shown(ttft.half_width)) == ("0.0181", "0.0007")
    assert (shown(response.mean), shown(response.half_width)) == ("0.0633", "0.0011")
    assert (engine.stage["engine"].iterations, engine.events) == (9164050, 9212861)
    assert engine.notes == []


@pytest.mark.parametrize(
    ("arrivals", "blocks", "hit", "ttft", "preemptions", "stuck", "utilization"),
    [(1.5, 4000, "0.4806", "0.1279", 6039, 118, "0.592"), (2.0, 40000, "0.8008", "0.0200", 0, 0, "0.471")],
)
def test_the_cliff_of_the_sixth_chapter(
    arrivals: float, blocks: int, hit: str, ttft: str, preemptions: int, stuck: int, utilization: str
) -> None:
    """The two quickest of its points; `tests/bench/engine.py` prints all."""
    point = report("06-cliff", Lambda=arrivals, blocks=blocks)
    assert (shown(point.observe["hit"].mean), shown(point.observe["ttft"].mean)) == (hit, ttft)
    assert (point.pool["kv"].preemptions, point.pool["kv"].stuck) == (preemptions, stuck)
    assert shown(point.stage["engine"].utilization, 3) == utilization


def test_the_sixth_chapter_is_the_fifth_with_more_sessions() -> None:
    fifth, sixth = (serq_lab.load(PROGRAMS / f"{name}.sq") for name in ("05-engine", "06-cliff"))
    assert sixth.lets == {**fifth.lets, "Lambda": sixth.lets["Lambda"]}
    assert "".join(sixth.source.partition("pool kv")[1:]) == "".join(fifth.source.partition("pool kv")[1:])


@pytest.mark.parametrize("name", ["05-engine", "06-cliff", "replay", "lib/vllm"])
def test_programs_are_in_canonical_form(name: str) -> None:
    source = read(PROGRAMS / f"{name}.sq")
    assert print_program(parse(source)) == source.text


def test_the_replay_has_the_engine_and_the_step_cost_that_were_measured() -> None:
    lets, engine = report("replay").lets, A100["engine"]
    assert {name: lets[name] for name in A100["step_cost"]["replay"]} == A100["step_cost"]["replay"]
    assert lets["num_gpu_blocks"] * lets["block_size"] == engine["kv_pool_tokens"] == 128160
    assert (lets["max_num_seqs"], lets["max_num_batched_tokens"]) == (engine["max_running"], engine["token_budget"])


def test_a_made_up_trace_with_room_for_all() -> None:
    """Nothing is evicted, so a turn finds what the one before left, unless it is a forced miss."""
    replay = report("replay")
    rows = [line.split(",") for line in (PROGRAMS / "data" / "agents.csv").read_text().splitlines()[2:]]
    later = [int(row[5]) for row in rows if row[1] != "1"]
    hits = replay.observe["full_hit"]
    assert (replay.turns, replay.ended, hits.count) == (len(rows), 16, len(later))
    assert hits.samples.sum() == len(later) - sum(later)
    assert replay.pool["kv"].evicted_units == 0
    assert replay.observe["ttft"].samples.min() > replay.lets["request_s"] + replay.lets["fixed_s"]


def test_a_made_up_trace_where_memory_is_short() -> None:
    """Less memory: fewer turns find their prefix, and the first token comes later."""
    small, large = report("replay", num_gpu_blocks=1000), report("replay")
    assert small.pool["kv"].evicted_units > 0
    assert small.observe["full_hit"].mean < large.observe["full_hit"].mean
    assert small.observe["ttft"].mean > large.observe["ttft"].mean


def replayed(trace: str, spacing: float, *, is_pinned: bool = False) -> Report:
    """A recorded trace on the program as it stands, or with the prefixes of those that wait kept."""
    text = (PROGRAMS / "replay.sq").read_text()
    if is_pinned:
        assert "  evict lru;" in text
        text = text.replace("  evict lru;", "  evict by (waiting, last);")
    program = serq_lab.compile(text, name=str(PROGRAMS / "replay.sq"))
    lets = {"n_sessions": 333, "spacing": spacing, "window": 90}
    return program.run(lets, trace=TRACES / f"{trace}.csv")


def is_near(replay: Report, ttft: float, full_hit: float) -> bool:
    """The model comes within 30% of the time to the first token, and within 0.06 of the share of hits."""
    mean_ttft, mean_hit = replay.observe["ttft"].mean, replay.observe["full_hit"].mean
    return abs(mean_ttft / ttft - 1) < 0.3 and abs(mean_hit - full_hit) < 0.06


@is_recorded
@pytest.mark.parametrize("run", A100["runs"], ids=lambda run: f"{run['trace']} {run['spacing_s']}")
def test_replays_are_near_what_was_measured(run: dict[str, Any]) -> None:
    replay = replayed(run["trace"], run["spacing_s"])
    assert (replay.turns, replay.ended) == (3321, 333)
    assert any(is_near(replay, each["ttft_s"], each["full_hit"]) for each in run["measured"])


@is_recorded
def test_who_keeps_the_prefixes_of_those_that_wait_does_not_collapse() -> None:
    """At a spacing of 2.5 s, measured: 34.6 s and 0.216 without that, 0.878 s and 0.784 with it."""
    lost, kept = (replayed("short_base", 2.5, is_pinned=pinned) for pinned in (False, True))
    assert is_near(lost, 34.6, 0.216)
    assert is_near(kept, 0.878, 0.784)
