"""How an answer is kept: as a keyed digest of its own challenge, which says nothing to whoever reads the ledger."""

import hmac
from collections.abc import Sequence
from hashlib import sha256

_UNIT = 1 << 64
_NOBODY = "0" * 64  # what is compared where there is nothing to compare with


def keyed(secret: str, *parts: str) -> str:
    """A digest that only who knows the secret can make."""
    told = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hmac.new(secret.encode(), told, sha256).hexdigest()


def kept_answers(secret: str, name: str, answers: Sequence[str]) -> str:
    """The answers of a challenge as the ledger keeps them."""
    return " ".join(keyed(secret, "answer", name, one) for one in answers)


def is_answer(secret: str, name: str, kept: str, answer: str) -> bool:
    """Whether it is one of those that are kept; it takes as long whether it is or not."""
    given = keyed(secret, "answer", name, answer)
    return any([hmac.compare_digest(given, one) for one in kept.split() or [_NOBODY]])  # noqa: C419  all are compared


def chance(secret: str, *parts: str) -> float:
    """A number of [0, 1) that is the same whenever it is asked for, and that nobody without the secret foresees."""
    return int(keyed(secret, "chance", *parts)[:16], 16) / _UNIT
