"""Canonical text: it parses to the same tree, it is its own canonical text, and it keeps every comment."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serq_lab.diagnostics.errors import ProgramError
from serq_lab.source import SourceText
from serq_lab.syntax import nodes
from serq_lab.syntax.parser import parse, parse_expression
from serq_lab.syntax.printer import print_expression, print_program
from serq_lab.syntax.scanner import scan
from tests.syntax.strategies import expressions, programs

PARITY = Path(__file__).parents[1] / "parity"


def formatted(text: str) -> str:
    return print_program(parse(SourceText(text)))


def check(text: str) -> None:
    tree = parse(SourceText(text))
    printed = print_program(tree)
    again = parse(SourceText(printed))
    assert again == tree
    assert print_program(again) == printed
    assert sorted(comment.text.rstrip() for comment in again.comments) == sorted(
        comment.text.replace("\r\n", "\n").rstrip() for comment in tree.comments
    )
    lines = printed.split("\n")
    assert lines[-1] == ""
    assert not any(one == two == "" for one, two in pairwise(lines))


@given(programs)
def test_printing_any_tree_and_parsing_gives_it_back(tree: nodes.Program) -> None:
    printed = print_program(tree)
    again = parse(SourceText(printed))
    assert again == tree
    assert print_program(again) == printed


@given(expressions)
def test_printing_any_expression_and_parsing_gives_it_back(tree: nodes.Expression) -> None:
    assert parse_expression(SourceText(print_expression(tree))) == tree


@given(
    programs,
    st.lists(st.sampled_from([" ", "\n", "\n\n\n", " // x\n", "/* y */", "\n// z\n\n", "/* a\n b */"]), min_size=1),
)
def test_comments_and_blank_lines_anywhere(tree: nodes.Program, blanks: list[str]) -> None:
    tokens = scan(SourceText(print_program(tree))).tokens
    blanks = [*blanks, " "]
    check("".join(f"{token.value} {blanks[number % len(blanks)]}" for number, token in enumerate(tokens)))


def readable(path: Path) -> bool:
    try:
        parse(SourceText(path.read_text(encoding="utf-8")))
    except ProgramError:
        return False
    return True


@pytest.mark.parametrize("path", sorted(filter(readable, PARITY.rglob("*.sq"))), ids=lambda path: path.name)
def test_every_program_of_the_corpus(path: Path) -> None:
    check(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("a+b*-c", "a + b * -c"),
        ("((a+b))*c", "(a + b) * c"),
        ("a-(b-c)", "a - (b - c)"),
        ("(a-b)-c", "(a - b) - c"),
        ("(a*b)+(c/d)", "a * b + c / d"),
        ("-(2^2)", "-2^2"),
        ("(-2)^(-1)", "(-2)^-1"),
        ("2^(3^2)", "2^3^2"),
        ("(2^3)^2", "(2^3)^2"),
        ("!(a)&&(b||c)", "!a && (b || c)"),
        ("!(a^b)", "!(a^b)"),
        ("(!a)^b", "!a^b"),
        ("!(-a)", "!-a"),
        ("(!-a)^b", "(!-a)^b"),
        ("-(-a)", "--a"),
        ("(a<b)==(c>=d)", "(a < b) == (c >= d)"),
        ("a?(b?c:d):(e?f:g)", "a ? b ? c : d : e ? f : g"),
        ("(a?b:c)?d:e", "(a ? b : c) ? d : e"),
        ("max j in (4) ((j))", "max j in 4 (j)"),
        ("sum j in(n+1)(queue(s[j]))", "sum j in (n + 1) (queue(s[j]))"),
        ("f(  ~ exp ( 1_000 ) ,.5 )", "f(~exp(1_000), .5)"),
    ],
)
def test_canonical_expressions(text: str, canonical: str) -> None:
    assert print_expression(parse_expression(SourceText(text))) == canonical


CANONICAL = """\
// A program in canonical form.
let C = 10; // memory units
let Rate = 0.5 * C;
use "lib.sq";
def f(x, y) = x + y;
def g() {
  set a = 1;
}

pool mem[2] { cap C; block 2; evict by (age, -size); preempt lifo; }
pool kv {
  cap inf;
  queue by (serial); // shortest first
  admit via eng;
  spill mem[0] via link (size) when (age > 1);
}
stage eng : step { budget 8; cost 1; memory kv; serve only (decoding) decode first; }
stage link : ps(2);
stage two : fifo(2);
stage one : fifo;
stage tool : delay;
share maxmin;
gauge level = free(kv);

workload {
  arrive poisson(Rate);
  trace "turns.csv" ordered;
  hidden a, b;
  init { set a = 1; }
  turn { }
}

// What a session does.
session {
  turn;

  // first the memory
  hold kv (a) reserve (b), mem[0] (1) reuse (2) at admission (x = 1, y = x) {
    prefill a growing kv;
    decode on eng (3);
    tool[1] (2);
    transfer a from kv to mem[1] (3);
    run link, two (b);
    branch with (0.5) { end; } else { release kv; }
    choose j in 3 by (queue(one), j);
  } cache (a) lease kv (inf);
  f(kv[1]);
  end;
}

run { horizon 10; warmup 1; }
// the end
"""


def test_canonical_text_stays_as_it_is() -> None:
    assert formatted(CANONICAL) == CANONICAL


def test_crowded_text_becomes_canonical() -> None:
    crowded = "\r\n".join(line.strip() for line in CANONICAL.split("\n"))
    for sign in ("=", "{", "}", "(", ")", ",", ";", "+", "*"):
        crowded = crowded.replace(f" {sign} ", sign)
    assert formatted(crowded).replace(" ", "") == CANONICAL.replace(" ", "")


def test_blank_lines_are_kept_single_and_not_at_the_ends_of_a_block() -> None:
    assert formatted("\n\nlet a = 1;\n\n\n\nlet b = 2;\nsession {\n\n  turn;\n \t\n  end;\n\n}\n\n\n") == (
        "let a = 1;\n\nlet b = 2;\nsession {\n  turn;\n\n  end;\n}\n"
    )


def test_what_stood_on_one_line_stays_there_if_it_fits() -> None:
    assert formatted("loop_ = 1;" and "session {branch(a){end;}}") == "session { branch (a) { end; } }\n"
    name = "a" * 90
    assert formatted(f"pool {name} {{ cap 1; }}") == f"pool {name} {{\n  cap 1;\n}}\n"
    assert formatted("session { loop {\nend; } }") == "session {\n  loop {\n    end;\n  }\n}\n"


def test_nothing_stands_in_an_empty_block() -> None:
    assert formatted("session {\n\n}") == "session { }\n"
    assert formatted("session {\nbranch (a) {\n} else {\nend; }\n}") == (
        "session {\n  branch (a) { } else {\n    end;\n  }\n}\n"
    )


def test_comments_stand_where_they_stood() -> None:
    text = (
        "session { // of a client\n"
        "    // above\n"
        "  set a = /* in it */ 1; // behind\n"
        "  hold p (1) // why\n"
        "    reserve (2) { /* nothing */ }\n"
        "  branch (a) {\n    end; }\n"
        "  // or else\n"
        "  else { turn; }\n"
        "  end; /* one */ /* two */\n"
        "  // last\n"
        "}\n"
    )
    assert formatted(text) == (
        "session { // of a client\n"
        "  // above\n"
        "  set a = 1; /* in it */ // behind\n"
        "  // why\n"
        "  hold p (1) reserve (2) { /* nothing */\n"
        "  }\n"
        "  branch (a) {\n"
        "    end;\n"
        "  } else { // or else\n"
        "    turn;\n"
        "  }\n"
        "  end; /* one */ /* two */\n"
        "  // last\n"
        "}\n"
    )


def test_long_headers_are_broken_before_their_clauses() -> None:
    units, bound = "a" * 60, "b" * 30
    assert formatted(f"session {{ hold p ({units}) reuse ({bound}) at admission (x = {bound}) {{ end; }} }}") == (
        "session {\n"
        f"  hold p ({units})\n"
        f"      reuse ({bound})\n"
        f"      at admission (x = {bound}) {{\n"
        "    end;\n"
        "  }\n"
        "}\n"
    )


def test_an_empty_program_is_an_empty_text() -> None:
    assert formatted("") == ""
    assert formatted("\n// alone\n") == "// alone\n"
