"""How common bots are, estimated: the intervals hold as often as they say, and the limits are where they are said."""

import numpy as np
import polars as pl
import pytest

from gamewarden.core.binomial import upper_bound
from gamewarden.evaluation.shares import Rate, share_among_strangers, share_at_random, share_by_likeness, share_notes
from gamewarden.tables import LABELS, check

RUNS = 200
HOLDS = 180  # 95 % of 200 runs is 190; fewer than 180 would happen once in a thousand times


def evidence(bots, people, draw, *, apart=2.2):
    """Scores of made-up accounts by one detector: people around 0, bots further up and more varied."""
    values = np.concatenate([draw.normal(apart, 1.2, bots), draw.normal(0, 1, people)])
    names = [f"{draw.integers(1 << 40)}-{at}" for at in range(bots + people)]
    return pl.DataFrame(
        {
            "actor": names,
            "since": 0,
            "until": 1,
            "group": names,
            "fold": 0,
            "bot": [at < bots for at in range(bots + people)],
            "detector": "day",
            "probability": 1 / (1 + np.exp(-values)),
            "evidence": values,
        }
    )


def estimated(share, draw, *, known=(100, 100), strangers=400, apart=2.2):
    bots = int(draw.binomial(strangers, share))
    unknown = evidence(bots, strangers - bots, draw, apart=apart)
    return share_among_strangers(evidence(*known, draw), unknown.with_columns(bot=pl.lit(value=False)))


@pytest.mark.parametrize(
    ("share", "known", "strangers"),
    [(0.01, (60, 300), 2000), (0.05, (100, 100), 400), (0.2, (40, 40), 150), (0.5, (100, 100), 400)],
    ids=str,
)
def test_the_interval_among_strangers_holds_the_truth_as_often_as_it_says(share, known, strangers):
    draw = np.random.default_rng(11)

    found = [estimated(share, draw, known=known, strangers=strangers) for _ in range(RUNS)]

    assert sum(one.low <= share <= one.high for one in found) >= HOLDS
    assert np.median([one.bots for one in found]) == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize("share", [0.005, 0.05, 0.3])
def test_the_interval_of_reviewed_random_accounts_holds_the_truth_as_often_as_it_says(share):
    draw = np.random.default_rng(12)

    found = [share_at_random(reviewed(int(draw.binomial(200, share)), 200)) for _ in range(RUNS)]

    assert sum(one.low <= share <= one.high for one in found) >= HOLDS


def reviewed(bots, accounts, source="random-review", **columns):
    """LABELS of so many accounts that were drawn at random."""
    frame = pl.DataFrame(
        {
            "actor": [f"a{at}" for at in range(accounts)],
            "bot": [at < bots for at in range(accounts)],
            "source": source,
            **columns,
        }
    )
    return check(frame, LABELS, "test")


def test_bots_unlike_the_known_ones_make_the_estimate_too_low():
    draw = np.random.default_rng(13)

    found = [estimated(0.2, draw, apart=0.8) for _ in range(50)]

    # The known bots stand at 2.2, the unknown ones hide at 0.8: nothing in the scores can tell.
    assert sum(one.high < 0.2 for one in found) > 25


def test_a_detector_that_tells_nobody_apart_estimates_nothing():
    assert share_by_likeness(Rate(0.06, 50), Rate(0.05, 50), Rate(0.05, 500)) is None


def test_accounts_of_one_farm_count_as_one():
    alone, farm = (share_by_likeness(Rate(0.8, among), Rate(0.05, 100), Rate(0.3, 500)) for among in (90, 3))

    assert farm.high - farm.low > 1.5 * (alone.high - alone.low)


def test_nobody_unlabelled_means_no_estimate_among_them():
    assert share_among_strangers(evidence(20, 20, np.random.default_rng(1)), None) is None


def test_only_accounts_drawn_at_random_are_counted_and_each_once():
    drawn = reviewed(3, 100)
    banned = check(pl.DataFrame({"actor": ["b1", "b2"], "bot": True, "source": "ban"}), LABELS, "test")

    assert share_at_random(pl.concat([drawn, drawn, banned])) == share_at_random(drawn)
    assert share_at_random(drawn).accounts == 100
    assert share_at_random(drawn).bots == 0.03
    assert share_at_random(banned) is None


def test_an_account_that_one_rater_of_three_called_a_bot_widens_the_interval_on_both_sides():
    sure = share_at_random(reviewed(10, 100, votes=3))
    unsure = share_at_random(reviewed(10, 100, votes=[1] * 5 + [3] * 95))

    assert unsure.low < sure.low
    assert unsure.high == sure.high
    assert unsure.bots == 0.05


def test_what_is_known_is_said_with_how_to_write_it_down():
    told = "\n".join(share_notes(reviewed(6, 300), evidence(30, 30, np.random.default_rng(2)), None))

    assert "Of 300 accounts reviewed at random 2 % (95 %: 0.74 to 4.3 %) are bots" in told
    assert "write [population] bots = 0.02" in told


def random_note(bots, accounts, **columns):
    """The sentence about accounts reviewed at random."""
    scores = evidence(30, 30, np.random.default_rng(2))
    return next(iter(share_notes(reviewed(bots, accounts, **columns), scores, None)))


@pytest.mark.parametrize(
    ("accounts", "more", "needed", "share"),
    [(12, 47, 59, "5 %"), (58, 1, 59, "5 %"), (59, 240, 299, "1 %"), (300, "2,695", "2,995", "0.1 %")],
)
def test_no_bot_among_random_reviews_advises_more_reviews_and_no_share(accounts, more, needed, share):
    note = random_note(0, accounts)

    assert "[population]" not in note
    assert (
        f"accounts reviewed at random 0 % (95 %: 0 to {100 * upper_bound(0, accounts, 0.025):.2g} %) are bots" in note
    )
    assert f"review {more} more at random; {needed} find at least one of the bots in 95 of 100 cases if {share}" in note


def test_only_bots_among_random_reviews_advise_no_share_either():
    note = random_note(12, 12)

    assert note.startswith("Of 12 accounts reviewed at random 100 % (95 %: 74 to 100 %) are bots: this cannot tell yet")
    assert "[population]" not in note
    assert "if 5 % of all accounts are people" in note


def test_fewer_than_ten_random_reviews_advise_no_share():
    note = random_note(1, 9)

    assert "too few to say how common bots are: review 1 more at random" in note
    assert "[population]" not in note


@pytest.mark.parametrize("accounts", [10, 12, 29, 300, 1_717])
def test_the_advised_share_is_the_point_estimate_and_never_above_it(accounts):
    for bots in range(1, min(accounts, 60)):
        advised = float(random_note(bots, accounts).split("[population] bots = ")[1].split(" ")[0].rstrip("."))
        assert 0.9 * bots / accounts < advised <= bots / accounts


def test_accounts_without_agreement_are_named_where_no_share_is_advised():
    note = random_note(0, 12, votes=[1] * 4 + [0] * 8)

    assert "; 4 of them wait until two reviewers agree: review 47 more at random" in note
    assert share_at_random(reviewed(0, 12, votes=[1] * 4 + [0] * 8)).high == upper_bound(4, 12, 0.025)


def test_without_a_random_review_the_way_to_one_is_told():
    told = "\n".join(share_notes(reviewed(5, 20, source="rater"), evidence(30, 30, np.random.default_rng(2)), None))

    assert "label them with the source random-review" in told
