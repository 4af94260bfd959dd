"""Where the parser stopped, and what could have stood there.

`reading.py` makes a `Stop` when a token cannot stand where it stands; `syntax_faults.py` reads it. The words
of the language stand here by what they start, for messages and hints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from serq_lab.diagnostics.catalogue import quoted
from serq_lab.syntax.scanner import Token

NAME, NUMBER, STRING, END = "a name", "a number", "a file name in double quotes", "the end of the text"
AGGREGATES = {"max", "min", "sum"}
COMPARATORS = {"<", "<=", ">", ">=", "==", "!="}
OPERATORS = {"+", "-", "*", "/", "^", "&&", "||", "?"} | COMPARATORS
CLOSED_BY = {"(": ")", "[": "]", "{": "}"}
OPENED_BY = {closing: opening for opening, closing in CLOSED_BY.items()}

ITEMS = (
    "let", "use", "def", "pool", "stage", "workload", "session", "server", "run", "share", "gauge",
)  # fmt: skip
STATEMENTS = (
    "turn", "request", "end", "set", "observe", "hold", "grow", "drop", "release", "load", "run", "branch",
    "loop", "choose", "prefill", "decode", "tool", "transfer",
)  # fmt: skip
POOL_OPTIONS = ("cap", "block", "evict", "preempt", "queue", "admit", "spill")
STEP_OPTIONS = ("budget", "cost", "chunk", "memory", "serve")
WORKLOAD_ITEMS = ("arrive", "trace", "init", "turn", "session", "hidden")
SETTINGS = ("horizon", "warmup", "seed", "arrivals")

# What a list consists of, by two words that only it can start with, and the words in their order.
LISTS: dict[tuple[str, str], tuple[str, tuple[str, ...]]] = {
    ("let", "gauge"): ("an item of a program", ITEMS),
    ("set", "observe"): ("a statement", STATEMENTS),
    ("cap", "evict"): ("an option of a pool", POOL_OPTIONS),
    ("budget", "cost"): ("an option of a step stage", STEP_OPTIONS),
    ("arrive", "hidden"): ("an item of a workload", WORKLOAD_ITEMS),
    ("horizon", "seed"): ("a setting of a run", SETTINGS),
}
# The same for one word out of a few.
CHOICES: dict[tuple[str, str], tuple[str, tuple[str, ...]]] = {
    ("fifo", "step"): ("a kind of stage", ("fifo", "ps", "delay", "step")),
    ("poisson", "batch"): ("an arrival process", ("poisson", "renewal", "closed", "batch", "none")),
    ("maxmin", "bottleneck"): ("a way to share", ("maxmin", "bottleneck")),
    ("lru", "by"): ("an order of eviction", ("lru", "by")),
    ("none", "lifo"): ("a policy of preemption", ("none", "lifo")),
    ("fifo", "by"): ("an order of a queue", ("fifo", "by")),
    ("admission", "exclusive"): (
        "a serving order", ("admission", "by", "decode first", "exclusive prefill", "only"),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Stop:
    """Where the parser stopped.

    Parameters
    ----------
    tokens : sequence of Token
        All of the text's.
    index : int
        The one that cannot stand here.
    possible : frozenset of str
        What can, as it is typed; `NAME`, `NUMBER`, `STRING` and `END` for what has no one spelling.
    values : sequence
        What the parser has made of the text so far and not yet put together (tokens and nodes).
    blocks : sequence of int
        The open ``{``, outermost first, by their place in `tokens`.
    """

    tokens: Sequence[Token]
    index: int
    possible: frozenset[str]
    values: Sequence[Any]
    blocks: Sequence[int]

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    @property
    def previous(self) -> Token | None:
        return self.tokens[self.index - 1] if self.index else None

    @property
    def is_at_end(self) -> bool:
        return self.index == len(self.tokens) - 1

    @property
    def is_word(self) -> bool:
        return self.token.kind == "word"

    @property
    def found(self) -> str:
        return END if self.is_at_end else quoted(self.token.value)

    @property
    def starts_line(self) -> bool:
        before = self.previous
        return before is None or self.token.span.line > before.span.line

    @property
    def is_expression_wanted(self) -> bool:
        return {NAME, NUMBER, "(", "~"} <= self.possible

    @property
    def is_operator_possible(self) -> bool:
        return {"&&", "?"} <= self.possible

    @property
    def before(self) -> str | None:
        """What stands before, as it is typed."""
        return self.previous.value if self.previous else None

    @property
    def list_here(self) -> tuple[str, tuple[str, ...]] | None:
        """The entry of `LISTS` whose words can stand here, if they can."""
        return next((entry for both, entry in LISTS.items() if self.possible.issuperset(both)), None)

    @property
    def choice_here(self) -> tuple[str, tuple[str, ...]] | None:
        """The entry of `CHOICES` whose words can stand here, if they can."""
        return next((entry for both, entry in CHOICES.items() if self.possible.issuperset(both)), None)

    @property
    def open_bracket(self) -> Token | None:
        """The innermost bracket that is open here."""
        opening = index_of_opening(self.tokens, self.index)
        return self.tokens[opening] if opening >= 0 else None

    @property
    def list_around(self) -> tuple[str, tuple[str, ...]]:
        """The entry of `LISTS` of what the innermost open block, or else the program, consists of."""
        if not self.blocks:
            return LISTS["let", "gauge"]
        heads = {"pool": ("cap", "evict"), "stage": ("budget", "cost"), "workload": ("arrive", "hidden")}
        head = head_of_block(self.tokens, self.blocks[-1]).value
        is_run = head == "run" and len(self.blocks) == 1
        return LISTS[("horizon", "seed") if is_run else heads.get(head, ("set", "observe"))]


def index_of_opening(tokens: Sequence[Token], index: int) -> int:
    """Where the innermost bracket stands that is open before a token; -1 if there is none."""
    depth = 0
    for opening in range(index - 1, -1, -1):
        sign = tokens[opening].value
        depth += (sign in OPENED_BY) - (sign in CLOSED_BY)
        if depth < 0:
            return opening
    return -1


def head_of_block(tokens: Sequence[Token], brace: int) -> Token:
    """The word with which the construct of an open ``{`` begins: ``stage`` of ``stage e : step {``."""
    first = brace
    while first > 0 and tokens[first - 1].value not in {";", "{", "}"}:
        first -= 1
    return tokens[first]


def starts_item(tokens: Sequence[Token], index: int) -> bool:
    """Whether an item of a program, and nothing else, can start at a token, to judge by its word alone."""
    word = tokens[index].value
    if word in {"run", "session", "server"}:
        return tokens[index + 1].value == "{"
    return word in ITEMS
