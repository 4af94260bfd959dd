"""An IPython shell for tests of cells, apart from any other."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    """A shell with `serq_lab` loaded, without colours and without a history file."""
    config = Config()
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.warn_venv = False  # the tests may run in another environment than the activated one
    main = sys.modules["__main__"]
    shell = InteractiveShell.instance(config=config)
    shell.run_line_magic("load_ext", "serq_lab")
    yield shell
    shell.run_line_magic("unload_ext", "serq_lab")
    atexit.unregister(shell.atexit_operations)
    shell.atexit_operations()
    InteractiveShell.clear_instance()
    # A shell put a module of its own there, and emptied it: processes that are started later need the real one.
    sys.modules["__main__"] = main
