"""The command ``serq``: run, check and format programs, and open the lab; `commands/` has sweeps and pictures.

In come arguments, out go text and an exit code: 0 fine; 1 the program is wrong, the run failed or a session
was stuck; 2 usage; 3 we are wrong. What takes long to import is imported by the command that needs it.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import click

from serq_lab.commands.plot import plot
from serq_lab.commands.sweep import sweep
from serq_lab.commands.terminal import FINE, INTERRUPTED, OURS, WRONG, plus_minus, show, write
from serq_lab.usage import ProgressBar, pairs, refuse_unknown_lets, refusing_unknown_definitions, run_options
from serq_lab.version import VERSION

if TYPE_CHECKING:
    from serq_lab.report.report import Report


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (those of the process by default) and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A name in Greek must not end a run on an ASCII terminal.
            stream.reconfigure(errors="backslashreplace")
    try:
        code = commands.main(arguments, prog_name="serq", standalone_mode=False)
    except click.ClickException as fault:
        fault.show()
        return fault.exit_code
    except click.Abort:
        write("interrupted", sys.stderr)
        return INTERRUPTED
    except Exception as fault:
        # The last line of defence: what is no fault of the program or its user is one of ours.
        from serq_lab.diagnostics.errors import ProgramError, RunError

        if isinstance(fault, (ProgramError, RunError)):
            show(fault.diagnostics)
            return WRONG
        write(traceback.format_exc() + "serq is at fault here, not the program.", sys.stderr)
        return OURS
    return code if isinstance(code, int) else FINE


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="serq", message="%(prog)s %(version)s")
def commands() -> None:
    """Programs in the serQ language: queues, memory and sessions."""


commands.add_command(sweep)
commands.add_command(plot)


@commands.command()
@click.argument("file")
@run_options
@click.option("--def", "defs", multiple=True, metavar="NAME=BODY", callback=pairs, help="New body of a def.")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
@click.option("--dump", metavar="DIR", help="Write the samples of each observation to DIR/NAME.csv.")
@click.option("--quiet", is_flag=True, help="No progress, no warnings, no notes.")
def run(
    file: str,
    sets: dict[str, str],
    defs: dict[str, str],
    seed: int | None,
    horizon: float | None,
    warmup: float | None,
    arrivals: int | None,
    as_json: bool,
    dump: str | None,
    quiet: bool,
) -> int:
    """Run the program in FILE and print its report."""
    from serq_lab.pipeline import load

    with refusing_unknown_definitions():
        program = load(file, defs=defs)
    refuse_unknown_lets(program, sets)
    if dump is not None:
        make_folder(Path(dump))  # before a long run, not after it
    if not quiet:
        show(program.warnings)
    with ProgressBar(shown=not quiet and sys.stderr.isatty()) as bar:
        report = program.run(sets, seed=seed, horizon=horizon, warmup=warmup, arrivals=arrivals, progress=bar.move)
    if dump is not None:
        dump_samples(report, Path(dump))
    if as_json:
        write(report.to_json(), sys.stdout)
        for note in [] if quiet else report.notes:
            write(note, sys.stderr)
    else:
        write(report.to_text(notes=not quiet, plus_minus=plus_minus(sys.stdout)), sys.stdout)
    return WRONG if report.n_stuck else FINE


@commands.command()
@click.argument("file")
def check(file: str) -> int:
    """Say what is wrong with the program in FILE, without running it."""
    from serq_lab.pipeline import load

    show(load(file).warnings)
    write(f"{file}: no faults", sys.stdout)
    return FINE


@commands.command()
@click.argument("file")
@click.option("--write", "rewrite", is_flag=True, help="Rewrite FILE instead of printing it.")
@click.option("--check", "only_check", is_flag=True, help="Print nothing; exit 1 if FILE would change.")
def fmt(file: str, rewrite: bool, only_check: bool) -> int:
    """Print the program in FILE in canonical form, comments kept."""
    if rewrite and only_check:
        raise click.UsageError("--write and --check do not go together.")
    from serq_lab.reading import read, tree_of
    from serq_lab.syntax.printer import print_program

    source = read(file)
    formatted = print_program(tree_of(source)).encode("utf-8")
    is_changed = formatted != Path(file).read_bytes()
    if only_check:
        if is_changed:
            write(f"{file}: would change", sys.stderr)
        return WRONG if is_changed else FINE
    if not rewrite:
        write(formatted.decode("utf-8"), sys.stdout, end="")
    elif is_changed:
        replace_file(Path(file), formatted)
    return FINE


@commands.command()
@click.argument("file")
@click.option("--out", metavar="NOTEBOOK", help="Where to write it; by default beside FILE.")
@click.option("--force", is_flag=True, help="Replace a notebook that is there already.")
def notebook(file: str, out: str | None, force: bool) -> int:
    """Write a lab notebook for the program in FILE: panel, sweep, knee."""
    from serq_lab.pipeline import load

    program = load(file)
    files = notebook_files()
    path = Path(out) if out is not None else Path(file).with_suffix(".ipynb")
    if path.exists() and not force:
        raise click.UsageError(f'"{path}" is there already; write `--force` to replace it')
    name = "".join(c if c.isalnum() else "_" for c in Path(file).stem).lstrip("0123456789_")
    try:
        files.write_notebook(program, name or "program", path)
    except OSError as fault:
        raise click.FileError(str(path), fault.strerror) from None
    write(f"{path}: open it with `serq lab` or `jupyter lab`", sys.stdout)
    return FINE


@commands.command()
@click.argument("folder", default="serq-tutorial")
@click.argument("jupyter", nargs=-1, type=click.UNPROCESSED, metavar="[-- OPTIONS OF JUPYTERLAB]")
def lab(folder: str, jupyter: tuple[str, ...]) -> int:
    """Open JupyterLab on a copy of the tutorial in FOLDER; what is there already stays as it is."""
    import importlib.util

    files = notebook_files()
    if importlib.util.find_spec("jupyterlab") is None:
        raise click.ClickException(NO_LAB)
    try:
        files.copy_tutorial(Path(folder))
    except OSError as fault:
        raise click.FileError(folder, fault.strerror) from None
    files.open_lab(Path(folder), jupyter)
    return FINE


NO_LAB = "the lab is not installed: run `pip install 'serq-lab[lab]'`"


def notebook_files() -> ModuleType:
    """The part of the lab that the command needs; an error where the lab is not installed."""
    try:
        from serq_lab.notebook import files
    except ModuleNotFoundError as fault:
        if (fault.name or "").startswith("serq_lab"):
            raise
        raise click.ClickException(NO_LAB) from None
    return files


def make_folder(folder: Path) -> None:
    """The folder for `dump_samples`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise click.FileError(str(folder), "it is a file, and --dump needs a folder") from None
    except OSError as fault:
        raise click.FileError(str(folder), fault.strerror) from None


def dump_samples(report: Report, folder: Path) -> None:
    """Each observation as CSV ``time,session,turn,value`` in UTF-8, one file a name."""
    try:
        for name, row in report.observe.items():
            columns = (column.tolist() for column in (row.times, row.sessions, row.turns, row.samples))
            lines = [
                f"{time!r},{session},{turn},{value!r}\n" for time, session, turn, value in zip(*columns, strict=True)
            ]
            text = "time,session,turn,value\n" + "".join(lines)
            (folder / f"{name}.csv").write_text(text, encoding="utf-8", newline="\n")
    except OSError as fault:
        raise click.FileError(str(folder), fault.strerror) from None


def replace_file(path: Path, content: bytes) -> None:
    """Put `content` in the place of a file in one step: another program sees the old text or the new one."""
    import shutil
    import tempfile

    target = path.resolve()
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=target.name, delete=False) as beside:
            beside.write(content)
        shutil.copymode(target, beside.name)
        os.replace(beside.name, target)
    except OSError as fault:
        raise click.FileError(str(path), fault.strerror) from None


if __name__ == "__main__":
    sys.exit(main())
