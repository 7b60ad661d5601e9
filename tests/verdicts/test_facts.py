"""What a list of accounts is filtered by beside its scores: money, kinds of events, accounts that share an address."""

import io

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from commands import done, run
from gamewarden import pipeline, readers
from gamewarden.core.clock import Clock
from gamewarden.core.durations import DAY
from gamewarden.features.addresses import addresses_by_period
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.tables import FrameEvents
from gamewarden.verdicts.facts import Facts, sharing_of
from made_up import START, action_log, labels_of


def at_addresses(*pairs):
    return pl.DataFrame(pairs, schema=["actor", "address"], orient="row")


def test_an_account_shares_the_address_at_which_most_others_were_seen():
    found = sharing_of(
        at_addresses(("a", "1"), ("b", "1"), ("c", "1"), ("c", "2"), ("d", "2"), ("e", "3"), ("a", "1"), ("e", "3"))
    )

    assert dict(found.sort("actor").iter_rows()) == {"a": 2, "b": 2, "c": 2, "d": 1, "e": 0}


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 3), st.integers(0, 71)), min_size=1, max_size=40))
def test_addresses_of_each_day_joined_share_as_those_of_all_days_together(rows):
    frame = pl.DataFrame(rows, schema=["actor", "ip", "hour"], orient="row").select(
        "actor",
        pl.col("ip").cast(pl.String),
        (pl.lit(START) + pl.duration(hours="hour")).alias("at"),
        kind=pl.lit("move"),
        zone=pl.lit("x"),
    )
    clock = Clock(DAY)

    days = [
        addresses_by_period(FrameEvents(day), clock)
        for day in frame.with_columns(pl.col("at").dt.date().alias("day")).partition_by("day", include_key=False)
    ]

    together = addresses_by_period(FrameEvents(frame, batch=7), clock)
    assert_frame_equal(pl.concat(days).sort("actor", "address", "since"), together)
    assert_frame_equal(sharing_of(pl.concat(days)).sort("actor"), sharing_of(together).sort("actor"))


def test_facts_are_sums_over_all_periods_and_unknown_where_no_period_says_them():
    activity = pl.DataFrame(
        {
            "actor": ["a", "a", "b"],
            "money_gained": [1.0, 2.0, None],
            "addresses": [1, 3, None],
            "chat": [4, 5, None],
        },
        schema_overrides={"money_gained": pl.Float64},
    )

    found = Facts(kinds=("chat",)).of(activity).sort("actor")

    assert found.rows() == [("a", 3.0, 3, 9), ("b", None, None, None)]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A log in which bots sell and humans do not, three bots share an address, and human000 alone chats."""
    place = tmp_path_factory.mktemp("facts")
    bot, chats = pl.col("actor").str.starts_with("bot"), pl.col("kind") == "chat"
    log = action_log().with_columns(
        pl.when(pl.col("kind") == "npc.sell").then(pl.when(bot).then(100.0).otherwise(1.0)).alias("amount"),
        pl.when(pl.col("actor").is_in(["bot001", "bot002", "bot003"]))
        .then(pl.lit("10.0.0.1"))
        .otherwise(pl.col("actor"))
        .alias("ip"),
        pl.when(chats & (pl.col("actor") == "human000"))
        .then(pl.lit("chat.shout"))
        .otherwise(pl.col("kind"))
        .alias("kind"),
    )
    log.write_parquet(place / "log.parquet")
    labels_of(12, 14, source="rater").write_csv(place / "labels.csv")
    recipe = pipeline.detector_recipe("account-day", SelfSimilarity(min_windows=10), {})
    pipeline.fit(recipe, readers.open(place / "log.parquet"), place / "labels.csv", place / "models")
    return place


def ranked(place, *asked, source="log.parquet"):
    arguments = ("rank", place / source, "--models", place / "models", "--probability", 0, "--top", 0)
    return done(*arguments, *asked)


def listed(place, *asked):
    return pl.read_csv(io.StringIO(ranked(place, *asked, "--out", "-").stdout))


def test_a_list_can_be_of_those_who_gained_money(place):
    rich = listed(place, "--money", "2000:")

    assert 0 < rich.height < 20
    assert rich["money_gained"].min() >= 2000
    assert set(rich["actor"].str.head(3)) == {"bot"}
    poor = listed(place, "--money", ":1999")
    assert rich.height + poor.height == listed(place).height


def test_a_list_can_be_of_those_who_share_an_address(place):
    assert listed(place, "--shares-address", 2)["actor"].sort().to_list() == ["bot001", "bot002", "bot003"]
    assert listed(place, "--shares-address", 3).is_empty()
    assert listed(place, "--shares-address")["sharing"].to_list() == [2, 2, 2]


def test_a_list_can_be_of_those_with_events_of_a_kind_and_shows_how_many(place):
    found = listed(place, "--kind", "chat.shout")

    assert found["actor"].to_list() == ["human000"]
    assert found["chat.shout"][0] > 10
    assert "chat.shout" in ranked(place, "--kind", "chat.shout").stdout
    assert listed(place, "--kind", "chat.shout", "--where", "chat.shout<2").is_empty()


def test_what_a_log_cannot_answer_is_said_in_one_line_before_anything_is_measured(place):
    plain = pl.read_parquet(place / "log.parquet").drop("amount", "ip")
    plain.write_parquet(place / "plain.parquet")
    arguments = ("--models", place / "models", "--probability", 0)

    for asked, says in (
        (("--money", "5"), "has no amount; leave --money out"),
        (("--shares-address",), "has no ip; leave --shares-address out"),
        (("--kind", "fishing.bite"), "shows no event of kind 'fishing.bite'; it shows chat"),
        (("--kind", "level"), "'level'"),
        (("--money", "much"), "is not FROM, FROM:TO or :TO"),
    ):
        ended = run("rank", place / "plain.parquet", *arguments, *asked)
        assert (ended.returncode, ended.stderr.count("\n")) == (1, 1), ended.stderr
        assert says in ended.stderr
