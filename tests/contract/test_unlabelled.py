"""What every model without labels promises, with every switch flipped: on the signs of a log and on a table."""

import copy
import json
import math
from dataclasses import MISSING, fields, replace

import numpy as np
import polars as pl
import pytest

from gamewarden.detectors.signs.oddness import Oddness, newest_rows
from gamewarden.detectors.signs.population import OddnessModel
from gamewarden.errors import ConfigError, FitError, ModelError, TableError
from gamewarden.features.activity import Activity
from gamewarden.presentation.odd_story import population_text
from gamewarden.tables import EVIDENCE, ODDNESS, check
from grounds import ground_of

GROUNDS = ("signs", "table-signs")
KEY = ["actor", "since", "until"]
ONE_OF_TABLE = {"without": ("Playtime",)}  # the sign that a flip leaves out where the ground has other names


def switches():
    for name in GROUNDS:
        yield pytest.param((name, {}), id=name)
        for option in fields(Oddness):
            for value in option.metadata.get("also", ()):
                given = ONE_OF_TABLE.get(option.name, value) if name == "table-signs" else value
                yield pytest.param((name, {option.name: given}), id=f"{name}-{option.name}={given}")


@pytest.fixture(scope="module", params=switches())
def case(request):
    """A recipe, the model of its ground, and the ground's rows: sorted, with some that show nothing."""
    name, options = request.param
    ground = ground_of(name)
    recipe = Oddness(ground.feature, **options)
    return recipe, recipe.fit(ground.table), ground.table.sort(KEY)


@pytest.fixture(scope="module", params=GROUNDS)
def plain(request):
    """The same without any switch flipped."""
    ground = ground_of(request.param)
    return Oddness(ground.feature), Oddness(ground.feature).fit(ground.table), ground.table


def shuffled(frame):
    return frame.sample(fraction=1.0, shuffle=True, seed=5)


def blind(model, table):
    """The rows without any sign."""
    return table.select(pl.all_horizontal(pl.col([sign.name for sign in model.signs]).is_null())).to_series()


def test_every_option_names_what_else_to_try_and_changes_the_name_of_the_model():
    for name in GROUNDS:
        ground = ground_of(name)
        flips = [options for where, options in (one.values[0] for one in switches()) if where == name]

        ids = [Oddness(ground.feature, **options).fit(ground.table).id for options in flips]

        assert len(set(ids)) == len(ids) == len(fields(Oddness))
    for option in (one for one in fields(Oddness) if one.name != "feature"):
        assert option.default is not MISSING or option.default_factory is not MISSING
        assert option.metadata["also"], option.name


def test_a_row_scores_the_same_alone_as_in_a_crowd(case):
    _, model, table = case

    alone = pl.concat([model.score(table[at]) for at in range(table.height)])

    assert alone.equals(model.score(table))


def test_a_row_is_explained_the_same_alone_as_in_a_crowd(case):
    _, model, table = case

    alone = pl.concat([model.explain(table[at]) for at in range(0, table.height, 7)])

    crowd = model.explain(table)
    every = [crowd[at * len(model.signs) :][: len(model.signs)] for at in range(0, table.height, 7)]
    assert alone.equals(pl.concat(every))


def test_the_order_of_the_rows_changes_neither_the_model_nor_a_score(case):
    recipe, model, table = case

    again = recipe.fit(shuffled(table))

    assert again.id == model.id
    assert again.to_dict() == model.to_dict()
    assert model.score(shuffled(table)).sort(KEY).equals(model.score(table).sort(KEY))


def test_a_player_counts_once_by_the_newest_row(case):
    recipe, model, table = case

    newest = recipe.fit(table.sort("since").group_by("actor").last())

    assert newest.to_dict() == model.to_dict()
    assert model.players == model.reference.players == table["actor"].n_unique()


def test_a_model_comes_back_from_json_with_equal_scores(case):
    _, model, table = case

    back = OddnessModel.from_dict(json.loads(json.dumps(model.to_dict())))

    assert back == model
    assert back.to_dict() == model.to_dict()
    assert back.score(table).equals(model.score(table))
    assert back.explain(table).equals(model.explain(table))


def test_the_recipe_comes_back_from_its_model(case):
    recipe, model, _ = case

    assert Oddness.from_dict(json.loads(json.dumps(model.to_dict()))["recipe"], recipe.feature) == recipe


def test_the_share_is_what_counting_players_gives_and_null_only_without_any_sign(case):
    _, model, table = case

    scores = check(model.score(table), ODDNESS, "test")

    assert scores["as_odd"].is_null().equals(blind(model, table).alias("as_odd"))
    assert scores["oddness"].is_null().equals(blind(model, table).alias("oddness"))
    assert blind(model, table).any()
    everybody = model.score(newest_rows(table))["oddness"].fill_null(0.0).to_numpy()
    seen = scores.drop_nulls("oddness")
    counted = [max((everybody >= odd).mean(), 1 / everybody.size) for odd in seen["oddness"]]
    of_players = seen.join(newest_rows(table), on=KEY, how="semi", nulls_equal=True)
    assert of_players.height > everybody.size / 2
    assert ((seen["as_odd"] > 0) & (seen["as_odd"] <= 1)).all()
    assert (seen["as_odd"].to_numpy() >= np.array(counted) - 1e-12).all()
    known = dict(zip(seen["oddness"], counted, strict=True))
    np.testing.assert_allclose(of_players["as_odd"], [known[odd] for odd in of_players["oddness"]], rtol=1e-12)


def test_whoever_is_odder_has_fewer_who_are_as_odd(case):
    _, model, table = case

    ranked = model.score(table).drop_nulls("oddness").sort("oddness")

    assert ranked["as_odd"].is_sorted(descending=True)
    assert ranked["as_odd"][0] > ranked["as_odd"][-1]


def test_no_number_however_wild_is_rarer_than_one_player(case):
    _, model, table = case
    wild = {
        sign.name: 1e12 if sign.side == "high" else -1e12
        for sign in model.signs
        if table[sign.name].dtype == pl.Float64
    }

    told = model.score(table[0].with_columns(pl.lit(value).alias(name) for name, value in wild.items()))

    assert told["as_odd"].item() == pytest.approx(1 / model.players) == model.card()["smallest_share"]


def test_one_wild_number_does_not_move_what_is_said_of_the_others(plain):
    recipe, model, table = plain
    sign = next(one for one in model.signs if one.side == "high" and table[one.name].dtype == pl.Float64)
    rows = newest_rows(table)
    highest = rows.drop_nulls(sign.name).sort(sign.name)["actor"][-1]

    wild = recipe.fit(rows.with_columns(pl.when(actor=highest).then(1e9).otherwise(pl.col(sign.name)).alias(sign.name)))

    others = rows.filter(pl.col("actor") != highest)
    assert wild.score(others)["as_odd"].equals(model.score(others)["as_odd"])


def test_evidence_adds_up_to_the_oddness_and_no_part_of_it_is_below_zero(case):
    _, model, table = case

    evidence = check(model.explain(table), EVIDENCE, "test")

    assert evidence.height == table.height * len(model.signs)
    total = evidence.group_by(KEY).agg(pl.col("weight").sum())
    both = model.score(table).drop_nulls("oddness").join(total, on=KEY, nulls_equal=True)
    assert both.height > table.height / 2
    np.testing.assert_allclose(both["weight"], both["oddness"], rtol=1e-12, atol=1e-12)
    assert (evidence["weight"].drop_nulls() >= 0).all()
    assert not [weight for weight in evidence["weight"].drop_nulls() if math.copysign(1, weight) < 0]
    assert (evidence["alone"].drop_nulls() >= evidence["weight"].drop_nulls()).all()


def test_the_heaviest_sign_of_a_row_stands_first_in_its_evidence(case):
    _, model, table = case

    told = model.heaviest(table)

    first = model.explain(table)[:: len(model.signs)]
    for sign, weight, feature in zip(told, first["weight"], first["feature"], strict=True):
        assert sign == (feature if weight else None)


def test_sentences_are_whole_speak_of_players_and_never_of_what_nobody_knows(case):
    _, model, table = case

    says = model.explain(table)["says"].unique()

    assert says.str.ends_with(".").all()
    assert says.str.contains("player").any()
    assert not says.str.contains("{", literal=True).any()
    assert not says.str.to_lowercase().str.contains(r"human|probab|false|\bnan\b|none\b|in training|guilty|cheat").any()


def test_what_was_not_measured_is_said_and_weighs_nothing(case):
    _, model, table = case

    evidence = model.explain(table).filter(pl.col("value").is_null())

    assert evidence.height
    assert set(evidence["weight"]) <= {0.0, None}
    assert evidence["typical"].null_count() == 0


def test_the_card_denies_that_the_share_is_a_false_positive_rate_and_promises_none(case):
    _, model, _ = case

    texts = json.dumps(model.card()), population_text(model)

    for text in texts:
        assert "neither a false-positive rate nor a probability" in text
        rest = text.replace("neither a false-positive rate nor a probability", "")
        assert not any(word in rest.lower() for word in ("false", "fpr", "probab", "alarm"))
    assert model.id in texts[1]
    assert f"1 in {model.players:,}" in texts[1]


def test_too_few_players_are_refused_in_one_line(plain):
    recipe, _, table = plain
    few = table.filter(pl.col("actor").is_in(table["actor"].unique().sort()[:19].implode()))

    with pytest.raises(FitError) as caught:
        recipe.fit(few)

    assert str(caught.value) == "fit oddness: 19 players are too few to say who is odd; 20 are needed"
    assert replace(recipe, least=10).fit(few).players == 19


def test_where_nothing_differs_nobody_is_odd(plain):
    recipe, _, table = plain
    names = list(recipe.sides)

    with pytest.raises(FitError, match="nothing differs among"):
        recipe.fit(table.with_columns(pl.lit(1).cast(table[name].dtype).alias(name) for name in names))
    with pytest.raises(FitError, match="nothing differs among"):
        recipe.fit(table.with_columns(pl.lit(None, table[name].dtype).alias(name) for name in names))


def test_a_sign_that_says_nothing_is_left_out_with_a_word(plain):
    recipe, _, table = plain
    first, second = list(recipe.sides)[:2]

    model = recipe.fit(
        table.with_columns(
            pl.lit(None, table[first].dtype).alias(first), pl.lit(3).cast(table[second].dtype).alias(second)
        )
    )

    assert model.left_out == {first: "it was not measured of anybody", second: "it is the same of everybody"}
    assert {first, second}.isdisjoint(sign.name for sign in model.signs)


def test_a_table_that_lacks_a_sign_is_refused(plain):
    recipe, model, table = plain
    name = model.signs[0].name

    for use in (recipe.fit, model.score, model.explain):
        with pytest.raises(TableError, match=name):
            use(table.drop(name))


def test_a_feature_of_which_nobody_has_said_what_is_odd_makes_no_recipe():
    with pytest.raises(ConfigError, match="nothing in activity says what is odd in it"):
        Oddness(Activity())
    signs = ground_of("signs").feature
    with pytest.raises(ConfigError, match="nothing in signs says what is odd in it"):
        Oddness(signs, without=tuple(signs.odd_when))


@pytest.mark.parametrize("option", ["least", "least_of_style"])
def test_an_option_that_cannot_be_used_is_refused_in_one_line(option):
    with pytest.raises(ConfigError, match=f"oddness: {option} 1 cannot be used; "):
        Oddness(ground_of("signs").feature, **{option: 1})


def test_players_of_a_style_are_compared_with_each_other_where_there_are_enough():
    """Whoever plays in an unusual way is odd only beside those who play so too."""
    ground = ground_of("signs")
    apart = Oddness(ground.feature, least_of_style=2).fit(ground.table)
    together = Oddness(ground.feature).fit(ground.table)

    assert all(sign.by_style for sign in apart.signs)
    assert not any(sign.by_style for sign in together.signs)
    odder = apart.score(ground.table)["oddness"] - together.score(ground.table)["oddness"]
    assert odder.max() <= 1e-12
    assert odder.min() < 0


def changed(values, *path, to):
    """The values with another one at a place."""
    told = copy.deepcopy(values)
    place = told
    for step in path[:-1]:
        place = place[step]
    if to is MISSING:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return told


NAN = float("nan")
HOSTILE = {
    "players of a wrong type": (("players",), "many"),
    "no players": (("players",), 0),
    "negative players": (("players",), -3),
    "players that are a bool": (("players",), True),
    "no signs": (("signs",), []),
    "signs that are no list": (("signs",), {}),
    "a missing key": (("reference",), MISSING),
    "an extra key": (("more",), 1),
    "a missing key of a sign": (("signs", 0, "side"), MISSING),
    "an extra key of a tail": (("reference", "weight"), 1.0),
    "a side that is none": (("signs", 0, "side"), "left"),
    "a value that is no number": (("signs", 0, "everybody", "values", 0), NAN),
    "an endless value": (("signs", 0, "everybody", "values", -1), float("inf")),
    "values that fall": (("reference", "values", 0), 1e9),
    "a share that is no number": (("reference", "shares", 0), NAN),
    "a share above one": (("reference", "shares", 0), 1.5),
    "a share of nobody": (("reference", "shares", -1), 0.0),
    "a negative share": (("reference", "shares", -1), -0.1),
    "shares that do not fall": (("reference", "shares", -1), 1.0),
    "a share below one player": (("reference", "shares", -1), 1e-4),
    "more players than were counted": (("players",), 10_000),
    "no shares": (("reference", "shares"), []),
    "fewer shares than values": (("reference", "values"), [0.0]),
    "percentiles that are too few": (("signs", 0, "percentiles"), [1.0, 2.0]),
    "a style that is none": (("signs", 0, "by_style"), {"sleeper": {"values": [1.0], "shares": [1.0], "players": 1}}),
    "a border that cannot be one": (("styles", "grinder_kills"), -1.0),
    "a wrong name": (("id",), "oddness@0123456789ab"),
    "no name": (("id",), MISSING),
    "another population": (("data",), "0123456789ab"),
    "another recipe": (("recipe", "least"), 3),
    "words that are no phrase": (("phrases",), {"self_sim": 3}),
    "a reason that is empty": (("left_out",), {"self_sim": ""}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_changed_value_is_refused_in_one_line(plain, name):
    _, model, _ = plain
    path, value = HOSTILE[name]
    values = json.loads(json.dumps(model.to_dict()))

    with pytest.raises(ModelError) as caught:
        OddnessModel.from_dict(changed(values, *path, to=value))

    assert str(caught.value).startswith("model ")
    assert "\n" not in str(caught.value)


def test_a_sign_that_stands_twice_is_refused(plain):
    _, model, _ = plain
    values = json.loads(json.dumps(model.to_dict()))

    with pytest.raises(ModelError, match="every sign is there once"):
        OddnessModel.from_dict({**values, "signs": [*values["signs"], values["signs"][0]]})
