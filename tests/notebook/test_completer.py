"""Completion in cells: what the grammar can go on with, and names where it wants one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

from serq_lab.notebook.completer import complete
from tests.notebook.programs import SMALL

HEAD = "let Cap = 3;\npool mem { cap Cap; }\nstage cpu : fifo;\nstage io[2] : delay;\ndef double(x) = 2 * x;\n"


def at_end(body: str, behind: str = "") -> set[str]:
    text = "%%serq\n" + body
    found = complete(text + behind, len(text))
    assert found is not None
    assert text.endswith(found.fragment)
    return {word for word, _ in found.words}


@pytest.mark.parametrize(
    ("body", "wanted", "unwanted"),
    [
        ("", {"let", "pool", "session", "run"}, {"hold", "cap", "serial"}),
        ("se", {"session", "server"}, {"let"}),
        ("pool p { ", {"cap", "evict", "queue", "spill"}, {"let", "hold"}),
        ("pool p { evict ", {"lru", "by"}, {"fifo"}),
        ("stage s : ", {"fifo", "ps", "delay", "step"}, {"lru"}),
        ("stage s : step { ", {"budget", "cost", "serve"}, {"cap"}),
        ("workload { ", {"arrive", "turn", "init", "trace"}, {"horizon"}),
        ("workload { arrive ", {"poisson", "renewal", "closed"}, {"fifo"}),
        ("run { ", {"horizon", "warmup", "seed", "arrivals"}, {"hold"}),
        (HEAD + "session { ", {"hold", "run", "observe", "branch", "double"}, {"mem", "Cap"}),
        (HEAD + "session { hold ", {"mem"}, {"cpu", "io", "Cap"}),
        (HEAD + "session { run ", {"cpu", "io"}, {"mem", "Cap"}),
        (HEAD + "session { run cpu (", {"Cap", "serial", "min", "queue", "used", "now", "double"}, {"hold"}),
        (HEAD + "session { set a = used(", {"mem"}, {"cpu", "Cap"}),
        (HEAD + "session { set a = queue(", {"cpu", "io"}, {"mem", "Cap"}),
        (HEAD + "session { set a = 1; observe x = ", {"a", "turn_no", "Cap"}, {"mem"}),
        (HEAD + "session { set a = ~", {"exp", "uniform", "bernoulli"}, {"Cap", "exponential"}),
        (HEAD + "session { hold mem (1) { } ", {"cache", "lease", "run"}, {"else"}),
        ("let ", set(), {"let", "now"}),
    ],
)
def test_what_can_stand_there(body: str, wanted: set[str], unwanted: set[str]) -> None:
    found = at_end(body)
    assert wanted <= found
    assert not unwanted & found


def test_names_further_down_count_too() -> None:
    assert "Later" in at_end("pool mem { cap ", "; }\nlet Later = 2;\n")


def test_nothing_in_comments() -> None:
    assert at_end("let a = 1; // a com") == set()
    assert at_end("let a = 1; /* a com") == set()


def test_options_in_the_line() -> None:
    text = "%%serq mem --"
    found = complete(text + "\n" + SMALL, len(text))
    assert found is not None
    assert {"--set", "--seed", "--explore", "--check", "--quiet"} <= {word for word, _ in found.words}
    for option in ("--set ", "--explore ", "--explore C,"):
        line = f"%%serq {option}"
        lets = complete(line + "\n" + SMALL, len(line))
        assert lets is not None
        assert [word for word, _ in lets.words] == ["C", "Wait", "Unused"]


@pytest.mark.parametrize("text", ["", "import ", "%%bash\nlet ", "%serq file.sq\nimport ", "x = '%%serq'\nle"])
def test_other_cells_are_left_to_python(text: str) -> None:
    assert complete(text, len(text)) is None


@given(st.text(alphabet='let pool { } ( ) ; : = ~ " / * \n a 1 session run', max_size=60), st.data())
def test_no_text_breaks_it(body: str, data: st.DataObject) -> None:
    text = "%%serq\n" + body
    offset = data.draw(st.integers(0, len(text)))
    found = complete(text, offset)
    assert found is not None
    assert text[:offset].endswith(found.fragment)
    assert all(word.startswith(found.fragment) for word, _ in found.words)


def test_through_ipython_without_a_word_of_python(shell: InteractiveShell) -> None:
    text = "%%serq\n" + HEAD + "session { hold "
    with provisionalcompleter():
        assert [each.text for each in shell.Completer.completions(text, len(text))] == ["mem"]
        names = {each.text for each in shell.Completer.completions("impo", 4)}
    assert "import" in names
