"""Text to words, numbers, strings and signs; comments aside.

In comes a `SourceText`; out go its `Token`s, each with its span, and its comments. The scanner refuses
nothing: what belongs to no token is a token of kind ``"unknown"``. Next on the way: `reading.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import lark

from serq_lab.source import SourceText, Span
from serq_lab.syntax.nodes import Comment

_TOKEN = re.compile(
    r"""
      (?P<blank>         \s+ )
    | (?P<comment>       //[^\r\n]* | /\*[\s\S]*?\*/ )
    | (?P<open_comment>  /\* )
    | (?P<word>          [^\W\d]\w* )
    | (?P<number>        (?: [0-9][0-9_]* (?:\.[0-9_]*)? | \.[0-9][0-9_]* ) (?:[eE][+-]?[0-9]+)? (?![\w.]) )
    | (?P<string>        "[^"\r\n]*" )
    | (?P<sign>          <= | >= | == | != | && | \|\| | [-+*/^<>=!?:~(){}\[\],;] )
    | (?P<open_string>   "[^"\r\n]* )
    | (?P<bad_number>    \.?[0-9](?: [eE][+-] | [\w.] )* )
    | (?P<unknown>       [\s\S] )
    """,
    re.VERBOSE,
)


class Token(lark.Token):
    """A token with the place where it stands.

    `kind` is one of ``word number string sign bad_number open_string unknown end``; `type`, the grammar's
    name for it, is set by the parser, which knows where it stands. Lark's line and column stay unset:
    `span` says more.
    """

    __slots__ = ("kind", "span")

    kind: str
    value: str
    span: Span

    def __new__(cls, kind: str, text: str, span: Span) -> Token:
        token = str.__new__(cls, text)
        token.kind = token.type = kind
        token.value = text
        token.span = span
        return token


@dataclass(frozen=True)
class Scan:
    """The tokens of a text, the last of kind ``"end"``.

    `open_comment` is the start of a comment that never ends, which the tokens end before; else None.
    """

    tokens: list[Token]
    comments: tuple[Comment, ...]
    open_comment: Span | None


def scan(source: SourceText) -> Scan:
    """Cut a text into tokens and comments.

    Parameters
    ----------
    source : SourceText
        Any text at all.
    """
    tokens: list[Token] = []
    comments: list[Comment] = []
    open_comment = None
    start_of_text = 1 if source.text.startswith("\ufeff") else 0
    for match in _TOKEN.finditer(source.text, start_of_text):
        kind = match.lastgroup
        if kind == "blank":
            continue
        assert kind is not None
        span = Span(source, *match.span())
        if kind == "comment":
            comments.append(Comment(span, match.group()))
        elif kind == "open_comment":
            open_comment = span
            break
        else:
            tokens.append(Token(kind, match.group(), span))
    stop = tokens[-1].span.stop if tokens else len(source.text.rstrip())
    tokens.append(Token("end", "", Span(source, stop, stop)))
    return Scan(tokens, tuple(comments), open_comment)
