"""No type and no value of a stranger's Parquet file ends the process or stops more than it must."""

import re
from datetime import UTC, datetime

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gamewarden.errors import GamewardenError, ReadError
from gamewarden.features.account_table.columns import understood
from gamewarden.features.account_table.recipe import AccountTable
from gamewarden.readers.logs.columns import foreign, frame_of
from gamewarden.readers.logs.lint import lint
from gamewarden.readers.logs.normalize import shown
from gamewarden.readers.logs.operator_tables import read_labels, read_profiles, read_table
from gamewarden.readers.logs.tables import EventFile
from gamewarden.readers.timestamps import OUT_OF_RANGE, TimeReader
from gamewarden.tables import FrameRows, csv_text, json_text, parquet_batches
from parquet_made_up import odd_columns

NOW = pa.array([datetime(2024, 1, 1, tzinfo=UTC)] * 3, pa.timestamp("us", "UTC"))
NAMES = pa.array(["a", "b", "c"])
EVENTS = {"actor": NAMES, "at": NOW, "kind": pa.array(["move"] * 3), "x": pa.array([1.0, 2.0, 3.0])}
LABELS = {"actor": NAMES, "bot": pa.array([True, False, True]), "since": NOW, "votes": pa.array([1, 2, 3])}
PROFILES = {"actor": NAMES, "level": pa.array([1, 2, 3]), "first_login": NOW, "more": NAMES}
ODD = odd_columns()


def _with(folder, table, name, column):
    path = folder / "odd.parquet"
    pq.write_table(pa.table({**table, name: column}), path)
    return path


def _answer(call, path):
    """What a call gives, or nothing if it refuses in one line of ours."""
    told = ""
    try:
        return call(path)
    except GamewardenError as error:
        told = str(error)
    assert told.startswith(f"{path}: ")
    assert "\n" not in told
    return None


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", ["actor", "at", "x", "seq", "zone"])
def test_a_log_with_a_column_of_any_type_is_looked_at_and_read(tmp_path, odd, name):
    path = _with(tmp_path, EVENTS, name, ODD[odd])
    file = EventFile(path, max_bad_share=1.0)

    found = lint(path)
    kept = sum(batch.num_rows for batch in file.batches(("actor", "at", "kind", name)))

    assert found.problem is None
    assert json_text(found.table())
    assert (file.report.rows, file.report.kept) == (3, kept)


@pytest.mark.parametrize("odd", ODD)
def test_labels_profiles_and_own_tables_with_a_column_of_any_type_are_read_or_refused_in_a_line(tmp_path, odd):
    for name in LABELS:
        _answer(read_labels, _with(tmp_path, LABELS, name, ODD[odd]))
    for name in PROFILES:
        frame = _answer(read_profiles, _with(tmp_path, PROFILES, name, ODD[odd]))
        assert frame is None or csv_text(frame)
    own = _answer(read_table, _with(tmp_path, PROFILES, "more", ODD[odd]))

    assert own is None or understood(own["more"])


@pytest.mark.parametrize(
    "odd", ["date32 2147483647", "date64 -9223372036854775808", "timestamp ms UTC 9223372036854775807"]
)
def test_a_time_that_no_calendar_holds_is_one_bad_row(tmp_path, odd):
    far = pa.concat_arrays([ODD[odd][:1], _zero(odd)])
    file = EventFile(_with(tmp_path, EVENTS, "at", far), time_zone="Asia/Seoul", max_bad_share=1.0)

    kept = sum(batch.num_rows for batch in file.batches(("actor",)))

    assert kept == 2
    assert [(fault.reason, fault.count) for fault in file.report.bad] == [(OUT_OF_RANGE, 1)]


def _zero(odd):
    dtype = ODD[odd].type
    width = pa.int32() if pa.types.is_date32(dtype) else pa.int64()
    return pa.array([0, 0], width).view(dtype)


@pytest.mark.parametrize("zone", ["+05:30", "Nowhere/Land", "localtime"])
def test_a_timestamp_means_its_moment_whatever_its_zone_is_called(tmp_path, zone):
    micros = 1_704_067_200_000_000
    at = pa.array([micros] * 3, pa.int64()).view(pa.timestamp("us", zone))
    file = EventFile(_with(tmp_path, EVENTS, "at", at))

    (batch,) = file.batches(("at",))

    assert batch.column("at").cast(pa.int64()).to_pylist() == [micros] * 3


def test_a_far_day_beside_near_ones_changes_nothing_but_itself():
    days = pa.array([2**31 - 1, 0, None], pa.int32()).view(pa.date32())

    alone, crowd = frame_of(pa.table({"day": days[1:]})), frame_of(pa.table({"day": days}))

    assert alone["day"].cast(pl.String).to_list() == ["1970-01-01", None]
    assert crowd["day"].to_list() == ["5881580-07-11", "1970-01-01", None]


def test_a_wide_decimal_keeps_its_digits():
    assert frame_of(pa.table({"id": ODD["decimal256"]}))["id"][0] == "1" + "0" * 60 + ".000"


def test_a_panic_under_a_reading_is_one_line(tmp_path):
    far = pl.Series([2**31 - 1]).cast(pl.Int32).cast(pl.Date)

    with (
        pytest.raises(ReadError, match=re.escape("holds a value that cannot be converted (out-of-range date")),
        foreign(tmp_path),
    ):
        far.cast(pl.String)


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_a_timestamp_at_the_end_of_its_numbers_is_out_of_range_or_right(unit, zone):
    far = pl.Series([2**63 - 1, -(2**63) + 1, 0]).cast(pl.Datetime(unit, zone))

    moments = TimeReader(time_zone="Asia/Seoul").read(far)

    expected = [False] * 3 if unit == "ns" else [True, True, False]
    assert list(moments.faults.get(OUT_OF_RANGE, [False] * 3)) == expected
    assert moments.at.null_count() == sum(expected)


@pytest.mark.parametrize(
    "dtype", [*(pl.Datetime(unit, "UTC") for unit in ("ms", "us", "ns")), pl.Date, pl.Duration("ns")]
)
@pytest.mark.parametrize("number", [0, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63) + 1, 10**15, -(10**15), None])
def test_any_moment_can_be_shown_as_an_example(dtype, number):
    width = pl.Int32 if dtype == pl.Date else pl.Int64
    if number is None or width == pl.Int64 or abs(number) <= 2**31 - 1:
        assert (shown(pl.Series([number], dtype=width).cast(dtype), 0) is None) == (number is None)


def test_codes_that_name_no_text_are_damage():
    class Wild:
        """A file whose bytes were flipped: Arrow gives out the codes as they stand."""

        num_row_groups = 1

        def iter_batches(self, *_, **__):
            codes = pa.DictionaryArray.from_arrays(pa.array([0, 15], pa.int32()), pa.array(["a", "b"]), safe=False)
            yield pa.RecordBatch.from_arrays([codes], ["kind"])

    with pytest.raises(ReadError, match="row group 0 is damaged \\(a code in it names no text\\)"):
        list(parquet_batches(Wild(), ["kind"]))


def test_actors_that_are_no_text_are_refused_in_one_line():
    rows = FrameRows(pl.DataFrame({"actor": [b"\xff", b"b"], "level": [1, 2]}))

    with pytest.raises(GamewardenError):
        AccountTable(actor="actor").measure(rows)
