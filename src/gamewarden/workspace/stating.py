"""What a statement of reasons is written from: a decision, its evidence and verdicts, and what followed."""

from collections.abc import Iterable, Iterator
from typing import Any

from gamewarden.cases import VERDICT, Action, Appeal, Decision, Observation, Suspicion
from gamewarden.errors import ReadError, VerdictError
from gamewarden.presentation.statement import Background, VerdictBehind
from gamewarden.store.ledger.values import told
from gamewarden.workspace.deciding import the_one
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.proving import Shown, show

_REASONS = 6  # of a verdict, the heaviest


def background(workspace: Workspace, name: str, *, with_verdicts: bool) -> Background:
    """All that is known of a decision, by its id or the beginning of it.

    Raises:
        ResponseError: there is no such decision, or there are several.
        LedgerError: the ledger cannot be read.
    """
    ledger, settings = workspace.ledger, workspace.config.appeal
    made = the_one(ledger, Decision, name)
    evidence = ledger.find(Observation, id=made.evidence, order=("at",)) if made.evidence else []
    appeals = ledger.find(Appeal, actor=made.actor, order=("opened",))
    suspicion = ledger.find(Suspicion, actor=made.actor)
    return Background(
        decision=made,
        evidence=tuple(evidence),
        actions=tuple(ledger.find(Action, decision=made.id, order=("due",))),
        appeals=tuple(one for one in appeals if one.decision in {None, made.id}),
        suspicion=suspicion[0] if suspicion else None,
        verdicts=dict(_behind(workspace, evidence)) if with_verdicts else {},
        rule=settings.rule,
        where=settings.where,
        four_eyes=workspace.config.response.four_eyes,
    )


def records(found: Background) -> dict[str, Any]:
    """A decision with its evidence and actions, for machines."""
    parts = {"evidence": [told(one) for one in found.evidence], "actions": [told(one) for one in found.actions]}
    return {"decision": told(found.decision), **parts}


def _behind(workspace: Workspace, evidence: Iterable[Observation]) -> Iterator[tuple[str, VerdictBehind]]:
    """The sealed verdicts that observations refer to, as far as they are still there."""
    for one in evidence:
        if one.kind == VERDICT and one.ref:
            try:
                yield one.ref, _told(show(workspace.verdicts, one.ref))
            except (VerdictError, ReadError):
                continue  # dropped by retention, forgotten or damaged: `gamewarden verify` says which


def _told(shown: Shown) -> VerdictBehind:
    values = shown.values
    models = [one["id"] for one in values["models"]] + ([values["fusion"]["id"]] if values["fusion"] else [])
    weighed = shown.evidence.drop_nulls("weight").sort("weight", descending=True)
    heaviest = weighed.unique("says", keep="first", maintain_order=True).head(_REASONS)  # two models may say the same
    reasons = [f"{'+' if weight > 0 else '−'} {says}" for weight, says in heaviest.select("weight", "says").iter_rows()]
    return VerdictBehind(values["point"], values["probability"], tuple(models), tuple(reasons))
