import numpy as np
import polars as pl
import pytest

from gamewarden.detectors.actions.recipe import Frequency, Interval
from gamewarden.detectors.logistic.recipe import SelfSimilarityAlone
from gamewarden.errors import ConfigError, FitError
from gamewarden.evaluation import leave_pair_out as pairs
from gamewarden.evaluation.leave_pair_out import chosen_pairs, leave_pair_out, pair_splits
from gamewarden.evaluation.metrics import Confusion
from gamewarden.evaluation.splits import Split
from gamewarden.learning.labels import label_periods
from made_up import CHUNKS, GivenNumbers, account_days, action_chunks, labels_of


class Names:
    """Calls everybody a bot whose name it has seen called one, and of strangers those it is told to."""

    name = "names"

    def __init__(self, strangers=()):
        self.strangers = set(strangers)
        self.met = []

    def learn(self, features, labels):
        known = set(features["actor"])
        self.met.append(known)
        bots = set(labels.filter("bot")["actor"]) & known

        class Decides:
            def decide(_self, features):  # noqa: N805 - the outer one is self
                assert not known & set(features["actor"])
                return np.array([1.0 if actor in bots | self.strangers else -1.0 for actor in features["actor"]])

        return Decides()


@pytest.fixture(scope="module")
def chunks():
    return action_chunks(7, 7, hours=1.0)


def test_seven_of_each_are_49_folds_and_each_chunk_is_tested_seven_times(chunks):
    result = leave_pair_out([Names()], chunks, labels_of(7, 7), draws=10)

    assert result.summary["pairs"].to_list() == [49]
    assert result.summary.select(pl.sum_horizontal("tp", "fp", "tn", "fn")).item() == 7 * chunks.height
    assert result.pairs.height == 49
    assert result.notes[0].startswith("49 folds, every pair of 7 bots and 7 humans")


def test_all_chunks_of_a_held_out_pair_are_out(chunks):
    names = Names()

    leave_pair_out([names], chunks, labels_of(7, 7), draws=10)

    assert len(names.met) == 49
    assert all(len(known) == 12 for known in names.met)


def test_one_mcc_is_made_of_the_counts_of_all_folds(chunks):
    result = leave_pair_out([Names(["bot001", "bot002", "human003"])], chunks, labels_of(7, 7), draws=200)

    cells = result.pairs.select(pl.col("tp", "fp", "tn", "fn").sum()).row(0)
    row = result.summary.row(0, named=True)
    assert row["mcc"] == pytest.approx(Confusion(*cells).mcc)
    assert row["mcc_low"] <= row["mcc"] <= row["mcc_high"]
    assert row["mcc_low"] < row["mcc_high"]


def test_a_method_that_calls_nobody_a_bot_has_an_mcc_of_0(chunks):
    result = leave_pair_out([Names()], chunks, labels_of(7, 7), draws=10)

    assert result.summary["mcc"].item() == 0.0
    assert result.summary["recall"].item() == 0.0


def test_a_split_with_chunks_of_one_character_on_both_sides_is_refused(chunks):
    rows = label_periods(chunks, labels_of(7, 7), "test").rows
    mine = rows.filter(actor="bot003")

    with pytest.raises(FitError, match="1 actors are on both sides, first 'bot003'"):
        Split(0, pl.concat([rows.filter(pl.col("actor") != "bot003"), mine[::2]]), mine[1::2])


def test_no_split_of_the_protocol_has_an_actor_or_a_group_on_both_sides(chunks):
    labels = labels_of(7, 7, group=[f"farm{at // 2}" for at in range(14)])

    splits = [split for _, split in pair_splits(label_periods(chunks, labels, "test").rows, 400, 0)]

    assert len(splits) == 12  # farm3 has a bot and a human: four groups with a bot, three with humans alone
    for split in splits:
        assert not set(split.train["actor"]) & set(split.test["actor"])
        assert not set(split.train["group"]) & set(split.test["group"])
        assert split.train.height + split.test.height == chunks.height


@pytest.mark.parametrize(("bots", "humans", "most"), [(20, 30, 60), (7, 7, 48), (3, 50, 100)])
def test_a_sample_of_pairs_holds_everybody_out_about_equally_often(bots, humans, most):
    names = [f"b{at}" for at in range(bots)], [f"h{at}" for at in range(humans)]

    sample = chosen_pairs(*names, most, seed=3)

    assert len(set(sample)) == most
    for side in (0, 1):
        times = [sum(pair[side] == name for pair in sample) for name in names[side]]
        assert max(times) - min(times) <= max(2, most // min(bots, humans) // 10 + 1)
    assert chosen_pairs(names[0][::-1], names[1][::-1], most, seed=3) == sample
    assert chosen_pairs(*names, most, seed=4) != sample


def test_the_published_methods_are_tried_on_the_same_pairs(chunks):
    result = leave_pair_out([Frequency(CHUNKS), Interval(CHUNKS)], chunks, labels_of(7, 7), most=6, draws=50)

    assert result.summary["detector"].to_list() == ["actions-frequency", "actions-interval"]
    assert (result.summary["mcc"] > 0.5).all()
    assert result.notes[0].startswith("6 folds, a sample of the 49 pairs")


def test_chunks_with_too_little_play_are_counted_as_unsure(chunks):
    few = chunks.with_columns(events=pl.when(pl.col("actor") == "human001").then(3).otherwise(pl.col("events")))

    result = leave_pair_out([Frequency(CHUNKS, least=2)], few, labels_of(7, 7), most=400, draws=10)

    unjudged = few.filter(pl.col("events") < 10).height
    assert unjudged >= few.filter(actor="human001").height
    assert result.summary["unsure"].item() == 7 * unjudged


def test_any_detector_can_be_tried_by_its_probability():
    recipe = SelfSimilarityAlone(GivenNumbers(), least=2)

    result = leave_pair_out([recipe], account_days(6, 6), labels_of(6, 6), most=4, draws=10)

    assert result.summary["detector"].item() == "self-similarity"
    assert result.summary["accuracy"].item() > 0.4


def test_what_cannot_be_tried_is_refused(chunks):
    with pytest.raises(ConfigError, match="name each detector once"):
        leave_pair_out([Names(), Names()], chunks, labels_of(7, 7))
    with pytest.raises(FitError, match="1 groups have a bot"):
        leave_pair_out([Names()], chunks, labels_of(7, 7).filter(~pl.col("bot") | (pl.col("actor") == "bot001")))
    assert pairs.MOST_PAIRS >= 49
