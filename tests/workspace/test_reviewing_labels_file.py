"""Votes as a file of labels: one rater's word, how an account came to be looked at, and how common bots are."""

from datetime import timedelta

import polars as pl
import pytest

from gamewarden.cases import Label
from gamewarden.evaluation.shares import share_at_random
from gamewarden.learning.label_sources import APPEAL
from gamewarden.pipeline.fitting import _how_common
from gamewarden.readers.logs.operator_tables import read_labels
from gamewarden.reviewing.labels_file import labels_of, write_labels
from gamewarden.reviewing.votes import cast
from gamewarden.store.ledger.ledger import Ledger
from gamewarden.verdicts.prevalence import Prevalence
from gamewarden.workspace.labels import AT_RANDOM, vote
from ledgers_made_up import AT


@pytest.fixture
def book(tmp_path):
    made = Ledger.at(tmp_path / "ledger.db")
    yield made
    made.close()


def say(book, actor, says="bot", by="Ada", minute=0, **given):
    return cast(book, actor, says, rater=by, at=AT + timedelta(minutes=minute), **{"drawn": False, **given})


def told(book, *columns):
    return labels_of(book).select(*columns).rows()


def test_whom_chance_named_has_a_source_of_its_own(book):
    say(book, "a", drawn=True)
    say(book, "b", minute=1)
    vote(book, "c", bot=False, by="Ada", at=AT + timedelta(minutes=2))  # by `gamewarden label`: nobody knows why

    assert told(book, "actor", "source", "drawn") == [
        ("a", "random-review", True),
        ("b", "review", False),
        ("c", "review", None),
    ]


def test_whom_chance_named_for_one_rater_of_two_was_named_by_chance(book):
    say(book, "a", drawn=False)
    say(book, "a", by="Ben", minute=1, drawn=True)
    say(book, "a", by="Cem", minute=2, drawn=False)

    assert told(book, "source", "raters", "votes") == [("random-review", 3, 3)]


def test_whom_chance_had_passed_counts_as_named_by_it(book):
    say(book, "a")
    say(book, "b", minute=1, drawn=True, passed=("a",))

    assert dict(told(book, "actor", "source")) == {"a": AT_RANDOM, "b": AT_RANDOM}


def test_one_raters_word_is_a_label_and_two_who_differ_make_none(book):
    say(book, "a")
    say(book, "b", says="human", minute=1)
    say(book, "c", minute=2)
    say(book, "c", says="human", by="Ben", minute=3)

    assert told(book, "actor", "bot", "votes", "raters") == [
        ("a", True, None, 1),
        ("b", False, None, 1),
        ("c", False, 1, 2),
    ]


def test_an_appeal_is_no_review_and_silences_those_before_it(book):
    say(book, "a", drawn=True)
    say(book, "b", minute=1)

    with book.writing("gm", AT + timedelta(hours=1)) as work:
        work.add([Label("a", bot=False, source=APPEAL, at=AT + timedelta(hours=1), by="gm", votes={"gm": False})])

    assert told(book, "actor") == [("b",)]


def test_the_file_is_read_as_labels_and_its_source_tells_how_common_bots_are(book, tmp_path):
    for number in range(10):
        say(book, f"a{number}", says="bot" if number < 3 else "human", minute=number, drawn=True)
    say(book, "suspect", minute=11)

    write_labels(book, tmp_path / "labels.csv")

    frame = read_labels(tmp_path / "labels.csv").frame
    assert share_at_random(frame) == share_at_random(labels_of(book))
    assert (share_at_random(frame).bots, share_at_random(frame).accounts) == (0.3, 10)
    (said,) = _how_common(frame)
    assert said.startswith("Of 10 accounts that chance chose 30 % (95 %: 6.7 to 65 %) are bots; --prevalence 0.3 ")


def drawn(bots, people):
    return pl.DataFrame(
        {"actor": [f"a{at}" for at in range(bots + people)], "bot": [True] * bots + [False] * people}
    ).with_columns(source=pl.lit(AT_RANDOM), votes=pl.lit(None, pl.Int32))


def test_without_an_account_that_chance_named_nothing_is_said_of_how_common_bots_are():
    assert _how_common(drawn(3, 4).with_columns(source=pl.lit("review"))) == ()
    assert _how_common(drawn(3, 4).clear()) == ()


@pytest.mark.parametrize(("bots", "people"), [(999, 1), (13, 4), (1, 999), (2, 1_000)])
def test_the_share_that_is_advised_can_be_supposed_and_is_not_above_the_estimate(bots, people):
    (said,) = _how_common(drawn(bots, people))

    advised = float(said.split("--prevalence ")[1].split()[0])
    assert Prevalence(advised).bots == advised
    assert advised <= bots / (bots + people)


@pytest.mark.parametrize(("bots", "people"), [(0, 17), (17, 0), (10, 0), (0, 10), (3, 4)])
def test_a_share_of_none_of_all_or_of_few_is_not_advised(bots, people):
    (said,) = _how_common(drawn(bots, people))

    assert said.startswith(f"Of {bots + people} accounts that chance chose ")
    assert "more at random" in said
    assert "--prevalence" not in said
