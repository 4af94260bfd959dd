"""The engine's Python, run as it stands, gives the records of the native engine: the same report, bit for bit."""

from __future__ import annotations

import json

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import serq_lab
from tests.kernel.programs import programs
from tests.kernel.running import python
from tests.parity.cases import cases, outcome, run

RUN_ALL = """
import json
from tests.parity.cases import cases, outcome, run

print(json.dumps({case.name: outcome(run(case)) for case in cases("corpus")}))
"""


def test_plain_python_gives_the_same_reports() -> None:
    corpus = cases("corpus")
    done = python(RUN_ALL, SERQ_LAB_JIT="0")
    assert done.returncode == 0, done.stderr
    plain = json.loads(done.stdout)
    assert list(plain) == [case.name for case in corpus]
    for case in corpus:
        assert plain[case.name] == json.loads(json.dumps(outcome(run(case)))), case.name


RUN_TEXTS = """
import json, sys, serq_lab
print(json.dumps([serq_lab.compile(text).run(horizon=6).to_json() for text in json.load(sys.stdin)]))
"""


@settings(max_examples=2, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(st.lists(programs(), min_size=8, max_size=8))
def test_plain_python_runs_random_programs_the_same(texts: list[str]) -> None:
    done = python(RUN_TEXTS, stdin=json.dumps(texts), SERQ_LAB_JIT="0")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [serq_lab.compile(text).run(horizon=6).to_json() for text in texts]


def test_plain_python_compiles_nothing() -> None:
    code = """
import sys, serq_lab
report = serq_lab.load("tutorial/programs/02-memory.sq").run(horizon=200, warmup=10, check=True)
print(report.events)
"""
    done = python(code, SERQ_LAB_JIT="0", XDG_CACHE_HOME="/nowhere")
    assert done.stderr == ""
    assert int(done.stdout) > 200
