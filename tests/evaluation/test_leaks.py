"""Leaks planted on purpose, each of which would flatter, and each of which is caught."""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

from gamewarden.detectors.logistic.recipe import AccountDay
from gamewarden.errors import FitError
from gamewarden.evaluation.account_links import NO_TIES, seen_in, ties_of
from gamewarden.evaluation.baselines import Constant
from gamewarden.evaluation.compare_splits import compare
from gamewarden.evaluation.leaks import refuse_future, sanction_kinds
from gamewarden.evaluation.split_schemes import Ground
from gamewarden.features.plain import PlainFeature
from gamewarden.pipeline.evaluating import Splitting, compare_splits
from gamewarden.tables import LABELS, FrameEvents, check
from made_up import DAY, START, GivenNumbers, account_days, labels_of

NUMBERS = GivenNumbers()


def line(result, split, detector, unit="actor"):
    return result.summary.filter(split=split, detector=detector, unit=unit).row(0, named=True)


def full(labels):
    return check(labels, LABELS, "test")


def by(*columns):
    return AccountDay(NUMBERS, columns=columns, strengths=(1.0,))


# A farm on both sides


@pytest.fixture(scope="module")
def farms():
    """Thirty farms of six at one address each; a farm has its own script, and its class is a coin toss."""
    draw = np.random.default_rng(11)
    coin, script = np.repeat(draw.random(30) < 0.5, 6), np.repeat(draw.permutation(30), 6)
    actors = [f"a{at:03}" for at in range(180)]
    table = account_days(0, 180, 1).with_columns(
        pl.Series("actor", actors), *(pl.Series(f"p{k}", (script == k) * 1.0) for k in range(30))
    )
    log = pl.DataFrame({"actor": actors, "ip": [f"10.0.0.{at // 6}" for at in range(180)], "at": START, "kind": "move"})
    labels = full(pl.DataFrame({"actor": actors, "bot": coin}))
    ground = Ground(table, labels, ties_of(seen_in(FrameEvents(log))), folds=5)
    return compare((by(*(f"p{k}" for k in range(30))),), ground, ("actor", "farm"))


def test_a_farm_on_both_sides_is_counted_and_said_though_no_label_names_it(farms):
    assert line(farms, "actor", "account-day")["tied"] == 1.0
    assert any("180 of 180 in the split by actor" in warning for warning in farms.warnings)


def test_holding_the_farm_out_shows_what_it_flattered(farms):
    assert line(farms, "actor", "account-day")["auc"] > 0.95
    assert line(farms, "farm", "account-day")["auc"] < 0.6
    assert line(farms, "farm", "account-day")["tied"] == 0.0
    assert farms.main.name == "farm"


# The same actor on both sides


@dataclass(frozen=True)
class KnowsItsActors:
    name: ClassVar[str] = "memory"

    def fit(self, _features, labels):
        return Remembered(dict(labels.select("actor", "bot").iter_rows()))


@dataclass(frozen=True)
class Remembered:
    bots: dict[str, bool]

    def score(self, features):
        known = [float(self.bots.get(actor, 0.5)) for actor in features["actor"]]
        return Constant(0.5).score(features).with_columns(probability=pl.Series(known))


def test_a_random_split_rewards_memory_and_is_marked_for_it():
    ground = Ground(account_days(20, 20, 4), full(labels_of(20, 20)), NO_TIES, folds=4)

    seen = compare((KnowsItsActors(),), ground, ("random", "actor"))

    flattered, honest = line(seen, "random", "memory"), line(seen, "actor", "memory")
    assert (flattered["auc"], flattered["flatters"]) == (1.0, True)
    assert flattered["known_actors"] > 0.9
    assert (honest["auc"], honest["flatters"], honest["known_actors"]) == (pytest.approx(0.5), False, 0.0)
    assert seen.main.name == "actor"


# A label made by the model


@pytest.mark.parametrize("source", ["model", "account-day@0123456789ab", "account-day"])
def test_a_label_made_by_a_model_is_never_tested_on(source):
    """People's labels are coin tosses; the model's are self-similarity itself, and far more of them."""
    table = account_days(0, 160, 1)
    coin = np.random.default_rng(3).random(160) < 0.5
    people = pl.int_range(pl.len()) < 40
    labels = (
        table.select("actor", bot=pl.col("self_sim") > 0.996)
        .with_columns(coin=pl.Series(coin))
        .select(
            "actor",
            bot=pl.when(people).then("coin").otherwise("bot"),
            source=pl.when(people).then(pl.lit("rater")).otherwise(pl.lit(source)),
        )
    )

    seen = compare((by("self_sim"),), Ground(table, full(labels), NO_TIES, folds=4), ("actor",))

    found = line(seen, "actor", "account-day")
    assert found["bots"] + found["humans"] == 40
    assert found["auc"] < 0.75
    assert any(f"120 labels that a model made ({source})" in warning for warning in seen.warnings)
    assert seen.provenance.filter(source=source)["tested"].to_list() == [0]


def test_a_label_made_by_a_model_cannot_outvote_a_person():
    labels = pl.concat(
        [labels_of(12, 12, source="rater"), labels_of(12, 12, source="model").with_columns(~pl.col("bot"))]
    )

    seen = compare((), Ground(account_days(12, 12), full(labels), NO_TIES, folds=3), ("actor",))

    assert line(seen, "actor", "dummy")["bots"] == 12


def test_a_column_that_is_the_label_is_asked_after():
    table = account_days(15, 15).with_columns(secret=pl.col("actor").str.starts_with("bot").cast(pl.Float64))

    seen = compare((), Ground(table, full(labels_of(15, 15)), NO_TIES, folds=3), ("actor",))

    assert "secret alone tells bots from humans with an AUC of 1.0000: is it the label?" in seen.warnings
    assert not any("self_sim alone" in warning for warning in seen.warnings)


# A feature that knows the future


@dataclass(frozen=True)
class Counts(PlainFeature):
    """Events an actor and day, and beside them what `more` makes of the whole log."""

    look_ahead: bool = False
    name: ClassVar[str] = "self-similarity"
    requires: ClassVar[tuple[str, ...]] = ("actor", "at", "kind")
    kind: str = "account.ban"

    @property
    def schema(self):
        ahead = {"until_last": pl.Float64} if self.look_ahead else {}
        return {"self_sim": pl.Float64, "told": pl.Float64, **ahead}

    def rows(self, rows):
        since = pl.col("at").dt.truncate("1d")
        days = (
            rows.group_by("actor", since.alias("since"))
            .agg(
                pl.len().cast(pl.Int64).alias("events"),
                (pl.col("kind") == self.kind).sum().cast(pl.Float64).alias("told"),
            )
            .with_columns(
                # Something that varies and says nothing.
                self_sim=0.99 + (7 * pl.col("actor").str.slice(-3).cast(pl.Int64) + pl.col("since").dt.day()) % 11 / 1e4
            )
        )
        last = rows.group_by("actor").agg(pl.col("at").max().dt.epoch("s").cast(pl.Float64).alias("until_last"))
        return days.with_columns(until=pl.col("since") + timedelta(days=1)).join(last, on="actor")

    def to_dict(self) -> dict[str, Any]:
        return {"look_ahead": self.look_ahead}


def log_of(bots=12, humans=12, days=4, last="account.ban"):
    """Everybody moves every day; bots end with one event of the kind `last`."""
    names = [f"bot{at:03}" for at in range(bots)] + [f"human{at:03}" for at in range(humans)]
    rows = [
        (name, START + day * DAY + timedelta(hours=hour), "move")
        for name in names
        for day in range(days)
        for hour in (1, 2)
    ]
    bans = [(name, START + (days - 1) * DAY + timedelta(hours=3), last) for name in names[:bots]]
    return FrameEvents(pl.DataFrame(rows + bans, schema=["actor", "at", "kind"], orient="row"))


def judged(feature, events, *splits):
    recipe = AccountDay(feature, columns=("self_sim", "told"), strengths=(1.0,))
    return compare_splits((recipe,), events, full(labels_of(12, 12)), Splitting(splits, None, 3, 0.05)).result


def test_a_feature_that_knows_the_future_is_refused():
    with pytest.raises(FitError, match=r"until_last of periods before .* change when later events are taken away"):
        judged(Counts(look_ahead=True), log_of(), "time")


def test_a_feature_of_each_day_alone_passes_the_same_guard():
    found = judged(replace(Counts(), kind="move"), log_of(), "time")

    assert [part.name for part in found.parts] == ["time"]


def test_columns_and_periods_that_depend_on_what_comes_later_are_named():
    whole = account_days(2, 2, 3)
    cut = START + 2 * DAY
    early = whole.filter(pl.col("until") <= cut)

    refuse_future(whole, early, cut)
    with pytest.raises(FitError, match=r"events of periods before .* \(events in 1 of 8 periods\)"):
        refuse_future(
            whole, early.with_columns(pl.when(pl.int_range(8) == 3).then(0).otherwise("events").alias("events")), cut
        )
    with pytest.raises(FitError, match="which periods there are before"):
        refuse_future(whole, early.head(7), cut)


# An event that is there because of the label


def test_a_ban_in_the_log_is_taken_out_before_anything_is_measured():
    found = judged(Counts(), log_of(), "actor")

    assert line(found, "actor", "account-day", "period")["auc"] == pytest.approx(0.5, abs=0.1)
    assert any(warning.startswith("Left out of the log before measuring: account.ban.") for warning in found.warnings)


def test_without_a_telling_name_the_same_event_flatters_and_is_asked_after():
    found = judged(replace(Counts(), kind="1204"), log_of(last="1204"), "actor")

    assert line(found, "actor", "account-day")["auc"] == 1.0
    assert "'1204' occurs with 12 of 12 bots and with no human: is it there because of the label?" in found.warnings


def test_only_what_somebody_does_about_a_suspect_is_taken_out():
    kinds = (
        "account.ban",
        "gm.suspend",
        "AccountBanned",
        "challenge.issued",
        "urban.walk",
        "bandage.use",
        "shield.block",
    )

    assert sanction_kinds(kinds) == ("AccountBanned", "account.ban", "challenge.issued", "gm.suspend")


def test_periods_after_a_ban_are_neither_learned_from_nor_tested():
    labels = full(labels_of(12, 12)).with_columns(
        at=pl.when("bot").then(pl.lit(START + 2 * DAY).dt.cast_time_unit("us"))
    )

    seen = compare((), Ground(account_days(12, 12, 4), labels, NO_TIES, folds=3), ("actor",))

    assert seen.main.scores.filter("bot")["until"].max() == START + 2 * DAY
    assert "Left out, periods that end after their label was given: 24." in seen.notes


def test_a_label_given_after_the_cut_is_not_learned_from():
    late = pl.col("actor").str.contains("[0-9][13579]$")
    labels = full(labels_of(12, 12)).with_columns(
        at=pl.when(late).then(pl.lit(START + 9 * DAY).dt.cast_time_unit("us"))
    )

    seen = compare((), Ground(account_days(12, 12, 4), labels, NO_TIES, folds=3), ("time",))

    learned = {actor for split in seen.main.plan.splits for actor in split.train["actor"]}
    assert learned
    assert not any(int(actor[-1]) % 2 for actor in learned)
    assert seen.main.scores["actor"].n_unique() == 24
