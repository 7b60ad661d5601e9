"""Several logs as one source, datasets whose directories are columns, and a log on standard input."""

import gzip
import subprocess
from datetime import UTC, datetime, timedelta

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

from commands import GAMEWARDEN, done, run
from gamewarden import readers
from gamewarden.errors import ReadError
from gamewarden.readers.options import LogOptions, SourceOptions
from gamewarden.readers.places import places
from gamewarden.store.lake import Lake

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
COLUMNS = ("actor", "at", "kind", "zone")


def play(rows=40):
    return pl.DataFrame(
        {
            "actor": [f"p{number % 7}" for number in range(rows)],
            "at": [START + timedelta(seconds=number) for number in range(rows)],
            "kind": ["combat.kill" if number % 3 else "loot.item" for number in range(rows)],
            "zone": [f"z{number % 5}" for number in range(rows)],
        }
    ).with_columns(pl.col("at").dt.cast_time_unit("us"))


def as_csv(frame):
    return frame.write_csv(datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ").encode()


def everything(stream, columns=COLUMNS):
    table = pa.Table.from_batches([batch.cast(_plain(batch)) for batch in stream.batches(columns)])
    return pl.DataFrame(pl.from_arrow(table))


def _plain(batch):
    text = {pa.string(), pa.large_string()}
    types = [pa.string() if pa.types.is_dictionary(one.type) or one.type in text else one.type for one in batch.schema]
    return pa.schema(list(zip(batch.schema.names, types, strict=True)))


@pytest.fixture
def logs(tmp_path):
    """A log in three files of three formats, and one that is still empty."""
    (tmp_path / "a.csv").write_bytes(as_csv(play().head(10)))
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(as_csv(play().slice(10, 10))))
    play().slice(20).write_parquet(tmp_path / "c.parquet")
    (tmp_path / "d.csv").touch()
    return tmp_path


@pytest.mark.parametrize("how", ["a directory", "a pattern", "places"])
def test_several_logs_are_read_one_after_the_other(logs, how):
    locator = {"a directory": logs, "a pattern": f"{logs}/*", "places": list(places(f"{logs}/*"))}[how]
    source = readers.open(locator)

    events = source.events()

    assert_frame_equal(everything(events), play())
    assert events.columns == set(COLUMNS)
    assert dict(events.shows) == dict(play().group_by("kind").len().rows())
    assert [part.path.name for part in source.parts] == ["a.csv", "b.csv.gz", "c.parquet"]


def test_several_logs_are_measured_as_the_lake_of_them_is(logs, tmp_path):
    lake = tmp_path / "lake"
    done("read", logs / "*", "--to", lake)

    told = [done("measure", "activity", place, "--json").stdout for place in (f"{logs}/*.*", lake)]

    assert told[0] == told[1]
    assert len(Lake(lake).sources) == 3


def test_a_part_of_the_time_and_of_the_actors_of_several_logs_can_be_read(logs):
    until = START + timedelta(seconds=25)

    some = everything(readers.open(logs).events(START, until, {"p1"}))

    assert_frame_equal(some, play().filter(pl.col("at") < until, pl.col("actor") == "p1"))


def test_the_fingerprint_of_several_logs_is_another_when_one_changes(logs):
    before = readers.open(logs).fingerprint()
    (logs / "a.csv").write_bytes(as_csv(play().head(9)))

    assert readers.open(logs).fingerprint() != before


def test_a_bad_file_among_several_is_named(logs):
    (logs / "b.csv.gz").write_bytes(b"what,is,this\n1,2,3\n")

    with pytest.raises(ReadError, match=r"b\.csv\.gz: lacks actor, at, kind"):
        everything(readers.open(logs).events())


def test_several_files_are_no_one_log_and_no_packets(logs):
    source = readers.open(logs)

    for refused in (source.log, source.packets, source.rows):
        with pytest.raises(ReadError) as caught:
            refused()
        assert "\n" not in str(caught.value)


def test_a_pattern_without_files_is_one_line_with_exit_1(tmp_path):
    for arguments in (("lint", tmp_path / "*.csv"), ("read", tmp_path / "*.csv", "--to", tmp_path / "lake")):
        told = run(*arguments)

        assert told.returncode == 1
        assert len(told.stderr.strip().splitlines()) == 1
        assert "no file is called so; check the pattern" in told.stderr


@pytest.fixture(params=["parquet", "csv", "jsonl"])
def dataset(request, tmp_path):
    """One row in each of four directories, with the same bytes in all."""
    row = play(1).select("actor", pl.col("at").dt.strftime("%Y-%m-%dT%H:%M:%SZ"), "kind")
    for server in ("a%2Fb", "__HIVE_DEFAULT_PARTITION__"):
        for day in ("2026-03-01", "2026-03-02"):
            file = tmp_path / "data" / f"server={server}" / f"day={day}" / f"part.{request.param}"
            file.parent.mkdir(parents=True)
            write = {"parquet": row.write_parquet, "csv": row.write_csv, "jsonl": row.write_ndjson}[request.param]
            write(file)
    return tmp_path / "data"


def test_directories_of_a_dataset_are_columns_that_a_mapping_may_name(dataset, tmp_path):
    (tmp_path / "map.toml").write_text('[columns]\nzone = "server"\nsession = "day"\n')
    asked = SourceOptions(LogOptions(mapping=str(tmp_path / "map.toml")))

    events = readers.open(dataset, asked).events()

    assert everything(events, ("zone", "session")).rows() == [
        (None, "2026-03-01"),
        (None, "2026-03-02"),
        ("a/b", "2026-03-01"),
        ("a/b", "2026-03-02"),
    ]
    assert events.columns >= {"zone", "session"}


def test_directories_that_nobody_names_are_no_columns(dataset):
    events = readers.open(dataset).events()

    assert not events.columns & {"zone", "session"}


def test_the_same_bytes_in_two_directories_are_two_logs_where_the_directory_is_a_column(dataset, tmp_path):
    (tmp_path / "map.toml").write_text('[columns]\nzone = "server"\nsession = "day"\n')
    asked = SourceOptions(LogOptions(mapping=str(tmp_path / "map.toml")))
    lake = Lake(tmp_path / "lake")

    added = [lake.add(readers.open(place, asked).log()) for place in [*places(str(dataset)), *places(str(dataset))]]

    assert [one.new for one in added] == [1, 1, 1, 1, 0, 0, 0, 0]
    assert min(everything(lake.events(), ("zone", "session")).rows(), key=str) == ("a/b", "2026-03-01")


def test_the_same_bytes_in_two_directories_are_one_log_where_nobody_names_them(dataset, tmp_path):
    lake = Lake(tmp_path / "lake")

    added = [lake.add(readers.open(place).log()) for place in places(str(dataset))]

    assert [one.new for one in added] == [1, 0, 0, 0]


def test_a_column_of_the_file_counts_before_a_directory_of_its_name(tmp_path):
    file = tmp_path / "zone=outside" / "part.parquet"
    file.parent.mkdir()
    play(3).write_parquet(file)

    (place,) = places(str(tmp_path))

    assert everything(readers.open(place).events())["zone"].to_list() == ["z0", "z1", "z2"]


@pytest.mark.integration
@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_a_log_may_come_on_standard_input(tmp_path, packed):
    (tmp_path / "log.csv").write_bytes(as_csv(play()))

    def piped(*arguments):
        command = [*GAMEWARDEN, *map(str, arguments)]
        return subprocess.run(command, input=packed(as_csv(play())), capture_output=True, check=True, cwd=tmp_path)

    linted, measured = piped("lint", "-"), piped("measure", "activity", "-", "--json")
    piped("read", "-", "--to", "lake")

    assert linted.stdout.startswith(b"standard input: CSV")
    assert measured.stdout.decode() == done("measure", "activity", tmp_path / "log.csv", "--json").stdout
    assert_frame_equal(everything(Lake(tmp_path / "lake").events()), play())
