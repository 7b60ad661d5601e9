"""Counting apart and adding up gives what counting together gives."""

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from gamewarden.core.clock import Clock
from gamewarden.core.coverage import Pulse
from gamewarden.core.durations import DAY, HOUR
from gamewarden.features.census import Census, CensusFold, CountedEvents
from gamewarden.features.kinds import kinds_by_period
from gamewarden.readers.memory import FrameEvents
from gamewarden.streams import WatchedEvents

CLOCKS = (Clock(DAY), Clock(HOUR, "Asia/Seoul"))


def _log(seed: int) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    rows = 3_000
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    return pl.DataFrame(
        {
            "actor": [f"p{number}" for number in draw.integers(0, 40, rows)],
            "at": [begin + timedelta(seconds=int(second)) for second in np.sort(draw.integers(0, 200_000, rows))],
            "kind": draw.choice(["move", "combat.kill", "session.login", "session.logout"], rows),
        }
    ).with_columns(pl.col("at").cast(pl.Datetime("us", "UTC")))


def _census(log: pl.DataFrame) -> Census:
    fold = CensusFold(CLOCKS)
    for batch in FrameEvents(log).batches(fold.columns):
        fold.push(batch)
    return fold.census()


def test_parts_with_actors_of_their_own_add_up_to_the_census_of_all() -> None:
    log = _log(1)
    shards = [log.filter(pl.col("actor").str.slice(1).cast(pl.Int64) % 3 == shard) for shard in range(3)]

    added = _census(shards[0]) + _census(shards[1]) + _census(shards[2])

    together = _census(log)
    assert added.pulse == together.pulse == Pulse.of(FrameEvents(log).batches(("actor", "at", "kind")))
    assert added.shows == together.shows
    for clock in CLOCKS:
        assert added.kinds[clock].equals(kinds_by_period(FrameEvents(log), clock))


def test_a_census_crosses_as_bytes_and_stays_the_same() -> None:
    census = _census(_log(2))

    back = Census.from_bytes(census.to_bytes())

    assert back.pulse == census.pulse
    assert all(back.kinds[clock].equals(census.kinds[clock]) for clock in CLOCKS)


def test_bytes_that_are_no_census_are_refused() -> None:
    with pytest.raises(ValueError, match="no census"):
        Census.from_bytes(b"something else")


def test_a_part_of_a_source_speaks_of_the_whole_by_its_census() -> None:
    log = _log(3)
    mine = CountedEvents(FrameEvents(log.filter(actor="p7")), _census(log))

    watched = WatchedEvents(mine, lambda _rows: None)

    assert watched.shows == dict(sorted(log["kind"].value_counts().iter_rows()))
    assert kinds_by_period(watched.whole, CLOCKS[0])["n"].sum() == log.height
    assert sum(batch.num_rows for batch in watched.batches(("actor",))) == log.filter(actor="p7").height
