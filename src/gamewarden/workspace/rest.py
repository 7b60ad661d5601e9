"""Where results rest: FEATURES by recipe, events by kind, SCORES by model, each cut into partitions."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from gamewarden.contracts import Feature, Recipe, canonical_json, digest
from gamewarden.core.clock import Clock
from gamewarden.core.durations import span_text
from gamewarden.store.partitions import Partitions
from gamewarden.store.verdicts import feature_name
from gamewarden.tables import FEATURES, SCORES, TIME, Schema

METHOD = 1  # raised when a later version measures or scores otherwise: whatever rests here is then computed anew
KINDS = Schema(
    "KINDS",  # how many events of each kind there were in each period
    {"since": TIME, "until": TIME, "kind": pl.String, "n": pl.Int64},
    required=("since", "until", "kind", "n"),
)
# What a feature that looks back keeps of a day. Its further columns are its own; those here may name accounts.
PARTS = Schema(
    "PARTS",
    {"actor": pl.String, "since": TIME, "until": TIME, "other": pl.String},
    required=("actor", "since", "until"),
    may_be_null=("actor",),  # what is known of a day as a whole
    open=True,
)
# What the desk reads of a judged day; `since` is where the day begins.
ACCOUNT_DAYS = Schema(
    "ACCOUNT_DAYS",
    {
        "actor": pl.String,
        "since": TIME,
        "until": TIME,
        "probability": pl.Float64,
        "fpr": pl.Float64,
        "point": pl.String,
        "agree": pl.Int64,
        "covered": pl.Float64,
        "far": pl.String,
        "verdict": pl.String,  # its id; null where it reaches no point
        "detector": pl.String,  # the one that speaks loudest; null where the verdict reaches no point
        "reason": pl.String,  # the sentence that weighs most; null where the verdict reaches no point
        "events": pl.Int64,
        "self_sim": pl.Float64,
        "play_minutes": pl.Float64,
        "level": pl.Int64,  # the highest that was seen
        "zone": pl.String,  # with most events
        "zones": pl.Int64,
        "addresses": pl.Int64,
        "sharing": pl.Int64,  # other accounts, on this day, at the address it shares with most
        "money_gained": pl.Float64,
        "kinds": pl.UInt64,  # a bit per kind it has events of, in the order in which the partition's `about` names them
    },
    required=("actor", "since", "until"),
)
HOUR_COLUMNS = tuple(f"h{hour:02}" for hour in range(24))
HOURS = Schema(
    "HOURS",  # events by hour of the day in the workspace's time zone
    {
        "actor": pl.String,
        "since": TIME,
        "events": pl.Int64,
        "level": pl.Int64,
        **dict.fromkeys(HOUR_COLUMNS, pl.Int64),
    },
    required=("actor", "since", "events", *HOUR_COLUMNS),
)
OTHER_KINDS = "(other)"  # all kinds but the most common
MIX = Schema(
    "MIX",
    {"actor": pl.String, "since": TIME, "kind": pl.String, "n": pl.Int64},
    required=("actor", "since", "kind", "n"),
)
EDGES = Schema(
    "EDGES",  # what an account did with another
    {
        "actor": pl.String,
        "since": TIME,
        "other": pl.String,
        "kind": pl.String,
        "n": pl.Int64,
        "amount": pl.Float64,  # null where no event tells one
        "first": TIME,
        "last": TIME,
    },
    required=("actor", "since", "other", "kind", "n", "first", "last"),
)
ADDRESSES = Schema(
    "ADDRESSES",
    {"actor": pl.String, "since": TIME, "address": pl.String, "n": pl.Int64},
    required=("actor", "since", "address", "n"),
)
CELLS = Schema(
    "CELLS",  # squares of a zone in which there were events; the sides are powers of two, so that squares nest
    {
        "since": TIME,
        "zone": pl.String,
        "side": pl.Float64,
        "x": pl.Int64,  # the square begins at x * side
        "y": pl.Int64,
        "n": pl.Int64,
        "suspected": pl.Int64,  # of them by accounts that reach a point on that day
    },
    required=("since", "zone", "side", "x", "y", "n", "suspected"),
)
DESK: Mapping[str, Schema] = {
    "accounts": ACCOUNT_DAYS,
    "hours": HOURS,
    "mix": MIX,
    "edges": EDGES,
    "addresses": ADDRESSES,
    "cells": CELLS,
}


@dataclass(frozen=True)
class Rest:
    """The tables of one directory of results."""

    directory: Path

    def features(self, recipe: Recipe) -> Partitions:
        """FEATURES as this recipe measures them."""
        return Partitions(self.directory / "features" / f"{recipe.name}@{feature_name(recipe)}", FEATURES)

    def parts(self, recipe: Recipe) -> Partitions:
        """What a feature that looks back keeps of each day."""
        return Partitions(self.directory / "parts" / f"{recipe.name}@{feature_name(recipe)}", PARTS)

    def kinds(self, clock: Clock) -> Partitions:
        """How many events of each kind there are in the periods of a clock."""
        name = f"{span_text(clock.every)}@{digest(clock.time_zone)}"
        return Partitions(self.directory / "kinds" / name, KINDS)

    def scores(self, model: str) -> Partitions:
        """SCORES of a model, at the share of bots that it supposes itself."""
        return Partitions(self.directory / "scores" / model, SCORES)

    def desk(self, name: str) -> Partitions:
        """One of the tables that the desk reads."""
        return Partitions(self.directory / "desk" / name, DESK[name])


def recipe_of(feature: Feature) -> Recipe:
    """A feature as results and models name it."""
    return Recipe(feature.name, feature.to_dict())


def came_from(*parts: object) -> str:
    """A digest of all that a partition depends on."""
    return digest(canonical_json([METHOD, *parts]))
