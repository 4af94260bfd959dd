"""Chapter 5 as a loop written for this one program: ``python -m tests.bench.by_hand [ROUNDS]``.

It says how far the engine is from what a program of its own could reach. Nothing here is general: no preemption, one
pool of memory, one engine, the session's statements in place. It gives the same number of iterations and the same
means, to the digit, or it would measure something else. Runs alternate, and medians are compared.
"""

from __future__ import annotations

import sys
from statistics import median
from time import process_time

import numba
import numpy as np

import serq_lab
from serq_lab.kernel.draws import streams
from tests.bench.measure import PROGRAMS

HORIZON, WARMUP = 20000.0, 2000.0
RATE, BLOCK, CAP, SLOTS, BUDGET = 0.5, 16.0, 64000.0, 16, 2048.0
OMEGA, BETA, ALPHA = 2e-4, 2e-9, 2e-5
N_ROWS = 64  # sessions at a time
AWAY, IN_TOOL, QUEUED, RESIDENT = range(4)


def draws(stream: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The first n uniforms of a stream of seed 1, and the logarithms of 1 - U."""
    memory = streams.new_streams(1)[stream]
    uniforms, logarithms = [], []
    for _ in range(-(-n // streams.N_UNIFORMS)):
        streams.refill(memory)
        drawn = memory.view(np.float64)
        uniforms.append(drawn[1 : streams.LOGARITHMS_AT].copy())
        logarithms.append(drawn[streams.LOGARITHMS_AT : streams.KEY_AT].copy())
    return np.concatenate(uniforms), np.concatenate(logarithms)


@numba.njit
def run(  # type: ignore[no-untyped-def]
    gaps, turn_uniforms, turn_logarithms, way_uniforms, way_logarithms, iterations, sums
):
    """Fill `iterations` with their number, `sums` with count, hits, sum of ttft and of response from the warm-up."""
    place, turn = np.zeros(N_ROWS, np.int64), np.zeros(N_ROWS, np.int64)
    context, prompt, output, asked_at = np.zeros(N_ROWS), np.zeros(N_ROWS), np.zeros(N_ROWS), np.zeros(N_ROWS)
    wakes, work, position, units = np.full(N_ROWS, np.inf), np.zeros(N_ROWS), np.zeros(N_ROWS), np.zeros(N_ROWS)
    entry, is_decode = np.zeros(N_ROWS), np.zeros(N_ROWS, np.int64)
    older, younger = np.zeros(N_ROWS, np.int64), np.zeros(N_ROWS, np.int64)
    queue, n_queue = np.zeros(N_ROWS, np.int64), 0
    residents, n_residents = np.zeros(SLOTS, np.int64), 0
    scheduled = np.zeros(SLOTS)
    n_held, used, cached, oldest, youngest = 0, 0.0, 0.0, -1, -1
    k_gap, k_turn, k_way, n_iterations = 0, 0, 0, 0
    now, arrival, end = 0.0, 0.0, np.inf
    first = 0  # of those in the tool, who comes back first
    sums[:] = 0.0
    while True:
        due = min(arrival, wakes[first])
        comes_back = -1
        if end < due:  # an iteration ends, and while all decode and nothing is due, so do those that follow
            now = end
            end = np.inf
            if now > HORIZON:
                break
            kept = 0
            for k in range(n_residents):
                s = residents[k]
                tokens = scheduled[k]
                work[s] -= tokens
                is_done = work[s] <= 1e-9
                if is_done and not is_decode[s]:
                    if now >= WARMUP:
                        sums[2] += now - asked_at[s]
                    is_decode[s], work[s] = 1, output[s] - 1.0
                    is_done = not work[s] > 0.0
                if not is_done:
                    residents[kept] = s
                    kept += 1
                    continue
                n_held -= 1
                used -= units[s]
                whole = np.floor(min(prompt[s] + output[s], position[s]) / BLOCK) * BLOCK
                if whole > 0.0:
                    entry[s] = whole
                    cached += whole
                    older[s], younger[s] = youngest, -1
                    if youngest >= 0:
                        younger[youngest] = s
                    else:
                        oldest = s
                    youngest = s
                if now >= WARMUP:
                    sums[0] += 1.0
                    sums[3] += now - asked_at[s]
                context[s] = prompt[s] + output[s]
                goes_on = way_uniforms[k_way] < 0.8
                k_way += 1
                if goes_on:
                    place[s], wakes[s] = IN_TOOL, now + -3.0 * way_logarithms[k_way]
                    if wakes[s] < wakes[first]:
                        first = s
                    k_way += 1
                    continue
                place[s] = AWAY
                if entry[s] > 0.0:
                    cached -= entry[s]
                    entry[s] = 0.0
                    oldest, youngest = unlink(s, older, younger, oldest, youngest)
            n_residents = kept
        elif due > HORIZON:
            break
        elif arrival < wakes[first]:
            now = arrival
            arrival = now + -gaps[k_gap] / RATE
            k_gap += 1
            comes_back = 0
            while place[comes_back] != AWAY:
                comes_back += 1
            context[comes_back], turn[comes_back] = 0.0, 0
        else:
            now, comes_back = wakes[first], first
            wakes[first] = np.inf
            first = np.argmin(wakes)
        if comes_back >= 0:
            s = comes_back
            turn[s] += 1
            fresh = 1000.0 + 2000.0 * turn_uniforms[k_turn] if turn[s] == 1 else -500.0 * turn_logarithms[k_turn]
            output[s] = -200.0 * turn_logarithms[k_turn + 1] + 1.0
            k_turn += 2
            prompt[s], asked_at[s], place[s] = context[s] + fresh, now, QUEUED
            queue[n_queue] = s
            n_queue += 1
        if end < np.inf or n_residents + n_queue == 0:
            continue
        left, k, total_tokens = BUDGET, 0, 0.0
        while left > 0.0:
            if k == n_residents:
                if n_queue == 0 or n_held == SLOTS:
                    break
                s = queue[0]
                found = np.floor((prompt[s] - 1.0) / BLOCK) * BLOCK
                wanted = np.ceil(min(prompt[s], min(entry[s], found) + left) / BLOCK) * BLOCK
                if used + wanted > CAP:
                    break
                n_queue -= 1
                queue[:n_queue] = queue[1 : n_queue + 1].copy()
                hit = entry[s]
                if hit > 0.0:
                    cached -= hit
                    entry[s] = 0.0
                    oldest, youngest = unlink(s, older, younger, oldest, youngest)
                cached, oldest, youngest = make_room(used + wanted, cached, entry, older, younger, oldest, youngest)
                used += wanted
                n_held += 1
                units[s], position[s], place[s], is_decode[s] = wanted, hit, RESIDENT, 0
                hit = min(hit, found)
                if now >= WARMUP:
                    sums[1] += hit > 0.0
                work[s] = prompt[s] - hit
                residents[n_residents] = s
                n_residents += 1
            s = residents[k]
            tokens = min(1.0 if is_decode[s] else work[s], work[s], left)
            short = position[s] + tokens - units[s]
            if short > 0.0:
                larger = np.ceil((units[s] + short) / BLOCK) * BLOCK
                more = larger - units[s]
                assert used + more <= CAP  # else somebody would be preempted
                cached, oldest, youngest = make_room(used + more, cached, entry, older, younger, oldest, youngest)
                used += more
                units[s] = larger
            position[s] += tokens
            scheduled[k] = tokens
            left -= tokens
            total_tokens += tokens
            k += 1
        for rest in range(k, n_residents):
            scheduled[rest] = 0.0
        in_memory = 0.0
        for j in range(k):
            in_memory += units[residents[j]]
        cost = max(OMEGA + BETA * in_memory, total_tokens * ALPHA)
        end = now + cost
        n_iterations += 1
        if n_residents == 1 and is_decode[residents[0]] and n_queue == 0:  # one alone decodes: to the end of its block
            s = residents[0]
            due = min(arrival, wakes[first], HORIZON)
            while work[s] >= 2.0 and position[s] + 1.0 <= units[s] and end < due:
                work[s] -= 1.0
                position[s] += 1.0
                end += cost
                n_iterations += 1
    iterations[0] = n_iterations


@numba.njit
def unlink(s, older, younger, oldest, youngest):  # type: ignore[no-untyped-def]
    """Take an entry out of the list; gives its new ends."""
    if older[s] >= 0:
        younger[older[s]] = younger[s]
    else:
        oldest = younger[s]
    if younger[s] >= 0:
        older[younger[s]] = older[s]
    else:
        youngest = older[s]
    return oldest, youngest


@numba.njit
def make_room(wanted, cached, entry, older, younger, oldest, youngest):  # type: ignore[no-untyped-def]
    """Evict blocks of the oldest entries until what is wanted fits beside the cached."""
    while wanted + cached > CAP and oldest >= 0:
        part = min(entry[oldest], np.ceil((wanted + cached - CAP) / BLOCK) * BLOCK)
        entry[oldest] -= part
        cached -= part
        if entry[oldest] == 0.0:
            oldest, youngest = unlink(oldest, older, younger, oldest, youngest)
    return cached, oldest, youngest


def main(n_rounds: int) -> None:
    """Print what both report, and both medians in milliseconds."""
    program = serq_lab.load(PROGRAMS / "05-engine.sq")
    gaps = draws(streams.ARRIVALS, 20000)[1]
    turns, ways = draws(streams.WORKLOAD, 200000), draws(streams.SESSION, 200000)
    iterations, sums = np.zeros(1, np.int64), np.zeros(4)
    run(gaps, *turns, *ways, iterations, sums)
    report = program.run()
    n, hits, ttft, response = sums
    print(f"by hand {iterations[0]} iterations, hit {hits / n:.4f}, ttft {ttft / n:.4f}, response {response / n:.4f}")
    means = (report.observe[name].mean for name in ("hit", "ttft", "response"))
    print(f"engine  {report.stage['engine'].iterations} iterations, " + ", ".join(f"{mean:.4f}" for mean in means))
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(n_rounds):
        for taken, call in zip(times, (lambda: run(gaps, *turns, *ways, iterations, sums), program.run), strict=True):
            start = process_time()
            call()
            taken.append(1000 * (process_time() - start))
    by_hand, engine = map(median, times)
    print(f"by hand {by_hand:.1f} ms, engine {engine:.1f} ms: {engine / by_hand:.1f} times")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
