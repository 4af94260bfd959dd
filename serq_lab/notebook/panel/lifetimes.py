"""What cell is being run, and which panels are alive: running it again ends those that its last run left behind.

In comes a new panel, with the cell that is being run known from IPython; out of the way go older ones of that cell.
Called by `panel.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from IPython.core.getipython import get_ipython

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


class Living(Protocol):
    """What can be ended: a panel."""

    def close(self) -> None: ...


class Run(NamedTuple):
    """One run of a cell: which cell, and which run."""

    cell: str
    number: int


_LIVING: list[tuple[Run, Living]] = []


def register(panel: Living) -> None:
    """Note that a panel lives, and end the panels of earlier runs of the same cell."""
    run = present_run()
    if run is None:
        return
    for older, other in list(_LIVING):
        if older.cell == run.cell and older.number != run.number:
            other.close()
    _LIVING.append((run, panel))


def forget(panel: Living) -> None:
    """A panel has been closed."""
    _LIVING[:] = [(run, other) for run, other in _LIVING if other is not panel]


def n_living() -> int:
    """How many panels that came from cells are alive."""
    return len(_LIVING)


def present_run() -> Run | None:
    """The run of the cell that is being executed; None outside of IPython.

    Notebooks that say which cell it is are believed; elsewhere two runs of the same text are runs of one cell.
    """
    shell = get_ipython()
    if shell is None:
        return None
    return Run(_cell_id(shell) or _cell_text(shell), shell.execution_count)


def is_watched() -> bool:
    """Whether there is somebody at the notebook: programs that run one say that they cannot be asked for input."""
    shell = get_ipython()
    return shell is not None and bool(_request(shell).get("content", {}).get("allow_stdin", True))


def _cell_id(shell: InteractiveShell) -> str:
    return str(_request(shell).get("metadata", {}).get("cellId", ""))


def _request(shell: InteractiveShell) -> dict[str, Any]:
    """The message that asked for the cell's execution; empty where there is no kernel."""
    get_parent = getattr(shell, "get_parent", None)
    return dict(get_parent() or {}) if get_parent is not None else {}


def _cell_text(shell: InteractiveShell) -> str:
    history = shell.history_manager
    return str(history.input_hist_raw[-1]) if history is not None and history.input_hist_raw else ""
