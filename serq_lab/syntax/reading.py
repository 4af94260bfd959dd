"""The way through a text: token after token into the grammar's machine, and on behind each fault.

In come a text and what it should be; out go what `tree_builder.py` made of it and its comments, or a
`ProgramError` with all faults that are no mere consequences of others. `parser.py` starts it; the words for
the faults come from `syntax_faults.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from lark.exceptions import UnexpectedToken

from serq_lab.diagnostics import catalogue
from serq_lab.diagnostics.diagnostic import Diagnostic
from serq_lab.diagnostics.errors import ProgramError
from serq_lab.diagnostics.render import in_order
from serq_lab.source import SourceText, Span
from serq_lab.syntax import nodes
from serq_lab.syntax.grammar import grammar, spellings, terminals
from serq_lab.syntax.scanner import Token, scan
from serq_lab.syntax.stop import AGGREGATES, CLOSED_BY, OPENED_BY, OPERATORS, Stop, starts_item
from serq_lab.syntax.syntax_faults import find_fault, unclosed_block

DEEPEST_NESTING = 100  # brackets and operators; so that whatever reads the tree may be recursive
MOST_FAULTS = 10
MOST_STOPS = 50  # faults and what they left behind
_BEHIND_A_BLOCK = {"else", "cache", "lease", ";"}


@dataclass(frozen=True)
class _OpenBlock:
    """A ``{`` that the parser has taken: its place among the tokens, and how high its stack was then."""

    brace: int
    height: int


class Reading:
    """One way through one text.

    Parameters
    ----------
    source : SourceText
    start : str
        What the text should be: ``"program"``, ``"expression"`` or ``"definition_body"``.
    """

    def __init__(self, source: SourceText, start: str) -> None:
        found = scan(source)
        self._tokens, self._comments, self._open_comment = found.tokens, found.comments, found.open_comment
        self._machine: Any = grammar().parse_interactive("", start=start)  # lark leaves half of it untyped
        self._can_go_on = start == "program"
        self._index = 0
        self._blocks: list[_OpenBlock] = []
        self._faults: list[Diagnostic] = []
        signs = [token.value for token in self._tokens]
        self._n_braces_missing = signs.count("{") - signs.count("}")
        self._are_braces_even = self._n_braces_missing == 0 and found.open_comment is None
        self._are_blocks_sure = found.open_comment is None
        self._last_fault_at = self._resumed_at = -2  # tokens
        self._n_stops = 0

    def result(self) -> tuple[Any, tuple[nodes.Comment, ...]]:
        """What the builder left for the whole, and the comments of the text; raises `ProgramError`."""
        value = None
        if self._open_comment is not None:
            self._faults.append(catalogue.unclosed_comment(self._open_comment))
        while self._index < len(self._tokens) and len(self._faults) < MOST_FAULTS and self._n_stops < MOST_STOPS:
            value = self._take()
        if self._faults:
            raise ProgramError(in_order(self._faults))
        return value, self._comments

    def possible_next(self) -> frozenset[str]:
        """What can stand behind the text: words and signs as they are typed, `NAME`, `NUMBER`, `STRING`, `END`."""
        while self._index < len(self._tokens) - 1 and self._n_stops < MOST_STOPS:
            self._take()
        return frozenset(spellings()[name] for name in self._machine.accepts())

    def _take(self) -> Any:
        token, state = self._tokens[self._index], self._machine.parser_state
        token.type = self._terminal(token)
        states, values = state.state_stack[:], state.value_stack[:]
        try:
            value = self._machine.feed_token(token)
        except UnexpectedToken:
            # lark puts together what it can before it refuses; what could stand here shows only before that
            put_together = state.value_stack[:]
            state.state_stack[:], state.value_stack[:] = states, values
            self._go_on(put_together)
            return None
        height = len(state.value_stack)
        if height > DEEPEST_NESTING and self._n_levels() > DEEPEST_NESTING:
            self._faults.append(catalogue.nested_too_deeply(token.span, DEEPEST_NESTING))
            self._index = len(self._tokens)
            return None
        if token.value == "{":
            self._blocks.append(_OpenBlock(self._index, height))
        elif token.value == "}":
            self._blocks.pop()
        self._index += 1
        return value

    def _terminal(self, token: Token) -> str:
        """The grammar's name for a token here; a name of no terminal where it can be none."""
        if token.kind == "word":
            return self._terminal_of_word(token.value)
        if token.kind == "bad_number":
            self._report(catalogue.bad_number(token.span))
            token.value, token.kind = "0", "number"
        elif token.kind == "open_string":
            self._report(catalogue.unclosed_string(token.span))
        kinds = {"number": "NUMBER", "string": "STRING", "open_string": "STRING", "end": "$END"}
        return kinds.get(token.kind) or terminals().get(token.value, "unknown")

    def _terminal_of_word(self, word: str) -> str:
        terminal, possible = terminals().get(word), self._machine.choices()
        following = self._tokens[self._index + 1]
        if terminal in possible and not (word in AGGREGATES and not self._is_aggregate(following)):
            return cast(str, terminal)
        if "SET" in possible and (terminal is not None or following.value != "("):
            return "unknown"  # a statement starts with its word, or calls a definition, which no word can name
        return "NAME"

    def _is_aggregate(self, following: Token) -> bool:
        """Whether a ``max`` starts ``max j in``; behind one that is a name stand ``growing`` and ``from``."""
        is_variable = following.kind == "word" and following.value not in {"growing", "from"}
        return is_variable and self._tokens[self._index + 2].value == "in"

    def _n_levels(self) -> int:
        """How many brackets and operators wait for their end."""
        values = self._machine.parser_state.value_stack
        pending = [value.value for value in values if isinstance(value, Token)]
        n_opened = [sign in CLOSED_BY or sign in OPERATORS or sign == "!" for sign in pending].count(True)
        return n_opened - [sign in OPENED_BY for sign in pending].count(True)

    # ------------------------------------------------------------ after a fault

    def _go_on(self, values: list[Any]) -> None:
        """Report what is wrong at the present token, and go on where the text can be understood again."""
        self._n_stops += 1
        possible = frozenset(spellings()[name] for name in self._machine.accepts())
        blocks = [block.brace for block in self._blocks]
        stop = Stop(self._tokens, self._index, possible, values, blocks)
        item = self._item_in_a_block()
        if item is not None:
            self._report(unclosed_block(stop, item))
            self._blocks.clear()
            self._cut_back()
            self._index = item
            return
        fault = find_fault(stop)
        if not self._is_consequence(stop, fault):
            self._report(fault)
        self._last_fault_at = self._index
        if stop.is_at_end or not self._can_go_on:
            self._index = len(self._tokens)
        else:
            self._mend(stop, fault)
            self._resumed_at = self._index

    def _mend(self, stop: Stop, fault: Diagnostic) -> None:
        """Take what is missing, leave out what is too much, or else go on behind the statement or item."""
        if fault.code == "missing-semicolon" or (self._is_behind_open_string() and ";" in stop.possible):
            self._insert(";")
        elif fault.code == "unclosed-bracket" and stop.open_bracket is not None:
            self._insert(CLOSED_BY[stop.open_bracket.value])
        elif "{" in stop.possible and self._n_braces_missing < 0:
            self._n_braces_missing += 1
            self._insert("{")
            self._blocks.append(_OpenBlock(self._index - 1, len(self._machine.parser_state.value_stack)))
        elif stop.token.value == "{" and self._n_braces_missing > 0:
            self._n_braces_missing -= 1
            self._index += 1
            if stop.list_here is None:
                self._skip()
        else:
            self._skip()

    def _is_behind_open_string(self) -> bool:
        return self._index > 0 and self._tokens[self._index - 1].kind == "open_string"

    def _is_consequence(self, stop: Stop, fault: Diagnostic) -> bool:
        """Whether a fault may be but what another one left behind."""
        if not self._faults:
            return False
        is_in_a_list = stop.list_here is not None
        is_about_blocks = is_in_a_list or stop.is_at_end or fault.code in {"unclosed-block", "stray-bracket"}
        return (
            self._is_behind_open_string()
            or self._index <= self._last_fault_at + 1
            or (self._index == self._resumed_at and is_in_a_list and not stop.is_word)
            or fault.code == self._faults[-1].code == "misplaced-word"
            or (is_about_blocks and not self._are_blocks_sure)
        )

    def _report(self, fault: Diagnostic) -> None:
        if fault not in self._faults:  # a token is taken once more when something was missing before it
            self._faults.append(fault)
        self._last_fault_at = self._index
        self._are_blocks_sure = self._are_braces_even

    def _item_in_a_block(self) -> int | None:
        """The token at which an item starts inside of a block, if braces are missing; else None."""
        if not self._blocks or not self._can_go_on or self._n_braces_missing <= 0:
            return None
        for index in (self._index, self._index - 1):
            before = self._tokens[index - 1]
            is_start = before.value in {";", "{", "}"} or before.span.line < self._tokens[index].span.line
            if index > self._blocks[-1].brace and is_start and starts_item(self._tokens, index):
                return index
        return None

    def _insert(self, sign: str) -> None:
        """Take a sign that is missing before the present token."""
        end = self._tokens[self._index - 1].span.stop
        token = Token("sign", sign, Span(self._tokens[0].span.source, end, end))
        token.type = terminals()[sign]
        self._machine.feed_token(token)

    def _cut_back(self) -> None:
        """Forget what the parser has seen since the innermost open ``{``."""
        height = self._blocks[-1].height if self._blocks else 0
        state = self._machine.parser_state
        del state.value_stack[height:]
        del state.state_stack[height + 1 :]

    def _skip(self) -> None:
        """Go on behind the statement or item in which the fault is, its blocks included."""
        self._cut_back()
        depth, last = 0, len(self._tokens) - 1
        while self._index < last:
            sign, following = self._tokens[self._index].value, self._tokens[self._index + 1].value
            if sign == "}" and depth == 0:
                if not self._blocks:
                    self._skip_to_item()
                return
            depth += {"{": 1, "}": -1}.get(sign, 0)
            self._index += 1
            if depth == 0 and (sign == ";" or (sign == "}" and following not in _BEHIND_A_BLOCK)):
                return

    def _skip_to_item(self) -> None:
        """Go on behind a ``}`` that closes nothing, where an item starts for sure."""
        self._index += 1
        while self._index < len(self._tokens) - 1:
            before = self._tokens[self._index - 1].value
            if before in {";", "}"} and starts_item(self._tokens, self._index):
                return
            self._index += 1
