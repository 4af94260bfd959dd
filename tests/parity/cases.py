"""Programs with the numbers they must give: how a case is read, run and compared.

``corpus/NAME.sq`` and ``random/NAME.sq`` are programs; ``NAME.json`` beside them holds overrides and the
expected report. ``ours/NAME.json`` replaces it for cases tagged `quirks`, whose reference numbers rest on a
fault of the reference. Record those anew with ``python -m tests.parity.cases NAME...``, and read the
difference before keeping it.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import serq_lab
from serq_lab.report.report import Report

HERE = Path(__file__).parent
COUNTS = frozenset(
    (
        *("events", "arrivals", "ended", "turns", "count", "completed", "iterations", "admissions", "spills"),
        *("evicted_entries", "preemptions", "rejected", "stuck", "index", "seed", "sessions"),
    )
)
"""What must be equal exactly; `turns` is both a counter and a column of `sample_info`."""

TOLERANCE = 1e-9


@dataclass(frozen=True)
class Case:
    """One program with its expected result."""

    program: Path
    expected: dict[str, Any]

    @property
    def name(self) -> str:
        return self.program.stem


def cases(folder: str) -> list[Case]:
    """The cases of ``corpus`` or ``random``, by name."""
    found = []
    for path in sorted((HERE / folder).glob("*.json")):
        expected = json.loads(path.read_text(encoding="utf-8"))
        ours = HERE / "ours" / path.name
        if "quirks" in expected and ours.exists():
            expected = {**expected, **json.loads(ours.read_text(encoding="utf-8"))}
        found.append(Case(path.with_suffix(".sq"), expected))
    return found


def run(case: Case, *, check: bool = False) -> Report:
    """Run a case with its overrides."""
    overrides = case.expected.get("overrides", {})
    program = serq_lab.load(case.program, defs=overrides.get("defs"))
    settings = {key: overrides[key] for key in ("seed", "horizon", "warmup", "arrivals") if key in overrides}
    if "trace" in overrides:
        settings["trace"] = case.program.parent / overrides["trace"]
    return program.run(overrides.get("sets"), check=check, **settings)


def outcome(report: Report) -> dict[str, Any]:
    """A report in the shape of the expected file."""
    result: dict[str, Any] = {"report": json.loads(report.to_json())}
    result["first_samples"] = {
        name: {"first": _named(row.samples[:5]), "last": _named(row.samples[-2:])}
        for name, row in report.observe.items()
    }
    result["sample_info"] = {
        name: {
            "times": row.times[:5].tolist(),
            "sessions": row.sessions[:5].tolist(),
            "turns": row.turns[:5].tolist(),
        }
        for name, row in report.observe.items()
    }
    points = {
        name: [list(point) for point in zip(row.times.tolist(), _named(row.values), strict=True)]
        for name, row in report.gauge.items()
    }
    result["gauge_points"] = {
        name: {"count": len(rows), "first": rows[:5], "last": rows[-2:]} for name, rows in points.items()
    }
    return result


def _named(values: Any) -> list[float | str]:
    """Numbers, with ``"nan"``, ``"inf"`` and ``"-inf"`` as text."""
    return [value if math.isfinite(value) else str(value) for value in values.tolist()]


def differences(got: Any, wanted: Any, where: str = "", key: str = "") -> list[str]:
    """Where two outcomes differ, one line each; the order of keys counts."""
    if isinstance(wanted, dict):
        if not isinstance(got, dict) or list(got) != list(wanted):
            return [f"{where}: {got if not isinstance(got, dict) else list(got)} instead of {list(wanted)}"]
        return [line for name in wanted for line in differences(got[name], wanted[name], f"{where}.{name}", name)]
    if isinstance(wanted, list):
        if not isinstance(got, list) or len(got) != len(wanted):
            return [f"{where}: {got} instead of {wanted}"]
        pairs = enumerate(zip(got, wanted, strict=True))
        return [line for n, pair in pairs for line in differences(*pair, f"{where}[{n}]", key)]
    if _same(got, wanted, exactly=key in COUNTS) or key == "serq_version":
        return []
    return [f"{where}: {got!r} instead of {wanted!r}"]


def _same(got: Any, wanted: Any, *, exactly: bool) -> bool:
    numbers = (int, float)
    if exactly or not (isinstance(got, numbers) and isinstance(wanted, numbers)):
        return bool(got == wanted)
    return abs(got - wanted) <= TOLERANCE * max(1.0, abs(got), abs(wanted))


def compare(case: Case, report: Report) -> list[str]:
    """Where a report differs from what the case expects; parts that it does not record are not compared."""
    parts = [part for part in ("report", "first_samples", "sample_info", "gauge_points") if part in case.expected]
    got = outcome(report)
    return [line for part in parts for line in differences(got[part], case.expected[part], part)]


def record(names: list[str]) -> None:
    """Write what our engine gives for these cases of the corpus as ours."""
    known = {case.name: case for case in cases("corpus")}
    (HERE / "ours").mkdir(exist_ok=True)
    for name in names:
        text = json.dumps(outcome(run(known[name], check=True)), indent=1)
        (HERE / "ours" / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    record(sys.argv[1:])
