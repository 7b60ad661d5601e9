"""What stands beside the rows of results, checked before anybody goes by it: it is JSON that anything may have spoiled.

A partition says of itself what it was made of and what was found in it; the bundle of a day says by which models and
rules it was judged.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from gamewarden.errors import GamewardenError, ReadError, VerdictError
from gamewarden.learning.validation import Count, Moment, Natural, OpenShare, Share, TimeZone, misfit
from gamewarden.store.partitions import INDEX, Partition, Partitions
from gamewarden.store.verdict_days import FACTS, DaySeal, VerdictDays
from gamewarden.tables import SCORES, VERDICTS, check
from gamewarden.verdicts.rules import VerdictRules

KEPT = replace(
    VERDICTS,
    columns={**VERDICTS.columns, "point": pl.String, "verdict": pl.String},
    required=(*VERDICTS.required, "point", "verdict"),
    may_be_null=(*VERDICTS.may_be_null, "point", "verdict"),
)


@dataclass(frozen=True)
class AboutRows:
    """What a partition of FEATURES, or of events by kind, says of itself."""

    source: str = ""
    file: str = ""  # that it was measured from
    notes: tuple[str, ...] = ()
    days: tuple[str, ...] = ()  # whose parts it was made of, where its feature looks back


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
class _Rules:
    every: Natural  # microseconds
    time_zone: TimeZone
    watch: Share
    act: Share
    agree: Natural
    repeated: float
    together: float
    bots: OpenShare
    covered: Share
    combination: str = ""  # days that were sealed under earlier rules name neither
    rates: str = ""


@dataclass(frozen=True)
class _Facts:
    gamewarden: str
    source: Mapping[str, Any]
    caveats: tuple[str, ...]
    rules: _Rules
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
    except GamewardenError as error:
        return f"its rules are none ({error})"
    return None


def verdicts_of(days: VerdictDays, seal: DaySeal, actors: Collection[str] | None = None) -> pl.DataFrame:
    """The verdicts of a day, of these actors or of all, each with its operating point and its id.

    Raises:
        ReadError: they are missing or damaged.
        TableError: they are another table.
    """
    path = days.directory / seal.bundle / "verdicts.parquet"
    return check(days.table(seal, actors=actors), KEPT, str(path))
