"""From the place where the parser stopped to a fault in the user's words.

In comes a `stop.Stop`; out goes one `Diagnostic` of `diagnostics/catalogue.py`: that of the first of
`_CASES` that knows what is meant, or else what could stand there. Called by `reading.py`, which then goes
on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from serq_lab.diagnostics import catalogue
from serq_lab.diagnostics.catalogue import code, did_you_mean, listed, quoted
from serq_lab.diagnostics.diagnostic import Diagnostic
from serq_lab.syntax.forms import ANALOGUES, FORMS, PART_FORMS, WORD_OPERATORS
from serq_lab.syntax.stop import (
    AGGREGATES,
    CLOSED_BY,
    COMPARATORS,
    END,
    ITEMS,
    LISTS,
    NAME,
    NUMBER,
    OPENED_BY,
    OPERATORS,
    POOL_OPTIONS,
    STATEMENTS,
    STRING,
    Stop,
    head_of_block,
    index_of_opening,
)


def find_fault(stop: Stop) -> Diagnostic:
    """The fault of a text at the place where the parser stopped."""
    for case in _CASES:
        fault = case(stop)
        if fault is not None:
            return fault
    hint = "write `else { branch (...) { ... } }`" if stop.before == "else" else _form(stop)
    return catalogue.expected(_possible(stop), stop.found, stop.token.span, stop.before, hint)


def _form(stop: Stop) -> str | None:
    """How the construct is written in which the parser stopped, unless it stopped inside an expression."""
    head = head_of_block(stop.tokens, stop.index).value
    form = PART_FORMS.get(stop.before or "") or FORMS.get(head)
    is_in_brackets = stop.open_bracket is not None and stop.open_bracket.value != "{"
    is_setting = head == "run" and not stop.blocks
    if form is None or stop.is_operator_possible or is_in_brackets or is_setting:
        return None
    return f"write it as in {code(form)}"


def unclosed_block(stop: Stop, item: int) -> Diagnostic:
    """The fault of a block in which the item at token `item` starts, or the text ends."""
    brace = stop.blocks[-1]
    head = head_of_block(stop.tokens, brace).value
    found = quoted(stop.tokens[item].value) if stop.tokens[item].value else END
    return catalogue.unclosed_block(stop.tokens[brace].span, head, stop.token.span, found)


# --------------------------------------------------- one function for each thing that can be meant


def _token_of_no_kind(stop: Stop) -> Diagnostic | None:
    if stop.token.kind == "unknown":
        return catalogue.unknown_character(stop.token.span)
    return None


def _comma_before_bracket(stop: Stop) -> Diagnostic | None:
    if stop.previous is not None and stop.previous.value == "," and stop.token.value in OPENED_BY:
        return catalogue.trailing_comma(stop.previous.span, stop.token.span)
    return None


def _equals(stop: Stop) -> Diagnostic | None:
    token = stop.token
    if token.value == "=" and stop.is_operator_possible:
        return catalogue.lone_equals(token.span)
    if "=" not in stop.possible:
        return None
    if token.value == "==":
        return catalogue.no_double_equals(token.span, "==")
    following = stop.tokens[stop.index + 1 :][:1]
    if token.value in OPERATORS | {":"} and following and following[0].value == "=":
        return catalogue.no_double_equals(token.span.to(following[0].span), token.value + "=")
    return None


def _second_comparison(stop: Stop) -> Diagnostic | None:
    if stop.token.value not in COMPARATORS or not stop.is_operator_possible or "<" in stop.possible:
        return None
    left, sign, right = stop.values[-3:]
    third, *behind = stop.tokens[stop.index + 1 : stop.index + 3]
    is_short = third.kind in {"word", "number"} and behind[0].value not in {"+", "-", "*", "/", "^", "(", "["}
    second = f"{stop.token.value} {third.value if is_short else '...'}"
    return catalogue.chained_comparison(stop.token.span, left.span.text, sign.value, right.span.text, second)


def _operator_in_words(stop: Stop) -> Diagnostic | None:
    word, previous = stop.token.value.lower(), stop.previous
    if stop.is_operator_possible and word in WORD_OPERATORS and not stop.starts_line:
        return catalogue.word_operator(stop.token.span, WORD_OPERATORS[word])
    if previous is not None and previous.value.lower() == "not" and previous.type == "NAME":
        return catalogue.word_operator(previous.span, "!")
    return None


def _aggregate(stop: Stop) -> Diagnostic | None:
    previous = stop.previous
    if previous is None or previous.type != "NAME" or previous.value not in AGGREGATES:
        return None
    if not stop.is_word or stop.starts_line or not stop.is_operator_possible:
        return None
    after = stop.tokens[stop.index + 1]
    return catalogue.aggregate_without_in(after.span, previous.value, stop.token.value)


def _member(stop: Stop) -> Diagnostic | None:
    name = stop.previous
    if stop.token.value != "[" or not stop.is_operator_possible or name is None or name.type != "NAME":
        return None
    last = next((token for token in stop.tokens[stop.index :] if token.value == "]"), stop.token)
    return catalogue.member_in_expression(name.span.to(last.span), name.value)


def _word_in_a_list(stop: Stop) -> Diagnostic | None:
    if stop.list_here is None:
        return None
    token, (noun, words) = stop.token, stop.list_here
    if token.value == ";":
        return catalogue.useless_semicolon(token.span)
    if token.value in OPENED_BY and stop.open_bracket is None:
        return catalogue.stray_bracket(token.span)
    if not stop.is_word:
        return catalogue.expected(noun, stop.found, token.span, None, f"it starts with {listed(words)}")
    home = next((home for home, its_words in LISTS.values() if token.value in its_words), None)
    analogue = _assignment(stop) or (ANALOGUES.get(token.value) if words is STATEMENTS else None)
    if home is not None:
        opened = stop.tokens[stop.blocks[-1]].span if stop.blocks else None
        return catalogue.misplaced_word(token.value, token.span, home, noun, opened, analogue)
    possible = [*words, *sorted(word for word in stop.possible if word.isidentifier() and word not in words)]
    if words is POOL_OPTIONS:
        after = stop.tokens[stop.index + 1].span
        return catalogue.unknown_pool_option(token.value, token.span, after, possible)
    return catalogue.unknown_word(token.value, token.span, noun, possible, analogue)


def _assignment(stop: Stop) -> str | None:
    """What to write for ``a = 1;`` without the word that it starts with."""
    if stop.list_here is None or stop.tokens[stop.index + 1].value != "=":
        return None
    word = {ITEMS: "let", STATEMENTS: "set"}.get(stop.list_here[1])
    return f"write {code(f'{word} {stop.token.value} = ...;')} to give it a value" if word else None


def _word_of_a_choice(stop: Stop) -> Diagnostic | None:
    if not stop.is_word or stop.choice_here is None:
        return None
    noun, words = stop.choice_here
    return catalogue.unknown_word(stop.token.value, stop.token.span, noun, words, None)


def _statement_in_place_of_an_operand(stop: Stop) -> Diagnostic | None:
    """``set a =`` with the next statement's first word taken for the operand."""
    if stop.index < 2 or stop.previous is None or stop.previous.type != "NAME":
        return None
    word, before = stop.previous, stop.tokens[stop.index - 2]
    is_first = word.span.line > before.span.line
    if is_first and word.value in {*STATEMENTS, *ITEMS, *POOL_OPTIONS} and before.kind != "word":
        return catalogue.expected("an expression", quoted(word.value), word.span, before.value)
    return None


def _bracket(stop: Stop) -> Diagnostic | None:
    opened, token = stop.open_bracket, stop.token
    if opened is None:
        return catalogue.stray_bracket(token.span) if token.value in OPENED_BY else None
    if opened.value == "{":
        return catalogue.stray_bracket(token.span) if token.value in {")", "]"} else None
    if token.value in {")", "]"} and OPENED_BY[token.value] != opened.value:
        return catalogue.wrong_bracket(opened.span, token.span)
    closing = CLOSED_BY[opened.value]
    is_statement_over = token.value in {";", "{", "}"} or stop.is_at_end or (stop.starts_line and stop.is_word)
    if closing in stop.possible and is_statement_over:
        return catalogue.unclosed_bracket(opened.span, token.span, stop.found)
    return None


def _end_in_a_block(stop: Stop) -> Diagnostic | None:
    return unclosed_block(stop, stop.index) if stop.is_at_end and stop.blocks else None


def _semicolon(stop: Stop) -> Diagnostic | None:
    if ";" not in stop.possible or stop.previous is None:
        return None
    noun, words = stop.list_around
    if stop.starts_line or stop.is_at_end or stop.token.value in {"}", *words}:
        return catalogue.missing_semicolon(noun.split()[1], stop.token.span, stop.previous.span)
    return None


def _comma_in_a_number(stop: Stop) -> Diagnostic | None:
    """``1,000``: digits in threes."""
    if stop.token.value != "," or stop.previous is None or not stop.is_operator_possible:
        return None
    before, after = stop.previous, stop.tokens[stop.index + 1]
    if not before.kind == after.kind == "number" or len(after.value) != 3:
        return None
    hint = f"write {code(f'{before.value}_{after.value}')}"
    return catalogue.expected(_possible(stop), stop.found, stop.token.span, stop.before, hint)


def _block_behind_a_call(stop: Stop) -> Diagnostic | None:
    """``if (x) {``: a statement that other languages have, taken for a call up to its block."""
    if stop.token.value != "{" or stop.previous is None or stop.previous.value != ")":
        return None
    opening = index_of_opening(stop.tokens, stop.index - 1)
    name, before = stop.tokens[opening - 1], stop.tokens[opening - 2].value if opening > 1 else ""
    if name.type != "NAME" or before not in {";", "{", "}"}:
        return None
    return catalogue.unknown_word(name.value, name.span, "a statement", STATEMENTS, ANALOGUES.get(name.value))


def _nearly_a_word(stop: Stop) -> Diagnostic | None:
    """``growng`` where ``growing`` can stand, unless a statement may start with it behind a lost ``;``."""
    is_another_word = any(stop.token.value in words for _, words in LISTS.values())
    if not stop.is_word or stop.starts_line or is_another_word:
        return None
    near = did_you_mean(stop.token.value, filter(str.isidentifier, stop.possible), code)
    if near is None:
        return None
    return catalogue.expected(_possible(stop), stop.found, stop.token.span, stop.before, near)


def _parenthesis(stop: Stop) -> Diagnostic | None:
    if "(" not in stop.possible or stop.is_operator_possible or stop.is_expression_wanted:
        return None
    if stop.token.kind not in {"word", "number"} and stop.token.value not in {"-", "!", "~"}:
        return None
    is_alone = stop.tokens[stop.index + 1].value in {";", "{", "}", ","}
    hint = f"put parentheses round it: {code(f'({stop.token.value})' if is_alone else f'({stop.token.value} ...)')}"
    return catalogue.expected("`(`", stop.found, stop.token.span, stop.before, hint)


def _sign_of_a_number(stop: Stop) -> Diagnostic | None:
    if stop.is_expression_wanted and stop.token.value == "+":
        return catalogue.expected("an expression", '"+"', stop.token.span, stop.before, "take the sign away")
    return None


def _expression(stop: Stop) -> Diagnostic | None:
    if stop.is_expression_wanted:
        hint = f"take {stop.found} away" if stop.token.value in {":", "="} else None
        if stop.before == stop.token.value == "*":
            hint = "write `a ^ b` for a power"
        return catalogue.expected("an expression", stop.found, stop.token.span, stop.before, hint)
    return None


def _possible(stop: Stop) -> str:
    """What can stand here, in words."""
    possible, parts = set(stop.possible), []
    if stop.is_operator_possible:
        parts.append("an operator")
        possible -= OPERATORS
    possible -= {"[", "("} if stop.is_operator_possible else set()
    if NAME in possible:
        parts.append(_name_of_what(stop))
    parts += [part for part in (NUMBER, STRING) if part in possible]
    spelled = sorted(possible - {NAME, NUMBER, STRING, END})
    parts += [code(word) for word in spelled]
    if END in possible:
        parts.append(END)
    return f"{', '.join(parts[:-1])} or {parts[-1]}" if len(parts) > 1 else parts[0]


def _name_of_what(stop: Stop) -> str:
    word = stop.before
    if word in {
        "hold",
        "grow",
        "drop",
        "release",
        "load",
        "growing",
        "memory",
        "spill",
        "from",
        "to",
        "lease",
    }:
        return "the name of a pool"
    if word in {"via", "on"} or (word == "run" and stop.blocks):
        return "the name of a stage"
    return NAME


_CASES: Sequence[Callable[[Stop], Diagnostic | None]] = (
    _token_of_no_kind,
    _end_in_a_block,
    _comma_before_bracket,
    _equals,
    _second_comparison,
    _operator_in_words,
    _aggregate,
    _member,
    _word_in_a_list,
    _word_of_a_choice,
    _statement_in_place_of_an_operand,
    _bracket,
    _block_behind_a_call,
    _nearly_a_word,
    _semicolon,
    _parenthesis,
    _sign_of_a_number,
    _comma_in_a_number,
    _expression,
)
