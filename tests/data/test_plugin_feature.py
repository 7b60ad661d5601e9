"""A feature of an installed package, at the command line: nothing of gamewarden knows it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

import plugins
from commands import done
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


LOG = """actor,at,kind
a,2026-03-01T10:00:00Z,move
a,2026-03-01T10:00:07.5Z,move
a,2026-03-01T10:00:09Z,chat
b,2026-03-01T11:00:00Z,chat
"""


def test_the_feature_of_an_installed_package_is_measured_with_its_own_options(tmp_path):
    (tmp_path / "log.csv").write_text(LOG, encoding="utf-8")

    with plugins.installed():
        told = done("measure", "silence", tmp_path / "log.csv", "--every", "1h", "--json")

    assert [(row["actor"], row["events"], row["longest_silence_s"]) for row in json.loads(told.stdout)] == [
        ("a", 3, 7.5),
        ("b", 1, None),
    ]


def test_a_short_feature_is_given_the_columns_it_names_and_never_a_kind():
    log = pl.read_csv(LOG.encode(), try_parse_dates=True)

    rows = Chats().measure(FrameEvents(log))

    assert rows.select("actor", "events", "chats", "zones").rows() == [("a", 3, 1, 0), ("b", 1, 1, 0)]
    assert Chats().phrases["chats"].more == "Chats is higher than with {humans}"
    assert Chats().divides.clock is None
