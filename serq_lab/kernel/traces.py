"""Sessions that follow a trace: which of its sessions, and its next row at each turn (`LANGUAGE.md` section 4).

The choice has a random stream of its own, of 32-bit words: ChaCha as in `streams.py`, one block at a time, for there is
one word a session. Used by `sessions.py`.
"""

from __future__ import annotations

from serq_lab.kernel.evaluation import set_slot
from serq_lab.kernel.storage.memory import Row, inlined, kernel
from serq_lab.kernel.storage.state import session_at, trace_row_at, trace_session_at, trace_word_at
from serq_lab.kernel.storage.tables import FORCED, MORE, NEW, OUT, THINK

# The table of words: the block that is being read, the state that it came from, how many of its words have been read.
WORDS_OF_BLOCK = 16
STATE_AT, READ_AT = 16, 32
COUNTER_LOW, COUNTER_HIGH = STATE_AT + 12, STATE_AT + 13
MASK = 0xFFFFFFFF


@inlined
def mix(run: Row, x: int, y: int, z: int, turn: int) -> None:
    """x += y; z = (z xor x) turned left."""
    added = (trace_word_at(run, x).value + trace_word_at(run, y).value) & MASK
    trace_word_at(run, x).value = added
    mixed = trace_word_at(run, z).value ^ added
    trace_word_at(run, z).value = ((mixed << turn) | (mixed >> (32 - turn))) & MASK


@kernel
def quarter_round(run: Row, a: int, b: int, c: int, d: int) -> None:
    """RFC 8439 section 2.1."""
    mix(run, a, b, d, 16)
    mix(run, c, d, b, 12)
    mix(run, a, b, d, 8)
    mix(run, c, d, b, 7)


@kernel
def next_block(run: Row) -> None:
    """Compute the next block of words."""
    for k in range(WORDS_OF_BLOCK):
        trace_word_at(run, k).value = trace_word_at(run, STATE_AT + k).value
    for _ in range(6):
        for k in range(4):
            quarter_round(run, k, 4 + k, 8 + k, 12 + k)
        for k in range(4):
            quarter_round(run, k, 4 + (k + 1) % 4, 8 + (k + 2) % 4, 12 + (k + 3) % 4)
    for k in range(WORDS_OF_BLOCK):
        word = trace_word_at(run, k)
        word.value = (word.value + trace_word_at(run, STATE_AT + k).value) & MASK
    low, high = trace_word_at(run, COUNTER_LOW), trace_word_at(run, COUNTER_HIGH)
    low.value = (low.value + 1) & MASK
    if low.value == 0:
        high.value += 1
    trace_word_at(run, READ_AT).value = 0


@kernel
def next_word(run: Row) -> int:
    """The next 32-bit word of the stream."""
    read = trace_word_at(run, READ_AT)
    if read.value == WORDS_OF_BLOCK:
        next_block(run)
    read.value += 1
    return trace_word_at(run, read.value - 1).value


@kernel
def choose_trace_session(run: Row, s: int) -> None:
    """Give a new session its trace session: in turn, or drawn (section 9)."""
    n = run.trace_sessions_room
    if run.is_ordered:
        chosen = run.arrivals % n
    else:
        product = next_word(run) * n
        chosen, low = product >> 32, product & MASK
        if low > MASK + 1 - n and low + ((next_word(run) * n) >> 32) > MASK:
            chosen += 1
    given = trace_session_at(run, chosen)
    session_at(run, s).trace_row, session_at(run, s).trace_end = given.first, given.end


@kernel
def load_trace_row(run: Row, s: int) -> None:
    """A turn begins: the next row of the session's trace, if there is one, becomes its attributes."""
    session = session_at(run, s)
    k = session.trace_row
    if k >= session.trace_end:
        set_slot(run, s, MORE, 0.0)
        return
    row = trace_row_at(run, k)
    session.trace_row = k + 1
    set_slot(run, s, NEW, row.new)
    set_slot(run, s, OUT, row.out)
    set_slot(run, s, THINK, row.think)
    set_slot(run, s, MORE, 1.0 if k + 1 < session.trace_end else 0.0)
    set_slot(run, s, FORCED, row.forced)
