"""A feature of an installed package, at the command line: nothing of gamewarden knows it."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import polars as pl

from gamewarden.features.plain import PlainFeature
from gamewarden.tables import FrameEvents


@dataclass(frozen=True)
class Chats(PlainFeature):
    """What a short feature needs to say, with a kind and a column without which some of it stays null."""

    name: ClassVar[str] = "chats"
    requires: ClassVar[tuple[str, ...]] = ("actor", "at", "kind")
    optional: ClassVar[Mapping[str, str]] = {"chat": "chats", "zone": "zones"}
    schema: ClassVar[Mapping[str, pl.DataType]] = {"chats": pl.Int64(), "zones": pl.Int64()}

    def rows(self, table):
        first, last = pl.col("at").min(), pl.col("at").max()
        chats, zones = (pl.col("kind") == "chat").sum(), pl.col("zone").drop_nulls().n_unique()
        return table.group_by("actor").agg(since=first, until=last, events=pl.len(), chats=chats, zones=zones)


PLUGIN = Path(__file__).parent / "plugin"
LOG = """actor,at,kind
a,2026-03-01T10:00:00Z,move
a,2026-03-01T10:00:07.5Z,move
a,2026-03-01T10:00:09Z,chat
b,2026-03-01T11:00:00Z,chat
"""


def gamewarden(*arguments):
    path = os.pathsep.join((str(PLUGIN), *(entry for entry in sys.path if entry)))
    command = [sys.executable, "-m", "gamewarden", *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})


def test_the_feature_of_an_installed_package_is_measured_with_its_own_options(tmp_path):
    (tmp_path / "log.csv").write_text(LOG, encoding="utf-8")

    done = gamewarden("measure", "silence", tmp_path / "log.csv", "--every", "1h", "--json")

    assert done.returncode == 0, done.stderr
    assert [(row["actor"], row["events"], row["longest_silence_s"]) for row in json.loads(done.stdout)] == [
        ("a", 3, 7.5),
        ("b", 1, None),
    ]


def test_a_short_feature_is_given_the_columns_it_names_and_never_a_kind():
    log = pl.read_csv(LOG.encode(), try_parse_dates=True)

    rows = Chats().measure(FrameEvents(log))

    assert rows.select("actor", "events", "chats", "zones").rows() == [("a", 3, 1, 0), ("b", 1, 1, 0)]
    assert Chats().phrases["chats"].more == "Chats is higher than with {humans}"
    assert Chats().divides.clock is None
