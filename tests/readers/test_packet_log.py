"""Packet logs, with their times, directions and mappings, and the capture writer."""

import gzip
import json
import os
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.errors import ConfigError, ReadError, WriteError
from gamewarden.lab.world.pcap import write_pcap
from gamewarden.readers.byte_sources import Gunzipped
from gamewarden.readers.captures.packet_log import PacketMapping
from gamewarden.readers.captures.packets import open_packets
from gamewarden.readers.row_blocks import LONGEST_ROW, RowBlocks

DATA = os.environ.get("GAMEWARDEN_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="GAMEWARDEN_DATA is not set: real packets are not at hand")
ROWS = [("ann", 1_700_000_000_000_001, True, 12), ("bea", 1_700_000_000_500_000, False, 7)]
CSV = "actor,at,up,size\nann,1700000000.000001999,true,12\nbea,2023-11-14T22:13:20.500000Z,0,7\n"


def rows(source, **options):
    stream = open_packets(source, **options)
    batches = list(stream.batches())
    if not batches:
        return []
    frame = pl.DataFrame(pl.from_arrow(pa.Table.from_batches(batches)))
    return frame.with_columns(pl.col("actor").cast(pl.String), pl.col("at").dt.epoch("us")).rows()


def written(tmp_path, text, name="p.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_csv_is_read_with_iso_and_epoch_times_cut_to_microseconds(tmp_path):
    assert rows(written(tmp_path, CSV)) == ROWS
    assert rows(written(tmp_path, CSV.replace("\n", "\r\n"))) == ROWS
    assert rows(written(tmp_path, "\ufeff" + CSV.rstrip("\n"))) == ROWS
    assert rows(written(tmp_path, gzip.compress(CSV.encode()))) == ROWS
    assert rows(written(tmp_path, CSV), only_up=True) == ROWS[:1]


def test_columns_may_stand_in_any_order_among_others(tmp_path):
    text = 'note,size,up,at,actor\n"a ""quoted""\nnote, with commas",12,1,1700000000.000001,ann\n'

    assert rows(written(tmp_path, text)) == ROWS[:1]


def test_json_lines_keep_all_decimals_of_a_number(tmp_path):
    lines = [
        '{"actor": "ann", "at": 1700000000.000001999, "up": true, "size": 12, "note": 1.5}',
        "",
        '{"size": "7", "up": 0, "at": "2023-11-14T23:13:20.5+01:00", "actor": "bea"}',
    ]

    assert rows(written(tmp_path, "\n".join(lines), "p.jsonl")) == ROWS


def test_lines_that_are_no_json_object_are_counted(tmp_path):
    good = json.dumps({"actor": "ann", "at": 1, "up": True, "size": 3})
    path = written(tmp_path, f"{good}\n[1]\n{{oops\n{'[' * 100_000}\n{good}\n", "p.jsonl")
    stream = open_packets(path)
    list(stream.batches())

    assert stream.report.counts == {"rows read": 5, "packets delivered": 2, "that are not a JSON object": 3}


def test_parquet_is_read_with_times_of_any_type(tmp_path):
    moments = [datetime.fromtimestamp(row[1] // 10**6, UTC).replace(microsecond=row[1] % 10**6) for row in ROWS]
    times = {
        "aware": pl.Series(moments),
        "nanos": pl.Series(moments).dt.cast_time_unit("ns"),
        "text": pl.Series(["1700000000.000001", "1700000000.5"]),
        "float": pl.Series([1700000000.000001, 1700000000.5]),
        "decimal": pl.Series([Decimal("1700000000.000001"), Decimal("1700000000.5")]),
    }
    for name, at in times.items():
        path = tmp_path / f"{name}.parquet"
        pl.DataFrame({"actor": ["ann", "bea"], "at": at, "up": [True, False], "size": [12, 7]}).write_parquet(path)

        assert rows(path) == ROWS
        assert open_packets(path).rows == 2
    assert open_packets(path, only_up=True).rows is None


def test_a_time_without_a_zone_needs_one(tmp_path):
    path = written(tmp_path, "actor,at,up,size\nann,2023-11-15 07:13:20.000001,1,12\n")

    with pytest.raises(ReadError, match="has no zone; name it with --time-zone"):
        rows(path)
    assert rows(path, time_zone="Asia/Seoul") == ROWS[:1]
    assert rows(path, mapping={"time": {"zone": "Asia/Seoul"}}) == ROWS[:1]
    with pytest.raises(ConfigError, match="Mars"):
        open_packets(path, time_zone="Mars")


def test_bad_rows_are_counted_by_reason_with_their_first_example(tmp_path):
    bad = [
        "ann,never,1,1",
        "ann,1,maybe,1",
        "ann,1,1,-1",
        "ann,1,1,1.5",
        "ann,1,1,3000000000",
        ",1,1,1",
        "ann,,1,1",
        "x",
    ]
    path = written(tmp_path, CSV + "\n".join(bad) + "\nann,2,1,0\n")
    stream = open_packets(path)
    batches = list(stream.batches())

    assert sum(batch.num_rows for batch in batches) == 2
    assert stream.report.counts == {
        "rows read": 11,
        "packets delivered": 2,
        "without an actor": 1,
        "time does not parse": 1,
        "without a time": 2,
        "with a direction that is neither true nor false": 1,
        "with a size that is not a whole number of bytes": 3,
        "without payload": 1,
    }
    assert "first in row 3 (actor='ann', at='never', up='1', size='1')" in "\n".join(stream.report.lines())
    assert len(rows(path, include_empty=True)) == 3


def test_a_table_without_one_good_row_is_refused(tmp_path):
    with pytest.raises(ReadError, match="no row can be read; time does not parse: first in row 1"):
        rows(written(tmp_path, "actor,at,up,size\nann,never,1,1\n"))


def test_a_missing_column_is_named_with_those_that_are_there(tmp_path):
    for text, name in (
        (CSV.replace("size", "bytes"), "p.csv"),
        ('{"actor": 1, "at": 2, "up": 1, "bytes": 3}', "p.jsonl"),
    ):
        with pytest.raises(
            ReadError, match="no column 'size' for size; name theirs in a mapping: actor, at, up, bytes"
        ):
            rows(written(tmp_path, text, name))


def test_a_mapping_names_columns_and_what_means_up(tmp_path):
    path = written(tmp_path, "who,t,dir,n\nann,1700000000.000001,c2s,12\nbea,1700000000.5,s2c,7\n")
    toml = written(
        tmp_path, '[columns]\nactor = "who"\nat = "t"\nsize = "n"\n[up]\ncolumn = "dir"\nis = "c2s"\n', "m.toml"
    )

    assert rows(path, mapping=toml) == ROWS
    assert rows(path, mapping=PacketMapping.from_toml(toml)) == ROWS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[colums]\nactor = "a"', "'colums' is unknown"),
        ('[columns]\nwho = "a"', "'who' is unknown; a packet mapping knows actor, at, up, size"),
        ('[up]\nwas = "a"', "'was' is unknown"),
        ("[up", "cannot be read as TOML"),
        ('columns = "actor"', "columns is not a section"),
        ('[time]\nzone = "Mars"', "Mars"),
    ],
)
def test_a_mapping_that_says_something_unknown_is_refused(tmp_path, text, message):
    with pytest.raises(ConfigError, match=message):
        PacketMapping.from_toml(written(tmp_path, text, "m.toml"))


class Drops:
    """Bytes that come in pieces of a given size."""

    live = False
    problem = None

    def __init__(self, data, piece):
        self._data, self._piece = data, piece

    def read_into(self, room):
        piece = self._data[: min(self._piece, len(room))]
        room[: len(piece)] = piece
        self._data = self._data[len(piece) :]
        return len(piece)


class Counting(RowBlocks):
    """Counts the bytes that were looked at, each time."""

    looked_at = 0

    def _whole(self, chunk):
        self.looked_at += len(chunk)
        return super()._whole(chunk)


def cut(data, piece, *, quotes=True):
    left_out = []
    blocks = Counting(Drops(data, piece), lambda reason, begins: left_out.append((reason, begins)), quotes=quotes)
    return list(blocks), left_out, blocks.looked_at


@given(st.text(alphabet='a"\n,', max_size=60), st.integers(1, 20))
def test_blocks_end_outside_of_quotes_and_hold_every_line_that_is_not_left_out(text, piece):
    data = text.encode()
    blocks, left_out, _ = cut(data, piece)

    assert all(block.endswith(b"\n") for block in blocks[:-1])
    assert all(block.count(b'"') % 2 == 0 for block in blocks)
    assert sum(map(len, blocks)) + sum(len(begins) for _, begins in left_out) <= len(data)
    assert b"".join(blocks).count(b"a") + sum(begins.count(b"a") for _, begins in left_out) == data.count(b"a")


def test_how_the_bytes_come_does_not_change_which_rows_there_are():
    data = b'ann,1,1,1\n"b\nea",2,1,2\nc"x,3,1,3\ndan,4,1,4\n' * 5 + b'e"'

    told = [(b"".join(blocks), left_out) for blocks, left_out, _ in (cut(data, piece) for piece in (1, 2, 3, 7, 1000))]

    assert told == [told[0]] * 5


HOSTILE = {
    "an unclosed quote": lambda size: b'"' + b"ann,1,1,1\n" * (size // 10),
    "quotes that open in every line": lambda size: b'a"b\n' * (size // 4),
    "no line end": lambda size: b"x" * size,
    "empty lines": lambda size: b"\n" * size,
    "one unclosed quote after the other": lambda size: (b'"' + b"x\n" * 300_000) * (size // 600_000),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_twice_the_bytes_are_not_looked_at_four_times(kind):
    once, twice = (cut(HOSTILE[kind](size), 1 << 18)[2] for size in (3_000_000, 6_000_000))

    assert twice <= 2.5 * once
    assert twice <= 3 * 6_000_000


def test_a_row_beyond_the_longest_is_left_out_and_reading_goes_on():
    blocks, left_out, _ = cut(b"x" * (3 * LONGEST_ROW) + b"\nann,1,1,1\n", 1 << 16)

    assert b"".join(blocks) == b"ann,1,1,1\n"
    assert [reason for reason, _ in left_out] == ["longer than 1 MiB"]


def test_members_of_a_gzip_that_hold_nothing_cost_the_same_each():
    class CountingGunzip(Gunzipped):
        fed = 0

        def _unpack(self, most):
            self.fed += min(len(self._pending), 1 << 14)
            return super()._unpack(most)

    def fed(members):
        packed = CountingGunzip(Drops(gzip.compress(b"") * members + gzip.compress(b"end"), 1 << 20), "empty")
        assert packed.read_into(memoryview(bytearray(10))) == 3
        return packed.fed

    assert fed(20_000) <= 2.5 * fed(10_000)


def test_codes_of_actors_stay_the_same_over_many_batches(tmp_path):
    lines = [f"player{n % 977},{n},{n % 2},{n % 50 + 1}" for n in range(120_000)]
    path = written(tmp_path, "actor,at,up,size\n" + "\n".join(lines) + "\n")
    batches = list(open_packets(path).batches())
    seen = {}
    for batch in batches:
        names = batch["actor"].dictionary.to_pylist()
        for code, name in enumerate(names):
            assert seen.setdefault(code, name) == name

    assert len(batches) > 1
    assert rows(path) == [(f"player{n % 977}", n * 10**6, n % 2 == 1, n % 50 + 1) for n in range(120_000)]


@needs_data
def test_a_persons_play_is_read_through_a_mapping():
    # cut -d, -f3 firefall_packets.csv | sort | uniq -c   gives 6645 c2s and 35936 s2c
    mapping = {
        "columns": {"actor": "capture", "at": "t_seconds", "size": "payload_len"},
        "up": {"column": "direction", "is": "c2s"},
    }
    path = Path(DATA) / "captures" / "firefall_packets.csv"

    assert len(rows(path, mapping=mapping, include_empty=True)) == 42_581
    assert len(rows(path, mapping=mapping, only_up=True)) == 6_645
    assert rows(path, mapping=mapping)[1] == ("2014-09-19", 39_146, False, 12)


def made_packets(**changes):
    values = {"actor": ["a"], "at": [datetime(2024, 1, 1, tzinfo=UTC)], "up": [True], "size": [5]} | changes
    return pl.DataFrame(values).with_columns(pl.col("size").cast(pl.Int32))


def ones_sum(data):
    total = sum(int.from_bytes(data[n : n + 2].ljust(2, b"\0"), "big") for n in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def test_written_captures_have_valid_checksums_and_growing_numbers(tmp_path):
    path = tmp_path / "w.pcap"
    write_pcap(
        made_packets(
            actor=["a"] * 4,
            at=[datetime(2024, 1, 1, tzinfo=UTC)] * 4,
            up=[True, False, True, True],
            size=[5, 1000, 7, 0],
        ),
        path,
    )
    data, place, ends = path.read_bytes(), 24, {}
    while place < len(data):
        size = int.from_bytes(data[place + 8 : place + 12], "little")
        packet = data[place + 30 : place + 16 + size]
        place += 16 + size
        pseudo = packet[12:20] + bytes([0, 6]) + (len(packet) - 20).to_bytes(2, "big")
        seq, flags = int.from_bytes(packet[24:28], "big"), packet[33]

        assert ones_sum(packet[:20]) == 0xFFFF
        assert ones_sum(pseudo + packet[20:]) == 0xFFFF
        assert ends.get(packet[12:16], seq) == seq
        assert (flags & 0x10 == 0) or int.from_bytes(packet[28:32], "big") == ends.get(packet[16:20])
        ends[packet[12:16]] = (seq + len(packet) - 40 + (flags >> 1 & 1)) % 2**32


def test_the_writer_keeps_named_ends_and_gives_others_an_address(tmp_path):
    packets = made_packets(
        actor=["10.0.0.1:49152", "ann", "[::1]:5"],
        at=[datetime(2024, 1, 1, tzinfo=UTC)] * 3,
        up=[True] * 3,
        size=[1] * 3,
    )
    accounts = write_pcap(packets, tmp_path / "w.pcap")

    assert accounts.select("address", "port", "account").rows() == [
        ("10.0.0.1", 49152, "10.0.0.1:49152"),
        ("10.0.0.2", 49152, "ann"),
        ("10.0.0.3", 49152, "[::1]:5"),
    ]
    assert [row[0] for row in rows(tmp_path / "w.pcap", accounts=accounts)] == ["10.0.0.1:49152", "ann", "[::1]:5"]


@pytest.mark.parametrize("change", [{"size": [70_000]}, {"size": [-1]}, {"at": [datetime(1969, 1, 1, tzinfo=UTC)]}])
def test_what_a_capture_cannot_say_is_not_written(tmp_path, change):
    with pytest.raises(WriteError):
        write_pcap(made_packets(**change), tmp_path / "w.pcap")
    assert not (tmp_path / "w.pcap").exists()
