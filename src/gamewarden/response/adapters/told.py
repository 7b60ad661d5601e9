"""An action as other programs read it: one JSON object, the same in a log and in a webhook."""

from typing import Any

from gamewarden.cases import Action


def told(action: Action) -> dict[str, Any]:
    """What another program needs of an action; `key` is the same however often it is told."""
    return {
        "key": action.id,
        "verb": action.verb,
        "step": action.step,
        "actor": action.actor,
        "until": None if action.until is None else action.until.isoformat(),
        "decision": action.decision,
    }
