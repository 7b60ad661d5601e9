"""Why an account looks like a bot, or why not: numbers beside those of people, in sentences, by topic.

Of a verdict that reached a point the reasons rest with it; those of others are read off the numbers at rest. Whoever
is to judge without being told what a model thinks gets the numbers alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from gamewarden.contracts import Model
from gamewarden.desk.day_events import look as lake_look
from gamewarden.desk.desk import Desk
from gamewarden.desk.judged_days import day_of, look, rules_of, span_of
from gamewarden.errors import ModelError
from gamewarden.phrases import Phrase
from gamewarden.pipeline.models import load_model
from gamewarden.presentation.story import WeighedTopic, side_of, weighed_topics
from gamewarden.store.lake import Lake
from gamewarden.store.verdict_days import DaySeal

EVIDENCE_TABLE = "evidence"
_NOTHING = pl.DataFrame(schema={"detector": pl.String})


@dataclass(frozen=True)
class Fact:
    """One number of an account, beside what is usual among people."""

    feature: str
    value: float | None
    typical: float | None  # of people
    says: str
    side: str = ""  # whose number it rather is, taken alone: bot, human, or nobody's
    weight: float | None = None  # log-odds; None where it is hidden


@dataclass(frozen=True)
class ReasonTopic:
    """Numbers that measure nearly the same."""

    topic: str
    facts: tuple[Fact, ...]
    side: str = ""  # for whom it speaks: bot, human, or nobody
    rather: str = ""  # whose it rather is alone, where it counts for nobody beside the others
    marks: int = 0  # how strongly, from 0 to 5
    weight: float | None = None


@dataclass(frozen=True)
class DetectorReasons:
    """What one detector saw."""

    detector: str
    model: str  # empty where the numbers are shown without it
    topics: tuple[ReasonTopic, ...]


@dataclass(frozen=True)
class Reasons:
    """All reasons of one account on one day."""

    actor: str
    day: str
    kept: bool  # they rest with the verdict, which reached a point; else they were read off, or nobody is told
    detectors: tuple[DetectorReasons, ...]
    silent: tuple[str, ...]  # detectors that saw nothing of this account
    blind: bool = False


def reasons_of(desk: Desk, actor: str, seal: DaySeal, *, kept: bool, blind: bool = False) -> Reasons:
    """The reasons of a day's verdict; `kept` says whether it reached a point.

    Raises:
        ReadError: what rests of the day is missing or damaged.
    """
    key = look(desk), lake_look(desk), actor, seal.bundle, kept, desk.workspace.models_in_force()
    evidence, silent = desk.memory.of("reasons", _hashed(key), partial(_evidence, desk, actor, seal, kept=kept))
    told = tuple(_by_detector(desk, evidence, blind=blind))
    return Reasons(actor, day_of(seal), kept and not blind, told, silent, blind)


def _hashed(key: tuple[Any, ...]) -> tuple[Any, ...]:
    *others, models = key
    return (*others, tuple(model.card.id for model in models))


def _evidence(desk: Desk, actor: str, seal: DaySeal, *, kept: bool) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """EVIDENCE with the model of each row, and which detectors saw nothing."""
    known = _models(desk, rules_of(desk, seal).models)
    resting = desk.workspace.verdicts.table(seal, EVIDENCE_TABLE, actors=[actor]) if kept else None
    if resting is not None and resting.height:
        names = {model.card.detector: model.card.id for model in known.values()}
        told = resting.with_columns(model=pl.col("detector").replace_strict(names, default=""))
    else:
        told = _read_off(desk, actor, seal)
    heard = set(told["detector"])
    detectors = dict.fromkeys(name.partition("@")[0] for name in rules_of(desk, seal).models)
    return told, tuple(name for name in detectors if name not in heard)


def _read_off(desk: Desk, actor: str, seal: DaySeal) -> pl.DataFrame:
    """EVIDENCE by the models in force, from what was measured of the day."""
    if not desk.workspace.models_in_force():
        return _NOTHING
    scored, (since, until) = desk.workspace.scored(desk.now()), span_of(seal)
    parts = []
    for model in scored.models:
        feature = scored.features[model.card.id]
        if feature.input == "events" and not Lake.is_at(desk.workspace.lake):
            continue
        timeless = feature.input == "table"
        wanted = [
            one
            for one in scored.measured(model, (since, until))
            if one.since < seal.until and (one.until >= seal.until if timeless else one.until > seal.since)
        ]
        rows = scored.rows(model, wanted, [actor])
        inside = rows if timeless else rows.filter(pl.col("until") > since, pl.col("until") <= until)
        if inside.height:
            parts.append(model.explain(_fullest(inside)).with_columns(model=pl.lit(model.card.id)))
    return pl.concat(parts, how="diagonal_relaxed") if parts else _NOTHING


def _fullest(rows: pl.DataFrame) -> pl.DataFrame:
    """Of several rows of a day the one made of most events."""
    return rows.sort("events", descending=True, nulls_last=True).head(1)


def _models(desk: Desk, names: tuple[str, ...]) -> dict[str, Model]:
    """The models of a day that are still there."""
    found = {}
    in_force = {model.card.id: model for model in desk.workspace.models_in_force()}
    for name in names:
        try:
            found[name] = in_force.get(name) or load_model(desk.workspace.models, name)
        except ModelError:
            continue  # it was removed; its sentences are still there
    return found


def _by_detector(desk: Desk, evidence: pl.DataFrame, *, blind: bool) -> Iterator[DetectorReasons]:
    names = tuple(dict.fromkeys(evidence["model"])) if evidence.height else ()
    known = _models(desk, names)
    for detector in dict.fromkeys(evidence["detector"]):
        rows = evidence.filter(detector=detector)
        first = _one_period(rows, by_weight=not blind)
        name = str(rows["model"][0] or "")
        phrases: Mapping[str, Phrase] | None = getattr(known.get(name), "phrases", None)
        topics = weighed_topics(first, phrases)
        if blind:
            yield DetectorReasons(detector, "", tuple(hidden_topics(topics)))
        else:
            yield DetectorReasons(detector, name, tuple(map(_shown, topics)))


def _one_period(rows: pl.DataFrame, *, by_weight: bool) -> pl.DataFrame:
    """Of a detector that judges several pieces of a day the one that speaks most, or the first."""
    if rows["since"].null_count():
        return rows
    weighed = rows.group_by("since").agg(pl.col("weight").sum())
    order = ["weight", "since"] if by_weight else ["since"]
    chosen = weighed.sort(order, descending=[by_weight, False][: len(order)], nulls_last=True)["since"][0]
    return rows.filter(pl.col("since") == chosen)


def _shown(topic: WeighedTopic) -> ReasonTopic:
    facts = tuple(_fact(row, side_of(row), row["weight"]) for row in topic.rows)
    return ReasonTopic(topic.name, facts, topic.side, topic.rather, topic.marks, topic.weight)


def hidden_topics(topics: list[WeighedTopic]) -> Iterator[ReasonTopic]:
    """Topics in an order that tells nothing, without what a model makes of them."""
    for topic in sorted(topics, key=lambda one: one.name):
        rows = sorted(topic.rows, key=lambda row: str(row["feature"]))
        yield ReasonTopic(topic.name, tuple(_fact(row) for row in rows))


def _fact(row: Mapping[str, Any], side: str = "", weight: float | None = None) -> Fact:
    return Fact(row["feature"], row["value"], row["typical"], row["says"] or "", side, weight)
