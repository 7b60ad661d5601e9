import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actions_reference import flagged, learn_rho, max_regular
from gamewarden import detectors
from gamewarden.detectors.actions.model import LISTED, REST, ActionModel
from gamewarden.detectors.actions.recipe import Frequency, Interval, TwoStage
from gamewarden.detectors.actions.vectors import StageOne, counts_of, thinned
from gamewarden.errors import ConfigError, FitError, ModelError, TableError
from gamewarden.features.actions.recipe import Actions
from made_up import CHUNKS, START, action_chunks, labels_of

KINDS = ["buy", "kill", "loot", "sell"]
HOUR = pl.duration(hours=1)


@pytest.fixture(scope="module")
def chunks():
    return action_chunks()


@pytest.fixture(scope="module", params=[TwoStage, Frequency, Interval])
def model(request, chunks):
    return request.param(CHUNKS).fit(chunks, labels_of(12, 14))


def stage_one(bots, humans, over="performed"):
    counts = np.array([*bots, *humans], dtype=float)
    bot = np.arange(len(counts)) < len(bots)
    return StageOne.learn(counts, bot, KINDS[: counts.shape[1]], over), counts, bot


def table_of(counts):
    """FEATURES of chunks with these counts of actions, every interval 0."""
    most = counts.max(axis=1)
    actors = [f"actor{row:03}" for row in range(len(counts))]
    columns = {f"a_{kind}": (counts[:, at] / most) ** 0.25 for at, kind in enumerate(KINDS)}
    return pl.DataFrame(
        {"actor": actors, "since": START, "events": counts.sum(axis=1).astype(int), **columns, "i_0": 1.0}
    ).with_columns(pl.col("since").dt.replace_time_zone("UTC"), until=pl.col("since") + HOUR, max_freq=most)


# The first stage.


def test_rho_is_the_median_of_the_smallest_qualifying_ratios():
    stage, *_ = stage_one(bots=[[15, 1, 1], [1, 12, 12], [1, 1, 1]], humans=[[10, 10, 4]])

    assert stage.rho == pytest.approx(1.35)


def test_without_a_qualifying_action_nobody_is_flagged():
    stage, counts, _ = stage_one(bots=[[9, 1], [1, 9]], humans=[[10, 10]])

    assert stage.rho is None
    assert not stage.ratios(1000 * counts, KINDS[:2]).any()


def test_an_action_no_human_did_in_training_flags_nobody():
    stage, *_ = stage_one(bots=[[20, 5]], humans=[[10, 0]])

    assert stage.rho == 2.0
    assert not stage.ratios(np.array([[1.0, 5000.0]]), KINDS[:2]).any()


def test_exactly_rho_times_the_most_of_a_human_is_not_beyond_it():
    stage, *_ = stage_one(bots=[[20, 1]], humans=[[10, 1]])

    assert not stage.ratios(np.array([[20.0, 1.0]]), KINDS[:2]).any()
    assert stage.ratios(np.array([[21.0, 1.0]]), KINDS[:2]).any()


counts_of_samples = st.lists(st.lists(st.integers(0, 40), min_size=4, max_size=4).filter(any), min_size=1, max_size=12)


@given(bots=counts_of_samples, humans=counts_of_samples, over=st.sampled_from(["performed", "all"]))
def test_stage_one_is_what_the_equations_say_and_flags_no_human_it_learned_from(bots, humans, over):
    stage, counts, bot = stage_one(bots, humans, over)

    flags = stage.ratios(counts, KINDS).any(axis=1)

    samples = [dict(zip(KINDS, sample, strict=True)) for sample in (*bots, *humans)]
    most = max_regular(samples[len(bots) :])
    rho = learn_rho(samples[: len(bots)], most, over)
    assert (stage.rho or math.inf) == pytest.approx(rho)
    assert flags.tolist() == [flagged(sample, most, stage.rho or math.inf, over) for sample in samples]
    assert not flags[~bot].any()


@given(samples=counts_of_samples)
def test_counts_come_back_exactly_from_the_table(samples):
    counts = np.array(samples, dtype=float)

    assert (counts_of(table_of(counts), KINDS) == counts).all()


def test_whoever_is_flagged_is_on_the_bots_side_whatever_the_second_stage_says(chunks):
    model = TwoStage(CHUNKS).fit(chunks, labels_of(12, 14))
    kind = max(model.stage.most, key=model.stage.most.get)
    driven = replace_counts(chunks, kind, 50 * model.stage.most[kind]).filter(pl.col("events") >= 10)
    unflagged = replace(model.scorer, stage=None).decide(driven)

    margins = model.decide(driven)

    assert model.stage.rho is not None
    assert (margins >= 1 - 1e-9).all()
    assert (unflagged < 0).any()
    said = model.explain(driven).filter(feature=f"done_{kind}")
    assert said["says"].str.starts_with(f"Does {kind} far more often than any human in training: ").all()


def replace_counts(table, kind, count):
    """The table as if one action had been done so often in every chunk."""
    columns = [name for name in table.columns if name.startswith("a_")]
    return table.with_columns(
        *(
            (pl.col(name) * (pl.col("max_freq") / count).pow(0.25)).alias(name)
            for name in columns
            if name != f"a_{kind}"
        ),
        pl.lit(1.0).alias(f"a_{kind}"),
        pl.lit(float(count)).alias("max_freq"),
    )


def test_a_second_stage_that_sees_one_class_answers_that_class():
    humans, bots = [[10, 100, 1, 1]] * 6, [[100, 120, 1, 1]] * 6
    table = table_of(np.array([*humans, *bots], dtype=float))
    labels = pl.DataFrame({"actor": table["actor"], "bot": [False] * 6 + [True] * 6})

    machine = TwoStage(Actions()).learn(table, labels)

    assert machine.stage.rho == pytest.approx(1.2)
    assert [column.weight for column in machine.columns] == [0.0] * 4
    assert machine.decide(table).tolist() == [-1.0] * 6 + [1.0] * 6


# The machine.


def test_the_machine_is_the_support_vector_machine_of_scikit_learn_on_the_same_numbers(chunks):
    from sklearn.svm import SVC

    labels = labels_of(12, 14)
    enough = chunks.filter(pl.col("events") >= 10)
    values = enough.select(name for name in chunks.columns if name[:2] in {"a_", "i_"}).to_numpy()
    bot = enough["actor"].str.starts_with("bot").to_numpy()

    machine = Interval(CHUNKS).learn(chunks, labels)

    strength = 1 / (values**2).sum(axis=1).mean()
    theirs = SVC(kernel="linear", C=strength, tol=1e-4).fit(values, bot).decision_function(values)
    assert Interval(CHUNKS).fit(chunks, labels).strength == pytest.approx(strength)
    np.testing.assert_allclose(machine.decide(enough), theirs, atol=2e-3)


def test_bots_and_humans_are_told_apart_on_actors_never_seen(model):
    fresh = action_chunks(seed=8)

    scores = model.score(fresh).with_columns(bot=pl.col("actor").str.starts_with("bot"))

    mean = dict(scores.group_by("bot").agg(pl.col("probability").mean()).iter_rows())
    assert mean[True] > 0.7
    assert mean[False] < 0.3
    assert model.validation["auc"] > 0.85


def test_fpr_never_falls_below_what_so_many_humans_can_show(model, chunks):
    assert model.score(chunks)["fpr"].min() >= 1 / 15


def test_many_chunks_are_thinned_evenly():
    assert thinned(np.arange(1000), 100).tolist() == list(range(0, 1000, 10))
    assert thinned(np.arange(1000), 999).size == 500
    assert thinned(np.arange(1000), 1000).size == 1000


def test_own_intervals_come_with_the_feature_that_measures_them(chunks):
    recipe = Interval(Actions(), own=2)

    names = [column.name for column in replace(recipe, feature=CHUNKS).learn(chunks, labels_of(12, 14)).columns]

    assert recipe.feature.own_intervals
    assert Interval(Actions()).feature.max_freq
    assert [name for name in names if name[:2] in {"m_", "d_"}] == [
        "m_combat.kill",
        "d_combat.kill",
        "m_loot.pickup",
        "d_loot.pickup",
    ]


# Evidence.


def test_evidence_lists_the_heaviest_numbers_and_adds_the_others_up(chunks):
    model = Interval(CHUNKS).fit(chunks, labels_of(12, 14))

    evidence = model.explain(chunks[:1])

    assert evidence["feature"].to_list()[-1] == REST
    assert evidence.height == LISTED + 1
    weights = evidence["weight"][:-1].abs().to_list()
    assert weights == sorted(weights, reverse=True)


def test_a_sentence_says_what_the_actor_does_beside_the_typical_human(chunks):
    model = Interval(CHUNKS).fit(chunks, labels_of(12, 14))

    said = model.explain(chunks).filter(pl.col("actor").str.starts_with("bot"))

    assert said.filter(feature="a_chat")["says"].str.contains("Does chat less often beside its other actions").any()
    assert said.filter(feature="i_8")["says"].str.starts_with("Lets 8 s or more pass between two actions").all()
    assert said["says"].str.contains("for every 100 of its most frequent").any()


def test_too_little_play_has_no_weight_and_says_so(model, chunks):
    few = chunks[:1].with_columns(events=pl.lit(3, pl.Int64))

    evidence = model.explain(few)

    assert evidence["weight"].null_count() == evidence.height
    assert evidence["says"][-1] == "Too little play to judge: only 3 actions were counted."


# What is refused.


@pytest.mark.parametrize(
    ("recipe", "options", "words"),
    [
        (Frequency, {"strength": 0.0}, "strength 0.0 cannot be used; give a number above 0"),
        (Frequency, {"enough": 0}, "enough 0 cannot be used; give 1 or more"),
        (Interval, {"own": -1}, "own -1 cannot be used"),
        (TwoStage, {"second": "some"}, "choose passed or all"),
        (TwoStage, {"mean_over": "some"}, "choose performed or all"),
    ],
)
def test_options_that_cannot_be_used_are_refused(recipe, options, words):
    with pytest.raises(ConfigError, match=words):
        recipe(CHUNKS, **options)


def test_a_table_of_something_else_is_refused(chunks):
    with pytest.raises(TableError, match="measure actions with max_freq first"):
        Frequency(CHUNKS).fit(chunks.drop("max_freq"), labels_of(12, 14))
    with pytest.raises(TableError, match="a_chat must be a number from 0 to 1"):
        Frequency(CHUNKS).fit(chunks.with_columns(pl.lit(2.0).alias("a_chat")), labels_of(12, 14))


def test_a_column_the_model_knows_must_be_there(model, chunks):
    with pytest.raises(TableError, match="FEATURES lacks a_chat"):
        model.score(chunks.drop("a_chat"))


def test_too_few_labelled_actors_are_refused_with_what_was_left_out(chunks):
    with pytest.raises(FitError, match="3 labelled bots and 14 labelled humans"):
        Frequency(CHUNKS).fit(chunks, labels_of(3, 14))


def corrupted(values, path, value):
    copy = {**values}
    place = copy
    for key in path[:-1]:
        place[key] = place[key].copy()
        place = place[key]
    place[path[-1]] = value
    return copy


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["columns", 0, "name"], "x_chat"),
        (["columns", 0, "name"], ""),
        (["columns", 0, "weight"], "much"),
        (["columns", 0, "percentiles"], [0.0]),
        (["stage", "rho"], 0.5),
        (["stage", "most"], {"chat": 1}),
        (["stage", "mean_over"], "some"),
        (["stage"], 3),
        (["intercept"], float("inf")),
        (["recipe", "enough"], 0),
        (["recipe", "enough"], 7),
        (["reference", "humans"], 0),
    ],
)
def test_a_stored_model_with_a_value_exchanged_is_refused(path, value, chunks):
    values = TwoStage(CHUNKS).fit(chunks, labels_of(12, 14)).to_dict()

    with pytest.raises(ModelError, match="fit it again"):
        ActionModel.from_dict(corrupted(values, path, value))


def test_a_model_says_what_it_is(model):
    card = model.card

    assert card.detector == model.detector
    assert detectors.load(model.detector).name == model.detector
    assert card.feature["chunk"] == "15m"
    assert ("rho" in card.parameters) == (model.detector == "actions-two-stage")


def fast_bots(pace):
    """Chunks in which bots do what people do, at the same mixture of intervals, and three times as much."""
    counted = action_chunks(12, 14).with_columns(
        pl.col("^[ai]_.*$").shuffle(seed=3), pl.col("^[md]_.*$").shuffle(seed=4)
    )
    bot = pl.col("actor").str.starts_with("bot")
    noise = (pl.int_range(pl.len()) * 7 % 11) / 40
    paces = {"pace_actions": 5.0 + bot.cast(pl.Float64) + noise, "pace_1s": noise, "pace_2s": noise + 0.1}
    return counted.with_columns(**paces) if pace else counted


@pytest.mark.parametrize("method", [Frequency, Interval])
def test_the_pace_is_weighed_where_it_was_measured(method):
    labels, paced = labels_of(12, 14), replace(CHUNKS, pace=True)

    slow, fast = method(CHUNKS).learn(fast_bots(False), labels), method(paced).learn(fast_bots(True), labels)

    assert not any(column.name.startswith("pace_") for column in slow.columns)
    assert [column.name for column in fast.columns if column.name.startswith("pace_")] == list(paced.paces)


def test_the_pace_tells_fast_bots_from_people():
    labels = labels_of(12, 14)

    slow = Interval(CHUNKS).fit(fast_bots(False), labels)
    fast = Interval(replace(CHUNKS, pace=True)).fit(fast_bots(True), labels)

    assert fast.validation["auc"] > slow.validation["auc"] + 0.02


def test_the_pace_is_told_in_actions_and_intervals():
    paced = replace(CHUNKS, pace=True)
    rows = fast_bots(True)

    told = Frequency(paced).fit(rows, labels_of(12, 14)).explain(rows.filter(actor="bot000")[0])

    says = dict(told.select("feature", "says").iter_rows())
    assert says["pace_actions"].startswith("Does more in a chunk of play than ")
    assert f"{math.exp(rows.filter(actor='bot000')['pace_actions'][0]):.0f} actions" in says["pace_actions"]


def test_a_model_with_pace_needs_it_measured():
    model = Frequency(replace(CHUNKS, pace=True)).fit(fast_bots(True), labels_of(12, 14))

    with pytest.raises(TableError, match="FEATURES lacks pace_actions"):
        model.score(fast_bots(False))


def test_the_first_stage_knows_no_pace():
    model = TwoStage(replace(CHUNKS, pace=True)).fit(fast_bots(True), labels_of(12, 14))

    assert not any(column.name.startswith("pace_") for column in model.columns)
