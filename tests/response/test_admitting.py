"""The ledger knows of everybody whose evidence could lead to anything, and of nobody else."""

from datetime import UTC, datetime, timedelta

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from gamewarden.config import Config
from gamewarden.response.admitting import upper_llrs, who_could_reach
from gamewarden.response.evidence import observations_of
from gamewarden.response.ladder import Ladder
from gamewarden.response.suspicion import path
from gamewarden.tables import TIME

SCALE = Ladder.of(Config()).scale
START = datetime(2026, 3, 1, tzinfo=UTC)
ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "b"]), st.floats(0, 1), st.one_of(st.none(), st.floats(1e-9, 1))), max_size=12
)


def verdicts(rows):
    days = [START + timedelta(days=number) for number in range(len(rows))]
    columns = {"actor": pl.String, "probability": pl.Float64, "fpr": pl.Float64}
    told = pl.DataFrame(rows, schema=columns, orient="row")
    since = pl.Series("since", days, TIME)
    until = pl.Series("until", [day + timedelta(days=1) for day in days], TIME)
    return told.with_columns(since, until, agree=pl.lit(0), point=pl.lit("watch"), verdict=pl.lit(None, pl.String))


@given(ROWS, st.floats(0.001, 0.5))
def test_whoever_reaches_a_rung_could_reach_one(rows, bots):
    frame = verdicts(rows)

    admitted = who_could_reach(upper_llrs(frame, bots), SCALE)

    for actor in ("a", "b"):
        seen = [one for one in observations_of(frame, bots) if one.actor == actor]
        if any(moment.rung for moment in path(SCALE, seen)):
            assert actor in admitted


def test_one_lukewarm_day_admits_nobody_and_many_do():
    day = ("a", 0.06, 0.05)

    assert who_could_reach(upper_llrs(verdicts([day]), 0.05), SCALE) == set()
    assert who_could_reach(upper_llrs(verdicts([day] * 12), 0.05), SCALE) == {"a"}
