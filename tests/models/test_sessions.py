import json
from dataclasses import replace
from itertools import permutations
from math import acos, degrees

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import backpropagation_reference
from gamewarden import detectors
from gamewarden.core.binomial import chance_of_at_most
from gamewarden.detectors.session.backpropagation import alternating, train
from gamewarden.detectors.session.classifiers import Neighbours, cosines
from gamewarden.detectors.session.recipe import SessionAngle, SessionNetwork
from gamewarden.detectors.session.vectors import NINE, inputs
from gamewarden.errors import ConfigError, FitError, ModelError, TableError
from gamewarden.features.session.recipe import Sessions
from gamewarden.learning.attribution import shapley
from gamewarden.presentation.card import card_markdown
from json_made_up import json_values, places
from made_up import labels_of
from sessions_made_up import session_rows

NETWORK = SessionNetwork(Sessions(), epochs=300)
ANGLE = SessionAngle(Sessions())


@pytest.fixture(scope="module")
def rows():
    return session_rows()


@pytest.fixture(scope="module")
def labels():
    return labels_of(12, 14)


def plain(known, bots, form="published", neighbours=1):
    """Neighbours over numbers as they stand."""
    return Neighbours(form, neighbours, tuple(map(tuple, known)), tuple(bots), ())


def test_the_example_of_the_thesis_has_an_angle_of_a_fifth_of_a_degree():
    cosine = cosines(np.array([[10.0, 20.0, 3000.0]]), np.array([[10.0, 10.0, 3000.0]]))[0, 0]

    assert round(cosine, 7) == 0.9999944
    assert round(degrees(acos(cosine)), 2) == 0.19


def test_a_vector_of_zeros_has_no_direction_and_a_tie_goes_to_whoever_was_known_first():
    assert cosines(np.zeros((1, 3)), np.ones((1, 3)))[0, 0] == 0

    same = [[1.0, 2.0], [1.0, 2.0]]
    assert plain(same, (True, False)).says_bot(np.array([[3.0, 4.0]]))[0]
    assert not plain(same, (False, True)).says_bot(np.array([[3.0, 4.0]]))[0]


def test_angles_do_not_see_that_everything_doubles_and_distances_do():
    known, bots = [[1.0, 1.0], [2.0, 2.2]], (False, True)
    fast = np.array([[2.0, 2.0]])

    assert not plain(known, bots).says_bot(fast)[0]
    assert plain(known, bots, "euclid").says_bot(fast)[0]


@pytest.mark.parametrize("neighbours", [1, 3, 5])
def test_the_vote_of_the_nearest_is_that_of_scikit_learn(neighbours):
    from sklearn.neighbors import KNeighborsClassifier

    draw = np.random.default_rng(1)
    known, asked = draw.normal(size=(40, 4)), draw.normal(size=(300, 4))
    bots = draw.random(40) < 0.5

    theirs = KNeighborsClassifier(neighbours).fit(known, bots).predict(asked)

    assert (plain(known.tolist(), bots.tolist(), "euclid", neighbours).says_bot(asked) == theirs).all()


def test_mahalanobis_distances_are_those_of_the_shrunk_covariance():
    from sklearn.covariance import ledoit_wolf

    draw = np.random.default_rng(2)
    values = draw.normal(size=(30, 9)) @ draw.normal(size=(9, 9))
    bot = np.arange(30) % 2 == 0

    learned = ANGLE.classifier(values, bot)

    z = (values - values.mean(axis=0)) / values.std(axis=0)
    inverse = np.linalg.inv(ledoit_wolf(z)[0] + 1e-6 * np.eye(9))
    apart = z[:, None] - z[None]
    wanted = np.sqrt(np.einsum("abi,ij,abj->ab", apart, inverse, apart))
    np.testing.assert_allclose(-learned.method.nearness(inputs(learned.columns, values)), wanted, atol=1e-7)


def test_sessions_are_shown_alternating_by_index_and_the_longer_side_goes_on_alone():
    bot = np.array([True, False, False, True, False, False])

    assert alternating(bot).tolist() == [1, 0, 2, 3, 4, 5]


@pytest.mark.parametrize("epochs", [1, 40])
def test_the_compiled_network_learns_what_the_textbook_learns(epochs):
    draw = np.random.default_rng(3)
    shown, bot = draw.normal(size=(7, 3)), np.array([0, 1, 0, 1, 1, 0, 1], bool)
    hidden, output = draw.uniform(-0.5, 0.5, (4, 4)), draw.uniform(-0.5, 0.5, 5)
    wanted = backpropagation_reference.train(
        shown.tolist(), bot.astype(float).tolist(), alternating(bot).tolist(), (hidden, output), (0.3, 1e-3, epochs)
    )

    took, error = train(shown, bot.astype(float), alternating(bot), (hidden, output), (0.3, 1e-3, epochs))

    assert took == wanted[0]
    np.testing.assert_allclose(error, wanted[1], rtol=1e-9)
    np.testing.assert_allclose(hidden, wanted[2], rtol=1e-9)
    np.testing.assert_allclose(output, wanted[3], rtol=1e-9)


def test_teaching_stops_when_the_error_is_small_and_at_the_cap_where_it_never_is():
    values, bot = np.array([[-1.0], [1.0]] * 4), np.array([False, True] * 4)
    easy = replace(NETWORK, columns=NINE[:1], epochs=20_000, error=0.01)

    _, epochs, error = easy.teach(values, bot)
    assert epochs < 20_000
    assert error <= 0.01

    _, epochs, error = replace(easy, epochs=30).teach(values[:, ::-1], bot[::-1] ^ bot)  # nothing to tell them by
    assert epochs == 30


def test_a_network_has_as_many_inputs_as_numbers_and_nine_hidden_units(rows, labels):
    assert NETWORK.fit(rows, labels).card.parameters["network"] == "9-9-1"


def test_an_indicator_is_an_input_of_its_own_where_a_number_is_sometimes_missing(rows, labels):
    told = replace(NETWORK, missing="indicator").fit(rows, labels)

    assert told.card.parameters["network"] == "10-9-1"
    assert [column.name for column in told.columns if column.flag] == ["turn_to_take_ms"]


@given(st.lists(st.floats(-3, 3), min_size=3, max_size=3), st.lists(st.floats(-3, 3), min_size=3, max_size=3))
def test_shapley_shares_are_the_mean_step_over_all_orders(values, typical):
    def decide(x):
        return x[:, 0] * x[:, 1] - np.tanh(x[:, 2] + x[:, 0])

    wanted = np.zeros(3)
    for order in permutations(range(3)):
        now = np.array(typical)
        for place in order:
            before = decide(now[None])[0]
            now[place] = values[place]
            wanted[place] += (decide(now[None])[0] - before) / 6

    np.testing.assert_allclose(shapley(decide, np.array(values), np.array(typical)), wanted, atol=1e-9)


def test_a_session_of_little_evidence_gets_no_number_but_as_published_it_does(rows, labels):
    sitting = rows.with_columns(enough=pl.int_range(pl.len()) != 3)
    short = sitting.with_columns(valid=pl.int_range(pl.len()) != 5)

    def blind(recipe):
        return recipe.fit(rows, labels).score(short)["probability"].is_null().arg_true().to_list()

    assert blind(NETWORK) == [3, 5]
    assert blind(ANGLE) == [3, 5]
    assert blind(replace(NETWORK, inputs="published")) == [5]
    assert blind(replace(ANGLE, form="published")) == [5]


def test_as_published_the_feature_is_measured_as_published():
    assert not NETWORK.feature.paper_mode
    assert replace(NETWORK, inputs="published").feature.paper_mode
    assert replace(ANGLE, form="published").feature.paper_mode


def test_sentences_speak_of_milliseconds_however_the_vector_is_scaled(rows, labels):
    scaled = rows.with_columns(pl.col("move_gap_ms") / 100, pl.col("take_gap_ms") / 1000)
    raw = replace(NETWORK, inputs="published", columns=("move_gap_ms", "take_gap_ms"))

    says = raw.fit(scaled, labels).explain(scaled)["says"]

    assert says.str.contains(r"[\d,]{3,} ms, a typical human needs [\d,]{3,}").all()


def test_the_card_states_the_cut_of_ten_to_one_and_who_is_above_it(rows, labels):
    validation = NETWORK.fit(rows, labels).card.validation

    assert round(validation["cut"], 3) == 0.909
    for name in ("auc", "fpr_at_cut", "recall_at_cut"):
        assert 0 <= validation[f"{name}_low"] <= validation[name] <= validation[f"{name}_high"] <= 1


@pytest.mark.integration
def test_the_false_positives_stated_at_the_cut_are_those_of_fresh_sessions():
    fresh, stated, realised, held = session_rows(0, 400, seed=999), [], [], 0

    for seed in range(40):
        model = ANGLE.fit(session_rows(10, 10, seed=seed), labels_of(10, 10))
        told = model.card.validation
        stated.append(told["fpr_at_cut"])
        realised.append(float((model.score(fresh)["probability"] >= told["cut"]).mean()))
        held += told["fpr_at_cut_low"] <= realised[-1] <= told["fpr_at_cut_high"]

    kinder = np.subtract(realised, stated)
    assert kinder.mean() < 2 * kinder.std() / np.sqrt(kinder.size)
    assert chance_of_at_most(held, 40, 0.93) > 0.01


def test_a_perfect_ranking_of_a_few_sessions_says_what_so_few_can_show(rows, labels):
    apart = rows.with_columns(move_gap_ms=pl.when(pl.col("actor").str.starts_with("bot")).then(200.0).otherwise(5000.0))
    validation = replace(ANGLE, columns=("move_gap_ms",)).fit(apart, labels).card.validation

    assert validation["auc"] == validation["auc_high"] == 1.0
    assert 0.5 < validation["auc_low"] < 0.8


def test_the_share_of_humans_at_the_cut_counts_humans_only():
    from gamewarden.detectors.session.recipe import at_cut

    actors = np.array(list("abcdefgh"))
    found = at_cut(np.array([0.95, 0.2, 0.1, 0.1, 0.91, 0.5, 0.3, 0.99]), np.arange(8) >= 4, 10 / 11, actors)

    assert (found["cut"], found["fpr_at_cut"], found["recall_at_cut"]) == (10 / 11, 0.25, 0.5)
    assert found["fpr_at_cut_low"] < 0.25 < found["fpr_at_cut_high"]
    assert at_cut(np.ones(2), np.array([True, False]), 0.5, actors[:2])["fpr_at_cut_high"] is None


def test_sessions_are_told_apart_by_every_form(rows, labels):
    for recipe in (NETWORK, *(replace(ANGLE, form=form) for form in ("cosine", "euclid", "mahalanobis"))):
        assert recipe.fit(rows, labels).card.validation["auc"] > 0.85, recipe


def test_too_few_sessions_and_numbers_never_measured_are_refused(rows, labels):
    with pytest.raises(FitError, match="4 labelled bots"):
        NETWORK.fit(rows.filter(~pl.col("actor").is_in([f"bot{at:03}" for at in range(4, 12)])), labels)
    with pytest.raises(FitError, match="move_dx was never measured"):
        NETWORK.fit(rows.with_columns(move_dx=None), labels)
    with pytest.raises(TableError, match="lacks move_dx; sessions have packets_per_s, move_dx"):
        NETWORK.fit(rows.drop("move_dx"), labels)
    with pytest.raises(TableError, match="infinite"):
        NETWORK.fit(rows.with_columns(move_dx=float("inf")), labels)


@pytest.mark.parametrize(
    ("recipe", "options"),
    [
        (NETWORK, {"columns": ()}),
        (NETWORK, {"columns": ("move_dx", "move_dx")}),
        (NETWORK, {"missing": "zero"}),
        (NETWORK, {"cost": 0}),
        (NETWORK, {"inputs": "raw"}),
        (NETWORK, {"epochs": 0}),
        (ANGLE, {"form": "manhattan"}),
        (ANGLE, {"neighbours": 2}),
    ],
    ids=str,
)
def test_options_that_cannot_be_used_are_refused_with_what_could(recipe, options):
    with pytest.raises(ConfigError, match="cannot be used; "):
        replace(recipe, **options)


DAMAGES = {
    "a weight too few": lambda model: model["machine"]["hidden"][0].pop(),
    "no hidden unit": lambda model: model["machine"].update(hidden=[]),
    "a text for a weight": lambda model: model["machine"]["output"].__setitem__(0, "1"),
    "another machine": lambda model: model["machine"].update(kind="forest"),
    "no spread": lambda model: model["columns"][0].update(spread=0.0),
    "a column of another name": lambda model: model["columns"][0].update(name="other"),
    "a column twice": lambda model: model["columns"].__setitem__(1, model["columns"][0]),
    "another recipe": lambda model: model["recipe"].update(rate=0.2),
    "no machine": lambda model: model.pop("machine"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_network_is_not_believed(rows, labels, damage):
    values = json.loads(json.dumps(NETWORK.fit(rows, labels).to_dict()))
    damage(values)

    with pytest.raises(ModelError):
        detectors.load_model(values)


NEIGHBOUR_DAMAGES = {
    "a number too few": lambda machine: machine["known"][0].pop(),
    "one class": lambda machine: machine.update(bots=[True] * len(machine["bots"])),
    "a label too few": lambda machine: machine["bots"].pop(),
    "an even vote": lambda machine: machine.update(neighbours=2),
    "a crooked square": lambda machine: machine["whitening"].pop(),
    "another form": lambda machine: machine.update(form="city"),
}


@pytest.mark.parametrize("damage", NEIGHBOUR_DAMAGES.values(), ids=NEIGHBOUR_DAMAGES.keys())
def test_damaged_neighbours_are_not_believed(rows, labels, damage):
    values = json.loads(json.dumps(ANGLE.fit(rows, labels).to_dict()))
    damage(values["machine"])

    with pytest.raises(ModelError):
        detectors.load_model(values)


@pytest.fixture(
    scope="module", params=[NETWORK, replace(NETWORK, missing="indicator"), ANGLE], ids=["net", "flags", "near"]
)
def model(request, rows, labels):
    return request.param.fit(rows, labels)


@given(data=st.data())
def test_a_model_with_any_value_exchanged_is_refused_or_works(model, rows, data):
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
    assert odd.score(rows)["probability"].is_between(0, 1).all()
    assert odd.explain(rows[:1])["says"].null_count() == 0
