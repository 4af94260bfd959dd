"""Trace files: recorded sessions, row by row, for the workload to follow (`LANGUAGE.md` section 10, last paragraph).

In comes a path, out go arrays that `kernel/traces.py` reads; a file that is no trace raises a `ProgramError` that says
which line is wrong. Used by `pipeline.py` and `lower.py`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from serq_lab.diagnostics.catalogue import quoted
from serq_lab.diagnostics.diagnostic import Diagnostic
from serq_lab.diagnostics.errors import ProgramError
from serq_lab.kernel.draws.streams import SIGMA, key_of
from serq_lab.kernel.storage.state import N_TRACE_WORDS, TRACE_ROW, TRACE_SESSION
from serq_lab.kernel.traces import READ_AT, STATE_AT, WORDS_OF_BLOCK
from serq_lab.source import Span

CHOICE_SALT = 0x6A09E667F3BCC908
FIELDS = ("session", "turn", "new", "out", "think", "forced")
LEAST_FIELDS = 5  # `forced` may be missing


class Trace(NamedTuple):
    """The rows of a trace, and which of them make a session; arrays of TRACE_ROW and TRACE_SESSION."""

    rows: NDArray[np.void]
    sessions: NDArray[np.void]


NO_TRACE = Trace(np.zeros(0, dtype=TRACE_ROW), np.zeros(0, dtype=TRACE_SESSION))


def choice_words(seed: int) -> NDArray[np.int64]:
    """What the choice of trace sessions starts from; shape (33,)."""
    words = np.zeros(N_TRACE_WORDS, dtype=np.int64)
    words[STATE_AT : STATE_AT + 12] = [*SIGMA, *key_of(seed ^ CHOICE_SALT)]
    words[READ_AT] = WORDS_OF_BLOCK
    return words


def read_trace(path: str | os.PathLike[str], span: Span | None) -> Trace:
    """Read a trace file.

    Parameters
    ----------
    path : path
    span : Span, optional
        Where the program names it, for messages.

    Raises
    ------
    ProgramError
        The file cannot be read, a line of it is no row, or it has no rows.
    """
    name = os.fspath(path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise _fault(f'there is no trace file "{name}"', span, "paths are relative to the program's file") from None
    except UnicodeDecodeError:
        raise _fault(f'the trace file "{name}" is not text', span, "save it as CSV in UTF-8") from None
    except (OSError, ValueError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) and fault.strerror else str(fault)
        raise _fault(f'the trace file "{name}" cannot be read: {reason.lower()}', span, None) from None
    return _trace_of(name, text, span)


def _trace_of(name: str, text: str, span: Span | None) -> Trace:
    rows: list[tuple[float, ...]] = []
    sessions: list[list[int]] = []
    before: float | None = None
    for number, line in _lines_with_rows(text):
        session, _, new, out, think, forced = _row(name, number, line, span)
        if session != before:
            sessions.append([len(rows), len(rows)])
            before = session
        rows.append((new, out, think, forced))
        sessions[-1][1] = len(rows)
    if not rows:
        raise _fault(f'the trace file "{name}" has no rows', span, f"a row is `{','.join(FIELDS[:LEAST_FIELDS])}`")
    return Trace(
        np.array(rows, dtype=TRACE_ROW), np.array([tuple(session) for session in sessions], dtype=TRACE_SESSION)
    )


def _lines_with_rows(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped and not stripped.startswith(("#", FIELDS[0])):
            yield number, stripped


def _row(name: str, number: int, line: str, span: Span | None) -> tuple[float, ...]:
    """The six numbers of a line; a missing `forced` is 0."""
    cells = [cell.strip() for cell in line.split(",")]
    where = f'line {number} of the trace file "{name}"'
    if not LEAST_FIELDS <= len(cells) <= len(FIELDS):
        message = f"{where} has {len(cells)} fields, not {LEAST_FIELDS} or {len(FIELDS)}: {quoted(line)}"
        raise _fault(message, span, f"a row is `{','.join(FIELDS[:LEAST_FIELDS])}` or with `,forced`")
    values = [0.0] * len(FIELDS)
    for k, cell in enumerate(cells):
        try:
            values[k] = float(cell)
        except ValueError:
            values[k] = math.nan
        if math.isnan(values[k]):
            raise _fault(f"{where} has {quoted(cell)} as {quoted(FIELDS[k])}, which is no number", span, None)
    return tuple(values)


def _fault(message: str, span: Span | None, hint: str | None) -> ProgramError:
    return ProgramError([Diagnostic("trace", message, span, hint=hint)])
