"""The judges of the exercises of `05-the-engine` and `06-the-cliff`.

In comes an answer; out goes nothing if it is right, else a `WrongAnswerError`. These are the last chapters;
`checking.py` lists all exercises.
"""

from __future__ import annotations

from functools import cache
from math import ceil

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
from serq_lab.report.report import Report

ENGINE = "05-engine"
HORIZON = 4000.0  # seconds; a tenth of it is warm-up
LONG_PROMPT = 5000  # tokens
HIGH_LOAD = 2.0  # sessions per second


def at(**lets: float) -> Report:
    """The chapters' engine with some lets set, over the horizon of the exercises."""
    return reference(ENGINE, *lets.items(), horizon=HORIZON)


# ---------------------------------------------------------------- the engine


def first_token_of_long_prompt(answer: float) -> None:
    lets, right = chapter(ENGINE).lets, first_token_on_idle_engine()
    full = ceil(LONG_PROMPT / lets["B"]) * lets["B"] * lets["alpha"]
    require(not near(answer, full, 5e-4), "the last iteration is not full: it costs what its own tokens cost")
    only_floor = 0 < answer <= 5 * lets["omega"]
    require(not only_floor, "omega is the floor; an iteration with many tokens costs tokens * alpha, which is more")
    require(not near(answer, 1000 * right, 0.5), "in seconds, please")
    hint = "count the iterations that the budget B makes of the prompt, and add up what each costs"
    require(near(answer, right, 5e-4), hint)


@cache
def first_token_on_idle_engine() -> float:
    """Seconds to the first token of a long prompt, by running the engine with one session that has it."""
    text = chapter(ENGINE).source
    for old, new in (("arrive poisson(Lambda);", "arrive batch(1);"), ("~uniform(1000, 3000)", f"{LONG_PROMPT}")):
        assert text.count(old) == 1
        text = text.replace(old, new)
    return float(observed(compile(text).run(warmup=0), "ttft").samples[0])


def blocks_without_preemption(answer: float) -> None:
    require(is_multiple(answer, 500), "a multiple of 500, please")
    preempted = pool(at(Lambda=1.0, blocks=answer), "kv").preemptions
    many = "1 preemption" if preempted == 1 else f"{preempted} preemptions"
    require(preempted == 0, f"{many} there: look at the column preempt")
    fewer = pool(at(Lambda=1.0, blocks=max(answer - 500, 500)), "kv").preemptions
    require(fewer > 0, "nobody is preempted there, nor with 500 fewer")


def time_of_writing(answer: Program) -> None:
    own, report = at(), run(answer, {}, HORIZON)
    writing = observed(report, "writing").mean
    response, ttft = observed(own, "response").mean, observed(own, "ttft").mean
    from_arrival = near(writing, observed(report, "response").mean, 1e-9)
    require(not from_arrival, "that counts from the arrival of the turn; `set` the instant of the first token")
    require(writing != 0, "that is 0: no time passes between your two instants")
    same = near(observed(report, "response").mean, response, 1e-9)
    require(same, "the response is another now: observe only, and leave the rest as it is")
    hint = f"a mean of {writing:.5f} s is not the time from the first token of an answer to its last"
    require(near(writing, response - ttft, 1e-5), hint)


# ----------------------------------------------------------------- the cliff


def load_below_the_cliff(answer: float) -> None:
    most = 0.1
    require(is_multiple(answer, 0.1) and answer < 5, "loads in steps of 0.1 sessions per second, please")
    here = ttft_at(answer)
    require(here <= most, f"the mean is {here:.4f} s there: go down")
    require(ttft_at(answer + 0.1) > most, "it holds at 0.1 more, too: go up")


def ttft_at(load: float) -> float:
    """Mean time to first token with 6000 blocks; the load is rounded to its tenth, as it is typed."""
    return observed(at(Lambda=round(load, 1), blocks=6000.0), "ttft").mean


def blocks_without_stuck(answer: float) -> None:
    require(is_multiple(answer, 1000), "a multiple of 1000, please")
    stuck = pool(at(Lambda=HIGH_LOAD, blocks=answer), "kv").stuck
    require(stuck == 0, f"{stuck} sessions are stuck there" if stuck > 1 else "one session is stuck there")
    fewer = pool(at(Lambda=HIGH_LOAD, blocks=max(answer - 1000, 1000)), "kv").stuck
    require(fewer > 0, "enough, but 1000 fewer will do too")


def fewer_alive(answer: Program) -> None:
    own = chapter(ENGINE)
    full = at(Lambda=HIGH_LOAD)
    report = run(answer, {"Lambda": HIGH_LOAD}, HORIZON)
    require(capacity(answer, "kv", {}) <= capacity(own, "kv", {}), "that is more memory: keep the 64000 tokens")
    costs = ("alpha", "beta", "omega")
    same_costs = all(answer.lets.get(name) == own.lets[name] for name in costs)
    require(same_costs, f"the hardware stays: leave {', '.join(costs)} as they are")
    is_same_load = near(report.arrivals, full.arrivals, 0.02 * full.arrivals)
    require(is_same_load, "as many sessions come as before: leave the load as it is")
    rejected = sum(each.rejected for each in report.pool.values())
    require(rejected == 0, f"{rejected} sessions are turned away, and everybody is to be served")
    live = report.mean_live
    outside = len(answer.model.pools) > len(own.model.pools) and live >= full.mean_live
    door = "nobody is served sooner because he waits elsewhere"
    require(not outside, f"those outside the door are alive too: {live:.1f}; {door}")
    is_helped = any(pool.queue_keys for pool in answer.model.pools)
    help_it = "; the order helps: now let something else help it" if is_helped else ""
    require(live < 36, f"{live:.1f} sessions are alive on average{help_it}")
    same_turns = report.turns >= 0.95 * full.turns
    require(same_turns, "sessions have fewer turns now: let them say all they have to say")
