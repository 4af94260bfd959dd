"""A program's file, as text and as a tree: the first steps of `pipeline.py`, and all that formatting needs."""

from __future__ import annotations

import os
from pathlib import Path

from serq_lab.diagnostics.diagnostic import Diagnostic
from serq_lab.diagnostics.errors import ProgramError
from serq_lab.source import SourceText
from serq_lab.syntax import nodes
from serq_lab.syntax.parser import parse


def tree_of(source: SourceText) -> nodes.Program:
    """The tree of a text that holds a program; a ProgramError where there is none in it."""
    tree = parse(source)
    if not tree.items:
        hint = "a program has at least a `session` and a `run { horizon ...; }`"
        raise refusal("no-program", f'there is no program in "{source.name}"', hint)
    return tree


def read(path: str | os.PathLike[str]) -> SourceText:
    """The text of a file, line ends as they are; a ProgramError says what keeps it from being read."""
    name = os.fspath(path)
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise refusal("unreadable", f'there is no file "{name}"') from None
    except IsADirectoryError:
        raise refusal("unreadable", f'"{name}" is a folder, not a program', "name a file in it") from None
    except UnicodeDecodeError as fault:
        message = f'"{name}" is not text: byte {fault.start} is not UTF-8'
        raise refusal("unreadable", message, "save the program as UTF-8") from None
    except (OSError, ValueError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) and fault.strerror else str(fault)
        raise refusal("unreadable", f'"{name}" cannot be read: {reason.lower()}') from None
    return SourceText(text, name)


def tutorial_folder() -> Path:
    """Where the tutorial is: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parent
    installed = package / "tutorial"
    return installed if installed.is_dir() else package.parent / "tutorial"


def refusal(code: str, message: str, hint: str | None = None) -> ProgramError:
    """A fault of the whole program, without a place in its text."""
    return ProgramError([Diagnostic(code, message, None, hint=hint)])
