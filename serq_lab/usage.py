"""What ``serq`` and ``%%serq`` share: how options are read, what is refused in them, and the bar of a long run.

In come words as they were typed; out go numbers and mappings for `pipeline.py`, or a `click.UsageError` of one
line. Read by `cli.py`, `commands/` and `notebook/magic.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from tqdm import tqdm

    from serq_lab.pipeline import Program

Command = TypeVar("Command", bound=Callable[..., Any])

EXAMPLES = {"sets": "--set C=4", "defs": '--def "f=2 * x"'}


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


RUN_OPTIONS = (
    click.option("--set", "sets", multiple=True, metavar="NAME=EXPR", callback=pairs, help="New value of a let."),
    click.option("--seed", type=whole, metavar="N", help="In place of the program's seed."),
    click.option("--horizon", type=number, metavar="T", help="In place of the program's horizon."),
    click.option("--warmup", type=number, metavar="T", help="In place of the program's warm-up."),
    click.option("--arrivals", type=whole, metavar="N", help="So many arrivals, then drain."),
)


def run_options(command: Command) -> Command:
    """A command with the options that replace a program's values for one run."""
    for option in reversed(RUN_OPTIONS):
        command = option(command)
    return command


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


class ProgressBar:
    """A bar, from the moment a run has taken a second; it leaves no trace behind.

    Parameters
    ----------
    shown : bool
    in_notebook : bool
        Below the cell, where there is one, instead of on stderr.
    """

    PATIENCE = 1.0  # seconds

    def __init__(self, *, shown: bool, in_notebook: bool = False) -> None:
        self._due_at = monotonic() + self.PATIENCE if shown else float("inf")
        self._in_notebook = in_notebook
        self._bar: tqdm[None] | None = None

    def move(self, share: float) -> None:
        """Show that `share` of the run, between 0 and 1, is done."""
        if monotonic() < self._due_at:
            return
        if self._bar is None:
            self._bar = self._make()
            self._bar.start_t -= self.PATIENCE
        self._bar.update(share - self._bar.n)

    def _make(self) -> tqdm[None]:
        import tqdm
        import tqdm.auto

        kind = tqdm.auto.tqdm if self._in_notebook else tqdm.tqdm
        shape = "{percentage:3.0f}% {bar} {elapsed} gone, {remaining} to go"
        return kind(total=1.0, leave=False, file=sys.stderr, bar_format=shape)

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *fault: object) -> None:
        if self._bar is not None:
            self._bar.close()
