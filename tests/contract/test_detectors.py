"""What every detector promises, our own and one of another package; what a switch can break, with every switch.

A detector of packets learns from other tables: the same promises stand in tests/models/test_traffic.py. A part that
cannot be loaded or tried fails its own tests and no others.
"""

from dataclasses import MISSING, fields
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import plugins
from gamewarden import detectors
from gamewarden.contracts import Card, Detector, Model
from gamewarden.errors import ConfigError
from gamewarden.pipeline import input_of
from gamewarden.presentation.card import card_markdown
from gamewarden.tables import EVIDENCE, SCORES, TIME, check
from grounds import ground_of, recipe_of

with plugins.installed():
    NAMES = detectors.names()
    CLASSES = {}
    for name in NAMES:
        try:
            CLASSES[name] = detectors.load(name)
        except Exception as error:  # noqa: BLE001  whatever a part does when it is loaded, the others are tried
            CLASSES[name] = error
    PACKETS = [name for name in NAMES if isinstance(CLASSES[name], type) and input_of(name) == "packets"]
OF_TABLES = [name for name in NAMES if name not in PACKETS]


@pytest.fixture(scope="module", autouse=True)
def _plugin():
    with plugins.installed():
        yield


def switches():
    for name in OF_TABLES:
        yield pytest.param((name, {}), id=name)
        if not isinstance(CLASSES[name], type):
            continue
        for option in fields(CLASSES[name]):
            for value in option.metadata.get("also", ()):
                yield pytest.param((name, {option.name: value}), id=f"{name}-{option.name}={value}")


def pytest_generate_tests(metafunc):
    """Give a test the default recipes, or all where it is marked for every switch."""
    if "fitted" in metafunc.fixturenames:
        every_switch = metafunc.definition.get_closest_marker("every_switch")
        cases = [case for case in switches() if every_switch or not case.values[0][1]]
        metafunc.parametrize("fitted", cases, indirect=True, scope="module")


@pytest.fixture(scope="module")
def fitted(request):
    return fitted_once(*request.param)


_fitted = {}


def fitted_once(name, options):
    """A recipe and its model; several tests ask for each."""
    key = f"{name} {options}"
    if key not in _fitted:
        recipe = recipe_of(name, **options)
        _fitted[key] = recipe, recipe.fit(ground_of(name).table, ground_of(name).labels)
    return _fitted[key]


@pytest.fixture(scope="module")
def table(fitted):
    return ground_of(fitted[0].name).table


@pytest.mark.parametrize("name", NAMES)
def test_the_registry_and_the_recipe_say_the_same(name):
    recipe = detectors.load(name)

    assert recipe.name == name
    assert recipe.sees == detectors.feature_of(name)
    assert recipe.model is detectors.model_of(name)


@pytest.mark.parametrize("name", NAMES)
def test_recipe_and_model_have_all_that_the_contracts_ask_for(name):
    recipe = detectors.load(name)

    for part, contract in ((recipe, Detector), (recipe.model, Model)):
        options = {one.name for one in fields(part)}
        asked = {one for one in (*vars(contract), *contract.__annotations__) if not one.startswith("_")}
        assert {one for one in asked if not hasattr(part, one)} <= options


def test_a_detector_of_another_package_is_one_file_of_at_most_fifty_lines():
    file = Path(plugins.SOURCE / "longest_silence" / "detector.py")

    assert len(file.read_text().splitlines()) <= 50
    assert "longest-silence" in OF_TABLES


def test_a_model_of_a_plug_in_explains_itself_in_the_features_words_or_in_plain_ones():
    ground = ground_of("longest-silence")
    model = recipe_of("longest-silence").fit(ground.table, ground.labels)

    back = detectors.load_model(model.to_dict())

    says = back.explain(ground.table)["says"]
    assert says.str.starts_with("Pauses longer than").any()
    assert says.str.starts_with("Silences is as usual").any()


@pytest.mark.parametrize("name", OF_TABLES)
def test_the_moment_at_which_a_label_was_given_is_in_the_name_of_the_model(name):
    if detectors.fuses(name):
        pytest.skip("a fusion is named by the labelled periods alone")
    ground = ground_of(name)
    late = ground.labels.with_columns(at=pl.lit(datetime(2100, 1, 1, tzinfo=UTC)).cast(TIME))

    assert recipe_of(name).fit(ground.table, late).card.id != recipe_of(name).fit(ground.table, ground.labels).card.id


def shuffled(frame):
    return frame.sample(fraction=1.0, shuffle=True, seed=5)


def test_every_option_names_what_else_to_try():
    for name in (one for one in NAMES if isinstance(CLASSES[one], type)):
        for option in (one for one in fields(CLASSES[name]) if one.name != "feature"):
            needs_no_flip = option.default is MISSING and option.default_factory is MISSING
            assert needs_no_flip or option.metadata["also"], f"{name}.{option.name}"


def test_the_same_recipe_and_data_give_the_same_model_whatever_the_order_of_the_rows(fitted, table):
    recipe, model = fitted

    again = recipe.fit(shuffled(table), shuffled(ground_of(recipe.name).labels))

    assert again.card.id == model.card.id
    assert again.to_dict() == model.to_dict()


@pytest.mark.every_switch
def test_a_row_scores_the_same_alone_as_in_a_crowd(fitted, table):
    recipe, model = fitted
    every = 1 if recipe == recipe_of(recipe.name) else 7  # a row alone costs as much as a crowd

    alone = pl.concat([model.score(table[at]) for at in range(0, table.height, every)])

    assert alone.equals(model.score(table).gather_every(every))


@pytest.mark.every_switch
def test_the_order_of_the_rows_does_not_change_a_score(fitted, table):
    _, model = fitted
    key = ["actor", "since"]

    assert model.score(shuffled(table)).sort(key).equals(model.score(table).sort(key))


@pytest.mark.every_switch
def test_scores_are_scores_and_null_only_where_there_was_too_little_play(fitted, table):
    recipe, model = fitted

    scores = check(model.score(table), SCORES, "test")

    blind = ground_of(recipe.name).unmeasured(recipe)
    assert blind.any()
    for name in ("probability", "fpr"):
        assert scores[name].is_null().equals(blind.alias(name))
        assert scores[name].drop_nulls().is_between(0.0, 1.0).all()


def test_among_players_of_one_style_a_higher_probability_never_has_a_higher_fpr(fitted, table):
    _, model = fitted
    told = model.peers if hasattr(model, "peers") else None if model.styles is None else model.styles.rule
    style = pl.lit("all") if told is None else told.tell(table)

    scores = model.score(table).with_columns(style=style).drop_nulls()

    for part in scores.sort("probability", "fpr", descending=[False, True]).partition_by("style"):
        assert part["fpr"].is_sorted(descending=True) or part["probability"].n_unique() == 1


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

    both = both.filter(pl.col("probability") < 1 - 1e-9)  # nearer to 1 a float has too few digits left
    log_odds = (both["probability"] / (1 - both["probability"])).log().to_numpy()
    np.testing.assert_allclose(both["weight"].to_numpy() + model.base, log_odds, rtol=1e-6, atol=1e-9)


def test_the_evidence_of_a_row_is_the_same_alone_as_in_a_crowd(fitted, table):
    _, model = fitted

    alone = model.explain(table[3])

    assert alone.equals(model.explain(table)[3 * alone.height :][: alone.height])


@pytest.mark.every_switch
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


@pytest.mark.parametrize("name", OF_TABLES)
def test_every_option_of_the_recipe_changes_the_name_of_the_model(name):
    flipped = [options for _, options in (case.values[0] for case in switches()) if _ == name]

    ids = [fitted_once(name, options)[1].card.id for options in flipped]

    assert len(set(ids)) == len(ids)


@pytest.mark.every_switch
def test_a_recipe_comes_back_from_the_card_of_its_model(fitted):
    recipe, model = fitted

    assert type(recipe).from_dict(model.card.recipe, recipe.feature) == recipe


def test_a_part_that_cannot_be_loaded_fails_its_own_tests_only(monkeypatch):
    broken = plugins.EntryPoint("broken", "longest_silence.nothing:Nothing", detectors.REGISTRY.group)
    monkeypatch.setitem(detectors.REGISTRY._offered, "broken", broken)

    assert "broken" in detectors.names()
    with pytest.raises(Exception, match=r"'broken' .* cannot be loaded"):
        recipe_of("broken")
    assert recipe_of("account-day").name == "account-day"


def test_an_option_that_cannot_be_used_is_refused_in_one_line(fitted):
    recipe, _ = fitted
    for option in (one for one in fields(recipe) if one.metadata.get("needs")):
        wrong = next(
            (value for value in (-1, 0, (), "no such word") if _refused(option.metadata["needs"], value)), None
        )

        with pytest.raises(ConfigError, match=f"{recipe.name}: {option.name} .* cannot be used; "):
            recipe_of(recipe.name, **{option.name: wrong})


def _refused(needs, value):
    try:
        return not needs.holds(value)
    except TypeError:
        return False
