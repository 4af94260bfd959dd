"""What the subcommands of ``serq`` print, and their exit codes.

In come texts and faults, out goes output. What a `%%serq` cell shares with them is in `usage.py`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

import click

if TYPE_CHECKING:
    from serq_lab.diagnostics.diagnostic import Diagnostic

FINE, WRONG, OURS, INTERRUPTED = 0, 1, 3, 130
"""Exit codes; that of wrong usage, 2, is click's."""


def show(diagnostics: Sequence[Diagnostic]) -> None:
    """Faults or warnings as caret text on stderr."""
    from serq_lab.diagnostics.render import render

    if diagnostics:
        write(render(diagnostics, encoding=sys.stderr.encoding or "ascii"), sys.stderr)


def plus_minus(stream: TextIO) -> str:
    """The sign as far as the stream can print it."""
    try:
        "±".encode(stream.encoding or "ascii")
    except UnicodeEncodeError:
        return "+/-"
    return "±"


def write(text: str, stream: TextIO, end: str = "\n") -> None:
    """Print; a reader that has gone away, as in ``serq run FILE | head``, is no fault."""
    try:
        print(text, end=end, file=stream, flush=True)
    except OSError as fault:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # what is still in the buffer
        if not isinstance(fault, BrokenPipeError):
            raise click.ClickException(f"the output cannot be written: {fault.strerror}") from None
