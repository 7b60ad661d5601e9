"""What stands beside the rows of results, checked before anybody goes by it: it is JSON that anything may have spoiled.

A partition says of itself what it was made of and what was found in it; the bundle of a day says by which models and
rules it was judged.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gamewarden.errors import GamewardenError, ReadError, VerdictError
from gamewarden.learning.validation import Count, Moment, misfit
from gamewarden.store.partitions import INDEX, Partition, Partitions
from gamewarden.store.verdict_days import FACTS, DaySeal, VerdictDays
from gamewarden.tables import SCORES
from gamewarden.verdicts.rules import VerdictRules


@dataclass(frozen=True)
class AboutRows:
    """What a partition of FEATURES, or of events by kind, says of itself."""

    source: str = ""
    file: str = ""  # that it was measured from
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class AboutScores:
    """What a partition of SCORES says of itself."""

    judged: Count
    some: tuple[str, ...]
    far: Mapping[str, Count]
    partly: Count
    partly_covered: tuple[tuple[Moment, Moment, float], ...]


@dataclass(frozen=True)
class _Judge:
    id: str
    sha256: str
    feature: str = ""


@dataclass(frozen=True)
class _Facts:
    gamewarden: str
    source: Mapping[str, Any]
    caveats: tuple[str, ...]
    rules: Mapping[str, Any]
    models: tuple[_Judge, ...]
    fusion: _Judge | None
    recipes: Mapping[str, Mapping[str, Any]]
    forgotten: tuple[str, ...] = ()


def about(one: Partition, table: Partitions) -> Mapping[str, Any]:
    """What a partition of a table says of itself.

    Raises:
        ReadError: it says something else than such a partition does.
    """
    kind = AboutScores if table.schema is SCORES else AboutRows
    if wrong := misfit(kind, dict(one.about), f"what it says of {one.name}"):
        raise ReadError(f"{table.directory / INDEX}: {wrong}; compute it anew with --fresh")
    return one.about


def facts_of(days: VerdictDays, seal: DaySeal) -> dict[str, Any]:
    """What holds for all verdicts of a day.

    Raises:
        VerdictError: it is missing or damaged.
    """
    values = days.facts(seal)
    wrong = misfit(_Facts, values, "it") or _wrong_rules(values["rules"])
    if wrong:
        raise VerdictError(f"{days.directory / seal.bundle / FACTS}: {wrong}, so it was changed or damaged")
    return values


def _wrong_rules(values: Mapping[str, Any]) -> str | None:
    try:
        VerdictRules.of(values)
    except (GamewardenError, KeyError, TypeError, ValueError, OverflowError) as error:
        return f"its rules are none ({type(error).__name__}: {error})"
    return None
