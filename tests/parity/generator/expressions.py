"""Expressions of a random program, one function for each place where one stands.

What may be read differs from place to place (`LANGUAGE.md` section 2). Left out everywhere, as the reference's
value is not defined: draws in eviction keys, and `work` of a stage anywhere but in an observation.
Comes in: `plan.py`. Next: `declarations.py`, `session.py`.
"""

from __future__ import annotations

from tests.parity.generator.plan import Plan, Pool, Stage


def amount(it: Plan, pool: Pool) -> str:
    """Units in a header; no attribute that was set from the board."""
    options = ["1", "2", "need", "3", "0", "2.5", "need + ask", "turn_no", "1 + serial / 3", "cap0 / 4"]
    options += [
        "min(need + 2, 5)",
        "need > 3 ? 1 : 4",
        f"min(free({it.ref(pool)}), 9) / 2",
        f"1 + queued({it.ref(pool)})",
    ]
    if it.has("draws"):
        options += ["1 + floor(~uniform(0, 4))", "~uniform(0, 3)"]
    if it.has("trace"):
        options += ["min(new, 5)", "1 + min(out, 3)"]
    if it.has("aggregates"):
        options += ["sum j in 3 (j * 0.5)"]
    if it.has("defs"):
        options += ["half(need)", f"room({it.ref(pool)})"]
    if pool.block is not None:
        options += [f"blocksize({it.ref(pool)}) + 1", f"2 * blocksize({it.ref(pool)})"]
    return it.choices.one(*options)


def reused(it: Plan) -> str:
    """How much of the session's own entry a hold may consume."""
    return it.choices.one("need", "1", "0", "99", "2.5", "ask + 1")


def kept(it: Plan, pool: Pool, has_computed: bool) -> str:
    """A `cache` clause; it may read what is hidden."""
    options = ["99", "need", "computed", "3 - turn_no", "turn_no * 2", f"used({it.ref(pool)})", "0"]
    options += ["need + ask"] + ["secret + 1"] * it.has("hidden") + ["half(computed)"] * it.has("defs")
    options += ["computed - 1", "cached + 1"] if has_computed else []
    return it.choices.one(*options)


def duration(it: Plan) -> str:
    """Work for a stage where time passes."""
    options = ["0.5", "1", "0.25", "need / 4", "0.75", "0", "spend", "0.3 + ask / 5"]
    if not it.has("ties"):
        options += ["0.37", "0.91 + serial / 7"]
    if it.has("draws"):
        options += ["~exp(0.6)", "~uniform(0, 1)", "~erlang(3, 0.9)", "~h2(0.7, 3)", "~det(0.4)", "0.1 * ~exp(need)"]
        options += ["~bernoulli(0.5)"]
    if it.has("trace"):
        options += ["think", "new / 6"]
    if it.has("hidden"):
        options += ["secret / 3"]
    if it.has("estimates"):
        options += [f"min(est_wait({it.ref(_stage(it))}), 1)", f"price({it.ref(_stage(it))}, 0.1, 0.2) / 4"]
    if it.has("functions"):
        options += [
            "sqrt(need) / 3",
            "exp(-need)",
            "ln(1 + need)",
            "pow(need, 0.5) / 2",
            "abs(need - 3)",
            "2 ^ -turn_no",
        ]
    return it.choices.one(*options)


def tokens(it: Plan) -> str:
    """Work for a step stage."""
    options = ["3", "need", "1", "2", "need + ask", "2.5", "5", "turn_no", "0"]
    options += ["1 + floor(~exp(3))", "~uniform(0, 4)"] * it.has("draws")
    options += ["new", "out", "forced + 1"] * it.has("trace") + ["secret"] * it.has("hidden")
    options += [f"min(budget_left({it.ref(engine)}), 4)" for engine in it.of_kind("step") if it.has("budget")]
    return it.choices.one(*options)


def _stage(it: Plan) -> Stage:
    return it.choices.one(*it.stages)


def guard(it: Plan, within_cache: bool = False) -> str:
    """What a branch tests: 1 or 0."""
    pool, stage = it.ref(it.choices.one(*it.pools)), it.ref(_stage(it))
    options = ["need > 2", "serial - 2 * floor(serial / 2)", f"queue({stage}) > 1", "pri == 1", "turn_no >= 2"]
    options += [f"used({pool}) >= 3 && busy({stage}) >= 1", f"free({pool}) < 4 || queued({pool}) > 0"]
    options += [f"holders({pool}) > 1", "!(ask == 2)"]
    options += [f"cachedin({pool}) > 1", "computed > 2"] * it.has("cache")
    options += (
        ["~bernoulli(0.5)"] * it.has("draws")
        + ["secret > 1.5"] * it.has("hidden")
        + [f"busyish({stage})"] * it.has("defs")
    )
    options += ["more", "forced"] * it.has("trace") + [f"est_lambda({stage}) > 0.7"] * it.has("estimates")
    options += ["cached > 1"] if within_cache else []
    return it.choices.one(*options)


def observed(it: Plan, within_cache: bool) -> str:
    """What an observation records."""
    pool, stage = it.ref(it.choices.one(*it.pools)), it.ref(_stage(it))
    options = ["now - born", "now", "need", f"used({pool}) + queued({pool})", f"holders({pool})", f"cachedin({pool})"]
    options += [f"queue({stage}) * 10 + busy({stage})", f"free({pool})", "computed", "now - since", "turn_no", "serial"]
    options += [f"work({stage})"] * it.choices.chance(50)
    options += ["cached"] * 2 * within_cache + ["secret"] * it.has("hidden") + ["new + out + think"] * it.has("trace")
    if it.has("estimates"):
        options += [f"est_lambda({stage})", f"est_rho({stage})", f"est_wait({stage})", f"price({stage}, 0.5, 1)"]
    if it.has("step"):
        engine = it.ref(it.choices.one(*it.of_kind("step")))
        options += [f"min(budget_left({engine}), 99)", f"queue({engine}) - busy({engine})"]
    if it.has("aggregates") and it.members:
        options += [_over_members(it)]
    return it.choices.one(*options)


def _over_members(it: Plan) -> str:
    """An aggregate over an array's members, or over numbers."""
    word = it.choices.one("sum", "max", "min")
    arrays = [f"used({pool.name}[j])" for pool in it.pools if pool.is_array]
    arrays += [f"queue({stage.name}[j])" for stage in it.stages if stage.is_array]
    return f"{word} j in {it.members} ({it.choices.one(*arrays, 'j')})"


def routing_keys(it: Plan) -> str:
    """Keys of a `choose`, of the attribute `at`."""
    options = ["0 - at", "abs(at - 1)", "at - serial > 0 ? 1 : 0"]
    options += [f"used({pool.name}[at])" for pool in it.pools if pool.is_array]
    options += [f"-cachedin({pool.name}[at]), queued({pool.name}[at])" for pool in it.pools if pool.is_array]
    options += [f"queue({stage.name}[at])" for stage in it.stages if stage.is_array]
    options += [f"est_wait({stage.name}[at]), busy({stage.name}[at])" for stage in it.stages if stage.is_array]
    options += ["~uniform(0, 1)"] * it.has("draws")
    return it.choices.one(*options)


def queue_keys(it: Plan, pool: Pool) -> str:
    """Keys of `queue by`."""
    me, stage = it.ref(pool), it.ref(_stage(it))
    options = ["need", "-serial", "need, -serial", f"used({me}) - need", "pri, need", "now - born > 4 ? 0 : 1, need"]
    options += ["-turn_no", f"queue({stage}) > 1 ? need : -need", f"-cachedin({me})", "ask"]
    options += [f"price({stage}, 0, need)"] * it.has("estimates")
    if pool.via is not None and it.has("budget"):
        engine = next(stage for stage in it.stages if stage.name == pool.via)
        options += [f"abs(budget_left({it.ref(engine)}) - need)"] * 3
    return it.choices.one(*options)


def evict_keys(it: Plan, pool: Pool) -> str:
    """Keys of `evict by`; they never draw."""
    options = ["size", "-last", "age / size", "waiting, need", "size, -last", "serial", "pri * size - age", "-age"]
    stage = it.ref(_stage(it))
    options += [f"price({stage}, 0, size) / size", f"est_wait({stage}) > 1 ? size : age"] * it.has("estimates")
    options += [f"used({it.ref(pool)}) > 4 ? size : -size", "turn_no, last"]
    return it.choices.one(*options)


def gauged(it: Plan) -> str:
    """What a gauge shows: no attributes."""
    pool, stage = it.fixed(it.choices.one(*it.pools)), it.fixed(_stage(it))
    options = [f"used({pool})", f"queue({stage})", f"holders({pool}) + queued({pool})", f"busy({stage}) * 2"]
    options += [f"free({pool}) > 2 ? 1 : 0", f"cap0 - used({pool})"]
    options += [f"est_wait({stage})", f"est_lambda({stage})"] * it.has("estimates")
    options += [_over_members(it)] * (it.has("aggregates") and it.members > 0)
    return it.choices.one(*options)
