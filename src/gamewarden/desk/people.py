"""Who works at the desk, and what each may do."""

from collections.abc import Mapping
from dataclasses import dataclass

READ, VOTE, DECIDE, OPERATE, ADMINISTER = "read", "vote", "decide", "operate", "administer"
PUSH, METRICS = "push", "metrics"
RIGHTS = (READ, VOTE, DECIDE, OPERATE, ADMINISTER, PUSH, METRICS)
# Whoever keeps it running need not be somebody who decides about players, and the other way round.
ROLES: Mapping[str, frozenset[str]] = {
    "viewer": frozenset({READ}),
    "reviewer": frozenset({READ, VOTE}),
    "moderator": frozenset({READ, VOTE, DECIDE}),
    "operator": frozenset({READ, OPERATE, METRICS}),
    "admin": frozenset(RIGHTS),
}


@dataclass(frozen=True)
class Person:
    """Somebody who looks at a page, or a program with a token."""

    name: str
    role: str
    rights: frozenset[str]
    language: str = ""  # empty: as the browser asks
    theme: str = ""  # light, dark, or empty: as the system has it
    csrf: str = ""  # empty for programs: their tokens are in no cookie
