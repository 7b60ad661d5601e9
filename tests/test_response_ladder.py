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
from gamewarden.policy import BAN, INTERNAL, LIMIT, REACTIONS, SANCTIONS, STEPS, SUSPEND, Rung
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

    assert found.suspicion.rung == 4
    assert steps(found) == ["watch", "limit", "challenge", "freeze", "isolate", "review"]
    assert [one.rung for one in found.decisions] == [1, 2, 3, 4, 4, 4]


def test_one_verdict_that_says_bot_leads_to_a_test_and_not_to_review():
    assert steps(climbed(verdict(1), now=1)) == ["watch", "limit", "challenge"]


def test_a_decision_says_why_on_what_until_when_and_by_whom():
    found = climbed(verdict(1), now=1).decisions[2]

    assert found.because == (
        "suspicion 3.01 of 2.5 needed for tested (rung 3)",
        (
            "verdict of 2026-03-01: false-positive rate 0.0005 of at most 0.001; "
            "3 families of features say bot, 2 needed; 100% of the period covered"
        ),
        "1 observation counts, that of 2026-03-02",
    )
    assert (found.evidence, found.ladder, found.by) == (("verdict of day 1",), DEFAULT.digest, LADDER)
    assert (found.at, found.until) == (moment(1), moment(8))


@pytest.mark.parametrize(
    ("lack", "says"),
    [
        ({"fpr": 0.002}, "its false-positive rate 0.002 is above 0.001"),
        ({"fpr": None}, "its false-positive rate was not measured"),
        ({"agree": 1}, "1 family of evidence says bot and 2 must"),
        ({"agree": 0}, "0 families of evidence say bot and 2 must"),
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


def test_a_source_whose_coverage_nobody_knows_is_taken_as_before():
    assert LIMIT in steps(climbed(verdict(1, covered=None), now=1))


def test_evidence_is_not_put_together_from_verdicts_that_each_lack_something():
    parts = [verdict(1, fpr=0.01), verdict(2, agree=1), verdict(3, covered=0.1)]

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


def test_a_failed_challenge_counts_as_one_family_more():
    assert LIMIT in steps(climbed(verdict(1, agree=1), challenge(1.2, 3.0), now=2))


def test_a_failed_challenge_is_never_a_family_alone():
    assert steps(climbed(verdict(1, agree=0), challenge(1.2, 3.0), now=2)) == ["watch"]
    assert LIMIT in steps(climbed(verdict(1, agree=1), challenge(1.2, 3.0), now=2))


def test_no_settings_let_more_than_watching_rest_on_one_family():
    asks_one = Ladder.of(config_from({"verdict": {"agree": 1}}, "test"))
    touching = {"name": "suspect", "enter": 1.0, "steps": ["limit"], "agree": 1}

    assert steps(climbed(verdict(1, agree=1), now=2, ladder=asks_one)) == ["watch"]
    with pytest.raises(ConfigError, match="more than watching needs 2 families"):
        config_from({"response": {"ladder": [touching]}}, "test")


def test_challenges_alone_lead_to_watching_however_many_are_failed():
    found = climbed(*[challenge(1 + number / 10, 3.0) for number in range(9)], now=2)

    assert found.suspicion.rung == 4
    assert steps(found) == ["watch"]
    assert found.not_taken[0].because == "no verdict of the last 30d says bot"


def test_a_passed_challenge_is_no_family():
    assert steps(climbed(verdict(1, agree=1), challenge(1.2, -0.1), now=2)) == ["watch"]


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
    assert [one.step for one in found.not_taken] == ["limit", "challenge", "freeze", "isolate", "review"]
    assert found.not_taken[0].because == "the account is protected until 2026-03-31 by Ann: a streamer"


def test_a_protection_that_is_over_protects_nobody():
    shield = Protected("mira", moment(7), "Ann", "a streamer", moment(0))

    assert "review" in steps(climbed(*WEEK, now=7, protected=shield))


def test_who_is_protected_later_is_freed_of_all_but_watching():
    standing = climbed(*WEEK, now=7).decisions
    shield = Protected("mira", moment(30), "Ann", "a streamer", moment(7.5))

    found = climbed(*WEEK, now=8, standing=standing, protected=shield)

    assert [one.step for one, _ in found.lifted] == ["limit", "challenge", "freeze", "isolate", "review"]


def test_what_stands_is_not_decided_again():
    standing = climbed(*WEEK, now=7).decisions

    found = climbed(*WEEK, verdict(8), now=8, standing=standing)

    assert (found.decisions, found.lifted) == ((), ())


def test_falling_lifts_the_steps_above_and_leaves_those_below():
    standing = climbed(*WEEK, now=7).decisions
    passes = [challenge(7.1, -2.0), challenge(7.2, -2.0)]

    found = climbed(*WEEK, *passes, now=7.3, standing=standing)

    assert found.suspicion.rung == 3
    assert [one.step for one, _ in found.lifted] == ["freeze", "isolate", "review"]
    assert found.lifted[0][1].endswith("is below 3.5, where review is left")


def test_a_step_that_expires_is_decided_again_on_newer_evidence():
    standing = climbed(verdict(1), now=1).decisions

    found = climbed(verdict(1), verdict(5), verdict(6), now=8, standing=standing)

    assert ("limit", "expired, decided again on newer evidence") in [(one.step, why) for one, why in found.lifted]
    assert [one.step for one in found.decisions if one.step != "watch"] == ["limit", "challenge"]
    assert {one.until for one in found.decisions} == {moment(15)}


def test_a_step_that_expires_is_lifted_where_nothing_newer_carries_it():
    standing = climbed(verdict(1), now=1).decisions

    found = climbed(verdict(1), verdict(6, agree=1), now=8, standing=standing)

    assert ("limit", "expired, no newer evidence carries it") in [(one.step, why) for one, why in found.lifted]
    assert found.decisions == ()
    assert found.not_taken[0].because == (
        "of the best verdict, that of 2026-03-06: 1 family of evidence says bot and 2 must"
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

    assert steps(climbed(*days, now=4, standing=standing)) == ["freeze", "isolate", "review"]
    assert "limit" in steps(climbed(*days, verdict(4), now=4, standing=standing))


def test_what_rests_on_evidence_that_was_excluded_is_lifted():
    standing = climbed(verdict(1), now=1).decisions
    people = [challenge(2 + number / 10, 3.0) for number in range(3)]

    found = climbed(replace(verdict(1), excluded="appeal a1 was upheld"), *people, now=3, standing=standing)

    assert found.suspicion.rung == 4
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

    assert len(found.lifted) == len(found.decisions) == 6
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
        approve(waiting, " ann", moment(10))
    with pytest.raises(ResponseError, match="is nobody"):
        approve(waiting, LADDER, moment(10))
    allowed = approve(waiting, "Bob", moment(10))

    assert waiting.waits_for == "approval"
    assert (allowed.waits_for, allowed.approved_by, allowed.id) == (None, "Bob", waiting.id)
    with pytest.raises(ResponseError, match="nothing to approve"):
        approve(allowed, "Cid", moment(11))


def test_what_was_taken_back_or_is_yet_to_be_decided_is_not_approved():
    waiting = decided(BAN, *WEEK).decision

    with pytest.raises(ResponseError, match="was taken back on 2026-03-11; decide anew"):
        approve(ended(waiting, moment(10), "Cid", "wrong one"), "Bob", moment(11))
    with pytest.raises(ResponseError, match="before it was decided"):
        approve(waiting, "Bob", moment(8))


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

    found = decide_by_person(DEFAULT, case(verdict(1, agree=1), protected=shield), BAN, **given)

    assert found.warnings == (
        "the account is protected until 2026-03-31 by Bob: a streamer",
        (
            "the evidence does not carry ban: of the best verdict, that of 2026-03-01: "
            "1 family of evidence says bot and 2 must"
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
        fpr=st.sampled_from([0.0001, 0.001, 0.01, 1.0]),
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

    @rule()
    def the_ladder_is_asked(self):
        self.now += timedelta(seconds=1)  # no two things happen at one moment
        before, known = self._case(), {one.id for one in self.decisions}
        found = climb(self.ladder, before, self.now, rehearsal=self.rehearsal)
        self._check(before, found, known)
        self.decisions = after(self.decisions, found, self.now)
        self.suspicion = found.suspicion
        again = climb(self.ladder, self._case(), self.now, rehearsal=self.rehearsal)

        assert (again.decisions, again.lifted, again.suspicion) == ((), (), found.suspicion)

    def _check(self, before, found, known):
        shielded = self.shield is not None and self.shield.until > self.now
        for one in found.decisions:
            assert one.step in (*INTERNAL, *REACTIONS)
            assert one.by == LADDER
            assert one.until is not None
            assert one.until > self.now
            assert one.rehearsal == self.rehearsal
            assert one.id not in known
            assert one.step == "watch" or not shielded
            assert one.step == "watch" or self._carried()
            assert one.rung <= found.suspicion.rung
        for one, why in found.lifted:
            assert why
            assert one in before.standing
            assert one.by == LADDER or (one.until is not None and one.until <= self.now)
        assert not {one.step for one in found.decisions} & {one.step for one in found.not_taken}

    def _carried(self):
        failed = any(one.kind == "challenge" and one.llr > 0 and not one.excluded for one in self.seen)
        return any(
            one.kind == "verdict"
            and not one.excluded
            and one.llr > 0
            and one.fpr <= 0.001
            and one.agree >= 1
            and one.agree + failed >= 2
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


Life.TestCase.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)
TestLife = Life.TestCase
