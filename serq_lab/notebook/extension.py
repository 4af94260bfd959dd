"""``%load_ext serq_lab``: the one file that knows how IPython registers things.

In comes the shell; the magics (`magic.py`), their completion (`completer.py`) go into it, and out again on
``%unload_ext``. Loading twice leaves one of each.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from IPython.core.completer import CompletionContext, SimpleCompletion, context_matcher
from IPython.core.getipython import get_ipython

from serq_lab.notebook.completer import Completions, complete
from serq_lab.notebook.magic import run_cell, run_file
from serq_lab.notebook.panel.lifetimes import is_watched

if TYPE_CHECKING:
    from IPython.core.interactiveshell import ExecutionInfo, InteractiveShell

_LOADING = re.compile(r"^\s*%load_ext\s+serq_lab\s*$", re.MULTILINE)


def load(shell: InteractiveShell) -> None:
    """Register the magics and their completion."""
    unload(shell)

    def serq(line: str, body: str | None = None) -> Any:
        if body is None:
            return run_file(line, is_watched=is_watched())
        first_line = first_line_of_body(shell, body)
        return run_cell(line, body, shell.user_ns, first_line, is_watched=is_watched())

    serq.__doc__ = "Run a program in the serQ language: %%serq --help and %serq --help say more."
    shell.magics_manager.register_function(serq, magic_kind="line_cell")
    shell.input_transformers_cleanup.insert(-1, with_a_body)  # before IPython's own for cell magics
    shell.Completer.custom_matchers.append(serq_matcher)

    shell.events.register("pre_run_cell", forget_loading)


def unload(shell: InteractiveShell) -> None:
    """Take everything out again."""
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("serq", None)
    transformers = shell.input_transformers_cleanup
    transformers[:] = [each for each in transformers if each is not with_a_body]
    matchers = shell.Completer.custom_matchers
    matchers[:] = [each for each in matchers if each is not serq_matcher]
    if forget_loading in shell.events.callbacks["pre_run_cell"]:
        shell.events.unregister("pre_run_cell", forget_loading)


def forget_loading(info: ExecutionInfo) -> None:
    """IPython prints a notice where an extension is loaded again, unless it believes that it is not."""
    shell = get_ipython()
    manager = None if shell is None else shell.extension_manager
    if manager is not None and _LOADING.search(info.raw_cell or ""):
        manager.loaded.discard("serq_lab")


def with_a_body(lines: list[str]) -> list[str]:
    """A cell of ``%%serq`` alone gets an empty line below it: IPython refuses a cell magic without a body, and
    ``%%serq --help`` needs none.
    """
    if len(lines) == 1 and lines[0].startswith("%%serq"):
        return [lines[0].rstrip("\n") + "\n", "\n"]
    return lines


def first_line_of_body(shell: InteractiveShell, body: str) -> int:
    """The number, in the cell as the notebook numbers it, of the line below ``%%serq``.

    It is 2, and more only where blank lines stand above ``%%serq``, which IPython takes off before we see the cell.
    """
    history = shell.history_manager
    raw = history.input_hist_raw[-1] if history is not None and history.input_hist_raw else ""
    above = raw[: len(raw) - len(raw.lstrip())]
    is_this_cell = raw.lstrip().startswith("%%serq") and body.strip() in raw
    return 2 + (above.count("\n") if is_this_cell else 0)


@context_matcher()
def serq_matcher(context: CompletionContext) -> dict[str, Any]:
    """Completion in a cell of ours, and of no other."""
    found: Completions | None = complete(context.full_text, _offset(context))
    if found is None:
        return {"completions": []}
    return {
        "completions": [SimpleCompletion(text, type=kind) for text, kind in found.words],
        "matched_fragment": found.fragment,
        "suppress": True,  # Python has nothing to say here
        "ordered": True,
    }


def _offset(context: CompletionContext) -> int:
    """The cursor as an offset into the text: IPython gives its line and column."""
    lines = context.full_text.split("\n")
    return sum(len(line) + 1 for line in lines[: context.cursor_line]) + context.cursor_position
