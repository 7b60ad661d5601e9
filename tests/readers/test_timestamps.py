from datetime import UTC, datetime, timedelta
from decimal import ROUND_DOWN, Decimal
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.core.durations import to_micros
from gamewarden.errors import ConfigError, GamewardenError
from gamewarden.readers.timestamps import NO_ZONE, OUT_OF_RANGE, REPEATED, SKIPPED, UNREADABLE, TimeReader, layout

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def micros(values, clock=None, dtype=pl.String):
    return (clock or TimeReader()).read(pl.Series("at", values, dtype=dtype)).at.to_physical().to_list()


def faults(values, clock=None, dtype=pl.String):
    moments = (clock or TimeReader()).read(pl.Series("at", values, dtype=dtype))
    return {reason: mask.tolist() for reason, mask in moments.faults.items()}


def test_epoch_seconds_are_cut_to_whole_microseconds_and_never_rounded():
    assert micros(
        ["1700000000.123456789", "1700000000.12345699999999999999", "0.9999999", "-0.9999999", "5", "5."]
    ) == [
        1700000000123456,
        1700000000123456,
        999999,
        -999999,
        5000000,
        5000000,
    ]


@given(st.decimals(min_value=-(10**10), max_value=10**11, allow_nan=False, places=11))
def test_any_decimal_number_of_seconds_gives_its_exact_microseconds(number):
    exact = int((number * 10**6).to_integral_value(ROUND_DOWN))

    assert micros([f"{number:f}"]) == [exact]


@given(
    st.sampled_from([("epoch_s", 6), ("epoch_ms", 3), ("epoch_us", 0)]), st.integers(0, 10**15), st.integers(0, 10**9)
)
def test_every_epoch_unit_is_exact_in_text_and_whole_numbers(unit, whole, fraction):
    name, digits = unit
    whole //= 10**digits

    assert micros([f"{whole}.{fraction:09d}"], TimeReader(name)) == [
        int((Decimal(f"{whole}.{fraction:09d}") * 10**digits).to_integral_value(ROUND_DOWN))
    ]
    assert micros([whole], TimeReader(name), pl.Int64) == [whole * 10**digits]


def test_a_float_column_is_read_by_its_shortest_decimals():
    assert micros([1700000000.123457, 1e-6, 1e9], dtype=pl.Float64) == [1700000000123457, 1, 10**15]


def test_powers_of_ten_are_numbers_too():
    assert micros(["1.7e9", "17E8", "1e-6", "1.5e0"]) == [1700000000000000, 1700000000000000, 1, 1500000]


@pytest.mark.parametrize(
    "text",
    [
        "2024-01-01T09:00:00+09:00",
        "2024-01-01 00:00:00Z",
        "2024-01-01t00:00:00z",
        "2024-01-01T00:00Z",
        "2023-12-31T18:30:00-0530",
        "2024-01-01T01:00:00+01",
        "  2024-01-01T00:00:00Z ",
        "2024-01-01T00:00:00,000Z",
        "2024-01-01 00:00:00 +00:00",
        "2023-12-31T23:59:60Z",
        "1704067200",
        "1704067200.000",
    ],
)
def test_iso_8601_with_an_offset_and_epoch_seconds_mean_what_they_say(text):
    assert micros([text]) == [1704067200_000_000]


def test_iso_and_epoch_times_may_stand_in_one_column():
    assert micros(["1970-01-01T00:00:01Z", "2", None, "x"]) == [1000000, 2000000, None, None]
    assert faults(["1970-01-01T00:00:01Z", "2", None, "x"]) == {UNREADABLE: [False, False, False, True]}


@given(
    st.datetimes(datetime(20, 1, 3), datetime(9979, 12, 28)),  # noqa: DTZ001 - the offset is drawn apart
    st.integers(-23 * 60 - 59, 23 * 60 + 59),
    st.sampled_from(["T", " "]),
)
def test_any_iso_time_is_read_as_python_reads_it(wall, offset, mark):
    minutes = f"{'-' if offset < 0 else '+'}{abs(offset) // 60:02d}:{abs(offset) % 60:02d}"
    text = wall.isoformat(mark) + minutes

    assert micros([text]) == [to_micros(datetime.fromisoformat(text))]


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-30T00:00:00Z",
        "2023-02-29T00:00:00Z",
        "2024-13-01T00:00:00Z",
        "2024-01-01T24:00:00Z",
        "2024-01-01T00:60:00Z",
        "2024-01-01T00:00:00+24:00",
        "0000-01-01T00:00:00Z",
        "yesterday",
        "nan",
        "inf",
        "1,5",
        "0x10",
        "--5",
        "1e999",
        ".",
    ],
)
def test_what_is_no_time_is_said_to_be_none(text):
    assert set(faults([text])) <= {UNREADABLE, OUT_OF_RANGE}
    assert micros([text]) == [None]


@pytest.mark.parametrize("time_zone", [None, "Europe/Berlin"])
@pytest.mark.parametrize(
    "text",
    [
        "2026-03-01T12:34:56Z",
        "2026-03-01 12:34:56",
        "2024-02-29T23:59:60Z",
        "2023-02-29T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "2026-03-29 02:30:00",
        "2026-10-25 02:30:00.5",
        "2026-03-01T24:00:00Z",
        "2026-03-01T12:34:56.1Z",
        "2026-03-01T12:34:56.123456789",
        "2026-03-01T12:34:56.Z",
        "2026-03-01T12:34:5٦Z",
        "2026-03-01T12:34:56z",
    ],
)
def test_a_time_is_the_same_in_a_column_of_one_width_and_in_one_of_many(text, time_zone):
    reader = TimeReader(time_zone=time_zone)

    alike, mixed = reader.read(pl.Series([text, text])), reader.read(pl.Series([text, f" {text} "]))

    assert alike.at.to_list() == mixed.at.to_list()
    assert {why: mask.tolist() for why, mask in alike.faults.items()} == {
        why: mask.tolist() for why, mask in mixed.faults.items()
    }
    assert alike.notes.keys() == mixed.notes.keys()


def test_a_time_without_a_zone_is_refused_unless_the_log_has_one():
    assert faults(["2024-01-01T00:00:00", "2024-01-01"]) == {NO_ZONE: [True, True]}
    assert micros(["2024-01-01T00:00:00", "2024-01-01"]) == [None, None]
    assert micros(["2024-01-01T09:00:00", "2024-01-01"], TimeReader(time_zone="Asia/Seoul")) == [
        1704067200_000_000,
        1704034800_000_000,
    ]


def test_an_offset_in_the_text_wins_over_the_zone():
    assert micros(["2024-01-01T00:00:00Z"], TimeReader(time_zone="Asia/Seoul")) == [1704067200_000_000]


def test_times_beyond_the_calendar_are_out_of_range():
    far = ["1704067200000", "99999999999999999999999", "-99999999999999", "9" * 40]

    assert faults(far)[OUT_OF_RANGE][:3] == [True, True, True]
    assert micros(far) == [None] * 4
    assert faults([2**62, -(2**62)], dtype=pl.Int64) == {OUT_OF_RANGE: [True, True]}
    assert faults([2**64 - 1], dtype=pl.UInt64) == {OUT_OF_RANGE: [True]}


@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Seoul"])
@given(wall=st.datetimes(datetime(2000, 1, 1), datetime(2030, 1, 1)))  # noqa: DTZ001 - a wall clock
def test_local_times_are_read_with_the_offset_before_a_change_of_clocks(zone, wall):
    expected = to_micros(wall.replace(tzinfo=ZoneInfo(zone), fold=0))

    assert micros([wall.isoformat(" ")], TimeReader(time_zone=zone)) == [expected]


def test_skipped_and_repeated_local_times_are_noted():
    clock = TimeReader(time_zone="America/New_York")
    moments = clock.read(pl.Series(["2024-03-10 02:30:00", "2024-11-03 01:30:00", "2024-06-01 00:00:00"]))

    assert {reason: mask.tolist() for reason, mask in moments.notes.items()} == {
        SKIPPED: [True, False, False],
        REPEATED: [False, True, False],
    }
    assert moments.at.dt.strftime("%H:%M").to_list() == ["07:30", "05:30", "04:00"]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("%Y-%m-%d %H:%M:%S.%f", "2016-03-04 05:06:07.89"),
        ("%d/%b/%Y:%H:%M:%S %z", "04/Mar/2016:05:06:07 +0000"),
        ("%m/%d/%y %I:%M:%S %p", "3/4/16 5:06:07 am"),
        ("%Y%m%d%H%M%S", "20160304050607"),
        ("%F %T", "2016-03-04 05:06:07"),
        ("%B %d %Y, %R", "March 4 2016, 05:06"),
        ("[%Y.%m.%d] %H-%M-%S", "[2016.03.04] 05-06-07"),
    ],
)
def test_a_pattern_reads_what_it_describes(pattern, text):
    (found,) = micros([text], TimeReader(pattern, "UTC"))

    whole = EPOCH + timedelta(microseconds=found)
    assert whole.replace(second=7, microsecond=0) == datetime(2016, 3, 4, 5, 6, 7, tzinfo=UTC)
    assert faults(["rubbish"], TimeReader(pattern, "UTC")) == {UNREADABLE: [True]}


def test_noon_and_midnight_on_a_twelve_hour_clock():
    clock = TimeReader("%Y-%m-%d %I %p", "UTC")

    assert micros(["1970-01-01 12 AM", "1970-01-01 12 PM", "1970-01-01 1 PM", "1970-01-01 13 PM"], clock) == [
        0,
        12 * 3600 * 10**6,
        13 * 3600 * 10**6,
        None,
    ]


def test_whole_numbers_can_be_dates_when_a_pattern_says_so():
    assert micros([20240101], TimeReader("%Y%m%d", "UTC"), pl.Int64) == [1704067200_000_000]


@pytest.mark.parametrize("pattern", ["%Q", "%Y-%m", "", "epoch", "%Y-%m-%d %Y", "%", "nonsense"])
def test_a_pattern_we_cannot_follow_is_refused_on_one_line(pattern):
    with pytest.raises(ConfigError) as caught:
        TimeReader(pattern)

    assert "\n" not in str(caught.value)


def test_an_unknown_zone_is_refused():
    with pytest.raises(ConfigError, match="IANA"):
        TimeReader(time_zone="Asia/Soul")


@given(st.text(max_size=30))
def test_any_pattern_is_followed_or_refused(pattern):
    try:
        layout(pattern)
        TimeReader(pattern, "UTC").read(pl.Series(["2024-01-01"]))
    except GamewardenError as error:
        assert "time format" in str(error)  # noqa: PT017 - an error is one of two right answers here


@given(st.lists(st.text(max_size=25) | st.none() | st.from_regex(r"[0-9T:.+\-eZ ]{1,30}", fullmatch=True), max_size=5))
def test_any_text_is_a_time_or_a_fault_and_never_both(values):
    moments = TimeReader(time_zone="Europe/Berlin").read(pl.Series("at", values, dtype=pl.String))

    for place, value in enumerate(values):
        faulty = any(mask[place] for mask in moments.faults.values())
        assert (moments.at[place] is None) == (faulty or value is None)


@pytest.mark.parametrize(
    "odd", ["2024-01-01T00:00:00.٣Z", "2024-01-01T00:00:00.1２3Z", "٢٠٢٤-01-01T00:00:00Z", "1700000000.٣", "１７０００"]
)
def test_digits_of_another_script_are_one_bad_time_and_not_the_end_of_the_file(odd):
    moments = TimeReader().read(pl.Series(["2024-01-01T00:00:00Z", odd, "1700000000.5"]))

    assert moments.at.is_null().to_list() == [False, True, False]
    assert moments.faults[UNREADABLE].tolist() == [False, True, False]


@pytest.mark.parametrize("zone", ["localtime", "Factory", "posixrules", "posix/Asia/Seoul", "right/UTC"])
def test_a_zone_that_is_no_place_is_refused_with_what_was_needed(zone):
    with pytest.raises(ConfigError, match=f"time zone '{zone}' .* write an IANA name such as Asia/Seoul or UTC"):
        TimeReader(time_zone=zone)


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("2026-03-01 12:00:00.123456 UTC", 1_772_366_400_123_456),  # BigQuery
        ("2026-03-01 12:00:00 UTC", 1_772_366_400_000_000),
        ("2026-03-01 12:00:00+00", 1_772_366_400_000_000),  # PostgreSQL
        ("2026-03-01T12:00:00.123456789Z", 1_772_366_400_123_456),  # RFC 3339 with nanoseconds
        ("2026-03-01 21:00:00.123456789 +0900 KST m=+0.000012", 1_772_366_400_123_456),  # Go
        ("2026-03-01 12:00:00.999999999 +0000 UTC", 1_772_366_400_999_999),
        ("2026-03-01 15:00:00 +0300 +03", 1_772_366_400_000_000),
    ],
)
def test_databases_and_go_write_times_that_need_no_format(text, micros):
    moments = TimeReader().read(pl.Series([text]))

    assert moments.at.to_physical().to_list() == [micros]


@pytest.mark.parametrize(
    "text", ["2026-03-01 12:00:00 KST", "2026-03-01 12:00:00 +0900 noon", "2026-03-01 12:00 UTC m=+1"]
)
def test_a_zones_short_name_alone_is_no_zone(text):
    assert TimeReader().read(pl.Series([text])).at.null_count() == 1


def test_clickhouse_writes_no_zone_and_must_be_told_one():
    column = pl.Series(["2026-03-01 12:00:00.123"])

    assert list(TimeReader().read(column).faults) == [NO_ZONE]
    assert TimeReader(time_zone="UTC").read(column).at.to_physical()[0] == 1_772_366_400_123_000


@given(st.integers(-(2**63), 2**63 - 1))
def test_nanoseconds_are_cut_to_microseconds_however_they_come(number):
    expected = (abs(number) // 1_000) * (-1 if number < 0 else 1)
    clock = TimeReader("epoch_ns")

    assert clock.read(pl.Series([number], dtype=pl.Int64)).at.to_physical()[0] == expected
    assert number == -(2**63) or clock.read(pl.Series([str(number)])).at.to_physical()[0] == expected


def test_a_unit_is_never_guessed_from_a_number():
    assert list(TimeReader().read(pl.Series([1_772_366_400_123_456_789])).faults) == [OUT_OF_RANGE]


def test_a_log_that_never_writes_the_year_is_told_it():
    clock = TimeReader("%d %b %H:%M:%S", "UTC", 2024)

    moments = clock.read(pl.Series(["29 Feb 9:00:01", "31 Feb 9:00:01", "x"]))

    assert moments.at.dt.strftime("%Y-%m-%d %H:%M:%S").to_list() == ["2024-02-29 09:00:01", None, None]
    assert TimeReader("%d %b %H:%M:%S", "UTC", 2025).read(pl.Series(["29 Feb 9:00:01"])).at.null_count() == 1
