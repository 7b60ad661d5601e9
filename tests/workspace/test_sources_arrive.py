"""From [[source]] in warden.toml to rows: what a run that repeats itself does with a source."""

import gzip
import os
import tomllib
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from gamewarden import readers
from gamewarden.config import config_from
from gamewarden.core.durations import parse_span
from gamewarden.readers.arrivals import TO_READ, Known, arrivals
from gamewarden.readers.places import places
from gamewarden.requests import reading_of_source
from gamewarden.store.lake import Lake

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOW = int(START.timestamp() * 1e6) + parse_span("10d")
SETTINGS = """
[[source]]
name = "combat"
locator = ["logs/combat*", "more/*.csv"]
map = "combat.toml"
time_zone = "Asia/Seoul"
"""


def log(rows, first=0):
    """Rows whose times name no zone, in columns that are called otherwise."""
    times = [START + timedelta(seconds=number) for number in range(first, first + rows)]
    return pl.DataFrame({"Who": ["p"] * rows, "When": times, "What": ["combat.kill"] * rows}).write_csv(
        datetime_format="%Y-%m-%d %H:%M:%S"
    )


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "combat.toml").write_text('[columns]\nactor = "Who"\nat = "When"\nkind = "What"\n')
    return tmp_path


def taken_in(workspace, known, now):
    """One run: the states of all files, and how many rows were new."""
    config = config_from(tomllib.loads(SETTINGS), "warden.toml")
    (source,) = config.sources
    options, states, new = reading_of_source(source, config, workspace), {}, 0
    for arrival in arrivals(places(source.locator, workspace), known, now, by_content=False):
        states[os.path.relpath(arrival.name, workspace)] = arrival.state
        if arrival.state in TO_READ:
            new += Lake(workspace / "lake").add(readers.open(arrival.place, options).log()).new
        known = known.after(arrival)
    return states, new, known


def write(path, text, at):
    path.write_text(text)
    os.utime(path, (at, at))


def test_a_source_of_a_workspace_is_read_once_however_its_logs_rotate(workspace, monkeypatch, tmp_path_factory):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    logs = workspace / "logs"
    write(logs / "combat.log", log(5), 1_700_000_000)

    first, new, known = taken_in(workspace, Known(), NOW)
    assert (first, new) == ({"logs/combat.log": "new"}, 5)

    second, new, known = taken_in(workspace, known, NOW)
    assert (second, new) == ({"logs/combat.log": "same"}, 0)

    write(logs / "combat.log", log(8), 1_700_000_100)
    grown, new, known = taken_in(workspace, known, NOW)
    assert (grown, new) == ({"logs/combat.log": "changed"}, 3)

    (logs / "combat.log").rename(logs / "combat.log.1")
    write(logs / "combat.log", log(2, first=8), 1_700_000_200)
    rotated, new, known = taken_in(workspace, known, NOW)
    assert (rotated, new) == ({"logs/combat.log": "changed", "logs/combat.log.1": "rotated"}, 2)

    (logs / "combat.log.1.gz").write_bytes(gzip.compress((logs / "combat.log.1").read_bytes()))
    (logs / "combat.log.1").unlink()
    _, new, known = taken_in(workspace, known, NOW)
    assert new == 0

    events = Lake(workspace / "lake").events()
    (batch,) = (pl.DataFrame(pl.from_arrow(one)) for one in events.batches(("at",)) if one.num_rows == 5)
    assert batch["at"].min() == START - timedelta(hours=9)
