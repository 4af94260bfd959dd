"""The JSON report: the oracle's keys, order and numbers."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from serq_lab.version import VERSION
from tests.report import hand_made, oracle


def order(document: Any) -> Any:
    """Keys in their order, all the way down."""
    if isinstance(document, dict):
        return [(key, order(value)) for key, value in document.items()]
    return [order(value) for value in document] if isinstance(document, list) else None


def leaves(document: Any) -> list[Any]:
    if isinstance(document, dict):
        document = list(document.values())
    if isinstance(document, list):
        return [leaf for part in document for leaf in leaves(part)]
    return [document]


def test_the_chapter() -> None:
    ours, theirs = oracle.chapter()
    got, wanted = json.loads(ours.to_json()), json.loads(theirs.json())
    assert got.pop("serq_version") == VERSION
    wanted.pop("serq_version")
    assert order(got) == order(wanted)
    for mine, reference in zip(leaves(got), leaves(wanted), strict=True):
        if isinstance(reference, float):
            assert mine == pytest.approx(reference, rel=1e-9)
        else:
            assert mine == reference
            assert type(mine) is type(reference)


def test_no_number_is_null_and_whole_ones_have_no_point() -> None:
    text = hand_made.report(
        observations={"x": hand_made.samples([2.0]), "y": hand_made.samples([0.5, math.inf])},
        gauges={"g": hand_made.changes((0, math.nan))},
        pools=[hand_made.pool("kv", 1)],
    ).to_json()
    document = json.loads(text, parse_constant=pytest.fail)
    assert document["observes"]["x"] == {"count": 1, "mean": 2, "ci": None, "cv2": None, "p99": 2}
    assert document["observes"]["y"]["mean"] is None
    assert document["gauges"]["g"] == {"mean": None, "ci": None, "min": None, "max": None}
    assert '"mean": 2,' in text
    assert document["pools"][0]["name"] == "kv"
    assert document["pools"][0]["index"] == 0
