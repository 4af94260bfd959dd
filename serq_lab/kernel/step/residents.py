"""The jobs at a step stage: residents in order of admission, and those with tokens in the present iteration.

Used by `stages.py`, where jobs come and go, and by `planning.py` and `iteration.py`, which give tokens.
"""

from __future__ import annotations

from serq_lab.kernel.storage.memory import Row, inlined, kernel
from serq_lab.kernel.storage.state import session_at, stage_at


@inlined
def comes_later(run: Row, s: int, other: int) -> bool:
    """Whether a session was admitted later than another; one never admitted comes after all that were."""
    admission = session_at(run, s).admission
    before = session_at(run, other).admission
    return admission < 0 or (before >= 0 and before < admission)


@kernel
def join_residents(run: Row, s: int, i: int) -> None:
    """A job comes to a step stage."""
    stage, session = stage_at(run, i), session_at(run, s)
    session.started_at = run.now
    session.is_taken, session.scheduled = 0, 0.0
    before = stage.resident_tail
    while before >= 0 and not comes_later(run, s, before):
        before = session_at(run, before).resident_previous
    after = stage.resident_head if before < 0 else session_at(run, before).resident_next
    session.resident_previous, session.resident_next = before, after
    if before < 0:
        stage.resident_head = s
    else:
        session_at(run, before).resident_next = s
    stage.first_untaken = stage.resident_head  # the next to be taken may stand before it
    if after < 0:
        stage.resident_tail = s
    else:
        session_at(run, after).resident_previous = s


@kernel
def leave_residents(run: Row, s: int, i: int) -> None:
    """A job is at a step stage no more; the tokens of an iteration that is being planned go back to the budget."""
    stage, session = stage_at(run, i), session_at(run, s)
    if session.scheduled > 0.0:
        if stage.is_planning:
            stage.left += session.scheduled
        unschedule(run, s, i)
    if stage.first_untaken == s:
        stage.first_untaken = session.resident_next
    if session.resident_previous < 0:
        stage.resident_head = session.resident_next
    else:
        session_at(run, session.resident_previous).resident_next = session.resident_next
    if session.resident_next < 0:
        stage.resident_tail = session.resident_previous
    else:
        session_at(run, session.resident_next).resident_previous = session.resident_previous


@inlined
def schedule_tokens(run: Row, s: int, i: int, tokens: float) -> None:
    """A resident gets tokens in the iteration that is being planned."""
    stage, session = stage_at(run, i), session_at(run, s)
    session.scheduled, session.scheduled_next = tokens, -1
    if stage.scheduled_head < 0:
        stage.scheduled_head = s
    else:
        session_at(run, stage.scheduled_tail).scheduled_next = s
    stage.scheduled_tail = s
    stage.n_scheduled += 1
    stage.left -= tokens


@kernel
def unschedule(run: Row, s: int, i: int) -> None:
    """A resident has no tokens in the iteration any more."""
    stage, session = stage_at(run, i), session_at(run, s)
    before, at = -1, stage.scheduled_head
    while at != s:
        before, at = at, session_at(run, at).scheduled_next
    if before < 0:
        stage.scheduled_head = session.scheduled_next
    else:
        session_at(run, before).scheduled_next = session.scheduled_next
    if stage.scheduled_tail == s:
        stage.scheduled_tail = before
    session.scheduled = 0.0
    stage.n_scheduled -= 1
