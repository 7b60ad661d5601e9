"""Paths into nested values: `player.account.id` is the id of a player's account, unless a column is called so."""

from collections.abc import Mapping

DEEPEST = 8  # steps of a path; whoever nests deeper writes the value at a shorter one


def steps(name: str) -> tuple[str, ...]:
    """The keys that a path goes along; none where a name is no path."""
    if "." not in name:
        return ()
    keys = tuple(name.split("."))
    return keys if len(keys) <= DEEPEST and all(keys) else ()


def value_at(found: Mapping[str, object], name: str) -> object:
    """The value under a key of that name, or else at the end of the path; None where there is none."""
    value = found.get(name)
    keys = steps(name) if value is None else ()
    if not keys:
        return value
    value = found
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value
