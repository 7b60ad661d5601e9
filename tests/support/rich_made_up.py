"""A small workspace for the desk: the made-up game with zones, places, addresses, partners, money and profiles."""

import shutil

import polars as pl

import workspaces_made_up as made_up
from gamewarden.tables import write_table
from gamewarden.workspace.place import Workspace
from several_made_up import LOG
from shared import copy_of, shared_directory
from upkeep_made_up import make_game

SETTINGS = """
[workspace]
labels = "labels.csv"
profiles = "profiles.csv"

[[source]]
name = "game"
locator = "logs/*.parquet"
"""
ZONES = ("Aden", "Dion", "Giran", "Heine", "Oren")
CLASSES = ("elf", "knight", "orc")


def number():
    """Of an actor, from its name."""
    return pl.col("actor").str.extract(r"(\d+)").cast(pl.Int64)


def rich_events(log=LOG):
    """The log's events, in which accounts are somewhere, have levels and addresses, and sell to each other."""
    who, minute = number(), pl.col("at").dt.minute().cast(pl.Int64)
    sells = pl.col("kind") == "npc.sell"
    return log.events().with_columns(
        zone=who.mod(5).replace_strict(dict(enumerate(ZONES))),
        x=(who * 10 + minute).cast(pl.Float32),
        y=(who * 3 - minute).cast(pl.Float32),
        level=(who + pl.col("at").dt.day()).cast(pl.Int16),
        ip="10.0.0." + (who // 3).cast(pl.String),
        other=pl.when(sells & (who % 2 == 0)).then(pl.lit("bot003")),
        amount=pl.when(sells).then(minute + 1.0),
    )


def profiles(log=LOG):
    """PROFILES of most accounts."""
    who = number()
    return (
        log.labels()
        .select("actor")
        .filter(who % 7 != 0)
        .with_columns(
            name="Name" + pl.col("actor"),
            server="server-" + (who % 3).cast(pl.String),
            main_character=pl.col("actor") + "-c1",
            level=who + 20,
            customer_grade=pl.when(who % 4 == 0).then(pl.lit("GOLD")).otherwise(pl.lit("FAMILY")),
            ticket=pl.when(who % 5 == 0).then(pl.lit("90-day")),
            payment=who * 1.5,
            first_login=pl.lit("2025-01-01T00:00:00Z"),
            guild=pl.when(who % 6 == 0).then(pl.lit("Moon")),
        )
        .with_columns(who.mod(3).replace_strict(dict(enumerate(CLASSES))).alias("class"))
    )


def make_rich(root, made, retention=""):
    """A workspace of it that was never run."""
    root.mkdir()
    shutil.copytree(made / "models", root / "models")
    labels = pl.read_csv(made / "labels.csv")
    labels.with_columns(family=pl.when(pl.col("bot")).then(pl.lit("farmer"))).write_csv(root / "labels.csv")
    write_table(profiles(), root / "profiles.csv")
    (root / "logs").mkdir()
    events = rich_events()
    for day in events["at"].dt.date().unique().sort():
        write_table(events.filter(pl.col("at").dt.date() == day), root / "logs" / f"{day}.parquet")
    (root / "warden.toml").write_text(SETTINGS + retention)
    return Workspace.at(root)


def run_rich(place):
    """A workspace of it that was run once: a copy of one that tests share."""
    return Workspace.at(copy_of(shared_directory(_build_rich), place) / "ws")


def _build_rich(place):
    made = make_game(place / "made", LOG)
    made_up.run_all(make_rich(place / "ws", made))
