"""Actions as signed requests to a server of the operator: Standard Webhooks, each known by its action's id."""

import base64
import binascii
import hashlib
import hmac
import http.client
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from gamewarden.cases import Action
from gamewarden.contracts import canonical_json
from gamewarden.core.durations import SECOND, parse_span
from gamewarden.core.outside import cut, plain_json, visible
from gamewarden.errors import ConfigError
from gamewarden.policy import AdapterSettings
from gamewarden.response.adapters import CARRIED, Blind, RefusedError, TryLaterError, steps_of
from gamewarden.response.adapters.addresses import Place, Resolve, addresses_of, resolved
from gamewarden.response.adapters.told import told
from gamewarden.response.adapters.wire import Answer, Request, first_answer

_PREFIX = "whsec_"
_LEAST_SECRET = 16  # bytes
_SAID = 200  # letters of an answer that people read
# Of the answers that name the sender's fault those that pass by themselves.
_PASSING = (http.client.REQUEST_TIMEOUT, http.client.TOO_EARLY, http.client.TOO_MANY_REQUESTS)


@dataclass(frozen=True)
class WebhookAdapter(Blind):
    """Sends actions to a URL; who receives them does each webhook-id once."""

    name: str
    steps: tuple[str, ...]
    place: Place
    secret: bytes
    allow_private: bool
    timeout: float  # seconds that an attempt may take, all of it
    resolve: Resolve | None = None
    sure: bool = True

    @classmethod
    def of(cls, settings: AdapterSettings, root: Path) -> "WebhookAdapter":
        """The adapter that these settings describe.

        Raises:
            ConfigError: the URL or the secret is missing, or is none.
        """
        del root
        return cls(
            settings.name,
            steps_of(settings, CARRIED),
            Place.of(settings.url, settings.name),
            secret_of(settings),
            settings.allow_private,
            parse_span(settings.timeout) / SECOND,
        )

    def slot(self, step: str) -> str:
        """Each step for itself."""
        return step

    def look(self, action: Action) -> Mapping[str, Any]:  # noqa: ARG002  nobody answers such a question
        """Nothing: a webhook does not see the game."""
        return {}

    def carry(self, action: Action) -> Mapping[str, Any]:
        """Send the action.

        Raises:
            RefusedError: the other side does not want it, or it is none that a request may go to.
            TryLaterError: it cannot be reached, or asks for patience.
        """
        until = time.monotonic() + self.timeout
        body = plain_body(action)
        headers = signed(self.secret, action.id, int(time.time()), body)
        resolve = self.resolve or (lambda host, port: resolved(host, port, self.timeout))
        addresses = addresses_of(self.place, resolve, private=self.allow_private)
        answer = first_answer(self.name, Request(self.place, body, headers, until), addresses)
        return {"status": judged(self.name, self.place, answer)}


def judged(who: str, place: Place, answer: Answer) -> int:
    """The status of an answer that is none of refusal.

    Raises:
        RefusedError: the other side does not want it.
        TryLaterError: it asks for patience.
    """
    status = answer.status
    if http.client.OK <= status < http.client.MULTIPLE_CHOICES:
        return status
    said = f"{who}: {visible(place.host)} answers {status} {visible(cut(answer.text, _SAID))}".rstrip()
    if http.client.MULTIPLE_CHOICES <= status < http.client.BAD_REQUEST:
        raise RefusedError(f"{said}; redirects are not followed: write the right url")
    if http.client.BAD_REQUEST <= status < http.client.INTERNAL_SERVER_ERROR and status not in _PASSING:
        raise RefusedError(f"{said}; look at the server, then settle the action")
    raise TryLaterError(said, seconds_of(answer.retry_after))


def plain_body(action: Action) -> bytes:
    """What is sent: the same bytes at each attempt."""
    return plain_json(canonical_json({"type": f"action.{action.verb}", "data": told(action)})).encode()


def signed(secret: bytes, key: str, at: int, body: bytes) -> dict[str, str]:
    """The headers of Standard Webhooks: id, time, and the signature over both and the body."""
    content = f"{key}.{at}.".encode() + body
    signature = base64.b64encode(hmac.new(secret, content, hashlib.sha256).digest()).decode()
    return {
        "content-type": "application/json",
        "user-agent": "gamewarden",
        "webhook-id": key,
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1,{signature}",
    }


def secret_of(settings: AdapterSettings) -> bytes:
    """The secret in the environment: the text itself, or base64 after `whsec_`.

    Raises:
        ConfigError: it is not there, is too short, or is no base64.
    """
    who = f"[[response.adapter]] {visible(settings.name)}: the secret in {visible(settings.secret_from)}"
    return secret_in(os.environ.get(settings.secret_from, ""), who)


def secret_in(text: str, who: str) -> bytes:
    """The secret that a text is, or has in base64.

    Raises:
        ConfigError: it is too short, or is no base64.
    """
    text = text.strip()
    try:
        given = (
            base64.b64decode(text.removeprefix(_PREFIX), validate=True) if text.startswith(_PREFIX) else text.encode()
        )
    except (binascii.Error, ValueError) as error:
        raise ConfigError(f"{who} is not base64 after {_PREFIX}; copy it again") from error
    if len(given) < _LEAST_SECRET:
        raise ConfigError(f"{who} has {len(given)} bytes and needs {_LEAST_SECRET}; set it in the environment")
    return given


def seconds_of(retry_after: str | None) -> float | None:
    """How long the other side asks to wait: seconds, or until a date."""
    if retry_after is None:
        return None
    if retry_after.strip().isdecimal():
        return float(retry_after.strip()[:9])
    try:
        return (parsedate_to_datetime(retry_after) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError):
        return None
