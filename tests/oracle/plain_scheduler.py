"""The rules of vLLM's scheduler in plain Python, without a prefix cache: what the serQ programs are compared with.

The rules are those listed in `tests/data/vllm_oracle/README.md`; the recorded scenarios check them. Used by
`test_vllm.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


class Request:
    """One request, with what it has produced and the blocks that it holds."""

    def __init__(self, given: Mapping[str, int]) -> None:
        self.id, self.arrival = given["id"], given["arrival_step"]
        self.prompt, self.output = given["prompt_tokens"], given["output_tokens"]
        self.computed = self.produced = self.blocks = 0
        self.first = self.last = 0

    @property
    def length(self) -> int:
        """The tokens that are known."""
        return self.prompt + self.produced


class Scheduler:
    """Serves the requests of a scenario, step by step; orders of serving: oldest or newest admission first."""

    def __init__(self, scenario: Mapping[str, Any]) -> None:
        self.engine = scenario["engine"]
        self.coming = sorted(map(Request, scenario["requests"]), key=lambda request: (request.arrival, request.id))
        self.waiting: list[Request] = []
        self.running: list[Request] = []  # in order of admission
        self.free = self.engine["blocks"]
        self.step = self.preemptions = 0
        self.scheduled: dict[Request, int] = {}
        self.left = 0
        self.limit = math.inf

    def answer(self) -> dict[str, Any]:
        """Run to the end; the answer is in the form of the recorded ones."""
        requests = list(self.coming)
        while self.coming or self.waiting or self.running:
            self.run_step()
        rows = [
            {"id": each.id, "first_token_step": each.first, "last_token_step": each.last}
            for each in sorted(requests, key=lambda request: request.id)
        ]
        return {"requests": rows, "preemptions": self.preemptions, "last_step": max(each.last for each in requests)}

    def run_step(self) -> None:
        while self.coming and self.coming[0].arrival <= self.step:
            self.waiting.append(self.coming.pop(0))
        self.step += 1
        self.scheduled, self.left = {}, self.engine["token_budget"]
        is_alone = len(self.waiting) + len(self.running) == 1
        self.limit = math.inf if is_alone else self.engine["prefill_cap"] or math.inf
        before = self.preemptions
        self.serve_running()
        if self.preemptions == before:
            self.admit()
        self.end_step()

    def serve_running(self) -> None:
        is_newest_first = self.engine["serve_order"] == "newest_admission_first"
        for request in self.running[::-1] if is_newest_first else list(self.running):
            if request not in self.running:
                continue
            tokens = int(min(request.length - request.computed, self.limit, self.left))
            if tokens == 0:
                return
            while not self.allocate(request, tokens):
                victim = self.running[-1]
                self.preempt(victim)
                if victim is request:
                    return

    def allocate(self, request: Request, tokens: int) -> bool:
        """Schedule tokens if their blocks are free."""
        blocks = math.ceil((request.computed + tokens) / self.engine["block_tokens"])
        if blocks - request.blocks > self.free:
            return False
        self.free -= blocks - request.blocks
        request.blocks = blocks
        self.scheduled[request] = tokens
        self.left -= tokens
        return True

    def preempt(self, request: Request) -> None:
        self.preemptions += 1
        self.left += self.scheduled.pop(request, 0)
        self.leave(request)
        self.waiting.insert(0, request)

    def leave(self, request: Request) -> None:
        self.running.remove(request)
        self.free += request.blocks
        request.blocks = request.computed = 0

    def admit(self) -> None:
        while self.waiting and self.left > 0 and len(self.running) < self.engine["max_running"]:
            request = self.waiting[0]
            if math.ceil(request.length / self.engine["block_tokens"]) > self.free:
                return
            self.allocate(request, int(min(request.length, self.limit, self.left)))
            self.running.append(self.waiting.pop(0))

    def end_step(self) -> None:
        for request, tokens in self.scheduled.items():
            request.computed += tokens
            if request.computed < request.length:
                continue
            request.produced += 1
            request.first = request.first or self.step
            if request.produced == request.output:
                request.last = self.step
                self.leave(request)
