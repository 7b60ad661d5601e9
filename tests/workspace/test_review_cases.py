"""Review cases of a workspace: the most suspicious accounts of a day, whatever their rate, as many as are asked for."""

from datetime import timedelta

import pytest

from desks_made_up import NOON, judge, make_desk
from gamewarden.cases import Decision, Suspicion
from gamewarden.desk.acts import act
from gamewarden.desk.review import queue, vote
from gamewarden.workspace.responding import Responding

DAYS = timedelta(days=1)


def bots(first, last):
    """Accounts that reach no point: the higher the number the more suspicious, none below a rate of 10 %."""
    return {f"bot{number}": 0.5 + number / 25 for number in range(first, last + 1)}


def cases(desk):
    return {one.actor for one in desk.workspace.ledger.find(Decision, step="review", undone_at=None)}


def decide(desk, **later):
    return Responding(desk.workspace, NOON + timedelta(**later)).decide()


@pytest.fixture
def desk(tmp_path):
    return make_desk(tmp_path / "ws", more="[response]\ncases_per_day = 3\n")


def test_without_anybody_who_reaches_a_rate_the_most_suspicious_become_cases(desk):
    judge(desk, 2, bots(1, 9) | {"ann": 0.05, "bea": None})

    decide(desk)

    assert cases(desk) == {"bot9", "bot8", "bot7"}
    assert {one.step for one in desk.workspace.ledger.find(Decision)} == {"review"}
    assert {one.actor for one in desk.workspace.ledger.find(Suspicion)} == {"bot9", "bot8", "bot7"}


def test_they_are_ranked_by_all_recent_days_and_not_by_one(desk):
    judge(desk, 3, {"ann": 0.8, "bea": 0.7, "cid": 0.7, "dan": 0.7})
    judge(desk, 2, {"ann": 0.0001, "bea": 0.7, "cid": 0.7, "dan": 0.7})

    decide(desk)

    assert cases(desk) == {"bea", "cid", "dan"}


def test_a_day_has_so_many_places_however_often_it_is_decided(desk):
    judge(desk, 2, bots(1, 9))
    decide(desk)

    assert str(decide(desk)) == "nothing new"
    assert len(cases(desk)) == 3


def test_the_next_day_brings_the_next_cases_and_open_ones_stay(desk):
    judge(desk, 3, bots(1, 9))
    decide(desk)
    judge(desk, 2, {"bot9": 0.1, "bot8": 0.1, "bot7": 0.1} | bots(1, 6))
    decide(desk)

    assert cases(desk) == {f"bot{number}" for number in range(4, 10)}


def test_nobody_below_the_prior_becomes_a_case(desk):
    judge(desk, 2, {"ann": 0.04, "bea": 0.02, "bot": 0.9})

    decide(desk)

    assert cases(desk) == {"bot"}


def test_who_was_reviewed_or_is_labelled_needs_no_case(tmp_path):
    labels = 'labels = "labels.csv"'
    desk = make_desk(tmp_path / "ws", more="[response]\ncases_per_day = 3\n")
    path = tmp_path / "ws" / "warden.toml"
    path.write_text(path.read_text().replace('labels = ""', labels))
    (tmp_path / "ws" / "labels.csv").write_text("actor,since,until,bot,source,votes,at\nbot9,,,true,gm,,\n")
    desk = type(desk)(type(desk.workspace).at(tmp_path / "ws"))
    judge(desk, 2, bots(1, 9))
    vote(desk, "bot8", "human", rater="Ada")

    decide(desk)

    assert cases(desk) == {"bot7", "bot6", "bot5"}


def test_a_vote_closes_the_case_and_the_place_is_not_given_twice_on_a_day(desk):
    judge(desk, 2, bots(1, 9))
    decide(desk)
    vote(desk, "bot9", "bot", rater="Ada")

    decide(desk)

    (ended,) = desk.workspace.ledger.find(Decision, actor="bot9")
    assert ended.undone_because == "a person has looked at the account since"
    assert cases(desk) == {"bot8", "bot7"}


def test_a_labels_file_that_cannot_be_read_keeps_no_step_from_ending(tmp_path):
    desk = make_desk(tmp_path / "ws")
    path = tmp_path / "ws" / "warden.toml"
    path.write_text(path.read_text().replace('labels = ""', 'labels = "gone.csv"'))
    desk = type(desk)(type(desk.workspace).at(tmp_path / "ws"))
    judge(desk, 2, bots(8, 9))

    assert decide(desk).settled.decisions == 2


def test_a_case_without_a_point_waits_in_the_queue_of_the_desk(desk):
    judge(desk, 2, bots(1, 9))
    before = queue(desk, "Ada").waiting
    decide(desk)

    found = queue(desk, "Ada")

    assert (before, found.waiting) == (0, 3)
    assert {"bot9", "bot8", "bot7"} <= {one.actor for one in found.entries}


def test_a_freeze_holds_again_after_a_person_decided_or_voted_and_not_before(tmp_path):
    desk = make_desk(tmp_path / "ws", armed=True)
    for ago in range(20, 0, -1):
        judge(desk, ago, {"bot": (0.9999, "act")})

    def frozen(at):
        Responding(desk.workspace, at).decide()
        found = desk.workspace.ledger.find(Decision, actor="bot", step="freeze", by="ladder", order=("at",))
        return [(one.at - NOON, one.until - NOON) for one in found]

    assert frozen(NOON) == [(0 * DAYS, 7 * DAYS)]
    for ahead in (1, 3, 5, 7):
        judge(desk, 1 - ahead, {"bot": (0.9999, "act")})
    assert len(frozen(NOON + 8 * DAYS)) == 1
    vote(desk.later(days=8), "bot", "bot", rater="Ada")
    assert frozen(NOON + 8 * DAYS)[1:] == [(8 * DAYS, 15 * DAYS)]
    act(desk.later(days=16), ["bot"], "watch", by="Ada", because="still a bot")
    judge(desk, -15, {"bot": (0.9999, "act")})
    assert frozen(NOON + 17 * DAYS)[2:] == [(17 * DAYS, 24 * DAYS)]


def test_rungs_are_counted_again_when_the_ladder_is_another(tmp_path):
    desk = make_desk(tmp_path / "ws")
    judge(desk, 2, {"bot": (0.9999, "act")})
    decide(desk)
    before = desk.workspace.ledger.find(Suspicion)[0]
    path = tmp_path / "ws" / "warden.toml"
    path.write_text(path.read_text() + '[[response.ladder]]\nname = "watched"\nenter = -1.0\nsteps = ["watch"]\n')
    desk = type(desk)(type(desk.workspace).at(tmp_path / "ws"))

    decide(desk)

    after = desk.workspace.ledger.find(Suspicion)[0]
    assert (before.rung, after.rung) == (5, 1)
    assert after.score == before.score
