"""The stage that a serving form means: ``prefill``, ``decode``, ``tool``, ``transfer`` without ``on``.

In come the program's stages and a form; out goes the stage's reference. Called by `blocks.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

from serq_lab.diagnostics.diagnostic import Label
from serq_lab.semantics.faults import Faults
from serq_lab.syntax import nodes


class ServingForms:
    """Finds stages by the role that a form names.

    Parameters
    ----------
    stages : sequence of Stage
        The program's stages; their order does not count.
    faults : Faults
        Takes the forms that mean no stage, or several.
    """

    def __init__(self, stages: Sequence[nodes.Stage], faults: Faults) -> None:
        self._stages = {stage.name.name: stage for stage in stages}
        self._faults = faults

    def is_step(self, stage: nodes.Reference) -> bool:
        declared = self._stages.get(stage.name.name)
        return declared is not None and isinstance(declared.kind, nodes.StepKind)

    def stage_of(
        self, form: Union[nodes.Serve, nodes.Transfer], index: nodes.Expression | None
    ) -> nodes.Reference | None:
        """The one stage that plays the form's role; None, and a fault, where there is none or several.

        A stage named as the form's word plays it (`link` or `transfer` for a transfer), or else, for
        `prefill` and `decode`, the only step stage.
        """
        word = form.word if isinstance(form, nodes.Serve) else "transfer"
        names = ("link", "transfer") if word == "transfer" else (word,)
        candidates = [self._stages[name] for name in names if name in self._stages]
        if not candidates and word in ("prefill", "decode"):
            candidates = [stage for stage in self._stages.values() if isinstance(stage.kind, nodes.StepKind)]
        if len(candidates) == 1:
            return nodes.Reference(form.span, nodes.Identifier(form.span, candidates[0].name.name), index)
        if candidates:
            listed = " and ".join(f'"{stage.name.name}"' for stage in candidates)
            message = f"`{word}` could mean several stages: {listed}"
            labels = tuple(Label(stage.name.span, "declared here") for stage in candidates)
            hint = f"name one: `{word} on {candidates[0].name.name} ...`"
            self._faults.error("form-ambiguous", message, form.span, hint, *labels)
        else:
            roles = " or ".join(f'"{name}"' for name in names)
            step = " and no step stage" if word in ("prefill", "decode") else ""
            hint = f"declare a stage named {roles}, or name the stage: `{word} on STAGE ...`"
            message = f"`{word}` has no stage: there is none named {roles}{step}"
            self._faults.error("form-without-stage", message, form.span, hint)
        return None
