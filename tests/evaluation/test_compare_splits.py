"""Several splits in one table, and what stands behind each figure."""

import numpy as np
import polars as pl
import pytest

from gamewarden.detectors.logistic.recipe import AccountDay, SelfSimilarityAlone
from gamewarden.errors import FitError
from gamewarden.evaluation.account_links import NO_TIES
from gamewarden.evaluation.breakdowns import (
    by_farm,
    by_promise,
    flagged,
    rate_of,
    threshold_at,
    time_to_detection,
)
from gamewarden.evaluation.compare_splits import compare
from gamewarden.evaluation.play_groups import styles_of
from gamewarden.evaluation.split_schemes import SPLITS, Ground
from gamewarden.tables import LABELS, check
from made_up import DAY, START, GivenNumbers, account_days, labels_of

NUMBERS = GivenNumbers()
BOTH = (SelfSimilarityAlone(NUMBERS, strengths=(1.0,)), AccountDay(NUMBERS, strengths=(1.0,)))


def labels(bots=24, humans=30, **columns):
    told = labels_of(bots, humans, source="rater", **columns)
    number = pl.col("actor").str.slice(-3).cast(pl.Int64)
    kinds = number.mod(3).replace_strict([0, 1, 2], ["farmer", "mimic", "cheat"], return_dtype=pl.String)
    farm = pl.when(pl.col("actor").is_in(["bot000", "bot001"])).then(pl.lit("f1"))
    return check(told.with_columns(family=pl.when("bot").then(kinds), farm=farm), LABELS, "test")


@pytest.fixture(scope="module")
def result():
    return compare(BOTH, Ground(account_days(24, 30, 4), labels(), NO_TIES, folds=3), ("all",))


def test_all_splits_stand_in_one_table_each_with_the_same_baselines(result):
    assert result.summary["split"].unique(maintain_order=True).to_list() == list(SPLITS)
    for split in SPLITS:
        names = result.summary.filter(split=split, unit="actor")["detector"].to_list()
        assert names == ["self-similarity", "account-day", "dummy", "events alone"]


def test_the_dummy_stands_at_one_half_under_every_split(result):
    assert result.summary.filter(detector="dummy")["auc"].unique().to_list() == [0.5]


def test_only_the_random_split_is_said_to_flatter(result):
    assert result.summary.filter("flatters")["split"].unique().to_list() == ["random"]
    assert result.summary.filter(split="random")["known_actors"].min() > 0.5
    assert result.summary.filter(pl.col("split") != "random")["known_actors"].unique().to_list() == [0.0]


def test_a_split_that_cannot_be_made_is_missing_from_all_and_refused_when_asked_for():
    plain = Ground(account_days(12, 12, 1), check(labels_of(12, 12), LABELS, "test"), NO_TIES, folds=3)

    seen = compare((), plain, ("all",))

    assert [part.name for part in seen.parts] == ["random", "actor"]
    assert [note.split(":")[0] for note in seen.notes if note.startswith("Not shown")] == [
        "Not shown, split by farm",
        "Not shown, split by time",
        "Not shown, split by family",
    ]
    with pytest.raises(FitError, match="the labels have no column family"):
        compare((), plain, ("actor", "family"))


def test_labels_are_counted_by_who_gave_them():
    told = pl.concat(
        [
            labels_of(10, 0, source="ban"),
            labels_of(0, 12, source="rater"),
            labels_of(2, 3, source="model"),
            pl.DataFrame({"actor": ["bot009"], "bot": [False], "source": ["appeal"]}),
            pl.DataFrame({"actor": ["human050", "human051"], "bot": False, "source": "ban"}),
        ]
    )

    seen = compare((), Ground(account_days(10, 52, 1), check(told, LABELS, "test"), NO_TIES, folds=3), ("actor",))

    assert seen.provenance.rows() == [
        ("appeal", 1, 0, 1, 1),
        ("ban", 12, 10, 2, 9),
        ("model", 5, 2, 3, 0),
        ("rater", 12, 0, 12, 12),
    ]
    dummy = seen.summary.filter(detector="dummy", unit="actor").row(0, named=True)
    assert (dummy["bots"], dummy["humans"]) == (9, 13)
    assert "Left out, labels of accounts that nobody reviewed (not banned is not human): 2." in seen.notes
    assert "Left out, bans that an appeal decided anew: 1." in seen.notes


def test_humans_of_unknown_source_get_a_warning():
    seen = compare(
        (), Ground(account_days(9, 9, 1), check(labels_of(9, 9), LABELS, "test"), NO_TIES, folds=3), ("actor",)
    )

    assert any(
        warning.startswith("9 accounts are called human by labels that name no source") for warning in seen.warnings
    )


def test_each_family_is_caught_or_not_for_itself(result):
    families = result.main.families.filter(detector="account-day")

    assert families["family"].to_list() == ["cheat", "farmer", "mimic"]
    assert families["bots"].to_list() == [8, 8, 8]
    assert ((families["tpr_low"] <= families["tpr"]) & (families["tpr"] <= families["tpr_high"])).all()


def test_of_farms_held_out_whole_it_is_said_how_many_are_caught(result):
    by_name = {part.name: part.farms for part in result.parts}

    assert by_name["farm"].select("detector", "farms").rows() == [("account-day", 1), ("self-similarity", 1)]
    assert by_name["actor"].height == 0
    assert any(note.startswith("account-day: of 1 farm it had never seen") for note in result.notes)


def test_a_farm_is_caught_by_somebody_by_half_or_by_everybody_above_what_people_reach():
    people = [("d", f"h{n}", f"h{n}", False, float(n)) for n in range(100)]
    evidence = {"a": (200.0, 200.0), "b": (200.0, 1.0), "c": (200.0, 1.0, 1.0), "e": (1.0, 1.0), "f": (200.0,)}
    bots = [
        ("d", f"{farm}{n}", farm, True, said) for farm, all_said in evidence.items() for n, said in enumerate(all_said)
    ]
    actors = pl.DataFrame([*people, *bots], schema=["detector", "actor", "group", "bot", "evidence"], orient="row")

    assert by_farm(actors).rows() == [("d", 4, 0.75, 0.5, 0.25)]


def test_the_missed_are_estimated_beside_the_truth(result):
    (row,) = result.missed.iter_rows(named=True)

    assert row["detectors"] == "account-day + self-similarity"
    assert row["known"] == 24
    assert row["found"] <= row["estimated"]


def test_accounts_that_nobody_labelled_are_searched_too_and_are_in_no_class():
    told = labels(24, 30).filter(~pl.col("actor").is_in([f"bot{at:03}" for at in range(10)]))

    seen = compare(BOTH, Ground(account_days(24, 30, 4), told, NO_TIES, folds=3), ("actor",))

    known, strangers = seen.missed.iter_rows(named=True)
    assert (known["among"], known["known"]) == ("known bots, held out", 14)
    assert (strangers["among"], strangers["known"]) == ("accounts without a label", None)
    assert strangers["found"] <= 10
    assert not set(seen.scores["actor"]) & {f"bot{at:03}" for at in range(10)}


def test_a_threshold_flags_at_most_its_share_of_humans():
    evidence, bot = np.arange(100.0), np.zeros(100, np.bool_)

    assert (evidence >= threshold_at(evidence, bot, 0.05)).sum() == 5
    assert (evidence >= threshold_at(evidence, bot, 0.001)).sum() == 0
    assert (evidence >= threshold_at(evidence * 0, bot, 0.05)).sum() == 99


def scores_of(rows):
    """Scores from (actor, day, bot, evidence)."""
    frame = pl.DataFrame(rows, schema=["actor", "day", "bot", "evidence"], orient="row")
    since = pl.lit(START) + pl.duration(days="day")
    return frame.select(
        "actor", since.alias("since"), (since + DAY).alias("until"), "bot", "evidence", detector=pl.lit("one"), fold=0
    )


def test_time_to_detection_counts_from_the_first_play_held_out_to_the_first_flag():
    humans = [(f"h{at}", day, False, 0.0) for at in range(10) for day in range(3)]
    bots = [("b0", 0, True, -1.0), ("b0", 2, True, 5.0), ("b1", 1, True, 5.0), ("b2", 0, True, -1.0)]

    (row,) = time_to_detection(scores_of(humans + bots)).iter_rows(named=True)

    assert row["ever_flagged"] == pytest.approx(2 / 3)
    assert row["hours_to_detection"] == 48.0


def test_watching_people_for_long_does_not_flag_more_of_them():
    """Every human has one bad day of thirty; a threshold for days would flag each of them in time."""
    humans = [(f"h{at}", day, False, 9.0 if day == at % 30 else 0.0) for at in range(50) for day in range(30)]
    bots = [(f"b{at}", day, True, 5.0) for at in range(5) for day in range(30)]

    scores = scores_of(humans + bots)

    assert flagged(scores, 0.05).filter("bot")["flagged"].all()
    assert time_to_detection(scores)["ever_flagged"].to_list() == [0.0]


def test_a_promise_that_is_not_kept_shows():
    humans = pl.DataFrame({"actor": [f"h{at}" for at in range(200)], "fpr": np.linspace(0.001, 0.5, 200)})
    kept = humans.with_columns(fpr=pl.col("fpr") * 2)

    def realised(frame):
        scores = frame.with_columns(bot=False, detector=pl.lit("one"))
        return by_promise(scores).filter(promised=0.1).row(0, named=True)

    assert realised(kept)["realised_low"] <= 0.1 <= realised(kept)["realised_high"]
    assert realised(humans)["realised_low"] > 0.1


def test_none_of_few_is_not_never():
    rate = rate_of(np.zeros(40, np.bool_), pl.Series(["a"] * 20 + ["b"] * 20))

    assert (rate.rate, rate.low) == (0.0, 0.0)
    assert rate.high == 1.0  # two actors leave anything possible
    assert rate_of(np.zeros(40, np.bool_), pl.Series(list("abcd") * 10)).high > 1 - 0.025 ** (1 / 4)


def test_styles_come_from_the_labels_or_from_how_much_is_played():
    table = account_days(0, 3, 1).with_columns(
        total_use_time_min=pl.Series([700.0, 60.0, 60.0]), main_char_level=pl.Series([50, 3, 50]), npc_kill_count=0
    )
    own = labels_of(0, 3).with_columns(style=pl.lit("guild master"))

    assert styles_of(table, labels_of(0, 3))["style"].to_list() == ["hard-core", "newbie", "veteran"]
    assert styles_of(table, own)["style"].unique().to_list() == ["guild master"]
    assert styles_of(table.select("actor", "since", "until", "events"), labels_of(0, 3))["style"].null_count() == 3
