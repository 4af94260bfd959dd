"""The two ways to write a session: whole at top level, or a workload's side and a server's.

In come the program's items; out go the three blocks of a session, written out. Next on the way:
`statements.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from serq_lab.diagnostics.diagnostic import Label
from serq_lab.semantics.expand.blocks import Blocks
from serq_lab.semantics.expand.parts import Parts
from serq_lab.semantics.faults import Faults
from serq_lab.syntax import nodes


@dataclass(frozen=True)
class Sides:
    """What a session executes; None where the program has no such block."""

    init: nodes.Block | None
    turn: nodes.Block | None
    session: nodes.Block | None

    @property
    def blocks(self) -> tuple[nodes.Block, ...]:
        return tuple(block for block in (self.init, self.turn, self.session) if block is not None)


def take_sides(parts: Parts, workload: Mapping[str, nodes.WorkloadItem], blocks: Blocks, faults: Faults) -> Sides:
    """Write the blocks out, the server's for each ``request;``; `workload` are its items by keyword."""
    init, turn, client = workload.get("init"), workload.get("turn"), workload.get("session")
    whole = parts.session or client
    session = blocks.block(whole.body, {}) if isinstance(whole, (nodes.Session, nodes.WorkloadSession)) else None
    _check_sides(parts, client, blocks, faults)
    return Sides(
        blocks.block(init.body, {}) if isinstance(init, nodes.InitBlock) else None,
        blocks.block(turn.body, {}) if isinstance(turn, nodes.TurnBlock) else None,
        session,
    )


def _check_sides(parts: Parts, client: nodes.WorkloadItem | None, blocks: Blocks, faults: Faults) -> None:
    server = parts.server
    if parts.session is not None and client is not None:
        message = "the session is written twice: whole at top level, and here"
        label = Label(parts.session.span, "the whole session")
        hint = "take this one out, or make the other one the `server`"
        faults.error("session-twice", message, client.span, hint, label)
    elif server is not None and client is None:
        message = "a `server` answers the requests of a `session` inside `workload`, and there is none"
        hint = "add `session { turn; request; end; }` to the workload"
        if parts.session is not None:
            hint = "make the top-level `session` the workload's, and say `request;` in it"
        faults.error("server-without-session", message, server.span, hint)
    elif server is not None and client is not None and not blocks.n_requests:
        message = "this `server` is never asked: the workload's session has no `request;`"
        label = Label(client.span, "the workload's session")
        faults.error("server-without-request", message, server.span, "add `request;` to it", label)
    elif server is None and client is not None and not blocks.n_requests:
        message = "a `session` inside `workload` needs a `server` block that answers its `request;`"
        hint = "move the session to top level to write it whole"
        faults.error("session-without-server", message, client.span, hint)
