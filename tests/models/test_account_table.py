"""The model of an operator's own table: what it learns, what it says, and what it refuses to believe."""

import base64
import copy
from itertools import permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden import detectors
from gamewarden.detectors.account_table.boosting import SHARP, SMOOTH, grow
from gamewarden.detectors.account_table.forest import Forest, Tree
from gamewarden.detectors.account_table.recipe import AccountTableDetector
from gamewarden.errors import ConfigError, FitError, ModelError
from gamewarden.evaluation.metrics import auc
from gamewarden.features.account_table.recipe import AccountTable
from gamewarden.learning.ratios import ratios_of
from gamewarden.learning.reference import smallest_fpr
from gamewarden.tables import FrameRows
from made_up import labels_of
from tables_made_up import account_table

ROWS = FrameRows(account_table(120, 160))
FEATURE = AccountTable(group="account", label="verdict", drop=("character",)).learn(ROWS)
TABLE = FEATURE.measure(ROWS)
LABELS = labels_of(120, 160)
QUICK = {"rounds": 60, "runs": 2}


@pytest.fixture(scope="module")
def model():
    return AccountTableDetector(feature=FEATURE, **QUICK).fit(TABLE, LABELS)


def test_bots_it_never_saw_score_above_humans(model):
    fresh = FrameRows(account_table(60, 80, seed=99))
    table = FEATURE.measure(fresh)
    scores = model.score(table)

    found = auc(scores["probability"].to_numpy(), table["actor"].str.starts_with("bot").to_numpy())

    assert found > 0.9
    assert abs(found - model.validation["auc"]) < 0.1


def test_the_card_shows_what_a_logistic_regression_makes_of_the_same_columns(model):
    straight = AccountTableDetector(feature=FEATURE, method="logistic").fit(TABLE, LABELS)

    assert model.validation["logistic_auc"] == straight.validation["auc"]


def test_labels_without_meaning_give_a_model_no_better_than_chance():
    draw = np.random.default_rng(4)
    torn = LABELS.with_columns(bot=pl.Series(draw.permutation(LABELS["bot"].to_numpy())))

    found = AccountTableDetector(feature=FEATURE, **QUICK).fit(TABLE, torn).validation["auc"]

    assert 0.35 < found < 0.65


def test_a_group_is_never_on_both_sides():
    """Eight characters of one account that carry its number: whoever saw one knows the others."""
    draw = np.random.default_rng(2)
    count, accounts = 480, 60
    number = np.repeat(draw.normal(0, 1, accounts), 8)
    bot = np.repeat(draw.random(accounts) < 0.5, 8)
    frame = pl.DataFrame(
        {"actor": [f"a{at:03}" for at in range(count)], "number": number, "other": draw.normal(0, 1, count)}
    )
    feature = AccountTable(keep=("number",)).learn(FrameRows(frame))
    labels = pl.DataFrame({"actor": frame["actor"], "bot": bot})
    grouped = labels.with_columns(group=pl.Series(np.repeat(np.arange(accounts), 8)).cast(pl.String))
    detector = AccountTableDetector(feature=feature, rounds=80, runs=1)
    table = feature.measure(FrameRows(frame))

    alone = detector.fit(table, labels).validation["auc"]
    together = detector.fit(table, grouped).validation["auc"]

    assert alone > 0.9  # the leak, planted
    assert together < 0.75  # 60 accounts of chance


def test_the_trees_as_arrays_decide_as_the_library_that_grew_them():
    import lightgbm

    draw = np.random.default_rng(0)
    rows = draw.normal(0, 1, (600, 4))
    rows[draw.random(rows.shape) < 0.1] = np.nan
    bot = np.nan_to_num(rows[:, 0]) + np.nan_to_num(rows[:, 1]) ** 2 > 0.7
    forest = grow(rows, bot, SHARP, runs=1, rounds=50, seed=3)
    told = {**SHARP.settings, "objective": "binary", "seed": 3, "verbose": -1, "num_threads": 1}
    told |= {"deterministic": True, "force_row_wise": True}
    library = lightgbm.train(told, lightgbm.Dataset(rows, bot.astype(float)), 20)

    np.testing.assert_allclose(forest.base + forest.decide(rows), library.predict(rows, raw_score=True), atol=1e-9)
    theirs = library.predict(rows, pred_contrib=True)
    np.testing.assert_allclose(forest.parts(rows), theirs[:, :-1], atol=1e-9)
    np.testing.assert_allclose(forest.base, theirs[:, -1], atol=1e-9)


def expected(tree, row, known, at=0):
    """What a tree is expected to say of a row of which only some columns are known."""
    if not tree.left[at]:
        return tree.value[at]
    below = int(tree.left[at]), int(tree.right[at])
    if tree.column[at] in known:
        number = row[tree.column[at]]
        goes_left = tree.missing_left[at] if np.isnan(number) else number <= tree.threshold[at]
        return expected(tree, row, known, below[0] if goes_left else below[1])
    return sum(tree.rows[side] / tree.rows[at] * expected(tree, row, known, side) for side in below)


def shapley(tree, row):
    """Straight from the definition: the mean step of each column over all orders in which they can become known."""
    orders = list(permutations(range(row.size)))
    total = np.zeros(row.size)
    for order in orders:
        for place, column in enumerate(order):
            after, before = order[: place + 1], order[:place]
            total[column] += expected(tree, row, after) - expected(tree, row, before)
    return total / len(orders)


@st.composite
def trees(draw):
    """A tree of up to four questions deep on four columns, one column perhaps asked again and again."""
    nodes = []

    def grow_one(depth):
        at = len(nodes)
        nodes.append({"column": 0, "threshold": 0.0, "left": 0, "right": 0, "missing_left": False, "value": 0.0})
        if depth and draw(st.booleans()):
            asked = {"column": draw(st.integers(0, 3)), "threshold": draw(st.sampled_from([-1.0, 0.0, 1.0]))}
            left, right = grow_one(depth - 1), grow_one(depth - 1)
            rows = nodes[left]["rows"] + nodes[right]["rows"]
            nodes[at] |= {**asked, "left": left, "right": right, "missing_left": draw(st.booleans()), "rows": rows}
        else:
            nodes[at] |= {"value": draw(st.floats(-2, 2)), "rows": draw(st.integers(1, 9))}
        return at

    grow_one(4)
    return Tree(**{name: np.array([node[name] for node in nodes]) for name in nodes[0]})


@given(trees(), st.lists(st.sampled_from([-2.0, -1.0, 0.5, 1.0, 2.0, np.nan]), min_size=4, max_size=4))
def test_the_parts_of_a_decision_are_shapley_values(tree, row):
    forest, row = Forest.of([tree]), np.array(row)

    parts = forest.parts(row[None, :])[0]

    np.testing.assert_allclose(parts, shapley(tree, row), atol=1e-12)
    assert parts.sum() == pytest.approx(forest.decide(row[None, :])[0], abs=1e-12)
    assert forest.steps(row[None, :]).sum() == pytest.approx(parts.sum(), abs=1e-12)


def test_of_two_columns_that_must_both_be_high_the_one_asked_last_gets_no_more():
    """Bots are high in both: whichever is asked first, each is half of it."""
    tree = Tree(
        column=np.array([0, 0, 1, 0, 0]),
        threshold=np.zeros(5),
        left=np.array([1, 0, 3, 0, 0]),
        right=np.array([2, 0, 4, 0, 0]),
        missing_left=np.zeros(5, dtype=bool),
        value=np.array([0.0, 0.0, 0.0, 0.0, 1.0]),
        rows=np.array([4, 2, 2, 1, 1]),
    )

    parts = Forest.of([tree]).parts(np.array([[1.0, 1.0]]))[0]

    np.testing.assert_allclose(parts, [0.375, 0.375])
    np.testing.assert_allclose(Forest.of([tree]).steps(np.array([[1.0, 1.0]]))[0], [0.25, 0.5])


@pytest.mark.integration
def test_trees_of_half_the_rows_decide_as_boldly_as_those_of_all_once_their_leaves_are_as_large():
    """With as many leaves on fewer rows they would be bolder, and what they say of strangers no guide to the others."""
    draw = np.random.default_rng(0)
    rows = draw.normal(0, 1, (8000, 4))
    bot = draw.random(8000) < 1 / (1 + np.exp(-3 * rows[:, 0] + rows[:, 1] ** 2))

    def boldness(count, style):
        forest = grow(rows[:count], bot[:count], style, runs=1, rounds=250, seed=1)
        return np.abs(forest.base + forest.parts(rows[4000:]).sum(axis=1)).mean()

    finished, as_many_leaves, as_large_leaves = (
        boldness(4000, SHARP),
        boldness(2000, SHARP),
        boldness(2000, SHARP.for_share(0.5)),
    )

    assert as_large_leaves == pytest.approx(finished, rel=0.03)
    assert as_many_leaves > 1.06 * finished


def test_only_columns_that_were_asked_add_to_a_decision():
    draw = np.random.default_rng(0)
    rows = np.column_stack([draw.normal(0, 1, 500), np.ones(500)])
    forest = grow(rows, rows[:, 0] > 0, SMOOTH, runs=1, rounds=20, seed=0)

    parts = forest.parts(rows)

    assert (parts[:, 1] == 0).all()
    assert np.corrcoef(parts[:, 0], rows[:, 0])[0, 1] > 0.7


def test_a_value_that_cannot_be_true_is_explained_as_such(model):
    said = model.explain(TABLE.filter(actor="bot000")).filter(feature="playtime_per_day")["says"][0]

    assert said == (
        "playtime_per_day cannot be true: playtime_per_day is 90000.0, and a day has 86,400 seconds; "
        "it counts as missing."
    )


def test_a_column_with_braces_in_its_name_can_be_explained():
    frame = account_table().rename({"Max_level": "{level}"})
    feature = AccountTable(drop=("character",)).learn(FrameRows(frame))
    table = feature.measure(FrameRows(frame))
    fitted = AccountTableDetector(feature=feature, rounds=10, runs=1).fit(table, labels_of(60, 80))

    says = fitted.explain(table[:3]).filter(feature="{level}")["says"]

    assert says.str.starts_with("(level) is ").all()


def test_ratios_are_by_days_and_by_logins_and_no_pair_stands_twice():
    found = ratios_of(("Login_day_count", "Playtime", "playtime_per_day", "Login_count", "class=Cleric"))

    assert ("Playtime", "Login_day_count") in found
    assert ("Playtime", "Login_count") in found
    assert ("Login_count", "Login_day_count") in found
    assert ("Login_day_count", "Login_count") not in found
    assert not any(under == "playtime_per_day" or "=" in over for over, under in found)
    assert ratios_of(("money", "level")) == ()


def test_a_row_with_too_few_numbers_is_not_judged(model):
    names = [name for name in FEATURE.names if name not in {"Playtime", "impossible"}]
    thin = TABLE[:2].with_columns(pl.lit(None, dtype=pl.Float64).alias(name) for name in names)

    assert model.score(thin)["probability"].null_count() == 2


def fitted_with(more):
    """A model of the made-up table with these columns beside, and what it was measured with."""
    frame = account_table(120, 160).with_columns(more)
    feature = AccountTable(group="account", label="verdict", drop=("character",)).learn(FrameRows(frame))
    table = feature.measure(FrameRows(frame))
    return AccountTableDetector(feature=feature, **QUICK).fit(table, LABELS), table, feature


@pytest.mark.integration
def test_columns_that_are_rightly_empty_for_most_rows_do_not_make_these_too_little():
    """Numbers on how the characters of an account differ: there are none where an account has one."""
    several = pl.int_range(pl.len()) % 10 < 3
    beside = [
        pl.when(several).then(pl.col("Playtime") % (7 + at) + pl.col("Max_level")).alias(f"between_{at}")
        for at in range(30)
    ]
    model, table, _ = fitted_with(beside)

    scores = model.score(table)

    assert scores["probability"].null_count() == 0


@pytest.mark.integration
def test_a_row_whose_telling_columns_are_all_missing_is_not_judged_however_many_others_it_has():
    draw = np.random.default_rng(7)
    noise = [pl.Series(f"noise_{at}", draw.normal(0, 1, 280)) for at in range(30)]
    model, table, feature = fitted_with(noise)
    told = [name for name in feature.names if not name.startswith("noise") and name != "impossible"]

    scores = model.score(table.with_columns(pl.lit(None, dtype=pl.Float64).alias(name) for name in told))

    assert scores["probability"].null_count() == table.height


def test_too_few_of_a_class_are_refused():
    with pytest.raises(FitError, match="needed are 5 of each"):
        AccountTableDetector(feature=FEATURE, **QUICK).fit(TABLE, LABELS.filter(pl.col("actor") > "bot117"))


@pytest.mark.parametrize(
    ("option", "value"),
    [("method", "magic"), ("runs", 0), ("rounds", 0), ("strength", 0.0), ("enough", 2.0), ("folds", 1), ("least", 1)],
)
def test_an_option_nothing_can_be_learned_with_is_refused(option, value):
    with pytest.raises(ConfigError, match=option):
        AccountTableDetector(feature=FEATURE, **{option: value})


@pytest.mark.integration
def test_an_fpr_promised_to_accounts_is_never_below_one_promised_to_rows():
    """Ten rows an account: whoever has several is judged by the most bot-like of them."""
    grouped = LABELS.with_columns(group=pl.col("actor").str.extract(r"(\D+\d*)\d$"))
    rows, accounts = (
        AccountTableDetector(feature=FEATURE, promise=promise, peers=("none",), **QUICK).fit(TABLE, grouped)
        for promise in ("row", "account")
    )

    fprs = [fitted.score(TABLE)["fpr"] for fitted in (rows, accounts)]

    assert accounts.reference.humans == 16
    assert rows.reference.humans == 160
    assert (fprs[1] >= fprs[0] - 1e-12).all()


def test_the_card_says_on_which_steps_people_are_too_few_for_1_in_100(model):
    (sentence,) = (line for line in model.card.weaknesses if "each step of its numbers" in line)

    people = model.reference.humans
    highest = max(smallest_fpr(count, people) for count in model.peers.counts().values())
    assert f"1 in {1 / highest:.3g} (" in sentence
    assert "On rarer steps it promises nothing" in sentence


def spoiled(model, change):
    values = copy.deepcopy(model.to_dict())
    change(values)
    return values


def node(name, place, value):
    """A change of one number of one node of the sharp trees."""
    kinds = {"column": "<i2", "threshold": "<f8", "left": "<i4", "right": "<i4", "value": "<f8", "rows": "<i8"}

    def change(values):
        numbers = np.frombuffer(base64.b64decode(values["sharp"]["nodes"][name]), kinds[name]).copy()
        numbers[place] = value
        values["sharp"]["nodes"][name] = base64.b64encode(numbers.tobytes()).decode()

    return change


def put(path, value):
    def change(values):
        *way, last = path
        for step in way:
            values = values[step]
        values[last] = value

    return change


WILD = {
    "a child that leads back": node("left", 0, -1),
    "a child outside its tree": node("right", 0, 10**6),
    "a column there is none of": node("column", 0, 999),
    "a column below none": node("column", 0, -1),
    "a value that is no number": node("value", 0, np.nan),
    "a threshold without end": node("threshold", 0, np.inf),
    "a node that no row came to": node("rows", 0, 0),
    "rows that were lost on the way": node("rows", 0, 10**6),
    "two nodes with one child": node("right", 0, 1),
    "starts that do not rise": put(("sharp", "starts"), [0, 0]),
    "starts that are words": put(("sharp", "starts"), ["0"]),
    "starts beyond the end": put(("sharp", "starts"), [0, 10**9]),
    "nodes that are no text": put(("sharp", "nodes", "value"), 3),
    "nodes that are not base64": put(("sharp", "nodes", "value"), "é"),
    "nodes of which some are missing": put(("sharp", "nodes", "value"), ""),
    "no nodes": put(("smooth",), {}),
    "a ratio of nothing": put(("ratios", 0), ["x", "y"]),
    "a column twice": put(("columns", 0, "name"), "Login_count"),
    "information below none": put(("columns", 0, "information"), -1.0),
    "people with half of their rows": lambda values: values["peers"]["persons"].pop(),
    "a step above the ladder": lambda values: values["peers"]["steps"][0].__setitem__(0, 99),
    "a ladder on no column": put(("peers", "ladders", 0, "column"), "nothing"),
    "borders that fall": put(("peers", "ladders", 0, "borders"), [2.0, 1.0]),
    "steps without a ladder": lambda values: values["peers"]["ladders"].pop(),
    "prices that are a list": put(("validation", "promises"), []),
    "a weight that is text": put(("columns", 0, "weight"), "heavy"),
}


def test_a_model_that_asks_whether_a_number_is_missing_comes_back(model):
    assert detectors.load_model(model.to_dict()) == model


@pytest.mark.parametrize("case", WILD)
def test_a_model_from_a_stranger_is_refused_before_it_walks_a_tree(model, case):
    with pytest.raises(ModelError):
        detectors.load_model(spoiled(model, WILD[case]))


def test_an_empty_forest_says_nothing():
    nothing = Forest.of(())
    nothing.refuse_wild(3)

    assert nothing.base == 0.0
    assert (nothing.parts(np.ones((2, 3))) == 0).all()
