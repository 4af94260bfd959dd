"""Pools, stages, lets, definitions and gauges of a random program, as text.

Comes in: `plan.py`. Next: `program.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.parity.generator import expressions
from tests.parity.generator.plan import Plan, Pool, Stage

LARGE = 100000
"""The capacity of tiers that receive spills: the reference overfills a smaller one."""


def declarations(it: Plan) -> list[str]:
    """Everything above the workload."""
    lines = [f"let cap0 = {it.choices.number(7, 24)};", f"let spend = {it.choices.one('0.5', '0.75', '1.3', '2 / 3')};"]
    if it.has("defs"):
        lines += [
            "def half(x) = floor(x / 2);",
            "def room(p) = min(max(free(p), 1), 4);",
            "def busyish(s) = queue(s) >= 2;",
            "def visit(s, w) { run s (w); branch (queue(s) > 2) { set need = need > 4 ? 1 : need + 1; } }",
        ]
    lines += [_pool(it, pool) for pool in it.pools]
    lines += [_stage(it, stage) for stage in it.stages]
    return lines


def gauges(it: Plan) -> list[str]:
    return [
        f"gauge {it.name('g')} = {expressions.gauged(it)};" for _ in range(it.has("gauges") * it.choices.number(1, 3))
    ]


def _array(it: Plan, thing: Pool | Stage) -> str:
    return f"{thing.name}[{it.members}]" if thing.is_array else thing.name


def _pool(it: Plan, pool: Pool) -> str:
    one, chance = it.choices.one, it.choices.chance
    if pool.is_tier:
        return f"pool tier {{ cap {LARGE}; {one('', 'block 2;')} }}"
    options = [f"cap {one('cap0', '6', '8', '9', '13', '8.5', 'cap0 + 6', 'inf')};"]
    if pool.block is not None:
        options.append(f"block {pool.block};")
    if it.has("queue by") and chance(60):
        options.append(f"queue by ({expressions.queue_keys(it, pool)});")
    elif chance(10):
        options.append("queue fifo;")
    if it.has("evict by"):
        options.append(one("evict lru;", *[f"evict by ({expressions.evict_keys(it, pool)});"] * 3))
    if pool.is_lifo:
        options.append("preempt lifo;")
    elif chance(10):
        options.append("preempt none;")
    if pool.via is not None:
        options.append(f"admit via {pool.via};")
    if it.has("spill") and chance(70):
        options.append(_spill(it))
    return f"pool {_array(it, pool)} {{ {' '.join(options)} }}"


def _spill(it: Plan) -> str:
    carriers = [
        stage for stage in it.of_kind("fifo", "delay", "ps") if not stage.is_array
    ]  # the reference has no `via s[i]`
    link = it.choices.one(*carriers[-1:], *carriers).name
    work = it.choices.one("size * 0.05 + 0.1", "0.2", "size / 4", *["~exp(0.3)"] * it.has("draws"), "need / 5", "0")
    test = it.choices.one(
        "1", "size > 1", "waiting == 0", "age < 3", *["~bernoulli(0.6)"] * it.has("draws"), "need > 2"
    )
    return f"spill tier via {link} ({work}) when ({test});"


def _stage(it: Plan, stage: Stage) -> str:
    kinds: dict[str, Callable[[], str]] = {
        "delay": lambda: "delay",
        "fifo": lambda: f"fifo({it.choices.number(2, 3)})" if it.has("two servers") else "fifo",
        "ps": lambda: f"ps({_capacity(it)})",
        "link": lambda: f"ps({it.choices.one('1', '2', '1.5', '0.75')})",
        "step": lambda: f"step {{ {_step(it, stage)} }}",
    }
    return f"stage {_array(it, stage)} : {kinds[stage.kind]()};"


def _capacity(it: Plan) -> str:
    options = ["1", "1.5", "2"]
    if it.has("ps formula"):
        options = ["min(present, 2)", "1 + present / 4", "present > 2 ? 0.5 : 1", "sqrt(present)"]
        options += [f"1 + 1 / (1 + used({it.fixed(it.choices.one(*it.pools))}))"]
    return it.choices.one(*options)


def _step(it: Plan, stage: Stage) -> str:
    one, chance = it.choices.one, it.choices.chance
    options = []
    if it.has("budget"):
        budgets = ["8", "4", "6", "12", "cap0", "2.5", "0.5", "inf", "3 + residents", "max(2, 9 - decoders)"]
        options.append(f"budget {one(*budgets, 'kv_decode > 5 ? 4 : 8')};")
    costs = ["0.2", "0.1 + 0.02 * tokens", "0.05 + 0.03 * tokens + 0.01 * residents", "0.1 + attention / 300"]
    costs += ["0.1 + 0.02 * prefilled + 0.05 * decoders", "0.08 + (kv_decode + kv_prefill) / 200", "0.5"]
    costs += ["0.03 + ~exp(0.1)", "0.1 + ~uniform(0, 0.2)"] * it.has("draws")
    options.append(f"cost {one(*costs)};")
    if it.has("chunk"):
        options.append(f"chunk {one('2', '3', '1.5', '1 + residents / 2', '0', 'decoders > 1 ? 1 : 4')};")
    if stage.memory is not None:
        options.append(f"memory {stage.memory};")
    if it.has("order") and chance(80):
        options.append(f"serve {_order(it, stage)};")
    return " ".join(options)


def _order(it: Plan, stage: Stage) -> str:
    orders = ["admission", "decode first", "exclusive prefill"]
    keys = [
        "remaining",
        "-admission",
        "decoding, remaining",
        "need",
        "pri, -remaining",
        "decoding ? 0 : need, admission",
    ]
    keys += ["residents > 2 ? remaining : -remaining", "kv_decode > 4 ? decoding : -decoding"]
    order = it.choices.one(*orders, "by")
    return f"by ({it.choices.one(*keys)})" if order == "by" else order
