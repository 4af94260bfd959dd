"""Every bad program is refused: before it runs where that can be, at its place, and never by a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import serq_lab

BAD = Path(__file__).parent / "bad"
ENTRIES: dict[str, dict[str, Any]] = json.loads((BAD / "bad.json").read_text(encoding="utf-8"))
CRASHES = json.loads((BAD / "crash" / "crash.json").read_text(encoding="utf-8"))
RUNS = frozenset({"victim_already_served", "victim_already_served_decoding", "long_sum"})
"""Inputs on which the reference dies, and that are fine programs; two have stuck sessions, so exit 1."""


def run_bad(name: str) -> None:
    overrides = ENTRIES[name].get("overrides", {})
    program = serq_lab.load(BAD / f"{name}.sq", defs=overrides.get("defs"))
    program.run(overrides.get("sets"))


def names(*phases: str) -> list[str]:
    return [name for name, entry in ENTRIES.items() if entry["phase"] in phases]


@pytest.mark.parametrize("name", names("parse", "link"))
def test_refused_before_running(name: str) -> None:
    with pytest.raises(serq_lab.ProgramError) as caught:
        run_bad(name)
    first, entry = caught.value.diagnostics[0], ENTRIES[name]
    if entry["line"] is not None:
        assert first.span is not None
        assert (first.span.line, first.span.column) == (entry["line"], entry["column"])
    assert first.message
    assert f"error: {first.message}" in str(caught.value)


@pytest.mark.parametrize("name", names("run", "accepted"))
def test_refused_at_the_latest_in_the_run(name: str) -> None:
    with pytest.raises((serq_lab.ProgramError, serq_lab.RunError)) as caught:
        run_bad(name)
    assert caught.value.diagnostics[0].span is not None


PLACES = {
    "loop_empty": "3:11", "loop_no_time": "3:33", "self_preempt_no_time": "3:11", "closed_no_time": "1:12",
    "decode_infinite_free": "1:23",
}  # fmt: skip
"""Of those that pass no time: the loop, the statement, the hold, the arrivals, the cost to blame."""


@pytest.mark.parametrize("name", list(CRASHES))
def test_what_kills_the_reference_ends_in_words(name: str) -> None:
    command = [sys.executable, "-m", "serq_lab.cli", "run", "--quiet", str(BAD / "crash" / f"{name}.sq")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in done.stderr
    if name in RUNS:
        assert done.returncode == int(name != "long_sum")
        assert done.stdout.startswith("run: horizon")
    else:
        assert done.returncode == 1
        assert done.stderr.startswith("error: ")
        assert f"{name}.sq:{PLACES.get(name, '')}" in done.stderr
