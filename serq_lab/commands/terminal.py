"""What the subcommands of ``serq`` share: arguments that are read, text that is printed, the bar, exit codes.

In come words from the command line, out go values and output. What takes long to import is imported where it is
needed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

if TYPE_CHECKING:
    from tqdm import tqdm

    from serq_lab.diagnostics.diagnostic import Diagnostic
    from serq_lab.pipeline import Program

FINE, WRONG, OURS, INTERRUPTED = 0, 1, 3, 130
"""Exit codes; that of wrong usage, 2, is click's."""


def whole(text: str) -> int:
    """A whole number in any of the language's spellings: ``4``, ``4.0``, ``1e3``, ``1_000``."""
    try:
        return int(text)
    except ValueError:
        pass
    value = number(text)
    if not value.is_integer():
        raise click.BadParameter(f'"{text}" is not a whole number.')
    return int(value)


def number(text: str) -> float:
    """A number in any of the language's spellings."""
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f'"{text}" is not a number.') from None


EXAMPLES = {"sets": "--set C=4", "defs": '--def "f=2 * x"'}


def pairs(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """``NAME=VALUE`` arguments as a mapping; a repeated name is an error of usage."""
    values: dict[str, str] = {}
    for argument in given:
        name, equals, value = (part.strip() for part in argument.partition("="))
        if not (name and equals and value):
            message = f'"{argument}" is not {parameter.metavar}, as in {EXAMPLES[parameter.name or ""]}'
            raise click.BadParameter(message, context, parameter)
        if name in values:
            raise click.BadParameter(f'"{name}" is given twice.', context, parameter)
        values[name] = value
    return values


class ProgressBar:
    """A bar on stderr, from the moment a run has taken a second; it leaves no trace behind."""

    PATIENCE = 1.0  # seconds

    def __init__(self, *, shown: bool) -> None:
        from time import monotonic

        self._clock = monotonic
        self._due_at = monotonic() + self.PATIENCE if shown else float("inf")
        self._bar: tqdm[None] | None = None

    def move(self, share: float) -> None:
        """Show that `share` of the run, between 0 and 1, is done."""
        if self._clock() < self._due_at:
            return
        if self._bar is None:
            from tqdm import tqdm

            shape = "{percentage:3.0f}% {bar} {elapsed} gone, {remaining} to go"
            self._bar = tqdm(total=1.0, leave=False, file=sys.stderr, bar_format=shape)
            self._bar.start_t -= self.PATIENCE
        self._bar.update(share - self._bar.n)

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *fault: object) -> None:
        if self._bar is not None:
            self._bar.close()


def refuse_unknown_lets(program: Program, sets: Iterable[str], option: str = "--set") -> None:
    """A name in `--set`, or another option, that is no let of the program is an error of usage."""
    from serq_lab.diagnostics.catalogue import did_you_mean, quoted

    for name in sets:
        if name not in program.lets:
            known = ", ".join(map(quoted, program.lets))
            hint = did_you_mean(name, program.lets) or (f"its lets are {known}" if known else "it has none")
            raise click.UsageError(f'{option}: the program has no let "{name}"; {hint}')


def refuse_endings(path: str | None, endings: tuple[str, ...], option: str) -> None:
    """A file of a kind that cannot be written is an error of usage: before a long sweep, not after it."""
    if path is not None and not path.lower().endswith(endings):
        raise click.UsageError(f'{option}: "{path}" must end in {" or ".join(endings)}.')
    if path is not None and not Path(path).absolute().parent.is_dir():
        raise click.UsageError(f'{option}: there is no folder "{Path(path).parent}".')


@contextmanager
def refusing_unknown_definitions() -> Iterator[None]:
    """A name in `--def` that is no definition of the program is an error of usage."""
    from serq_lab.diagnostics.errors import ProgramError

    try:
        yield
    except ProgramError as error:
        fault = error.diagnostics[0]
        if fault.code != "unknown-definition":
            raise
        raise click.UsageError(f"--def: {fault.message}; {fault.hint}") from None


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
