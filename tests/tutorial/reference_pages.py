"""The pages of `tutorial/reference`: what in them is generated, and the examples that they hold.

In come the pages as they are; out go the pages as they must be: what stands between two marks is written from the
checker's own tables, and what is said of a wrong program by compiling it. ``python -m tests.tutorial.reference_pages``
writes them anew; `test_reference.py` holds them to this.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import NamedTuple

import serq_lab
from serq_lab.diagnostics.diagnostic import Diagnostic
from serq_lab.diagnostics.errors import SerqError
from serq_lab.diagnostics.render import render
from serq_lab.report.rows import Pool, Stage
from serq_lab.semantics import moments, names
from serq_lab.semantics.constants import RULES

PAGES = Path(__file__).parents[2] / "tutorial" / "reference"

SECTION = re.compile(
    r"^### `(?P<code>[a-z-]+)`\n\n(?P<about>.+?)\n\n"
    r"```(?P<language>serq|python)\n(?P<wrong>.*?)```\n\n```text\n(?P<said>.*?)```\n\n"
    r"Right:\n\n```(?P=language)\n(?P<right>.*?)```\n",
    re.S | re.M,
)
"""One code on the page of errors."""

TABLE = re.compile(r"(<!-- (?P<name>[a-z ]+), generated -->\n).*?(<!-- end -->)", re.S)


class Example(NamedTuple):
    """One code of the page of errors with its two programs, in serQ or as calls in Python."""

    code: str
    language: str
    wrong: str
    right: str


def examples() -> list[Example]:
    page = (PAGES / "errors.md").read_text(encoding="utf-8")
    return [Example(*found.group("code", "language", "wrong", "right")) for found in SECTION.finditer(page)]


SETUP = re.findall(r"```python\n(.*?)```", (PAGES / "errors.md").read_text(encoding="utf-8"), re.S)[0]
"""What the examples in Python go on from: the page's first block of it."""


@cache
def found_in(text: str, language: str) -> tuple[Diagnostic, ...]:
    """The faults of a program, of its run, or of a call; without any, its warnings."""
    with an_empty_folder():
        try:
            if language == "python":
                exec(SETUP + text, {})
                return ()
            program = serq_lab.compile(text, name="program.sq")
            program.run()
        except SerqError as error:
            return error.diagnostics
    return program.warnings


@contextmanager
def an_empty_folder() -> Iterator[None]:
    """Where examples write their files."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


# ------------------------------------------------------------------- tables


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(header), *map(list, rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def call(name: str, parameters: Iterable[str]) -> str:
    return f"`{name}({', '.join(parameters)})`"


def functions() -> str:
    return table(
        ("function", "value"),
        ((call(name, parameters), FUNCTION_WORDS[name]) for name, parameters in names.FUNCTIONS.items()),
    )


def observables() -> str:
    both: Mapping[str, tuple[str, ...]] = {
        **names.STAGE_OBSERVABLES,
        **{name: tuple(parameters) for name, parameters in names.POOL_OBSERVABLES.items()},
    }
    return table(("reads", "value"), ((call(name, words), OBSERVABLE_WORDS[name]) for name, words in both.items()))


def distributions() -> str:
    rows = []
    for name, parameters in names.DISTRIBUTIONS.items():
        words = [word.split()[-1] for _, word in parameters]
        held = "; ".join(f"{word}: {RULES[rule].words}" for rule, word in parameters)
        rows.append(("`~" + call(name, words)[1:], DISTRIBUTION_WORDS[name], held))
    return table(("draw", "value", "parameters must be"), rows)


def context_variables() -> str:
    rows = (
        (f"`{name}`", VARIABLE_WORDS[name], moments.where_readable(name)) for name in sorted(moments.CONTEXT_VARIABLES)
    )
    return table(("variable", "value", "readable in"), rows)


def places() -> str:
    def mark(holds: bool) -> str:
        return "yes" if holds else "-"

    rows = (
        (
            moment.words,
            mark(moment.session),
            mark(moment.hidden),
            mark(moment.board),
            mark(moment.clock),
            mark(moment.draws),
            " ".join(f"`{name}`" for name in sorted(moment.variables)) or "-",
        )
        for moment in moments.MOMENTS
    )
    return table(
        ("place", "attributes", "hidden ones", "pools and stages", "`now`", "draws", "context variables"), rows
    )


def index_of_errors() -> str:
    """Every code with what is said of its wrong program."""
    rows = (
        (
            f"[`{example.code}`](#{example.code})",
            found_in(example.wrong, example.language)[0].message.replace("<", "&lt;"),
        )
        for example in sorted(examples())
    )
    return table(("code", "for example"), rows)


def stage_fields() -> str:
    return table(("field", "meaning"), ((f"`{f.name}`", STAGE_WORDS[f.name]) for f in fields(Stage)))


def pool_fields() -> str:
    return table(("field", "meaning"), ((f"`{f.name}`", POOL_WORDS[f.name]) for f in fields(Pool)))


def shown_report() -> str:
    """What the program on the page of the report prints."""
    text = programs_of((PAGES / "report.md").read_text(encoding="utf-8"))[0]
    return f"```text\n{serq_lab.compile(text).run()}\n```\n"


def programs_of(page: str) -> list[str]:
    """The programs in serQ on a page."""
    return re.findall(r"^```serq\n(.*?)```", page, re.S | re.M)


# -------------------------------------------------------------------- words

FUNCTION_WORDS = {
    "min": "the least of two or more; passes over NaN",
    "max": "the greatest of two or more; passes over NaN",
    "pow": "`a ^ b`",
    "abs": "without its sign",
    "floor": "the whole number at or below",
    "ceil": "the whole number at or above",
    "sqrt": "the square root",
    "exp": "e to the x",
    "ln": "the natural logarithm",
}
OBSERVABLE_WORDS = {
    "queue": "jobs present, those in service included",
    "busy": "jobs in service; at a step stage those in the running iteration; elsewhere all present",
    "work": "work left of all jobs present; tokens at a step stage",
    "est_lambda": "running estimate of the arrival rate",
    "est_rho": "running estimate of the load, at most 0.99",
    "est_wait": "running estimate of the wait",
    "budget_left": "tokens that the next iteration has left, or in a header those left of this one",
    "price": "what one more job of this size costs all who wait, from the estimates",
    "used": "units held by allocations; cached prefixes do not count",
    "free": "`cap - used`",
    "cachedin": "size of the session's own cached prefix there",
    "holders": "holds and leases there, also those of 0 units",
    "queued": "sessions in its queue",
    "blocksize": "its `block`; a constant",
}
DISTRIBUTION_WORDS = {
    "exp": "exponential",
    "uniform": "any value between the two, all alike",
    "erlang": "sum of so many exponentials; the more phases, the steadier",
    "h2": "one of two exponentials with balanced means; cv2 above 1",
    "bernoulli": "1 with this probability, else 0",
    "det": "the value itself",
}
VARIABLE_WORDS = {
    "size": "units of the cached entry, or of what is evicted of it",
    "age": "time since the entry was released",
    "last": "when the entry was released",
    "waiting": "1 if the entry's session is queued at a pool, else 0",
    "present": "jobs at the stage",
    "residents": "jobs at the step stage",
    "decoders": "decodes: of all residents, or in `cost` of those scheduled",
    "kv_decode": "units that the sessions of those decodes hold in the stage's memory",
    "kv_prefill": "the same of prefills",
    "tokens": "tokens that this iteration gives out",
    "prefilled": "those of them that go to prefills",
    "attention": "sum of n (K + n/2) over prefill chunks of n tokens at position K",
    "decoding": "1 if the resident decodes, 0 if it prefills",
    "admission": "its place in the order of latest admission",
    "remaining": "tokens that the resident has left",
}
LABEL_WORDS = {"name": "as declared", "index": "number of the member in an array, or None"}
STAGE_WORDS = {
    **LABEL_WORDS,
    "mean_number": "jobs present, time average (text: number)",
    "utilization": "share of the time with at least one job (util)",
    "completed": "jobs that finished after the warm-up (done)",
    "throughput": "completed jobs per unit of time (thru)",
    "mean_wait": "mean time of a job before its service (wait); 0 at a step stage",
    "mean_service": "mean time of a job in service (service); at a step stage its whole stay",
    "iterations": "iterations of a step stage, from time 0 (iters)",
    "prefill_only": "share of the time in iterations that only prefill (step table: prefill)",
    "decode_only": "share of the time in iterations that only decode (decode)",
    "mixed": "share of the time in iterations that do both (mixed)",
    "mean_decodes": "decodes in the running iteration, time average (decodes)",
    "mean_decode_batch": "mean number of decodes over the iterations that decode (batch)",
    "mean_decode_step": "mean duration of these iterations (duration)",
    "mean_itl": "mean gap between two tokens of one session (gap)",
    "itl_p50": "median of these gaps (gap p50)",
    "itl_p99": "99 of 100 gaps are at most so long (gap p99)",
}
POOL_WORDS = {
    **LABEL_WORDS,
    "mean_used": "units held, time average (text: used)",
    "mean_cached": "units of cached prefixes, time average (cached)",
    "mean_queue": "sessions in the queue, time average (queue)",
    "mean_holders": "holds and leases, time average (holders)",
    "mean_wait": "mean wait from joining the queue to admission (wait)",
    "admissions": "from time 0 (admits)",
    "evicted_entries": "cached entries that went whole, from time 0 (evict(n))",
    "evicted_units": "units evicted, from time 0 (evict(u))",
    "preemptions": "holds aborted to let another grow, from time 0 (preempt)",
    "spills": "entries that moved on to another pool, from time 0 (spill)",
    "rejected": "sessions turned away because they ask for more than the capacity, from time 0 (rej)",
    "stuck": "sessions preempted twice without getting further, from time 0",
}

TABLES: Mapping[str, Callable[[], str]] = {
    "functions": functions,
    "observables": observables,
    "distributions": distributions,
    "context variables": context_variables,
    "places": places,
    "index of errors": index_of_errors,
    "stage fields": stage_fields,
    "pool fields": pool_fields,
    "shown report": shown_report,
}


# -------------------------------------------------------------------- pages


def filled(page: str) -> str:
    """A page with its generated parts written anew."""
    page = TABLE.sub(lambda found: found[1] + "\n" + TABLES[found["name"]]() + "\n" + found[3], page)
    return SECTION.sub(_with_message, page)


def _with_message(section: re.Match[str]) -> str:
    said = render(found_in(section["wrong"], section["language"]))
    start, stop = (place - section.start() for place in section.span("said"))
    return section[0][:start] + said.rstrip() + "\n" + section[0][stop:]


if __name__ == "__main__":
    for path in sorted(PAGES.glob("*.md")):
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
