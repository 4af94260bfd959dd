"""The judges of the exercises of `03-sessions` and `04-the-prefix-cache`.

In comes an answer; out goes nothing if it is right, else a `WrongAnswerError`. Next: the judges of the engine and
its cliff, in `engine.py`.
"""

from __future__ import annotations

from functools import cache

from serq_lab.exercises.judging import (
    capacity,
    chapter,
    is_multiple,
    near,
    observed,
    pool,
    reference,
    require,
    run,
)
from serq_lab.pipeline import Program, compile
from serq_lab.semantics import constants

SESSIONS, CACHE = "03-sessions", "04-cache"
SMALL = 30000.0  # tokens: the capacity at which programs with a cache are tried
STEP = 5000.0  # tokens
SLOW_TOOL = 30.0  # seconds


# ------------------------------------------------------------------ sessions


def again_for_ten_turns(answer: float) -> None:
    wanted = 10.0
    require(0 <= answer < 1, "a chance lies between 0 and 1")
    is_rest = answer > 0 and near(1 / answer, wanted, 0.1)
    require(not is_rest, "that is the chance that it ends after a turn; Again is the chance that it goes on")
    turns = 1 / (1 - answer)
    require(near(turns, wanted, 0.1), f"that gives {turns:.2f} turns on average: 1 / (1 - {answer:g})")


def live_with_slow_tool(answer: float) -> None:
    program, live = chapter(SESSIONS), live_at_slow_tool()
    visit = program.lets["Lambda"] * SLOW_TOOL
    turns = 1 / (1 - program.lets["Again"])
    require(not near(answer, reference(SESSIONS).mean_live, 0.6), "that is with the tool of 3 s")
    require(not near(answer, visit, 1.2), "that counts one visit to the tool, and a conversation makes more of them")
    after_each = near(answer, visit * turns, 1.2)
    require(not after_each, "after the last turn no tool runs: a visit less than turns")
    hint = "by Little's law it is the rate of conversations times how long one lives, tools and all"
    require(near(answer, live, 0.06 * live), hint)


@cache
def live_at_slow_tool() -> float:
    """Mean number of live conversations, by running the chapter's program with the slow tool."""
    return compile(chapter(SESSIONS).source.replace("~exp(3)", f"~exp({SLOW_TOOL:g})")).run().mean_live


def short_contexts(answer: Program) -> None:
    own, report = reference(SESSIONS), answer.run()
    same_turns = near(report.turns, own.turns, 0.01 * own.turns)
    require(same_turns, "conversations have another number of turns now: cut what they carry, not the conversation")
    carried = observed(report, "context").samples.max()
    require(carried <= 8000, f"one carries {carried:.0f} tokens, more than 8000")
    is_quicker = observed(report, "response").mean < 0.97 * observed(own, "response").mean
    require(is_quicker, "the engine still reads all of it: cut what is `set`, not only what is observed")


# -------------------------------------------------------------- prefix cache


def capacity_for_nine_in_ten(answer: float) -> None:
    wanted = 0.9
    require(is_multiple(answer, STEP), "a multiple of 5000, please")
    here = observed(reference(CACHE, ("Capacity", answer)), "hitrate").mean
    require(here >= wanted, f"there only {100 * here:.1f}% of them find it: try more")
    below = observed(reference(CACHE, ("Capacity", max(answer - STEP, STEP))), "hitrate").mean
    require(below < wanted, "it is enough, but a smaller one is too: try 5000 less")


def block_by_block(answer: Program) -> None:
    lets = {"Capacity": SMALL}
    whole = reference(CACHE, ("Capacity", SMALL))
    report = run(answer, lets)
    require(report.arrivals == whole.arrivals, "as many conversations come as before: leave the workload")
    require(capacity(answer, "kv", lets) == SMALL, "the capacity of the pool is the let Capacity, as it was")
    before, response = observed(whole, "response").mean, observed(report, "response").mean
    charged = "you charge every turn as if all of its context was found; read what `cached` leaves over"
    require(response > 0.81 * before, charged)
    has_blocks = block_of(answer) == 16
    require(has_blocks, "without `block 16;` an entry is evicted whole, and a part of it is never found")
    missing = "an entry of whole blocks is seldom as long as the whole context: charge for what is missing of it"
    require(response < 0.955 * before, missing)


def block_of(program: Program) -> float:
    """The block of the pool kv, NaN without one."""
    blocks = constants.evaluate(program.model, {}).blocks
    return next(block for each, block in zip(program.model.pools, blocks, strict=True) if each.name == "kv")


def better_order(answer: Program) -> None:
    lets = {"Capacity": SMALL}
    lru = reference(CACHE, ("Capacity", SMALL))
    report = run(answer, lets)
    kv = pool(report, "kv")
    same_room = capacity(answer, "kv", lets) == SMALL and kv.mean_used + kv.mean_cached <= SMALL
    require(same_room, "the capacity of the pool is the let Capacity, as it was: change who is evicted")
    same_work = report.arrivals == lru.arrivals and near(report.turns, lru.turns, 0.05 * lru.turns)
    require(same_work, "as many turns come as before: change who is evicted, and nothing else")
    hits, before = observed(report, "hitrate").mean, observed(lru, "hitrate").mean
    require(hits != before, f"the hit rate is {hits:.4f}, what it was: that is LRU still")
    many = "that throws many small prefixes out for a large one; think of how many must go to make the room"
    require(hits > 0.95 * before, many)
    require(hits > 0.75, f"the hit rate is {hits:.4f}, not above 0.75")
    is_honest = observed(report, "response").mean > 0.85 * observed(lru, "response").mean
    require(is_honest, "turns are answered sooner than their hits explain: change who is evicted, and nothing else")
