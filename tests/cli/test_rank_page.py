"""The list as a page: one card per account, beside accounts that the model calls human."""

import re
from dataclasses import replace

import polars as pl
import pytest

from commands import done
from gamewarden import pipeline, readers
from gamewarden.config import Config
from gamewarden.core.outside import escape
from gamewarden.presentation import rank_cards as shown_on_cards
from gamewarden.presentation.rank_page import caption, one_in, rank_page
from gamewarden.verdicts.prevalence import Prevalence
from hostile_game import HOSTILE, play

EVEN = Prevalence(0.5, "for a test")


@pytest.fixture(scope="module")
def game(tmp_path_factory):
    return play(tmp_path_factory.mktemp("cards"))


@pytest.fixture(scope="module")
def ranked(game):
    wishes = pipeline.RankOptions.of(Config(), probability=0.6, top=12, prevalence=EVEN)
    return pipeline.rank(readers.open(game / "log.parquet"), game / "models", wishes)


@pytest.fixture(scope="module")
def shown(game, ranked):
    return pipeline.rank_cards(ranked, readers.open(game / "log.parquet"), game / "models")


def test_the_page_is_written_beside_the_list_with_a_card_per_account(game):
    words = (
        "rank",
        game / "log.parquet",
        "--models",
        game / "models",
        "--probability",
        0,
        "--prevalence",
        0.5,
    )
    ended = done(*words, "--top", 5, "--html", game / "list.html", "--json")

    page = (game / "list.html").read_text(encoding="utf-8")
    listed = pl.read_json(ended.stdout.encode())
    assert page.count('<section class="card"') == listed.height == 5
    assert "5 cards in " in ended.stderr
    assert page.index(escape(listed["actor"][0])) < page.index(escape(listed["actor"][1]))


def test_names_from_players_are_text_on_the_page_and_in_the_command_it_proposes(game):
    words = ("rank", game / "log.parquet", "--models", game / "models", "--probability", 0, "--top", 0)
    done(*words, "--html", game / "all.html", "-q")

    page = (game / "all.html").read_text(encoding="utf-8")
    assert all(escape(name).replace("&#x27;", "&#39;") in page for name in HOSTILE)
    assert not set("\x1b\x07\u202e") & set(page)
    assert not re.search(r"<(script|img|iframe|link)\b|\son\w+=", page)


def test_a_card_says_the_rate_in_words_and_reasons_as_sentences(shown):
    page = rank_page(shown)

    assert re.search(r"<b>1 in \d+ people</b>", page)
    assert "What speaks for a bot" in page
    assert all(line.endswith(".") for card in shown.cards for line in (*card.speaks_for, *card.speaks_against))
    assert not any("usual" in line for card in shown.cards for line in card.speaks_for)


@pytest.mark.parametrize(
    ("rate", "words"), [(1 / 27, "1 in 27 people"), (1.0, "no conclusion"), (1e-4, "1 in 10,000 people"), (None, "–")]
)
def test_a_false_positive_rate_is_read_as_people(rate, words):
    assert one_in(rate) == words


def test_all_accounts_are_drawn_from_one_reading_of_the_source(game, ranked):
    passed = []

    pipeline.rank_cards(ranked, readers.open(game / "log.parquet"), game / "models", passed.append)

    assert len(ranked.frame) > 3
    assert sum(passed) == pl.scan_parquet(game / "log.parquet").select(pl.len()).collect().item()


def test_the_windows_of_a_card_are_those_that_explain_shows(game, shown):
    card = shown.cards[0]

    story = pipeline.explain(card.row["actor"], readers.open(game / "log.parquet"), game / "models", None)

    assert card.series.windows.equals(story.windows)
    assert card.series.since == story.measured["since"][0]


def test_the_band_is_of_accounts_that_are_called_human_and_says_so(ranked, shown):
    drawn = next(card.series for card in shown.cards if card.series.band is not None)

    words = caption(drawn, 900, 0)
    assert drawn.band.low <= drawn.band.middle <= drawn.band.high
    assert f"of {drawn.band.accounts} accounts in this source of the same style of play ({drawn.style})" in words
    assert "that the model calls human" in words
    assert "Nobody has said that they are people." in words
    people = shown_on_cards._people(shown_on_cards.highest_periods(ranked.behind), ranked.frame["actor"])
    highest = dict(ranked.behind.scores.group_by("actor").agg(pl.col("probability").max()).iter_rows())
    assert all(highest[actor] < 0.5 for some in people.values() for actor in some)
    assert not set(ranked.frame["actor"]) & {actor for some in people.values() for actor in some}


def test_too_few_to_compare_with_are_no_band_and_that_is_said(shown):
    drawn = replace(shown.cards[0].series, band=None, style="grinder")

    assert "No band: too few accounts of the same style of play (grinder)" in caption(drawn, 10, 2)


def test_a_long_list_has_a_bounded_page_that_says_how_many_are_left_out(game, ranked, monkeypatch):
    monkeypatch.setattr(shown_on_cards, "MOST_CARDS", 3)

    few = pipeline.rank_cards(ranked, readers.open(game / "log.parquet"), game / "models")

    assert len(few.cards) == 3
    assert f"{len(ranked.frame) - 3} further accounts of the list have no card here" in rank_page(few)


def test_an_empty_list_is_an_empty_page(game):
    wishes = pipeline.RankOptions.of(Config(), probability=1.0)
    nobody = pipeline.rank(readers.open(game / "log.parquet"), game / "models", wishes)

    page = rank_page(pipeline.rank_cards(nobody, readers.open(game / "log.parquet"), game / "models"))

    assert "0 accounts to look at" in page
    assert "<section" not in page
