"""The game's own words for questions: TOML with its items by kind and the names of its NPCs."""

import tomllib
from collections.abc import Mapping
from typing import Any

from gamewarden.errors import ConfigError, short

Words = tuple[Mapping[str, tuple[str, ...]], tuple[str, ...]]


def words_of(text: str, source: str) -> Words:
    """The items by kind, and the NPCs; `source` names it in errors.

    Raises:
        ConfigError: it is not TOML, or says something else.
    """
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{source}: is not TOML ({error})") from error
    return _words(values, source)


def _words(values: Mapping[str, Any], source: str) -> Words:
    odd = next((name for name in values if name not in {"items", "npcs"}), None)
    if odd is not None:
        raise ConfigError(f"{source}: {short(odd)} is unknown; write npcs = [names] and [items] with kind = [names]")
    items = values.get("items", {})
    if not isinstance(items, dict):
        raise ConfigError(f"{source}: items is {short(items)}; write [items] and kind = [names] per line")
    by_kind = {kind: _names(names, f"{source}: {short(kind)}") for kind, names in items.items()}
    return by_kind, _names(values.get("npcs", []), f"{source}: npcs")


def _names(names: object, where: str) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(isinstance(one, str) and one.strip() for one in names):
        raise ConfigError(f"{where} is {short(names)}; it is a list of names")
    return tuple(names)
