"""Lowered programs: one serves any number of runs at once, and says where a run failed."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

import serq_lab
from serq_lab.kernel.records import FailureKind
from serq_lab.lowering.lower import lower

PROGRAM = """
let Rate = 0.8;
let Cap = 6;
let Mean = 1 / Rate * 0.9;
pool memory { cap Cap; }
stage desk[2] : fifo;
workload { arrive poisson(Rate); }
session {
  set need = floor(~uniform(1, Cap));
  choose i in 2 by (queue(desk[i]), i);
  hold memory (need) { run desk[i] (~exp(Mean)); }
  observe done = now * Rate;
}
gauge level = used(memory) / Cap;
run { horizon 600 * Rate; seed 4; }
"""


def test_a_program_is_lowered_once_and_run_in_parallel_with_other_lets() -> None:
    program = serq_lab.compile(PROGRAM)
    lowered = program.lowered()
    settings = [{"Rate": 0.5 + k / 20, "Cap": 4 + k} for k in range(8)] * 2
    alone = [serq_lab.compile(PROGRAM).run(lets).to_json() for lets in settings[:8]]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda lets: program.run(lets).to_json(), settings))
    assert together == alone * 2
    assert len(set(together)) == 8
    assert program.lowered() is lowered


def test_a_run_changes_nothing_of_the_program() -> None:
    program = serq_lab.compile(PROGRAM)
    lowered = program.lowered()
    before = [table.tobytes() for table in lowered.tables if table is not None]
    image = lowered.setup(program.model.constants).image.words.copy()
    program.run()
    assert [table.tobytes() for table in lowered.tables if table is not None] == before
    assert lowered.setup(program.model.constants).image.words.tobytes() == image.tobytes()


@pytest.mark.parametrize(
    ("session", "kind", "place"),
    [
        ("set x = ~exp(1 - serial);", FailureKind.PARAMETER, "1 - serial"),
        ("observe x = ~uniform(0, 1 / (2 - serial));", FailureKind.PARAMETER, "1 / (2 - serial)"),
        ("branch (serial / 2) { end; }", FailureKind.GUARD, "serial / 2"),
        ("branch (0 * serial / 0) { end; }", FailureKind.GUARD, "0 * serial / 0"),
        ("run desk[serial] (1);", FailureKind.INDEX, "desk[serial]"),
        ("set x = queue(desk[serial - 3]);", FailureKind.INDEX, "desk[serial - 3]"),
        ("hold row[serial] (1) { }", FailureKind.INDEX, "row[serial]"),
        ("hold row[0] (~exp(-serial)) { }", FailureKind.PARAMETER, "-serial"),
        ("hold row[0] (1) { grow row[serial] (1); }", FailureKind.GROW_OUTSIDE, "grow row[serial] (1);"),
        ("choose j in 1e7 * (1 + serial) by (j);", FailureKind.CHOICE, "1e7 * (1 + serial)"),
        ("choose j in 3 by (~det(0 / (j - 1)));", FailureKind.PARAMETER, "0 / (j - 1)"),
        ("drop row[serial + 1];", FailureKind.INDEX, "row[serial + 1]"),
        ("run desk[0] (~erlang(2, 0 - serial));", FailureKind.PARAMETER, "0 - serial"),
        ("loop { branch (serial < 0) { end; } }", FailureKind.NO_PROGRESS, "loop { branch (serial < 0) { end; } }"),
        ("loop { hold row[0] (1) { } }", FailureKind.NO_PROGRESS, "hold row[0] (1) { }"),
        ("loop { branch (serial < 0) { end; } drop row[0]; }", FailureKind.NO_PROGRESS, "drop row[0];"),
    ],
)
def test_where_a_run_failed(session: str, kind: FailureKind, place: str) -> None:
    text = f"""
      pool row[2] {{ cap 5; }} stage desk[2] : fifo; stage nap : delay;
      workload {{ arrive renewal(1); }}
      session {{ run nap (0.5); {session} run nap (1); }}
      run {{ horizon 20; }}
    """
    with pytest.raises(serq_lab.RunError) as caught:
        serq_lab.compile(text).run()
    (fault,) = caught.value.diagnostics
    assert fault.code == "run-" + kind.name.lower().replace("_", "-")
    assert fault.span is not None
    assert fault.span.text == place
    assert ", in session " in fault.message


@pytest.mark.parametrize("body", ["hold mem (1 / 0) { run nap (1); }", "hold mem (1) { grow mem (1 / 0); }"])
def test_infinitely_many_units_stop_the_run(body: str) -> None:
    """A pool without a cap has room for them, and what is left when they come back is no number."""
    text = f"""
      pool mem {{ }} stage nap : delay; workload {{ arrive batch(1); }} session {{ {body} run nap (1); }}
      run {{ horizon 9; }}
    """
    with pytest.raises(serq_lab.RunError, match="without a cap for infinitely many units") as caught:
        serq_lab.compile(text).run()
    (fault,) = caught.value.diagnostics
    assert fault.code == "run-endless-units"
    assert fault.span is not None
    assert fault.span.text == body


def test_the_same_text_lowers_to_the_same_tables() -> None:
    models = [serq_lab.compile(PROGRAM).model for _ in range(2)]
    first, second = (lower(model) for model in models)
    assert [span.text for span in first.spans] == [span.text for span in second.spans]
    assert first.tables.ops.tobytes() == second.tables.ops.tobytes()


def test_all_lets_are_read_when_a_run_starts() -> None:
    """A let that follows from another is as good as one that is given."""
    program = serq_lab.compile(PROGRAM)
    report = json.loads(program.run({"Rate": 2}).to_json())
    assert report["horizon"] == 1200
    given = json.loads(program.run({"Rate": 2, "Mean": "0.45"}).to_json())
    assert given["observes"] == report["observes"]
