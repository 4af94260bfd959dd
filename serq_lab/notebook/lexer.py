"""Colours for serQ wherever Pygments is: nbconvert, documentation, terminals (``pygmentize program.sq``).

Pygments finds the lexer by the entry point in `pyproject.toml`, under the name ``serq``; a cell keeps its line of
``%%serq``.
"""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text, Whitespace

from serq_lab.semantics.names import DISTRIBUTIONS, FUNCTIONS, POOL_OBSERVABLES, STAGE_OBSERVABLES
from serq_lab.syntax.stop import ITEMS, POOL_OPTIONS, SETTINGS, STATEMENTS, STEP_OPTIONS, WORKLOAD_ITEMS

DECLARING = ("let", "def", "pool", "stage", "gauge", "observe", "set")
CLAUSES = (
    "admission", "at", "bottleneck", "by", "cache", "decode", "delay", "else", "exclusive", "fifo", "first", "from",
    "growing", "in", "lease", "lifo", "lru", "maxmin", "none", "on", "only", "ordered", "poisson", "prefill", "ps",
    "renewal", "closed", "batch", "reserve", "reuse", "step", "to", "via", "when", "with",
)  # fmt: skip
KEYWORDS = sorted({*ITEMS, *STATEMENTS, *POOL_OPTIONS, *STEP_OPTIONS, *WORKLOAD_ITEMS, *SETTINGS, *CLAUSES})
CALLED = sorted({*FUNCTIONS, *STAGE_OBSERVABLES, *POOL_OBSERVABLES, "sum"})


class SerqLexer(RegexLexer):
    """Programs in the serQ language."""

    name = "serQ"
    aliases: ClassVar[list[str]] = ["serq"]
    filenames: ClassVar[list[str]] = ["*.sq"]
    mimetypes: ClassVar[list[str]] = ["text/x-serq"]
    tokens: ClassVar = {
        "root": [
            (r"\A%%serq[^\n]*", Comment.Preproc),
            (r"\s+", Whitespace),
            (r"//[^\n]*", Comment.Single),
            (r"/\*[\s\S]*?(\*/|\Z)", Comment.Multiline),
            (r'"[^"\n]*"?', String),
            (r"(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?", Number),
            (r"(~)(\s*)(" + "|".join(DISTRIBUTIONS) + r")\b", bygroups(Operator, Whitespace, Name.Builtin)),
            (rf"\b({'|'.join(DECLARING)})(\s+)([^\W\d]\w*)", bygroups(Keyword, Whitespace, Name.Variable)),
            (words(CALLED, prefix=r"\b", suffix=r"(?=\s*\()"), Name.Builtin),
            (words(KEYWORDS, prefix=r"\b", suffix=r"\b"), Keyword),
            (r"\b(now|inf)\b", Keyword.Constant),
            (r"[^\W\d]\w*", Name),
            (r"<=|>=|==|!=|&&|\|\||[-+*/^<>=!?:~]", Operator),
            (r"[(){}\[\],;]", Punctuation),
            (r".", Text),
        ]
    }
