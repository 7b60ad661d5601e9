"""Names of accounts in addresses: players choose them, and nothing on the way must take one for a path.

A letter that means something in an address is written as `~` and its number, such as ~2F for a slash: servers and
proxies undo percent signs as they like, and leave this as it is. Plain names look as they are.
"""

import re
from typing import Annotated
from urllib.parse import quote

from fastapi import Depends

NAMELESS = "~"  # an account without a name
_MEANS_SOMETHING = re.compile(r"[\x00-\x7f]")  # but letters, digits, and these:
_PLAIN = frozenset("-_.")
_WRITTEN_OUT = re.compile(r"~([0-9A-F]{2})")


def in_path(actor: str) -> str:
    """A name as a part of a path that stands for nothing else."""
    if not actor:
        return NAMELESS
    plain = frozenset() if actor in {".", ".."} else _PLAIN
    return quote(_MEANS_SOMETHING.sub(lambda found: _written(found[0], plain), actor), safe="~")


def from_path(text: str) -> str:
    """The name back from what a server has found in a path; one that was only percent-encoded is understood, too."""
    return "" if text == NAMELESS else _WRITTEN_OUT.sub(lambda found: chr(int(found[1], 16)), text)


def account_url(actor: str, part: str = "") -> str:
    """The address of an account's page, or of a part of it."""
    return f"/accounts/{in_path(actor)}" + (f"/{part}" if part else "")


def _written(letter: str, plain: frozenset[str]) -> str:
    return letter if letter.isalnum() or letter in plain else f"~{ord(letter):02X}"


def _named(actor: str) -> str:
    return from_path(actor)


ActorHere = Annotated[str, Depends(_named)]
