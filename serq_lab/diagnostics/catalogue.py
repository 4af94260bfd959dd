"""The faults of a text's form, one function for each kind: what is wrong, where, and what to write instead.

In come the words and places that `syntax/syntax_faults.py` has found out; out go `Diagnostic`s for
`render.py`. What is wrong with a program's meaning stands in `semantics/faults.py`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches

from serq_lab.diagnostics.diagnostic import Diagnostic, Label
from serq_lab.source import SourceText, Span

_LONGEST_QUOTE = 40
_MANY_WORDS = 7
_CLOSED_BY = {"(": ")", "[": "]", "{": "}"}


def quoted(text: str) -> str:
    """A piece of the program as messages quote it: in double quotes, on one line, and not too long."""
    shown = " ".join(text.split())
    if not shown.isprintable():
        shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in shown)
    if len(shown) > _LONGEST_QUOTE:
        shown = shown[: _LONGEST_QUOTE - 3] + "..."
    return f'"{shown}"'


def code(text: str) -> str:
    """A word or sign of the language, or something to write, as messages show it: in backticks."""
    return f"`{text}`"


def listed(words: Iterable[str], last: str = "or") -> str:
    """Words of the language one after the other: ```a`, `b` or `c```."""
    *front, back = [code(word) for word in words]
    return f"{', '.join(front)} {last} {back}" if front else back


def did_you_mean(name: str, candidates: Iterable[str], shown: Callable[[str], str] = quoted) -> str | None:
    """A hint with the nearest of the words that would be valid, or None when none is near."""
    names = sorted(set(candidates))
    for candidate in names:
        if candidate.lower() == name.lower():
            return f"did you mean {shown(candidate)}?"
    near = get_close_matches(name, names, n=1, cutoff=0.66)
    return f"did you mean {shown(near[0])}?" if near else None


# ---------------------------------------------------------------- the text as a whole


def text_too_long(source: SourceText, limit: int) -> Diagnostic:
    size = len(source.text.encode("utf-8", "surrogatepass")) / 1e6
    message = f"the text is {size:.1f} MB long; a program has at most {limit / 1e6:.0f} MB"
    return Diagnostic("text-too-long", message, Span(source, 0, 0), (), "is this the right file?")


def not_a_text(span: Span) -> Diagnostic:
    what = "a NUL character" if span.text == "\0" else f"half a character (U+{ord(span.text):04X})"
    message = f"there is {what} here, so this is no text"
    return Diagnostic("not-a-text", message, span, (), "is this the right file? A program is text in UTF-8")


def nested_too_deeply(span: Span, limit: int) -> Diagnostic:
    message = f"brackets and operators are nested deeper than {limit} levels here"
    return Diagnostic("nested-too-deeply", message, span, (), "move a part of it into a `let` or a `def`")


# ---------------------------------------------------------------- words, numbers, characters


def unclosed_comment(span: Span) -> Diagnostic:
    return Diagnostic("unclosed-comment", "this comment is not closed", span, (), "put `*/` at its end")


def unclosed_string(span: Span) -> Diagnostic:
    return Diagnostic("unclosed-string", "this file name is not closed", span, (), f'write `{span.text.rstrip("; ")}"`')


def bad_number(span: Span) -> Diagnostic:
    digits = "".join(c for c in span.text if c.isdecimal() or c == ".").strip(".")
    hint = "numbers look like `10`, `1_000`, `.5`, `2e5` or `1.5E-3`"
    rest = span.text[len(digits) :]
    if len(span.text) < 20 and span.text.startswith(digits) and rest.isidentifier():
        hint = f"write {code(f'{digits} * {rest}')} for a product; {hint}"
    return Diagnostic("bad-number", f"{quoted(span.text)} is not a number", span, (), hint)


_INSTEAD = {
    "%": "write `a - b * floor(a / b)` for the rest of a division, `x / 100` for a percentage",
    "#": "a comment starts with `//`",
    "'": 'a file name stands in double quotes: `"turns.csv"`',
    "“": 'a file name stands in straight quotes: `"turns.csv"`',
    "”": 'a file name stands in straight quotes: `"turns.csv"`',
    "&": 'write `&&` for "and"',
    "|": 'write `||` for "or"',
    "≤": "write `<=`",
    "≥": "write `>=`",
    "≠": "write `!=`",
    "×": "write `*`",
    "·": "write `*`",
    "÷": "write `/`",
    "−": "write `-`",
    "–": "write `-`",
    ".": "a name has no dots; write `_`, or read the state of a pool as in `free(p)`",
}


def unknown_character(span: Span) -> Diagnostic:
    character = span.text
    shown = quoted(character)
    if not character.isprintable() or character.isspace():
        shown = f"U+{ord(character):04X} ({unicodedata.name(character, 'no character').lower()})"
    message = f"the language has no sign {shown}"
    return Diagnostic("unknown-character", message, span, (), _INSTEAD.get(character, "take it away"))


def reserved_word(word: str, span: Span, what: str) -> Diagnostic:
    message = f"{quoted(word)} is a word of the language and cannot name {what}"
    return Diagnostic("reserved-word", message, span, (), f"call it {code(word + '_')}, for example")


# ---------------------------------------------------------------- words where they do not belong


def unknown_word(word: str, span: Span, noun: str, possible: Sequence[str], analogue: str | None) -> Diagnostic:
    """A word where only a few can stand; `noun` with its article says of what kind they are.

    `analogue` is the hint for a word that other languages use; without one, the nearest word or all of them.
    """
    hint = analogue or _near_or_possible(word, possible)
    return Diagnostic("unknown-word", f"{quoted(word)} is not {noun}", span, (), hint)


def _near_or_possible(word: str, possible: Sequence[str]) -> str:
    """The nearest of a few words and all of them, of many the nearest or all."""
    near, all_of_them = did_you_mean(word, possible, code), f"possible are {listed(possible, 'and')}"
    if near is None:
        return all_of_them
    return near if len(possible) > _MANY_WORDS else f"{near} {all_of_them.capitalize()}"


def unknown_pool_option(word: str, span: Span, after: Span, possible: Sequence[str]) -> Diagnostic:
    """As `unknown_word`, but at what follows the word, as the reference has it; the word has a label."""
    hint = _near_or_possible(word, possible)
    message = f"{quoted(word)} is not an option of a pool"
    return Diagnostic("unknown-word", message, after, (Label(span, "there is no such option"),), hint)


def misplaced_word(
    word: str, span: Span, noun: str, here: str, opened: Span | None, analogue: str | None
) -> Diagnostic:
    """A word of the language that belongs elsewhere: `noun` is what it starts, `here` what can stand here.

    `analogue` is the hint if something like it can stand here.
    """
    labels = () if opened is None else (Label(opened, "inside this block"),)
    message = f"{quoted(word)} starts {noun}, but {here} must stand here"
    return Diagnostic("misplaced-word", message, span, labels, analogue or f"move it to where {noun} can stand")


def useless_semicolon(span: Span) -> Diagnostic:
    return Diagnostic("useless-semicolon", 'this ";" ends nothing', span, (), "take it away")


def expected(what: str, found: str, span: Span, after: str | None, hint: str | None = None) -> Diagnostic:
    """The general case; `found` is quoted already, or ``"the end of the text"``."""
    where = f" after {quoted(after)}" if after else ""
    return Diagnostic("unexpected", f"expected {what}{where}, found {found}", span, (), hint)


# ---------------------------------------------------------------- what is missing or too much


def missing_semicolon(what: str, span: Span, end: Span) -> Diagnostic:
    """`span` is what stands where ``;`` should; `end` the end of what it should end."""
    labels = (Label(Span(end.source, end.stop, end.stop), "put `;` here"),)
    return Diagnostic("missing-semicolon", f"expected `;` after the {what}", span, labels)


def unclosed_bracket(opened: Span, span: Span, found: str) -> Diagnostic:
    closing = _CLOSED_BY[opened.text]
    message = f"expected {code(closing)} before {found}"
    hint = f"put {code(closing)} where what {quoted(opened.text)} opens ends"
    return Diagnostic("unclosed-bracket", message, span, (Label(opened, "opened here"),), hint)


def unclosed_block(opened: Span, head: str, span: Span, found: str) -> Diagnostic:
    """`head` is the word that the block belongs to; `found` what cannot stand in it, quoted."""
    message = f'the "{{" of {quoted(head)} is not closed before {found}'
    labels = (Label(opened, "opened here"),)
    return Diagnostic("unclosed-block", message, span, labels, f"put `}}` before {found}")


def stray_bracket(span: Span) -> Diagnostic:
    message = f"this {quoted(span.text)} closes nothing"
    return Diagnostic("stray-bracket", message, span, (), "take it away, or open it where it belongs")


def wrong_bracket(opened: Span, span: Span) -> Diagnostic:
    closing = _CLOSED_BY[opened.text]
    message = f"{quoted(span.text)} does not close {quoted(opened.text)}"
    return Diagnostic("wrong-bracket", message, span, (Label(opened, "opened here"),), f"write {code(closing)}")


def trailing_comma(comma: Span, span: Span) -> Diagnostic:
    message = f'something must stand between "," and {quoted(span.text)}'
    return Diagnostic("trailing-comma", message, span, (Label(comma, 'take this "," away'),))


# ---------------------------------------------------------------- expressions


def chained_comparison(span: Span, left: str, sign: str, middle: str, second: str) -> Diagnostic:
    """`left sign middle` is the first comparison, `span` the sign of the next, `second` the rest of it."""
    hint = f"write {code(f'{left} {sign} {middle} && {middle} {second}')}"
    return Diagnostic("chained-comparison", "comparisons do not chain", span, (), hint)


def lone_equals(span: Span) -> Diagnostic:
    message = "`=` gives a value to a name; it does not compare"
    return Diagnostic("lone-equals", message, span, (), "write `==` to compare")


def no_double_equals(span: Span, wrong: str) -> Diagnostic:
    message = f"expected `=`, found {quoted(wrong)}"
    return Diagnostic("no-double-equals", message, span, (), "write `=` to give a value")


def word_operator(span: Span, sign: str) -> Diagnostic:
    message = f"the language has no operator {quoted(span.text)}"
    return Diagnostic("word-operator", message, span, (), f"write {code(sign)}")


def aggregate_without_in(span: Span, word: str, variable: str) -> Diagnostic:
    message = f"expected `in` after {quoted(f'{word} {variable}')}"
    return Diagnostic("aggregate-without-in", message, span, (), f"write `{word} {variable} in COUNT (expression)`")


def member_in_expression(span: Span, name: str) -> Diagnostic:
    message = f"{quoted(f'{name}[...]')} is a pool or a stage, not a number"
    pool, stage = code(f"free({name}[i])"), code(f"queue({name}[i])")
    hint = f"read what it shows, as in {pool} of a pool or {stage} of a stage"
    return Diagnostic("member-in-expression", message, span, (), hint)
