"""What binds: named where sessions wait."""

from __future__ import annotations

import pytest

import serq_lab

RUN = "run { horizon 4000; warmup 100; }"


def binds(text: str, **lets: float) -> str:
    return serq_lab.compile(text + RUN).run(lets).binds


MEMORY = """
let C = 10; let Servers = 4; let Lambda = 0.8;
pool mem { cap C; }
stage server : fifo(Servers);
workload { arrive poisson(Lambda); }
session { hold mem (ceil(~uniform(1, 5))) { run server (~exp(1)); } }
"""


def test_nobody_waits_so_arrivals_bind() -> None:
    assert binds(MEMORY, C=20) == "arrivals"


def test_the_pool_binds_where_its_queue_is() -> None:
    assert binds(MEMORY, C=6) == 'memory of "mem"'


def test_full_servers_bind_although_their_sessions_queue_for_memory() -> None:
    # Both servers are 95% busy; ten units let few sessions reach them.
    assert binds(MEMORY, C=10, Servers=1, Lambda=0.95) == 'servers of "server"'


def test_a_pool_of_units_of_one_has_slots() -> None:
    slots = MEMORY.replace("ceil(~uniform(1, 5))", "1")
    assert binds(slots, C=1, Lambda=0.8) == 'slots of "mem"'


def test_a_queue_before_a_server() -> None:
    text = "stage s : fifo; workload { arrive poisson(0.7); } session { run s (~exp(1)); }"
    assert binds(text) == 'servers of "s"'


def test_a_shared_stage() -> None:
    text = "stage s : ps(1); workload { arrive poisson(0.7); } session { run s (~exp(1)); }"
    assert binds(text) == 'servers of "s"'


def test_a_delay_makes_nobody_wait() -> None:
    text = "stage s : delay; workload { arrive poisson(5); } session { run s (~exp(1)); }"
    assert binds(text) == "arrivals"


def test_a_closed_population() -> None:
    text = "stage s : delay; workload { arrive closed(3); } session { loop { run s (~exp(1)); } }"
    assert binds(text) == "population"


@pytest.mark.parametrize("cap", [10, 11])
def test_the_member_of_an_array_is_named(cap: int) -> None:
    text = """
    let C = 10;
    pool mem[2] { cap C; }
    stage s : delay;
    workload { arrive poisson(2); }
    session { hold mem[1] (4) { run s (~exp(1)); } }
    """
    assert binds(text, C=cap) == 'memory of "mem[1]"'
