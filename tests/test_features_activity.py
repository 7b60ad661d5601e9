from datetime import UTC, datetime

import polars as pl

from gamewarden.features.activity import Activity
from gamewarden.tables import FrameEvents


def events(*rows, **columns):
    frame = pl.DataFrame(rows, schema=["actor", "hour", "zone", "ip"], orient="row")
    at = pl.Series("at", [datetime(2020, 1, 1 + hour // 24, hour % 24, tzinfo=UTC) for hour in frame["hour"]])
    return FrameEvents(frame.drop("hour", *columns.get("without", ())).with_columns(at, kind=pl.lit("move")))


def test_the_main_zone_is_the_one_with_most_events_over_all_addresses():
    log = events(
        ("a", 1, "Dion", "1"), ("a", 2, "Dion", "2"), ("a", 3, "Giran", "1"), ("a", 4, "Dion", "3"), ("a", 5, None, "1")
    )

    row = Activity().measure(log).row(0, named=True)

    assert (row["main_zone"], row["zones"], row["addresses"], row["events"]) == ("Dion", 2, 3, 5)


def test_of_two_equal_zones_the_first_by_name_is_the_main_one():
    log = events(("a", 1, "Giran", "1"), ("a", 2, "Dion", "1"))

    assert Activity().measure(log)["main_zone"].to_list() == ["Dion"]


def test_a_day_ends_at_midnight_of_the_zone():
    log = events(("a", 14, "Dion", "1"), ("a", 16, "Giran", "1"))

    assert Activity().measure(log).height == 1
    assert Activity(time_zone="Asia/Seoul").measure(log)["main_zone"].to_list() == ["Dion", "Giran"]


def test_what_the_log_does_not_have_is_null():
    log = events(("a", 1, "x", "x"), without=("zone", "ip"))

    row = Activity().measure(log).row(0, named=True)

    assert (row["main_zone"], row["zones"], row["addresses"]) == (None, None, None)
