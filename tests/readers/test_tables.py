import gzip
import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.errors import GamewardenError, ReadError
from gamewarden.readers.logs.duplicates import SeenRows
from gamewarden.readers.logs.mapping import LogMap
from gamewarden.readers.logs.tables import FORMATS, EventFile, open_events
from gamewarden.tables import EVENTS, FrameEvents, check, csv_text

COLUMNS = tuple(EVENTS.columns)
START = datetime(2024, 1, 1, tzinfo=UTC)


def write(path: Path, data: bytes | str) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def read(file, columns=COLUMNS) -> list[dict]:
    return [row for batch in file.batches(columns) for row in batch.to_pylist()]


def frame_of(stream, columns=COLUMNS) -> pl.DataFrame:
    batches = list(stream.batches(columns))
    frames = [
        pl.DataFrame(pl.from_arrow(pa.table(dict(zip(columns, map(plain, b.columns), strict=True))))) for b in batches
    ]
    return check(pl.concat(frames) if frames else pl.DataFrame(schema=EVENTS.columns), EVENTS, "test")


def plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def encode(frame: pl.DataFrame, form: str) -> bytes:
    if form == "csv":
        return csv_text(frame, exact=True).encode()
    if form == "jsonl":
        times = pl.col("at").dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ")
        return frame.with_columns(times).write_ndjson().encode()
    sink = io.BytesIO()
    frame.write_parquet(sink)
    return sink.getvalue()


def zstd(data: bytes) -> bytes:
    return pa.Codec("zstd").compress(data, asbytes=True)


# Cn holds the noncharacters, which Unicode keeps out of all text and we use to mark bytes that are none.
# Hypothesis also tries words of our own code, among them the two that are null where they stand unquoted.
text = st.text(
    st.characters(blacklist_categories=("Cs", "Cc", "Cn"), blacklist_characters="\u2028\u2029"), min_size=1, max_size=8
).filter(lambda word: word not in {"NULL", "\\N"})
events = st.lists(
    st.fixed_dictionaries(
        {
            "actor": text,
            "character": st.none() | text,
            "at": st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1)).map(lambda t: t.replace(tzinfo=UTC)),  # noqa: DTZ001
            "kind": text,
            "zone": st.none() | text,
            "x": st.none() | st.floats(width=32, allow_nan=False, allow_infinity=False),
            "level": st.none() | st.integers(-(2**15), 2**15 - 1),
            "amount": st.none() | st.floats(allow_nan=False, allow_infinity=False),
            "other": st.none() | text,
        }
    ),
    max_size=12,
)


@pytest.mark.parametrize("packing", ["plain", "gzip", "zstd"])
@pytest.mark.parametrize("form", FORMATS)
@given(rows=events)
def test_events_written_in_any_format_and_packing_read_back_equal(tmp_path, form, packing, rows):
    numbered = [{**row, "seq": place * 3} for place, row in enumerate(rows)]
    frame = check(pl.DataFrame(numbered, schema={**EVENTS.columns}), EVENTS, "test")
    data = encode(frame, form) or b"\n"
    if form == "jsonl" and not rows:
        return
    path = write(tmp_path / "log", {"plain": data, "gzip": gzip.compress(data), "zstd": zstd(data)}[packing])

    file = EventFile(path)

    assert frame_of(file).equals(frame)
    assert file.report.kept == file.report.rows == len(rows)
    assert file.peek.format == form


@pytest.mark.parametrize("form", FORMATS)
def test_batches_have_exactly_the_columns_asked_for_in_that_order(tmp_path, form):
    frame = check(pl.DataFrame({"actor": ["a"], "at": [START], "kind": ["k"], "level": [3]}), EVENTS, "test")
    file = EventFile(write(tmp_path / "log", encode(frame.select("actor", "at", "kind", "level"), form)))

    (batch,) = file.batches(["level", "seq", "zone", "actor"])

    assert batch.schema.names == ["level", "seq", "zone", "actor"]
    assert batch.to_pylist() == [{"level": 3, "seq": None, "zone": None, "actor": "a"}]
    assert batch.schema.field("seq").type == pa.int64()
    assert batch.schema.field("level").type == pa.int16()
    assert file.columns == {"actor", "at", "kind", "level"}
    assert file.rows == (1 if form == "parquet" else None)


@pytest.mark.parametrize("form", FORMATS)
def test_which_rows_there_are_does_not_depend_on_the_columns_asked_for(tmp_path, form):
    rows = {"actor": ["a", None, "c", ""], "at": [START] * 4, "kind": ["k", "k", None, "k"], "level": [1, 2, 3, 4]}
    file = EventFile(write(tmp_path / "log", encode(pl.DataFrame(rows), form)), max_bad_share=1)

    assert read(file, ["level"]) == [{"level": 1}]
    assert {fault.reason: fault.count for fault in file.report.bad} == {"actor is missing": 2, "kind is missing": 1}
    assert read(file, ["at"]) == [{"at": START}]


def test_a_file_can_be_read_again_and_again(tmp_path):
    file = open_events(write(tmp_path / "log.csv", "actor,at,kind,seq\na,1,k,1\nb,2,k,1\nc,3,k,2\n"))

    assert read(file, ["actor"]) == read(file, ["actor"]) == [{"actor": "a"}, {"actor": "c"}]
    assert file.report.duplicates == 1


def test_parquet_that_already_is_ours_keeps_its_dictionaries(tmp_path):
    frame = check(pl.DataFrame({"actor": ["a", "b"], "at": [START] * 2, "kind": ["k"] * 2}), EVENTS, "test")
    frame.write_parquet(tmp_path / "log.parquet")

    (batch,) = EventFile(tmp_path / "log.parquet").batches(["actor", "at", "kind"])

    assert batch.schema.field("actor").type == pa.dictionary(pa.int32(), pa.string())
    assert batch.schema.field("at").type == pa.timestamp("us", "UTC")


@pytest.mark.parametrize(
    ("at", "zone"),
    [
        (pa.array([1704067200], pa.int64()), None),
        (pa.array([1704067200.0]), None),
        (pa.array([1704067200_000_000_123], pa.timestamp("ns", "Asia/Seoul")), None),
        (pa.array([1704067200_000], pa.timestamp("ms", "UTC")), None),
        (pa.array([1704067200 + 9 * 3600], pa.timestamp("s")), "Asia/Seoul"),
        (pa.array([19723], pa.date32()), "UTC"),
        (pa.array(["2024-01-01T00:00:00Z"]).dictionary_encode(), None),
    ],
)
def test_parquet_times_of_any_type_are_understood(tmp_path, at, zone):
    ids = pa.array([7], pa.int32())
    pq.write_table(pa.table({"actor": ids, "at": at, "kind": pa.array([1204.0])}), tmp_path / "log.parquet")

    found = read(EventFile(tmp_path / "log.parquet", time_zone=zone), ["actor", "at", "kind"])

    assert found == [{"actor": "7", "at": START, "kind": "1204"}]


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("actor", "", "actor is missing"),
        ("actor", None, "actor is missing"),
        ("kind", None, "kind is missing"),
        ("at", None, "time is missing"),
        ("at", 2**62, "time is outside the years 20 to 9979 (is it in other units? set [time] format)"),
        ("amount", float("nan"), "amount is not finite"),
        ("x", float("inf"), "x is not finite"),
    ],
)
def test_parquet_values_that_are_no_events_are_counted_and_not_passed_through(tmp_path, column, value, reason):
    types = {"actor": pa.string(), "at": pa.timestamp("us", "UTC"), "kind": pa.string(), "amount": pa.float64()}
    values = {"actor": "a", "at": 1, "kind": "k", "amount": 1.0, "x": 1.0, column: value}
    good = {"actor": "b", "at": 2, "kind": "k", "amount": 2.0, "x": 2.0}
    arrays = {name: pa.array([values[name], good[name]], types.get(name, pa.float32())) for name in good}
    pq.write_table(pa.table(arrays), tmp_path / "log.parquet")
    file = EventFile(tmp_path / "log.parquet", max_bad_share=1)

    found = read(file, ["actor", "amount", "x"])

    assert found[-1] == {"actor": "b", "amount": 2.0, "x": 2.0}
    assert [fault.reason for fault in (*file.report.bad, *file.report.nulled)] == [reason]
    if column in {"amount", "x"}:
        assert found[0][column] is None
    else:
        assert len(found) == 1


def test_parquet_text_that_is_not_utf8_is_a_bad_row_and_no_crash(tmp_path):
    offsets = pa.py_buffer(np.array([0, 2, 3], dtype=np.int32).tobytes())
    broken = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"\xff\xfea")])
    at = pa.array([1, 2], pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"actor": broken, "at": at, "kind": ["k", "k"]}), tmp_path / "log.parquet")
    file = EventFile(tmp_path / "log.parquet", max_bad_share=1)

    assert read(file, ["actor"]) == [{"actor": "a"}]
    assert file.report.bad[0].reason == "actor is not UTF-8"


def test_ids_stay_as_they_were_written(tmp_path):
    csv = write(tmp_path / "log.csv", "actor,at,kind\n007,1,1e3\n")
    jsonl = write(tmp_path / "log.jsonl", '{"actor":12345678901234567890123,"at":1,"kind":1.50}\n')

    assert read(EventFile(csv), ["actor", "kind"]) == [{"actor": "007", "kind": "1e3"}]
    assert read(EventFile(jsonl), ["actor", "kind"]) == [{"actor": "12345678901234567890123", "kind": "1.50"}]


def test_an_optional_value_that_cannot_be_read_is_null_and_its_row_stays(tmp_path):
    body = "a,1,k,abc,1\nb,2,k,40000,inf\nc,3,k,7.0,x\nd,4,k, 8 ,-2\n"
    file = EventFile(write(tmp_path / "log.csv", "actor,at,kind,level,amount\n" + body))

    found = [tuple(row.values()) for row in read(file, ["level", "amount"])]

    assert found == [(None, 1.0), (None, None), (7, None), (8, -2.0)]
    assert {fault.reason: fault.example for fault in file.report.nulled} == {
        "level is not a whole number": "first in row 1: 'abc'",
        "level is out of range": "first in row 2: '40000'",
        "amount is not finite": "first in row 2: 'inf'",
        "amount is not a number": "first in row 3: 'x'",
    }


@pytest.mark.parametrize("mark", [",", "\t", ";", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff", "\n\n"])
def test_delimiter_line_ends_blank_lines_and_byte_order_marks_are_coped_with(tmp_path, mark, end, start):
    lines = ["actor| at |kind|target", "a|1|k|x", "", 'b|2|k|"a|""b"""']
    path = write(tmp_path / "log.csv", start + end.join(line.replace("|", mark) for line in lines) + end)

    found = read(EventFile(path), ["actor", "target"])

    assert found == [{"actor": "a", "target": "x"}, {"actor": "b", "target": f'a{mark}"b"'}]


def test_rows_are_numbered_where_they_stand_bad_ones_counted(tmp_path):
    path = write(tmp_path / "log.csv", "actor,at,kind\na,1,k\nonly two,1\n\nb,2,k\n,3,k\nc,4,k\n")

    file = EventFile(path, max_bad_share=1).numbered()

    assert read(file, ["actor", "seq"]) == [
        {"actor": "a", "seq": 0},
        {"actor": "b", "seq": 2},
        {"actor": "c", "seq": 4},
    ]
    assert [fault.example for fault in file.report.bad] == [
        "first in row 4: ''",
        "first in row 2: '2 fields: only two,1'",
    ]


def test_rows_keep_their_numbers_over_many_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("gamewarden.readers.logs.delimited.LONGEST_ROW", 64)
    lines = [f"a{i},{i},k" if i % 7 else f"a{i},{i},k,too many" for i in range(500)]
    path = write(tmp_path / "log.csv", "actor,at,kind\n" + "\n".join(lines) + "\n")

    found = read(EventFile(path, max_bad_share=1).numbered(), ["actor", "seq"])

    assert [(row["actor"], row["seq"]) for row in found] == [(f"a{i}", i) for i in range(500) if i % 7]


@pytest.mark.parametrize("block", [64, 1 << 20])
def test_json_read_by_arrow_and_line_by_line_agree(tmp_path, monkeypatch, block):
    monkeypatch.setattr("gamewarden.readers.logs.jsonlines._BLOCK", block)
    objects = [{"actor": i, "at": i + 0.25, "kind": f"k{i % 3}", "amount": i / 7, "level": i % 60} for i in range(300)]
    lines = [json.dumps(each) for each in objects]
    lines[100] = '{"actor": "x", "at": 1700000000.12345699999999, "kind": 5, "note": [[]]}'
    lines[200] = "no json"
    path = write(tmp_path / "log.jsonl", "\n".join(lines))

    found = read(EventFile(path).numbered(), ["actor", "at", "kind", "amount", "level", "seq"])

    assert len(found) == 299
    assert found[100]["at"] == datetime(2023, 11, 14, 22, 13, 20, 123456, tzinfo=UTC)
    assert found[99] == {
        "actor": "99",
        "at": datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=99.25),
        "kind": "k0",
        "amount": 99 / 7,
        "level": 39,
        "seq": 99,
    }
    assert found[200]["seq"] == 201


def test_json_lines_keep_their_places_past_blank_and_doubled_ones(tmp_path, monkeypatch):
    monkeypatch.setattr("gamewarden.readers.logs.jsonlines._BLOCK", 64)
    line = '{"actor":"a","at":1,"kind":"k"}'
    path = write(tmp_path / "log.jsonl", "\n".join([line] * 10 + [line + line] + [line] * 10 + ["", ""] + [line] * 10))

    found = read(EventFile(path, max_bad_share=1).numbered(), ["seq"])

    assert [row["seq"] for row in found] == [*range(10), *range(11, 31)]


def test_a_json_key_may_appear_late(tmp_path):
    lines = ['{"actor":"a","at":1,"kind":"k"}'] * 20_000 + ['{"actor":"b","at":1,"kind":"k","zone":"z"}']
    file = EventFile(write(tmp_path / "log.jsonl", "\n".join(lines)))

    assert read(file, ["zone"])[-1] == {"zone": "z"}
    assert "zone" not in file.columns


def test_the_first_of_rows_with_one_seq_counts_and_rows_without_seq_are_never_dropped(tmp_path):
    path = write(tmp_path / "log.csv", "actor,at,kind,seq\na,1,k,5\nb,1,k,\nc,1,k,4\nd,1,k,5\ne,1,k,\n")
    file = EventFile(path)

    assert [row["actor"] for row in read(file, ["actor"])] == ["a", "b", "c", "e"]
    assert file.report.duplicates == 1


def test_without_seq_nothing_is_dropped(tmp_path):
    file = EventFile(write(tmp_path / "log.csv", "actor,at,kind\n" + "a,1,k\n" * 3))

    assert len(read(file)) == 3


@given(st.lists(st.lists(st.integers(0, 40), max_size=20), max_size=6))
def test_numbers_seen_before_are_known_whatever_their_order(batches):
    seen, known = SeenRows(), set()

    for batch in batches:
        fresh = seen.first_time(np.array(batch, dtype=np.int64))
        expected = [number not in known and number not in batch[:place] for place, number in enumerate(batch)]
        known |= set(batch)

        assert (fresh is None and all(expected)) or fresh.tolist() == expected


def test_a_log_in_order_is_remembered_as_one_range():
    seen = SeenRows()

    for start in range(0, 10_000, 100):
        assert seen.first_time(np.arange(start, start + 100, dtype=np.int64)) is None

    assert seen.ranges == 1
    assert seen.first_time(np.array([2**63 - 1, 9_999], dtype=np.int64)).tolist() == [True, False]


def test_an_unknown_column_is_refused(tmp_path):
    file = EventFile(write(tmp_path / "log.csv", "actor,at,kind\n"))

    with pytest.raises(ReadError, match="no column 'nonsense'"):
        file.batches(["nonsense"])


def test_a_stream_in_memory_and_a_file_give_the_same_events(tmp_path):
    frame = pl.DataFrame({"actor": ["a", "b"], "at": [START, START], "kind": ["k", "l"], "seq": [1, 2]})
    frame.write_parquet(tmp_path / "log.parquet")

    assert frame_of(EventFile(tmp_path / "log.parquet")).equals(frame_of(FrameEvents(frame)))


# --- bad input: one clear line each ---------------------------------------------------------------------------------

GOOD = b"actor,at,kind\na,1,k\n"
BIG = b"actor,at,kind\n" + b"".join(b"a%d,%d,k\n" % (i, i) for i in range(50_000))
MESSAGES = {
    "empty": (b"", "{path}: is empty; a log needs at least a header line"),
    "empty gz": (gzip.compress(b""), "{path}: is empty; a log needs at least a header line"),
    "blank": (b"\n \n", "{path}: holds only blank lines; a log needs at least a header line"),
    "column": (
        b"Account,at,kind\n",
        "{path}: lacks actor; it has Account, at, kind; a mapping file (--map) names the columns",
    ),
    "typo": (
        b"actr,at,kind\n",
        (
            "{path}: lacks actor; 'actr' looks like 'actor'; it has actr, at, kind; a mapping file (--map) names the "
            "columns"
        ),
    ),
    "twice": (b"actor,at,kind,at\n", "{path}: has two columns named 'at'; give each its own name"),
    "time": (
        GOOD + b"b,yesterday,k\n",
        "{path}: 1 of 2 rows are bad, more than 1.00% (time does not parse in 1 row (first in row 2: 'yesterday'))",
    ),
    "zone": (
        GOOD + b"b,2024-01-01 00:00:00,k\n",
        (
            "{path}: 1 of 2 rows are bad, more than 1.00% (time has no zone (name the log's own with --time-zone or "
            "[time] zone) in 1 row (first in row 2: '2024-01-01 00:00:00'))"
        ),
    ),
    "gz ends": (
        gzip.compress(BIG)[:-500],
        (
            "{path}: the gzip data ends early, the file was not written or copied whole; fetch it again, or "
            "keep its whole lines with `gamewarden read --keep-truncated`"
        ),
    ),
    "zstd ends": (
        zstd(BIG)[:-500],
        (
            "{path}: the zstd data ends early, the file was not written or copied whole; fetch it again, or "
            "keep its whole lines with `gamewarden read --keep-truncated`"
        ),
    ),
    "quote": (
        GOOD + b'b,2,"k\n' + GOOD,
        "{path}: a quoted field opens and never closes; mend the quotes near the end",
    ),
    "long": (
        GOOD + b"b,2," + b"k" * (5 << 20),
        "{path}: after 1 row a row is longer than 4 MiB, or a quoted field opens and never closes; is this a table?",
    ),
    "nul": (
        b"\0" * 50,
        (
            '{path}: is not a table: its first line holds NUL bytes; if it is UTF-16, say encoding = "utf-16-le" or '
            '"utf-16-be" under [file] in a mapping file'
        ),
    ),
    "latin header": (
        b"actor,at,kind,gr\xfc\xdf\n",
        (
            '{path}: the header is not UTF-8; byte 16 is the first that is not UTF-8; say encoding = "cp949" or '
            'encoding = "cp1251" or encoding = "cp1252" under [file] in a mapping file'
        ),
    ),
    "bzip2": (
        b"BZh91AY",
        "{path}: is packed with bzip2; write CSV, JSON Lines or Parquet, plain or packed with gzip or zstd",
    ),
    "array": (
        b'[{"actor": 1}]',
        "{path}: begins like a JSON array; write one object a line, or say under [line] how lines read",
    ),
    "cr": (GOOD.replace(b"\n", b"\r"), "{path}: its lines end with carriage returns alone; convert them to line feeds"),
    "header quote": (
        b'actor,"at,kind\n',
        "{path}: a quote in the header never closes; the first line must name the columns",
    ),
    "units": (
        b"actor,at,kind\na,1704067200000,k\n",
        (
            "{path}: 1 of 1 rows are bad, more than 1.00% (time is outside the years 20 to 9979 (is it in other units? "
            "set [time] format) in 1 row (first in row 1: '1704067200000'))"
        ),
    ),
    "parquet": (
        b"PAR1" + b"x" * 50,
        (
            "{path}: the Parquet file ends early or was not written whole (Parquet magic bytes not found in footer. "
            "Either the file is corrupted or this is not a parquet file.); fetch it again"
        ),
    ),
}


@pytest.mark.parametrize("case", MESSAGES)
def test_bad_input_gets_this_one_line(tmp_path, case):
    data, message = MESSAGES[case]
    path = write(tmp_path / "log", data)

    with pytest.raises(ReadError) as caught:
        read(EventFile(path))

    assert str(caught.value) == message.format(path=path)


def test_a_directory_a_missing_file_and_a_device_get_one_line(tmp_path):
    (tmp_path / "full").mkdir()
    write(tmp_path / "full" / "x", "x")
    (tmp_path / "nothing").mkdir()

    for path, message in [
        (tmp_path / "full", "is a directory, not a log file"),
        (tmp_path / "nothing", "holds nothing"),
        (tmp_path / "absent", "No such file"),
        (Path("/dev/null"), "is not a regular file"),
    ]:
        with pytest.raises(ReadError, match=message):
            EventFile(path)


def test_a_damaged_gz_is_told_from_one_that_ends_early(tmp_path):
    data = bytearray(gzip.compress(BIG))
    data[5000:5010] = b"\xff" * 10

    with pytest.raises(ReadError, match="is damaged"):
        read(EventFile(write(tmp_path / "log.csv.gz", bytes(data))))


@pytest.mark.parametrize("packed", [gzip.compress(BIG)[:-500], zstd(BIG)[:-500]])
def test_the_whole_lines_of_a_truncated_file_can_be_kept(tmp_path, packed):
    file = EventFile(write(tmp_path / "log", packed), keep_truncated=True)

    found = read(file, ["actor"])

    assert 1_000 < len(found) < 50_000
    assert found[-1] == {"actor": f"a{len(found) - 1}"}
    assert "ends early" in file.report.notes[0].reason


def test_several_gz_members_and_padding_are_one_file(tmp_path):
    path = write(tmp_path / "log", gzip.compress(GOOD) + gzip.compress(b"b,2,k\n") + b"\0" * 512)

    assert len(read(EventFile(path))) == 2


def test_an_unclosed_quote_counts_every_line_it_swallows(tmp_path):
    path = write(tmp_path / "log.csv", GOOD + b'b,2,"k\n' + b"c,3,k\n" * 30 + b'd,4,k"\n' + b"e,5,k\n" * 300)
    file = EventFile(path)

    with pytest.raises(ReadError, match="of 333 rows are bad"):
        read(file)


def test_line_breaks_inside_a_text_are_kept_and_pointed_out(tmp_path):
    file = EventFile(write(tmp_path / "log.csv", b'actor,at,kind,target\na,1,k,"two\nlines"\n'))

    assert read(file, ["target"]) == [{"target": "two\nlines"}]
    assert str(file.report.notes[0]).startswith("target holds line breaks (is a closing quote missing?) in 1 row")


def test_too_many_bad_rows_end_a_long_reading_early(tmp_path):
    path = write(tmp_path / "log.csv", b"actor,at,kind\n" + b"a,never,k\n" * 2_000_000)

    with pytest.raises(ReadError, match=r"of the first .* rows are bad"):
        read(EventFile(path))


def test_there_is_no_report_before_a_reading_and_one_after_a_failed_reading(tmp_path):
    file = EventFile(write(tmp_path / "log.csv", GOOD + b"b,never,k\n"))

    with pytest.raises(ReadError, match="has not been read yet"):
        _ = file.report
    with pytest.raises(ReadError, match="rows are bad"):
        read(file)
    assert (file.report.rows, file.report.kept) == (2, 1)


def test_a_parquet_bomb_is_refused_before_it_fills_the_disk(tmp_path):
    path = write(tmp_path / "log.parquet.gz", gzip.compress(b"PAR1" + bytes(64 << 20)))

    with pytest.raises(ReadError, match="no honest Parquet"):
        EventFile(path)


def test_a_csv_bomb_is_refused_without_being_unpacked_whole(tmp_path):
    path = write(tmp_path / "log.csv.gz", gzip.compress(GOOD + b"a" * (256 << 20), compresslevel=1))

    with pytest.raises(ReadError, match="longer than 4 MiB"):
        read(EventFile(path))


# --- fuzz: whatever the bytes, our errors or events, never a crash ---------------------------------------------------

SEEDS = {
    "csv": b'actor,at,kind,level,amount\na,2024-01-01T00:00:00Z,k,1,2.5\n"b ""q""",1700000000.5,"k,l",,\n',
    "jsonl": b'{"actor":1,"at":1.5,"kind":"k","x":1e3}\n{"actor":"b","at":"2024-01-01T00:00:00+09:00","kind":2}\n',
    "parquet": encode(
        check(
            pl.DataFrame({"actor": ["a", "b"], "at": [START] * 2, "kind": ["k"] * 2, "level": [1, None]}), EVENTS, "t"
        ),
        "parquet",
    ),
}


@st.composite
def mutated(draw, seed: bytes):
    data = bytearray(seed)
    for _ in range(draw(st.integers(1, 6))):
        place = draw(st.integers(0, len(data)))
        junk = draw(
            st.binary(max_size=6) | st.sampled_from([b'"', b"\n", b",", b"\0", b"{", b"\xff", b"\r", b"9" * 40])
        )
        match draw(st.sampled_from(["insert", "replace", "cut", "repeat"])):
            case "insert":
                data[place:place] = junk
            case "replace":
                data[place : place + len(junk)] = junk
            case "cut":
                del data[place : place + draw(st.integers(0, 30))]
            case "repeat":
                data += data[place : place + 50]
    return bytes(data)


@pytest.mark.parametrize("packing", ["plain", "gzip", "zstd", "mutated gzip", "mutated zstd"])
@pytest.mark.parametrize("form", FORMATS)
@given(data=st.data())
def test_any_bytes_give_events_or_one_line_of_ours(tmp_path, form, packing, data):
    seed = SEEDS[form]
    packer = {"gzip": gzip.compress, "zstd": zstd}.get(packing.split()[-1], bytes)
    raw = data.draw(mutated(packer(seed))) if packing.startswith("mutated") else packer(data.draw(mutated(seed)))
    path = write(tmp_path / "log", raw)

    try:
        file = EventFile(path, LogMap(), time_zone="Asia/Seoul", max_bad_share=1)
        found = frame_of(file)
    except GamewardenError as error:
        assert "\n" not in str(error)  # noqa: PT017 - an error is one of two right answers here
    else:
        assert found.height == file.report.kept


@pytest.mark.parametrize("form", FORMATS)
def test_a_seq_is_a_signed_number_of_64_bits_and_one_beyond_is_counted(tmp_path, form):
    seqs = [-5, 2**63 - 1, 2**63, 2**64 - 1]
    raw = pl.DataFrame({"actor": ["a"] * 4, "at": [START] * 4, "kind": ["k"] * 4}).with_columns(
        pl.Series("seq", [None, *seqs[1:]], pl.UInt64) if form == "parquet" else pl.Series("seq", map(str, seqs))
    )
    file = EventFile(write(tmp_path / "log", encode(raw, form)), max_bad_share=1)

    assert [row["seq"] for row in read(file, ["seq"])] == [None if form == "parquet" else -5, 2**63 - 1, None, None]
    assert [note for note in file.notes if "seq is out of range" in note]


def test_a_parquet_file_with_unsigned_seqs_that_fit_is_read_without_looking_at_each_text(tmp_path, monkeypatch):
    frame = pl.DataFrame({"actor": ["a", "b"], "at": [START, START], "kind": ["k", "l"], "seq": [1, 2]})
    path = tmp_path / "log.parquet"
    frame.cast({"seq": pl.UInt64, "at": EVENTS.columns["at"]}).write_parquet(path)
    monkeypatch.setattr("gamewarden.readers.logs.tables.EventFile._foreign_frame", None)

    (batch,) = EventFile(path).batches(["actor", "seq"])

    assert batch.schema.field("seq").type == pa.int64()
    assert batch.column("seq").to_pylist() == [1, 2]
