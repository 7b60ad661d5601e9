"""Logistic regression on self-similarity: what it learns from, what it leaves out, what it may claim."""

import subprocess
import sys
from dataclasses import replace
from datetime import timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamewarden import detectors
from gamewarden.detectors.logistic.model import Column
from gamewarden.detectors.logistic.recipe import FOURTEEN, AccountDay, SelfSimilarityAlone
from gamewarden.errors import ConfigError, FitError, ModelError, TableError
from gamewarden.learning.calibration import Reference
from gamewarden.presentation.card import card_markdown
from json_made_up import json_values, places
from made_up import DAY, START, GivenNumbers, account_days, labels_of

NUMBERS = GivenNumbers()


@pytest.fixture(scope="module")
def model():
    return AccountDay(NUMBERS).fit(account_days(), labels_of())


def null_where(frame, column, condition):
    return frame.with_columns(pl.when(condition).then(None).otherwise(pl.col(column)).alias(column))


def test_the_bots_of_the_made_up_world_get_higher_probabilities(model):
    fresh = model.score(account_days(seed=8)).group_by(pl.col("actor").str.starts_with("bot").alias("bot"))

    mean = dict(fresh.agg(pl.col("probability").mean()).iter_rows())

    assert mean[True] > 0.7
    assert mean[False] < 0.3
    assert model.validation["auc"] > 0.8


def test_probability_is_calibrated_on_actors_it_never_saw():
    """Self-similarity is normal with one variance in both made-up classes, so that a logistic curve is the truth."""
    model = SelfSimilarityAlone(NUMBERS).fit(account_days(500, 500, 1, seed=1), labels_of(500, 500))
    fresh = model.score(account_days(1500, 1500, 1, seed=2)).with_columns(bot=pl.col("actor").str.starts_with("bot"))

    for low, high in ((0.0, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 1.0)):
        inside = fresh.filter(pl.col("probability").is_between(low, high))
        assert inside.height > 100
        assert inside["bot"].mean() == pytest.approx(inside["probability"].mean(), abs=0.08)


def test_fourteen_features_by_default_and_one_for_model_one():
    assert AccountDay(NUMBERS).columns == FOURTEEN
    assert len(FOURTEEN) == 14
    assert SelfSimilarityAlone(NUMBERS).columns == ("self_sim",)


def test_counts_are_standardised_after_log1p_with_the_training_mean_and_deviation(model):
    training = account_days()
    column = next(column for column in model.columns if column.name == "npc_kill_count")
    logs = np.log1p(training["npc_kill_count"].to_numpy())

    assert column.log
    assert column.mean == pytest.approx(logs.mean(), rel=1e-12)
    assert column.deviation == pytest.approx(logs.std(), rel=1e-12)
    assert not next(column for column in model.columns if column.name == "self_sim").log


def test_weights_agree_with_scikit_learn_on_the_same_rows(model):
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    rows = account_days()
    counts = [column.name for column in model.columns if column.log]
    matrix = rows.with_columns(pl.col(counts).cast(pl.Float64).log1p()).select(FOURTEEN).to_numpy()
    plain = LogisticRegression(C=model.strength, class_weight="balanced", tol=1e-10, max_iter=10_000).fit(
        StandardScaler().fit_transform(matrix), rows["actor"].str.starts_with("bot").to_numpy()
    )

    np.testing.assert_allclose([column.weight for column in model.columns], plain.coef_[0], rtol=1e-3, atol=1e-5)


def test_an_unmeasured_number_is_neutral(model):
    row = account_days(bots=1, humans=0, days=1)
    blind = row.with_columns(pl.lit(None, dtype=pl.Int64).alias("retrieve_count"))

    evidence = model.explain(blind).filter(feature="retrieve_count")

    assert evidence["weight"].to_list() == [0.0]
    assert evidence["says"].to_list() == ["This log does not show visits to storage to take something out."]
    assert model.score(blind)["probability"].null_count() == 0


def test_too_little_play_is_not_judged(model):
    row = account_days(bots=1, humans=0, days=1).with_columns(
        pl.lit(None, dtype=pl.Float64).alias("self_sim"), pl.lit(12).alias("windows")
    )

    assert model.score(row).select("probability", "fpr").row(0) == (None, None)
    evidence = model.explain(row)
    assert evidence["weight"].null_count() == evidence.height
    assert "Too little play to judge: only 12 minutes were measured." in evidence["says"].to_list()


def test_periods_with_too_little_play_are_not_learned_from():
    table = null_where(account_days(), "self_sim", pl.int_range(pl.len()) % 4 == 0)
    other = table.with_columns(
        pl.when(pl.col("self_sim").is_null()).then(9999).otherwise("npc_kill_count").alias("npc_kill_count")
    )

    model, again = (AccountDay(NUMBERS).fit(rows, labels_of()) for rows in (table, other))

    assert model.columns == again.columns
    assert model.training["left_out"] == {"periods with too little play": 30}
    assert sum(model.training["periods"].values()) == 90


def test_rare_bots_count_as_much_as_common_humans_and_calibration_brings_their_share_back():
    """With balanced weights the raw middle stands between the classes; only calibration knows that bots are rare."""
    table, labels = account_days(30, 270, 1), labels_of(30, 270)
    mean = {
        (balanced, calibration): SelfSimilarityAlone(NUMBERS, balanced=balanced, calibration=calibration)
        .fit(table, labels)
        .score(table)["probability"]
        .mean()
        for balanced in (True, False)
        for calibration in ("platt", "none")
    }

    assert mean[True, "platt"] == pytest.approx(0.1, abs=0.02)
    assert mean[False, "platt"] == pytest.approx(0.1, abs=0.02)
    assert mean[False, "none"] == pytest.approx(0.1, abs=0.02)
    assert mean[True, "none"] > 0.2


def test_features_without_information_are_left_out_and_named():
    table = account_days().with_columns(
        pl.lit(None, dtype=pl.Int64).alias("retrieve_count"), pl.lit(3).alias("deposit_count")
    )
    table = null_where(table, "trade_get_count", ~pl.col("actor").str.starts_with("bot"))

    model = AccountDay(NUMBERS).fit(table, labels_of())

    assert model.left_out == {
        "retrieve_count": "never measured in training",
        "deposit_count": "the same in every training row",
        "trade_get_count": "never measured for humans in training",
    }
    assert model.card.parameters["left_out"] == model.left_out
    last = model.explain(table.head(1)).tail(3)
    assert last["weight"].to_list() == [0.0, 0.0, 0.0]
    assert "Deposit count 3: the model does not use it (the same in every training row)." in last["says"].to_list()


def test_contradictory_and_unknown_labels_are_left_out_and_counted():
    extra = pl.DataFrame({"actor": ["bot000", "nobody", "noone"], "bot": [False, True, False]})

    model = AccountDay(NUMBERS).fit(account_days(), pl.concat([labels_of(), extra]))

    assert model.training["left_out"] == {
        "labelled actors without a row to learn from": 2,
        "actors with contradictory labels": 1,
        "periods with contradictory labels": 2,
    }
    assert model.training["actors"] == {"bot": 29, "human": 30}


def test_label_counts_stand_by_source():
    labels = labels_of().with_columns(source=pl.when("bot").then(pl.lit("ban")).otherwise(pl.lit("rater")))

    training = AccountDay(NUMBERS).fit(account_days(), labels).card.training

    assert training["sources"] == {"ban": {"bot": 30, "human": 0}, "rater": {"bot": 0, "human": 30}}
    assert training["since"] == START.isoformat()
    assert training["until"] == (START + 2 * DAY).isoformat()


def test_too_few_labelled_actors_are_refused_with_their_numbers():
    with pytest.raises(FitError, match=r"4 labelled bots and 30 labelled humans .* needed are 5 of each"):
        AccountDay(NUMBERS).fit(account_days(), labels_of().filter(pl.col("actor") >= "bot026"))


def test_one_class_alone_is_refused():
    with pytest.raises(FitError, match="30 labelled bots and 0 labelled humans"):
        AccountDay(NUMBERS).fit(account_days(), labels_of().filter("bot"))


def test_a_class_that_is_one_group_cannot_be_held_out_and_is_refused():
    grouped = labels_of().with_columns(group=pl.when("bot").then(pl.lit("farm")))

    with pytest.raises(FitError, match="in 2 groups at least"):
        AccountDay(NUMBERS).fit(account_days(), grouped)


def test_nothing_to_learn_from_is_refused():
    flat = account_days().with_columns(pl.lit(0.99).alias("self_sim"))

    with pytest.raises(FitError, match="self_sim the same in every training row"):
        SelfSimilarityAlone(NUMBERS).fit(flat, labels_of())


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("npc_kill_count", -1, "counts are 0 or more"),
        ("self_sim", float("inf"), "infinite"),
        ("self_sim", float("nan"), "NaN"),
    ],
)
def test_impossible_numbers_are_refused_at_the_door(model, column, value, words):
    with pytest.raises(TableError, match=words):
        model.score(account_days(1, 1).with_columns(pl.lit(value).alias(column)))


def test_a_missing_column_is_named(model):
    with pytest.raises(TableError, match="lacks deposit_count; measure self-similarity first"):
        model.score(account_days(1, 1).drop("deposit_count"))


@pytest.mark.parametrize(
    "option",
    [{"folds": 1}, {"strengths": ()}, {"strengths": (0.0,)}, {"calibration": "x"}, {"columns": ()}, {"least": 1}],
)
def test_options_that_cannot_be_used_are_refused(option):
    with pytest.raises(ConfigError, match=next(iter(option))):
        AccountDay(NUMBERS, **option)


def test_the_name_changes_with_the_feature_recipe_and_with_one_training_value(model):
    table = account_days()
    other_unit = AccountDay(replace(NUMBERS, unit="5m")).fit(table, labels_of())
    nudged = table.with_columns(
        pl.when(pl.int_range(pl.len()) == 3).then(pl.col("self_sim") - 1e-12).otherwise("self_sim").alias("self_sim")
    )

    names = {model.id, other_unit.id, AccountDay(NUMBERS).fit(nudged, labels_of()).id}

    assert len(names) == 3


def test_the_card_shows_the_unit_as_people_write_it_and_the_vocabulary_by_its_digest():
    feature = AccountDay(replace(NUMBERS, unit=60_000_000)).fit(account_days(), labels_of()).card.feature

    assert feature["unit"] == "1m"
    assert feature["vocabulary"]["size"] == 2
    assert len(feature["vocabulary"]["digest"]) == 12
    assert (feature["empty"], feature["ddof"]) == ("online", 0)


def test_rows_nobody_labelled_change_nothing(model):
    strangers = account_days(5, 5, seed=50).with_columns(actor="stranger-" + pl.col("actor"))

    assert AccountDay(NUMBERS).fit(pl.concat([account_days(), strangers]), labels_of()).to_dict() == model.to_dict()


def test_a_human_seen_on_many_days_is_still_one_human():
    model = SelfSimilarityAlone(NUMBERS).fit(account_days(days=5), labels_of())

    extreme = account_days(1, 0, 1).with_columns(pl.lit(1.0).alias("self_sim"))

    assert model.reference.humans == 30
    assert len(model.reference.values) == 30
    assert model.score(extreme)["fpr"].item() >= 1 / 31


def test_fprs_of_fresh_humans_are_as_frequent_as_they_say():
    model = AccountDay(NUMBERS).fit(account_days(100, 100, 2, seed=1), labels_of(100, 100))
    fresh = model.score(account_days(0, 1000, 1, seed=2))["fpr"]

    for level in (0.05, 0.1, 0.3):
        realised = (fresh <= level).mean()
        assert realised < level + 0.06


def test_held_out_values_come_from_models_that_never_saw_the_group():
    """The class is a coin toss a group, and each group has its own self-similarity: only leakage could know it."""
    draw = np.random.default_rng(4)
    farms, coin = np.repeat(np.arange(40), 6), np.repeat(draw.random(40) < 0.5, 6)
    actors = [f"a{at:03}" for at in range(240)]
    table = account_days(0, 240, 1).with_columns(
        pl.Series("actor", actors), pl.Series("self_sim", 0.9 + 0.001 * np.repeat(draw.permutation(40), 6))
    )
    labels = pl.DataFrame({"actor": actors, "bot": coin, "group": farms})

    by_group = SelfSimilarityAlone(NUMBERS).fit(table, labels)

    assert by_group.validation["auc"] < 0.65


def test_a_model_worse_than_chance_says_how_common_bots_were_and_keeps_its_order():
    """The classes have nearly the same values: what the folds learn is wrong on the held-out actors."""
    values = [0.9 + 0.001 * (at % 10) + 0.00001 * (at < 10) for at in range(20)]
    table = account_days(10, 10, 1).with_columns(pl.Series("self_sim", values))

    model = SelfSimilarityAlone(NUMBERS).fit(table, labels_of(10, 10))

    assert model.validation["auc"] <= 0.5
    assert model.score(table)["probability"].to_list() == pytest.approx([0.5] * 20, abs=0.02)
    assert model.score(table.head(10))["probability"].n_unique() == 10
    assert any("no better than chance" in weakness for weakness in model.card.weaknesses)


def test_labels_hold_only_in_their_time():
    """The same accounts are played by hand on the first day and by a bot on the second."""
    table = account_days(bots=20, humans=20, days=2)
    first = labels_of(20, 20).filter("bot").with_columns(bot=False, since=pl.lit(START), until=pl.lit(START + DAY))
    second = first.with_columns(bot=True, since=pl.lit(START + DAY), until=pl.lit(START + 2 * DAY))
    always = labels_of(20, 20).filter(~pl.col("bot"))

    model = AccountDay(NUMBERS).fit(table, pl.concat([first, second, always], how="diagonal"))

    assert model.training["periods"] == {"bot": 20, "human": 60}
    assert model.training["left_out"] == {}


def test_a_second_of_overlap_labels_a_period():
    late = labels_of().with_columns(
        since=pl.lit(START + DAY - timedelta(seconds=1)), until=pl.lit(None, dtype=pl.Datetime("us", "UTC"))
    )

    assert AccountDay(NUMBERS).fit(account_days(), late).training["periods"] == {"bot": 60, "human": 60}


@given(
    values=st.lists(st.floats(-50, 50), min_size=1, max_size=40),
    decisions=st.lists(st.floats(-60, 60), min_size=1, max_size=20),
)
def test_fpr_is_never_below_one_in_n_plus_one_and_falls_with_the_decision(values, decisions):
    reference = Reference(tuple(sorted(values)), (1.0,) * len(values), len(values))
    rising = np.sort(np.array(decisions))

    fprs = reference.fpr(rising)

    assert fprs.min() >= 1 / (len(values) + 1)
    assert fprs.max() <= 1.0
    assert (np.diff(fprs) <= 0).all()
    for decision, fpr in zip(rising, fprs, strict=True):
        assert fpr == (sum(value >= decision for value in values) + 1) / (len(values) + 1)


@given(periods=st.lists(st.integers(1, 7), min_size=1, max_size=12), decision=st.floats(-3, 3))
def test_fpr_counts_each_human_once_however_many_periods(periods, decision):
    draw = np.random.default_rng(sum(periods))
    pairs = sorted((float(draw.normal()), 1 / count) for count in periods for _ in range(count))
    reference = Reference(tuple(value for value, _ in pairs), tuple(weight for _, weight in pairs), len(periods))

    fpr = float(reference.fpr(np.array([decision]))[0])

    assert 1 / (len(periods) + 1) <= fpr <= 1.0


@given(st.lists(st.one_of(st.none(), st.floats(0, 1e9)), min_size=1, max_size=70))
def test_a_contribution_is_the_same_alone_as_in_a_crowd_bit_for_bit(raw):
    column = Column("npc_kill_count", log=True, mean=3.3, deviation=0.7, weight=-1.9, percentiles=())
    values = np.array([np.nan if value is None else value for value in raw])

    alone = np.array([column.contribution(values[at : at + 1].copy())[0] for at in range(values.size)])

    assert alone.tobytes() == column.contribution(values).tobytes()


@settings(max_examples=settings.default.max_examples * 15 // 25)
@given(seed=st.integers(0, 2**32), days=st.integers(1, 3))
def test_any_scores_stay_between_nought_and_one(model, seed, days):
    scores = model.score(account_days(3, 3, days, seed).with_columns(pl.col("self_sim") * (seed % 7)))

    assert scores["probability"].is_between(0.0, 1.0).all()
    assert scores["fpr"].is_between(1 / (model.reference.humans + 1), 1.0).all()


def test_scoring_imports_no_scikit_learn():
    code = "import sys, gamewarden.detectors, gamewarden.detectors.logistic.model; sys.exit('sklearn' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_registry_imports_no_numpy():
    code = "import sys, gamewarden.detectors; sys.exit('numpy' in sys.modules or 'polars' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_unknown_detector_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match="'self-similarty' is unknown; choose one of: account-day, self-similarity"):
        detectors.load("self-similarty")
    with pytest.raises(ModelError, match="which no installed package offers"):
        detectors.load_model({"id": "x@1", "detector": "x"})


def impossible(count):
    """No three numbers can each go against both others."""
    return [[1.0 if row == column else -0.9 for column in range(count)] for row in range(count)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda v: v.pop("slope"), "lacks 'slope'"),
        (lambda v: v.update(extra=1), "holds 'extra'"),
        (lambda v: v.update(intercept="0"), "intercept is .*, not a finite number"),
        (lambda v: v.update(intercept=10**400), "intercept is .*, not a finite number"),
        (lambda v: v["columns"][0].update(weight=1e300), "weight is .*, not a finite number"),
        (lambda v: v["columns"][0].update(deviation=1e-300), "deviation is .*, not a finite number"),
        (lambda v: v.update(intercept=True), "intercept is .*, not a finite number"),
        (lambda v: v.update(slope=-1.0), "slope is .*, not a finite number above"),
        (lambda v: v["columns"][0].update(deviation=0.0), r"columns\[0\].deviation is 0.0, not"),
        (lambda v: v["columns"][0].update(percentiles=[1.0, 2.0]), "101 rising numbers"),
        (lambda v: v["columns"].pop(), "together are the recipe's columns"),
        (lambda v: v.update(columns="abc"), "columns is 'abc', not a list"),
        (lambda v: v["columns"].__setitem__(0, 3), r"columns\[0\] is 3, not an object"),
        (lambda v: v["reference"]["values"].reverse(), "reference.values is a list, not a row of rising numbers"),
        (lambda v: v["reference"]["weights"].pop(), "equally many"),
        (lambda v: v["reference"].update(humans=10**6), "add up to the humans"),
        (lambda v: v["training"].update(periods={"bot": "x"}), "periods and sources as counts of bot and human"),
        (lambda v: v.update(validation={}), "validation is {}, not results with their AUC"),
        (lambda v: v.pop("correlations"), "lacks 'correlations'"),
        (lambda v: v.update(correlations=[[1.0]]), "correlations are those of the columns"),
        (lambda v: v.update(correlations=[["1"]]), r"correlations\[0\]\[0\] is '1', not a finite number"),
        (lambda v: v["correlations"][0].__setitem__(1, 0.123), "correlations are those of the columns"),
        (lambda v: v["correlations"][0].__setitem__(0, 2.0), "correlations are those of the columns"),
        (lambda v: v.update(correlations=impossible(len(v["columns"]))), "correlations are those of the columns"),
        (lambda v: v["recipe"].update(seed=77), "its recipe and data make it"),
        (lambda v: v.update(data="0"), "its recipe and data make it"),
    ],
)
def test_a_stored_value_that_cannot_be_is_refused(model, change, words):
    values = model.to_dict()
    change(values)

    with pytest.raises(ModelError, match=words):
        detectors.load_model(values)


@given(data=st.data())
def test_a_model_with_any_value_exchanged_is_refused_or_works(model, data):
    values = model.to_dict()
    *way, last = data.draw(st.sampled_from(list(places(values))))
    holder = values
    for key in way:
        holder = holder[key]
    holder[last] = data.draw(json_values)

    try:
        odd = detectors.load_model(values)
    except ModelError:
        return

    assert card_markdown(odd.card)
    assert odd.score(account_days(1, 1, 1))["probability"].is_between(0, 1).all()
