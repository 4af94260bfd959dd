"""serq-lab: programs in the serQ language, from text to report.

>>> import serq_lab
>>> program = serq_lab.load("tutorial/programs/02-memory.sq")
>>> report = program.run(set={"C": 6})
>>> report.observe["admit_wait"].mean
1.5358...

The way from text to report is `pipeline.py`.
"""

from __future__ import annotations

from typing import Any

from serq_lab.diagnostics.errors import InternalError, ProgramError, RunError
from serq_lab.pipeline import Program, compile, load
from serq_lab.version import VERSION

__version__ = VERSION

__all__ = ["InternalError", "Program", "ProgramError", "RunError", "__version__", "compile", "load"]


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext serq_lab``: the magics ``%%serq`` and ``%serq`` in IPython's `shell`."""
    from serq_lab.notebook import extension

    extension.load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext serq_lab``."""
    from serq_lab.notebook import extension

    extension.unload(shell)
