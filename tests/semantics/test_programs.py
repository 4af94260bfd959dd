"""Every program of the corpus checks; every bad one is refused at its place."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from serq_lab.diagnostics.diagnostic import Diagnostic
from serq_lab.diagnostics.errors import ProgramError
from serq_lab.semantics.checker import check
from serq_lab.semantics.model import Model
from serq_lab.source import SourceText
from serq_lab.syntax.parser import parse

PARITY = Path(__file__).parents[1] / "parity"
GOOD = sorted([*(PARITY / "corpus").glob("*.sq"), *(PARITY / "random").glob("*.sq")])
BAD: dict[str, dict[str, Any]] = json.loads((PARITY / "bad" / "bad.json").read_text(encoding="utf-8"))

PLACES = {
    "link_let_attribute_clash": (3, 15),
    "link_let_context_clash": (1, 5),
    "link_let_nan": (1, 9),
    "link_set_unknown_constant": None,
    "link_cap_nan": (1, 14),
    "link_block_zero": (1, 23),
    "link_fifo_servers": (1, 16),
    "link_context_in_session": (3, 19),
    "link_context_in_evict": (1, 27),
    "link_queue_key_draw": (1, 27),
    "link_mode_missing": (3, 11),
    "link_mode_on_fifo": (3, 11),
    "link_hidden_in_units": (3, 19),
    "link_guard_fraction": (2, 19),
    "link_guard_two": (2, 19),
    "link_set_before_hold": (3, 39),
    "link_reuse_without_cache": (3, 29),
    "link_array_without_index": (3, 15),
    "link_init_statement": (2, 36),
    "link_no_horizon": (2, 16),
    "link_warmup_horizon": (3, 26),
    "link_arrivals_closed": (3, 19),
    "link_renewal_state": (1, 27),
    "link_share_missing": (4, 11),
    "link_flow_on_fifo": (5, 11),
    "link_gauge_now": (4, 11),
    "link_gauge_attribute": (4, 11),
    "run_growing_outside": (4, 11),
    "run_grow_outside": (4, 11),
    "run_renewal_zero": (2, 27),
    "accepted_cap_negative": (1, 14),
    "accepted_admit_via_fifo": (1, 27),
    "accepted_exp_negative": (3, 23),
    "accepted_bernoulli_two": (3, 24),
    "accepted_let_twice": (2, 5),
    "accepted_option_twice": (1, 17),
    "accepted_after_end": (3, 16),
    "accepted_negative_cost": (1, 33),
    "accepted_session_attribute_in_cost": (1, 37),
}
"""Line and column of the fault where the reference names none; None where it has no place in the program."""

CRASHES = {
    "batch_infinite": (2, 25),
    "poisson_negative": (2, 27),
    "loop_empty": (3, 11),
    "choose_huge": (3, 23),
}
"""Inputs that hang or kill the reference, and that are refused before they run."""


def model_of(path: Path, overrides: dict[str, Any]) -> Model:
    source = SourceText(path.read_bytes().decode("utf-8"), str(path))
    numbers = {name: overrides[name] for name in ("horizon", "warmup", "seed", "arrivals") if name in overrides}
    return check(
        parse(source),
        source,
        overrides=overrides.get("sets", {}),
        definitions=overrides.get("defs", {}),
        **numbers,
    )


def place_of(path: Path, overrides: dict[str, Any]) -> tuple[int, int] | None:
    with pytest.raises(ProgramError) as caught:
        model_of(path, overrides)
    first = caught.value.diagnostics[0]
    return None if first.span is None else (first.span.line, first.span.column)


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_good_programs_check(path: Path) -> None:
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    model = model_of(path, expected.get("overrides", {}))
    report = expected["report"]
    assert list(model.observations) == list(report["observes"])
    assert [gauge.name for gauge in model.gauges] == list(report["gauges"])
    for rows, families in (("stages", model.stages), ("pools", model.pools)):
        members = [
            (family.name, None if family.size is None else member)
            for family in families
            for member in range(family.n_members)
        ]
        assert members == [(row["name"], row["index"]) for row in report[rows]]
    assert model.constants.horizon == report["horizon"]
    assert model.constants.warmup == report["warmup"]
    assert model.constants.seed == report["seed"]


TEXTS = [path.read_bytes().decode("utf-8") for path in GOOD]
PIECES = [re.findall(r"//[^\n]*\n|\s+|\w+|[^\w\s]", text) for text in TEXTS]
WORDS = sorted({piece for pieces in PIECES for piece in pieces if piece.isidentifier()})


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.sampled_from(PIECES), st.data())
def test_a_program_with_a_wrong_word_is_refused_or_checks(pieces: list[str], data: st.DataObject) -> None:
    places = [place for place, piece in enumerate(pieces) if piece.isidentifier()]
    broken = list(pieces)
    for place in data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=3)):
        broken[place] = data.draw(st.sampled_from(WORDS))
    source = SourceText("".join(broken), str(PARITY / "corpus" / "broken.sq"))
    try:
        check(parse(source), source)
        found: tuple[Diagnostic, ...] = ()
    except ProgramError as error:
        found = error.diagnostics
    assert all(each.message and each.severity == "error" for each in found)


def refused() -> list[str]:
    return [name for name, entry in BAD.items() if entry["phase"] in ("parse", "link") or name in PLACES]


@pytest.mark.parametrize("name", refused())
def test_bad_programs_are_refused_at_their_place(name: str) -> None:
    entry = BAD[name]
    wanted = PLACES[name] if entry["line"] is None else (entry["line"], entry["column"])
    assert place_of(PARITY / "bad" / f"{name}.sq", entry.get("overrides", {})) == wanted


@pytest.mark.parametrize("name", [name for name in BAD if name not in refused()])
def test_what_only_a_run_can_find_checks(name: str) -> None:
    model_of(PARITY / "bad" / f"{name}.sq", BAD[name].get("overrides", {}))


@pytest.mark.parametrize("name", list(CRASHES))
def test_what_kills_the_reference_is_refused_where_it_is_sure(name: str) -> None:
    assert place_of(PARITY / "bad" / "crash" / f"{name}.sq", {}) == CRASHES[name]
