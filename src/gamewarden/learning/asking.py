"""A method may ask its feature for options without which it would be blind."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from gamewarden.contracts import Feature


def asked(feature: Feature, asks: Mapping[str, Any]) -> Feature:
    """The feature with the options a method cannot do without."""
    known: Any = feature
    names = {option.name for option in fields(known)} if is_dataclass(known) else set()
    missing = {name: value for name, value in asks.items() if name in names and getattr(known, name) != value}
    found: Feature = replace(known, **missing) if missing else feature
    return found
