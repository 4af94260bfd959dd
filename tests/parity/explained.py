"""Differences from the reference that are known, and not ours: `differences.md` says which, with programs.

Comes in: a program, and what the reference said. Goes out: the reason, if there is one. Read by `differential.py`.
"""

from __future__ import annotations


def why_refused(text: str, refusal: str) -> str | None:
    """Why the reference did not run a program that we run."""
    if "no entry found for key" in refusal and "preempt lifo" in text and "growing" in text:
        return "the reference panics when a victim was already served in the iteration"
    return None
