"""Random trees over all of `nodes.py`, as a program could have them; their spans point nowhere."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from serq_lab.source import SourceText, Span
from serq_lab.syntax import nodes

NOWHERE = Span(SourceText(""), 0, 0)

# Words of the language are names, too, wherever the grammar has no place for the word.
FREE_NAMES = ("a", "kv", "x_1", "_", "Überlänge", "größe", "変数", "now", "inf")
WORD_NAMES = (
    "in",
    "by",
    "on",
    "cap",
    "set",
    "from",
    "to",
    "first",
    "growing",
    "max",
    "only",
    "with",
    "when",
    "decode",
)
NUMBERS = ("0", "7", "10", "1_000", ".5", "5.", "2e5", "1.5E-3", "0.1", "1e400", "1_0.2_5")

free_names = st.sampled_from(FREE_NAMES)
names = st.sampled_from(FREE_NAMES + WORD_NAMES)
variables = st.sampled_from([name for name in FREE_NAMES + WORD_NAMES if name not in {"growing", "from"}])
paths = st.sampled_from(["turns.csv", "../lib/a b.sq", "", "été.csv", "a//b.csv"])


def identifiers(of: SearchStrategy[str] = names) -> SearchStrategy[nodes.Identifier]:
    return st.builds(nodes.Identifier, st.just(NOWHERE), of)


def node(kind: type[nodes.Node], *fields: SearchStrategy[object]) -> SearchStrategy[nodes.Node]:
    return st.builds(kind, st.just(NOWHERE), *fields)


def tuples(of: SearchStrategy[object], least: int = 0, most: int = 3) -> SearchStrategy[tuple[object, ...]]:
    return st.lists(of, min_size=least, max_size=most).map(tuple)


def optional(of: SearchStrategy[object]) -> SearchStrategy[object]:
    return st.none() | of


# ---------------------------------------------------------------- expressions

numbers = st.sampled_from(NUMBERS).map(lambda text: nodes.Number(NOWHERE, float(text.replace("_", "")), text))
atoms = numbers | node(nodes.Name, names)


@st.composite
def chains(draw: st.DrawFn, operand: SearchStrategy[nodes.Node]) -> nodes.Node:
    """A row of operands of one level, with its operators."""
    operands = tuple(draw(st.lists(operand, min_size=2, max_size=4)))
    signs = draw(st.sampled_from(["+-", "*/"]))
    operators = draw(st.lists(st.sampled_from(signs), min_size=len(operands) - 1, max_size=len(operands) - 1))
    return nodes.Chain(NOWHERE, operands, tuple(operators))


def compound(inner: SearchStrategy[nodes.Node]) -> SearchStrategy[nodes.Node]:
    arguments = tuples(inner | node(nodes.Member, names, inner))
    return st.one_of(
        node(nodes.Unary, st.sampled_from("-!"), inner),
        chains(inner),
        node(nodes.Power, inner, inner),
        node(nodes.Comparison, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), inner, inner),
        node(nodes.Logical, st.sampled_from(["&&", "||"]), tuples(inner, 2)),
        node(nodes.Conditional, inner, inner, inner),
        node(nodes.Call, identifiers(), arguments),
        node(nodes.Draw, identifiers(), arguments),
        node(nodes.Aggregate, st.sampled_from(["max", "min", "sum"]), identifiers(variables), inner, inner),
    )


expressions = st.recursive(atoms, compound, max_leaves=8)
shallow = st.recursive(atoms, compound, max_leaves=2)

# ----------------------------------------------------------------- statements

references = node(nodes.Reference, identifiers(), optional(shallow))
keys = tuples(shallow, 1)
claims = node(nodes.Claim, references, shallow, optional(shallow))
bindings = st.tuples(identifiers(), shallow)
plain_statements = st.one_of(
    node(nodes.Turn),
    node(nodes.Request),
    node(nodes.End),
    node(nodes.Set, identifiers(), expressions),
    node(nodes.Observe, identifiers(), shallow),
    node(nodes.Grow, references, shallow),
    node(nodes.Drop, references),
    node(nodes.Release, references),
    node(nodes.Load, references, shallow),
    node(
        nodes.Run,
        tuples(references, 1),
        st.sampled_from([None, "prefill", "decode"]),
        shallow,
        optional(references),
    ),
    node(nodes.Choose, identifiers(), shallow, keys),
    node(nodes.Invoke, identifiers(free_names), tuples(shallow | node(nodes.Member, names, shallow))),
)


@st.composite
def serving_forms(draw: st.DrawFn) -> nodes.Node:
    """`prefill`, `decode`, `tool` or `transfer`, with an index or with stages or with neither."""
    place = draw(st.sampled_from(["none", "index", "stage"]))
    index = draw(shallow) if place == "index" else None
    work = draw(shallow)
    if draw(st.booleans()):
        stages = draw(tuples(references, 1)) if place == "stage" else ()
        origin, destination, amount = draw(references), draw(references), draw(shallow)
        return nodes.Transfer(NOWHERE, index, stages, work, origin, destination, amount)
    stage = draw(references) if place == "stage" else None
    word = draw(st.sampled_from(["prefill", "decode", "tool"]))
    return nodes.Serve(NOWHERE, word, index, stage, work, draw(optional(references)))


def blocks_of(statement: SearchStrategy[nodes.Node]) -> SearchStrategy[nodes.Node]:
    return node(nodes.Block, tuples(statement))


def with_blocks(statement: SearchStrategy[nodes.Node]) -> SearchStrategy[nodes.Node]:
    block = blocks_of(statement)
    return st.one_of(
        node(
            nodes.Hold,
            tuples(claims, 1, 2),
            optional(shallow),
            tuples(bindings, 0, 2),
            block,
            optional(shallow),
            optional(st.tuples(references, shallow)),
        ),
        node(nodes.Branch, st.booleans(), shallow, block, optional(block)),
        node(nodes.Loop, block),
    )


statements = st.recursive(plain_statements | serving_forms(), with_blocks, max_leaves=5)
blocks = blocks_of(statements)

# ---------------------------------------------------------------------- items


def options(*words: str) -> SearchStrategy[nodes.Node]:
    return node(nodes.Option, st.sampled_from(words), shallow)


pool_options = st.one_of(
    options("cap", "block"),
    node(nodes.EvictOption, optional(keys)),
    node(nodes.PreemptOption, st.sampled_from(["none", "lifo"])),
    node(nodes.QueueOption, optional(keys)),
    node(nodes.AdmitOption, references),
    node(nodes.SpillOption, references, references, shallow, shallow),
)
orders = st.one_of(
    node(nodes.Order, st.sampled_from(["admission", "decode_first"]), st.just(()), optional(shallow)),
    node(nodes.Order, st.just("by"), keys, optional(shallow)),
    node(nodes.Order, st.just("exclusive_prefill"), st.just(()), st.none()),
)
step_options = st.one_of(
    options("budget", "cost", "chunk"), node(nodes.MemoryOption, references), node(nodes.ServeOption, orders)
)
kinds = st.one_of(
    node(nodes.FifoKind, optional(shallow)),
    node(nodes.PsKind, shallow),
    node(nodes.DelayKind),
    node(nodes.StepKind, tuples(step_options)),
)
workload_items = st.one_of(
    node(nodes.Arrive, st.sampled_from(["poisson", "renewal", "closed", "batch"]), shallow),
    node(nodes.Arrive, st.just("none"), st.none()),
    node(nodes.Trace, paths, st.booleans()),
    node(nodes.InitBlock, blocks),
    node(nodes.TurnBlock, blocks),
    node(nodes.WorkloadSession, blocks),
    node(nodes.Hidden, tuples(identifiers(), 1)),
)
items = st.one_of(
    node(nodes.Let, identifiers(), expressions),
    node(nodes.Use, paths),
    node(nodes.Definition, identifiers(free_names), tuples(identifiers(free_names)), expressions | blocks),
    node(nodes.Pool, identifiers(), optional(shallow), tuples(pool_options)),
    node(nodes.Stage, identifiers(), optional(shallow), kinds),
    node(nodes.Workload, tuples(workload_items)),
    node(nodes.Session, blocks),
    node(nodes.Server, blocks),
    node(nodes.RunBlock, tuples(options("horizon", "warmup", "seed", "arrivals"))),
    node(nodes.Share, st.sampled_from(["maxmin", "bottleneck"])),
    node(nodes.Gauge, identifiers(), shallow),
)
programs = node(nodes.Program, tuples(items, 0, 5))
