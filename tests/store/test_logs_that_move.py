"""Logs that change while a lake takes them in: every row comes in once, or none and the reader is told."""

import gzip
import hashlib
import io
import shutil

import polars as pl
import pyarrow as pa
import pytest

import ragnarok_bytes as ro
from gamewarden.errors import ReadError
from gamewarden.readers.logs.tables import EventFile
from gamewarden.readers.ragnarok.events import MessageEvents
from gamewarden.readers.ragnarok.messages import open_messages
from gamewarden.readers.ragnarok.thesis_profile import thesis_profile
from gamewarden.store.lake import Lake

ROWS = 10_000
FORMS = ("csv", "jsonl", "csv.gz", "csv.zst", "parquet", "parquet.gz")


def frame_of(first, rows=ROWS):
    place = pl.int_range(first, first + rows, eager=True)
    names = [hashlib.sha256(str(number).encode()).hexdigest() for number in place]
    return pl.DataFrame({"actor": names, "at": place * 1_000_000 // 10 * 10, "kind": ["move"] * rows})


def encoded(frame, form):
    kind, _, packing = form.partition(".")
    file = io.BytesIO()
    match kind:
        case "csv":
            frame.with_columns(pl.col("at") // 1_000_000).write_csv(file)
        case "jsonl":
            frame.with_columns(pl.col("at") // 1_000_000).write_ndjson(file)
        case "parquet":
            frame.with_columns(pl.col("at").cast(pl.Datetime("us", "UTC"))).write_parquet(file, row_group_size=1_000)
    data = file.getvalue()
    match packing:
        case "gz":
            return gzip.compress(data, 1)
        case "zst":
            packed = pa.BufferOutputStream()
            with pa.CompressedOutputStream(packed, "zstd") as stream:
                stream.write(data)
            return packed.getvalue().to_pybytes()
    return data


class Moving(EventFile):
    """A log to which something happens, between finding out what it is and its rows, or in the middle of these."""

    def __init__(self, path, happens, when):
        super().__init__(path, number_rows=True)
        self.happens, self.when = happens, when

    def content(self, beginnings=()):
        found = super().content(beginnings)
        if self.when == "between":
            self.happens(self.path)
        return found

    def batches(self, columns):
        for number, batch in enumerate(super().batches(columns)):
            yield batch
            if number == 0 and self.when == "in the middle":
                self.happens(self.path)


def copied_and_truncated(path):
    shutil.copyfile(path, path.with_name("rotated"))
    with path.open("r+b") as file:
        file.truncate(0)


def copied_truncated_and_begun_again(path):
    form = path.name.removeprefix("log.")
    shutil.copyfile(path, path.with_name("rotated"))
    path.write_bytes(encoded(frame_of(ROWS, 100), form))


def overwritten_in_place(path):
    data = path.read_bytes()
    shutil.copyfile(path, path.with_name("rotated"))
    with path.open("r+b") as file:
        file.write(b"\x00" * len(data) if "parquet" in path.name else data[: len(data) // 2] * 2)


def swapped_by_rename(path):
    form = path.name.removeprefix("log.")
    shutil.copyfile(path, path.with_name("rotated"))
    other = path.with_name("other")
    other.write_bytes(encoded(frame_of(ROWS, 100), form))
    other.replace(path)


def everything(directory):
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def actors(lake):
    return sorted(name for batch in lake.events().batches(["actor"]) for name in batch.column(0).to_pylist())


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch):
    """Several blocks of every reader, so that the middle is not the end."""
    for place in (
        "compression.CHUNK",
        "compression._ZSTD_CHUNK",
        "logs.delimited.LONGEST_ROW",
        "logs.jsonlines._BLOCK",
    ):
        monkeypatch.setattr(f"gamewarden.readers.{place}", 1 << 14)


@pytest.fixture
def lake(tmp_path):
    lake = Lake(tmp_path / "lake")
    before = tmp_path / "before.csv"
    before.write_text("actor,at,kind\nearlier,1,k\n")
    lake.add(EventFile(before).numbered())
    return lake


@pytest.mark.parametrize("when", ["between", "in the middle"])
@pytest.mark.parametrize(
    "happens", [copied_and_truncated, copied_truncated_and_begun_again, overwritten_in_place, swapped_by_rename]
)
@pytest.mark.parametrize("form", FORMS)
def test_a_log_that_moves_while_it_is_read_loses_no_row(lake, tmp_path, form, happens, when):
    log = tmp_path / f"log.{form}"
    log.write_bytes(encoded(frame_of(0), form))
    before = everything(lake.directory)

    try:
        taken = lake.add(Moving(log, happens, when)).new
    except ReadError:
        taken = None

    if taken is None:
        assert everything(lake.directory) == before
    else:
        assert taken == ROWS
    lake.add(EventFile(tmp_path / "rotated").numbered())
    assert actors(lake) == sorted(["earlier", *frame_of(0)["actor"]])


@pytest.mark.parametrize("form", ["csv", "jsonl", "csv.gz"])
def test_a_log_that_shrinks_while_it_is_read_is_refused_and_says_what_to_do(lake, tmp_path, form):
    log = tmp_path / f"log.{form}"
    log.write_bytes(encoded(frame_of(0), form))

    with pytest.raises(ReadError, match=r"changed while it was read.*rotated"):
        lake.add(Moving(log, copied_truncated_and_begun_again, "between"))


def test_a_log_that_is_another_one_by_the_time_it_is_read_is_refused(lake, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("actor,at,kind\na,1,k\n")
    file = EventFile(log).numbered()
    log.write_text("kind,at,actor\nk,1,a\n")

    with pytest.raises(ReadError, match="changed while it was read"):
        lake.add(file)


def test_a_parquet_log_that_is_another_one_by_the_time_it_is_read_is_refused(lake, tmp_path):
    log = tmp_path / "log.parquet"
    log.write_bytes(encoded(frame_of(0, 10), "parquet"))
    file = EventFile(log).numbered()
    log.write_bytes(encoded(frame_of(0, 10).with_columns(level=pl.lit(3)), "parquet"))

    with pytest.raises(ReadError, match="changed while it was read"):
        lake.add(file)


@pytest.mark.parametrize("when", ["between", "in the middle"])
@pytest.mark.parametrize("form", ["csv", "jsonl", "csv.gz"])
def test_what_is_appended_while_a_log_is_read_comes_next_time(lake, tmp_path, form, when):
    log = tmp_path / f"log.{form}"
    log.write_bytes(encoded(frame_of(0), form))
    more = encoded(frame_of(ROWS, 500), form.partition(".")[0])
    more = more if form == "jsonl" else more.partition(b"\n")[2]
    more = gzip.compress(more) if form.endswith("gz") else more

    def appended(path):
        with path.open("ab") as file:
            file.write(more)

    first = lake.add(Moving(log, appended, when))
    later = lake.add(EventFile(log).numbered())

    assert (first.new, later.new, later.known) == (ROWS, 500, ROWS)
    assert actors(lake) == sorted(["earlier", *frame_of(0, ROWS + 500)["actor"]])


def packetstream(first, count):
    messages = [ro.tag((1_700_000_000 + n) * 1_000_000) + ro.walk(n % 500, 7) for n in range(first, first + count)]
    return b"".join([ro.tag(1_700_000_000_000_000), ro.connect()] * (first == 0) + messages)


class MovingMessages(MessageEvents):
    """A packetstream to which something happens between finding out what it is and its rows."""

    def __init__(self, path, happens):
        super().__init__(path, open_messages(path, thesis_profile()), thesis_profile())
        self.happens = happens

    def content(self, beginnings=()):
        found = super().content(beginnings)
        self.happens(self._path)
        return found


def begun_again(path):
    shutil.copyfile(path, path.with_name("rotated"))
    path.write_bytes(packetstream(0, 3))


def with_other_bytes(path):
    shutil.copyfile(path, path.with_name("rotated"))
    data = packetstream(0, 1000)
    path.write_bytes(data[:-6] + data[-6:][::-1])


@pytest.mark.parametrize("happens", [begun_again, with_other_bytes])
@pytest.mark.parametrize("packed", [False, True])
def test_client_messages_that_move_while_they_are_read_lose_no_row(lake, tmp_path, happens, packed):
    log = tmp_path / "stream.adam"
    log.write_bytes(gzip.compress(packetstream(0, 1000)) if packed else packetstream(0, 1000))
    before = everything(lake.directory)

    with pytest.raises(ReadError, match="changed while it was read"):
        lake.add(MovingMessages(log, happens))

    assert everything(lake.directory) == before
    assert lake.add(MovingMessages(tmp_path / "rotated", lambda _: None)).new == 1002


def test_client_messages_that_come_while_they_are_read_come_next_time(lake, tmp_path):
    log = tmp_path / "stream.adam"
    log.write_bytes(packetstream(0, 1000))

    def appended(path):
        with path.open("ab") as file:
            file.write(packetstream(1000, 50))

    first = lake.add(MovingMessages(log, appended))
    again = lake.add(MovingMessages(log, lambda _: None))

    assert (first.new, again.new) == (1002, 1052)
    assert len(actors(lake)) == 1053
