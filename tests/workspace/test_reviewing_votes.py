"""Votes on a ledger alone: kept, counted in a label, told apart by whether chance drew the account, taken back."""

import pytest

from gamewarden.cases import Label
from gamewarden.desk_records import Review
from gamewarden.errors import ResponseError
from gamewarden.readers.logs.operator_tables import read_labels
from gamewarden.reviewing.labels_file import labels_of, write_labels
from gamewarden.reviewing.votes import cast, take_back, votes_in
from gamewarden.store.ledger.ledger import Ledger
from gamewarden.workspace.labels import vote
from reviews_made_up import Clock, said


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def book(tmp_path):
    """A ledger in a file."""
    made = Ledger.at(tmp_path / "reviews/ledger.db")
    yield made
    made.close()


def test_a_vote_is_kept_with_all_that_was_told_and_makes_a_label(book, clock):
    made = cast(book, "anna", "bot", rater="Ada", at=clock(), note=" never sleeps ", milliseconds=1_500, drawn=True)

    assert book.find(Review) == [made]
    assert (made.note, made.milliseconds, made.score_seen, made.drawn) == ("never sleeps", 1_500, False, True)
    (label,) = book.find(Label)
    assert (label.actor, dict(label.votes), label.because) == ("anna", {"Ada": True}, "never sleeps")


@pytest.mark.parametrize("told", [True, False])
def test_whoever_shows_the_score_says_so(book, clock, told):
    assert cast(book, "anna", "bot", rater="Ada", at=clock(), score_seen=told).score_seen is told


def test_a_second_vote_is_one_of_somebody_who_knew_the_score_unless_it_is_said(book, clock):
    cast(book, "anna", "bot", rater="Ada", at=clock())

    assert cast(book, "anna", "human", rater="Ada", at=clock()).score_seen
    assert not cast(book, "anna", "human", rater="Ben", at=clock()).score_seen


@pytest.mark.parametrize(
    ("actor", "says", "note"), [("anna", "guilty", ""), (" ", "bot", ""), ("anna", "bot", "x" * 4_001)]
)
def test_what_is_no_vote_leaves_nothing(book, clock, actor, says, note):
    with pytest.raises(ResponseError):
        cast(book, actor, says, rater="Ada", at=clock(), note=note)

    assert book.find(Review) == book.find(Label) == []


def test_a_vote_that_is_taken_back_leaves_no_label_and_is_remembered_as_taken_back(book, clock):
    made = cast(book, "anna", "bot", rater="Ada", at=clock())

    back = take_back(book, rater="Ada", at=clock())

    assert (back.id, back.undone_at) == (made.id, clock.at)
    assert book.find(Label) == []
    assert votes_in(book.find(Review)) == {}
    with pytest.raises(ResponseError):
        take_back(book, rater="Ada", at=clock())


def test_accounts_that_chance_passed_over_count_as_drawn_from_then_on(book, clock):
    for actor in ("anna", "bob", "cleo"):
        cast(book, actor, "bot", rater="Ada", at=clock(), drawn=False)
    cast(book, "anna", "human", rater="Ben", at=clock())

    cast(book, "dan", "human", rater="Ada", at=clock(), drawn=True, passed=("anna", "cleo", "nobody"))

    assert {(one.actor, one.rater): one.drawn for one in book.find(Review)} == {
        ("anna", "Ada"): True,
        ("anna", "Ben"): True,
        ("bob", "Ada"): False,
        ("cleo", "Ada"): True,
        ("dan", "Ada"): True,
    }
    assert list(book.audit_faults()) == []


def test_the_last_word_of_each_rater_counts_and_skipping_is_none():
    reviews = [said(1, "bot"), said(1, "human", at=said(2).at), said(1, "skip", "Ben"), said(3, undone_at=said(4).at)]

    assert {actor: {who: one.says for who, one in votes.items()} for actor, votes in votes_in(reviews).items()} == {
        "a01": {"Ada": "human"}
    }


def test_the_labels_file_says_what_raters_say_together_and_how_they_came_to_look(book, clock, tmp_path):
    for actor, rater, says in (
        ("anna", "Ada", "bot"),
        ("anna", "Ben", "bot"),
        ("bob", "Ada", "bot"),
        ("cleo", "Ada", "human"),
        ("=dan", "Ada", "human"),
        ("eve", "Ada", "unsure"),
        ("fred", "Ada", "skip"),
    ):
        cast(book, actor, says, rater=rater, at=clock(), drawn=actor == "cleo", score_seen=rater == "Ben")
    vote(book, "gil", bot=False, by="Ada", at=clock())

    write_labels(book, tmp_path / "labels.csv")

    frame = labels_of(book)
    assert frame.columns == ["actor", "bot", "source", "votes", "at", "raters", "drawn", "score_seen"]
    assert {row[0]: (row[1], row[3], *row[5:]) for row in frame.iter_rows()} == {
        "anna": (True, 2, 2, False, True),
        "bob": (True, None, 1, False, False),  # one rater's word, while nobody else has looked
        "cleo": (False, None, 1, True, False),
        "=dan": (False, None, 1, False, False),
        "gil": (False, None, 1, None, None),
    }
    assert sorted(read_labels(tmp_path / "labels.csv").frame["actor"]) == ["=dan", "anna", "bob", "cleo", "gil"]


def test_an_empty_ledger_is_an_empty_file_of_labels(book, tmp_path):
    write_labels(book, tmp_path / "labels.csv")

    assert read_labels(tmp_path / "labels.csv").frame.height == 0
