"""Answers to every exercise: right ones, and wrong ones with a word that their hint has."""

from __future__ import annotations

from collections.abc import Mapping

import serq_lab
from serq_lab.reading import tutorial_folder

Answer = float | str | serq_lab.Program


def edited(name: str, *edits: tuple[str, str]) -> str:
    """A chapter's program with pieces replaced, each of which stands in it once."""
    text = (tutorial_folder() / "programs" / f"{name}.sq").read_text(encoding="utf-8")
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def start(*edits: tuple[str, str]) -> str:
    return edited("00-start", *edits)


def queue(*edits: tuple[str, str]) -> str:
    return edited("01-queue", *edits)


def memory(*edits: tuple[str, str]) -> str:
    return edited("02-memory", *edits)


def sessions(*edits: tuple[str, str]) -> str:
    return edited("03-sessions", *edits)


def cache(*edits: tuple[str, str]) -> str:
    return edited("04-cache", *edits)


def engine(*edits: tuple[str, str]) -> str:
    return edited("05-engine", *edits)


TWO = ("server : fifo;", "server : fifo(2);")
SIX = ("let C = 10", "let C = 6")
SLOTS = ("stage server", "pool slots { cap 2; }\nstage server")
KEEP = ("set context = context + n + o;", "set context = min(context + n + o, 8000);")
BLOCKS = ("evict lru;", "evict lru; block 16;")
MISSING = ("(hit ? n : context + n)", "(context + n - cached)")
FIRST_TOKEN = ("observe ttft = now - t0;", "observe ttft = now - t0; set t1 = now;")
QUEUE_BY = ("admit via engine;", "admit via engine; queue by (context + new_tokens - cachedin(kv));")

RIGHT: Mapping[str, tuple[Answer, ...]] = {
    "00-start/1": (1.53, 1.5307),
    "00-start/2": (0.78, 0.79),
    "00-start/3": (start((": fifo;", ": fifo(2);")), serq_lab.compile(start((": fifo;", ": fifo(2);")))),
    "01-a-queue/1": (0.75,),
    "01-a-queue/2": (queue(("set s = ~exp(S)", "set s = S")), queue(("set s = ~exp(S)", "set s = ~det(S)"))),
    "01-a-queue/3": (queue(TWO, ("let S = 1.0", "let S = 2.0")),),
    "02-memory/1": (8,),
    "02-memory/2": (
        memory(SIX, ("cap C;", "cap C; queue by (c);")),
        memory(("cap C;", "cap C; queue by (c);")),
        memory(("cap C;", "cap 6; queue by (c);"), ("let C = 10; // units of memory\n", "")),
    ),
    "02-memory/3": (
        memory(SLOTS, ("hold mem (c)", "hold slots (1), mem (c)")),
        memory(SLOTS, ("hold mem (c) {", "hold slots (1) { hold mem (c) {"), ("run server (s);", "run server (s); }")),
    ),
    "03-sessions/1": (0.9,),
    "03-sessions/2": (58.7, 60.45),
    "03-sessions/3": (sessions(KEEP),),
    "04-the-prefix-cache/1": (45000,),
    "04-the-prefix-cache/2": (cache(BLOCKS, MISSING),),
    "04-the-prefix-cache/3": (
        cache(("evict lru", "evict by (-size)")),
        cache(("evict lru", "evict by (-turn_no)")),
    ),
    "05-the-engine/1": (0.1,),
    "05-the-engine/2": (5500,),
    "05-the-engine/3": (
        engine(
            FIRST_TOKEN,
            ("decode (output - 1) growing kv;", "decode (output - 1) growing kv; observe writing = now - t1;"),
        ),
    ),
    "06-the-cliff/1": (1.8,),
    "06-the-cliff/2": (8000,),
    "06-the-cliff/3": (
        engine(QUEUE_BY, ("let B = 2048", "let B = 512")),
        engine(QUEUE_BY, ("let max_seqs = 16", "let max_seqs = 12")),
    ),
}

WRONG: Mapping[str, tuple[tuple[Answer, str], ...]] = {
    "00-start/1": ((3.06, "move the slider"), (1.0, "has the wait in it"), (2.0, "read the mean")),
    "00-start/2": ((0.8, "above 3"), (0.83, "above 3"), (0.5, "go up"), (0.75, "go up"), (1.2, "between 0 and 1")),
    "00-start/3": (
        (start(), "one server"),
        (start(("let Rate = 0.8", "let Rate = 0.4")), "the users stay"),
        (start(("~uniform(0.5, 1.5)", "~uniform(0.25, 0.75)")), "as fast as before"),
        (start(("observe response", "observe time")), "no observation called response"),
    ),
    "01-a-queue/1": (
        (0.8, "= 5.00 s, too high"),
        (0.25, "the rate is the rest"),
        (0.6, "go up"),
        (4, "between 0 and 1"),
    ),
    "01-a-queue/2": (
        (queue(("let S = 1.0", "let S = 0.5")), "keep it at 1"),
        (queue(("set s = ~exp(S)", "set s = ~uniform(0.5, 1.5)")), "differs from session to session"),
        (queue(("set s = ~exp(S)", "set s = ~erlang(9, S)")), "differs from session to session"),
        (queue(("poisson(Lambda)", "renewal(1 / Lambda)")), "leave `arrive`"),
        (queue(), "differs from session to session"),
    ),
    "01-a-queue/3": (
        (queue(TWO), "twice the capacity"),
        (queue(("let S = 1.0", "let S = 2.0")), "falls behind"),
        (queue(TWO, ("let S = 1.0", "let S = 2.0"), ("let Lambda = 0.8", "let Lambda = 0.4")), "leave `arrive`"),
    ),
    "02-memory/1": (
        (4, "19925 sessions"),
        (7, "0.84 s"),
        (9, "a smaller C"),
        (20, "a smaller C"),
        (7.5, "whole number"),
    ),
    "02-memory/2": (
        (memory(SIX), "whom its queue serves first"),
        (memory(("let C = 10", "let Room = 10"), ("cap C", "cap Room")), "more memory"),
        (memory(SIX, ("cap C;", "cap C; queue by (-c);")), "turn the order round"),
        (memory(SIX, ("~uniform(1, 5)", "~uniform(1, 3)")), "need what they need"),
        (memory(SIX, ("let Lambda = 0.8", "let Lambda = 0.4")), "leave `arrive`"),
    ),
    "02-memory/3": (
        (memory(("fifo(4)", "fifo(2)")), "no pool called slots"),
        (memory(SLOTS, ("hold mem (c)", "hold slots (c), mem (c)")), "one slot"),
        (memory(SLOTS, ("hold mem (c)", "hold slots (0.5), mem (c)")), "one slot"),
        (memory(SLOTS), "one slot"),
        (memory(("stage server", "pool slots { cap 3; }\nstage server"), ("hold mem", "hold slots (1), mem")), "of 2"),
    ),
    "03-sessions/1": ((0.1, "Again is the chance that it goes on"), (0.8, "5.00 turns"), (10, "between 0 and 1")),
    "03-sessions/2": (
        (6.45, "the tool of 3 s"),
        (15, "one visit"),
        (15.5, "one visit"),
        (75.45, "after the last turn"),
        (100, "Little's law"),
    ),
    "03-sessions/3": (
        (sessions(), "more than 8000"),
        (sessions(("observe context = context", "observe context = min(context, 8000)")), "still reads"),
        (sessions(("branch with (Again)", "branch with (context > 8000 ? 0 : Again)")), "not the conversation"),
    ),
    "04-the-prefix-cache/1": ((60000, "5000 less"), (50000, "5000 less"), (40000, "86.8%"), (44000, "a multiple")),
    "04-the-prefix-cache/2": (
        (cache(MISSING), "block 16;"),
        (cache(BLOCKS, ("(hit ? n : context + n)", "n")), "as if all of its context"),
        (cache(BLOCKS), "charge for what is missing"),
        (cache(BLOCKS, MISSING, ("let Capacity = 2e5", "let Room = 2e5"), ("cap Capacity", "cap Room")), "keep `let"),
    ),
    "04-the-prefix-cache/3": (
        (cache(), "LRU still"),
        (cache(("evict lru", "evict by (last)")), "LRU still"),
        (cache(("evict lru", "evict by (size)")), "many small prefixes"),
        (cache(("evict lru", "evict by (-last)")), "not above 0.75"),
        (cache(("cap Capacity", "cap 2 * Capacity")), "the capacity"),
        (cache(("set hit = cached >= context", "set hit = 1")), "sooner than their hits"),
    ),
    "05-the-engine/1": (
        (0.12288, "not full"),
        (0.0006, "the floor"),
        (0.0002, "the floor"),
        (100, "in seconds"),
        (0.3, "count the iterations"),
    ),
    "05-the-engine/2": (
        (6000, "nor with 500 fewer"),
        (5000, "1 preemption there"),
        (4000, "9 preemptions"),
        (5700, "multiple"),
    ),
    "05-the-engine/3": (
        (engine(), "no observation called writing"),
        (
            engine(("observe response = now - t0;", "observe response = now - t0; observe writing = now - t0;")),
            "arrival",
        ),
        (engine(("observe response", "set t1 = now; observe writing = now - t1; observe response")), "that is 0"),
        (engine(("observe response", "observe writing = 1; observe response")), "not the time from the first token"),
    ),
    "06-the-cliff/1": ((1.9, "0.1254 s"), (2.0, "0.1754 s"), (1.7, "0.1 more"), (1.85, "steps of 0.1")),
    "06-the-cliff/2": ((40000, "1000 fewer"), (9000, "1000 fewer"), (7000, "one session"), (6000, "9 sessions")),
    "06-the-cliff/3": (
        (engine(QUEUE_BY), "something else help"),
        (engine(), "44.7 sessions"),
        (engine(("let blocks = 4000", "let blocks = 8000")), "more memory"),
        (engine(("let max_seqs = 16", "let max_seqs = 4")), "sessions are alive"),
        (engine(("let alpha = 2e-5", "let alpha = 1e-5")), "the hardware stays"),
        (
            engine(
                ("stage tool", "pool live { cap 20; }\nstage tool"),
                ("  loop {", "  hold live (1) { loop {"),
                ("else { drop kv; end; }\n  }", "else { drop kv; end; }\n  } }"),
            ),
            "outside the door",
        ),
        (engine(("branch with (0.8)", "branch with (0.5)")), "fewer turns"),
    ),
}
