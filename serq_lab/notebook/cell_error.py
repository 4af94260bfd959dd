"""How mistakes look in a notebook: a cell fails with the caret text, or one line, and no Python frames.

`ProgramError` and `RunError` do this by themselves (`diagnostics/errors.py`); here stand the two ways to fail that
only a notebook has. Raised by `magic.py`.
"""

from __future__ import annotations

import shlex
from collections import Counter
from html import escape

import click

from serq_lab.diagnostics.errors import ProgramError, RunError

REPEATABLE = ("--set",)


class UsageError(ValueError):
    """The line of ``%serq`` or ``%%serq``, or what `explore` was given, is wrong: one sentence."""

    def _render_traceback_(self) -> list[str]:
        # IPython shows these lines in place of a traceback.
        return [f"error: {self}"]


class InterruptedRun(KeyboardInterrupt):
    """The run was interrupted by whoever started it."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def words(line: str) -> list[str]:
    """The words of a magic's line; quotes hold blanks together."""
    try:
        return shlex.split(line)
    except ValueError:
        raise UsageError(f"a quotation mark is not closed in `{line.strip()}`") from None


def refuse_repeated(given: list[str]) -> None:
    """An option given twice is a mistake: which of the two was meant?"""
    options = [word.partition("=")[0] for word in given if word.startswith("--")]
    for option, count in Counter(options).items():
        if count > 1 and option not in REPEATABLE:
            raise UsageError(f"`{option}` is given {'twice' if count == 2 else f'{count} times'}")


def usage_error(fault: click.ClickException) -> UsageError:
    """What click found wrong with the options, as one line."""
    return UsageError(" ".join(fault.format_message().split()))


def error_html(error: ProgramError | RunError) -> str:
    """The caret text of an error for a panel: as in a cell, set off by a bar and the word "error" itself."""
    return f'<pre class="serq-error" role="alert">{escape(str(error))}</pre>'
