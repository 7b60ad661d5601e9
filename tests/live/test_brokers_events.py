"""Events over a real NATS server: two workers, both killed once, and final SCORES that are those of the batch run."""

import json

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import nats_served
from commands import done
from gamewarden.core.extras import installed
from workers_killed import Workers, waited

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not installed("sklearn"), reason="scikit-learn is not installed"),
]
NUMBERS = ("actor", "since", "detector", "model", "probability", "fpr", "events")


@pytest.fixture(scope="module")
def game(tmp_path_factory):
    """Two days of a small synthetic game with two models, and the SCORES of its first day as a log of its own."""
    here = tmp_path_factory.mktemp("game")
    done("world", "W", "--accounts", "50", "--days", "2", "--seed", "4", cwd=here)
    log = pl.read_parquet(here / "W" / "events.parquet").sort("at")
    log.filter(pl.col("at").dt.date() == log["at"].dt.date().min()).write_parquet(here / "first.parquet")
    log.write_parquet(here / "both.parquet")
    for detector in ("account-day", "pulses"):
        done("fit", detector, "both.parquet", "--labels", "W/labels.csv", "--to", "models", cwd=here)
    done("score", "first.parquet", "--models", "models", "--out", "batch.parquet", cwd=here)
    return here


def finals(state):
    """The final SCORES that stand in the files of all partitions."""
    lines = [json.loads(line) for file in state.rglob("decisions.jsonl") for line in file.read_text().splitlines()]
    return [line for line in lines if line["final"]]


def test_final_scores_of_killed_workers_are_those_of_the_batch_run(game, tmp_path):
    batch = pl.read_parquet(game / "batch.parquet").select(NUMBERS)
    with nats_served.served(tmp_path / "nats") as address:
        topic = f"nats://{address}/events"
        done("publish", "both.parquet", topic, "--partitions", "3", "--rows", "2000", cwd=game)
        state = tmp_path / "state"
        options = ("--events", "--models", str(game / "models"), "--save-every", "200ms")
        with Workers(topic, state, *options, log=tmp_path) as workers:
            first, second = workers.start("--worker", "1/2"), workers.start("--worker", "2/2")
            waited(lambda: len(list(state.rglob("live.json"))) == 3, what="three partitions")
            for killed, number in ((first, "1/2"), (second, "2/2")):
                workers.kill(killed)
                workers.start("--worker", number)
            waited(lambda: len(finals(state)) >= batch.height, seconds=120, what="every final score")

    said = finals(state)
    assert len({json.dumps(line["key"]) for line in said}) == len(said)
    found = pl.DataFrame(said).with_columns(pl.col("since").str.to_datetime(time_unit="us", time_zone="UTC"))
    found = found.select(pl.col(name).cast(batch.schema[name]) for name in NUMBERS)
    assert_frame_equal(
        found.sort("actor", "since", "detector"), batch.sort("actor", "since", "detector"), check_exact=True
    )
