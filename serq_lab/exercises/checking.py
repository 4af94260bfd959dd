"""Whether an answer to an exercise is right: it is run, and what it shows is judged.

In comes the name of an exercise with an answer; out go a printed line and a `Verdict`. No answer stands in the sources:
a right one is known by what its run gives beside that of the chapter's program. Next: the judges, a file for two
chapters each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Union

from serq_lab.diagnostics.catalogue import did_you_mean
from serq_lab.diagnostics.errors import ProgramError, RunError
from serq_lab.exercises import conversations, engine, queueing
from serq_lab.exercises.judging import WrongAnswerError
from serq_lab.pipeline import Program, compile

Answer = Union[Program, str, float, None]
NumberJudge = Callable[[float], None]
ProgramJudge = Callable[[Program], None]

NUMBERS: dict[str, NumberJudge] = {
    "00-start/1": queueing.response_at_half,
    "00-start/2": queueing.highest_rate,
    "01-a-queue/1": queueing.rate_for_four_seconds,
    "02-memory/1": queueing.smallest_memory,
    "03-sessions/1": conversations.again_for_ten_turns,
    "03-sessions/2": conversations.live_with_slow_tool,
    "04-the-prefix-cache/1": conversations.capacity_for_nine_in_ten,
    "05-the-engine/1": engine.first_token_of_long_prompt,
    "05-the-engine/2": engine.blocks_without_preemption,
    "06-the-cliff/1": engine.load_below_the_cliff,
    "06-the-cliff/2": engine.blocks_without_stuck,
}
PROGRAMS: dict[str, ProgramJudge] = {
    "00-start/3": queueing.second_gpu,
    "01-a-queue/2": queueing.constant_service,
    "01-a-queue/3": queueing.two_slow_servers,
    "02-memory/2": queueing.shorter_wait_by_order,
    "02-memory/3": queueing.request_slots,
    "03-sessions/3": conversations.short_contexts,
    "04-the-prefix-cache/2": conversations.block_by_block,
    "04-the-prefix-cache/3": conversations.better_order,
    "05-the-engine/3": engine.time_of_writing,
    "06-the-cliff/3": engine.fewer_alive,
}
EXERCISES = tuple(sorted([*NUMBERS, *PROGRAMS]))


@dataclass(frozen=True)
class Verdict:
    """What was found; true if the answer is right.

    Attributes
    ----------
    exercise : str
    right : bool
    hint : str
        One sentence, empty for a right answer.
    """

    exercise: str
    right: bool
    hint: str = ""

    def __bool__(self) -> bool:
        return self.right

    def __str__(self) -> str:
        return f"{self.exercise}: right" if self.right else f"{self.exercise}: {self.hint}"

    def _ipython_display_(self) -> None:
        """Nothing below a cell: the line is printed already."""


def check(exercise: str, answer: Answer) -> Verdict:
    """Check an answer to an exercise, print what was found in one line, and return it.

    Parameters
    ----------
    exercise : str
        ``"02-memory/1"``: the chapter, and the number of the exercise in it.
    answer : Program, str, number or None
        A program, the text of one, or a number, as the exercise asks; None while there is none.

    Raises
    ------
    ValueError
        There is no such exercise.
    """
    if exercise not in EXERCISES:
        hint = did_you_mean(exercise, EXERCISES) or f"they are {', '.join(EXERCISES)}"
        raise ValueError(f'there is no exercise "{exercise}": {hint}')
    hint = _hint(exercise, answer)
    verdict = Verdict(exercise, not hint, hint)
    print(verdict)
    return verdict


def _hint(exercise: str, answer: Answer) -> str:
    """What to tell about an answer; empty if it is right."""
    asked = "a number" if exercise in NUMBERS else "a program"
    is_number = isinstance(answer, Real) and not isinstance(answer, bool)
    if answer is None:
        return f"no answer yet: it is {asked}"
    if is_number != (exercise in NUMBERS) or not (is_number or isinstance(answer, (Program, str))):
        given = "a number" if is_number else "a program" if isinstance(answer, (Program, str)) else repr(answer)
        return f"the answer is {asked}, and {given} was given"
    try:
        if isinstance(answer, (Program, str)):
            PROGRAMS[exercise](compile(answer, name="your answer") if isinstance(answer, str) else answer)
        elif math.isfinite(answer):
            NUMBERS[exercise](float(answer))
        else:
            return f"the answer is a number, and {answer} is none"
    except WrongAnswerError as wrong:
        return f"not yet: {wrong}"
    except (ProgramError, RunError) as error:
        fault = error.diagnostics[0]
        place = f" (line {fault.span.line})" if fault.span is not None else ""
        return f"the program is refused: {fault.message}{place}"
    return ""
