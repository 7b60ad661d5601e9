"""Why scores moved: each cause on a small made-up period, and the order they are told in."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from gamewarden.drift.causes import Evidence, LogSummary, causes, silent_kinds
from gamewarden.drift.effects import cliffs_delta, moved_features, stability_index

KINDS = {"combat.kill": 1000, "loot.pickup": 500, "chat": 300}
EVERYBODY = dict.fromkeys(KINDS, 90)
USUAL = LogSummary(100, KINDS, EVERYBODY)
ACTORS = [f"u{at:03}" for at in range(100)]


def table(**columns):
    return pl.DataFrame({"actor": ACTORS, "events": np.arange(100) + 50, **columns})


def scores(values):
    return pl.DataFrame({"actor": ACTORS, "probability": values})


SCORES = scores(np.linspace(0, 1, 100))
QUIET = Evidence(
    now=USUAL,
    before=[USUAL] * 4,
    vocabulary=frozenset(KINDS),
    features_before=table(kills=np.arange(100)),
    features_now=table(kills=np.arange(100)),
    scores_before=SCORES,
    scores_now=SCORES,
    suspect=0.5,
)


def first(evidence):
    return causes(evidence)[0]


def seen(kinds, actors=100):
    return LogSummary(actors, kinds, dict.fromkeys(kinds, round(0.9 * actors)))


def test_new_kinds_after_a_patch_are_vocabulary_growth():
    cause = first(replace(QUIET, now=seen({**KINDS, "skill.new": 200})))

    assert cause.name == "vocabulary"
    assert cause.numbers == {"new kinds": 1, "share of events": pytest.approx(0.1)}
    assert cause.says == "1 kinds are new to the model and make up 10.0% of events (skill.new)."


def test_a_kind_that_vanishes_is_a_silent_sensor_and_outweighs_what_follows_from_it():
    gone = {kind: count for kind, count in KINDS.items() if kind != "loot.pickup"}
    moved = table(kills=np.arange(100) + 500)

    cause = first(replace(QUIET, now=seen(gone), features_now=moved))
    assert cause.name == "sensor"
    assert cause.says == "loot.pickup went silent, usually 27.8% of events: a sensor may be broken."


def test_kinds_that_new_ones_replace_are_a_patch_and_no_silent_sensor_in_the_weeks_after_either():
    patched = seen({"combat.kill": 1000, "loot-ii": 450, "chat": 300})

    assert silent_kinds(patched, [USUAL] * 4) == []
    assert silent_kinds(patched, [USUAL, USUAL, patched, patched]) == []
    assert first(replace(QUIET, now=patched)).name == "vocabulary"


def test_a_sensor_that_stays_silent_is_expected_for_four_periods_and_then_no_more():
    broken = seen({"combat.kill": 1000, "chat": 300})

    assert silent_kinds(broken, [USUAL] * 4) == ["loot.pickup"]
    assert silent_kinds(broken, [USUAL] * 4 + [broken] * 3) == ["loot.pickup"]
    assert silent_kinds(broken, [USUAL] * 4 + [broken] * 4) == []


def test_a_kind_that_few_ever_show_may_stay_away():
    rare = LogSummary(100, {**KINDS, "feat.rare": 400}, {**EVERYBODY, "feat.rare": 3})

    assert silent_kinds(USUAL, [rare] * 4) == []


def test_many_more_players_are_a_season_unless_a_week_ago_was_so_too():
    busy = seen({kind: 2 * count for kind, count in KINDS.items()}, actors=200)

    assert first(replace(QUIET, now=busy)).says.endswith("a holiday or season.")
    assert first(replace(QUIET, now=busy, same_weekday=busy)).says.endswith("a weekday's habit.")


def test_suspects_who_vanish_together_are_a_ban_wave():
    stayed = SCORES.filter((pl.col("probability") < 0.5) | (pl.int_range(100) % 2 == 0))

    cause = first(replace(QUIET, scores_now=stayed))
    assert cause.name == "ban wave"
    assert cause.says == "25 of 50 suspects are gone (50%), 0% of others: a ban wave."


def test_players_who_leave_whatever_they_score_are_no_ban_wave():
    stayed = SCORES.filter(pl.int_range(100) % 2 == 0)

    named = {cause.name: cause for cause in causes(replace(QUIET, scores_now=stayed))}
    assert not named["ban wave"].found


def test_scores_that_fall_with_nothing_else_mean_that_bots_may_have_adapted():
    fallen = scores(np.where(np.arange(100) >= 80, 0.1, np.linspace(0, 1, 100)))

    cause = first(replace(QUIET, scores_now=fallen))
    assert cause.name == "adaptation"
    assert cause.says.startswith("Nothing in the log explains it: bots may have adapted. 20 of 50 suspects (40%)")


def test_features_that_moved_are_named_with_their_effect_and_leave_adaptation_first():
    found = causes(replace(QUIET, features_now=table(kills=np.arange(100) + 40)))

    assert [cause.name for cause in found[:2]] == ["adaptation", "features"]
    assert found[1].says == "Moved: kills 49.5 → 89.5 (δ +0.64)."


def test_causes_come_strongest_first_and_each_has_a_sentence():
    found = causes(replace(QUIET, now=seen({**KINDS, "skill.new": 40}), features_now=table(kills=np.arange(100) + 90)))

    strengths = [cause.strength for cause in found[:-1]]
    assert strengths == sorted(strengths, reverse=True)
    assert all(cause.says.endswith(".") for cause in found)


def test_cliffs_delta_counts_pairs_and_ties_count_nothing():
    assert cliffs_delta(np.array([1.0, 2.0]), np.array([2.0, 3.0])) == pytest.approx((3 - 0) / 4)
    assert cliffs_delta(np.array([1.0, 1.0]), np.array([1.0])) == 0


def test_an_effect_does_not_grow_with_the_number_of_players():
    dice = np.random.default_rng(1)
    few, many = (cliffs_delta(dice.normal(0, 1, n), dice.normal(0.2, 1, n)) for n in (500, 50_000))

    assert few == pytest.approx(many, abs=0.05)


def test_the_stability_index_is_0_for_the_same_and_large_for_another_population():
    values = np.arange(1000.0)

    assert stability_index(values, values) == pytest.approx(0, abs=1e-9)
    assert stability_index(values, values + 500) > 1


def test_a_feature_that_was_not_measured_in_both_times_is_left_out():
    then, now = table(kills=np.arange(100), gone=[None] * 100), table(kills=np.arange(100), gone=np.arange(100))

    assert [one.feature for one in moved_features(then, now)] == ["kills"]
