"""Finished points of sweeps in an SQLite file, so that a sweep that was killed does only what is missing.

In come tasks with their results, out go results of tasks that have one. A key is everything that a result depends
on: program, the content of its files, lets, settings, and the version and sources of the engine. Used by `sweep.py`.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from functools import lru_cache
from pathlib import Path

import serq_lab.kernel
from serq_lab.diagnostics.diagnostic import Diagnostic
from serq_lab.diagnostics.errors import RunError
from serq_lab.experiments.task import Result, Task
from serq_lab.version import VERSION

SECONDS_TO_WAIT = 60  # for another sweep that writes to the same file
TABLE = "CREATE TABLE IF NOT EXISTS results (key TEXT PRIMARY KEY, result TEXT NOT NULL) WITHOUT ROWID"


class Store:
    """The results in a file, which is made if it is not there.

    A result is committed before the next is taken: killed at any moment, the file has all of them but the last. (A
    machine that loses its power may lose those of the last seconds.)

    Raises
    ------
    RunError
        The file is something else, or cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        try:
            self._file = sqlite3.connect(self._path, timeout=SECONDS_TO_WAIT, isolation_level=None)
            # With a log that is written ahead, a commit need not wait for the disk: it takes less than a short run.
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = NORMAL")
            self._file.execute(TABLE)
        except sqlite3.Error as fault:
            raise self._fault(fault) from fault

    def get(self, task: Task) -> Result | None:
        """The result of a task, or None."""
        try:
            row = self._file.execute("SELECT result FROM results WHERE key = ?", (key_of(task),)).fetchone()
        except sqlite3.Error as fault:
            raise self._fault(fault) from fault
        return None if row is None else Result(*json.loads(row[0]))

    def put(self, task: Task, result: Result) -> None:
        """Keep a result. JSON as Python writes it gives every float back to the bit."""
        row = key_of(task), json.dumps(result)
        try:
            self._file.execute("INSERT OR REPLACE INTO results VALUES (?, ?)", row)
        except sqlite3.Error as fault:
            raise self._fault(fault) from fault

    def close(self) -> None:
        self._file.close()

    def _fault(self, fault: sqlite3.Error) -> RunError:
        message = f'finished points cannot be kept in "{self._path}": {fault}'
        return RunError([Diagnostic("resume", message, None, hint="name a new file, or one of an earlier sweep")])


def key_of(task: Task) -> str:
    """A digest of everything that the result of a task depends on; not the order of its lets."""
    parts = task._replace(name="", lets=tuple(sorted(task.lets)))
    return hashlib.sha256(json.dumps([VERSION, engine_digest(), parts]).encode()).hexdigest()


@lru_cache(maxsize=1)
def engine_digest() -> str:
    """What the package's sources are: while the engine is worked on, its version stays the same."""
    digest = hashlib.sha256()
    root = Path(serq_lab.kernel.__path__[0]).parent
    for folder in ("syntax", "semantics", "lowering", "kernel", "report"):
        for file in sorted(path for path in (root / folder).rglob("*") if path.suffix in (".py", ".lark")):
            digest.update(file.read_bytes())
    return digest.hexdigest()
