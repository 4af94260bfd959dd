"""The gaps between the tokens of a session (`LANGUAGE.md` section 10, "Token gaps").

Gaps are counted in bins of 1 %, which give their quantiles. Used by `iteration.py`.
"""

from __future__ import annotations

from serq_lab.kernel.evaluation import vector_of
from serq_lab.kernel.storage.access import load_float
from serq_lab.kernel.storage.memory import Row, inlined, kernel
from serq_lab.kernel.storage.state import N_GAP_EDGES, board_at, gap_at, gap_edge_at, session_at, stage_at
from serq_lab.kernel.storage.tables import TURN_NO


@inlined
def give_token(run: Row, s: int, i: int, is_decode: bool) -> None:
    """A decode, or a prefill that is done, gives its session a token now."""
    session = session_at(run, s)
    turn = load_float(vector_of(run, s) + 8 * TURN_NO)
    has_token = session.token_turn == turn
    follows = session.decode_turn == turn or (session.is_set_back and session.token_stage == i)
    if has_token and (is_decode or follows):
        record_gap(run, i, run.now - session.token_at)
    session.token_at, session.token_stage, session.token_turn = run.now, i, turn
    session.is_set_back = 0
    if is_decode:
        session.decode_turn = turn


@inlined
def record_gap(run: Row, i: int, gap: float) -> None:
    """Count a gap between two tokens, after the warm-up."""
    if not board_at(run, 0).is_warm:
        return
    stage = stage_at(run, i)
    stage.gap_count += 1
    stage.gap_sum += gap
    if not is_in_bin(run, stage.gap_bin, gap):  # most gaps are like the one before
        stage.gap_bin = bin_of(run, gap)
    counted = gap_at(stage, stage.gap_bin)
    if counted.count == 0:
        counted.least, counted.greatest = gap, gap
    counted.count += 1
    counted.least, counted.greatest = min(counted.least, gap), max(counted.greatest, gap)


@inlined
def is_in_bin(run: Row, k: int, gap: float) -> bool:
    """Whether a gap lies between two edges; bin k is below edge k."""
    return k > 0 and k < N_GAP_EDGES and gap_edge_at(run, k - 1).value <= gap and gap < gap_edge_at(run, k).value


@kernel
def bin_of(run: Row, gap: float) -> int:
    """How many edges are at or below a gap."""
    low, high = 0, N_GAP_EDGES
    while low < high:
        middle = (low + high) >> 1
        if gap_edge_at(run, middle).value <= gap:
            low = middle + 1
        else:
            high = middle
    return low
