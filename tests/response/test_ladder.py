"""The ladder: what is decided, what is lifted, and what is not done although suspicion asks for it."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cases_made_up import DAY, DEFAULT, after, case, challenge, climbed, moment, on_call, steps, verdict
from gamewarden.cases import LADDER, Protected, Suspicion
from gamewarden.config import Config, config_from
from gamewarden.errors import ConfigError, ResponseError
from gamewarden.policy import (
    BAN,
    FREEZE,
    INTERNAL,
    ISOLATE,
    LIMIT,
    REACTIONS,
    SANCTIONS,
    STEPS,
    SUSPEND,
    Response,
    Rung,
)
from gamewarden.response.evidence import SUPERSEDED
from gamewarden.response.ladder import Case, Ladder, climb, ended, switched_on
from gamewarden.response.persons import approve, decide_by_person

WEEK = [verdict(day) for day in range(1, 8)]  # a bot by all rules, day after day: review


def ladder(**response):
    return Ladder.of(config_from({"response": response}, "test"))


def test_who_has_shown_nothing_is_left_alone():
    found = climbed(now=1)

    assert (found.suspicion.rung, found.decisions, found.lifted, found.not_taken) == (0, (), (), ())


def test_the_steps_of_all_rungs_below_stand_too():
    found = climbed(*WEEK, now=7)

    assert found.suspicion.rung == 5
    assert steps(found) == ["watch", "limit", "challenge", "freeze", "isolate"]
    assert [one.rung for one in found.decisions] == [2, 3, 4, 5, 5]


def test_one_verdict_that_says_bot_leads_to_a_test_and_not_to_a_freeze():
    assert steps(climbed(verdict(1), now=1)) == ["watch", "limit", "challenge"]


def test_a_decision_says_why_on_what_until_when_and_by_whom():
    found = climbed(verdict(1), now=1).decisions[2]

    assert found.because == (
        "suspicion 3.01 of 2.5 needed for tested (rung 4)",
        (
            "verdict of 2026-03-01: false-positive rate 0.0005 of at most 0.02; "
            "3 families of features say bot, 1 needed; 100% of the period covered"
        ),
        "1 observation counts, that of 2026-03-02",
    )
    assert (found.evidence, found.ladder, found.by) == (("verdict of day 1",), DEFAULT.digest, LADDER)
    assert (found.at, found.until) == (moment(1), moment(8))


@pytest.mark.parametrize(
    ("lack", "says"),
    [
        ({"fpr": 0.03}, "its false-positive rate 0.03 is above 0.02"),
        ({"fpr": None}, "its false-positive rate was not measured"),
        ({"agree": 0}, "0 families of evidence say bot and 1 must"),
        ({"covered": 0.5}, "the source covers 50% of its period and 90% are needed"),
        ({"far": "logistic"}, "what it judged lies far beyond what logistic learned from"),
    ],
)
def test_evidence_that_lacks_something_carries_watching_and_no_more(lack, says):
    found = climbed(verdict(1, **lack), now=1)

    assert steps(found) == ["watch"]
    assert [one.step for one in found.not_taken] == ["limit", "challenge"]
    assert {one.because for one in found.not_taken} == {f"of the best verdict, that of 2026-03-01: {says}"}
    assert found.not_taken[0].ladder == DEFAULT.digest


def judged_again(days, earlier=None, **values):
    """The verdict of a past day that replaces an earlier one, which is kept but no longer counts."""
    old = [] if earlier is None else [replace(earlier, id=f"earlier {earlier.id}", excluded=SUPERSEDED)]
    return [*old, verdict(days, **values)]


def spans(*days):
    return [(moment(day - 1), moment(day)) for day in days]


def test_a_past_day_that_was_judged_again_leads_to_no_step_that_a_player_feels():
    person = verdict(1, llr=-2.0, fpr=0.5, agree=0)
    known = judged_again(1, person)

    found = climbed(*known, now=3, judged_again=spans(1))

    assert found.suspicion == climbed(*known, now=3).suspicion
    assert (steps(found), found.suspicion.rung) == (["watch"], 4)
    assert {one.step: one.because for one in found.not_taken} == dict.fromkeys(
        ["limit", "challenge"], "only past days that were judged again lead to it"
    )


def test_nor_where_the_day_had_no_verdict_before():
    assert steps(climbed(verdict(1), now=3, judged_again=spans(1))) == ["watch"]


def test_nor_together_with_a_later_day_that_says_too_little_by_itself():
    weak = verdict(2, llr=0.1, fpr=0.9)
    again = judged_again(1, verdict(1, llr=-2.0, fpr=0.5, agree=0))

    assert steps(climbed(*judged_again(1), weak, now=3)) == ["watch", "limit", "challenge"]
    assert steps(climbed(*again, weak, now=3, judged_again=spans(1))) == ["watch"]


def test_nor_by_raising_suspicion_to_a_rung_that_a_verdict_of_another_day_carries():
    strong_but_unlikely = verdict(2, llr=2.0)
    again = judged_again(1, verdict(1, llr=0.0), llr=6.9)

    assert "challenge" in steps(climbed(*again, strong_but_unlikely, now=3))
    assert steps(climbed(*again, strong_but_unlikely, now=3, judged_again=spans(1))) == ["watch"]


def test_a_day_judged_for_the_first_time_leads_to_a_step_beside_days_that_were_judged_again():
    again = judged_again(1, verdict(1, llr=-2.0, fpr=0.5, agree=0))

    assert "limit" in steps(climbed(*again, *WEEK[1:], now=7, judged_again=spans(1)))


def test_a_day_that_carried_a_step_carries_it_when_it_was_judged_again_with_the_same_result():
    known = judged_again(1, verdict(1))

    assert steps(climbed(*known, now=3, judged_again=spans(1))) == steps(climbed(verdict(1), now=3))


def test_a_step_stands_while_the_new_verdict_of_its_day_carries_it_and_is_lifted_where_it_does_not():
    first = climbed(verdict(1), now=1)
    earlier = replace(verdict(1), excluded=SUPERSEDED)
    as_strong, weak = verdict(1, id="again"), verdict(1, id="again", llr=-2.0, fpr=0.5, agree=0)

    same = climbed(earlier, as_strong, now=2, standing=first.decisions, judged_again=spans(1))
    gone = climbed(earlier, weak, now=2, standing=first.decisions, judged_again=spans(1))

    assert (same.lifted, same.decisions) == ((), ())
    assert {one.step for one, _ in gone.lifted} == {"watch", "limit", "challenge"}


def test_a_source_whose_coverage_nobody_knows_is_taken_as_before():
    assert LIMIT in steps(climbed(verdict(1, covered=None), now=1))


def test_evidence_is_not_put_together_from_verdicts_that_each_lack_something():
    parts = [verdict(1, fpr=0.03), verdict(2, agree=0), verdict(3, covered=0.1)]

    assert steps(climbed(*parts, *[replace(one, id=f"{one.id} again") for one in parts], now=3)) == ["watch"]


def test_no_rung_is_taken_over_one_that_the_evidence_does_not_carry():
    strict, stricter = Rung("a", -1.0, steps=("limit",), fpr=1e-6), Rung("b", 1.0, steps=("freeze",), agree=9)
    crooked = replace(DEFAULT, rungs=(strict, Rung("easy", 0.0, steps=("challenge",), fpr=1.0), stricter))

    found = climbed(verdict(1), now=1, ladder=crooked)

    assert steps(found) == []
    assert {one.because for one in found.not_taken} == {
        "of the best verdict, that of 2026-03-01: its false-positive rate 0.0005 is above 1e-06"
    }
    assert len(found.not_taken) == 3


@pytest.mark.parametrize("lack", [{"fpr": 0.011}, {"agree": 1}])
def test_evidence_that_carries_a_test_and_no_freeze(lack):
    found = climbed(*[verdict(day, **lack) for day in range(1, 8)], now=7)

    assert found.suspicion.rung == 5
    assert steps(found) == ["watch", "limit", "challenge"]
    assert [one.step for one in found.not_taken] == ["freeze", "isolate"]


def test_a_failed_challenge_counts_as_one_family_more():
    assert FREEZE in steps(climbed(verdict(1, agree=1), challenge(1.2, 3.0), now=2))


def test_a_failed_challenge_is_never_a_family_alone():
    assert steps(climbed(verdict(1, agree=0), challenge(1.2, 3.0), now=2)) == ["watch"]


def test_a_rung_that_names_no_number_of_families_needs_two_whatever_the_settings_say():
    asks_one = Ladder.of(config_from({"verdict": {"agree": 1}}, "test"))

    assert steps(climbed(verdict(1, agree=1), now=2, ladder=asks_one)) == ["watch"]


@pytest.mark.parametrize(("step", "fewest"), [("limit", 1), ("challenge", 1), ("freeze", 2), ("isolate", 2)])
def test_a_rung_with_fewer_families_than_its_step_needs_is_refused(step, fewest):
    rung = {"name": "touching", "enter": 1.0, "steps": ["watch", step], "fpr": 1.0, "agree": fewest - 1}

    with pytest.raises(ConfigError, match=f"agree = {fewest - 1}; {step} needs {fewest} or more families"):
        config_from({"response": {"ladder": [rung]}}, "test")
    assert config_from({"response": {"ladder": [{**rung, "agree": fewest}]}}, "test").ladder[0].agree == fewest


def test_an_explicit_ladder_means_what_it_did():
    old = {"name": "review", "enter": -1.0, "steps": ["limit", "freeze", "isolate", "review"]}
    before = Ladder.of(config_from({"response": {"ladder": [old]}}, "test"))

    assert [(needs.fpr, needs.agree) for needs in before.needs] == [(0.001, 2)]
    assert steps(climbed(verdict(1, fpr=0.002), now=1, ladder=before)) == []
    assert steps(climbed(verdict(1, agree=1), now=1, ladder=before)) == []
    assert steps(climbed(verdict(1), now=1, ladder=before)) == ["limit", "freeze", "isolate", "review"]


def test_act_and_agree_that_somebody_wrote_down_hold_for_the_default_ladder():
    act, agree = (config_from({"verdict": one}, "test") for one in ({"act": 0.005}, {"agree": 3}))

    assert [(one.fpr, one.agree) for one in Ladder.of(act).needs if one] == [(0.005, 1), (0.005, 1), (0.005, 2)]
    assert [(one.fpr, one.agree) for one in Ladder.of(agree).needs if one] == [(0.02, 3), (0.02, 3), (0.01, 3)]


# Review by rank.


def test_review_comes_first_and_needs_no_rate_only_a_place():
    weak = verdict(1, 0.7, fpr=None, agree=0, covered=0.1, far="logistic")

    assert steps(climbed(weak, now=1)) == []
    assert climbed(weak, now=1).not_taken == ()
    found = climbed(weak, now=1, among_first=True)
    assert steps(found) == ["review"]
    assert found.decisions[0].because[1] == "among the first 20 accounts of the day that nobody has reviewed"


def test_an_open_case_stays_whoever_is_more_suspicious_today():
    standing = climbed(verdict(1, 0.7), now=1, among_first=True).decisions

    assert climbed(verdict(1, 0.7), verdict(2, 0.1), now=2, standing=standing).lifted == ()


def test_a_case_ends_once_a_person_has_looked():
    standing = climbed(verdict(1, 0.7), now=1, among_first=True).decisions

    found = climbed(verdict(1, 0.7), now=2, standing=standing, looked_at=moment(1.5))

    assert [(one.step, why) for one, why in found.lifted] == [("review", "a person has looked at the account since")]
    assert found.decisions == ()


def test_a_case_that_expired_is_not_opened_again_on_the_same_evidence():
    standing = climbed(verdict(1, 0.7), now=1, among_first=True).decisions
    ended_ = after(standing, climbed(verdict(1, 0.7), now=16, standing=standing), moment(16))

    assert steps(climbed(verdict(1, 0.7), now=17, standing=ended_, among_first=True)) == []
    assert steps(climbed(verdict(1, 0.7), verdict(16, 0.7), now=17, standing=ended_, among_first=True)) == ["review"]


def test_a_case_of_a_rehearsal_stays_open_in_earnest():
    standing = climbed(verdict(1, 0.7), now=1, among_first=True).decisions

    found = climbed(verdict(1, 0.7), now=2, standing=standing, rehearsal=False)

    assert [(one.step, one.rehearsal) for one in found.decisions] == [("review", False)]


# A freeze without a person's look.


def lived(days, *, looked_at=None, ladder=DEFAULT, standing=()):
    """Decisions after a ladder was asked every day, each with a bot's verdict."""
    standing = list(standing)
    for day in days:
        seen = [verdict(one) for one in range(1, day + 1)]
        found = climbed(*seen, now=day, standing=standing, looked_at=looked_at, ladder=ladder)
        standing = after(standing, found, moment(day))
    return standing


def frozen_for(decisions, step=FREEZE):
    held = ((one.undone_at or one.until) - one.at for one in decisions if one.step == step)
    return sum(held, timedelta(0))


@pytest.mark.parametrize("step", [FREEZE, ISOLATE])
@pytest.mark.parametrize("lasts", ["2d", "7d", "30d"])
def test_a_freeze_holds_for_seven_days_in_all_until_a_person_has_looked(step, lasts):
    rungs = tuple(replace(rung, lasts=lasts) for rung in DEFAULT.rungs)
    found = lived(range(1, 30), ladder=replace(DEFAULT, rungs=rungs))

    assert frozen_for(found, step) == timedelta(days=7)
    assert frozen_for(found, LIMIT) > timedelta(days=25)


def test_what_is_not_frozen_any_longer_says_that_a_person_has_to_look():
    standing = lived(range(1, 15))

    found = climbed(*[verdict(day) for day in range(1, 16)], now=15, standing=standing)

    assert {one.because for one in found.not_taken} == {
        f"{step} held for 7 days without a person's look; a person has to look at the account first"
        for step in (FREEZE, ISOLATE)
    }


def test_a_freeze_may_follow_again_after_a_person_has_looked():
    before = lived(range(1, 15))

    found = lived(range(15, 30), standing=before, looked_at=moment(14.5))

    assert frozen_for(found) == timedelta(days=14)


def test_a_freeze_that_was_only_rehearsed_takes_no_time_from_one_in_earnest():
    rehearsed = lived(range(1, 15))

    found = climbed(*[verdict(day) for day in range(1, 16)], now=15, standing=rehearsed, rehearsal=False)

    assert {one.until for one in found.decisions if one.step == FREEZE} == {moment(22)}


def test_challenges_alone_lead_to_watching_however_many_are_failed():
    found = climbed(*[challenge(1 + number / 10, 3.0) for number in range(9)], now=2)

    assert found.suspicion.rung == 5
    assert steps(found) == ["watch"]
    assert found.not_taken[0].because == "no verdict of the last 30d says bot"


def test_a_passed_challenge_is_no_family():
    assert FREEZE not in steps(climbed(*[verdict(day, agree=1) for day in range(1, 8)], challenge(7.2, -0.1), now=8))


def test_evidence_that_is_too_old_carries_nothing():
    found = climbed(*WEEK, now=40)

    assert steps(found) == ["watch"]
    assert found.not_taken[0].because == "no verdict of the last 30d says bot"


def test_what_is_excluded_carries_nothing():
    assert steps(climbed(replace(verdict(1), excluded="appeal"), verdict(2, agree=0), now=2)) == ["watch"]


def test_a_protected_account_is_watched_and_no_more():
    shield = Protected("mira", moment(30), "Ann", "a streamer", moment(0))

    found = climbed(*WEEK, now=7, protected=shield)

    assert steps(found) == ["watch"]
    assert [one.step for one in found.not_taken] == ["limit", "challenge", "freeze", "isolate"]
    assert found.not_taken[0].because == "the account is protected until 2026-03-31 by Ann: a streamer"


def test_a_protection_that_is_over_protects_nobody():
    shield = Protected("mira", moment(7), "Ann", "a streamer", moment(0))

    assert FREEZE in steps(climbed(*WEEK, now=7, protected=shield))


def test_who_is_protected_later_is_freed_of_all_but_watching():
    standing = climbed(*WEEK, now=7).decisions
    shield = Protected("mira", moment(30), "Ann", "a streamer", moment(7.5))

    found = climbed(*WEEK, now=8, standing=standing, protected=shield)

    assert [one.step for one, _ in found.lifted] == ["limit", "challenge", "freeze", "isolate"]


def test_what_stands_is_not_decided_again():
    standing = climbed(*WEEK, now=7).decisions

    found = climbed(*WEEK, verdict(8), now=8, standing=standing)

    assert (found.decisions, found.lifted) == ((), ())


def test_falling_lifts_the_steps_above_and_leaves_those_below():
    standing = climbed(*WEEK, now=7).decisions
    passes = [challenge(7.1, -2.0), challenge(7.2, -2.0)]

    found = climbed(*WEEK, *passes, now=7.3, standing=standing)

    assert found.suspicion.rung == 4
    assert [one.step for one, _ in found.lifted] == ["freeze", "isolate"]
    assert found.lifted[0][1].endswith("is below 3.5, where frozen is left")


def test_a_step_that_expires_is_decided_again_on_newer_evidence():
    standing = climbed(verdict(1), now=1).decisions

    found = climbed(verdict(1), verdict(5), verdict(6), now=8, standing=standing)

    assert ("limit", "expired, decided again on newer evidence") in [(one.step, why) for one, why in found.lifted]
    assert [one.step for one in found.decisions if one.step != "watch"] == ["limit", "challenge"]
    assert {one.until for one in found.decisions} == {moment(15)}


def test_a_step_that_expires_is_lifted_where_nothing_newer_carries_it():
    standing = climbed(verdict(1), now=1).decisions

    found = climbed(verdict(1), verdict(6, agree=0), now=8, standing=standing)

    assert ("limit", "expired, no newer evidence carries it") in [(one.step, why) for one, why in found.lifted]
    assert found.decisions == ()
    assert found.not_taken[0].because == (
        "of the best verdict, that of 2026-03-06: 0 families of evidence say bot and 1 must"
    )


def test_what_expired_is_not_decided_again_later_on_the_same_evidence():
    standing = climbed(verdict(1), now=1).decisions
    ended_ = after(standing, climbed(verdict(1), now=8, standing=standing), moment(8))

    found = climbed(verdict(1), now=9, standing=ended_)

    assert found.decisions == ()
    assert found.not_taken[0].because == (
        "no verdict after 2026-03-02 says bot, and what came before was decided on already"
    )


def test_what_a_person_took_back_is_not_decided_again_on_what_was_known_then():
    standing = [ended(one, moment(3.5), "Ann", "I know her") for one in climbed(verdict(1), now=1).decisions]
    days = [verdict(day) for day in (1, 2, 3)]

    assert steps(climbed(*days, now=4, standing=standing)) == ["freeze", "isolate"]
    assert "limit" in steps(climbed(*days, verdict(4), now=4, standing=standing))


def test_what_rests_on_evidence_that_was_excluded_is_lifted():
    standing = climbed(verdict(1), now=1).decisions
    people = [challenge(2 + number / 10, 3.0) for number in range(3)]

    found = climbed(replace(verdict(1), excluded="appeal a1 was upheld"), *people, now=3, standing=standing)

    assert found.suspicion.rung == 5
    assert [one.step for one, _ in found.lifted] == ["limit", "challenge"]
    assert found.lifted[0][1] == "1 of the 1 observations it rested on no longer count (appeal a1 was upheld)"


def test_a_step_that_other_evidence_carries_outlives_what_was_excluded():
    standing = climbed(verdict(1), verdict(2), now=2).decisions

    found = climbed(replace(verdict(1), excluded="appeal"), verdict(2), now=3, standing=standing)

    assert [one.step for one, _ in found.lifted] == []


def test_a_step_that_the_ladder_no_longer_has_is_lifted():
    standing = climbed(verdict(1), now=1).decisions
    gentle = Ladder.of(replace(Config(), ladder=(Rung("watched", -1.0, steps=("watch",)),)))

    found = climbed(verdict(1), now=2, standing=standing, ladder=gentle)

    assert [(one.step, why) for one, why in found.lifted] == [
        ("limit", "the ladder has no step limit any more"),
        ("challenge", "the ladder has no step challenge any more"),
    ]


def test_a_persons_sanction_is_not_touched():
    banned = decide_by_person(
        DEFAULT, case(), SUSPEND, by="Ann", because="seen", at=moment(1), until=moment(30), rehearsal=False
    ).decision
    passes = [challenge(1 + number / 10, -2.0) for number in range(5)]

    assert climbed(*passes, now=5, standing=[banned], rehearsal=False).lifted == ()
    assert climbed(*WEEK, now=7, standing=[banned], rehearsal=True).lifted == ()


def test_a_persons_decision_ends_when_the_person_said():
    limited = decide_by_person(
        DEFAULT, case(), LIMIT, by="Ann", because="seen", at=moment(1), until=moment(3), rehearsal=False
    ).decision

    found = climbed(now=3, standing=[limited])

    assert [(one.id, why) for one, why in found.lifted] == [(limited.id, "it held until 2026-03-04, as Ann decided")]


def test_the_ladder_does_not_decide_what_a_person_already_did():
    limited = decide_by_person(DEFAULT, case(), LIMIT, by="Ann", because="seen", at=moment(0), rehearsal=True).decision

    assert LIMIT not in steps(climbed(*WEEK, now=7, standing=[limited]))


@pytest.mark.parametrize("rehearsal", [True, False])
def test_whether_it_is_a_rehearsal_stands_on_every_decision(rehearsal):
    assert {one.rehearsal for one in climbed(*WEEK, now=7, rehearsal=rehearsal).decisions} == {rehearsal}


def test_what_was_rehearsed_is_decided_in_earnest_once_that_is_allowed():
    rehearsed = climbed(*WEEK, now=7, rehearsal=True).decisions

    found = climbed(*WEEK, now=8, standing=rehearsed, rehearsal=False)

    assert len(found.lifted) == len(found.decisions) == 5
    assert {one.rehearsal for one in found.decisions} == {False}


def test_what_was_done_in_earnest_stands_while_others_are_rehearsed():
    earnest = climbed(*WEEK, now=7, rehearsal=False).decisions

    found = climbed(*WEEK, now=8, standing=earnest, rehearsal=True)

    assert (found.decisions, found.lifted) == ((), ())


def test_deciding_twice_is_deciding_once():
    assert climbed(*WEEK, now=7).decisions == climbed(*reversed(WEEK), now=7).decisions


def test_a_human_on_call_stays_one():
    known = on_call(Suspicion("mira", 0.0, 0, moment(0), moment(0)))

    assert climbed(verdict(1), now=1, suspicion=known).suspicion.on_call


def test_the_digest_names_all_that_decides_and_nothing_of_how_it_is_carried_out():
    same = [ladder(armed=True), ladder(canary=0.1), ladder(wave="2h"), ladder(actions_per_hour=3)]
    others = [
        ladder(prior=0.03),
        ladder(tau="20h"),
        ladder(discount=0.2),
        ladder(hysteresis=0.5),
        ladder(evidence_for="10d"),
        ladder(four_eyes=False),
        Ladder.of(config_from({"verdict": {"act": 0.002}}, "test")),
        Ladder.of(config_from({"verdict": {"agree": 3}}, "test")),
        Ladder.of(config_from({"coverage": {"least": 0.5}}, "test")),
        Ladder.of(config_from({"response": {"ladder": [{"name": "a", "enter": 1.0}]}}, "test")),
    ]

    assert {one.digest for one in same} == {ladder().digest}
    assert len({ladder().digest, *(one.digest for one in others)}) == 11


@pytest.mark.parametrize("step", SANCTIONS)
def test_no_ladder_names_a_sanction(step):
    with pytest.raises(ResponseError, match=f"'{step}'; only a person decides that"):
        replace(DEFAULT, rungs=(Rung("hard", 1.0, steps=(step,)),))


def test_detectors_of_the_rungs_below_stay_switched_on():
    rungs = (Rung("a", 0.0, detectors=("session", "chunks")), Rung("b", 1.0, detectors=("chunks", "days")))
    told = replace(DEFAULT, rungs=rungs)
    suspicions = [Suspicion(name, 0.0, rung, moment(0), moment(0)) for name, rung in (("x", 0), ("y", 1), ("z", 2))]

    assert [told.detectors_for(rung) for rung in (0, 1, 2)] == [
        (),
        ("session", "chunks"),
        ("session", "chunks", "days"),
    ]
    assert switched_on(told, suspicions) == {"session": {"y", "z"}, "chunks": {"y", "z"}, "days": {"z"}}


# What persons decide.


def decided(step=BAN, *observations, **values):
    given = {"by": "Ann", "because": "seen by two of us", "at": moment(9), "rehearsal": False} | values
    return decide_by_person(given.pop("ladder", DEFAULT), case(*observations), step, **given)


@pytest.mark.parametrize("step", STEPS)
def test_a_person_may_decide_any_step(step):
    found = decided(step, *WEEK, until=moment(20))

    assert (found.decision.step, found.decision.by, found.decision.waits_for) == (step, "Ann", None)
    assert found.decision.because[0] == "seen by two of us"
    assert found.warnings == ()


def test_a_permanent_ban_waits_until_somebody_else_approves():
    waiting = decided(BAN, *WEEK).decision

    with pytest.raises(ResponseError, match="four eyes are two people"):
        approve(Response(), waiting, " ann", moment(10))
    with pytest.raises(ResponseError, match="is nobody"):
        approve(Response(), waiting, LADDER, moment(10))
    allowed = approve(Response(), waiting, "Bob", moment(10))

    assert waiting.waits_for == "approval"
    assert (allowed.waits_for, allowed.approved_by, allowed.id) == (None, "Bob", waiting.id)
    with pytest.raises(ResponseError, match="nothing to approve"):
        approve(Response(), allowed, "Cid", moment(11))


@pytest.mark.parametrize(
    ("days", "long_ban", "waits"),
    [(30, "30d", None), (31, "30d", "approval"), (3650, "30d", "approval"), (8, "7d", "approval"), (31, "8w", None)],
)
def test_a_ban_for_longer_than_the_settings_say_waits_for_a_second_person(days, long_ban, waits):
    strict = ladder(long_ban=long_ban)
    found = decided(BAN, *WEEK, until=moment(9 + days), ladder=strict).decision

    assert found.waits_for == waits
    assert decided(BAN, until=moment(9 + days), ladder=ladder(four_eyes=False)).decision.waits_for is None


def test_a_ban_whose_time_is_over_is_not_approved():
    waiting = decided(BAN, *WEEK, until=moment(49)).decision

    with pytest.raises(ResponseError, match="its time was over on 2026-04-19; decide anew"):
        approve(Response(), waiting, "Bob", moment(49))
    assert approve(Response(), waiting, "Bob", moment(48)).approved_by == "Bob"


def test_what_was_taken_back_or_is_yet_to_be_decided_is_not_approved():
    waiting = decided(BAN, *WEEK).decision

    with pytest.raises(ResponseError, match="was taken back on 2026-03-11; decide anew"):
        approve(Response(), ended(waiting, moment(10), "Cid", "wrong one"), "Bob", moment(11))
    with pytest.raises(ResponseError, match="before it was decided"):
        approve(Response(), waiting, "Bob", moment(8))


def test_two_eyes_are_enough_where_the_policy_says_so():
    assert decided(BAN, *WEEK, ladder=ladder(four_eyes=False)).decision.waits_for is None


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"by": " "}, "is nobody; say which person decides"),
        ({"by": "Ladder"}, "is nobody; say which person decides"),
        ({"because": " "}, "no reason is given"),
        ({"until": moment(9)}, "is over already"),
    ],
)
def test_a_decision_that_nobody_could_answer_for_is_refused(values, says):
    with pytest.raises(ResponseError, match=says):
        decided(BAN, **values)


def test_an_unknown_step_is_refused():
    with pytest.raises(ResponseError, match="'smite' is no step; known are watch,"):
        decided("smite")


def test_a_person_is_told_what_speaks_against_a_decision():
    shield = Protected("mira", moment(30), "Bob", "a streamer", moment(0))
    given = {"by": "Ann", "because": "seen", "at": moment(9), "rehearsal": False}

    found = decide_by_person(DEFAULT, case(verdict(1, agree=0), protected=shield), BAN, **given)

    assert found.warnings == (
        "the account is protected until 2026-03-31 by Bob: a streamer",
        (
            "the evidence does not carry ban: of the best verdict, that of 2026-03-01: "
            "0 families of evidence say bot and 1 must"
        ),
    )
    assert decided(BAN).warnings == ("the evidence does not carry ban: no verdict of the last 30d says bot",)
    assert decided("watch").warnings == ()


# Whatever happens.


class Life(RuleBasedStateMachine):
    """One account, for as long as it is played: evidence, tests, people and time in any order."""

    @initialize(armed=st.booleans(), hysteresis=st.floats(0, 2))
    def begin(self, armed, hysteresis):
        self.ladder = ladder(hysteresis=hysteresis)
        self.rehearsal, self.now, self.number = not armed, moment(0), 0
        self.seen, self.decisions, self.by_persons, self.shield, self.suspicion = [], [], {}, None, None

    def _add(self, one):
        self.number += 1
        self.seen.append(replace(one, id=f"{self.number}", at=self.now))

    @rule(hours=st.integers(1, 24 * 10))
    def time_passes(self, hours):
        self.now += timedelta(hours=hours)

    @rule(
        llr=st.floats(-2, 7),
        fpr=st.sampled_from([0.0001, 0.01, 0.015, 1.0]),
        agree=st.integers(0, 3),
        covered=st.sampled_from([None, 0.5, 1.0]),
        far=st.sampled_from([None, "logistic"]),
    )
    def a_day_is_judged(self, **said):
        self.time_passes(24)
        self._add(verdict(0, **said))

    @rule()
    def a_bots_day_is_judged(self):
        self.time_passes(24)
        self._add(verdict(0))

    @rule(llr=st.sampled_from([3.0, 2.0, 0.0, -2.0]))
    def a_challenge_ends(self, llr):
        self._add(challenge(0, llr))

    @precondition(lambda self: self.seen)
    @rule(data=st.data())
    def evidence_is_excluded(self, data):
        place = data.draw(st.integers(0, len(self.seen) - 1))
        self.seen[place] = replace(self.seen[place], excluded="appeal")

    @rule(step=st.sampled_from(STEPS), days=st.sampled_from([None, 1, 30]))
    def a_person_decides(self, step, days):
        until = None if days is None else self.now + days * DAY
        made = decide_by_person(
            self.ladder,
            self._case(),
            step,
            by="Ann",
            because="seen",
            at=self.now,
            until=until,
            rehearsal=self.rehearsal,
        ).decision
        if made.id not in self.by_persons:
            self.by_persons[made.id] = made
            self.decisions.append(made)

    @precondition(lambda self: any(one.undone_at is None for one in self.decisions))
    @rule(data=st.data())
    def a_person_takes_back(self, data):
        one = data.draw(st.sampled_from([one for one in self.decisions if one.undone_at is None]))
        self.decisions[self.decisions.index(one)] = ended(one, self.now, "Bob", "no")

    @rule(days=st.integers(0, 20))
    def it_is_protected(self, days):
        self.shield = Protected("mira", self.now + days * DAY, "Ann", "known", self.now)

    @rule()
    def it_is_armed_or_disarmed(self):
        self.rehearsal = not self.rehearsal

    def _case(self):
        return Case("mira", tuple(self.seen), self.suspicion, tuple(self.decisions), self.shield)

    @rule(among_first=st.booleans())
    def the_ladder_is_asked(self, among_first):
        self.now += timedelta(seconds=1)  # no two things happen at one moment
        before, known = replace(self._case(), among_first=among_first), {one.id for one in self.decisions}
        found = climb(self.ladder, before, self.now, rehearsal=self.rehearsal)
        self._check(before, found, known, among_first=among_first)
        self.decisions = after(self.decisions, found, self.now)
        self.suspicion = found.suspicion
        again = climb(self.ladder, self._case(), self.now, rehearsal=self.rehearsal)

        assert (again.decisions, again.lifted, again.suspicion) == ((), (), found.suspicion)

    def _check(self, before, found, known, *, among_first):
        shielded = self.shield is not None and self.shield.until > self.now
        for one in found.decisions:
            assert one.step in (*INTERNAL, *REACTIONS)
            assert one.by == LADDER
            assert one.until is not None
            assert one.until > self.now
            assert one.rehearsal == self.rehearsal
            assert one.id not in known
            assert one.step == "watch" or not shielded
            assert one.step in INTERNAL or self._carried(one.step)
            assert one.step != "review" or among_first or not self.rehearsal
            assert one.rung <= found.suspicion.rung
        for one, why in found.lifted:
            assert why
            assert one in before.standing
            assert one.by == LADDER or (one.until is not None and one.until <= self.now)
        assert not {one.step for one in found.decisions} & {one.step for one in found.not_taken}

    def _carried(self, step):
        fpr, families = (0.01, 2) if step in {FREEZE, ISOLATE} else (0.02, 1)
        failed = any(one.kind == "challenge" and one.llr > 0 and not one.excluded for one in self.seen)
        return any(
            one.kind == "verdict"
            and not one.excluded
            and one.llr > 0
            and one.fpr <= fpr
            and one.agree >= 1
            and one.agree + failed >= families
            and one.covered in {None, 1.0}
            and one.far is None
            and one.at >= self.now - 30 * DAY
            for one in self.seen
        )

    @invariant()
    def nobody_is_sanctioned_without_a_person(self):
        for one in getattr(self, "decisions", ()):
            if one.step in SANCTIONS or one.until is None:
                assert one.by == "Ann"
            if one.step == BAN and one.until is None:
                assert one.waits_for == "approval"


Life.TestCase.settings = settings(stateful_step_count=30)
TestLife = Life.TestCase
