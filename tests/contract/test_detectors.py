"""What every detector promises, with every switch flipped.

A detector of packets learns from other tables: the same promises stand in test_detectors_traffic.py.
"""

from dataclasses import MISSING, fields, replace
from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest

from gamewarden import detectors
from gamewarden.contracts import Card
from gamewarden.detectors import feature_of
from gamewarden.features.account_table.recipe import AccountTable
from gamewarden.features.session.recipe import Sessions
from gamewarden.pipeline import input_of
from gamewarden.presentation.card import card_markdown
from gamewarden.tables import EVIDENCE, SCORES, TIME, FrameRows, check
from made_up import CHUNKS, GivenNumbers, account_days, action_chunks, labels_of
from sessions_made_up import session_rows
from tables_made_up import account_table

ROWS = FrameRows(account_table(40, 50))
TABLE = AccountTable(group="account", label="verdict", drop=("character",)).learn(ROWS)
TELLING = [name for name in TABLE.names[:-1] if name != "Max_level"]  # bots and humans are of all levels
FEATURES = {"self-similarity": GivenNumbers(), "actions": CHUNKS, "session": Sessions(), "account-table": TABLE}
LABELS = {**dict.fromkeys(FEATURES, labels_of(12, 14)), "account-table": labels_of(40, 50)}
# A network need not be finished, nor a wood be full-grown, to keep its promises.
QUICK = {"session-network": {"epochs": 60}, "account-table": {"rounds": 12, "runs": 1}}

OF_TABLES = [name for name in detectors.names() if input_of(name) != "packets"]


def switches():
    for name in OF_TABLES:
        recipe = detectors.load(name)(feature=FEATURES[feature_of(name)], **QUICK.get(name, {}))
        yield pytest.param(recipe, id=name)
        for option in fields(recipe):
            for value in option.metadata.get("also", ()):
                yield pytest.param(replace(recipe, **{option.name: value}), id=f"{name}-{option.name}={value}")


@pytest.fixture(scope="module")
def tables():
    """What each family of features measures, with too little play to judge in some periods."""
    rows = account_days(bots=12, humans=14, days=2)
    holes = np.random.default_rng(3).random(rows.height) < 0.1
    days = rows.with_columns(
        pl.when(pl.Series(holes)).then(None).otherwise(pl.col("self_sim")).alias("self_sim"),
        pl.when(pl.Series(holes[::-1])).then(None).otherwise(pl.col("retrieve_count")).alias("retrieve_count"),
    )
    chunks = action_chunks(hours=1.0)
    few = np.random.default_rng(3).random(chunks.height) < 0.1
    chunks = chunks.with_columns(events=pl.when(pl.Series(few)).then(1).otherwise(pl.col("events")))
    table = TABLE.measure(ROWS)
    thin = pl.Series(np.random.default_rng(3).random(table.height) < 0.1)
    blank = [pl.when(thin).then(None).otherwise(pl.col(name)).alias(name) for name in TELLING]
    sessions = session_rows(bots=12, humans=14, each=2)
    short = np.random.default_rng(3).random(sessions.height) < 0.1
    sessions = sessions.with_columns(valid=~pl.Series(short), enough=~pl.Series(short[::-1]))
    return {"self-similarity": days, "actions": chunks, "session": sessions, "account-table": table.with_columns(blank)}


@pytest.fixture(scope="module", params=switches())
def fitted(request, tables):
    table = tables[feature_of(request.param.name)]
    return request.param, request.param.fit(table, LABELS[feature_of(request.param.name)])


@pytest.fixture(scope="module")
def table(fitted, tables):
    return tables[feature_of(fitted[0].name)]


@pytest.mark.parametrize("name", OF_TABLES)
def test_the_moment_at_which_a_label_was_given_is_in_the_name_of_the_model(name, tables):
    recipe = detectors.load(name)(feature=FEATURES[feature_of(name)], **QUICK.get(name, {}))
    table, labels = tables[feature_of(name)], LABELS[feature_of(name)]
    late = labels.with_columns(at=pl.lit(datetime(2100, 1, 1, tzinfo=UTC)).cast(TIME))

    assert recipe.fit(table, late).card.id != recipe.fit(table, labels).card.id


def unmeasured(recipe, table):
    """Which periods nobody can judge."""
    if feature_of(recipe.name) == "actions":
        return table["events"] < recipe.enough
    if feature_of(recipe.name) == "account-table":
        return table.select(pl.all_horizontal(pl.col(TELLING).is_null())).to_series()
    if feature_of(recipe.name) == "session":
        return ~table["valid"] | ~(table["enough"] | recipe.as_published)
    return table["self_sim"].is_null()


def shuffled(frame):
    return frame.sample(fraction=1.0, shuffle=True, seed=5)


def test_every_option_names_what_else_to_try():
    for name in detectors.names():
        for option in fields(detectors.load(name)):
            needs_no_flip = option.default is MISSING and option.default_factory is MISSING
            assert needs_no_flip or option.metadata["also"], f"{name}.{option.name}"


def test_the_same_recipe_and_data_give_the_same_model_whatever_the_order_of_the_rows(fitted, table):
    recipe, model = fitted

    again = recipe.fit(shuffled(table), shuffled(LABELS[feature_of(recipe.name)]))

    assert again.card.id == model.card.id
    assert again.to_dict() == model.to_dict()


def test_a_row_scores_the_same_alone_as_in_a_crowd(fitted, table):
    _, model = fitted
    crowd = model.score(table)

    alone = pl.concat([model.score(table[at]) for at in range(table.height)])

    assert alone.equals(crowd)


def test_the_order_of_the_rows_does_not_change_a_score(fitted, table):
    _, model = fitted
    key = ["actor", "since"]

    assert model.score(shuffled(table)).sort(key).equals(model.score(table).sort(key))


def test_scores_are_scores_and_null_only_where_there_was_too_little_play(fitted, table):
    recipe, model = fitted

    scores = check(model.score(table), SCORES, "test")

    blind = unmeasured(recipe, table)
    assert blind.any()
    for name in ("probability", "alarm"):
        assert scores[name].is_null().equals(blind.alias(name))
        assert scores[name].drop_nulls().is_between(0.0, 1.0).all()


def test_among_players_of_one_style_a_higher_probability_never_has_a_higher_alarm(fitted, table):
    _, model = fitted
    told = model.peers if hasattr(model, "peers") else getattr(model.styles, "rule", None)
    style = pl.lit("all") if told is None else told.tell(table)

    scores = model.score(table).with_columns(style=style).drop_nulls()

    for part in scores.sort("probability", "alarm", descending=[False, True]).partition_by("style"):
        assert part["alarm"].is_sorted(descending=True) or part["probability"].n_unique() == 1


def test_evidence_is_as_many_sentences_for_every_period(fitted, table):
    recipe, model = fitted

    evidence = check(model.explain(table), EVIDENCE, "test")

    sentences = len(recipe.columns) if hasattr(recipe, "columns") else model.explain(table[0]).height
    assert evidence.height == table.height * sentences
    assert sentences > 0
    assert evidence["says"].str.ends_with(".").all()
    assert not evidence["says"].str.contains("{", literal=True).any()
    assert not evidence["says"].str.contains("nan|None|guilty|cheat").any()


def test_evidence_adds_up_to_the_log_odds_of_the_probability(fitted, table):
    _, model = fitted
    key = ["actor", "since", "until"]

    total = model.explain(table).group_by(key).agg(pl.col("weight").sum())
    both = model.score(table).join(total, on=key, nulls_equal=True).drop_nulls("probability")

    assert both.height > table.height / 2

    log_odds = (both["probability"] / (1 - both["probability"])).log().to_numpy()
    np.testing.assert_allclose(both["weight"].to_numpy() + model.base, log_odds, rtol=1e-6, atol=1e-9)


def test_the_evidence_of_a_row_is_the_same_alone_as_in_a_crowd(fitted, table):
    _, model = fitted

    alone = model.explain(table[3])

    assert alone.equals(model.explain(table)[3 * alone.height :][: alone.height])


def test_a_model_comes_back_from_its_own_values(fitted, table):
    _, model = fitted

    back = detectors.load_model(model.to_dict())

    assert back == model
    assert back.score(table).equals(model.score(table))


def test_the_card_renders_as_markdown_with_its_name_and_weaknesses(fitted):
    _, model = fitted

    text = card_markdown(model.card)

    assert isinstance(model.card, Card)
    assert text.startswith(f"# {model.card.id}\n")
    assert all(f"- {weakness}" in text for weakness in model.card.weaknesses)


def test_every_option_of_the_recipe_changes_the_name_of_the_model(tables):
    recipes = [recipe.values[0] for recipe in switches()]

    names = [recipe.fit(tables[feature_of(recipe.name)], LABELS[feature_of(recipe.name)]).card.id for recipe in recipes]

    assert len(set(names)) == len(names)
