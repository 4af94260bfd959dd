"""The exercises of the chapters: `check("02-memory/1", answer)` says whether an answer is right."""

from serq_lab.exercises.checking import Verdict, check

__all__ = ["Verdict", "check"]
