"""The promise of a verdict's FPR on days made of several rows (synthetic people whose short days look like a bot's).

The people of a reference and fresh ones are drawn alike. Over many drawings at most one fresh human in twenty may
have any day with an FPR of 1 in 20, of all days as of short ones alone.
"""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from gamewarden.core.binomial import chance_of_at_most
from gamewarden.core.durations import DAY
from gamewarden.errors import ModelError
from gamewarden.learning.days import Days
from gamewarden.learning.model_json import dump, load_part
from gamewarden.learning.reference import Reference, plain_json, sigmoid
from gamewarden.verdicts.combining import by_family, combine
from gamewarden.verdicts.periods import KEY, Clock, ModelInfo, roll_up

pytestmark = pytest.mark.integration

START = datetime(2026, 3, 1, tzinfo=UTC)
HALF = timedelta(minutes=30)
PROMISE, SURPRISE = 0.05, 1e-4
RUNS, KNOWN, FRESH = 30, 400, 60
SHORT = 2  # chunks of a short day


def people(draw, count, days=1):
    """Chunks of people: whoever plays a chunk or two a day looks like a bot, the others vary from day to day."""
    rows = []
    for who in range(count):
        brief = draw.random() < 0.2
        for day in range(days):
            chunks = int(draw.integers(1, SHORT + 1) if brief else draw.integers(6, 20))
            mood = draw.normal(1.5 if brief else 0.0, 1.0)
            rows += [
                (f"h{who}", START + timedelta(days=day) + at * HALF, float(mood + draw.normal(0, 0.5)))
                for at in range(chunks)
            ]
    frame = pl.DataFrame(rows, schema=["actor", "since", "held_out"], orient="row")
    return frame.with_columns(
        pl.col("since").dt.replace_time_zone("UTC") if frame["since"].dtype.time_zone is None else pl.col("since")
    ).with_columns(until=pl.col("since") + 2 * HALF, probability=sigmoid(frame["held_out"].to_numpy()))


def parts_of(known, fresh, days):
    """The fresh people's periods as a detector of chunks with these known humans sees them."""
    reference = Reference.of(known)
    scores = fresh.select(
        "actor",
        "since",
        "until",
        pl.lit("chunk").alias("detector"),
        pl.lit("chunk@1").alias("model"),
        "probability",
        pl.Series("fpr", reference.fpr(fresh["held_out"].to_numpy())),
        pl.lit(10, dtype=pl.Int64).alias("events"),
    )
    return roll_up(scores, {"chunk@1": ModelInfo("chunk", "actions", 0.5, days)}, Clock(DAY), 0.3)


def reached(days_of, *, a_month=False, runs=RUNS):
    """How many fresh people have a day that reaches 1 in 20, and how many there were: of all, and on short days."""
    found = np.zeros((2, 2), dtype=np.int64)
    for seed in range(runs):
        draw = np.random.default_rng(seed)
        days = 3 if a_month else 1
        known = people(draw, KNOWN, days)
        parts = parts_of(known, people(draw, FRESH, days), days_of(known))
        able = parts.select(*KEY, families=1)
        fpr = combine(parts, able, 0.3, 0.5).join(parts.select("actor", "since", "rows"), on=("actor", "since"))
        for at, part in enumerate((fpr, fpr.filter(pl.col("rows") <= SHORT))):
            lowest = part.group_by("actor").agg(pl.col("fpr").min())["fpr"]
            found[at] += (lowest <= PROMISE).sum(), lowest.len()
    return found.tolist()


def whole_days(known):
    return Days.of(known, None)


def surprising(count, seen):
    """Whether so many or more would be reached by less than one chance in ten thousand."""
    return 1 - chance_of_at_most(count - 1, seen, PROMISE) < SURPRISE


@pytest.mark.parametrize("a_month", [False, True], ids=["a day each", "several days each"])
def test_one_in_twenty_people_at_most_have_a_day_at_one_in_twenty_of_all_days_and_of_short_ones(a_month):
    everyone, short = reached(whole_days, a_month=a_month)

    assert not surprising(*everyone)
    assert not surprising(*short)
    assert everyone[0] > 0.01 * everyone[1]


def test_a_mean_of_chunks_is_caught_breaking_its_promise_to_short_days():
    # Each person counts by the most bot-like chunk, so the fault is smaller than it was: more draws show it as surely.
    _, short = reached(lambda _: None, runs=3 * RUNS)

    assert surprising(*short)


def test_one_rank_for_days_of_all_lengths_is_caught_breaking_its_promise_to_short_ones():
    _, short = reached(lambda known: one_length(Days.of(known, None)))

    assert surprising(*short)


def one_length(days):
    return replace(days, by_length={1: days.pooled})


def test_a_family_agrees_by_the_fpr_of_its_whole_day():
    draw = np.random.default_rng(1)
    known = people(draw, KNOWN)
    parts = parts_of(known, people(draw, FRESH), whole_days(known))

    assert by_family(parts)["own_fpr"].to_list() == parts["fpr"].to_list()
    assert parts["voices"].unique().to_list() == [1]


def test_a_day_ranks_the_same_alone_as_in_a_crowd():
    draw = np.random.default_rng(2)
    known, fresh = people(draw, 40), people(draw, 10, 3)
    parts = parts_of(known, fresh, whole_days(known))

    alone = [parts_of(known, part, whole_days(known)) for part in fresh.partition_by("actor")]

    assert pl.concat(alone).sort("actor", "since").equals(parts)


def test_periods_of_another_length_or_clock_are_not_ranked_among_days():
    draw = np.random.default_rng(3)
    known, fresh = people(draw, 40), people(draw, 10)
    whole = Days.of(known, "Asia/Seoul")
    scores = fresh.select(
        *("actor", "since", "until", "probability"),
        detector=pl.lit("chunk"),
        model=pl.lit("chunk@1"),
        fpr=pl.lit(0.3),
        events=pl.lit(10, dtype=pl.Int64),
    )
    infos = {"chunk@1": ModelInfo("chunk", "actions", 0.5, whole)}

    for cut, ranked in ((Clock(DAY), False), (Clock(7 * DAY, "Asia/Seoul"), False), (Clock(DAY, "Asia/Seoul"), True)):
        parts = roll_up(scores, infos, cut, 0.3)
        assert (parts["voices"].max() == 1) is ranked
        assert (parts["fpr"].n_unique() > 1) is ranked


def test_a_day_longer_than_any_humans_is_compared_with_the_longest():
    draw = np.random.default_rng(4)
    whole = Days.of(people(draw, KNOWN), None)
    longest = max(whole.by_length)

    assert whole.fpr(np.array([9.0]), np.array([1000]))[0] == 1 / (whole.by_length[longest].humans + 1)
    assert whole.by_length[longest].humans >= 0.2 * whole.pooled.humans


def test_days_that_come_back_from_a_file_rank_as_before():
    draw = np.random.default_rng(6)
    parts = {length: Reference.of(humans_of(draw, length)) for length in (1, 2, 4, 8, 16, 32)}
    whole = Days(DAY, "UTC", parts[1], parts)
    stored = json.loads(json.dumps(dump(whole), sort_keys=True))
    back = load_part(Days, stored, "chunk@1")
    means, rows = draw.normal(0, 2, 400), draw.integers(1, 70, 400)

    assert list(back.by_length) != list(whole.by_length)
    assert back.fpr(means, rows).tolist() == whole.fpr(means, rows).tolist()
    alone = [back.fpr(means[at : at + 1], rows[at : at + 1])[0] for at in range(400)]
    assert alone == whole.fpr(means, rows).tolist()


def humans_of(draw, length):
    return pl.DataFrame({"actor": [f"h{at}" for at in range(30)], "held_out": draw.normal(length / 10, 1, 30)})


def test_humans_with_one_row_a_day_need_no_days():
    draw = np.random.default_rng(5)

    assert Days.of(people(draw, 30).unique("actor"), None) is None
    assert Days.of(people(draw, 30).clear(), None) is None


def test_days_come_back_from_json_as_they_were():
    whole = Days.of(people(np.random.default_rng(6), 30), "Asia/Seoul")

    assert load_part(Days, plain_json(dump(whole)), "chunk@1") == whole


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("every", 0),
        ("every", 10**18),
        ("time_zone", "Middle/Earth"),
        ("time_zone", None),
        ("pooled", []),
        ("by_length", {}),
        ("by_length", {"0": {}}),
        ("by_length", {"many": {}}),
        ("by_length", {"1": {"values": [1.0], "weights": [2.0], "humans": 1}}),
    ],
    ids=str,
)
def test_days_that_were_tampered_with_are_refused_in_one_line(key, value):
    values = plain_json(dump(Days.of(people(np.random.default_rng(6), 30), None)))
    load_part(Days, values, "chunk@1")

    with pytest.raises(ModelError, match="fit it again") as refused:
        load_part(Days, {**values, key: value}, "chunk@1")

    assert "\n" not in str(refused.value)


def test_a_budget_counts_a_person_by_the_lowest_fpr_of_its_whole_days():
    rows = people(np.random.default_rng(7), 30, 3).with_columns(group="account " + pl.col("actor").str.slice(0, 2))
    whole = Days.of(rows, None)

    counted = whole.people(rows)

    parts = parts_of(rows, rows, whole).with_columns(group="account " + pl.col("actor").str.slice(0, 2))
    lowest = parts.group_by("group").agg(pl.col("fpr").min())["fpr"].sort().to_list()
    assert list(counted.lowest) == pytest.approx(lowest)
    assert set(counted.days) == {3.0}
