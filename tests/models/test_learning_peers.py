"""People beside whom a row of a table is judged: what is promised to whom, and where nothing can be said."""

import numpy as np
import polars as pl
import pytest

from gamewarden.errors import ConfigError
from gamewarden.learning.ladders import Crowd, Ladder
from gamewarden.learning.model_json import dump, load_part
from gamewarden.learning.peers import Peers
from gamewarden.learning.promises import Choice, as_persons, prices
from gamewarden.learning.reference import Reference, plain_json

HOURS = Ladder("hours", (4.0, 10.0))
ANYWHERE = pl.lit(value=True)


def rows(*given):
    """Rows of (person, hours, decision)."""
    return pl.DataFrame(given, schema={"person": pl.String, "hours": pl.Float64, "held_out": pl.Float64}, orient="row")


def crowd(accounts, seed):
    """Synthetic people with 1 to 6 characters, of whom those who play long look more like bots."""
    draw = np.random.default_rng(seed)
    characters = draw.integers(1, 7, accounts)
    whose = np.repeat(np.arange(accounts), characters)
    keen = np.repeat(draw.normal(0, 1, accounts), characters)
    hours = np.exp(1.0 + 0.8 * keen + draw.normal(0, 0.4, whose.size)).clip(0, 24)
    decision = 0.5 * keen + 0.15 * hours + draw.normal(0, 1, whose.size)
    named = pl.Series("group", whose).cast(pl.String)
    return pl.DataFrame({"actor": np.arange(whose.size), "group": named, "hours": hours, "held_out": decision})


def fprs(known, fresh, promise, ladders):
    people = as_persons(known, promise)
    peers = Peers.of(ladders, people)
    return peers.fpr(fresh, fresh["held_out"].to_numpy(), Reference.of(people, "person"))


def flagged(fresh, fpr, where):
    """How many accounts have a row with an FPR of 1 in 100 there, and how many have a row there."""
    told = fresh.with_columns(fpr=pl.Series(fpr)).filter(where).group_by("group").agg(pl.col("fpr").min())
    return int((told["fpr"] <= 0.01).sum()), told.height


def many_splits(promise, ladders, where=ANYWHERE, splits=40):
    """Accounts flagged over many random splits of one crowd, and by how many more than promised it is a surprise.

    A random split of any fixed crowd is exchangeable, so that the promise holds to the letter over many of them.
    """
    everybody = crowd(2000, 3)
    found = people = 0
    for seed in range(splits):
        known = pl.Series(np.random.default_rng(seed).random(2000) < 0.6)[everybody["group"].cast(pl.Int64)]
        fresh = everybody.filter(~known)
        hits, seen = flagged(fresh, fprs(everybody.filter(known), fresh, promise, ladders), where)
        found, people = found + hits, people + seen
    return found, 0.01 * people + 4.5 * 1.5 * np.sqrt(0.01 * people)


def test_at_most_1_in_100_accounts_have_a_row_flagged_at_1_in_100_however_many_rows_they_have():
    found, most = many_splits("account", ())

    assert found <= most


def test_promised_by_row_accounts_with_several_rows_are_flagged_more_often_than_1_in_100():
    found, most = many_splits("row", ())

    assert found > most


@pytest.mark.parametrize("step", [1, 2, 3])
def test_on_every_step_of_a_ladder_at_most_1_in_100_accounts_are_flagged_there(step):
    low, high = [0.0, *HOURS.borders, 25.0][step - 1 : step + 1]

    found, most = many_splits("account", (HOURS,), pl.col("hours").is_between(low, high, closed="left"))

    assert found <= most


def test_with_one_reference_for_all_those_who_play_longest_are_flagged_more_often():
    found, most = many_splits("account", (), pl.col("hours") >= 10)

    assert found > most


def test_a_person_with_several_rows_on_a_step_counts_once_there_with_the_most_bot_like():
    known = rows(("a", 1, 5.0), ("a", 2, 1.0), ("a", 12, 3.0), ("b", 1, 0.0))

    peers = Peers.of((HOURS,), known)

    assert peers.counts() == {"hours below 4": 2, "hours from 10": 1}
    fresh = rows(("x", 1, 1.0), ("x", 12, 1.0))
    rates = peers.fpr(fresh, np.array([1.0, 1.0]), Reference.of(known, "person"))
    assert peers.within(fresh, np.array([1.0, 1.0])).to_list() == pytest.approx([2 / 3, 1.0])
    assert rates.tolist() == pytest.approx([2 / 3, 2 / 3])  # 1 of 2 people stands on the upper step, 2/3 with a new one


def test_an_fpr_is_never_below_the_share_among_all_people():
    known, fresh = crowd(300, 1), crowd(300, 2)

    pooled, stepped = (fprs(known, fresh, "account", ladders) for ladders in ((), (HOURS,)))

    assert (stepped >= pooled).all()
    assert (stepped > pooled).any()


def test_a_step_on_which_no_human_stands_protects_nobody_and_has_no_rate_of_its_own():
    known = rows(("a", 1, 0.0), ("b", 2, 1.0))
    stranger = rows(("x", 12, 9.0), ("y", None, 9.0))
    peers = Peers.of((HOURS,), known)

    rates = peers.fpr(stranger, np.array([9.0, 9.0]), Reference.of(known, "person"))

    assert rates.tolist() == pytest.approx([1 / 3, 1 / 3])
    assert peers.within(stranger, np.array([9.0, 9.0])).to_list() == [None, None]


def test_of_several_numbers_the_step_that_protects_most_counts():
    money = Ladder("money", (100.0,))
    known = rows(*((f"p{at}", 1, float(at)) for at in range(99))).with_columns(
        money=pl.when(pl.col("held_out") >= 90).then(500.0).otherwise(1.0)
    )
    stranger = rows(("x", 12, 95.5)).with_columns(money=pl.lit(500.0))
    peers = Peers.of((HOURS, money), known)

    rates = peers.fpr(stranger, np.array([95.5]), Reference.of(known, "person"))

    # 3 of all 99 look as bot-like (4/100); of the 9 with so much money 3 (4/10), but they and x are 10 of 100.
    assert rates.tolist() == pytest.approx([0.1])
    assert peers.within(stranger, np.array([95.5])).to_list() == pytest.approx([0.4])


def test_peers_come_back_from_their_own_values():
    peers = Peers.of((HOURS,), as_persons(crowd(50, 4), "account"))

    assert load_part(Peers, plain_json(dump(peers)), "x@1") == peers


def people_of(count, known=None):
    numbers = np.arange(count, dtype=np.float64)
    frame = pl.DataFrame({"person": [str(at) for at in range(count)], "hours": numbers / count * 24, "money": numbers})
    return Crowd(frame, ("hours", "money"), known or {})


def test_learned_borders_are_fifths_and_above_them_the_borders_that_are_known():
    hours, money = people_of(300, {"hours": (10.0, 16.0)}).ladders(("learned",))

    assert hours.borders == pytest.approx((4.8, 9.6, 10.0, 16.0), abs=0.1)
    assert money.borders == (60.0, 120.0, 180.0, 240.0)


def test_the_first_known_border_is_drawn_however_few_stand_above_it_and_the_next_from_99_people_on():
    """Of 100 people spread over a day 58 play from 10 hours on and 33 from 16 on."""
    hours, _ = people_of(100, {"hours": (10.0, 16.0)}).ladders(("learned",))

    assert hours.borders[-1] == 10.0


@pytest.mark.parametrize(("people", "steps"), [(1900, 4), (2100, 5)])
def test_the_top_twentieth_stands_apart_once_it_is_99_people(people, steps):
    (_, money) = people_of(people).ladders(("learned",))

    assert len(money.borders) == steps


def test_borders_can_be_given_and_the_last_word_on_a_number_counts():
    hours, money = people_of(100).ladders(("fifths", "hours:16:10"))

    assert hours == Ladder("hours", (10.0, 16.0))
    assert len(money.borders) == 4
    assert people_of(100).ladders(("none",)) == ()


@pytest.mark.parametrize(("word", "said"), [("levels", "no number that varies"), ("hours:ten", "is no number")])
def test_a_word_that_is_neither_rule_nor_number_is_refused(word, said):
    with pytest.raises(ConfigError, match=said):
        people_of(100).ladders((word,))


def test_the_price_of_a_promise_is_the_share_of_bots_that_it_no_longer_catches():
    humans = crowd(3000, 5).with_columns(bot=pl.lit(value=False))
    bots = crowd(400, 6).with_columns(
        bot=pl.lit(value=True), hours=pl.lit(14.0), held_out=pl.col("held_out") + 4, group=pl.lit("bots")
    )
    choices = [Choice("row", "none", ()), Choice("account", "none", ()), Choice("account", "hours", (HOURS,))]

    loose, held, protected = prices(pl.concat([humans, bots], how="diagonal"), choices, (HOURS,)).values()

    caught = [price["bots caught at 1.0%"] for price in (loose, held, protected)]
    assert caught[0] > caught[1] > caught[2] > 0
    assert loose["people flagged at 1.0%"] > 0.015
    assert held["people flagged at 1.0%"] <= 0.01
    assert loose["worst off"].endswith("(hours from 10)")
    assert float(protected["worst off"].split("%")[0]) <= 1.0


def test_a_human_is_compared_with_the_others_only_when_a_promise_is_priced():
    """Of 100 people one may be flagged at 1 in 100: the most bot-like of them, beside the other 99."""
    people = pl.DataFrame(
        {"actor": range(101), "group": [str(at) for at in range(101)], "bot": [False] * 100 + [True], "hours": 1.0}
    ).with_columns(held_out=pl.col("actor").cast(pl.Float64))

    (price,) = prices(people, [Choice("account", "none", ())], (HOURS,)).values()

    assert price["people flagged at 1.0%"] == 0.01
