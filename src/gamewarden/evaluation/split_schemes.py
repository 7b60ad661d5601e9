"""Five ways to hold somebody out, from the one that flatters to those that ask what an operator asks."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from gamewarden.errors import FitError
from gamewarden.evaluation.account_links import Ties, with_named
from gamewarden.evaluation.splits import Sides, by_family, by_group, by_period, forward, middle_of
from gamewarden.learning.labels import Labelled, label_periods

RANDOM, ACTOR, FARM, TIME, FAMILY = "random", "actor", "farm", "time", "family"
# Which question each split answers, in words for a table.
SAYS: Mapping[str, str] = {
    RANDOM: "single periods at random; accounts stand on both sides, so this flatters",
    ACTOR: "accounts the detector never saw",
    FARM: "whole groups that trade or share an address (farms) never seen",
    TIME: "later play of accounts never seen, learned from earlier play and earlier labels only",
    FAMILY: "kinds of bots never seen, beside people never seen",
}
SPLITS = tuple(SAYS)
FARM_COLUMNS = ("farm", "group")  # of the labels: who belongs together


@dataclass(frozen=True)
class Ground:
    """What all splits are made of: the measured periods, the labels that may be tested on, and who is tied to whom."""

    features: pl.DataFrame
    labels: pl.DataFrame
    ties: Ties
    group: str | None = None  # the column of the labels that names groups
    cut: datetime | None = None
    folds: int = 10
    seed: int = 0

    def labelled(self, group: pl.Expr | None = None) -> Labelled:
        """The labelled periods, actors being groups of their own or in the groups given."""
        known = self.labels.with_columns(group=pl.lit(None, pl.String) if group is None else group)
        return label_periods(self.features, known, "evaluate")


@dataclass(frozen=True)
class Plan:
    """One way of splitting: who learns, who is tested, and the labels the detectors are given."""

    name: str
    splits: tuple[Sides, ...]
    labels: pl.DataFrame
    labelled: Labelled
    notes: tuple[str, ...] = ()

    @property
    def flatters(self) -> bool:
        """Whether the same actor may stand on both sides."""
        return self.name == RANDOM


def plan(name: str, ground: Ground) -> Plan:
    """The split of this name.

    Raises:
        FitError: the log or the labels do not allow it.
    """
    return _PLANS[name](ground)


def _at_random(ground: Ground) -> Plan:
    labelled = ground.labelled()
    alone = labelled.rows["actor"].n_unique() == labelled.rows.height
    notes = ("Every actor has one period, so that random is by actor here.",) if alone else ()
    splits = tuple(by_period(labelled.rows, ground.folds, ground.seed))
    return Plan(RANDOM, splits, _ungrouped(ground.labels), labelled, notes)


def _by_actor(ground: Ground) -> Plan:
    labelled = ground.labelled()
    return Plan(ACTOR, tuple(by_group(labelled.rows, ground.folds, ground.seed)), _ungrouped(ground.labels), labelled)


def _by_farm(ground: Ground) -> Plan:
    found = farms(ground)
    labels = _grouped(ground.labels, found.groups)
    labelled = label_periods(ground.features, labels, "evaluate")
    sizes = found.groups.join(labelled.rows, on="actor", how="semi").group_by("group").len()["len"]
    several = sizes.filter(sizes > 1)
    told = f"{len(several)} groups of 2 to {max(several, default=0)} labelled accounts are held out whole."
    return Plan(FARM, tuple(by_group(labelled.rows, ground.folds, ground.seed)), labels, labelled, (told, *found.notes))


def farms(ground: Ground) -> Ties:
    """Who belongs together: by the labels' column, and by what ties accounts in the log.

    Raises:
        FitError: neither tells.
    """
    column = ground.group or next((name for name in FARM_COLUMNS if _names_somebody(ground.labels, name)), None)
    if column is None and not ground.ties.visible:
        raise FitError(
            "evaluate: nothing tells who belongs together: the labels have no column farm or group, and the log "
            "neither partners (other) nor addresses (ip)"
        )
    if column is None:
        return ground.ties
    return with_named(ground.ties, ground.labels.select("actor", group=pl.col(column).cast(pl.String)))


def bonds(ground: Ground) -> Ties:
    """Who is known to belong together, by the labels or by the log; nobody where neither tells."""
    try:
        return farms(ground)
    except FitError:
        return ground.ties


def _forward(ground: Ground) -> Plan:
    labelled = ground.labelled()
    cut = ground.cut or middle_of(labelled.rows)
    known = ground.labels.filter(pl.col("at").is_null() | (pl.col("at") <= cut))
    early = label_periods(ground.features, _ungrouped(known), "evaluate").rows
    splits = tuple(forward(early, labelled.rows, cut, ground.folds, ground.seed))
    across = labelled.rows.filter(pl.col("since") < cut, pl.col("until") > cut).height
    undated = int(ground.labels["at"].null_count())
    notes = [f"Forward in time: learned from what was over on {cut:%Y-%m-%d %H:%M} UTC, tested on what began after it."]
    notes += [f"{across} periods reach across that moment and are on no side."] if across else []
    if undated:
        notes.append(f"{undated} labels do not say when they were given (`at`); they count as known from the start.")
    return Plan(TIME, splits, _ungrouped(ground.labels), labelled, tuple(notes))


def _by_family(ground: Ground) -> Plan:
    families = family_of(ground.labels)
    if families is None:
        raise FitError("evaluate: the labels have no column family; add one that names each bot's kind")
    grouped = _grouped(ground.labels, bonds(ground).groups)
    labelled = label_periods(ground.features, grouped, "evaluate")
    rows = labelled.rows.drop("family", strict=False).join(families, on="actor", how="left", maintain_order="left")
    nameless = rows.filter(pl.col("bot"), pl.col("family").is_null())["actor"].n_unique()
    notes = (f"{nameless} bots have no family and are only learned from.",) if nameless else ()
    return Plan(FAMILY, tuple(by_family(rows, ground.seed)), grouped, labelled, notes)


_PLANS = {RANDOM: _at_random, ACTOR: _by_actor, FARM: _by_farm, TIME: _forward, FAMILY: _by_family}


def family_of(labels: pl.DataFrame) -> pl.DataFrame | None:
    """Actor and family, where the labels name one."""
    if not _names_somebody(labels, "family"):
        return None
    return labels.group_by("actor").agg(pl.col("family").cast(pl.String).drop_nulls().min()).sort("actor")


def _names_somebody(labels: pl.DataFrame, column: str) -> bool:
    return column in labels.columns and labels[column].null_count() < labels.height


def _ungrouped(labels: pl.DataFrame) -> pl.DataFrame:
    return labels.with_columns(group=pl.lit(None, pl.String))


def _grouped(labels: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    return labels.drop("group").join(groups.unique("actor"), on="actor", how="left", maintain_order="left")
