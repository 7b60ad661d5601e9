"""Whether scores can be trusted: each doubt on a small made-up period, where it begins, and what chance is given."""

from dataclasses import replace

import polars as pl
import pytest

from gamewarden.drift.causes import LogSummary
from gamewarden.drift.doubts import Look, TrustRules, doubts, faults

KINDS = {"combat.kill": 1000, "loot.pickup": 500, "chat": 300}
PEOPLE = [f"person{at:03}" for at in range(200)]


def seen(kinds, actors=200):
    return LogSummary(actors, kinds, dict.fromkeys(kinds, round(0.9 * actors)))


def scores(flagged, actors=PEOPLE, unjudged=0):
    """The first so many have an FPR of 1 %, the others of 50 %, the last ones none."""
    fprs = [0.01 if at < flagged else 0.5 for at in range(len(actors) - unjudged)] + [None] * unjudged
    columns = {"fpr": fprs, "probability": [None if fpr is None else 1 - fpr for fpr in fprs]}
    return pl.DataFrame({"actor": actors, **columns}, schema_overrides={"fpr": pl.Float64, "probability": pl.Float64})


USUAL = seen(KINDS)
QUIET = Look(
    now=USUAL,
    before=[USUAL] * 3,
    scores=scores(10),
    known=frozenset(KINDS),
    learned=[USUAL] * 4,
    humans=frozenset(PEOPLE),
)


def names(look, **rules):
    return [doubt.name for doubt in doubts(look, TrustRules(**rules))]


def test_a_usual_period_raises_no_doubt_and_an_empty_one_says_nothing():
    assert names(QUIET) == []
    assert names(replace(QUIET, now=LogSummary(0, {}), scores=scores(0, []))) == []


@pytest.mark.parametrize(("new", "doubted"), [(90, False), (100, True)], ids=["4.8 %", "5.3 %"])
def test_more_than_a_twentieth_of_events_in_unknown_kinds_is_a_doubt(new, doubted):
    look = replace(QUIET, now=seen({**KINDS, "skill.new": new}))

    assert names(look) == ["vocabulary"] * doubted
    assert names(look, unknown=1.0) == []


def test_a_model_without_a_vocabulary_knows_every_kind():
    assert names(replace(QUIET, known=frozenset(), now=seen({**KINDS, "skill.new": 900}))) == []


def test_kinds_the_model_learned_from_that_never_show_are_a_doubt_and_no_fault_before_any_period():
    look = replace(QUIET, before=(), now=seen({kind: KINDS[kind] for kind in ("combat.kill", "loot.pickup")}))
    (doubt,) = doubts(look, TrustRules())

    assert (doubt.name, doubt.fault) == ("gone", False)
    assert doubt.says == "Never shown: chat, 16.7% of the events the model learned from."


def test_a_kind_of_few_actors_may_vanish_without_a_doubt():
    few = LogSummary(200, {**KINDS, "gm.command": 900}, {**dict.fromkeys(KINDS, 180), "gm.command": 4})

    assert names(replace(QUIET, before=(), learned=[few] * 4)) == []


@pytest.mark.parametrize(("actors", "doubted"), [(90, False), (180, True)], ids=["few show it", "most show it"])
def test_a_rare_event_that_most_actors_show_is_missed_too(actors, doubted):
    login = LogSummary(200, {**KINDS, "login": 20}, {**dict.fromkeys(KINDS, 180), "login": actors})

    assert names(replace(QUIET, before=(), learned=[login] * 4)) == ["gone"] * doubted


def test_where_the_training_is_not_at_hand_what_the_model_kept_decides_or_most_of_its_vocabulary():
    spoken = frozenset(KINDS) | {f"kind{at}" for at in range(40)}
    look = replace(QUIET, before=(), learned=(), known=spoken)

    assert names(look) == ["gone"]
    assert names(replace(look, shares={"kind1": 0.04, "chat": 0.96})) == []
    assert names(replace(look, shares={"kind1": 0.06, "chat": 0.94})) == ["gone"]
    assert names(replace(look, known=frozenset(KINDS) | {"kind1", "kind2"})) == []
    assert names(replace(look, now=seen(KINDS, actors=50))) == []  # too few actors to show every kind


def test_a_silent_sensor_and_a_log_with_far_fewer_events_are_faults():
    gone = seen({kind: KINDS[kind] for kind in ("combat.kill", "loot.pickup")})
    thin = seen({kind: count // 5 for kind, count in KINDS.items()})

    assert [(doubt.name, doubt.fault) for doubt in faults(gone, [USUAL] * 3, TrustRules())] == [("sensor", True)]
    assert [(doubt.name, doubt.fault) for doubt in faults(thin, [USUAL] * 3, TrustRules())] == [("collapse", True)]
    assert faults(thin, [], TrustRules()) == []
    assert faults(thin, [LogSummary(0, {})], TrustRules()) == []


@pytest.mark.parametrize(("flagged", "doubted"), [(32, False), (33, True)], ids=["16 %", "16.5 %"])
def test_known_people_with_a_small_fpr_beyond_twice_its_promise_and_chance_are_a_doubt(flagged, doubted):
    look = replace(QUIET, scores=scores(flagged))

    assert names(look) == ["fprs"] * doubted  # 10 % + 3 · √(0.1 · 0.9 / 200) = 16.4 %
    assert names(look, times=20.0) == []


def test_few_known_people_say_nothing():
    look = replace(QUIET, scores=scores(9), humans=frozenset(PEOPLE[:9]))

    assert names(look) == []
    assert names(replace(look, scores=scores(10), humans=frozenset(PEOPLE[:10]))) == ["fprs"]


@pytest.mark.parametrize(("flagged", "bots", "doubted"), [(80, 0.0, False), (95, 0.0, True), (95, 0.5, False)])
def test_where_nobody_is_known_more_small_fprs_than_the_thinkable_bots_explain_are_a_doubt(flagged, bots, doubted):
    assert names(replace(QUIET, scores=scores(flagged), humans=frozenset(), bots=bots)) == ["fprs"] * doubted


def test_an_actor_with_many_rows_is_one_witness():
    many = pl.concat([scores(0), *[scores(1, ["busy"])] * 500])

    assert names(replace(QUIET, scores=many, humans=frozenset({*PEOPLE, "busy"}))) == []


def test_hardly_anybody_judged_is_a_doubt():
    assert names(replace(QUIET, scores=scores(0, unjudged=180))) == []
    assert names(replace(QUIET, scores=scores(0, unjudged=181))) == ["unjudged"]
