"""The thread behind a panel: it works on the latest wish and on no other.

In come wishes from the notebook's thread, any number of them; each is handed to `work` with a `Hurry`, through which
`work` learns that it has been overtaken. There is a thread only while there is something to do. Used by `panel.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Condition, Thread
from time import monotonic
from typing import Generic, TypeVar

Wish = TypeVar("Wish")

PACE = 0.12
"""Seconds between two starts: a slider that is dragged along sends more wishes than an eye can follow."""


class OvertakenError(Exception):
    """There is a newer wish: what is being done is of no use any more."""


class Hurry:
    """Tells the work on one wish whether it is still wanted."""

    def __init__(self, is_overtaken: Callable[[], bool], wait: Callable[[float], None]) -> None:
        self._is_overtaken = is_overtaken
        self._wait = wait

    def check(self) -> None:
        """Raise `OvertakenError` if there is a newer wish."""
        if self._is_overtaken():
            raise OvertakenError

    def rest(self, seconds: float) -> None:
        """Wait so long; raise `OvertakenError` as soon as there is a newer wish."""
        self._wait(seconds)
        self.check()


class Worker(Generic[Wish]):
    """One thread at most, for the latest wish.

    Parameters
    ----------
    work : callable
        Called with a wish and its `Hurry`, in the thread.
    """

    def __init__(self, work: Callable[[Wish, Hurry], None]) -> None:
        self._work = work
        self._changed = Condition()
        self._wish: Wish | None = None
        self._number = 0  # of the latest wish; each has its own
        self._is_busy = False
        self._is_closed = False
        self._started_at = -PACE

    def submit(self, wish: Wish) -> None:
        """Have this done, and nothing that was wished before."""
        with self._changed:
            if self._is_closed:
                return
            self._wish = wish
            self._number += 1
            self._changed.notify_all()
            if not self._is_busy:
                self._is_busy = True
                Thread(target=self._live, name="serq-lab panel", daemon=True).start()

    def close(self) -> None:
        """Drop what is being done, and do nothing more."""
        with self._changed:
            self._is_closed = True
            self._wish = None
            self._number += 1
            self._changed.notify_all()

    def finish(self, timeout: float) -> bool:
        """Wait until there is nothing left to do; False if that took longer than `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._is_busy, timeout)

    def _live(self) -> None:
        while True:
            with self._changed:
                if self._wish is None:
                    self._is_busy = False
                    self._changed.notify_all()
                    return
                due_in = self._started_at + PACE - monotonic()
                if due_in > 0:
                    self._changed.wait_for(lambda: self._is_closed, due_in)
                    continue
                wish, number, self._wish = self._wish, self._number, None
                self._started_at = monotonic()
            self._do(wish, number)

    def _do(self, wish: Wish, number: int) -> None:
        def is_overtaken() -> bool:
            return self._number != number

        def wait(seconds: float) -> None:
            with self._changed:
                self._changed.wait_for(is_overtaken, seconds)

        with suppress(OvertakenError):
            self._work(wish, Hurry(is_overtaken, wait))
