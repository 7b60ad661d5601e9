"""From scores to verdicts: rolled up inside periods, fused with and without labels, two operating points."""

import json
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.core.durations import DAY, HOUR
from gamewarden.detectors.fusion.model import FusionModel, decide
from gamewarden.detectors.fusion.recipe import Fusion
from gamewarden.detectors.fusion.scores import Scores
from gamewarden.errors import ConfigError, FitError, ModelError
from gamewarden.evaluation.fprs import realised
from gamewarden.evaluation.metrics import auc
from gamewarden.learning.styles import Styles
from gamewarden.presentation.card import card_markdown
from gamewarden.store import models as stored_models
from gamewarden.tables import VERDICTS, check
from gamewarden.verdicts.combining import by_family, combine
from gamewarden.verdicts.periods import Clock, ModelInfo, periods_of, played, roll_up, side_by_side
from gamewarden.verdicts.points import OperatingPoints

START = datetime(2026, 3, 1, tzinfo=UTC)
HALF = timedelta(minutes=30)
DAYS = Clock(DAY)
INFOS = {
    "day@1": ModelInfo("day", "self-similarity", 0.5),
    "alone@1": ModelInfo("alone", "self-similarity", 0.5),
    "chunk@1": ModelInfo("chunk", "actions", 0.5),
}
FUSION = Fusion(Scores(INFOS, DAY, "UTC", 0.3))


def score(actor, detector, probability, *, fpr=0.5, since=START, span=timedelta(days=1)):
    return {
        "actor": actor,
        "since": since,
        "until": since + span,
        "detector": detector,
        "model": f"{detector}@1",
        "probability": probability,
        "fpr": None if probability is None else fpr,
        "events": 10,
    }


def chunks(actor, *probabilities, fpr=0.5, start=START):
    return [
        score(actor, "chunk", p, fpr=fpr, since=start + at * HALF, span=2 * HALF) for at, p in enumerate(probabilities)
    ]


def table(*rows):
    return pl.DataFrame(list(rows), schema_overrides={"probability": pl.Float64, "fpr": pl.Float64})


def rolled(*rows, cut=DAYS, discount=0.3):
    return roll_up(table(*rows), INFOS, cut, discount)


def odds(probability):
    return np.log(probability / (1 - probability))


def test_a_score_belongs_to_the_period_it_ends_in():
    late = START + timedelta(hours=23, minutes=30)

    parts = rolled(*chunks("a", 0.9, start=late), score("a", "day", 0.9))

    assert parts.select("since", "detector").rows() == [(START, "day"), (START + timedelta(days=1), "chunk")]


def test_the_first_chunk_counts_whole_what_overlaps_once_and_every_further_one_three_tenths():
    lone, pair, apart = (
        rolled(*rows)["evidence"].item()
        for rows in (
            chunks("a", 0.9),
            chunks("a", 0.9, 0.9),
            [*chunks("a", 0.9), *chunks("a", 0.9, start=START + timedelta(hours=5))],
        )
    )

    assert lone == pytest.approx(odds(0.9))
    assert pair == pytest.approx(odds(0.9) * (1 + 0.3 * 0.5))
    assert apart == pytest.approx(odds(0.9) * 1.3)


def test_evidence_is_what_goes_beyond_the_models_own_prior():
    infos = {"chunk@1": replace(INFOS["chunk@1"], prior=0.9)}

    parts = roll_up(table(*chunks("a", 0.9)), infos, DAYS, 0.3)

    assert parts["evidence"].item() == pytest.approx(0.0)


def test_scores_without_an_answer_say_nothing():
    assert rolled(*chunks("a", None, None)).is_empty()


def test_days_follow_the_clock_of_the_zone():
    seoul = Clock(DAY, "Asia/Seoul")

    parts = rolled(*chunks("a", 0.9), cut=seoul)

    assert parts["since"].item() == datetime(2026, 2, 28, 15, tzinfo=UTC)
    assert parts["until"].item() == datetime(2026, 3, 1, 15, tzinfo=UTC)


def test_an_actor_rolls_up_the_same_alone_as_in_a_crowd_in_any_order():
    rows = [*chunks("a", 0.9, 0.2, 0.7), *chunks("b", 0.4), score("a", "day", 0.6), score("b", "alone", 0.3)]
    shuffled = [rows[at] for at in np.random.default_rng(1).permutation(len(rows))]

    assert rolled(*shuffled).equals(rolled(*rows))
    assert rolled(*[row for row in rows if row["actor"] == "b"]).equals(rolled(*rows).filter(actor="b"))


def test_detectors_of_one_family_share_one_voice():
    once = combine(rolled(score("a", "day", 0.9)), 0.3, 0.5)["probability"].item()
    twice = combine(rolled(score("a", "day", 0.9), score("a", "alone", 0.9)), 0.3, 0.5)["probability"].item()
    other = combine(rolled(score("a", "day", 0.9), *chunks("a", 0.9)), 0.3, 0.5)["probability"].item()

    assert twice == pytest.approx(once)
    assert other > once


def test_one_family_that_sees_a_human_outweighs_another_that_does_not():
    both = combine(rolled(score("a", "day", 0.9, fpr=0.001), *chunks("a", 0.1, fpr=0.6)), 0.3, 0.5)

    assert both["fpr"].item() == pytest.approx(0.601)


def test_a_missing_detector_is_missing_and_not_zero():
    alone = combine(rolled(score("a", "day", 0.9, fpr=0.02)), 0.3, 0.5)
    unsure = combine(rolled(score("a", "day", 0.9, fpr=0.02), *chunks("a", None)), 0.3, 0.5)

    assert alone.equals(unsure)
    assert alone["fpr"].item() == 0.02


@pytest.mark.parametrize("together", [0.0, 0.6, 1.0], ids=["independent", "related", "the same"])
@pytest.mark.parametrize("promise", [0.01, 0.1])
def test_combined_fprs_hold_whatever_the_detectors_have_in_common(together, promise):
    draw, people = np.random.default_rng(7), 20_000
    shared = draw.normal(size=people)
    fprs = [_uniform(np.sqrt(together) * shared + np.sqrt(1 - together) * draw.normal(size=people)) for _ in range(2)]
    parts = pl.concat(
        pl.DataFrame(
            {
                "actor": [f"h{at}" for at in range(people)],
                "since": START,
                "until": START,
                "family": family,
                "evidence": 0.0,
                "fpr": fpr,
                "order": 0,
                "rows": 1,
                "voices": 1,
            }
        )
        for family, fpr in zip(("self-similarity", "actions"), fprs, strict=True)
    )

    reached = (combine(parts, 0.3, 0.5)["fpr"] <= promise).mean()

    assert reached <= promise + 4 * np.sqrt(promise / people)


def _uniform(normal):
    """Ranks as FPRs: the more bot-like, the lower."""
    return (np.argsort(np.argsort(-normal)) + 1) / normal.size


def test_the_point_to_act_needs_two_families_and_the_point_to_watch_needs_either():
    rows = [
        *(score("both", "day", 0.99, fpr=0.0002), *chunks("both", 0.99, fpr=0.0002)),
        score("one", "day", 0.99, fpr=0.0002),
        *(score("torn", "day", 0.99, fpr=0.0002), *chunks("torn", 0.2, fpr=0.7)),
        *(score("calm", "day", 0.1, fpr=0.8), *chunks("calm", 0.1, fpr=0.7)),
        score("short", "day", None),
    ]
    parts, points = rolled(*rows), OperatingPoints()

    verdicts = points.verdicts(combine(parts, 0.3, 0.5), parts, periods_of(table(*rows), DAYS))

    reached = dict(zip(verdicts["actor"], points.reached(verdicts), strict=True))
    assert reached == {
        "both": "act",
        "calm": "neither",
        "one": "watch",
        "short": None,
        "torn": "watch",
    }
    assert verdicts["agree"].to_list() == [2, 0, 1, 0, 1]
    check(verdicts, VERDICTS, "test")


@pytest.mark.parametrize("needed", [1, 2, 3])
def test_what_others_around_an_account_do_is_never_enough_for_more_than_watching(needed):
    infos = {
        **INFOS,
        "groups@1": ModelInfo("groups", "flows", 0.5),
        "copies@1": ModelInfo("copies", "copies", 0.5),
        "more@1": ModelInfo("more", "more", 0.5),
    }
    around = [score("hub", name, 0.999, fpr=1e-5) for name in ("groups", "copies", "more")]
    own = [{**row, "actor": "leaf"} for row in around] + [score("leaf", "day", 0.999, fpr=1e-5)]
    parts = roll_up(table(*around, *own), infos, DAYS, 0.3)
    points, others = OperatingPoints(agree=needed), ("flows", "copies", "more")

    verdicts = points.verdicts(combine(parts, 0.3, 0.5), parts, parts, others)
    trusting = points.verdicts(combine(parts, 0.3, 0.5), parts, parts)

    assert points.reached(verdicts).to_list() == ["watch", "act"]
    assert verdicts["agree"].to_list() == [needed - 1, 4]
    assert points.reached(trusting).to_list() == ["act", "act"]


def test_nothing_reaches_the_point_to_act_where_the_budget_allows_nothing():
    parts = rolled(score("a", "day", 0.999, fpr=1e-9), *chunks("a", 0.999, fpr=1e-9))
    points = OperatingPoints(act=0.0)

    verdicts = points.verdicts(combine(parts, 0.3, 0.5), parts, parts)

    assert points.reached(verdicts).to_list() == ["watch"]


def test_a_streak_grows_while_periods_say_bot_and_an_unjudged_one_does_not_end_it():
    answers = [0.9, 0.9, None, 0.9, 0.1, 0.9]
    rows = [
        score("a", "day", p, fpr=0.01 if p == 0.9 else 0.9, since=START + timedelta(days=at))
        for at, p in enumerate(answers)
    ]
    parts = rolled(*rows)

    verdicts = OperatingPoints().verdicts(combine(parts, 0.3, 0.5), parts, periods_of(table(*rows), DAYS))

    assert verdicts["streak"].to_list() == [1, 2, 2, 3, 0, 1]


@pytest.mark.parametrize("wrong", [{"act": 0.2}, {"watch": 1.5}, {"agree": 0}], ids=str)
def test_points_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ConfigError, match="verdict: "):
        OperatingPoints(**wrong)


# A fusion learned from labels.


def voices(bots=60, humans=60, seed=1, *, silent=0.2):
    """Evidence of three models on labelled actors: two of them see the same, one sees something else."""
    draw = np.random.default_rng(seed)
    bot = np.arange(bots + humans) < bots
    seen = draw.normal(np.where(bot, 1.0, -1.0), 1.4)
    columns = {
        "day@1": seen + draw.normal(0, 0.5, bot.size),
        "alone@1": seen + draw.normal(0, 1.0, bot.size),
        "chunk@1": draw.normal(np.where(bot, 1.0, -1.0), 1.6),
    }
    frame = pl.DataFrame(
        {
            "actor": [f"x{at:03}" for at in range(bot.size)],
            "since": START,
            "until": START + timedelta(days=1),
            "events": 3,
            **{
                name: [
                    None if quiet else float(v) for v, quiet in zip(values, draw.random(bot.size) < silent, strict=True)
                ]
                for name, values in columns.items()
            },
            "total_use_time_min": draw.uniform(30, 1400, bot.size),
        },
        schema_overrides=dict.fromkeys(columns, pl.Float64),
    )
    return frame, pl.DataFrame({"actor": frame["actor"], "bot": bot})


@pytest.fixture(scope="module")
def fused():
    return FUSION.fit(*voices())


def test_a_fusion_is_better_than_its_best_voice_on_actors_it_has_not_seen(fused):
    frame, labels = voices(400, 400, seed=2, silent=0.0)
    bot = labels["bot"].to_numpy()

    alone = {name: auc(frame[name].to_numpy(), bot) for name in INFOS}

    assert auc(fused.score(frame)["probability"].to_numpy(), bot) > max(alone.values()) + 0.02


def test_the_same_data_give_the_same_fusion_in_any_order(fused):
    frame, labels = voices()

    again = FUSION.fit(frame.sample(fraction=1, shuffle=True, seed=3), labels.reverse())

    assert again.to_dict() == fused.to_dict()


def test_a_row_fuses_the_same_alone_as_in_a_crowd(fused):
    frame, _ = voices(seed=5)

    assert pl.concat([fused.score(frame[at]) for at in range(frame.height)]).equals(fused.score(frame))


def test_a_bot_like_answer_never_makes_a_verdict_more_human(fused):
    frame, _ = voices(seed=6)
    for name in INFOS:
        higher = frame.with_columns(pl.col(name) + 1.0)

        assert (fused.score(higher)["probability"] >= fused.score(frame)["probability"] - 1e-12).drop_nulls().all()


def test_what_a_missing_voice_would_have_said_is_expected_from_the_others(fused):
    one = voices(seed=7)[0].head(1).with_columns(pl.lit(4.0).alias("day@1"), pl.lit(None, pl.Float64).alias("alone@1"))
    average = one.with_columns(pl.lit(fused.terms[0].mean).alias("alone@1"))
    without = one.drop("alone@1")

    assert fused.terms[0].model == "alone@1"
    assert fused.score(one).equals(fused.score(without))
    assert fused.score(one)["probability"].item() >= fused.score(average)["probability"].item()


def test_where_nobody_spoke_there_is_no_number(fused):
    silent = voices()[0].head(2).with_columns(pl.lit(None, pl.Float64).alias(name) for name in INFOS)

    assert fused.score(silent).select("probability", "fpr").rows() == [(None, None)] * 2


def test_an_fpr_is_never_below_one_in_n_plus_one_of_its_style(fused):
    fprs = fused.score(voices(seed=8)[0])["fpr"].drop_nulls()

    assert fprs.min() >= 1 / (max(fused.styles.counts().values()) + 1)


def test_a_fusions_fprs_hold_for_fresh_humans_of_every_style():
    known = [FUSION.fit(*voices(80, 500, seed=seed)) for seed in (11, 12)]
    fresh, _ = voices(0, 2000, seed=13)

    def kept(model):
        fprs = model.score(fresh).drop_nulls("fpr").join(fresh.select("actor", style=Styles().tell(fresh)), on="actor")
        return realised(fprs, model.styles.counts(), (0.05, 0.01))

    rows = pl.concat([kept(model) for model in known])
    spoilt = [replace(model, intercept=model.intercept + 2.0) for model in known]

    assert rows["style"].n_unique() == 2
    assert rows["chance"].min() > 0.01 / rows.height
    assert pl.concat([kept(model) for model in spoilt])["chance"].min() < 0.01 / rows.height


def test_a_fusion_is_kept_as_json_and_comes_back_whole(fused, tmp_path):
    path = stored_models.save(fused, tmp_path)

    back = FusionModel.from_dict(stored_models.load(path))

    assert path.name.startswith("fusion@")
    assert back == fused
    assert back.score(voices(seed=9)[0]).equals(fused.score(voices(seed=9)[0]))
    assert card_markdown(fused.card).startswith(f"# {fused.id}\n")


def _broken(values, path, value):
    spoilt = json.loads(json.dumps(values))
    *way, last = path
    place = spoilt
    for step in way:
        place = place[step]
    place[last] = value
    return spoilt


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("voices", 0, "weight"), -1.0),
        (("voices", 0, "deviation"), 0.0),
        (("voices", 0, "together"), [1.0, 0.0]),
        (("voices", 0, "together"), [1.0, 1.0, 1.0]),
        (("voices", 1, "model"), "alone@1"),
        (("voices",), []),
        (("intercept",), "high"),
        (("slope",), 0.0),
        (("reference", "humans"), 7),
        (("styles", "rule"), {"hardcore_hours": "long"}),
        (("styles", "rule"), {"sixth": 6}),
        (("styles", "by_style"), {"dancer": {}}),
        (("feature", "options", "every"), 0),
        (("feature", "options", "time_zone"), "Middle/Earth"),
        (("feature", "options", "discount"), 2.0),
        (("training", "periods"), {"bot": 3}),
        (("recipe", "seed"), 99),
        (("data",), ""),
    ],
    ids=str,
)
def test_a_fusion_that_was_tampered_with_is_refused_in_one_line(fused, path, value):
    with pytest.raises(ModelError, match="fit it again") as refused:
        FusionModel.from_dict(_broken(fused.to_dict(), path, value))

    assert "\n" not in str(refused.value)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=3), lambda x: st.lists(x, max_size=3)))
def test_nothing_but_a_model_error_comes_of_strange_values(junk):
    values = FUSION.fit(*voices(25, 25)).to_dict() if not _KNOWN else _KNOWN[0]
    _KNOWN[:] = [values]
    for key in values:
        with suppress(ModelError):
            assert FusionModel.from_dict({**values, key: junk}).score(voices(3, 3)[0]).height == 6


_KNOWN: list = []


def test_too_few_labels_are_refused():
    with pytest.raises(FitError, match="needed are 20 of each"):
        FUSION.fit(*voices(10, 30))


def test_voices_that_tell_nothing_are_refused():
    frame, labels = voices()
    turned = labels.with_columns(~pl.col("bot"))

    with pytest.raises(FitError, match="no detector tells"):
        FUSION.fit(frame, turned)


def test_decisions_are_added_voice_by_voice(fused):
    frame, _ = voices(seed=4, silent=0.0)
    expected = fused.intercept + sum(
        voice.weight * (frame[voice.model].to_numpy() - voice.mean) / voice.deviation for voice in fused.terms
    )

    np.testing.assert_allclose(decide(frame, fused.terms, fused.intercept), expected)


def test_play_of_a_period_adds_up_and_what_was_never_measured_stays_null():
    hours = pl.DataFrame(
        {
            "actor": "a",
            "since": [START + timedelta(hours=at) for at in range(3)],
            "until": [START + timedelta(hours=at + 1) for at in range(3)],
            "total_use_time_min": [60.0, 30.0, None],
            "npc_kill_count": [None, None, None],
            "main_char_level": [3, 4, None],
        },
        schema_overrides={"npc_kill_count": pl.Int64},
    )

    added = played([pl.DataFrame({"actor": ["a"]}), hours], Fusion().styles, DAYS)

    assert added.row(0)[3:] == (90.0, None, 4.0)
    assert played([pl.DataFrame({"actor": ["a"]})], Fusion().styles, DAYS) is None


def test_voices_stand_side_by_side_with_null_for_the_silent():
    wide = side_by_side(rolled(score("a", "day", 0.9), *chunks("b", 0.2)))

    assert wide.select("actor", pl.col("day@1").is_null(), pl.col("chunk@1").is_null()).rows() == [
        ("a", False, True),
        ("b", True, False),
    ]


def test_the_fpr_of_a_family_is_that_of_the_detector_that_sees_most():
    own = by_family(rolled(score("a", "alone", 0.9, fpr=0.6), score("a", "day", 0.9, fpr=0.01)))

    assert own["own_fpr"].item() == 0.01


def test_the_evidence_of_a_family_is_the_mean_of_its_detectors():
    both = by_family(rolled(score("a", "alone", 0.5), score("a", "day", 0.9)))["evidence"].item()

    assert both == pytest.approx(by_family(rolled(score("a", "day", 0.9)))["evidence"].item() / 2)


def test_the_fpr_is_anothers_of_the_family_where_that_one_is_silent():
    own = by_family(rolled(score("a", "day", None), score("a", "alone", 0.9, fpr=0.03)))

    assert own["own_fpr"].item() == 0.03


def test_several_scores_of_one_detector_are_an_fpr_when_their_mean_is_doubled():
    assert by_family(rolled(*chunks("a", 0.9, 0.9, fpr=0.02)))["own_fpr"].item() == pytest.approx(0.04)


def test_hours_are_cut_as_well_as_days():
    assert rolled(*chunks("a", 0.9, 0.9), cut=Clock(HOUR)).height == 2
