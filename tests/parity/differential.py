"""Random programs, each run by us and by the reference: ``python -m tests.parity.differential --programs 20000``.

Differences are printed, and their programs kept in a folder, with the simplest program that still differs. Then
follows how many programs reached each construct. `generator/` makes the programs, `reference.py` runs the
reference, `explained.py` knows whose fault a difference is.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from tempfile import gettempdir
from time import perf_counter

import numpy as np

import serq_lab
from serq_lab.kernel.storage.memory import JIT
from tests.parity import explained
from tests.parity.cases import HERE, TOLERANCE, differences
from tests.parity.constructs import AT_WORK, WRITTEN, at_work, written
from tests.parity.generator.choices import again, by_seed
from tests.parity.generator.program import Generated, generate
from tests.parity.reference import Reference, Result, arrays

SAME, DIFFERENT, EXPLAINED, BOTH_REFUSE = "same", "different", "explained", "both refuse"
"""What can come of a program."""

PATIENCE = 20.0 if JIT else 300.0
"""Seconds after which a run of ours counts as endless."""


@dataclass
class Verdict:
    """What came of one program."""

    kind: str
    lines: list[str] = field(default_factory=list)
    reached: set[str] = field(default_factory=set)
    events: int = 0


class _EndlessError(Exception):
    """A run of ours goes on and on."""


def run_ours(program: Generated) -> Result:
    """Our report in the shape of the reference's, or why there is none."""
    until = perf_counter() + PATIENCE

    def stop_in_time(_: float) -> None:
        if perf_counter() > until:
            raise _EndlessError

    trace = None if program.trace is None else HERE / "corpus" / program.trace
    try:
        report = serq_lab.compile(program.text).run(trace=trace, progress=stop_in_time)
    except serq_lab.ProgramError as error:
        return {"refused": f"ours: {error}"}
    except (serq_lab.RunError, serq_lab.InternalError) as error:
        return {"refused": f"ours: {type(error).__name__}: {error}"}
    except _EndlessError:
        return {"refused": f"ours: no end in {PATIENCE:g} s"}
    return {
        "report": json.loads(report.to_json()),
        "arrays": arrays(report.observe.items(), report.gauge.items()),
    }


def judge(program: Generated, reference: Reference) -> Verdict:
    """Run a program with both, and compare everything."""
    trace = None if program.trace is None else str(HERE / "corpus" / program.trace)
    theirs, ours = reference.run(program.text, trace), run_ours(program)
    reached, events = written(program.text), 0
    if "report" in theirs:
        reached |= at_work(program.text, theirs["report"])
        events = theirs["report"]["events"]
    kind, lines = _compared(program, ours, theirs)
    return Verdict(kind, lines, reached, events)


def _compared(program: Generated, ours: Result, theirs: Result) -> tuple[str, list[str]]:
    if "refused" in theirs and "refused" in ours:
        return BOTH_REFUSE, [theirs["refused"], ours["refused"]]
    if "refused" in theirs:
        reason = explained.why_refused(program.text, theirs["refused"])
        return (EXPLAINED, [reason]) if reason else (DIFFERENT, [f"ours runs, theirs says {theirs['refused']}"])
    if "refused" in ours:
        return DIFFERENT, [ours["refused"]]
    lines = _lines(ours, theirs)
    if not lines:
        return SAME, []
    is_last_bit = "~" in program.text or "poisson" in program.text
    if is_last_bit and not _lines(explained.run_with_library_logarithm(program), theirs):
        return EXPLAINED, [explained.LAST_BIT]
    return DIFFERENT, lines


def _lines(ours: Result, theirs: Result) -> list[str]:
    """What differs between two reports and their arrays."""
    lines = differences(ours["report"], theirs["report"], "report")
    return lines + [line for name in theirs["arrays"] for line in _apart(name, ours["arrays"], theirs["arrays"])]


def _apart(name: str, ours: Result, theirs: Result) -> Iterator[str]:
    """Where an array differs first."""
    got, wanted = ours.get(name), theirs[name]
    if got is None:
        yield f"{name}: missing"
    elif len(got) != len(wanted):
        yield f"{name}: {len(got)} values instead of {len(wanted)}"
    else:
        with np.errstate(invalid="ignore"):
            near = np.abs(got - wanted) <= TOLERANCE * np.maximum(1.0, np.abs(wanted))
        same = near | (got == wanted) | (np.isnan(got) & np.isnan(wanted))
        if not same.all():
            n = int(np.argmin(same))
            yield f"{name}[{n}]: {got[n]!r} instead of {wanted[n]!r}"


# ------------------------------------------------------------------ smaller programs


def smaller(made: list[int], is_bad: Callable[[Generated], bool], tries: int = 400) -> Generated:
    """The program of fewer and smaller choices for which `is_bad` still holds, as far as `tries` go."""
    best, width = made, max(len(made) // 2, 1)
    while width >= 1 and tries > 0:
        start = 0
        while start < len(best) and tries > 0:
            for candidate in (
                best[:start] + best[start + width :],
                best[:start] + [0] * width + best[start + width :],
            ):
                if candidate == best[: len(candidate)] and len(candidate) == len(best):
                    continue
                tries -= 1
                choices = again(candidate)
                if is_bad(generate(choices)):
                    best = choices.made
                    break
            else:
                start += width
        width //= 2
    return generate(again(best))


# -------------------------------------------------------------------------- the command


@cache
def _reference() -> Reference:
    """One for each process."""
    return Reference()


def _is_different(program: Generated) -> bool:
    return judge(program, _reference()).kind == DIFFERENT


def _one(folder: Path, n_kept: int, seed: int) -> tuple[int, Verdict]:
    """Judge the program of a seed; keep it, and a smaller one, when it differs."""
    choices = by_seed(seed)
    program = generate(choices)
    verdict = judge(program, _reference())
    if verdict.kind == DIFFERENT and len(list(folder.glob("*-small.sq"))) < n_kept:
        (folder / f"{seed}.sq").write_text(program.text, encoding="utf-8")
        small = smaller(choices.made, _is_different)
        lines = "".join(f"// {line}\n" for line in judge(small, _reference()).lines[:5])
        (folder / f"{seed}-small.sq").write_text(lines + small.text, encoding="utf-8")
    return seed, verdict


def main(arguments: list[str]) -> int:
    """The command; returns 1 if anything differs that is not explained, or a construct was never reached."""
    parser = argparse.ArgumentParser(prog="python -m tests.parity.differential")
    parser.add_argument("--programs", type=int, default=1000, help="how many")
    parser.add_argument("--seed", type=int, default=1, help="of the first program; the next have the next numbers")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--keep", type=Path, default=Path(gettempdir()) / "serq-lab-differences", help="folder for programs that differ"
    )
    parser.add_argument("--kept", type=int, default=20, help="how many of them are kept, and made smaller")
    options = parser.parse_args(arguments)
    options.keep.mkdir(exist_ok=True)
    seeds = range(options.seed, options.seed + options.programs)
    kinds, reasons, reached = Counter[str](), Counter[str](), Counter[str]()
    with ProcessPoolExecutor(options.jobs) as pool:
        for seed, verdict in pool.map(partial(_one, options.keep, options.kept), seeds, chunksize=16):
            kinds[verdict.kind] += 1
            reached.update(verdict.reached)
            if verdict.kind == DIFFERENT:
                print(f"seed {seed}: {'; '.join(verdict.lines[:3]).splitlines()[0]}", flush=True)
            elif verdict.kind in (EXPLAINED, BOTH_REFUSE):
                reasons[re.sub(r"\d+", "N", f"{verdict.kind}: {verdict.lines[0].splitlines()[0]}")] += 1
    return _summary(kinds, reasons, reached)


def _summary(kinds: Counter[str], reasons: Counter[str], reached: Counter[str]) -> int:
    """Print how it went."""
    print(", ".join(f"{kind} {n}" for kind, n in kinds.most_common()))
    for reason, n in reasons.most_common():
        print(f"  {n:6d}  {reason}")
    for name in [*WRITTEN, *AT_WORK]:
        print(f"{name:<28}{reached[name]:>7}")
    never = [name for name in [*WRITTEN, *AT_WORK] if not reached[name]]
    if never:
        print("never reached: " + ", ".join(never))
    return int(bool(never) or kinds[DIFFERENT] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
