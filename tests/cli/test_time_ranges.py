"""Only what happened in a stretch of time: every command that measures takes --since, --until and --last."""

import io
import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import gamewarden as gw
import ragnarok_bytes as ro
from commands import apart, done, run
from gamewarden import pipeline, readers
from gamewarden.core.coverage import Coverage
from gamewarden.core.durations import DAY, HOUR, to_micros
from gamewarden.core.time_ranges import TimeRange
from gamewarden.errors import ConfigError, ReadError, Remark
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.readers.options import SourceOptions
from made_up import START, labels_of, play_days
from messages_made_up import message_frame
from packets_made_up import mixture

EVENTS = ("actor", "at", "kind")


def day(number, hours=0.0):
    return START + timedelta(days=number, hours=hours)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The log as a file and as a lake, and a model of its days."""
    place = tmp_path_factory.mktemp("ranges")
    play_days().write_parquet(place / "log.parquet")
    labels_of(12, 14, source="rater").write_csv(place / "labels.csv")
    pipeline.read(readers.open(place / "log.parquet"), place / "lake")
    recipe = pipeline.detector_recipe("account-day", SelfSimilarity(min_windows=10), {})
    pipeline.fit(recipe, readers.open(place / "log.parquet"), place / "labels.csv", place / "models")
    return place


@pytest.fixture(params=["log.parquet", "lake"])
def source(request, place):
    return place / request.param


def table(*arguments):
    return pl.read_csv(io.StringIO(done(*arguments, "--out", "-").stdout), try_parse_dates=True)


def within(source, **asked):
    return readers.open(source, SourceOptions(time_range=TimeRange(**asked)))


def rows_of(stream, columns=EVENTS):
    return pl.concat([pl.DataFrame(pl.from_arrow(batch)) for batch in stream.batches(list(columns))])


def test_a_stretch_holds_its_first_moment_and_not_its_last(source):
    moments = play_days()["at"].sort()
    since, until = moments[100], moments[5000]

    at = rows_of(within(source, since=since, until=until).events())["at"]

    assert (at.min(), at.max() < until, len(at)) == (since, True, int(((moments >= since) & (moments < until)).sum()))


def test_a_measured_stretch_is_what_a_log_of_that_time_measures(source, tmp_path):
    play_days().filter(pl.col("at") >= day(1), pl.col("at") < day(3)).write_parquet(tmp_path / "short.parquet")

    cut = table("measure", "self-similarity", source, "--since", "2026-03-02", "--until", "2026-03-04T00:00:00Z")

    assert cut["since"].n_unique() == 2
    assert_frame_equal(cut, table("measure", "self-similarity", tmp_path / "short.parquet"))


def test_the_last_days_are_those_of_the_newest_event(source):
    last = table("measure", "activity", source, "--last", "2d")

    assert sorted(set(last["since"])) == [day(2), day(3)]


def test_the_last_hours_are_counted_to_the_microsecond(source):
    newest = play_days()["at"].max()

    at = rows_of(within(source, last=HOUR).events())["at"]

    assert at.max() == newest
    assert at.min() > newest - timedelta(hours=1)
    assert len(at) == int((play_days()["at"] > newest - timedelta(hours=1)).sum())


def test_the_last_days_before_a_moment_end_there(source):
    found = rows_of(within(source, last=DAY, until=day(2)).events())

    assert {at.date() for at in found["at"]} == {day(1).date()}


def test_times_without_a_zone_and_days_are_those_of_the_time_zone(source):
    # 01:30 in Auckland is noon of the day before in UTC.
    told = done("measure", "activity", source, "--since", "2026-03-04T00:00", "--time-zone", "Pacific/Auckland")

    assert "from 2026-03-04 on (Pacific/Auckland) counts" in told.stderr
    ranged = TimeRange(last=DAY, time_zone="Pacific/Auckland").counted_back(to_micros(day(0, 12)))
    assert ranged.since == day(0, 11)


def test_a_cut_day_is_covered_in_part_and_not_scored(source, place):
    whole = table("score", source, "--models", place / "models")
    ended = done("score", source, "--models", place / "models", "--since", day(1, 12).isoformat(), "--out", "-")
    cut = pl.read_csv(io.StringIO(ended.stdout), try_parse_dates=True)

    assert whole.filter(pl.col("since") == day(1))["probability"].null_count() == 0
    assert cut.filter(pl.col("since") == day(1))["probability"].drop_nulls().is_empty()
    later = pl.col("since") > day(1)
    assert_frame_equal(cut.filter(later), whole.filter(later))
    assert "a period that reaches beyond is not whole" in ended.stderr


def test_a_lake_judged_in_a_stretch_stays_parted_and_gives_the_same_verdicts(place):
    options = {"since": day(1), "until": day(3)}
    lake, file = within(place / "lake", **options), within(place / "log.parquet", **options)

    lean, known = pipeline.judge_lean(lake, place / "models"), pipeline.judge(file, place / "models")

    assert lake.parted() is not None
    assert type(lean).__name__ == "Lean"
    assert_frame_equal(lean.verdicts.sort("actor", "since"), known.verdicts.sort("actor", "since"))
    assert any("counts; a period" in line for line in lean.notes)


def test_days_outside_the_stretch_are_not_opened(place, tmp_path):
    pipeline.read(readers.open(place / "log.parquet"), tmp_path / "lake")
    for part in (tmp_path / "lake").glob(f"day={day(0):%Y-%m-%d}/*.parquet"):
        part.unlink()

    assert run("measure", "self-similarity", tmp_path / "lake").returncode == 1
    assert table("measure", "self-similarity", tmp_path / "lake", "--last", "3d")["since"].n_unique() == 3


def test_every_command_that_shows_or_measures_takes_a_stretch(place):
    models, asked = ("--models", place / "models"), ("--last", "2d", "--out", "-")

    for command in (
        ("rank", place / "lake", *models, "--probability", 0),
        ("explain", "bot001", place / "lake", *models),
        ("judge", place / "lake", *models),
        ("evaluate", place / "lake", "--labels", place / "labels.csv", "--detector", "account-day", "--folds", 2),
    ):
        text = done(*command, *asked).stdout
        assert f"{day(0):%Y-%m-%d}" not in text, command


def test_a_list_says_how_to_get_the_same_stretch_again(place):
    told = done("rank", place / "lake", "--models", place / "models", "--probability", 0, "--last", "2d").stderr

    assert f"--since {day(2):%Y-%m-%d}T00:00:00Z" in told


def test_packets_outside_the_stretch_are_left_out():
    packets = mixture()
    since = packets["at"].sort()[1000]

    found = rows_of(within(packets, since=since).packets(), ("actor", "at", "up", "size"))

    assert_frame_equal(found.cast({"actor": pl.String}), packets.filter(pl.col("at") >= since))


def test_messages_outside_the_stretch_and_without_a_time_are_left_out():
    second = 1_000_000
    rows = [(one, "a", None if one == 3 else one * second, "walktoxy", 1, 2, None) for one in range(6)]
    stream = within(message_frame(rows), since=datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)).messages()

    found = rows_of(stream, ("session",))["session"].to_list()

    assert found == [2, 4, 5]
    assert (stream.messages, stream.sessions) == (3, 3)
    assert any("1 message without a time" in line for line in stream.notes)


def test_rows_of_an_account_table_have_no_time():
    with pytest.raises(ReadError, match="have no time; leave --since"):
        within(pl.DataFrame({"account": ["a"]}), since=day(0)).rows()


def test_a_stretch_that_begins_twice_or_holds_no_time_is_wrong_usage(source):
    for asked, says in (
        (("--last", "1d", "--since", "2026-03-01"), "give one of them"),
        (("--since", "2026-03-02", "--until", "2026-03-02"), "no time lies between"),
        (("--since", "yesterday"), "is not ISO 8601"),
        (("--since", "0001-01-01T00:00:00+14:00"), "beyond the calendar"),
    ):
        ended = run("measure", "activity", source, *asked)
        assert (ended.returncode, says in " ".join(ended.stderr.split())) == (2, True), ended.stderr


def test_standard_input_has_no_newest_row_before_it_is_read():
    ended = apart("measure", "activity", "-", "--last", "1d", input="actor,at,kind\n")

    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert "is read only once" in ended.stderr


def test_more_days_than_the_calendar_has_are_one_line():
    with pytest.raises(ConfigError, match="give a shorter time"):
        TimeRange(last=3000 * DAY).counted_back(to_micros(datetime(2, 1, 1, tzinfo=UTC)))


@given(
    st.lists(st.integers(0, 60), max_size=8, unique=True).map(sorted),
    st.integers(0, 60),
    st.integers(1, 30),
)
def test_what_is_missing_within_a_stretch_is_what_was_missing_and_all_outside(ends, first, length):
    known = Coverage(tuple(zip(ends[::2], ends[1::2], strict=False)))
    cut = known.within(first, first + length)

    for at in range(70):
        missing = known.share(at, at + 1) == 0
        assert (cut.share(at, at + 1) == 0) == (missing or not first <= at < first + length)
    assert all(one[1] < other[0] for one, other in pairwise(cut.missing))


@pytest.mark.filterwarnings("ignore::gamewarden.errors.Remark")
def test_a_notebook_asks_for_a_stretch_in_the_same_words(place):
    with pytest.warns(Remark, match="from 2026-03-03 on"):
        scores = gw.score(place / "lake", place / "models", last="2d")
    with pytest.warns(Remark, match="before 2026-03-02 "):
        rows = gw.measure(play_days(), "activity", until="2026-03-02", last=timedelta(days=1), time_zone="Asia/Seoul")

    assert scores["since"].unique().sort().to_list() == [day(2), day(3)]
    assert rows["since"].unique().to_list() == [day(0, -9)]


def test_a_length_that_is_none_is_named():
    for last in (7, "soon", timedelta(0)):
        with pytest.raises(ConfigError, match="write for example"):
            gw.measure(play_days(), "activity", last=last)


def test_a_time_at_the_edge_of_the_calendar_is_shown_all_the_same(source):
    for asked in (("--since", "0001-01-01T00:00:00Z"), ("--until", "9999-12-31T23:59:59Z")):
        for zone in ("America/New_York", "Pacific/Auckland"):
            told = done("measure", "activity", source, *asked, "--time-zone", zone).stderr
            assert "counts; a period" in told


def test_verdicts_on_whole_days_of_a_stretch_hold_against_the_whole_source(place, tmp_path):
    asked = ("judge", place / "lake", "--models", place / "models", "--to", tmp_path, "--all")
    done(*asked, "--since", "2026-03-02", "--until", "2026-03-04")

    ended = done("verify", tmp_path, "--models", place / "models", "--source", place / "lake", "--out", "-")

    assert pl.read_csv(io.StringIO(ended.stdout))["holds"].all()


@pytest.fixture(scope="module")
def streams(tmp_path_factory):
    """A folder of two packetstreams of twenty steps each, the second a day after the first."""
    folder, second = tmp_path_factory.mktemp("streams"), 1_000_000
    for name, begin in (("a", to_micros(day(0, 10))), ("b", to_micros(day(1, 10)))):
        steps = b"".join(ro.tag(begin + at * second) + ro.walk(100 + at, 5) for at in range(20))
        (folder / f"{name}.adam").write_bytes(ro.tag(begin) + ro.connect(7, 8) + steps)
    return folder


def test_the_last_day_of_a_folder_is_that_of_its_newest_message(streams):
    every, last = (
        pl.DataFrame(json.loads(done("packets", streams, "--json", *asked).stdout)) for asked in ((), ("--last", "1d"))
    )

    assert (every.height, last.height) == (42, 21)
    assert set(last["at"].str.head(10)) == {f"{day(1):%Y-%m-%d}"}
    sessions = table("measure", "session", streams, "--last", "10s")
    assert sessions["events"].to_list() == [10]


def test_a_message_table_has_no_times(tmp_path):
    (tmp_path / "packet_db.txt").write_text("packet_ver: 5\n0x0064,55,loginrequest,2\n")

    ended = run("packets", tmp_path / "packet_db.txt", "--last", "1d")

    assert (ended.returncode, "has no times" in ended.stderr) == (2, True), ended.stderr


def test_a_packet_log_is_measured_in_the_stretch_alone(tmp_path):
    packets = mixture()
    packets.write_parquet(tmp_path / "all.parquet")
    newest = packets["at"].max()
    packets.filter(pl.col("at") > newest - timedelta(minutes=5)).write_parquet(tmp_path / "last.parquet")

    last = table("measure", "traffic", tmp_path / "all.parquet", "--last", "5m")

    assert_frame_equal(last, table("measure", "traffic", tmp_path / "last.parquet"))
