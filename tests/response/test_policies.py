"""A ladder on the past: the same as day by day, by what is known of accounts, and beside another ladder."""

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases_made_up import DEFAULT, after, challenge, moment, verdict
from gamewarden.config import config_from
from gamewarden.response.grounds import reasons_in
from gamewarden.response.ladder import Case, Ladder, climb
from gamewarden.response.policies import KNOWN, difference, difference_by_step, replay

DAYS = [moment(day) for day in range(1, 15)]
BOT_DAYS = [verdict(day) for day in range(1, 8)]


def of(actor, *observations):
    return [replace(one, actor=actor, id=f"{actor}: {one.id}") for one in observations]


PAST = {
    "bot": of("bot", *BOT_DAYS),
    "person": of("person", verdict(1, -2.0), verdict(2, -2.0)),
    "odd": of("odd", verdict(3, 6.0, agree=1)),
    "strange": of("strange", verdict(3, 6.0, agree=1, far="logistic", covered=0.3)),
}
PEOPLE = pl.DataFrame(
    [
        ("bot", "bot", "grinder", "farm"),
        ("person", "human", "veteran", None),
        ("odd", None, None, None),
        ("strange", "human", "grinder", None),
    ],
    schema=KNOWN,
    orient="row",
)


def test_accounts_that_are_left_alone_are_only_counted():
    found = replay(DEFAULT, PAST, DAYS)

    assert sorted(found.accounts) == ["bot", "odd", "strange"]
    assert found.days == tuple(DAYS)


def test_nothing_is_known_before_it_was_over():
    first = {step: one.at for step, one in replay(DEFAULT, PAST, DAYS).accounts["bot"].first().items()}

    assert first == dict.fromkeys(("review", "watch", "limit", "challenge"), moment(1)) | dict.fromkeys(
        ("freeze", "isolate"), moment(3)
    )


def test_steps_end_and_are_taken_again_as_they_would_be():
    found = replay(DEFAULT, PAST, DAYS).accounts["bot"]
    limits = [one for one in found.decisions if one.step == "limit"]

    assert [(one.at, one.undone_at) for one in limits] == [(moment(1), moment(8)), (moment(8), None)]


def test_steps_by_account_are_counted_by_what_is_known_of_them():
    found = replay(DEFAULT, PAST, DAYS).by_step(PEOPLE)

    assert found.rows()[:3] == [
        ("review", "review", 3, 1, 1, 1, moment(1), 3),
        ("watch", "watched", 3, 1, 1, 1, moment(1), 3),
        ("limit", "suspect", 2, 1, 0, 1, moment(1), 3),
    ]
    assert found["step"].to_list() == ["review", "watch", "limit", "challenge", "freeze", "isolate"]


def test_a_step_that_nobody_met_has_a_row_of_nobody():
    found = replay(DEFAULT, {"odd": PAST["odd"]}, DAYS).by_step(PEOPLE)

    assert found.row(5) == ("isolate", "frozen", 0, 0, 0, 0, None, 0)


def test_people_are_counted_by_style_and_group():
    found = replay(DEFAULT, PAST, DAYS)

    assert found.by("style", PEOPLE).rows() == [
        ("grinder", 2, 2, 1, 2, 0.5, moment(1)),
        ("not known", 1, 1, 1, 1, 1.0, moment(3)),
        ("veteran", 1, 0, 0, 0, 0.0, None),
    ]
    assert found.by("group", PEOPLE).rows()[0] == ("farm", 1, 1, 1, 1, 1.0, moment(1))
    assert found.by("label", PEOPLE)["label"].to_list() == ["bot", "not known", "human"]


def test_why_steps_were_not_taken_is_counted():
    found = replay(DEFAULT, PAST, DAYS).refused()

    assert found.rows() == [
        ("freeze", "no person has looked", 1),
        ("isolate", "no person has looked", 1),
        ("limit", "a source beyond the models", 1),
        ("limit", "nothing newer than what was decided on", 1),
        ("limit", "part of a period only", 1),
    ]


def test_accounts_are_listed_with_their_reasons_the_most_suspicious_first():
    found = replay(DEFAULT, PAST, DAYS).listed(PEOPLE)

    assert found["actor"].to_list() == ["bot", "odd", "strange"]
    assert found.row(0, named=True)["steps"] == "limit, challenge, review, freeze, isolate"
    assert found.row(0, named=True)["because"].startswith("suspicion ")
    assert found.row(2, named=True)["because"] == (
        "not taken: of the best verdict, that of 2026-03-03: the source covers 30% of its period and 90% are needed; "
        "what it judged lies far beyond what logistic learned from"
    )


def test_a_day_of_the_past_has_as_many_review_cases_as_there_are_places():
    two = Ladder.of(config_from({"response": {"cases_per_day": 2}}, "test"))
    past = {name: of(name, verdict(1, llr), verdict(2, 0.1)) for name, llr in (("a", 1.0), ("b", 3.0), ("c", 2.0))}

    found = replay(two, past, DAYS)

    assert {name: one.first()["review"].at for name, one in found.accounts.items()} == {
        "a": moment(2),
        "b": moment(1),
        "c": moment(1),
    }


def test_a_review_case_touches_nobody():
    found = replay(DEFAULT, {"x": of("x", verdict(1, 1.0))}, DAYS)

    assert [one.step for one in found.accounts["x"].decisions] == ["review"]
    assert not found.accounts["x"].touched
    assert found.by("label", PEOPLE)["touched"].sum() == 0


def test_every_reason_is_counted_under_one_name():
    lacking = [{"fpr": 0.5}, {"fpr": None}, {"agree": 0}, {"covered": 0.1}, {"far": "logistic"}]
    told = [
        replay(DEFAULT, {"x": of("x", verdict(1, **lack))}, DAYS).accounts["x"].not_taken[0].because for lack in lacking
    ]

    assert [reasons_in(one) for one in told] == [
        ("too high a false-positive rate",),
        ("too high a false-positive rate",),
        ("too few families agree",),
        ("part of a period only",),
        ("a source beyond the models",),
    ]
    assert reasons_in("something that is yet to be thought of") == ("something that is yet to be thought of",)


def test_who_has_a_human_on_call_is_replayed_as_such():
    seen = of("x", verdict(1), *[challenge(1 + number / 10, -2.0) for number in range(1, 6)], verdict(2, 3.0))

    alone, called = (replay(DEFAULT, {"x": seen}, DAYS, on_call=who).accounts["x"] for who in ((), ("x",)))

    assert [one.decisions[0].step for one in (alone, called)] == ["watch", "watch"]
    assert [one.decisions[0].undone_at for one in (alone, called)] == [moment(2), None]


def test_an_account_is_looked_at_once_somebody_suspected_it():
    seen = of("x", verdict(1, -2.0), verdict(41), verdict(42), verdict(43))
    days = [moment(day) for day in range(1, 50)]

    early = replay(DEFAULT, {"x": seen}, days, met={"x": moment(41)}).accounts["x"]
    late = replay(DEFAULT, {"x": seen}, days, met={"x": moment(42)}).accounts["x"]

    assert early.decisions[0].at == moment(41)
    assert early.suspicion == replay(DEFAULT, {"x": seen[1:]}, days).accounts["x"].suspicion  # day 1 was too old
    assert late.decisions[0].at == moment(42)


def test_two_ladders_differ_by_account_and_step():
    strict = Ladder.of(config_from({"verdict": {"act": 0.0001}}, "test"))
    slow = Ladder.of(config_from({"response": {"prior": 0.002}}, "test"))
    now, then, later = (replay(one, PAST, DAYS) for one in (DEFAULT, strict, slow))

    assert difference(now, now).height == 0
    touched = difference(now, then).filter(~pl.col("step").is_in(["watch", "review"]))
    assert set(touched.select("actor", "differs").rows()) == {("bot", "only A"), ("odd", "only A")}
    told = difference(now, later).filter(pl.col("actor") == "bot")
    assert ("limit", "later in B", 24.0) in told.select("step", "differs", "hours").rows()
    by_step = difference_by_step(now, then)
    assert by_step.columns == ["step", "A", "B", "only A", "only B", "earlier in B", "later in B", "as early"]
    assert by_step.row(2) == ("limit", 2, 0, 2, 0, 0, 0, 0)


def test_a_ladder_without_rungs_touches_nobody():
    assert not replay(replace(DEFAULT, rungs=()), PAST, DAYS).accounts


@pytest.mark.parametrize("prior", [0.02, 0.25, 0.5])
@given(
    rows=st.lists(st.tuples(st.integers(1, 40), st.floats(-2, 7), st.integers(0, 3)), max_size=12),
)
def test_days_on_which_nothing_happens_need_not_be_replayed(prior, rows):
    ladder = Ladder.of(config_from({"response": {"prior": prior}}, "test"))
    seen = [verdict(day, llr, agree=agree, id=f"{number}") for number, (day, llr, agree) in enumerate(rows)]
    days = [moment(day) for day in range(1, 45)]
    standing = []
    for now in days:
        known = [one for one in seen if one.at <= now]
        for among_first in (False, True):  # alone it is the first of every day, once its suspicion is above the prior
            found = climb(ladder, Case("mira", known, None, standing, among_first=among_first), now, rehearsal=True)
            if not among_first or found.suspicion.score > ladder.scale.prior:
                standing = after(standing, found, now)

    account = replay(ladder, {"mira": seen}, days).accounts.get("mira")

    assert list(account.decisions if account else ()) == standing
