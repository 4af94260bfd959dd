"""The printed report: the chapter's block, and what stands in odd cells."""

from __future__ import annotations

import math

import pytest

from serq_lab.report.text import decimal, shortest, table
from tests.report import hand_made, oracle


def test_the_chapter_character_for_character() -> None:
    report, _ = oracle.chapter()
    assert report.to_text() == oracle.BLOCK
    assert str(report) == oracle.BLOCK


def test_a_longer_sign_keeps_the_columns_aligned() -> None:
    text = hand_made.report(observations={"x": hand_made.samples(range(40))}).to_text(plus_minus="+/-")
    header, rule, row = text.split("\n\n")[1].splitlines()
    assert "+/-" in row
    assert len(header) == len(rule) == len(row)


def test_every_table_and_its_members() -> None:
    report = hand_made.report(
        observations={"none": hand_made.samples([])},
        gauges={"level": hand_made.changes((0, 1), (5, 2))},
        stages=[hand_made.stage("link", 2), hand_made.stage("eng", kind="step")],
        pools=[hand_made.pool("kv", 2)],
        stage_rows=hand_made.stage_records(
            3,
            decode_iterations=[0, 0, 4],
            decode_sum=[0, 0, 6],
            decode_time_sum=[0, 0, 1],
            mixed_time=[0, 0, 5],
            gap_count=[0, 0, 2],
            gap_sum=[0, 0, 0.5],
        ),
    )
    assert report.to_text(notes=False) == (
        "run: horizon 10 end 10 warmup 0 seed 1 events 0 arrivals 0 ended 0 turns 0 mean live 0.000\n"
        "\n"
        "observe  count  mean  95% CI  cv2  p99\n"
        "-------  -----  ----  ------  ---  ---\n"
        "none         0   NaN    ±inf  NaN  NaN\n"
        "\n"
        "gauge    mean   95% CI     min     max\n"
        "-----  ------  -------  ------  ------\n"
        "level  1.5000  ±0.2401  1.0000  2.0000\n"
        "\n"
        "stage    number   util  done    thru  wait  service  iters\n"
        "-------  ------  -----  ----  ------  ----  -------  -----\n"
        "link[0]   0.000  0.000     0  0.0000   NaN      NaN      0\n"
        "link[1]   0.000  0.000     0  0.0000   NaN      NaN      0\n"
        "eng       0.000  0.000     0  0.0000   NaN      NaN      0\n"
        "\n"
        "step  prefill  decode  mixed  decodes  batch  duration     gap  gap p50  gap p99\n"
        "----  -------  ------  -----  -------  -----  --------  ------  -------  -------\n"
        "eng     0.000   0.000  0.500    0.000  1.500    0.2500  0.2500      NaN      NaN\n"
        "\n"
        "pool   used  cached  queue  holders  wait  admits  evict(n)  evict(u)  preempt  spill  rej  stuck\n"
        "-----  ----  ------  -----  -------  ----  ------  --------  --------  -------  -----  ---  -----\n"
        "kv[0]   0.0     0.0  0.000    0.000   NaN       0         0         0        0      0    0      0\n"
        "kv[1]   0.0     0.0  0.000    0.000   NaN       0         0         0        0      0    0      0"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (100000.0, "100000"),
        (0.0, "0"),
        (-0.0, "0"),
        (2.5, "2.5"),
        (0.1 + 0.2, "0.30000000000000004"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (math.nan, "NaN"),
        (1e300, "1e+300"),
    ],
)
def test_shortest(value: float, text: str) -> None:
    assert shortest(value) == text


@pytest.mark.parametrize(
    ("value", "places", "text"),
    [
        (1.00005, 4, "1.0001"),
        (-0.00001, 4, "0.0000"),
        (-0.0, 3, "0.000"),
        (-1.5, 1, "-1.5"),
        (math.nan, 4, "NaN"),
        (-math.inf, 4, "-inf"),
        (12345.678, 0, "12346"),
    ],
)
def test_decimal(value: float, places: int, text: str) -> None:
    assert decimal(value, places) == text


def test_table_without_rows_is_nothing() -> None:
    assert table(("observe", "count"), []) == ""
