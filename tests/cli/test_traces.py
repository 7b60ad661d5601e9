"""Three traces of the same players from the command line: played, learned from, fused and judged together."""

import json

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from commands import apart, done
from gamewarden.lab.world.pcap import write_pcap
from gamewarden.lab.world.traces import FAMILIES

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A small world with a model of each trace and a fusion of all."""
    place = tmp_path_factory.mktemp("traces")
    world, models = place / "world", place / "models"
    done("world", world, "--traces", "--accounts", 120, "--days", 1, "--seed", 21)
    done("read", world / "events.parquet", "--to", place / "lake")
    known = ("--labels", world / "labels.csv", "--to", models)
    done("fit", "account-day", place / "lake", *known)
    done("fit", "traffic", world / "packets.parquet", *known, "--no-thresholds", "--tree", "majority")
    done("fit", "session-angle", world / "sessions", *known, "--form", "mahalanobis")
    sources = place / "lake", world / "packets.parquet", world / "sessions"
    done("fit", "fusion", *sources, "--labels", world / "labels.csv", "--models", models, "--folds", 3)
    return place


def sources(place):
    return place / "lake", place / "world" / "packets.parquet", place / "world" / "sessions"


def test_one_judgement_of_a_lake_packets_and_sessions_rests_on_all_of_them(place, tmp_path):
    ended = done(
        "judge",
        *sources(place),
        "--models",
        place / "models",
        "--to",
        tmp_path / "kept",
        "--out",
        tmp_path / "v.parquet",
    )
    verdicts = pl.read_parquet(tmp_path / "v.parquet")

    assert "of them in packets" in ended.stderr.replace("\n", " ")
    assert "is missing: the fusion does without it" not in ended.stderr
    assert verdicts["agree"].max() >= 2
    documents = [json.loads(path.read_text()) for path in sorted((tmp_path / "kept").iterdir())[:5]]
    for document in documents:
        named = {model["id"].partition("@")[0] for model in document["verdict"]["models"]}
        assert named == {"account-day", "traffic", "session-angle"}


def test_a_capture_beside_sessions_is_read_for_its_packets_alone(place, tmp_path):
    packets = pl.read_parquet(place / "world" / "packets.parquet")
    write_pcap(packets, tmp_path / "tap.pcap").write_csv(tmp_path / "accounts.csv")
    tapped = place / "lake", tmp_path / "tap.pcap", place / "world" / "sessions"
    ended = apart(
        *("judge", *tapped, "--accounts", tmp_path / "accounts.csv", "--models", place / "models"),
        *("--out", tmp_path / "tapped.parquet"),
    )
    done("judge", *sources(place), "--models", place / "models", "--out", tmp_path / "v.parquet")

    assert ended.returncode == 0, ended.stderr
    assert "tap.pcap is read for its packets alone" in ended.stderr.replace("\n", " ")
    assert_frame_equal(
        pl.read_parquet(tmp_path / "tapped.parquet"), pl.read_parquet(tmp_path / "v.parquet"), check_exact=True
    )


def test_bots_of_every_family_stand_before_people(place, tmp_path):
    done("judge", *sources(place), "--models", place / "models", "--out", tmp_path / "v.parquet")
    labels = pl.read_csv(place / "world" / "labels.csv", schema_overrides={"actor": pl.String})
    judged = pl.read_parquet(tmp_path / "v.parquet").drop_nulls("probability").join(labels, on="actor")
    median = dict(judged.group_by("family").agg(pl.col("probability").median()).iter_rows())
    people = judged.filter(~pl.col("bot"))["probability"].quantile(0.9)

    for family in FAMILIES:
        assert median[family] > people


def test_kept_verdicts_hold_when_all_sources_are_measured_again(place, tmp_path):
    done("judge", *sources(place), "--models", place / "models", "--to", tmp_path / "kept")
    again = [argument for source in sources(place) for argument in ("--source", source)]
    told = done("verify", tmp_path / "kept", "--models", place / "models", *again, "--json")

    assert all(row["holds"] for row in json.loads(told.stdout))
