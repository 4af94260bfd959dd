"""The reference in a process of its own: it may hang, panic or die, and is started again.

Comes in: a program's text. Goes out: what `cases.outcome` makes of our reports, with all samples and change
points instead of the first ones, as arrays.
"""

from __future__ import annotations

import importlib.util
import json
import multiprocessing
import os
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

IS_THERE = importlib.util.find_spec("pyserq") is not None
WHY_NOT = "pyserq 0.1.2, the reference, is not installed (it has no wheel for this platform)"

Result = dict[str, Any]
"""``report`` and ``arrays``; or ``refused``, why the program was not run to its end."""


class Reference:
    """Runs programs with pyserq; one that takes longer than `patience` seconds is given up."""

    def __init__(self, patience: float = 20.0) -> None:
        self._patience = patience
        self._process: Any = None
        self._ours: Connection | None = None

    def run(self, text: str, trace: str | None) -> Result:
        if self._process is None or not self._process.is_alive():
            self._start()
        assert self._ours is not None
        try:
            self._ours.send((text, trace))
            if self._ours.poll(self._patience):
                answer: Result = self._ours.recv()
                return answer
            why = f"no answer in {self._patience:g} s"
        except (EOFError, OSError):
            why = "the process died"
        self.close()
        return {"refused": f"reference: {why}"}

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None
        if self._ours is not None:
            self._ours.close()

    def __enter__(self) -> Reference:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _serve(pipe: Connection) -> None:
    """Answer until the other side is gone."""
    import pyserq  # type: ignore[import-untyped]

    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)  # a panic writes to stderr, whoever catches it
    while True:
        try:
            text, trace = pipe.recv()
        except EOFError:
            return
        pipe.send(_answer(pyserq, text, trace))


def _answer(pyserq: Any, text: str, trace: str | None) -> Result:
    try:
        report = pyserq.run(pyserq.compile(source=text, trace=trace))
    except BaseException as error:  # a panic is no Exception
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        return {"refused": f"{type(error).__name__}: {error}"}
    rows = [(name, report.observe(name)) for name in report.observes]
    gauges = [(name, report.gauge(name)) for name in report.gauges]
    return {
        "report": json.loads(report.json()),
        "arrays": arrays(rows, gauges),
    }


def arrays(observations: Any, gauges: Any) -> dict[str, np.ndarray[Any, Any]]:
    """All samples and change points of a report, ours or the reference's."""
    found = {}
    for name, row in observations:
        for part in ("samples", "times", "sessions", "turns"):
            found[f"{name}.{part}"] = np.asarray(getattr(row, part), float)
    for name, row in gauges:
        for part in ("times", "values"):
            found[f"{name}.{part}"] = np.asarray(getattr(row, part), float)
    return found
