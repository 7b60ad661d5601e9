"""The list of accounts to look at."""

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.detectors.logistic.recipe import AccountDay
from gamewarden.errors import ConfigError
from gamewarden.verdicts.filters import Filter, apply_filters, parse_filter
from gamewarden.verdicts.ranking import add_reasons, common_reasons, rank
from made_up import DAY, START, GivenNumbers, account_days, actor_names, labels_of

PROFILES = pl.DataFrame(
    {
        "actor": ["a", "b", "c"],
        "customer_grade": ["GOLD", "SILVER", None],
        "payment": [100.0, 900.0, 5000.0],
        "first_login": [START, START + DAY, None],
        "level": [12, None, 7],
        "vip": [True, False, None],
        "ip_accounts": [1, 4, 9],
    }
)


def scores_of(**probabilities):
    rows = [
        (actor, START + day * DAY, START + (day + 1) * DAY, "account-day", "account-day@1", value, fpr, 10)
        for actor, values in probabilities.items()
        for day, (value, fpr) in enumerate(values)
    ]
    names = ("actor", "since", "until", "detector", "model", "probability", "fpr", "events")
    return pl.DataFrame(
        rows, schema=names, orient="row", schema_overrides={"probability": pl.Float64, "fpr": pl.Float64}
    )


SCORES = scores_of(
    a=[(0.9, 0.1), (0.5, 0.3)], b=[(0.999, 0.02), (0.995, 0.04), (None, None)], c=[(None, None)], d=[(0.2, 0.6)]
)
FEATURES = SCORES.select("actor", "since", "until", "events").with_columns(
    self_sim=pl.Series([0.99, 0.98, 0.999, 0.998, None, None, 0.97]),
    main_char_level=pl.Series([None, None, 50, None, 51, None, 3]),
    total_use_time_min=pl.Series([100.0, 200.0, 1440.0, 1438.0, 5.0, 2.0, 60.0]),
    zone=pl.Series(["Dion", "Giran", "Dion", "Dion", "Giran", None, None]),
)


def actors(*filters):
    return rank(SCORES, FEATURES, PROFILES, filters=[parse_filter(text) for text in filters])["actor"].to_list()


def test_the_most_suspect_actor_comes_first_and_who_was_not_judged_last():
    assert actors() == ["b", "a", "d", "c"]


def test_an_actor_has_the_probability_of_its_mean_log_odds_and_the_median_of_the_rest():
    a, b = rank(SCORES, FEATURES).filter(pl.col("actor").is_in(["a", "b"])).sort("actor").iter_rows(named=True)

    assert a["probability"] == pytest.approx(0.75)  # odds 9 and 1: their geometric mean is 3
    assert a["fpr"] == pytest.approx(0.2)
    assert a["self_sim"] == pytest.approx(0.985)
    assert a["play_minutes"] == 300
    assert (b["periods"], b["periods_flagged"]) == (2, 2)
    assert b["level"] == 51
    assert b["zone"] == "Dion"


def test_a_certain_probability_stays_finite():
    listed = rank(scores_of(a=[(1.0, 0.1), (0.0, 0.9)]), FEATURES)

    assert listed["probability"].item() == pytest.approx(0.5, abs=1e-4)


def test_too_little_play_is_no_probability():
    listed = rank(SCORES, FEATURES).filter(actor="c").row(0, named=True)

    assert listed["probability"] is None
    assert listed["fpr"] is None
    assert (listed["periods"], listed["periods_flagged"]) == (0, 0)


def test_the_threshold_counts_flagged_periods():
    assert rank(SCORES, FEATURES, threshold=0.9).filter(actor="a")["periods_flagged"].item() == 1


def test_the_profile_fills_a_level_the_log_does_not_show():
    listed = rank(SCORES, FEATURES, PROFILES)

    assert dict(listed.select("actor", "level").iter_rows()) == {"b": 51, "a": 12, "d": 3, "c": 7}


def test_the_profile_fills_a_zone_the_log_does_not_show():
    listed = rank(SCORES, FEATURES, pl.DataFrame({"actor": ["a", "d"], "zone": ["Aden", "Oren"]}))

    assert dict(listed.select("actor", "zone").iter_rows()) == {"b": "Dion", "a": "Dion", "d": "Oren", "c": None}


def test_scores_of_two_detectors_need_a_choice():
    both = pl.concat([SCORES, SCORES.with_columns(detector=pl.lit("self-similarity"))])

    with pytest.raises(ConfigError, match="scores of account-day, self-similarity; choose one"):
        rank(both, FEATURES)
    with pytest.raises(ConfigError, match="no scores of 'x', only of account-day"):
        rank(SCORES, FEATURES, detector="x")
    assert rank(both, FEATURES, detector="account-day").equals(rank(SCORES, FEATURES))


@pytest.mark.parametrize(
    ("filters", "kept"),
    [
        (["probability>=0.5"], ["b", "a"]),
        (["probability<0.5"], ["d"]),
        (["self_sim > 0.98"], ["b", "a"]),
        (["level>=7", "level<50.5"], ["a", "c"]),
        (["zone=Dion"], ["b", "a"]),
        (["play_minutes<=300"], ["a", "d", "c"]),
        (["customer_grade=GOLD"], ["a"]),
        (["customer_grade!=GOLD"], ["b", "d", "c"]),
        (["customer_grade in GOLD,SILVER"], ["b", "a"]),
        (["customer_grade in (GOLD, FAMILY)"], ["a"]),
        (["payment<1000"], ["b", "a"]),
        (["payment==900"], ["b"]),
        (["ip_accounts in 4,9"], ["b", "c"]),
        (["vip=true"], ["a"]),
        (["vip=no"], ["b"]),
        (["first_login>=2026-03-02"], ["b"]),
        (["first_login<2026-03-02T00:00:00Z"], ["a"]),
        (["periods_flagged>0"], ["b", "a"]),
        (["actor=d"], ["d"]),
    ],
)
def test_filters_keep_what_they_say(filters, kept):
    assert actors(*filters) == kept


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("payment", "is not a column, an operator"),
        ("payment<", "is not a column, an operator"),
        ("<5", "is not a column, an operator"),
        ("zone in ,", "is not a column, an operator"),
        ("", "is not a column, an operator"),
        ("colour=red", "there is no column 'colour'; there are actor, probability"),
        ("payment<cheap", "'cheap' is not a number, which payment holds"),
        ("customer_grade<GOLD", "customer_grade has no order; use =, != or in"),
        ("vip=maybe", "'maybe' is not true or false"),
        ("first_login>yesterday", "'yesterday' is not an ISO 8601 time"),
    ],
)
def test_a_filter_that_cannot_be_followed_is_refused(text, words):
    with pytest.raises(ConfigError) as caught:
        actors(text)

    assert words in str(caught.value)


def test_a_value_may_hold_signs_and_spaces():
    assert parse_filter("name=a=b c") == Filter("name", "=", ("a=b c",))
    assert parse_filter("zone in North Gate, South Gate") == Filter("zone", "in", ("North Gate", "South Gate"))


@given(st.lists(st.one_of(st.none(), st.integers(0, 5)), max_size=20), st.integers(0, 5))
def test_equal_and_unequal_share_out_every_row(values, wanted):
    table = pl.DataFrame({"x": values}, schema={"x": pl.Int64})

    equal, unequal = (apply_filters(table, (parse_filter(f"x{sign}{wanted}"),)) for sign in ("=", "!="))

    assert equal["x"].to_list() == [value for value in values if value == wanted]
    assert unequal["x"].to_list() == [value for value in values if value != wanted]


@given(st.lists(st.floats(0.001, 0.999), min_size=1, max_size=8))
def test_the_order_of_periods_does_not_matter_and_the_belief_stays_inside_them(values):
    forward, backward = (
        rank(scores_of(a=[(value, 0.5) for value in order]), FEATURES)["probability"].item()
        for order in (values, values[::-1])
    )

    assert math.isclose(forward, backward, rel_tol=1e-9)
    assert min(values) - 1e-9 <= forward <= max(values) + 1e-9


def evidence_of(**weights):
    """EVIDENCE of one period an actor: how much each feature weighs, with a sentence of its own for each."""
    key = {"since": START, "until": START + DAY, "detector": "account-day"}
    return pl.DataFrame(
        [
            {**key, "actor": actor, "feature": feature, "says": f"{feature.capitalize()} is high: 1.", "weight": weight}
            for actor, own in weights.items()
            for feature, weight in own.items()
        ]
    )


def listed(*actors):
    return rank(scores_of(**{actor: [(0.99, 0.01)] for actor in actors}), FEATURES)


def reasons_of(evidence):
    told = add_reasons(listed(*evidence["actor"].unique().sort()), evidence)
    return dict(told.select("actor", "reasons").iter_rows())


def test_reasons_of_one_account_are_its_heaviest_leads_that_speak_for_a_bot():
    table = account_days()
    model = AccountDay(GivenNumbers()).fit(table, labels_of())
    ranking = rank(model.score(table), table).head(1)

    reasons = add_reasons(ranking, model.explain(table))["reasons"].item()

    first = ranking["actor"][0]
    evidence = model.explain(table).filter(actor=first).sort("weight", descending=True)
    means = evidence.group_by("feature").agg(pl.col("weight").mean()).sort("weight", descending=True)
    heaviest = means.filter(pl.col("weight") >= 0.1 * means["weight"][0])
    said = dict(evidence.unique("feature", maintain_order=True).select("feature", "says").iter_rows())
    assert reasons == "; ".join(said[name].split(":")[0] for name in heaviest.head(3)["feature"])


ALIKE = evidence_of(
    a={"pace": 3.0, "rhythm": 2.0, "trade": 1.0, "level": 0.5},
    b={"pace": 3.0, "rhythm": 2.0, "trade": 0.9, "level": 1.5},
    c={"pace": 3.0, "rhythm": 2.0, "trade": -0.5, "level": -0.5},
    d={"pace": 3.0, "rhythm": -1.0, "trade": -0.5, "level": -0.5},
)


def test_what_sets_an_account_apart_comes_before_what_the_list_has_in_common():
    reasons = reasons_of(ALIKE)

    assert reasons["a"] == "Trade is high; Level is high; Pace is high; Rhythm is high"
    assert reasons["b"].startswith("Level is high; Trade is high; ")
    assert reasons["d"] == "Pace is high"


def test_what_three_in_four_of_a_list_have_is_common_and_said_with_their_number():
    common = common_reasons(listed("a", "b", "c", "d"), ALIKE)

    assert common.rows() == [("Pace is high", 4), ("Rhythm is high", 3)]


@pytest.mark.parametrize("actor", ["a", "b", "c", "d"])
def test_an_account_listed_alone_has_nothing_in_common_and_its_heaviest_reasons_first(actor):
    alone = ALIKE.filter(actor=actor)

    assert common_reasons(listed(actor), alone).height == 0
    assert reasons_of(alone)[actor].startswith("Pace is high")


def test_a_reason_that_hardly_counts_beside_an_accounts_heaviest_is_none():
    reasons = reasons_of(evidence_of(a={"pace": 3.0, "trade": 0.01}, b={"rhythm": 3.0}))

    assert reasons == {"a": "Pace is high", "b": "Rhythm is high"}


@given(
    st.dictionaries(
        st.sampled_from("abcdef"),
        st.dictionaries(st.sampled_from(["pace", "rhythm", "trade", "level"]), st.floats(-3, 3), min_size=1),
        min_size=1,
    )
)
def test_every_account_with_something_against_it_has_a_reason_and_every_reason_weighs(weights):
    reasons = reasons_of(evidence_of(**weights))

    for actor, own in weights.items():
        said = {f"{name.capitalize()} is high" for name, weight in own.items() if weight > 0}
        told = reasons[actor].split("; ") if reasons[actor] else []
        assert set(told) <= said
        assert bool(told) == bool(said)
        assert len(told) == len(set(told))


def test_what_speaks_for_a_human_is_no_reason():
    key = {"actor": "a", "since": START, "until": START + DAY, "detector": "account-day"}
    weights = {
        "x": ("Plays much: 9.", 0.5),
        "y": ("Chats a lot: 8.", -3.0),
        "z": ("Kills many: 7.", 1.5),
        "q": ("Quiet.", 0.0),
    }
    evidence = pl.DataFrame([{**key, "feature": f, "says": says, "weight": w} for f, (says, w) in weights.items()])

    assert add_reasons(rank(SCORES, FEATURES), evidence).filter(actor="a")["reasons"].item() == "Kills many; Plays much"


def test_a_usual_number_is_no_reason_even_where_there_is_no_other():
    key = {"actor": "a", "since": START, "until": START + DAY, "detector": "account-day"}
    evidence = pl.DataFrame(
        [{**key, "feature": "x", "says": "Receives in a usual number of trades: 4.", "weight": 2.0}]
    )

    assert add_reasons(rank(SCORES, FEATURES), evidence).filter(actor="a")["reasons"].item() is None


def test_an_actor_without_evidence_has_no_reasons():
    nothing = AccountDay(GivenNumbers()).fit(account_days(), labels_of()).explain(account_days().head(0))

    assert add_reasons(rank(SCORES, FEATURES), nothing)["reasons"].null_count() == 4


def test_profiles_of_strangers_add_no_rows():
    assert actor_names(1, 0)[0] not in rank(SCORES, FEATURES, pl.DataFrame({"actor": ["bot000"]}))["actor"]
