"""Thresholds and tree from labelled traces (all traces here are synthetic)."""

import copy
from dataclasses import fields, replace

import numpy as np
import polars as pl
import pytest

from gamewarden.core.trees import MONOTONE, TESTS, Tree
from gamewarden.detectors.traffic.model import TrafficModel
from gamewarden.detectors.traffic.recipe import TrafficDetector, _layouts
from gamewarden.detectors.traffic.search import Search, answers, cells, verdicts
from gamewarden.errors import ConfigError, FitError, ModelError, TableError
from gamewarden.features.traffic.details import TrafficDetails
from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.tables import EVIDENCE, SCORES, FramePackets, check
from packets_made_up import client, mixture
from traces_made_up import BOTS, HUMANS, trace_labels, traces

DETAILS = TrafficDetails()
TWO_LAYOUTS = TrafficDetails(layouts=((19, 5), (9, 9)))
DETECTOR = TrafficDetector(TWO_LAYOUTS)


def details(frame, recipe=TWO_LAYOUTS):
    return recipe.measure(FramePackets(frame))


def shuffled(frame):
    return frame.sample(fraction=1.0, shuffle=True, seed=5)


@pytest.fixture(scope="module")
def frame():
    return traces(hours=0.2)


@pytest.fixture(scope="module")
def table(frame):
    return details(frame)


@pytest.fixture(scope="module")
def model(table):
    return DETECTOR.fit(table, trace_labels())


@pytest.fixture(scope="module")
def windows(frame, model):
    return TrafficTest.from_dict(model.feature.options).measure(FramePackets(frame))


def switches():
    yield pytest.param(TrafficTest(), id="Table II")
    for option in fields(TrafficTest):
        for value in option.metadata["also"]:
            yield pytest.param(replace(TrafficTest(), **{option.name: value}), id=f"{option.name}={value}")
    yield pytest.param(TrafficTest(win=110, acn=9, acv=11, scaled=True), id="scaled window")


@pytest.mark.parametrize("test", list(switches()))
def test_the_search_answers_as_the_test_itself(test):
    frame = mixture(packets=6000, seed=9)
    rows = details(frame, TrafficDetails(test, ())).with_columns(bot=pl.lit(False), group=pl.col("actor"))
    (layout,) = _layouts(rows, sorted(rows["group"].unique()), test.to_dict())
    measured = test.measure(FramePackets(frame))

    said = answers(layout, test.to_dict())
    assert measured.height > 30
    for name in TESTS:
        assert said[name].tolist() == measured[name].fill_null(value=False).to_list()
    assert verdicts(test.tree.bits)[cells(layout, test.to_dict())].tolist() == measured["bot"].to_list()


def test_training_finds_the_thresholds_of_a_protocol_the_paper_never_saw():
    longer = traces(hours=0.2).with_columns(pl.col("size") * 3 + 100)

    validation = DETECTOR.fit(details(longer), trace_labels()).validation

    assert validation["start"]["accuracy"] < validation["accuracy"] - 0.03
    assert validation["accuracy"] > 0.9
    assert validation["tests_alone"]["lengths"]["accuracy"] > 0.65


def test_where_table_ii_is_perfect_it_stays():
    bot, human = [20, 40] * 300, ([20] * 5 + [61] * 5) * 60
    pauses = ([3.0] + [1.0] * 9) * 59
    parts = [client(bot, actor=name) for name in BOTS] + [client(human, pauses, actor=name) for name in HUMANS]

    model = DETECTOR.fit(details(pl.concat(parts)), trace_labels())

    assert model.feature.options == TrafficTest().to_dict()
    assert model.validation["accuracy"] == 1.0


def test_a_named_tree_is_kept(table):
    named = TrafficDetector(TWO_LAYOUTS, tree="all").fit(table, trace_labels())

    assert str(named.tree) == "all"


def test_without_training_of_thresholds_only_the_tree_is_chosen(table):
    model = TrafficDetector(TWO_LAYOUTS, thresholds=False).fit(table, trace_labels())

    kept = {name: value for name, value in model.feature.options.items() if name != "tree"}
    assert kept == {name: value for name, value in TrafficTest().to_dict().items() if name != "tree"}
    assert model.tree.bits in MONOTONE


def layouts_of(table):
    rows = table.with_columns(bot=pl.col("actor").is_in(BOTS), group=pl.col("actor")).sort("group", "acn", "window")
    return _layouts(rows, sorted({*BOTS, *HUMANS}), TrafficTest().to_dict())


def test_a_profile_is_judged_on_traces_its_thresholds_never_saw(table):
    search, everyone = Search(TrafficTest().to_dict(), cap=1.0, tree=Tree.named("duality")), np.arange(8)
    layout = layouts_of(table)[0]
    learned = search.learn([layout], everyone)

    right = 0
    for held_out in everyone:
        profile, _ = search._each_test(layout, everyone[everyone != held_out])
        mine = layout.trace == held_out
        says = verdicts(learned.tree.bits)[cells(layout, profile)]
        right += (says == layout.bot)[mine].sum()
    in_sample = (
        verdicts(learned.tree.bits)[cells(layout, search._each_test(layout, everyone)[0])] == layout.bot
    ).mean()
    assert learned.objective == pytest.approx(right / len(layout.bot))
    assert learned.objective != pytest.approx(in_sample)


def test_the_joint_pass_never_makes_the_whole_worse(table):
    search, everyone = Search(TrafficTest().to_dict(), cap=1.0, tree=Tree.named("all")), np.arange(8)
    layout = layouts_of(table)[0]

    learned = search.learn([layout], everyone)

    apart = verdicts(learned.tree.bits)[cells(layout, search._each_test(layout, everyone)[0])]
    assert (learned.says_bot == layout.bot).mean() > (apart == layout.bot).mean()


def test_false_alarms_stay_under_the_cap_where_that_is_possible(table):
    def learned(cap):
        found = Search(TrafficTest().to_dict(), cap=cap).learn(layouts_of(table), np.arange(8))
        says, bot = found.says_bot, found.layout.bot
        return (says & ~bot).sum() / max(1, says.sum()), (says & bot).sum()

    strict, strict_caught = learned(0.005)
    loose, loose_caught = learned(0.5)
    assert strict <= 0.005
    assert strict <= loose
    assert strict_caught <= loose_caught


def test_the_objective_prefers_any_profile_under_the_cap_to_any_above():
    search = Search(TrafficTest().to_dict(), cap=0.08)

    under, above, silent = search.objective(np.array([10.0, 90.0, 0.0]), np.array([0.0, 9.0, 0.0]), 100, 100)
    assert under > above
    assert (under, silent) == (0.55, 0.5)


def test_the_tree_is_the_best_on_traces_its_thresholds_never_saw():
    """Lengths tell bots from humans, the other tests are noise: the tree asks for lengths alone."""
    draw = np.random.default_rng(8)

    def noise(name, *, bot):
        sizes = draw.integers(10, 45, 2000)
        sizes[draw.random(2000) < 0.05] = 45 if bot else 90
        return client([int(size) for size in sizes], draw.exponential(0.6, 1999), actor=name)

    frame = pl.concat([noise(name, bot=name in BOTS) for name in (*BOTS, *HUMANS)])
    model = TrafficDetector(TWO_LAYOUTS, thresholds=False).fit(details(frame), trace_labels())

    assert str(model.tree) == "lengths"


def test_a_held_out_trace_never_teaches_its_own_judge(frame):
    """A human trace turned into a bot's twin is judged by the others, so it must come out as a bot."""
    twin = frame.filter(actor="M1").with_columns(actor=pl.lit("X1"))
    table = details(pl.concat([frame.filter(pl.col("actor") != "X1"), twin]))

    validation = DETECTOR.fit(table, trace_labels()).validation

    assert validation["traces"]["actor:X1"]["accuracy"] < 0.3
    assert validation["traces"]["actor:SS1"]["accuracy"] > 0.7


def test_traces_of_one_group_are_held_out_together(table):
    labels = trace_labels().with_columns(group=pl.Series([*"ababcdcd"]))

    validation = DETECTOR.fit(table, labels).validation

    assert sorted(validation["traces"]) == ["group:a", "group:b", "group:c", "group:d"]


def test_the_validation_has_mean_spread_traces_and_each_test_alone(model, table):
    validation = model.validation

    accuracies = [trace["accuracy"] for trace in validation["traces"].values()]
    assert set(validation["traces"]) == {f"actor:{name}" for name in (*BOTS, *HUMANS)}
    assert validation["accuracy_mean"] == pytest.approx(np.mean(accuracies))
    assert validation["accuracy_spread"] == pytest.approx(np.std(accuracies))
    assert set(validation["tests_alone"]) == set(TESTS)
    assert set(validation["start"]) == {"accuracy", "false_alarm", "fpr", "recall"}
    assert sum(model.training["periods"].values()) == table.filter(acn=model.feature.options["acn"]).height


def test_the_same_recipe_and_data_give_the_same_model_whatever_the_order_of_the_rows(model, table):
    again = DETECTOR.fit(shuffled(table), shuffled(trace_labels()))

    assert again == model
    assert again.to_dict() == model.to_dict()


def test_every_option_changes_the_name_of_the_model(model, table):
    others = [
        replace(DETECTOR, **{option.name: value})
        for option in fields(TrafficDetector)
        for value in option.metadata.get("also", ())
    ]
    names = [other.fit(table, trace_labels()).id for other in others]

    assert len({model.id, *names}) == 1 + len(others) == 5


def test_a_row_scores_the_same_alone_as_in_a_crowd(model, windows):
    crowd = check(model.score(windows), SCORES, "test")

    alone = pl.concat([model.score(windows[at]) for at in range(40)])
    assert alone.equals(crowd[:40])
    assert crowd["probability"].n_unique() == 2


def test_a_score_is_the_verdict_of_the_tree(model, windows):
    scores = model.score(windows)

    called = windows["bot"].to_numpy()
    assert (
        scores["probability"].to_numpy() == np.where(called, model.reference.if_bot, model.reference.if_human)
    ).all()
    assert (scores["fpr"].to_numpy() == np.where(called, model.reference.fpr(), 1.0)).all()
    assert (scores["events"] == model.feature.options["win"]).all()


def test_an_fpr_counts_each_human_once_and_this_one_as_one_more(model):
    shares = [1 - model.validation["traces"][f"actor:{name}"]["accuracy"] for name in HUMANS]

    assert model.reference.fpr() == pytest.approx((sum(shares) + 1) / 5)


def test_evidence_adds_up_to_the_log_odds_of_the_probability(model, windows):
    evidence = check(model.explain(windows), EVIDENCE, "test")
    key = ["actor", "since", "until"]

    total = evidence.group_by(key).agg(pl.col("weight").sum())
    both = model.score(windows).join(total, on=key)
    log_odds = (both["probability"] / (1 - both["probability"])).log().to_numpy()
    np.testing.assert_allclose(both["weight"].to_numpy() + model.base, log_odds, rtol=1e-9, atol=1e-9)
    assert evidence.height == 3 * windows.height


def test_evidence_is_whole_sentences_with_a_reason_that_stands_alone(model, windows):
    says = model.explain(windows)["says"]

    assert says.str.ends_with(".").all()
    assert not says.str.contains("nan|None|guilty|cheat").any()
    heads = set(says.str.split(":").list.first())
    assert "Packets at a regular pace" in heads
    assert "Lengths that alternate" in heads


def test_the_evidence_of_a_row_is_the_same_alone_as_in_a_crowd(model, windows):
    assert model.explain(windows[3]).equals(model.explain(windows)[9:12])


def test_the_heaviest_evidence_comes_first(model, windows):
    weights = model.explain(windows)["weight"].abs().to_numpy().reshape(-1, 3)

    assert (np.diff(weights, axis=1) <= 0).all()


def test_a_model_comes_back_from_its_own_values(model, windows):
    back = TrafficModel.from_dict(model.to_dict())

    assert back == model
    assert back.score(windows).equals(model.score(windows))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("data",), "another"),
        (("recipe", "cap"), 0.5),
        (("reference", "if_bot"), 1.0),
        (("reference", "if_human"), None),
        (("reference", "humans"), []),
        (("feature", "options", "tree"), "oak"),
        (("feature", "options", "tree"), {"ask": "lengths", "bot": "human", "human": "bot"}),
        (("feature", "options", "win"), "100"),
        (("feature", "options"), []),
        (("typical",), {}),
        (("detector",), 3),
        (("surplus",), 1),
    ],
)
def test_a_stored_model_with_another_value_is_refused(model, path, value):
    values = copy.deepcopy(model.to_dict())
    place = values
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value

    with pytest.raises(ModelError, match="fit it again"):
        TrafficModel.from_dict(values)


def test_a_stored_model_without_a_value_is_refused(model):
    for name in model.to_dict().keys() - {"days"}:  # which a model of windows alone on their day has not
        values = {key: value for key, value in model.to_dict().items() if key != name}
        with pytest.raises(ModelError, match="fit it again"):
            TrafficModel.from_dict(values)


def test_the_model_is_printed_as_a_tree_with_its_thresholds(model):
    text = model.text()

    assert text.startswith(model.tree.text())
    assert f"a window is {model.feature.options['win']} client packets" in text


def test_the_card_names_the_rule_and_its_weaknesses(model):
    card = model.card

    assert card.id == model.id
    assert card.parameters["tree"] == model.tree.rule
    assert any("never a verdict" in weakness for weakness in card.weaknesses)


def test_too_few_traces_of_a_class_are_refused(table):
    with pytest.raises(FitError, match="1 traces of bots and 4 of humans"):
        DETECTOR.fit(table, trace_labels().filter(~pl.col("actor").is_in(BOTS[1:])))


def test_two_traces_of_each_class_are_enough(table):
    few = trace_labels().filter(pl.col("actor").is_in([*BOTS[:2], *HUMANS[:2]]))

    assert DETECTOR.fit(table, few).training["traces"] == {"bot": 2, "human": 2}


def test_a_group_with_both_classes_is_refused(table):
    with pytest.raises(FitError, match="group:farm has windows of a bot and of a human"):
        DETECTOR.fit(table, trace_labels().with_columns(group=pl.lit("farm")))


def test_labels_hold_only_in_their_time(table):
    noon = table["since"].sort()[table.height // 2]
    labels = trace_labels().with_columns(since=pl.lit(noon), until=pl.lit(None, noon.__class__))

    model = DETECTOR.fit(table, labels.with_columns(pl.col("since", "until").cast(pl.Datetime("us", "UTC"))))

    whole = DETECTOR.fit(table, trace_labels())
    assert sum(model.training["periods"].values()) < sum(whole.training["periods"].values())


def test_a_table_without_details_is_refused(table, model, windows):
    with pytest.raises(TableError, match="measure traffic-details first"):
        DETECTOR.fit(table.drop("gaps"), trace_labels())
    with pytest.raises(TableError, match="measure traffic first"):
        model.score(windows.drop("lengths"))


@pytest.mark.parametrize("options", [{"tree": "oak"}, {"cap": 0.0}, {"cap": 1.5}])
def test_options_that_cannot_be_used_are_refused(options):
    with pytest.raises(ConfigError, match="traffic: "):
        TrafficDetector(DETAILS, **options)


def test_a_model_no_better_than_chance_says_only_how_common_bots_were(table):
    wrong = trace_labels().with_columns(bot=pl.Series([True, False] * 4))

    reference = DETECTOR.fit(table, wrong).reference
    assert reference.if_bot >= reference.if_human


def test_a_tree_over_cells_is_the_tree_over_answers():
    for bits in MONOTONE:
        assert verdicts(bits).tolist() == [Tree(bits).verdict(at) for at in range(8)]
