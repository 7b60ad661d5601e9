"""Calling a person: mail, Slack, Discord, a webhook … through apprise; seldom, and without account names.

Addresses hold secrets, so they come from an environment variable, are never written down and never shown.
"""

import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from gamewarden.config import Notify
from gamewarden.core.durations import parse_span
from gamewarden.core.files import write_text
from gamewarden.core.outside import visible

TITLE = "gamewarden"
_DAY = timedelta(days=1)
_MOST_NAMES = 5


def now() -> datetime:
    """The clock's time."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Notices:
    """Where messages go, how often at the most, and what was sent lately."""

    policy: Notify
    state: Path  # when what was told; outlives the process, or a restart would tell everything again
    clock: Callable[[], datetime] = now

    def send(self, reason: str, text: str, names: Sequence[str] = ()) -> str:
        """Tell the operator, or say why nobody was told; whatever happens, the caller's work goes on."""
        addresses = os.environ.get(self.policy.urls_from, "").split()
        if not addresses:
            return f"nobody told: {self.policy.urls_from} is empty"
        sent = self._lately()
        if held := self._held_back(sent, reason):
            return held
        outcome = _deliver(addresses, self._body(text, names))
        if outcome == "sent":
            self._remember(sent, reason)
        return outcome

    def _body(self, text: str, names: Sequence[str]) -> str:
        shown = "\n".join(map(visible, text.split("\n")))
        if self.policy.names != "allowed" or not names:
            return shown
        return f"{shown} Most affected: {', '.join(map(_harmless, names[:_MOST_NAMES]))}."

    def _held_back(self, sent: Sequence[Mapping[str, str]], reason: str) -> str | None:
        today = [one for one in sent if self.clock() - datetime.fromisoformat(one["at"]) < _DAY]
        if len(today) >= self.policy.most_a_day:
            return f"held back: {len(today)} messages were sent in 24 hours"
        gap = timedelta(microseconds=parse_span(self.policy.gap))
        same = [one for one in sent if one["reason"] == reason]
        if same and self.clock() - datetime.fromisoformat(same[-1]["at"]) < gap:
            return f"held back: the same was told within {self.policy.gap}"
        return None

    def _lately(self) -> list[dict[str, str]]:
        try:
            found: Any = json.loads(self.state.read_text(encoding="utf-8"))
            sent = [{"reason": str(one["reason"]), "at": str(one["at"])} for one in found]
            for one in sent:
                _ = self.clock() - datetime.fromisoformat(one["at"])
        except FileNotFoundError:
            return []
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return []  # a damaged memory may cost a message too many, never the maintenance
        return sent

    def _remember(self, sent: list[dict[str, str]], reason: str) -> None:
        longest = max(_DAY, timedelta(microseconds=parse_span(self.policy.gap)))
        kept = [one for one in sent if self.clock() - datetime.fromisoformat(one["at"]) < longest]
        write_text(self.state, json.dumps([*kept, {"reason": reason, "at": self.clock().isoformat()}]) + "\n")


def _harmless(name: str) -> str:
    """A player's name in a chat: nothing hidden in it, and nobody called by it (@everyone)."""
    return visible(name).replace("@", "＠")


def _deliver(addresses: Sequence[str], body: str) -> str:
    try:
        import apprise
    except ImportError:
        return "nobody told: apprise is not installed; pip install 'gamewarden[notify]'"
    logging.getLogger("apprise").setLevel(logging.CRITICAL)  # its lines may hold parts of an address
    try:
        posts = apprise.Apprise()
        unknown = sum(not posts.add(address) for address in addresses)
        if unknown:
            return f"nobody told: {unknown} of {len(addresses)} addresses are none that apprise knows"
        return (
            "sent"
            if posts.notify(body=body, title=TITLE, body_format=apprise.NotifyFormat.TEXT)
            else "could not be sent"
        )
    except Exception as error:  # noqa: BLE001  more than a hundred services' plug-ins: none may end the maintenance
        return f"could not be sent ({type(error).__name__})"
