"""A fault as data: what is wrong, where, what else belongs to it, and what to do."""

from __future__ import annotations

from dataclasses import dataclass

from serq_lab.source import Span


@dataclass(frozen=True)
class Label:
    """A second place that belongs to a fault: "declared here"."""

    span: Span
    text: str


@dataclass(frozen=True)
class Diagnostic:
    """One fault or warning.

    Parameters
    ----------
    code : str
        The kind of fault, a short name in kebab case; see `catalogue`.
    message : str
        One sentence, values and names quoted.
    span : Span or None
        The place, underlined whole; None only where there is no text (a missing file, an override).
    labels : tuple of Label
        Other places.
    hint : str or None
        One concrete edit.
    severity : str
        ``"error"`` or ``"warning"``.
    """

    code: str
    message: str
    span: Span | None
    labels: tuple[Label, ...] = ()
    hint: str | None = None
    severity: str = "error"
