"""Which constructs of the language a random program reached: those that stand in it, and those that its report shows
at work.

Comes in: a program's text and the report in JSON, as the reference gave it. Goes out: names. Read by `differential.py`.
"""

from __future__ import annotations

import re
from typing import Any

WRITTEN = {
    "arrive poisson": r"arrive poisson",
    "arrive renewal": r"arrive renewal",
    "arrive closed": r"arrive closed",
    "arrive batch": r"arrive batch",
    "arrive none": r"arrive none",
    "arrivals N": r"\barrivals \d",
    "trace": r'trace "[^"]*";',
    "trace ordered": r'trace "[^"]*" ordered;',
    "warm-up": r"warmup ",
    "pools of an array": r"pool \w+\[",
    "stages of an array": r"stage \w+\[",
    "block": r"\bblock ",
    "queue by": r"queue by",
    "evict by": r"evict by",
    "preempt lifo": r"preempt lifo",
    "admit via": r"admit via",
    "spill": r"\bspill ",
    "fifo(n)": r": fifo\(",
    "ps, a formula": r": ps\([^;]*(present|used)",
    "delay": r": delay",
    "step": r": step",
    "budget": r"\bbudget ",
    "chunk": r"\bchunk ",
    "memory": r"\bmemory \w",
    "serve admission": r"serve admission",
    "serve by": r"serve by",
    "serve decode first": r"serve decode first",
    "serve exclusive prefill": r"serve exclusive prefill",
    "hold of several pools": r"hold \w[^{]*\), \w",
    "reserve": r"\breserve \(",
    "reuse": r"\breuse \(",
    "cache": r"\} cache \(",
    "at admission": r"at admission",
    "lease": r"\blease \w",
    "transfer": r"\btransfer",
    "load": r"\bload \w",
    "grow": r"\bgrow \w",
    "growing": r"\bgrowing \w",
    "release": r"\brelease \w",
    "drop": r"\bdrop \w",
    "choose of a member": r"\bchoose at",
    "branch with": r"branch with",
    "else": r"\belse\b",
    "loop": r"\bloop\b",
    "end inside": r"\{ end; \}",
    "maxmin": r"share maxmin",
    "bottleneck": r"share bottleneck",
    "prefill form": r"\bprefill(\[at\])? \(",
    "decode form": r"\bdecode(\[at\])? \(",
    "form with on": r"(prefill|decode) on ",
    "tool form": r"\btool [\dn]",
    "two sides": r"\bserver \{",
    "hidden": r"\bhidden ",
    "def of an expression": r"\b(half|busyish|room)\((?!x\)|s\)|p\))",
    "def of statements": r"\bvisit\((?!s,)",
    "aggregate": r"\b(sum|max|min) j in",
    "gauge": r"\bgauge ",
    "estimates": r"\best_(lambda|rho|wait)\(",
    "price": r"\bprice\(",
    "budget_left": r"budget_left\(",
    "blocksize": r"blocksize\(",
    "choose of a number": r"choose pri",
    "cachedin": r"cachedin\(",
    "work": r"\bwork\(",
    "drawn": r"~",
    "functions": r"\b(sqrt|exp|ln|pow|abs)\(",
    "power": r"\^",
}
"""Name of a construct, and what shows that a text has it."""


def written(text: str) -> set[str]:
    """The constructs that stand in a program."""
    return {name for name, pattern in WRITTEN.items() if re.search(pattern, text)}


AT_WORK = (
    *("admissions", "waits at a pool", "evictions", "part of an entry evicted", "rejections", "preemptions", "stuck"),
    *("spills", "waits at a stage", "iterations", "mixed iterations", "prefill only", "decode only", "token gaps"),
    *("bins of gaps", "drained before the horizon", "stale events", "intervals", "several on ps", "flows"),
    *("leased holders", "holds of growers"),
)
"""What a report can show at work."""


def at_work(text: str, report: dict[str, Any]) -> set[str]:
    """The constructs that a run reached."""
    pools, stages = report["pools"], report["stages"]
    steps = [stage for stage in stages if stage["iterations"]]
    ps_names = set(re.findall(r"stage (\w+)(?:\[\d\])? : ps", text))
    flows = re.search(r"\bshare (maxmin|bottleneck)", text)
    seen = {
        "admissions": any(pool["admissions"] for pool in pools),
        "waits at a pool": any(pool["mean_wait"] for pool in pools),
        "evictions": any(pool["evicted_entries"] for pool in pools),
        "part of an entry evicted": any(pool["evicted_units"] and not pool["evicted_entries"] for pool in pools),
        "rejections": any(pool["rejected"] for pool in pools),
        "preemptions": any(pool["preemptions"] for pool in pools),
        "stuck": any(pool["stuck"] for pool in pools),
        "spills": any(pool["spills"] for pool in pools),
        "waits at a stage": any(stage["mean_wait"] for stage in stages),
        "iterations": bool(steps),
        "mixed iterations": any(stage["mixed"] for stage in steps),
        "prefill only": any(stage["prefill_only"] for stage in steps),
        "decode only": any(stage["decode_only"] for stage in steps),
        "token gaps": any(stage["mean_itl"] for stage in steps),
        "bins of gaps": any(stage["itl_p50"] != stage["itl_p99"] for stage in steps),
        "drained before the horizon": report["end"] < report["horizon"],
        "stale events": _has_stale_events(text, report),
        "intervals": any(row["ci"] is not None for row in report["observes"].values()),
        "several on ps": any(s["name"] in ps_names and s["mean_number"] > 1.0 for s in stages),
        "flows": flows is not None and any(s["name"] in ("up", "down") and s["completed"] for s in stages),
        "leased holders": " lease " in text and any(pool["mean_holders"] for pool in pools),
        "holds of growers": " grow " in text and any(pool["mean_holders"] for pool in pools),
    }
    return {name for name, is_seen in seen.items() if is_seen}


def _has_stale_events(text: str, report: dict[str, Any]) -> bool:
    """More events than the arrivals, ends of jobs and iterations that can be counted in a report without a warm-up."""
    if report["warmup"] or " lease " in text or " spill " in text or "share " in text:
        return False
    opened = report["arrivals"] if re.search("arrive (poisson|renewal)", text) else 0
    known = sum(stage["iterations"] or stage["completed"] for stage in report["stages"])
    return bool(report["events"] > opened + 1 + known)
