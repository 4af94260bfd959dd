"""Every exercise is solved by right answers, and refuses wrong ones with a hint that fits."""

from __future__ import annotations

import pytest

from serq_lab.exercises import check
from serq_lab.exercises.checking import EXERCISES, NUMBERS
from tests.exercises.answers import RIGHT, WRONG, Answer

SOLVED = [(name, answer) for name, answers in RIGHT.items() for answer in answers]
REFUSED = [(name, answer, hint) for name, answers in WRONG.items() for answer, hint in answers]


def test_every_exercise_has_answers() -> None:
    assert set(RIGHT) == set(WRONG) == set(EXERCISES)
    assert min(len(answers) for answers in WRONG.values()) >= 2


@pytest.mark.parametrize(("name", "answer"), SOLVED, ids=[name for name, _ in SOLVED])
def test_right(name: str, answer: Answer, capsys: pytest.CaptureFixture[str]) -> None:
    verdict = check(name, answer)
    assert capsys.readouterr().out == f"{name}: right\n"
    assert verdict
    assert verdict.hint == ""


@pytest.mark.parametrize(("name", "answer", "hint"), REFUSED, ids=[f"{name}: {hint}" for name, _, hint in REFUSED])
def test_wrong(name: str, answer: Answer, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    verdict = check(name, answer)
    assert not verdict
    assert verdict.hint.startswith("not yet: ")
    assert hint in verdict.hint
    assert capsys.readouterr().out == f"{name}: {verdict.hint}\n"


@pytest.mark.parametrize("name", EXERCISES)
def test_no_answer_and_one_of_another_kind(name: str) -> None:
    asked, other = ("a number", "a program") if name in NUMBERS else ("a program", "a number")
    assert check(name, None).hint == f"no answer yet: it is {asked}"
    wrong: Answer = "session { }" if name in NUMBERS else 3.0
    assert check(name, wrong).hint == f"the answer is {asked}, and {other} was given"


@pytest.mark.parametrize(
    ("name", "answer", "hint"),
    [
        ("02-memory/1", float("nan"), "nan is none"),
        ("02-memory/1", True, "True was given"),
        ("02-memory/2", "pool mem { cap 6; }", "refused: the run has no horizon"),
        ("02-memory/2", "session { run desk (1); }\nrun { horizon 9; }", 'no stage "desk" (line 1)'),
    ],
)
def test_what_is_no_answer(name: str, answer: Answer, hint: str) -> None:
    assert hint in check(name, answer).hint


def test_an_unknown_exercise_is_named() -> None:
    with pytest.raises(ValueError, match='no exercise "02-memry/1": did you mean "02-memory/1"'):
        check("02-memry/1", 8)
