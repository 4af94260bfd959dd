"""What ``%%serq`` and ``%serq`` do: from the line and the body of a cell to a report, a panel or an error.

In come strings, byte for byte as they stand in the cell; out goes the value of the cell. Called by
`extension.py`; next on the way: `pipeline.py`, and `panel.py` for ``--explore``.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from serq_lab.diagnostics.errors import ProgramError, RunError
from serq_lab.diagnostics.render import render
from serq_lab.notebook.cell_error import InterruptedRun, UsageError, refuse_repeated, usage_error, words
from serq_lab.pipeline import Program, load
from serq_lab.source import SourceText
from serq_lab.usage import ProgressBar, refuse_unknown_lets, run_options

if TYPE_CHECKING:
    from serq_lab.notebook.panel.panel import Panel
    from serq_lab.report.report import Report

CELL_NAME = "cell"
"""What messages call the text of a cell without a NAME."""


class Options(NamedTuple):
    """The line of a magic. `subject` is the NAME to bind, or the FILE to run; `explore` are names of lets."""

    subject: str | None
    sets: dict[str, str]
    seed: int | None
    horizon: float | None
    warmup: float | None
    arrivals: int | None
    only_check: bool
    explore: str | None
    quiet: bool
    python_traceback: bool

    @property
    def settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("seed", "horizon", "warmup", "arrivals")}


def shared_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What both magics take."""
    for option in (
        click.option("--traceback", "python_traceback", is_flag=True, help="Show Python's traceback of an error too."),
        click.option("--quiet", is_flag=True, help="Show nothing; only bind NAME."),
        click.option(
            "--explore",
            is_flag=False,
            flag_value="",
            metavar="[C,Lambda]",
            help="A panel with a slider for each let, or for these.",
        ),
        click.option("--check", "only_check", is_flag=True, help="Show the program, without running it."),
        run_options,
    ):
        command = option(command)
    return command


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("subject", metavar="[NAME]", required=False)
@shared_options
def cell_command(**given: Any) -> Options:
    """Run the program in this cell and show its report.

    `%%serq` stands in the first line of the cell, before any comment, and the program begins in the second. With
    NAME the program is bound to that name, for `NAME.run(set={"C": 6})` or `NAME.explore()` in other cells. Write
    `{x}` in this line, as in `--set C={x}`, for the value of a Python name; the program itself is read as it is.
    """
    return Options(**given)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("subject", metavar="FILE")
@shared_options
def file_command(**given: Any) -> Options:
    """Run the program in FILE and show its report.

    For a program in a cell, write `%%serq` in the cell's first line and the program below it: see `%%serq --help`.
    """
    return Options(**given)


def options_of(line: str, command: click.Command, name: str) -> Options | None:
    """The options in a magic's line; None where help was asked for, and has been printed."""
    given = words(line)
    refuse_repeated(given)
    try:
        found = command.main(given, prog_name=name, standalone_mode=False)
    except click.ClickException as fault:
        raise usage_error(fault) from None
    return found if isinstance(found, Options) else None


def run_cell(
    line: str, body: str, namespace: dict[str, Any], first_line: int = 2, *, is_watched: bool = False
) -> Report | Program | Panel | None:
    """The value of a ``%%serq`` cell.

    Parameters
    ----------
    line, body : str
        What stands behind ``%%serq``, and below it.
    namespace : dict
        The names of the notebook; NAME is bound here.
    first_line : int
        The number that the notebook gives the first line of `body`.
    is_watched : bool
        Whether somebody sees a long run's bar; it would leave a trace in a notebook that is run by a grader.
    """
    options = options_of(line, cell_command, "%%serq")
    if options is None:
        return None
    name = options.subject
    if name is not None and not name.isidentifier():
        raise UsageError(f"`{name}` cannot be a name: use letters, digits and `_`, as in `%%serq memory`")
    source = SourceText(body, name or CELL_NAME, first_line)
    return _carried_out(options, lambda: _bound(source, name, namespace), is_watched)


def run_file(line: str, *, is_watched: bool = False) -> Report | Program | Panel | None:
    """The value of ``%serq FILE``."""
    options = options_of(line, file_command, "%serq")
    return None if options is None else _carried_out(options, lambda: load(options.subject or ""), is_watched)


def _bound(source: SourceText, name: str | None, namespace: dict[str, Any]) -> Program:
    program = Program(source)
    if name is not None:
        namespace[name] = program
    return program


def _carried_out(options: Options, made: Callable[[], Program], is_watched: bool) -> Report | Program | Panel | None:
    try:
        return _value(options, made(), is_watched)
    except (ProgramError, RunError):
        if options.python_traceback:
            traceback.print_exc()
        raise
    except click.UsageError as fault:
        raise usage_error(fault) from None
    except KeyboardInterrupt:
        raise InterruptedRun("interrupted") from None


def _value(options: Options, program: Program, is_watched: bool) -> Report | Program | Panel | None:
    refuse_unknown_lets(program, options.sets)
    if program.warnings and not options.quiet:
        print(render(program.warnings), file=sys.stderr)
    if options.only_check:
        return None if options.quiet else program
    if options.explore is not None:
        lets = [let.strip() for let in options.explore.split(",") if let.strip()]
        return program.explore(*lets, set=options.sets, **options.settings)
    with ProgressBar(shown=is_watched and not options.quiet, in_notebook=True) as bar:
        report = program.run(options.sets, progress=bar.move, **options.settings)
    return None if options.quiet else report
