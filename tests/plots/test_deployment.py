"""What a program is built of, and the way of a session."""

from __future__ import annotations

import pytest

import serq_lab
from serq_lab.plots import alt_text, draw_deployment
from serq_lab.plots.style import png
from serq_lab.plots.way import ARRIVE, END, Way, way_of
from tests.experiments.sweeping import PROGRAMS

BRANCHES = """
let N = 3;
pool kv[N] { cap 100; block 16; queue by (wanted); }
pool slots { cap 8; }
stage E[N] : ps(1);
stage net : fifo;
stage tool : delay;
stage spare : fifo(2);
workload { arrive poisson(0.5); }
session {
  set wanted = ~exp(3);
  run net (0.1);
  hold slots (1) {
    choose k in N by (queue(E[k]));
    hold kv[k] (wanted) {
      loop {
        run E[k] (~exp(1));
        branch with (0.5) { run tool (1); } else { branch with (0.5) { run net (0.2); } else { end; } }
      }
    }
  }
}
run { horizon 100; }
"""
KV, SLOTS = 0, 1
E, NET, TOOL = 0, 1, 2


def way(text: str) -> Way:
    return way_of(serq_lab.compile(text).model)


def test_branches_loops_and_nested_holds() -> None:
    found = way(BRANCHES)
    assert found.stages == [NET, E, TOOL]
    assert found.moves == {
        (ARRIVE, NET): set(),
        (NET, E): {KV, SLOTS},
        (E, TOOL): set(),
        (E, NET): set(),
        (E, END): set(),
        (TOOL, E): set(),
    }
    assert found.held == {SLOTS: {E, TOOL, NET}, KV: {E, TOOL, NET}}


def test_a_session_that_runs_nowhere() -> None:
    found = way("pool p { cap 1; } workload { arrive batch(1); } session { hold p (1) { } } run { horizon 1; }")
    assert found.moves == {(ARRIVE, END): {0}}
    assert found.held == {0: set()}


def test_nothing_behind_a_loop_is_reached() -> None:
    found = way("stage s : fifo; workload { arrive closed(1); } session { loop { run s (1); } } run { horizon 1; }")
    assert found.moves == {(ARRIVE, 0): set(), (0, 0): set()}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("01-queue", 'A session goes from arrive to "server"; from "server" to end.'),
        (
            "02-memory",
            'waiting for mem; from "server" to end. Pool "mem" (cap 10) held at "server".',
        ),
        ("03-sessions", 'from "engine" to "tool"; from "engine" to end; from "tool" to "engine".'),
        ("04-cache", 'from "tool" to "engine", waiting for kv. Pool "kv" (cap 200000) held at "engine".'),
    ],
)
def test_the_chapters(name: str, words: str) -> None:
    ax = draw_deployment(serq_lab.load(PROGRAMS / f"{name}.sq"))
    assert words in alt_text(ax)
    assert len(png(ax)) > 5000


def test_the_picture_names_everything() -> None:
    ax = draw_deployment(serq_lab.compile(BRANCHES))
    texts = [text.get_text() for text in ax.texts]
    assert {"arrive", "end", "kv[3]", "slots", "E[3]", "net", "tool"} <= set(texts)
    assert "cap 100\nblocks of 16\nqueue by key" in texts
    assert "waits for\nkv[3],\nslots" in texts
    assert ax.get_title(loc="left") == "not visited: spare"


def test_the_rules_of_a_pool_are_there_and_fit() -> None:
    program = serq_lab.compile("""
      pool kv { cap 100; block 16; admit via engine; preempt lifo; evict by (age);
                spill host via pcie (0.01 * size) when (size > 1); }
      pool host { cap 1000; }
      stage engine : step { budget 512; cost 0.01; }
      stage pcie : fifo;
      workload { arrive poisson(0.5); init { set n = ~exp(30); } }
      session { hold kv (n) { run engine prefill (n); } cache (n); end; }
      run { horizon 100; }
    """)
    ax = draw_deployment(program)
    rules = "cap 100, blocks of 16, admit via engine, evict by key, preempt lifo, spill to host, via pcie"
    assert rules in alt_text(ax)
    (bottom, top), (kv,) = ax.get_ylim(), [text for text in ax.texts if text.get_text() == "kv"]
    assert bottom < kv.get_position()[1] < top - 0.3
