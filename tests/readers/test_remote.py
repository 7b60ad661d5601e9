"""Sources in an object store, read from a server that really speaks S3 and runs here."""

import gzip
import http.server
import json
import socket
import threading
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from io import BytesIO

import polars as pl
import pyarrow as pa
import pyarrow.fs
import pytest
from polars.testing import assert_frame_equal

import gamewarden as gw
import ragnarok_bytes as ro
from capture_bytes import pcap
from commands import done, run
from gamewarden import readers
from gamewarden.contracts import PACKET_COLUMNS
from gamewarden.errors import ConfigError, InstallError, ReadError
from gamewarden.readers import remote
from gamewarden.readers.compression import Unpacked
from gamewarden.readers.options import CaptureOptions, SourceOptions
from gamewarden.readers.places import places
from gamewarden.readers.remote import RemoteFile
from gamewarden.store.lake import Lake
from message_frames import PORT, frames_of
from object_store import BUCKET, KEYS, ObjectStore, served

pytestmark = pytest.mark.integration

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
GAME = SourceOptions(captures=CaptureOptions(server_ports=(PORT,)))
COLUMNS = ("actor", "at", "kind", "zone")


def play(rows=2_000):
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


def as_jsonl(frame):
    times = frame.with_columns(pl.col("at").dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ"))
    return b"".join(json.dumps(row).encode() + b"\n" for row in times.iter_rows(named=True))


def as_parquet(frame, **options):
    frame.write_parquet(buffer := BytesIO(), **options)
    return buffer.getvalue()


def zstd(data):
    return pa.Codec("zstd").compress(data, asbytes=True)


FILES = {
    "log.csv": as_csv,
    "log.csv.gz": lambda frame: gzip.compress(as_csv(frame)),
    "log.csv.zst": lambda frame: zstd(as_csv(frame)),
    "log.jsonl": as_jsonl,
    "log.jsonl.gz": lambda frame: gzip.compress(as_jsonl(frame)),
    "log.parquet": as_parquet,
    "log.parquet.gz": lambda frame: gzip.compress(as_parquet(frame)),
}


def everything(stream, columns=COLUMNS):
    table = pa.Table.from_batches(list(stream.batches(columns)))
    return pl.DataFrame(pl.from_arrow(table)).with_columns(pl.col(pl.Categorical).cast(pl.String))


@pytest.fixture(scope="module")
def server():
    with served() as endpoint:
        yield ObjectStore(endpoint)


@pytest.fixture
def store(server, monkeypatch):
    for name, value in (KEYS | {"AWS_ENDPOINT_URL": server.endpoint}).items():
        monkeypatch.setenv(name, value)
    server.empty()
    return server


SERVED = pytest.mark.usefixtures("store")


@pytest.mark.parametrize("name", FILES)
def test_a_log_in_a_store_gives_the_events_that_the_same_log_gives_here(store, tmp_path, name):
    data = FILES[name](play())
    (tmp_path / name).write_bytes(data)
    address = store.put(f"logs/{name}", data)

    there, here = readers.open(address), readers.open(tmp_path / name)

    assert_frame_equal(everything(there.events()), everything(here.events()))
    assert_frame_equal(everything(there.log(), (*COLUMNS, "seq")), everything(here.log(), (*COLUMNS, "seq")))
    assert there.fingerprint().digest == here.fingerprint().digest
    assert there.kinds == here.kinds
    assert (there.name, there.log().name) == (address, address)


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_a_capture_in_a_store_gives_the_packets_and_messages_of_the_same_capture_here(store, tmp_path, packed):
    data = packed(pcap(frames_of([(0, ro.connect(7, 8) + ro.walk(1, 2)), (34, ro.take())])))
    (tmp_path / "tap.pcap").write_bytes(data)

    there, here = readers.open(store.put("tap.pcap", data), GAME), readers.open(tmp_path / "tap.pcap", GAME)

    assert type(there) is type(here)
    assert everything(there.packets(), PACKET_COLUMNS).equals(everything(here.packets(), PACKET_COLUMNS))
    assert everything(there.messages(), ("at", "id")).equals(everything(here.messages(), ("at", "id")))


def test_a_packetstream_a_packet_log_and_a_table_in_a_store_are_read(store):
    at = 1_700_000_000_000_000
    stream = readers.open(store.put("a.adam", ro.tag(at) + ro.connect() + ro.tag(at + 1_000_000) + ro.walk(1, 2)))
    packets = pl.DataFrame({"actor": ["p", "q"], "at": [at, at], "up": [True, False], "size": [5, 7]})
    times = packets.with_columns(at=pl.lit("2026-03-01T12:00:00Z"))
    table = store.put("accounts.csv", b"account,level\na,3\nb,4\n")

    assert type(stream) is readers.load("packetstream")
    assert sum(batch.num_rows for batch in stream.messages().batches(("at",))) == 2
    for name, data in (("p.csv", times.write_csv().encode()), ("p.parquet", as_parquet(times))):
        read = everything(readers.open(store.put(name, data)).packets(), ("actor", "size"))
        assert read.rows() == [("p", 5), ("q", 7)]
    assert readers.open(table).rows().frame.rows() == [("a", "3"), ("b", "4")]


def test_who_used_an_address_may_stand_in_a_store(store):
    data = pcap(frames_of([(0, ro.connect(7, 8) + ro.walk(1, 2))]))
    who = store.put("who.csv", b"address,port,from,until,account\n10.0.0.1,,2020-01-01T00:00:00Z,,someone\n")
    asked = SourceOptions(captures=CaptureOptions(server_ports=(PORT,), accounts=RemoteFile(who)))

    packets = readers.open(store.put("tap.pcap", data), asked).packets()

    assert sum(batch.num_rows for batch in packets.batches(("actor", "at"))) > 0


def test_a_pattern_and_a_directory_in_a_store_are_their_files_in_order(store):
    half = play().height // 2
    for name, part in (("b", play().slice(half)), ("a", play().head(half))):
        store.put(f"logs/deep/{name}.csv.gz", gzip.compress(as_csv(part)))
    store.put("logs/deep/_SUCCESS", b"")
    store.put("logs/other.txt", b"x")

    for locator in ("logs/deep/*.csv.gz", "logs/**/*.csv.gz", "logs/*/?.csv.gz", "logs/deep", "logs/deep/"):
        address = f"s3://{BUCKET}/{locator}"
        assert [place.file.name for place in places(address)] == ["a.csv.gz", "b.csv.gz"], locator
        assert_frame_equal(everything(readers.open(address).events()), play())


def test_what_was_listed_has_the_size_and_time_of_the_object(store):
    store.put("a.csv", b"x" * 1234)

    (place,) = places(f"s3://{BUCKET}/*.csv")

    assert (place.size, place.name) == (1234, f"s3://{BUCKET}/a.csv")
    assert abs(place.mtime / 1e6 - datetime.now(UTC).timestamp()) < 3600


def test_a_dataset_in_a_store_has_its_directories_as_columns(store):
    for zone in ("north", "south"):
        store.put(f"data/zone={zone}/part.parquet", as_parquet(play(10).drop("zone")))

    events = everything(readers.open(f"s3://{BUCKET}/data").events())

    assert events["zone"].to_list() == ["north"] * 10 + ["south"] * 10


HOSTILE = [
    "a b.csv",
    "50%.csv",
    "%2e%2e.csv",
    "ñandú/日本.csv",
    "q?x=1&y.csv",
    "a+b.csv",
    "'\".csv",
    "[x].csv",
    "a#b.csv",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_taken_as_it_is_written(store, name):
    address = store.put(f"odd/{name}", as_csv(play(5)))

    assert everything(readers.open(address).events()).height == 5
    assert [place.name for place in places(f"s3://{BUCKET}/odd")] == [address]


@pytest.mark.parametrize(
    "locator", ["s3://", "s3:///a.csv", "s3://games/../other/a.csv", "s3://games//a.csv", "s3://games/./a"]
)
def test_an_address_that_a_server_would_read_otherwise_is_refused(locator):
    with pytest.raises(ReadError) as caught:
        readers.open(locator)

    assert "\n" not in str(caught.value)


def test_a_bucket_cannot_be_a_pattern():
    with pytest.raises(ReadError, match="the name of a bucket cannot be a pattern"):
        readers.open("s3://gam*/a.csv")


@pytest.mark.parametrize(
    ("locator", "line"),
    [
        (f"s3://{BUCKET}/none.csv", "there is no such file in the bucket; check its name"),
        ("s3://nobody/none.csv", "there is no bucket 'nobody', or you may not see it; check its name"),
        ("s3://nobody/*.csv", "there is no bucket 'nobody', or you may not see it; check its name"),
    ],
)
@SERVED
def test_what_is_not_there_is_one_line(locator, line):
    with pytest.raises(ReadError) as caught:
        readers.open(locator)

    assert str(caught.value) == f"{locator}: {line}"


@SERVED
def test_a_pattern_that_finds_nothing_is_one_line():
    with pytest.raises(ReadError, match="no file is called so; check the pattern"):
        readers.open(f"s3://{BUCKET}/nothing-*.csv")


@pytest.mark.parametrize("name", ["log.csv", "log.parquet", "log.csv.gz"])
def test_an_object_that_is_replaced_between_listing_and_reading_is_refused(store, name):
    store.put(name, FILES[name](play(50)))
    (place,) = places(f"s3://{BUCKET}/log*")
    store.put(name, FILES[name](play(60)))

    with pytest.raises(ReadError, match="changed while it was read"):
        everything(readers.open(place).events())


def nearly(data):
    """The same bytes but for one."""
    other = bytearray(data)
    other[len(other) // 2] ^= 1
    return bytes(other)


def test_bytes_of_which_one_is_replaced_in_the_same_second_are_refused_at_their_end(store):
    data = as_csv(play(30_000))
    address = store.put("log.csv", data)

    with Unpacked(RemoteFile(address)) as stream:
        assert stream.read(10) == data[:10]
        store.put("log.csv", nearly(data))
        with pytest.raises(ReadError, match="changed while it was read"):
            stream.read()


def test_parquet_of_which_one_byte_is_replaced_in_the_same_second_is_refused_at_its_end(store):
    data = as_parquet(play(200_000), row_group_size=10_000)
    batches = readers.open(store.put("log.parquet", data)).events().batches(COLUMNS)
    next(batches)
    store.put("log.parquet", nearly(data))

    with pytest.raises(ReadError, match="changed while it was read"):
        list(batches)


def test_an_object_that_is_removed_while_it_is_read_is_refused(store):
    address = store.put("log.csv", as_csv(play(30_000)))

    with Unpacked(RemoteFile(address)) as stream:
        stream.read(10)
        store.remove("log.csv")
        with pytest.raises(ReadError, match="changed while it was read"):
            stream.read()


@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_a_lake_takes_in_an_object_once_and_its_copy_not_again(store, tmp_path, name):
    address, copy = (store.put(f"{place}/{name}", FILES[name](play())) for place in "ab")

    added = [Lake(tmp_path / "lake").add(readers.open(one).log()) for one in (address, address, copy)]

    assert [one.new for one in added] == [play().height, 0, 0]


@pytest.mark.parametrize("name", ["log.csv.gz", "log.parquet"])
def test_commands_take_addresses(store, tmp_path, name):
    address = store.put(name, FILES[name](play()))
    lake = tmp_path / "lake"

    assert "combat.kill" in done("lint", address).stdout
    done("read", f"s3://{BUCKET}/log*", "--to", lake)
    there = done("measure", "activity", address, "--json").stdout
    here = done("measure", "activity", lake, "--json").stdout

    assert there == here


def test_a_notebook_takes_addresses(store):
    address = store.put("logs/a.csv", as_csv(play()))

    there, here = gw.measure(address, "activity"), gw.measure(play(), "activity")

    assert_frame_equal(pl.DataFrame(there), pl.DataFrame(here))
    assert_frame_equal(pl.DataFrame(gw.measure(f"s3://{BUCKET}/logs/*", "activity")), pl.DataFrame(here))


@SERVED
def test_a_command_says_in_one_line_what_is_not_there():
    told = run("lint", f"s3://{BUCKET}/none.csv")

    assert told.returncode == 1
    assert told.stderr.strip().splitlines() == [
        f"gamewarden: s3://{BUCKET}/none.csv: there is no such file in the bucket; check its name"
    ]


class Denying(http.server.BaseHTTPRequestHandler):
    """A server that lets nobody in."""

    def do_GET(self):
        self.send_response(403)
        self.send_header("Content-Type", "application/xml")
        body = (
            b""
            if self.command == "HEAD"
            else b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
        )
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815  as Python's server calls it

    def log_message(self, *_):
        """Say nothing."""


@contextmanager
def listening(handler):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def at(endpoint, monkeypatch):
    for name, value in (KEYS | {"AWS_ENDPOINT_URL": endpoint}).items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("locator", ["s3://games/a.csv", "s3://games/*.csv"])
@pytest.mark.parametrize("without", [(), ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")])
def test_who_may_not_read_is_told_what_to_give(monkeypatch, tmp_path, locator, without):
    monkeypatch.setenv("HOME", str(tmp_path))
    with listening(Denying) as endpoint:
        at(endpoint, monkeypatch)
        for name in without:
            monkeypatch.delenv(name)
        with pytest.raises(ReadError) as caught:
            readers.open(locator)

    assert str(caught.value) == (
        f"{locator}: access is denied; give credentials that may read it: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
        "or AWS_PROFILE, in the environment"
    )


def closed_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@pytest.mark.parametrize("locator", ["s3://games/a.csv", "s3://games/*.csv"])
def test_a_server_that_is_not_there_is_one_line(monkeypatch, locator):
    at(f"http://127.0.0.1:{closed_port()}", monkeypatch)

    with pytest.raises(ReadError) as caught:
        readers.open(locator)

    assert str(caught.value).startswith(f"{locator}: the server cannot be reached; ")


def test_a_server_that_never_answers_is_one_line(monkeypatch):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(50)
        at(f"http://127.0.0.1:{silent.getsockname()[1]}", monkeypatch)
        with pytest.raises(ReadError, match=r"s3://games/a\.csv: the server cannot be reached; "):
            readers.open("s3://games/a.csv")


@pytest.mark.parametrize("locator", ["gs://games/a.csv", "gs://games/*.csv"])
def test_google_asks_for_credentials_in_one_line(monkeypatch, tmp_path, locator):
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    remote._gcs.cache_clear()

    with pytest.raises(ReadError) as caught:
        readers.open(locator)

    assert str(caught.value) == (
        f"{locator}: access is denied; give credentials that may read it: GOOGLE_APPLICATION_CREDENTIALS in the "
        "environment"
    )


def cutting(endpoint, after):
    """A server between us and the store that cuts every answer after so many bytes of a body."""
    host, port = endpoint.removeprefix("http://").split(":")

    class Cutting(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            import http.client

            asked = http.client.HTTPConnection(host, int(port))
            asked.request(self.command, self.path, headers=dict(self.headers))
            answer = asked.getresponse()
            body = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in {"transfer-encoding", "connection"}:
                    self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(body[:after])
            self.close_connection = True

        do_HEAD = do_GET  # noqa: N815  as Python's server calls it

        def log_message(self, *_):
            """Say nothing."""

    return Cutting


@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_a_connection_that_is_cut_is_one_line_and_no_rows_are_made_up(store, monkeypatch, name):
    store.put(name, FILES[name](play(300_000)))
    with listening(cutting(store.endpoint, 20_000)) as endpoint:
        at(endpoint, monkeypatch)
        with pytest.raises(ReadError) as caught:
            everything(readers.open(f"s3://{BUCKET}/{name}").events())

    assert str(caught.value).startswith(f"s3://{BUCKET}/{name}: ")
    assert "\n" not in str(caught.value)
    assert "cannot be reached" in str(caught.value)


@pytest.mark.parametrize(
    ("scheme", "system"), [("s3", "S3FileSystem"), ("gs", "GcsFileSystem"), ("az", "AzureFileSystem")]
)
def test_an_arrow_that_was_built_without_a_store_is_one_line(monkeypatch, scheme, system):
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", "somebody")
    at("http://127.0.0.1:1", monkeypatch)
    monkeypatch.delattr(pyarrow.fs, system)
    for made in (remote._s3_at, remote._gcs, remote._azure_of):
        made.cache_clear()

    with pytest.raises(InstallError) as caught:
        readers.open(f"{scheme}://games/a.csv")

    assert str(caught.value).startswith(f"{scheme}:// needs a pyarrow that was built with it; ")


def test_azure_asks_for_the_account(monkeypatch):
    for name in ("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"):
        monkeypatch.delenv(name, raising=False)

    with pytest.raises(ConfigError, match="set AZURE_STORAGE_ACCOUNT in the environment"):
        readers.open("az://games/a.csv")


def test_a_large_object_is_read_in_a_few_requests(store, monkeypatch):
    data = as_csv(play(400_000))
    address = store.put("log.csv", data)
    asked = []

    class Counting(cutting(store.endpoint, len(data) + 1)):
        def do_GET(self):  # noqa: N802  as Python's server calls it
            asked.append(self.command)
            super().do_GET()

        do_HEAD = do_GET  # noqa: N815  as Python's server calls it

    with listening(Counting) as endpoint:
        at(endpoint, monkeypatch)
        with RemoteFile(address).open() as stream:
            assert stream.read() == data

    assert asked.count("GET") <= 8 + len(data) // (8 << 20)
