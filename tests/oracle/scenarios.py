"""Scenarios that vLLM's scheduler has answered (`tests/data/vllm_oracle`), as runs of a serQ program.

A scenario becomes a trace, a session's first row with its arrival and one row a request, and values for the
program's lets. An iteration lasts 1, so times are the scheduler's steps. Used by `test_vllm.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import serq_lab
from serq_lab.report.report import Report

HERE = Path(__file__).parent
RECORDED = {path.stem: json.loads(path.read_text()) for path in sorted(HERE.parent.glob("data/vllm_oracle/*.json"))}

Scenario = Mapping[str, Any]


def program_of(scenario: Scenario) -> str:
    """The program that has the scheduler's rules for this order of serving."""
    is_newest_first = scenario["engine"]["serve_order"] == "newest_admission_first"
    return "newest_first" if is_newest_first else "request"


def sessions_of(scenario: Scenario) -> list[dict[str, Any]]:
    """The sessions with their turns; a request is a session of one turn."""
    if "sessions" in scenario:
        return list(scenario["sessions"])
    return [{**request, "turns": [{**request, "think_steps": 0}]} for request in scenario["requests"]]


def trace_of(scenario: Scenario) -> str:
    """The text of the trace file."""
    rows = []
    for session in sessions_of(scenario):
        rows.append((session["id"], 0, 0, 0, session["arrival_step"]))
        for n, turn in enumerate(session["turns"], start=1):
            rows.append((session["id"], n, turn["prompt_tokens"], turn["output_tokens"], turn["think_steps"]))
    return "".join(",".join(map(str, row)) + "\n" for row in rows)


def run(scenario: Scenario, folder: Path) -> Report:
    """Run a scenario; its trace is written into a folder."""
    engine = scenario["engine"]
    lets = {
        "n_sessions": len(sessions_of(scenario)),
        "block_size": engine["block_tokens"],
        "num_gpu_blocks": engine["blocks"],
        "max_num_seqs": engine["max_running"],
        "max_num_batched_tokens": engine["token_budget"],
        "long_prefill_token_threshold": engine["prefill_cap"] or 0,
    }
    if program_of(scenario) == "request":
        lets["enable_prefix_caching"] = engine["prefix_cache"]
        lets["prefilling_first"] = engine["serve_order"] == "prefilling_first"
    trace = folder / "trace.csv"
    trace.write_text(trace_of(scenario))
    return _program(program_of(scenario)).run(lets, trace=trace, check=True)


@cache
def _program(name: str) -> serq_lab.pipeline.Program:
    return serq_lab.load(HERE / f"{name}.sq")


def answer_of(scenario: Scenario, report: Report) -> dict[str, Any]:
    """What a run says, in the form of the recorded answer."""
    observed: dict[str, dict[int, list[int]]] = {}
    for name, row in report.observe.items():
        for session, value in zip(row.sessions.tolist(), row.samples.tolist(), strict=True):
            observed.setdefault(name, {}).setdefault(session, []).append(int(value))
    answer: dict[str, Any] = {
        "preemptions": report.pool["kv"].preemptions,
        "last_step": max(max(steps) for steps in observed["last_token_step"].values()),
    }
    if "sessions" not in scenario:
        names = ("first_token_step", "last_token_step")
        answer["requests"] = [
            {"id": request["id"], **{name: observed[name][serial][0] for name in names}}
            for serial, request in enumerate(scenario["requests"])
        ]
        return answer
    names = ("sent_step", "first_token_step", "last_token_step", "cached_tokens")
    answer["turns"] = [
        {"session": session["id"], "turn": turn["turn"], **{name: observed[name][serial][n] for name in names}}
        for serial, session in enumerate(scenario["sessions"])
        for n, turn in enumerate(session["turns"])
    ]
    return answer
