"""When actions leave: in waves at moments that tell nothing about the evidence, and again after a failure."""

import hashlib
import hmac
from datetime import datetime, timedelta

from gamewarden.cases import Decision
from gamewarden.core.durations import MINUTE, SECOND, from_micros, parse_span, to_micros
from gamewarden.policy import CHALLENGE, Response

_FIRST_WAIT, _LONGEST_WAIT = 10 * SECOND, 60 * MINUTE  # between two attempts
_AT_ONCE = MINUTE  # by a share of this what is not delayed varies
_CHANCES = float(1 << 64)


def chance(secret: bytes, *parts: str) -> float:
    """A number from 0 on below 1: always the same of these parts, and nobody's guess without the secret."""
    said = hmac.new(secret, "\0".join(parts).encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
    return (int.from_bytes(said[:8], "big") >> 11) / (1 << 53)


def in_canary(actor: str, share: float, secret: bytes) -> bool:
    """Whether an actor is among the share for whom decisions are carried out; who is stays so as the share grows."""
    return chance(secret, "canary", actor) < share


def due_of(decision: Decision, settings: Response, secret: bytes) -> datetime:
    """When a decision leaves: with the others of its wave, at a moment that its evidence does not tell.

    A challenge is not kept waiting: a test that comes long after what it is about tests somebody else's play.
    """
    at = to_micros(decision.at)
    if decision.step == CHALLENGE:
        return from_micros(at + int(_AT_ONCE * settings.jitter * chance(secret, "at once", decision.id)))
    length = parse_span(settings.wave)
    phase = int(length * chance(secret, "phase"))
    number = (at - phase) // length
    late = int(length * settings.jitter * chance(secret, "wave", str(number)))
    return from_micros((number + 1) * length + phase + late)


def next_try(key: str, attempts: int, settings: Response, secret: bytes, after: float | None = None) -> timedelta:
    """How long to wait after so many attempts: twice as long each time, varied, and at least what was asked for."""
    wait = min(_FIRST_WAIT << min(attempts - 1, 16), _LONGEST_WAIT)
    varied = wait * (1 + settings.jitter * (2 * chance(secret, "try", key, str(attempts)) - 1))
    asked = min(max(after or 0.0, 0.0) * SECOND, _LONGEST_WAIT)
    return timedelta(microseconds=int(max(varied, asked)))
