"""A sitting: one account after the other, one step back, and the same again after every break."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gamewarden.cases import Label
from gamewarden.desk_records import Review
from gamewarden.errors import ResponseError
from gamewarden.reviewing.session import Sitting
from gamewarden.store.ledger.ledger import Ledger
from gamewarden.verdicts.review_order import in_order
from gamewarden.workspace.labels import vote
from reviews_made_up import Clock, candidates


@pytest.fixture
def book(tmp_path):
    made = Ledger.at(tmp_path / "ledger.db")
    yield made
    made.close()


@pytest.fixture
def clock():
    return Clock()


def sat(book, clock, rater="Ada", **changed):
    return Sitting(book, changed.pop("candidates", candidates()), rater, clock, **changed)


def gone_through(sitting, most=1_000, says="human"):
    """Whom a sitting shows."""
    seen = []
    while len(seen) < most and (place := sitting.next()) is not None:
        seen.append(place.actor)
        sitting.answer(says)
    return seen


def test_everybody_comes_once_and_then_nobody(book, clock):
    sitting = sat(book, clock)

    assert sorted(gone_through(sitting)) == [one.actor for one in candidates()]
    assert sitting.next() is None
    with pytest.raises(ResponseError):
        sitting.answer("bot")


def test_an_account_stays_until_there_is_an_answer(book, clock):
    sitting = sat(book, clock)

    assert sitting.next() == sitting.next()
    with pytest.raises(ResponseError):
        sitting.answer("guilty")
    assert sitting.next().actor == sat(book, clock).next().actor


@pytest.mark.parametrize("stop", [0, 1, 7, 29])
def test_whoever_stops_goes_on_in_the_same_order(book, clock, tmp_path, stop):
    whole = gone_through(sat(Ledger.at(tmp_path / "other.db"), clock, chance=0.4))

    first = gone_through(sat(book, clock, chance=0.4), stop)
    rest = gone_through(sat(book, clock, chance=0.4))

    assert first + rest == whole


def test_an_answer_is_in_the_ledger_before_the_next_account_is_shown(book, clock):
    sitting = sat(book, clock)
    actor = sitting.next().actor

    sitting.answer("bot", "never sleeps")

    (review,) = Ledger.at(book.engine.url.database).find(Review)
    assert (review.actor, review.says, review.note, review.rater) == (actor, "bot", "never sleeps", "Ada")
    assert review.milliseconds >= 1_000


def test_a_step_back_takes_the_vote_back_and_shows_the_account_again(book, clock):
    sitting = sat(book, clock, chance=0.5)
    seen = gone_through(sitting, 5, "bot")
    waits = sitting.next()

    again = sitting.back()

    assert again.actor == seen[-1] == sitting.next().actor
    assert seen[-1] not in {one.actor for one in book.find(Label)}
    sitting.answer("human")
    assert sitting.next() == waits
    assert {one.actor: one.bot for one in book.find(Label)} == dict.fromkeys(seen[:-1], True) | {seen[-1]: False}


def test_a_step_back_goes_over_a_break_and_as_far_as_there_are_votes(book, clock):
    seen = gone_through(sat(book, clock), 3)

    later = sat(book, clock)

    assert [later.back().actor for _ in range(3)] == seen[::-1]
    with pytest.raises(ResponseError):
        later.back()
    assert gone_through(later, 3) == seen


def test_a_step_back_takes_no_vote_on_others_than_the_candidates(book, clock):
    gone_through(sat(book, clock), 3)

    with pytest.raises(ResponseError):
        sat(book, clock, candidates=[]).back()


def test_whom_chance_drew_is_in_the_ledger_and_stays_so_after_a_step_back(book, clock):
    sitting = sat(book, clock, chance=1.0)
    sitting.next()
    sitting.answer("bot")

    assert sitting.back().drawn
    sitting.answer("human")
    assert [one.drawn for one in book.find(Review)] == [True, True]


def test_the_ledger_knows_whom_chance_named_also_of_those_who_were_shown_before_that(book, clock):
    places = list(in_order(candidates(), seed="s", chance=0.5))
    named = {actor for one in places if one.drawn for actor in (one.actor, *one.passed)}

    gone_through(sat(book, clock, chance=0.5, seed="s"), 12)
    gone_through(sat(book, clock, chance=0.5, seed="s"))

    assert {one.actor for one in book.find(Review) if one.drawn} == named
    assert len(named) > sum(one.drawn for one in places)


def test_two_raters_see_the_same_accounts(book, clock):
    assert gone_through(sat(book, clock), 10) == gone_through(sat(book, clock, "Ben"), 10)


def test_what_was_skipped_comes_back_another_day_and_what_was_judged_does_not(book, clock):
    first, second = gone_through(sat(book, clock), 1, "skip") + gone_through(sat(book, clock), 1, "unsure")

    today, clock.at = gone_through(sat(book, clock, "Cy")), clock.at + timedelta(days=1)
    tomorrow = gone_through(sat(book, clock))

    assert today[:2] == [first, second]
    assert first in tomorrow
    assert second not in tomorrow


def test_midnight_is_that_of_the_zone(book, clock):
    clock.at = clock.at.replace(hour=14, minute=59)
    (skipped,) = gone_through(sat(book, clock, time_zone="Asia/Seoul"), 1, "skip")
    clock.at += timedelta(minutes=2)

    assert skipped in gone_through(sat(book, clock, time_zone="Asia/Seoul"))


def test_whoever_voted_elsewhere_does_not_see_the_account_again(book, clock):
    vote(book, "a03", bot=True, by="Ada", at=clock())

    assert "a03" not in gone_through(sat(book, clock))


def test_progress_counts_today_and_ever(book, clock):
    gone_through(sat(book, clock), 2, "bot")
    clock.at += timedelta(days=1)
    sitting = sat(book, clock)
    gone_through(sitting, 1, "skip")
    gone_through(sitting, 3, "human")

    far = sitting.progress()

    assert far.today == {"skip": 1, "human": 3}
    assert far.ever == {"bot": 2, "skip": 1, "human": 3}
    assert far.waiting == 24


def test_what_was_learned_changes_who_comes_next_but_not_who_is_before_the_rater(book, clock):
    sitting = sat(book, clock, chance=0.0)
    gone_through(sitting, 3)
    now = sitting.next()
    unsure = [replace(one, probability=0.5 if one.actor in {"a27", "a28", "a29"} else 0.999) for one in candidates()]

    sitting.reorder(unsure)

    assert sitting.next() == now
    rest = gone_through(sitting)
    assert rest[0] == now.actor
    assert len(rest) == len(set(rest)) == 27
    known = dict.fromkeys([one.actor for one in candidates() if one.actor not in rest[1:]], False)
    fresh = in_order(unsure, seed=sitting.seed, chance=0.0, known=known)
    assert rest[1:] == [place.actor for place in fresh]


def test_a_sitting_knows_who_would_come_next(book, clock):
    sitting = sat(book, clock, chance=0.4)
    gone_through(sitting, 4)

    coming = sitting.coming(6)

    assert coming == gone_through(sitting, 6)
    assert sitting.coming(1_000) == gone_through(sitting)
    assert sitting.coming(3) == []


def test_whoever_is_before_the_rater_is_the_first_to_come(book, clock):
    sitting = sat(book, clock)
    now = sitting.next()

    assert sitting.coming(1) == [now.actor]
    assert len(set(sitting.coming(5))) == 5


def test_accounts_that_wait_for_a_third_person_come_first_until_this_rater_has_voted(book, clock):
    usual = gone_through(sat(book, clock, "Ben"))
    last = usual[-1]

    seen = gone_through(sat(book, clock, disputed=frozenset({last, "somebody else"})))

    assert seen[0] == last
    assert sorted(seen) == sorted(usual)
    assert sat(book, clock, disputed=frozenset({last})).next() is None
