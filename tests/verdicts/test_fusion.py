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
from gamewarden.verdicts.combining import Family, able_families, by_family, combine, combined
from gamewarden.verdicts.periods import KEY, Clock, ModelInfo, periods_of, played, roll_up, side_by_side
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


def combine_parts(parts, families=2):
    """Combined by families that all can judge everybody."""
    able = parts.select(KEY).unique().with_columns(families=families)
    return combine(parts, able, 0.3, 0.5)


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
    once = combine_parts(rolled(score("a", "day", 0.9)))["probability"].item()
    twice = combine_parts(rolled(score("a", "day", 0.9), score("a", "alone", 0.9)))["probability"].item()
    other = combine_parts(rolled(score("a", "day", 0.9), *chunks("a", 0.9)))["probability"].item()

    assert twice == pytest.approx(once)
    assert other > once


@pytest.mark.parametrize(
    ("fprs", "told"),
    [
        ([0.02], 0.02),
        ([1.0], 1.0),
        ([0.02, 0.7], 0.04),
        ([0.6, 0.7], 1.0),
        ([0.001, 0.02, 0.7], 0.03),
        ([0.001, None, None], 1.0),
        ([0.001, 0.02, None], 0.03),
        ([0.001, 0.02, 0.7, 0.8, None], 0.05),
        ([None, 0.02], 0.04),
        ([None, None], None),
    ],
    ids=str,
)
def test_of_two_families_twice_the_lower_fpr_counts_and_of_more_half_their_number_times_the_second(fprs, told):
    found = combine_parts(people_of([fprs]), len(fprs))["fpr"].item()

    assert found == (None if told is None else pytest.approx(told))
    assert told is None or combined([1.0 if fpr is None else fpr for fpr in fprs]) == found


def people_of(rows):
    """Parts of one period: a person a row, a family a column; None where a family gave no rate."""
    return pl.DataFrame(
        [
            (f"h{at}", START, START, f"family {family}", 0.0, fpr, 0, 1, 1)
            for at, row in enumerate(rows)
            for family, fpr in enumerate(row)
        ],
        schema={
            "actor": pl.String,
            "since": pl.Datetime("us", "UTC"),
            "until": pl.Datetime("us", "UTC"),
            "family": pl.String,
            "evidence": pl.Float64,
            "fpr": pl.Float64,
            "order": pl.Int64,
            "rows": pl.Int64,
            "voices": pl.Int64,
        },
        orient="row",
    )


@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=8))
def test_a_further_family_that_sees_nothing_costs_a_factor_of_two_once_and_little_from_three_families_on(fprs):
    n = len(fprs)
    most = {1: 2.0, 2: None}.get(n, (n + 1) / n)

    assert most is None or combined([*fprs, 1.0]) <= most * combined(fprs) * (1 + 1e-12)


def test_from_three_families_on_no_family_accuses_alone():
    assert combined([1e-9, 1.0, 1.0]) == 1.0
    assert combined([1e-9, 1e-9, 1.0]) == pytest.approx(1.5e-9)


def test_a_family_that_does_not_speak_counts_and_a_source_that_does_not_show_the_account_does_not():
    models = {
        "day@1": Family("self-similarity", "events"),
        "alone@1": Family("self-similarity", "events"),
        "chunk@1": Family("actions", "events"),
        "flow@1": Family("traffic", "packets"),
    }
    rows = [
        score("log only", "day", 0.9, fpr=0.01),
        score("both", "day", 0.9, fpr=0.01),
        score("both", "flow", None),
        score("packets only", "flow", 0.9, fpr=0.01),
    ]

    able = able_families(table(*rows), models, DAYS).sort("actor")

    assert able.select("actor", "families").rows() == [("both", 3), ("log only", 2), ("packets only", 1)]
    infos = {name: ModelInfo(name.partition("@")[0], one.name, 0.5) for name, one in models.items()}
    told = combine(roll_up(table(*rows), infos, DAYS, 0.3), able, 0.3, 0.5)
    assert dict(told.select("actor", "fpr").rows()) == {"both": 1.0, "log only": 0.02, "packets only": 0.01}


def test_rows_of_a_period_that_a_detector_cannot_rank_whole_enter_with_twice_their_mean():
    parts = rolled(score("a", "day", 0.9, fpr=0.9), *chunks("a", 0.9, 0.9, fpr=0.02))

    assert combine_parts(parts)["fpr"].item() == pytest.approx(2 * 2 * 0.02)


@pytest.mark.parametrize("families", [2, 3, 5])
@pytest.mark.parametrize("together", [0.0, 0.6, 1.0], ids=["independent", "related", "the same"])
@pytest.mark.parametrize("promise", [0.01, 0.1])
def test_combined_fprs_hold_whatever_the_detectors_have_in_common(families, together, promise):
    draw, people = np.random.default_rng(7), 20_000
    shared = draw.normal(size=people)
    fprs = [
        _uniform(np.sqrt(together) * shared + np.sqrt(1 - together) * draw.normal(size=people)) for _ in range(families)
    ]

    reached = (combine_parts(people_of(np.transpose(fprs)), families)["fpr"] <= promise).mean()

    assert reached <= promise + 4 * np.sqrt(promise / people)  # wrong by chance once in 30,000


@pytest.mark.parametrize("families", [2, 3, 4, 5, 7])
@pytest.mark.parametrize("promise", [0.01, 0.05])
def test_combined_fprs_hold_under_the_dependence_that_is_worst_for_them_and_waste_nothing_there(families, promise):
    """The dependence that is worst for the rule: low rates come in as few families at once as the rule needs.

    A share `promise` of people has that many families just below the limit, another choice of families for each, and
    nobody else has one there; every family's rate is uniform all the same.
    """
    draw, people = np.random.default_rng(11), 20_000
    needed = 1 if families == 2 else 2
    limit = promise * needed / families
    accused = draw.random(people) < promise
    chosen = np.argsort(draw.random((people, families)), axis=1) < needed
    low = accused[:, None] & chosen
    fprs = np.where(low, draw.random((people, families)) * limit, limit + (1 - limit) * draw.random((people, families)))

    told = combine_parts(people_of(fprs), families)["fpr"]

    assert np.all(np.abs((fprs <= 0.5).mean(axis=0) - 0.5) < 4 * 0.5 / np.sqrt(people))
    assert abs((told <= promise).mean() - promise) <= 4 * np.sqrt(promise / people)  # wrong by chance once in 15,000


def _uniform(normal):
    """Ranks as FPRs: the more bot-like, the lower."""
    return (np.argsort(np.argsort(-normal)) + 1) / normal.size


def test_the_point_to_act_needs_two_families_and_the_point_to_watch_the_combined_fpr():
    rows = [
        *(score("both", "day", 0.99, fpr=0.0002), *chunks("both", 0.99, fpr=0.0002)),
        score("one", "day", 0.99, fpr=0.0002),
        *(score("torn", "day", 0.99, fpr=0.0002), *chunks("torn", 0.2, fpr=0.7)),
        *(score("weak", "day", 0.8, fpr=0.04), *chunks("weak", 0.2, fpr=0.7)),
        *(score("calm", "day", 0.1, fpr=0.8), *chunks("calm", 0.1, fpr=0.7)),
        score("short", "day", None),
    ]
    parts, points = rolled(*rows), OperatingPoints()

    verdicts = points.verdicts(combine_parts(parts), parts, periods_of(table(*rows), DAYS))

    reached = dict(zip(verdicts["actor"], points.reached(verdicts), strict=True))
    assert reached == {
        "both": "act",
        "calm": "neither",
        "one": "watch",
        "short": None,
        "torn": "watch",
        "weak": "neither",
    }
    assert verdicts["agree"].to_list() == [2, 0, 1, 0, 1, 1]
    check(verdicts, VERDICTS, "test")


@pytest.mark.parametrize(("probability", "point"), [(0.04, "neither"), (0.06, "act")])
def test_evidence_that_points_to_a_person_gives_no_point_however_low_its_fpr(probability, point):
    rows = [score("x", "day", probability, fpr=0.0002), *chunks("x", probability, fpr=0.0002)]
    parts, points = rolled(*rows), OperatingPoints(bots=0.05)
    verdicts = points.verdicts(combine_parts(parts), parts, periods_of(table(*rows), DAYS))

    known = verdicts.with_columns(probability=pl.lit(probability))

    assert points.reached(known).to_list() == [point]


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

    verdicts = points.verdicts(combine_parts(parts, 4), parts, parts, others)
    trusting = points.verdicts(combine_parts(parts, 4), parts, parts)

    assert points.reached(verdicts).to_list() == ["watch", "act"]
    assert verdicts["agree"].to_list() == [0, 4]
    assert points.reached(trusting).to_list() == ["act", "act"]


def test_nothing_reaches_the_point_to_act_where_the_budget_allows_nothing():
    parts = rolled(score("a", "day", 0.999, fpr=1e-9), *chunks("a", 0.999, fpr=1e-9))
    points = OperatingPoints(act=0.0)

    verdicts = points.verdicts(combine_parts(parts), parts, parts)

    assert points.reached(verdicts).to_list() == ["watch"]


def test_a_streak_grows_while_periods_say_bot_and_an_unjudged_one_does_not_end_it():
    answers = [0.9, 0.9, None, 0.9, 0.1, 0.9]
    rows = [
        score("a", "day", p, fpr=0.01 if p == 0.9 else 0.9, since=START + timedelta(days=at))
        for at, p in enumerate(answers)
    ]
    parts = rolled(*rows)

    verdicts = OperatingPoints().verdicts(combine_parts(parts), parts, periods_of(table(*rows), DAYS))

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
