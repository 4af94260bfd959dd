"""``serq sweep``: a program over the values of some lets, as a table with its knee.

In come arguments; out go a table on stdout, a bar on stderr, and what was asked for in files.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from serq_lab.commands.terminal import FINE, plus_minus, show, write
from serq_lab.usage import ProgressBar, number, refuse_endings, refuse_unknown_lets, whole

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from serq_lab.experiments.curve import Curve
    from serq_lab.experiments.sweep import Sweep
    from serq_lab.pipeline import Program

MOST_VALUES = 100_000
HEADER = ("mean", "95% CI", "runs", "away", "binds", "steady")


def ranges(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, list[float]]:
    """``C=4:20``, ``C=4:20:2`` and ``Lambda=0.5,0.8`` as values of lets; both ends of a range belong to it."""
    values: dict[str, list[float]] = {}
    for argument in given:
        name, equals, text = (part.strip() for part in argument.partition("="))
        if not (name and equals and text):
            message = f'"{argument}" is not {parameter.metavar}, as in --over C=4:20 or --over Lambda=0.5,0.8'
            raise click.BadParameter(message, context, parameter)
        if name in values:
            raise click.BadParameter(f'"{name}" is given twice.', context, parameter)
        values[name] = [number(part) for part in text.split(",")] if ":" not in text else steps(text)
    return values


def steps(text: str) -> list[float]:
    """``FIRST:LAST`` or ``FIRST:LAST:STEP``, a step of 1 by default."""
    bounds = [number(part) for part in text.split(":")]
    first, last, step = bounds if len(bounds) == 3 else (*bounds, 1.0) if len(bounds) == 2 else (0.0, 0.0, 0.0)
    if not (step > 0 and last >= first and math.isfinite(last - first)):
        raise click.BadParameter(f'"{text}" is not FIRST:LAST or FIRST:LAST:STEP with a step above 0, as in 4:20')
    n = math.floor((last - first) / step * (1 + 1e-12)) + 1
    if n > MOST_VALUES:
        raise click.BadParameter(f'"{text}" has {n} values; {MOST_VALUES} are the most.')
    return [float(f"{first + k * step:.12g}") for k in range(n)]


@click.command()
@click.argument("file")
@click.option("--over", required=True, multiple=True, metavar="LET=VALUES", callback=ranges,
              help="Vary a let: C=4:20, C=4:20:2 or Lambda=0.5,0.8; several make a grid.")  # fmt: skip
@click.option("--replications", type=whole, default=10, metavar="N", help="Runs of each point; 10 by default.")
@click.option("--metric", metavar="FIELD", help="As observe.admit_wait.mean; the first observation's mean by default.")
@click.option("--seed", type=whole, metavar="N", help="In place of the program's seed.")
@click.option("--horizon", type=number, metavar="T", help="In place of the program's horizon.")
@click.option("--warmup", type=number, metavar="T", help="In place of the program's warm-up.")
@click.option("--plot", "picture", metavar="FILE", help="Draw the curve: .png, .svg or .pdf.")
@click.option("--out", metavar="FILE", help="Write all runs: .csv or .parquet.")
@click.option("--resume", metavar="FILE", help="Keep finished runs in this SQLite file, and do only what is missing.")
@click.option("--jobs", type=whole, metavar="N", help="So many threads; one a core by default.")
@click.option("--dask", metavar="ADDRESS", help="Run on a Dask cluster, as tcp://10.0.0.1:8786.")
@click.option("--quiet", is_flag=True, help="No bar, no warnings.")
def sweep(
    file: str,
    over: dict[str, list[float]],
    replications: int,
    metric: str | None,
    seed: int | None,
    horizon: float | None,
    warmup: float | None,
    picture: str | None,
    out: str | None,
    resume: str | None,
    jobs: int | None,
    dask: str | None,
    quiet: bool,
) -> int:
    """Run the program in FILE at many points and print a curve with its knee."""
    from serq_lab.pipeline import load

    refuse_endings(out, (".csv", ".parquet"), "--out")
    refuse_endings(picture, (".png", ".svg", ".pdf"), "--plot")
    program = load(file)
    refuse_unknown_lets(program, over, "--over")
    metric = metric or first_metric(program)
    if not quiet:
        show(program.warnings)
    with executor_of(jobs, dask) as executor, ProgressBar(shown=not quiet and sys.stderr.isatty()) as bar:
        found = program.sweep(
            over, replications=replications, seed=seed, horizon=horizon, warmup=warmup, executor=executor,
            progress=bar.move, resume=resume,
        )  # fmt: skip
    if out is not None:
        write_rows(found, Path(out))
    refuse_unknown_metric(found, metric)
    print_curves(found, metric)
    if picture is not None:
        draw(found, metric, Path(picture))
    return FINE


@contextmanager
def executor_of(jobs: int | None, dask: str | None) -> Iterator[Executor | None]:
    """Where to run: the cores of this machine, so many threads, or a Dask cluster."""
    if jobs is not None and dask is not None:
        raise click.UsageError("--jobs and --dask do not go together.")
    if jobs is not None and jobs < 1:
        raise click.UsageError(f"--jobs must be at least 1, and is {jobs}.")
    if dask is not None:
        try:
            from distributed import Client
        except ModuleNotFoundError:
            raise click.UsageError("--dask needs the package distributed: pip install 'serq-lab[dask]'") from None
        try:
            connect: Any = Client  # its functions have no types
            client = connect(dask, timeout=10, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as fault:
            raise click.UsageError(f'--dask: no cluster answers at "{dask}": {fault}') from None
        with client:
            yield client.get_executor()
    elif jobs is not None:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(jobs) as threads:
            yield threads
    else:
        yield None


def first_metric(program: Program) -> str:
    """What is shown if nothing is asked for."""
    observed = program.model.observations
    return f"observe.{observed[0]}.mean" if observed else "run.mean_live"


def refuse_unknown_metric(found: Sweep, metric: str) -> None:
    by = next(iter(found.over))
    try:
        found.curve(metric, by, {name: values[0] for name, values in found.over.items() if name != by})
    except KeyError as fault:
        raise click.UsageError(f"--metric: {fault.args[0]}") from None


def print_curves(found: Sweep, metric: str) -> None:
    """A table for each combination of the other lets, each with its knee and what failed."""
    from serq_lab.experiments.knee import find_knee

    sign = plus_minus(sys.stdout)
    for k, curve in enumerate(found.curves(metric)):
        at = "".join(f", {name} = {value:g}" for name, value in curve.at.items())
        write(f"{'' if k == 0 else chr(10)}{metric} by {curve.by}{at}\n", sys.stdout)
        write(curve_text(curve, sign), sys.stdout)
        write(f"\n{find_knee(curve)}", sys.stdout)
    failed = found.frame[found.frame["error"] != ""]
    if len(failed):
        write(f"{len(failed)} of {len(found.frame)} runs failed; the first: {failed['error'].iloc[0]}", sys.stdout)


def curve_text(curve: Curve, sign: str) -> str:
    """A curve as a table in the manner of the report's."""
    from serq_lab.report.text import shortest, table

    rows = [
        (
            shortest(curve.x[row]),
            f"{curve.mean[row]:.5g}",
            f"{sign}{curve.half_width[row]:.2g}",
            str(curve.replications[row]),
            f"{100 * curve.turned_away[row]:.3g}%" if curve.turned_away[row] > 0 else "",
            curve.binds[row],
            f"no: {curve.unsteady[row]}" if curve.unsteady[row] else "yes",
        )
        for row in range(len(curve.x))
    ]
    return table((curve.by, *HEADER), rows)


def write_rows(found: Sweep, path: Path) -> None:
    """The frame of a sweep as CSV or Parquet."""
    try:
        if path.suffix.lower() == ".csv":
            found.frame.to_csv(path, index=False, lineterminator="\n")
        else:
            found.frame.to_parquet(path, index=False)
    except ImportError:
        raise click.UsageError("--out: parquet needs the package pyarrow: pip install 'serq-lab[parquet]'") from None
    except OSError as fault:
        raise click.FileError(str(path), fault.strerror) from None


def draw(found: Sweep, metric: str, path: Path) -> None:
    """The picture of the first curve; others get files of their own, numbered."""
    from serq_lab.experiments.knee import find_knee
    from serq_lab.plots.curves import plot_curve
    from serq_lab.plots.style import save

    for k, curve in enumerate(found.curves(metric)):
        target = path if k == 0 else path.with_stem(f"{path.stem}-{k + 1}")
        try:
            save(plot_curve(curve, find_knee(curve)), target)
        except OSError as fault:
            raise click.FileError(str(target), fault.strerror) from None
