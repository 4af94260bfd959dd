"""Every kind of fault of a text's form: its place, its words, and that it is reported once."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serq_lab.diagnostics.diagnostic import Diagnostic
from serq_lab.diagnostics.errors import ProgramError
from serq_lab.diagnostics.render import in_order
from serq_lab.source import SourceText
from serq_lab.syntax.grammar import words
from serq_lab.syntax.nodes import Program
from serq_lab.syntax.parser import parse, parse_expression
from serq_lab.syntax.printer import print_program
from serq_lab.syntax.reading import MOST_FAULTS
from serq_lab.syntax.scanner import scan
from tests.syntax.strategies import programs

BAD = Path(__file__).parents[1] / "parity" / "bad"
PLACES = json.loads((BAD / "bad.json").read_text(encoding="utf-8"))
OF_FORM = [
    "missing_semicolon",
    "unclosed_block",
    "unclosed_paren",
    "chained_comparison",
    "percent_operator",
    "trailing_comma",
    "unknown_item",
    "unknown_statement",
    "unknown_pool_option",
    "unknown_stage_kind",
    "unknown_arrival",
    "unterminated_comment",
]


def faults(text: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(ProgramError) as caught:
        parse(SourceText(text, "x.sq"))
    return caught.value.diagnostics


def fault(text: str) -> Diagnostic:
    (only,) = faults(text)
    return only


def underlined(one: Diagnostic) -> str:
    assert one.span is not None
    return one.span.text


@pytest.mark.parametrize("name", OF_FORM)
def test_places_of_the_bad_programs(name: str) -> None:
    place = PLACES[f"syntax_{name}"]
    span = fault((BAD / f"syntax_{name}.sq").read_text(encoding="utf-8")).span
    assert span is not None
    assert (span.line, span.column) == (place["line"], place["column"])


@pytest.mark.parametrize("name", sorted(set(PLACES) - {f"syntax_{name}" for name in OF_FORM}))
def test_the_other_bad_programs_have_no_fault_of_form(name: str) -> None:
    parse(SourceText((BAD / f"{name}.sq").read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("text", "code", "place", "part"),
    [
        # words
        ("machine s : fifo;", "unknown-word", "machine", '"machine" is not an item of a program'),
        ("sesion { end; }", "unknown-word", "sesion", "hint: did you mean `session`?"),
        ("session { observ x = 1; }", "unknown-word", "observ", "hint: did you mean `observe`?"),
        ("session { wait 3; }", "unknown-word", "wait", "stage pause : delay;"),
        (
            "session { if (x) { end; } else { turn; } }",
            "unknown-word",
            "if",
            "branch (condition) { ... } else { ... }",
        ),
        ("session { hold p (1) { } lease p (1) cache (2); }", "unknown-word", "cache", "behind the block"),
        ("pool p { sie 3; }", "unknown-word", "3", '"sie" is not an option of a pool'),
        ("pool p { evict fifo; }", "unknown-word", "fifo", '"fifo" is not an order of eviction'),
        ("pool p { preempt all; }", "unknown-word", "all", "possible are `none` and `lifo`"),
        ("pool p { queue lifo; }", "unknown-word", "lifo", '"lifo" is not an order of a queue'),
        ("stage e : step { cots 1; }", "unknown-word", "cots", "hint: did you mean `cost`?"),
        ("stage e : step { serve random; }", "unknown-word", "random", "`decode first`, `exclusive prefill`"),
        ("stage e : lifo;", "unknown-word", "lifo", '"lifo" is not a kind of stage'),
        (
            "workload { arrive pareto(2); }",
            "unknown-word",
            "pareto",
            "`poisson`, `renewal`, `closed`, `batch` and",
        ),
        (
            "workload { foo; }",
            "unknown-word",
            "foo",
            "`arrive`, `trace`, `init`, `turn`, `session` and `hidden`",
        ),
        ("run { horizn 3; }", "unknown-word", "horizn", "hint: did you mean `horizon`?"),
        ("share fair;", "unknown-word", "fair", "possible are `maxmin` and `bottleneck`"),
        (
            "session { let a = 1; }",
            "misplaced-word",
            "let",
            '"let" starts an item of a program, but a statement',
        ),
        ("set a = 1;", "misplaced-word", "set", '"set" starts a statement, but an item of a program'),
        ("session { hold p (1) resrve (2) { } }", "unexpected", "resrve", "did you mean `reserve`?"),
        ("session { prefill 3 growng kv; }", "unexpected", "growng", "did you mean `growing`?"),
        ("session { branch wth (1) { } }", "unexpected", "wth", "did you mean `with`?"),
        (
            "stage e : lifo;",
            "unknown-word",
            "lifo",
            "did you mean `fifo`? Possible are `fifo`, `ps`, `delay` and",
        ),
        ("def set(x) = x;", "reserved-word", "set", '"set" is a word of the language'),
        # what is missing or too much
        ("session {\n  set a = 1\n  end;\n}", "missing-semicolon", "end", "expected `;` after the statement"),
        ("session { end }", "missing-semicolon", "}", "put `;` here"),
        ("pool p { cap 3 }", "missing-semicolon", "}", "expected `;` after the option"),
        ("stage s : fifo\nshare maxmin;", "missing-semicolon", "share", "expected `;` after the item"),
        ("run { horizon 3 seed 1; }", "missing-semicolon", "seed", "expected `;` after the setting"),
        ("session { run s (1 + (2); }", "unclosed-bracket", ";", 'expected `)` before ";"'),
        ("session { hold p (1 { end; } }", "unclosed-bracket", "{", 'expected `)` before "{"'),
        ("session { run s[1 (2); }", "unexpected", "(", "expected an operator or `]`"),
        ("session { run s (1]; }", "wrong-bracket", "]", '"]" does not close "("'),
        ("session { run s (1)); }", "stray-bracket", ")", 'this ")" closes nothing'),
        ("session { end; } }", "stray-bracket", "}", 'this "}" closes nothing'),
        (
            "session {\n  run s (1);\nrun { horizon 3; }",
            "unclosed-block",
            "{",
            'the "{" of "session" is not closed',
        ),
        ("session {\n  end;\nlet a = 1;\n", "unclosed-block", "let", 'hint: put `}` before "let"'),
        ("pool p {\n  cap 3;\nstage s : fifo;", "unclosed-block", "stage", 'the "{" of "pool" is not closed'),
        ("session { loop { end; }", "unclosed-block", "", "not closed before the end of the text"),
        ("session { ; }", "useless-semicolon", ";", 'this ";" ends nothing'),
        ("pool p { };", "useless-semicolon", ";", "take it away"),
        ("pool p { queue by (a, ); }", "trailing-comma", ")", 'between "," and ")"'),
        # expressions
        ("S = 1;", "unknown-word", "S", "write `let S = ...;` to give it a value"),
        ("session { t0 = now; }", "unknown-word", "t0", "write `set t0 = ...;` to give it a value"),
        ("session { set = 1; }", "unexpected", "=", "write it as in `set name = value;`"),
        ("session { let a = 1; }", "misplaced-word", "let", "hint: write `set name = value;`"),
        ("session { acquire p (1) { } }", "unknown-word", "acquire", "write `hold p (units) { ... }`"),
        ("session { hold(p, 1) { } }", "unexpected", "(", "write it as in `hold p (units) { ... }`"),
        ("session { observe now - t0; }", "unexpected", "-", "write it as in `observe name = value;`"),
        ("session { run s t; }", "unexpected", "t", "put parentheses round it: `(t)`"),
        ("stage s = fifo;", "unexpected", "=", "write it as in `stage s : fifo;`"),
        ("stage s : ps;", "unexpected", ";", "write it as in `ps(1)`"),
        ("session customer { }", "unexpected", "customer", "write it as in `session { ... }`"),
        ("run { horizon 1,000; }", "unexpected", ",", "write `1_000`"),
        ("let a = b ** 2;", "unexpected", "*", "write `a ^ b` for a power"),
        ("let a = p.free;", "unknown-character", ".", "as in `free(p)`"),
        ("let a = 1 < 2 < 3;", "chained-comparison", "<", "write `1 < 2 && 2 < 3`"),
        ("let a = b + 1 == c != d + 1;", "chained-comparison", "!=", "write `b + 1 == c && c != ...`"),
        ("let a = 1 < 2 <", "chained-comparison", "<", "write `1 < 2 && 2 < ...`"),
        ("let a = -b < c[1] <= d;", "member-in-expression", "c[1]", "is a pool or a stage"),
        ("let a = f(b < 2 * c >= d * 2);", "chained-comparison", ">=", "write `b < 2 * c && 2 * c >= ...`"),
        ("session { branch (a = 1) { } }", "lone-equals", "=", "write `==` to compare"),
        ("session { set a = f(b = 1); }", "lone-equals", "=", "write `==` to compare"),
        ("let a == 1;", "no-double-equals", "==", 'expected `=`, found "=="'),
        ("let a := 1;", "no-double-equals", ":=", 'expected `=`, found ":="'),
        ("session { set a += 1; }", "no-double-equals", "+=", 'expected `=`, found "+="'),
        ("let a = b and c;", "word-operator", "and", "write `&&`"),
        ("let a = b or c;", "word-operator", "or", "write `||`"),
        ("let a = not b;", "word-operator", "not", "write `!`"),
        ("let a = max j of 3 (j);", "aggregate-without-in", "of", 'expected `in` after "max j"'),
        ("let a = kv[1] + 2;", "member-in-expression", "kv[1]", "is a pool or a stage, not a number"),
        ("let a = ;", "unexpected", ";", 'expected an expression after "=", found ";"'),
        ("let a = +1;", "unexpected", "+", "take the sign away"),
        ("pool p { cap: 3; }", "unexpected", ":", 'hint: take ":" away'),
        (
            "session {\n  set a =\n  set b = 1;\n}",
            "unexpected",
            "set",
            'expected an expression after "=", found "set"',
        ),
        ("session { choose x in 3 by a; }", "unexpected", "a", "put parentheses round it"),
        ("session { branch a > 1 { end; } }", "unexpected", "a", 'expected `(` after "branch"'),
        ("session { branch (a) { } else branch (b) { } }", "unexpected", "branch", "write `else {"),
        ("session { hold 3 (1) { } }", "unexpected", "3", "expected the name of a pool"),
        ("session { run (1); }", "unexpected", "(", "expected the name of a stage"),
        ("session { set 1 = a; }", "unexpected", "1", 'expected a name after "set"'),
        ("use lib;", "unexpected", "lib", "expected a file name in double quotes"),
        ("let a = b c;", "unexpected", "c", 'expected an operator or `;` after "b", found "c"'),
        ("let a = 1", "missing-semicolon", "", "expected `;` after the item"),
        ("(", "unexpected", "(", 'expected an item of a program, found "("'),
        # characters, numbers, strings, comments
        ("let a = 7 % 2;", "unknown-character", "%", "a - b * floor(a / b)"),
        ("let a = b ≤ c;", "unknown-character", "≤", "write `<=`"),
        ("let a = 1; # b\n", "unknown-character", "#", "a comment starts with `//`"),
        ("let a = b.c;", "unknown-character", ".", "a name has no dots"),
        ("use 'lib.sq';", "unknown-character", "'", "double quotes"),
        ("let a = 3a;", "bad-number", "3a", "write `3 * a`"),
        ("let a = 1..2;", "bad-number", "1..2", '"1..2" is not a number'),
        ('share "x\n;', "unclosed-string", '"x', "this file name is not closed"),
        ('let a = 1\n"x\n;', "unclosed-string", '"x', "this file name is not closed"),
        ('use "lib.sq;\nlet a = 1;', "unclosed-string", '"lib.sq;', 'write `"lib.sq"`'),
        ("let a = 1; /* b\nlet c = 2;", "unclosed-comment", "/*", "this comment is not closed"),
        ("session { set a = 1; /* b } run { ", "unclosed-comment", "/*", "put `*/` at its end"),
    ],
)
def test_one_fault_in_the_words_of_the_user(text: str, code: str, place: str, part: str) -> None:
    found = fault(text)
    assert (found.code, underlined(found)) == (code, place)
    assert part in str(ProgramError([found]))


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("let a = ; let b = * 2; let c = 3;", [";", "*"]),
        ("session { observ x = 1; sett y = 2; set z = 3; }", ["observ", "sett"]),
        ("session { hold p (1 { set a = ; } cache (2) } pool q { size 3; }", ["{", ";", "3"]),
        ("session { foo x { set a = ; } else { } end }", ["foo", "}"]),
        ("session { end; } } set a = 1; } pool p { cap 3 }", ["}", "}"]),
        ("session {\n  set a = ;\nrun { horizon 3 }\n", [";", "{", "}"]),
        ("let a = 3a; let b = 1..2;", ["3a", "1..2"]),
        ("let a = 1 let b = 2 let c = 3;", ["let", "let"]),
        ("session { set a = “b”; set c = a ≤ b; }", ["“", "≤"]),
    ],
)
def test_faults_with_nothing_to_do_with_each_other_are_reported_together(text: str, places: list[str]) -> None:
    found = faults(text)
    assert [underlined(one) for one in found] == places
    assert list(found) == in_order(found)


def test_labels_say_where_it_began() -> None:
    found = fault("session {\n  run s (1);\nrun { horizon 3; }")
    assert [(label.span.line, label.span.text, label.text) for label in found.labels] == [(1, "{", "opened here")]
    found = fault("let a = (1 + (2 * 3);")
    assert [(label.span.column, label.text) for label in found.labels] == [(9, "opened here")]


def test_the_end_of_the_text_is_the_end_of_its_last_word() -> None:
    span = fault("session {\n  end;  \n\n// more\n").span
    assert span is not None
    assert (span.line, span.column) == (2, 7)


def test_there_are_never_more_than_ten() -> None:
    assert len(faults("let a = ; " * 50)) == MOST_FAULTS
    assert len(faults("let a = 3a; " * 50)) == MOST_FAULTS


def test_a_long_text_full_of_faults_is_given_up_soon() -> None:
    for text in ("set a = 1; " * 90_000, "}" * 100_000, "let a = 1 " * 90_000, "session { end; } ) " * 50_000):
        started = time.process_time()
        assert 1 <= len(faults(text)) <= MOST_FAULTS
        assert time.process_time() - started < 10


@pytest.mark.parametrize(
    ("text", "place", "part"),
    [
        ("1 + ", "", "expected an expression"),
        ("", "", "found the end of the text"),
        ("a;", ";", "the end of the text"),
        ("a)", ")", "closes nothing"),
        ("1 2", "2", "expected an operator"),
    ],
)
def test_faults_of_an_expression(text: str, place: str, part: str) -> None:
    with pytest.raises(ProgramError) as caught:
        parse_expression(SourceText(text))
    (found,) = caught.value.diagnostics
    assert underlined(found) == place
    assert part in found.message


INTERNAL = re.compile(r"__ANON|SEMICOLON|LBRACE|[LR]PAR|\$END|NAME|NUMBER|Token|Tree|Traceback|lark|_star")


def faults_of_any_text(text: str) -> tuple[Diagnostic, ...]:
    try:
        parse(SourceText(text))
    except ProgramError as error:
        return error.diagnostics
    return ()


def check_any_text(text: str) -> None:
    found = faults_of_any_text(text)
    assert len(found) <= MOST_FAULTS
    assert list(found) == in_order(found)
    for one in found:
        assert one.span is not None
        assert 0 <= one.span.start <= one.span.stop <= len(text)
        sentences = one.message + (one.hint or "")
        assert not INTERNAL.search(sentences)
        assert "\n" not in sentences


SIGNS = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    ":",
    "=",
    "==",
    "<",
    "+",
    "-",
    "*",
    "^",
    "!",
    "?",
    "~",
    "&&",
    "%",
]
OTHERS = ["a", "kv", "1", "2.5", "3a", '"x"', '"y', "\u00e9", "#", "/*", "*/", "//", "\n"]
SNIPPETS = st.sampled_from(SIGNS * 2 + OTHERS * 2 + sorted(words()))


@given(st.lists(SNIPPETS, max_size=40))
def test_any_row_of_words_and_signs_ends_in_a_tree_or_in_faults(pieces: list[str]) -> None:
    check_any_text(" ".join(pieces))


@given(st.text(max_size=80))
def test_any_text_ends_in_a_tree_or_in_faults(text: str) -> None:
    check_any_text(text)


@given(programs, st.data())
def test_a_program_with_a_token_lost_doubled_or_changed(tree: Program, data: st.DataObject) -> None:
    pieces = [token.value for token in scan(SourceText(print_program(tree))).tokens]
    for _ in range(data.draw(st.integers(1, 3))):
        where = data.draw(st.integers(0, len(pieces) - 1))
        pieces[where : where + data.draw(st.integers(0, 2))] = data.draw(st.lists(SNIPPETS, max_size=2))
        pieces.append("")
    check_any_text(" ".join(pieces))
