"""The world whose players leave three traces: the same names, times and sessions in each, and the same by seed."""

import json

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from commands import done, run
from gamewarden import readers
from gamewarden.errors import ConfigError
from gamewarden.features.session.recipe import Sessions
from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.lab.world.traces import FAMILIES, Traces
from gamewarden.tables import EVENTS, FrameMessages, FramePackets

MOMENT = pl.duration(seconds=1)


@pytest.fixture(scope="module")
def world():
    return Traces(60, 1, seed=3, minutes=11)


@pytest.fixture(scope="module")
def log(world):
    columns = ("actor", "at", "kind", "session", "other")
    parts = [pl.DataFrame(pl.from_arrow(batch)) for batch in world.batches(columns)]
    return pl.concat([part.cast(dict.fromkeys(("actor", "kind", "session", "other"), pl.String)) for part in parts])


@pytest.fixture(scope="module")
def packets(world):
    return world.packets()


@pytest.fixture(scope="module")
def messages(world):
    return world.messages()


def test_everybody_in_the_log_is_in_the_packets_and_messages_by_the_same_name(world, log, packets, messages):
    names = set(log["actor"])

    assert names == set(packets["actor"]) == set(messages["actor"])
    assert names <= set(world.labels()["actor"])
    assert set(log["other"].drop_nulls()) <= set(world.labels()["actor"])


def test_packets_and_messages_lie_in_the_sessions_of_the_log(world, log, packets, messages):
    sessions = log.group_by("actor", "session").agg(since=pl.col("at").min(), until=pl.col("at").max())
    assert sessions.height == world.sessions.height
    for trace in (packets.filter(pl.col("up")), messages):
        placed = (
            trace.select("actor", "at")
            .sort("at")
            .join_asof(sessions.sort("since"), left_on="at", right_on="since", by="actor", check_sortedness=False)
        )
        assert placed["since"].null_count() == 0
        assert (placed["at"] <= pl.select(placed["until"] + MOMENT).to_series()).all()
        assert placed.select("actor", "session").n_unique() == sessions.height


def test_the_tap_sees_the_first_minutes_of_a_session(packets, messages):
    for trace in (packets, messages):
        spans = trace.sort("at").group_by("actor").agg((pl.col("at").diff() > pl.duration(minutes=11)).sum())
        assert spans["at"].sum() >= 0
    lengths = messages.group_by("session").agg(pl.col("at").max() - pl.col("at").min())["at"]
    assert lengths.max() <= pl.Series([11 * 60_000_000]).cast(pl.Duration("us"))[0]


def test_the_same_seed_gives_the_same_traces_and_another_seed_others(world, packets, messages):
    again, other = Traces(60, 1, seed=3, minutes=11), Traces(60, 1, seed=4, minutes=11)

    assert_frame_equal(again.packets(), packets)
    assert_frame_equal(again.messages(), messages)
    assert again.truth() == world.truth()
    assert not other.packets().equals(packets)
    assert other.truth() != world.truth()


def test_every_family_is_there_as_often_and_no_name_tells_it(world):
    labels = world.labels()
    counts = labels.filter(pl.col("bot"))["family"].value_counts()

    assert set(counts["family"]) == set(FAMILIES)
    assert counts["count"].max() - counts["count"].min() <= 1
    assert labels["actor"].str.len_chars().n_unique() == 1


@pytest.mark.integration
def test_families_show_in_the_traces_they_are_meant_to_show_in():
    world = Traces(240, 1, seed=5, minutes=12)
    labels = world.labels().select("actor", "family", "bot")
    windows = TrafficTest().measure(FramePackets(world.packets())).select("actor", pl.col("bot").cast(pl.Float64))
    sessions = Sessions().measure(FrameMessages(world.messages())).select("actor", "move_gap_ms", "turn_to_take_ms")
    called = windows.rename({"bot": "called"}).join(labels, on="actor")
    people = called.filter(~pl.col("bot"))["called"].mean()
    by_family = dict(called.filter(pl.col("bot")).group_by("family").agg(pl.col("called").mean()).iter_rows())

    assert by_family["macro"] > 4 * people
    assert by_family["open"] > 4 * people
    assert by_family["paced"] < 2 * people
    assert by_family["clientless"] < 2 * people
    turns = sessions.join(labels, on="actor").group_by("family").agg(pl.col("turn_to_take_ms").median())
    typical = dict(turns.iter_rows())
    assert typical["clientless"] < 1200 < typical["casual"]
    assert typical["macro"] > 1200


def test_a_number_out_of_range_is_named():
    with pytest.raises(ConfigError, match="minutes is 0"):
        Traces(10, minutes=0)
    with pytest.raises(ConfigError, match="accounts is 0"):
        Traces(0)


def test_the_command_writes_traces_that_are_read_back_as_they_were_played(tmp_path, world, packets, messages):
    done("world", tmp_path / "w", "--traces", "--accounts", 60, "--days", 1, "--seed", 3, "--minutes", 11)
    place = tmp_path / "w"

    log, stored = readers.open(place / "events.parquet").events(), readers.open(place / "sessions")
    assert sum(batch.num_rows for batch in log.batches(("actor",))) == sum(
        batch.num_rows for batch in world.batches(("actor",))
    )
    assert set(EVENTS.columns) == set(log.columns)
    columns = ("actor", "at", "up", "size")
    assert_frame_equal(pl.read_parquet(place / "packets.parquet").select(columns), packets.select(columns))
    back = pl.concat([pl.DataFrame(pl.from_arrow(batch)) for batch in stored.messages().batches(("actor", "at"))])
    told = back.with_columns(pl.col("actor").cast(pl.String)).sort("actor", "at")
    assert_frame_equal(told, messages.select("actor", "at").sort("actor", "at"))
    assert json.loads((place / "truth.json").read_text()) == world.truth()
    assert pl.read_csv(place / "labels.csv")["actor"].cast(pl.String).to_list() == world.labels()["actor"].to_list()


def test_traces_are_no_year_and_no_ragnarok(tmp_path):
    ended = run("world", tmp_path, "--traces", "--year")

    assert ended.returncode == 2
    assert "--traces" in ended.stderr
