"""``serq plot timeline``: what happens in a pool between two instants, as a picture.

In come arguments, out goes a file.
"""

from __future__ import annotations

import sys

import click

from serq_lab.commands.terminal import FINE, show, write
from serq_lab.usage import number, pairs, refuse_endings, refuse_unknown_lets, whole


@click.group()
def plot() -> None:
    """Pictures of a program's runs."""


@plot.command()
@click.argument("file")
@click.option("--from", "start", type=number, required=True, metavar="T", help="The first instant.")
@click.option("--to", "stop", type=number, required=True, metavar="T", help="The last instant.")
@click.option("--out", required=True, metavar="FILE", help="Where to draw: .png, .svg or .pdf.")
@click.option("--pool", metavar="NAME", help="Which pool, as kv[1]; the first by default.")
@click.option("--set", "sets", multiple=True, metavar="NAME=EXPR", callback=pairs, help="New value of a let.")
@click.option("--seed", type=whole, metavar="N", help="In place of the program's seed.")
@click.option("--quiet", is_flag=True, help="No warnings, and not what the picture shows in words.")
def timeline(
    file: str,
    start: float,
    stop: float,
    out: str,
    pool: str | None,
    sets: dict[str, str],
    seed: int | None,
    quiet: bool,
) -> int:
    """Draw a pool of the program in FILE over time: holds, cached prefixes, the queue."""
    from serq_lab.pipeline import load

    refuse_endings(out, (".png", ".svg", ".pdf"), "--out")
    program = load(file)
    refuse_unknown_lets(program, sets)
    if not quiet:
        show(program.warnings)
    try:
        from serq_lab.plots.style import alt_text, save
        from serq_lab.plots.timeline import plot_timeline
    except ModuleNotFoundError as fault:
        raise click.UsageError(f"pictures need the package {fault.name}: pip install 'serq-lab[lab]'") from None
    try:
        ax = plot_timeline(program, start, stop, pool=pool, set=sets, seed=seed)
    except KeyError as fault:
        raise click.UsageError(f"--pool: {fault.args[0]}") from None
    try:
        save(ax, out)
    except OSError as fault:
        raise click.FileError(out, fault.strerror) from None
    if not quiet:
        write(alt_text(ax), sys.stdout)
    return FINE
