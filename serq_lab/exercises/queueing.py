"""The judges of the exercises of `00-start`, `01-a-queue` and `02-memory`.

In comes an answer; out goes nothing if it is right, else a `WrongAnswerError` that says why. Next: the judges of the
chapters behind these, in `conversations.py`.
"""

from __future__ import annotations

from serq_lab.exercises.judging import (
    capacity,
    chapter,
    near,
    observed,
    pool,
    reference,
    require,
    stage,
)
from serq_lab.pipeline import Program
from serq_lab.report.report import Report
from serq_lab.theory import mm1_response

START, QUEUE, MEMORY = "00-start", "01-queue", "02-memory"


def mean(report: Report, name: str = "response") -> float:
    return observed(report, name).mean


# --------------------------------------------------------------------- start


def response_at_half(answer: float) -> None:
    own = reference(START)
    right = mean(reference(START, ("Rate", 0.5)))
    require(
        not near(answer, mean(own), 0.05),
        'that is the response at the Rate in the program: move the slider, or run(set={"Rate": 0.5})',
    )
    require(
        not near(answer, stage(own, "gpu").mean_service, 0.02),
        "that is the time that the GPU works on a request; the response has the wait in it too",
    )
    require(near(answer, right, 0.02), 'run the program with set={"Rate": 0.5} and read the mean of response')


def highest_rate(answer: float) -> None:
    most = 3.0
    require(0 < answer < 1, "a rate is requests per second, and the GPU can serve one a second: between 0 and 1")
    here = mean(reference(START, ("Rate", answer)))
    require(here <= most, f"at that rate the mean response is {here:.2f} s, above 3: go a little lower")
    above = min(answer + 0.02, 0.99)
    is_highest = mean(reference(START, ("Rate", above))) > most
    require(is_highest, f"the response there is {here:.2f} s, and a higher rate keeps below 3 too: go up")


def second_gpu(answer: Program) -> None:
    own, report = reference(START), answer.run()
    gpu = stage(report, "gpu")
    require(report.arrivals == own.arrivals, "the users stay as many: leave the workload, change the stage")
    same = near(gpu.mean_service, stage(own, "gpu").mean_service, 0.02)
    require(same, "each GPU is as fast as before; a second server is what `fifo(2)` says")
    require(mean(report) < 0.8 * mean(own), "the response is what it was: that is still one server")
    require(mean(report) > 0.35 * mean(own), "that is more than two servers")


# ------------------------------------------------------------------- a queue


def rate_for_four_seconds(answer: float) -> None:
    wanted = 4.0
    require(0 < answer < 1, "the server works off one session a second: the rate is between 0 and 1")
    response = mm1_response(answer, 1.0)
    is_rest = near(mm1_response(1 - answer, 1.0), wanted, 0.1)
    require(not is_rest, "that is the share of the time that the server must be idle: the rate is the rest")
    near_enough = near(response, wanted, 0.1)
    side = "too high" if response > wanted else "not the largest: go up"
    require(near_enough, f"the mean response there is 1 / (1 - {answer:g}) = {response:.2f} s, {side}")


def constant_service(answer: Program) -> None:
    own, report = reference(QUEUE), answer.run()
    require(report.arrivals == own.arrivals, "it is the service that should be constant: leave `arrive` as it is")
    service = stage(report, "server").mean_service
    require(near(service, 1.0, 0.05), f"the mean service is {service:.2f} s now: keep it at 1, and make it constant")
    wait = mean(report, "wait")
    waits_half = 0.4 * mean(own, "wait") < wait < 0.6 * mean(own, "wait")
    require(near(service, 1.0, 1e-6) and waits_half, "the service still differs from session to session")


def two_slow_servers(answer: Program) -> None:
    own, report = reference(QUEUE), answer.run()
    require(report.arrivals == own.arrivals, "as many sessions come as before: leave `arrive` as it is")
    service = stage(report, "server").mean_service
    require(service > 1.5, "these two are as fast as the one was, so it is twice the capacity: each needs 2 s")
    require(near(service, 2.0, 0.05), f"the mean service is {service:.2f} s, and each server should need 2 s")
    response = mean(report)
    require(response < 100, "one server at a load of 1.6 falls behind for ever: two are needed")
    is_that_of_two = mean(own) < response < 1.25 * mean(own)
    require(is_that_of_two, f"two such servers give another mean response than {response:.2f} s")


# -------------------------------------------------------------------- memory


def smallest_memory(answer: float) -> None:
    require(answer == int(answer) and answer > 0, "C is a whole number of units here")
    here = reference(MEMORY, ("C", answer))
    rejected = pool(here, "mem").rejected
    require(rejected == 0, f"{rejected} sessions are turned away there, and who never waits does not count")
    wait = mean(here, "admit_wait")
    require(wait < 0.5, f"the mean admit_wait there is {wait:.2f} s: more memory is needed")
    below = reference(MEMORY, ("C", answer - 1))
    is_smallest = pool(below, "mem").rejected > 0 or mean(below, "admit_wait") >= 0.5
    require(is_smallest, "it holds there, but a smaller C does it too")


def shorter_wait_by_order(answer: Program) -> None:
    lets = {"C": 6.0} if "C" in answer.lets else {}
    own, report = reference(MEMORY, ("C", 6.0)), answer.run(lets)
    mem = pool(report, "mem")
    require(capacity(answer, "mem", lets) <= 6, "more memory is what we do not have: leave the pool at C = 6")
    require(report.arrivals == own.arrivals, "as many sessions come as before: leave `arrive` as it is")
    require(mem.rejected == 0, f"{mem.rejected} sessions are turned away, and everybody is to be served")
    same_service = near(stage(report, "server").mean_service, stage(own, "server").mean_service, 0.02)
    require(same_service, "the service is another now: change the pool's queue only")
    same_need = near(mem.mean_used, pool(own, "mem").mean_used, 0.05)
    require(same_need, "the sessions need what they need: leave their units and change the pool's queue")
    # The pool's own wait: what a program observes under that name is up to it.
    wait, fifo = mem.mean_wait, pool(own, "mem").mean_wait
    require(wait != fifo, f"the mean wait is {wait:.2f} s as before: say in the pool whom its queue serves first")
    turn_round = "whoever needs much holds up many who need little: turn the order round"
    require(wait < 1.2, f"the mean wait is {wait:.2f} s: {turn_round}")


def request_slots(answer: Program) -> None:
    own, report = reference(MEMORY), answer.run()
    require("slots" in report.pool, "there is no pool called slots; slots are a pool beside the memory")
    slots, mem = pool(report, "slots"), pool(report, "mem")
    require(capacity(answer, "slots", {}) == 2, "the pool slots has a capacity of 2")
    same_memory = capacity(answer, "mem", {}) == capacity(chapter(MEMORY), "mem", {})
    require(same_memory and report.arrivals == own.arrivals, "the memory and the arrivals stay as they are")
    one_each = near(slots.mean_used, slots.mean_holders, 1e-6) and slots.mean_used > 0 and slots.rejected == 0
    require(one_each, "a session takes one slot, however much memory it needs")
    both = slots.admissions == mem.admissions and near(mem.mean_used, pool(own, "mem").mean_used, 0.05)
    require(both, "each session holds a slot and its memory, both while it runs")
    at_server = stage(report, "server").mean_wait == 0
    require(at_server, "sessions wait at the server now: leave it at four, they wait for slots")
    wait = mean(report, "admit_wait")
    kept = "hold the slot as long as the memory, and observe admit_wait inside both"
    is_that_of_two = 1.05 * mean(own, "admit_wait") < wait < 0.3
    require(is_that_of_two, f"a mean admit_wait of {wait:.2f} s is not that of two slots: {kept}")
