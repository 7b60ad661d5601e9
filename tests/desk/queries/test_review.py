"""Review: the queue tells no score, votes become labels, and what is taken back leaves everything as it was."""

import json
from collections import Counter
from dataclasses import asdict, fields
from datetime import timedelta

import pytest

from desks_made_up import StandingDesk, judge, make_desk, rest
from gamewarden.cases import Label
from gamewarden.desk import review
from gamewarden.desk.review import Entry, item, queue, take, undo, vote
from gamewarden.desk_records import Review
from gamewarden.errors import NotThereError, ResponseError
from gamewarden.workspace import labels as labels_of_people
from gamewarden.workspace.place import Workspace

CROWD = {f"human{number:02}": 0.01 for number in range(40)}
SUSPECTS = {"anna": (0.97, "act"), "bob": (0.55, "watch"), "cleo": (0.6, "watch"), "dan": (0.9, "act")}


@pytest.fixture
def desk(tmp_path):
    return judge(make_desk(tmp_path / "ws"), 1, {**CROWD, **SUSPECTS})


def names(view):
    return [one.actor for one in view.entries]


def test_the_queue_tells_no_score(desk):
    vote(desk, "anna", "bot", rater="Ada")

    told = json.dumps([asdict(one) for one in queue(desk, "Ben").entries])

    assert {one.name for one in fields(Entry)} == {"actor", "because", "looked"}
    assert not any(word in told for word in ("0.9", "0.5", 'act"', "watch", "probab", "score", "fpr", "bot", "suspic"))


def test_an_account_shows_its_score_only_to_whoever_has_voted_on_it(desk):
    vote(desk, "anna", "bot", rater="Ada")

    blind, open_ = item(desk, "anna", "Ben"), item(desk, "anna", "Ada")

    assert (blind.blind, blind.seen) == (True, None)
    assert (open_.blind, open_.seen.probability, open_.seen.point) == (False, 0.97, "act")


def test_a_skip_shows_nothing(desk):
    assert vote(desk, "anna", "skip", rater="Ada").seen is None
    assert item(desk, "anna", "Ada").blind
    assert desk.workspace.ledger.find(Label) == []


def test_those_who_reached_a_point_come_and_each_says_why(desk):
    view = queue(desk, "Ada", 100)

    assert set(SUSPECTS) <= set(names(view))
    assert view.waiting == len(SUSPECTS)
    assert all(one.because for one in view.entries)


def test_the_same_rater_on_the_same_day_has_the_same_queue(desk, tmp_path):
    other = judge(make_desk(tmp_path / "other"), 1, {**CROWD, **SUSPECTS})

    assert names(queue(desk, "Ada", 100)) == names(queue(other, "Ada", 100))


def test_about_one_place_in_ten_goes_to_chance_whatever_the_score(tmp_path):
    many = {f"suspect{number:03}": (0.8, "watch") for number in range(300)}
    others = {f"human{number:03}": 0.01 for number in range(2_000)}
    desk = judge(make_desk(tmp_path / "ws"), 1, {**many, **others})

    drawn = [name.startswith("human") for name in names(queue(desk, "Ada", 250))]

    assert 10 <= sum(drawn) <= 45
    assert sum(drawn[:125])
    assert sum(drawn[125:])


def test_a_vote_remembers_whether_chance_put_the_account_there(tmp_path):
    suspects = {f"suspect{number:02}": (0.8, "watch") for number in range(40)}
    desk = judge(make_desk(tmp_path / "ws"), 1, {**suspects, **{f"human{number:03}": 0.01 for number in range(400)}})

    for number in range(30):
        then = desk.later(minutes=number)
        vote(then, take(then, "Ada").actor, "unsure", rater="Ada")

    told = {one.actor: one.drawn for one in desk.workspace.ledger.find(Review)}
    assert 0 < sum(told.values()) < 15
    assert {actor for actor in told if actor.startswith("human")} <= {actor for actor, drawn in told.items() if drawn}


def test_accounts_with_votes_that_chance_names_later_count_as_drawn(tmp_path):
    desk = judge(make_desk(tmp_path / "ws"), 1, {**CROWD, **SUSPECTS})
    early, (last, *_) = [*CROWD, *SUSPECTS][:-1], [*SUSPECTS][-1:]
    for actor in early:
        vote(desk, actor, "human", rater="Ada")

    before = [one for one in desk.workspace.ledger.find(Review) if one.drawn]
    for number in range(1, 60):
        if (then := desk.later(days=number)) and _drawn_place(then, last):
            vote(then, last, "human", rater="Ada")
            break

    after = [one.actor for one in desk.workspace.ledger.find(Review) if one.drawn]
    assert last in after
    assert len(after) > len(before) + 1


def _drawn_place(desk, actor):
    place = review._place_of(desk, actor, "Ada")
    return place is not None and place.drawn


def test_nobody_sees_an_account_again_that_they_voted_on_or_skipped_today(desk):
    vote(desk, "anna", "bot", rater="Ada")
    vote(desk, "bob", "skip", rater="Ada")

    mine, theirs = names(queue(desk, "Ada", 100)), names(queue(desk, "Ben", 100))

    assert {"anna", "bob"}.isdisjoint(mine)
    assert {"anna", "bob"} <= set(theirs)
    assert "bob" in names(queue(desk.later(days=1), "Ada", 100)), "what was skipped comes back on another day"
    assert "anna" not in names(queue(desk.later(days=1), "Ada", 100))


def test_new_points_bring_an_account_back_to_whoever_voted_on_it(desk):
    vote(desk, "anna", "human", rater="Ada")
    later = judge(desk, -1, {"anna": (0.98, "act")}).later(days=2)

    told = {one.actor: one.because for one in queue(later, "Ada", 100).entries}

    assert "it was judged on new days since" in told["anna"]


def test_two_raters_do_not_get_the_same_account_at_once(desk):
    first = [take(desk, rater).actor for rater in ("Ada", "Ben", "Cy")]

    assert len(set(first)) == 3
    assert take(desk, "Ada").actor == first[0], "and each keeps their own"


def test_an_account_is_kept_only_for_so_long(desk):
    held = take(desk, "Ada").actor

    assert take(desk.later(hours=1), "Ben").actor == held


def test_the_last_account_is_given_to_two_rather_than_to_nobody(tmp_path):
    desk = judge(make_desk(tmp_path / "ws"), 1, {"anna": (0.97, "act")})

    assert [take(desk, rater).actor for rater in ("Ada", "Ben")] == ["anna", "anna"]


def test_three_votes_are_enough_and_become_a_label_with_who_and_when(desk):
    for rater, says in (("Ada", "bot"), ("Ben", "bot"), ("Cy", "human")):
        vote(desk, "anna", says, rater=rater, note=f"{rater} looked", milliseconds=1_500)

    (label,) = desk.workspace.ledger.find(Label)
    assert (label.actor, label.bot, label.source, label.by) == ("anna", True, "review", "Cy")
    assert dict(label.votes) == {"Ada": True, "Ben": True, "Cy": False}
    assert "anna" not in names(queue(desk, "Dee", 100))
    seen = item(desk, "anna", "Ada").seen
    assert (seen.together, seen.agreed) == ("bot", pytest.approx(1 / 3))


def test_a_vote_says_whether_the_score_was_known(desk):
    vote(desk, "anna", "unsure", rater="Ada")
    vote(desk.later(minutes=1), "anna", "bot", rater="Ada")

    assert [one.score_seen for one in desk.workspace.ledger.find(Review, order=("at",))] == [False, True]


def test_whoever_took_a_vote_back_has_seen_the_score_all_the_same(desk):
    vote(desk, "anna", "human", rater="Ada")
    undo(desk.later(seconds=2), rater="Ada")

    vote(desk.later(seconds=9), "anna", "bot", rater="Ada")

    assert [one.score_seen for one in desk.workspace.ledger.find(Review, order=("at",))] == [False, True]


@pytest.mark.parametrize("says", ["bot", "human", "unsure", "skip"])
@pytest.mark.parametrize("before", [(), ("Ben", "bot"), ("Ada", "human"), ("Ada", "bot", "Ben", "human")])
def test_undoing_a_vote_leaves_the_label_exactly_as_it_was(desk, says, before):
    for place in range(0, len(before), 2):
        at = desk.now() + timedelta(minutes=place)
        labels_of_people.vote(
            desk.workspace.ledger, "anna", bot=before[place + 1] == "bot", by=before[place], at=at, because="earlier"
        )
    was = desk.workspace.ledger.find(Label)

    vote(desk.later(hours=1), "anna", says, rater="Ada", note="now")
    undo(desk.later(hours=1, seconds=5), rater="Ada")

    assert desk.workspace.ledger.find(Label) == was
    assert "anna" in names(queue(desk.later(hours=1, seconds=6), "Ada", 100)) or "Ada" in before
    assert list(desk.workspace.ledger.audit_faults()) == []


def test_undoing_a_vote_leaves_what_others_said_since(desk):
    vote(desk, "anna", "bot", rater="Ada")
    vote(desk.later(minutes=1), "anna", "human", rater="Ben")

    undo(desk.later(minutes=2), rater="Ada")

    (label,) = desk.workspace.ledger.find(Label)
    assert dict(label.votes) == {"Ben": False}
    assert label.bot is False


def test_what_two_raters_took_back_never_comes_back(desk):
    vote(desk, "anna", "bot", rater="Ada")
    vote(desk.later(minutes=1), "anna", "human", rater="Ben")

    undo(desk.later(minutes=2), rater="Ada")
    undo(desk.later(minutes=3), rater="Ben")

    assert desk.workspace.ledger.find(Label) == []


def test_a_vote_that_was_only_said_again_still_counts_after_the_second_is_undone(desk):
    vote(desk, "anna", "bot", rater="Ada")
    vote(desk.later(minutes=1), "anna", "bot", rater="Ada")
    vote(desk.later(minutes=2), "anna", "human", rater="Ben")

    undo(desk.later(minutes=3), rater="Ada")

    (label,) = desk.workspace.ledger.find(Label)
    assert dict(label.votes) == {"Ada": True, "Ben": False}


def test_a_vote_is_not_undone_behind_the_back_of_a_newer_one_on_the_same_account(desk):
    first = vote(desk, "anna", "human", rater="Ada")
    second = vote(desk.later(minutes=1), "anna", "bot", rater="Ada")

    with pytest.raises(ResponseError, match="newer"):
        undo(desk.later(minutes=2), rater="Ada", review=first.review)

    (label,) = desk.workspace.ledger.find(Label)
    assert dict(label.votes) == {"Ada": True}
    undo(desk.later(minutes=3), rater="Ada", review=second.review)
    undo(desk.later(minutes=4), rater="Ada", review=first.review)
    assert desk.workspace.ledger.find(Label) == []


def test_only_ones_own_vote_is_undone_and_once(desk):
    made = vote(desk, "anna", "bot", rater="Ada")

    with pytest.raises(ResponseError):
        undo(desk, rater="Ben")
    with pytest.raises(ResponseError):
        undo(desk, rater="Ben", review=made.review)
    undo(desk.later(seconds=1), rater="Ada")
    with pytest.raises(ResponseError):
        undo(desk.later(seconds=2), rater="Ada")


def test_agreement_is_shown_once_there_are_enough_votes(desk):
    for number in range(10):
        for rater, says in (("Ada", "human"), ("Ben", "bot" if number == 0 else "human")):
            vote(desk, f"human{number:02}", says, rater=rater)

    (found,) = queue(desk, "Cy").agreement

    assert (found.kind, found.raters, found.accounts, found.raw) == ("Cohen", ("Ada", "Ben"), 10, 0.9)


def test_what_a_rater_said_today_is_counted_and_the_last_can_be_seen(desk):
    for actor, says in (("anna", "bot"), ("bob", "skip"), ("cleo", "bot")):
        vote(desk, actor, says, rater="Ada")

    view = queue(desk.later(seconds=1), "Ada")

    assert Counter(view.mine) == {"bot": 2, "skip": 1}
    assert view.last.actor in {"anna", "cleo"}
    assert view.last.seen.probability is not None
    assert queue(desk, "Ben").last is None


def test_accounts_of_one_farm_do_not_fill_the_head_of_the_queue(tmp_path):
    farm = {f"farm{number}": (0.7, "act") for number in range(10)}
    alone = {f"alone{number}": (0.6, "watch") for number in range(3)}
    desk = judge(make_desk(tmp_path / "ws"), 1, {**farm, **alone})
    rest(desk, "addresses", 1, [{"actor": actor, "address": "10.0.0.7"} for actor in farm])

    head = names(queue(desk, "Ada", 6))

    assert sum(name.startswith("farm") for name in head) <= 3


def test_money_at_stake_brings_an_account_forward(tmp_path):
    desk = judge(make_desk(tmp_path / "ws"), 1, {f"a{number}": (0.8, "watch") for number in range(20)})
    rest(desk, "accounts", 1, [{"actor": f"a{number}", "money_gained": 10.0**number} for number in range(8)])

    order = [name for name in names(queue(desk, "Ada", 50)) if name in {"a7", "a19"}]

    assert order == ["a7", "a19"]


def test_nobody_votes_on_somebody_who_was_never_judged_nor_says_something_else(desk):
    with pytest.raises(NotThereError):
        vote(desk, "nobody", "bot", rater="Ada")
    with pytest.raises(NotThereError):
        item(desk, "nobody", "Ada")
    with pytest.raises(ResponseError):
        vote(desk, "anna", "guilty", rater="Ada")


def test_an_empty_workspace_has_an_empty_queue(tmp_path):
    desk = make_desk(tmp_path / "ws")

    assert queue(desk, "Ada").entries == ()
    assert take(desk, "Ada") is None


def test_a_vote_against_a_known_label_brings_an_account_without_a_point_before_others(desk):
    (desk.workspace.root / "labels.csv").write_text("actor,bot\nhuman07,true\n")
    settings = desk.workspace.root / "warden.toml"
    settings.write_text(settings.read_text().replace('labels = ""', 'labels = "labels.csv"'))
    known = StandingDesk(Workspace.at(desk.workspace.root))
    before = queue(known, "Ben", 100)

    labels_of_people.vote(known.workspace.ledger, "human07", bot=False, by="Ada", at=known.now())

    view = queue(known, "Ben", 100)
    why = {one.actor: one.because for one in view.entries}
    assert view.waiting == before.waiting + 1
    assert "a vote contradicts what is known of it: a third person decides" in why["human07"]
    assert "human07" not in names(queue(known, "Ada", 100))

    labels_of_people.vote(known.workspace.ledger, "human07", bot=True, by="Ben", at=known.now())
    assert queue(known, "Cem", 100).waiting == before.waiting
