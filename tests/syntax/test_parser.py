"""Text to tree: what binds how, where words are names, places, limits, speed."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serq_lab.diagnostics.errors import ProgramError
from serq_lab.source import SourceText
from serq_lab.syntax import nodes
from serq_lab.syntax.grammar import words
from serq_lab.syntax.parser import parse, parse_definition_body, parse_expression
from serq_lab.syntax.printer import print_expression, print_program
from serq_lab.syntax.scanner import scan
from serq_lab.syntax.stop import LISTS
from tests.syntax.strategies import expressions, programs

PARITY = Path(__file__).parents[1] / "parity"
PROGRAMS = sorted([*PARITY.glob("corpus/*.sq"), *PARITY.glob("corpus/*.lib"), *PARITY.glob("random/*.sq")])


def expression(text: str) -> nodes.Expression:
    return parse_expression(SourceText(text))


def statements(text: str) -> tuple[nodes.Statement, ...]:
    (item,) = parse(SourceText("session {" + text + "}")).items
    assert isinstance(item, nodes.Session)
    return item.body.statements


@pytest.mark.parametrize(
    ("text", "explicit"),
    [
        ("-2^2", "-(2^2)"),
        ("2^-1", "2^(-1)"),
        ("2^3^2", "2^(3^2)"),
        ("2^-1^2", "2^(-(1^2))"),
        ("!a + 1", "(!a) + 1"),
        ("!a^b", "(!a)^b"),
        ("!-a^b", "!(-(a^b))"),
        ("-!a", "-(!a)"),
        ("--1", "-(-1)"),
        ("a - b - c * d / e", "a - b - (c * d / e)"),
        ("2 - -3", "2 - (-3)"),
        ("a < b + 1 && c || d", "((a < (b + 1)) && c) || d"),
        ("a ? b : c ? d : e", "a ? b : (c ? d : e)"),
        ("a ? b ? c : d : e", "a ? (b ? c : d) : e"),
        ("a || b ? c : d", "(a || b) ? c : d"),
        ("2 * sum j in n (j)^2", "2 * ((sum j in n (j))^2)"),
        ("~exp(1) + f()", "(~exp(1)) + (f())"),
        ("((a))", "a"),
    ],
)
def test_what_binds_how(text: str, explicit: str) -> None:
    assert expression(text) == expression(explicit)


def test_parentheses_that_change_the_order_are_kept() -> None:
    assert expression("a - (b - c)") != expression("a - b - c")
    assert expression("(a + b) + c") != expression("a + b + c")
    assert expression("(-2)^2") != expression("-2^2")
    assert expression("!(a^b)") != expression("!a^b")


@pytest.mark.parametrize(
    ("text", "value"),
    [("1_000", 1000.0), (".5", 0.5), ("5.", 5.0), ("1.5E-3", 0.0015), ("1e400", float("inf"))],
)
def test_the_value_of_a_number(text: str, value: float) -> None:
    number = expression(text)
    assert isinstance(number, nodes.Number)
    assert (number.value, number.text) == (value, text)


def test_a_long_sum_is_one_flat_node() -> None:
    total = expression("a + b - c + d")
    assert isinstance(total, nodes.Chain)
    assert (len(total.operands), total.operators) == (4, ("+", "-", "+"))


@pytest.mark.parametrize("word", sorted(words()))
def test_every_word_can_name_what_is_no_definition(word: str) -> None:
    text = f"let {word} = 1; pool {word} {{ }} stage {word} : fifo; gauge {word} = {word} + 1;"
    tree = parse(SourceText(text + f"session {{ set {word} = {word}; hold {word} (1) {{ }} run {word} (({word})); }}"))
    assert [item.name.name for item in tree.items if isinstance(item, (nodes.Let, nodes.Pool))] == [
        word,
        word,
    ]
    if word not in {"on", "growing", "from"}:
        assert expression(f"max {word} in 3 ({word})") == expression(f"(max {word} in (3) (({word})))")


@pytest.mark.parametrize("word", sorted(words()))
@pytest.mark.parametrize("text", ["def {} (x) = x;", "def {} (x) {{ }}", "def f({}) = 1;"])
def test_no_word_can_name_a_definition_or_a_parameter(word: str, text: str) -> None:
    with pytest.raises(ProgramError) as caught:
        parse(SourceText(text.format(word)))
    (fault,) = caught.value.diagnostics
    assert (fault.code, fault.span and fault.span.text) == ("reserved-word", word)


def test_words_of_a_statement_end_what_stands_before_them() -> None:
    growing, on, choose, max_ = statements(
        "prefill growing growing growing; prefill on on (on); choose by in by by (by); tool max growing in;"
    )
    assert isinstance(growing, nodes.Serve)
    assert (print_expression(growing.work), growing.growing and growing.growing.name.name) == (
        "growing",
        "growing",
    )
    assert isinstance(on, nodes.Serve)
    assert on.stage is not None
    assert (on.stage.name.name, print_expression(on.work)) == ("on", "on")
    assert isinstance(choose, nodes.Choose)
    assert print_expression(choose.count) == "by"
    assert isinstance(max_, nodes.Serve)
    assert (print_expression(max_.work), max_.growing and max_.growing.name.name) == ("max", "in")


def test_semicolons_that_may_be_left_out() -> None:
    held = statements("hold p (1) { }; hold p (1) { } cache (2); hold p (1) { } cache (2) lease p (3) end;")
    assert [type(statement).__name__ for statement in held] == ["Hold", "Hold", "Hold", "End"]
    tree = parse(SourceText("stage a : step { cost 1; } stage b : step { cost 1; }; stage c : delay;"))
    assert len(tree.items) == 3


def test_the_body_of_a_definition() -> None:
    assert parse_definition_body(SourceText("x + 1")) == expression("x + 1")
    block = parse_definition_body(SourceText("{ set a = x; }"))
    assert isinstance(block, nodes.Block)
    assert len(block.statements) == 1


@pytest.mark.parametrize("text", ["", " \n\t", "// nothing", "/* */", "\ufeff"])
def test_an_empty_text_is_an_empty_program(text: str) -> None:
    tree = parse(SourceText(text))
    assert tree.items == ()
    assert (tree.span.start, tree.span.stop) == (0, len(text))


def test_comments_are_in_the_program() -> None:
    tree = parse(SourceText("// one\nlet a = /* two */ 1; // three"))
    assert [comment.text for comment in tree.comments] == ["// one", "/* two */", "// three"]
    assert [comment.span.text for comment in tree.comments] == ["// one", "/* two */", "// three"]


# ---------------------------------------------------------------- places


def nodes_in(value: object) -> list[nodes.Node]:
    if isinstance(value, tuple):
        return [node for part in value for node in nodes_in(part)]
    if not isinstance(value, nodes.Node):
        return []
    return [value, *(node for field in fields(value) for node in nodes_in(getattr(value, field.name)))]


def test_spans_of_items_statements_and_parts() -> None:
    source = SourceText("pool kv[2] { cap (1 + 2); }\nsession { hold kv[i] (n) { } cache (n); run s (w) ; }")
    found = {type(node).__name__: node.span.text for node in nodes_in(parse(source).items)}
    assert found["Pool"] == "pool kv[2] { cap (1 + 2); }"
    assert found["Option"] == "cap (1 + 2);"
    assert found["Chain"] == "(1 + 2)"
    assert found["Hold"] == "hold kv[i] (n) { } cache (n);"
    assert found["Claim"] == "kv[i] (n)"
    assert found["Run"] == "run s (w) ;"
    assert found["Block"] == "{ }"


@given(expressions)
def test_every_expression_is_what_its_span_says(tree: nodes.Expression) -> None:
    source = SourceText("  " + print_expression(tree) + " ")
    parsed = parse_expression(source)
    for node in nodes_in(parsed):
        assert node.span.source is source
        if not isinstance(node, (nodes.Identifier, nodes.Member)):
            assert expression(node.span.text) == node


@given(programs)
def test_every_part_lies_within_the_whole_and_behind_the_one_before(tree: nodes.Program) -> None:
    for node in nodes_in(parse(SourceText(print_program(tree))).items):
        parts = [part for field in fields(node) for part in nodes_in(getattr(node, field.name))[:1]]
        for part in parts:
            assert node.span.start <= part.span.start <= part.span.stop <= node.span.stop
        assert node.span.text.strip() == node.span.text


# ---------------------------------------------------------------- blanks


def respaced(text: str, blanks: list[str]) -> str:
    """The tokens of a text with other blanks between them, none where none is needed."""
    values = [token.value for token in scan(SourceText(text)).tokens]
    pieces = []
    for number, (value, following) in enumerate(pairwise(values)):
        blank = blanks[number % len(blanks)]
        if value == "/" and blank.startswith("/"):
            blank = " " + blank  # "/" and "/*" would be "//"
        is_needed = value not in "()[]{},;~" and following not in "()[]{},;~"
        pieces += [value, blank or (" " if is_needed else "")]
    return "".join(pieces)


@given(
    programs,
    st.lists(st.sampled_from(["", " ", "\t", "\n", "\r\n", "/* x */", " // y\n", "\xa0"]), min_size=1),
)
def test_blanks_and_comments_between_tokens_never_change_the_tree(tree: nodes.Program, blanks: list[str]) -> None:
    assert parse(SourceText(respaced(print_program(tree), blanks))) == tree


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_every_program_of_the_corpus_parses_whatever_its_blanks(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = parse(SourceText(text))
    assert parse(SourceText(text.replace("\n", "\r\n"))) == tree
    assert parse(SourceText(respaced(text, [""]))) == tree
    assert parse(SourceText(respaced(text, ["\n"]))) == tree


def test_the_corpus_is_there() -> None:
    assert len(PROGRAMS) > 180


# ---------------------------------------------------------------- words, limits, speed


def test_the_lists_of_words_are_those_of_the_grammar() -> None:
    blocks = {
        ("let", "gauge"): "",
        ("set", "observe"): "session {",
        ("cap", "evict"): "pool p {",
        ("budget", "cost"): "stage s : step {",
        ("arrive", "hidden"): "workload {",
        ("horizon", "seed"): "run {",
    }
    for both, (_, listed) in LISTS.items():
        starts = set()
        for word in words():
            try:
                parse(SourceText(blocks[both] + word + "}" * bool(blocks[both])))
            except ProgramError as error:
                if error.diagnostics[0].code not in {"unknown-word", "misplaced-word"}:
                    starts.add(word)
        assert starts == set(listed)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000 + "1" + ")" * 10_000,
        "2^" * 10_000 + "2",
        "!" * 10_000 + "2",
        "- " * 10_000 + "2",
        "!-" * 10_000 + "2",
        "a ? 1 : " * 10_000 + "2",
        "a ? " * 10_000 + "2" + " : 1" * 10_000,
        "f(" * 10_000 + "1" + ")" * 10_000,
        "f(a[" * 10_000 + "1" + "])" * 10_000,
        "sum j in 2 (" * 10_000 + "1" + ")" * 10_000,
        "1 + 2 * (" * 10_000 + "1" + ")" * 10_000,
    ],
    ids=lambda text: text[:12],
)
def test_deep_expressions_are_refused_with_one_sentence(text: str) -> None:
    with pytest.raises(ProgramError, match="nested deeper than 100 levels") as caught:
        expression(text)
    assert len(caught.value.diagnostics) == 1


@pytest.mark.parametrize("name", ["deep_parentheses", "deep_blocks"])
def test_deep_programs_are_refused(name: str) -> None:
    text = (PARITY / "bad" / "crash" / f"{name}.sq").read_text(encoding="utf-8")
    with pytest.raises(ProgramError, match="nested deeper than 100 levels"):
        parse(SourceText(text))


@pytest.mark.parametrize("depth", [60, 100])
def test_up_to_a_hundred_levels_are_fine(depth: int) -> None:
    for text in (
        "(" * depth + "1" + ")" * depth,
        "2^" * depth + "2",
        "!" * depth + "2",
        "a?1:" * depth + "2",
    ):
        tree = expression(text)
        assert expression(print_expression(tree)) == tree
    loops = parse(SourceText("session {" + "loop {" * (depth - 1) + "}" * depth))
    assert parse(SourceText(print_program(loops))) == loops


def test_a_hundred_thousand_terms_are_no_depth() -> None:
    text = (PARITY / "bad" / "crash" / "long_sum.sq").read_text(encoding="utf-8")
    started = time.process_time()
    tree = parse(SourceText(text))
    assert time.process_time() - started < 6
    longest = max(len(node.operands) for node in nodes_in(tree.items) if isinstance(node, nodes.Chain))
    assert longest == 100_001


def test_a_text_of_five_megabytes_is_refused_at_once() -> None:
    started = time.perf_counter()
    with pytest.raises(ProgramError, match=r"the text is 5.0 MB long; a program has at most 1 MB"):
        parse(SourceText("let a = 1;\n" * 454_546))
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize(("text", "column"), [("let a = 1;\0", 11), ("\x7fELF\0\0", 5), ("// \ud800", 4)])
def test_what_is_no_text_is_refused_at_its_first_such_character(text: str, column: int) -> None:
    with pytest.raises(ProgramError, match="so this is no text") as caught:
        parse(SourceText(text))
    (fault,) = caught.value.diagnostics
    assert fault.span is not None
    assert fault.span.column == column


def test_forty_lines_parse_in_a_few_milliseconds() -> None:
    text = (PARITY / "corpus" / "step_agents_memory.sq").read_text(encoding="utf-8")
    source = SourceText("\n".join((text * 2).split("\n")[:40]))
    took = []
    for _ in range(10):
        started = time.process_time()
        with pytest.raises(ProgramError):  # cut in the middle
            parse(source)
        took.append(time.process_time() - started)
    assert min(took) < 0.03


def parse_elsewhere(cache: Path) -> subprocess.CompletedProcess[str]:
    """Parse a program in a new process whose cache folder is `cache`."""
    program = (
        "from serq_lab.syntax.parser import parse; from serq_lab.source import SourceText; "
        "print(len(parse(SourceText('let a = 1; let b = a ^ 2;')).items))"
    )
    environment = {"XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(Path(__file__).parents[2]), "PATH": ""}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)


def test_the_grammar_loads_where_nothing_can_be_kept(tmp_path: Path) -> None:
    no_folder = tmp_path / "a file"
    no_folder.write_text("", encoding="utf-8")
    done = parse_elsewhere(no_folder)
    assert (done.stdout, done.stderr) == ("2\n", "")


def test_the_parse_table_is_kept_and_a_damaged_one_is_made_anew(tmp_path: Path) -> None:
    assert parse_elsewhere(tmp_path).stdout == "2\n"
    table = tmp_path / "serq-lab" / "parse-table"
    kept = table.read_bytes()
    for damaged in (b"", b"nonsense", kept[: len(kept) // 2]):
        table.write_bytes(damaged)
        done = parse_elsewhere(tmp_path)
        assert (done.stdout, done.stderr) == ("2\n", "")
        assert len(table.read_bytes()) > 0.9 * len(kept)
