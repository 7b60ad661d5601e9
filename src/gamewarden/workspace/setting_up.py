"""Setting up a workspace: its settings, its directories, and, for a first look, a synthetic game to run on."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from gamewarden.config import FILE_NAME
from gamewarden.contracts import Progress, no_progress
from gamewarden.core.files import make_directory, unwritable, write_text
from gamewarden.errors import ConfigError, WriteError
from gamewarden.readers.logs.mapping import presets

DEMO = "demo"
_ACCOUNTS, _DAYS, _SEED = 600, 3, 1
_KNOWN = 3  # every third account of the synthetic game has been judged by people

_HEAD = """\
# A gamewarden workspace. `gamewarden run` takes in what is new, measures, scores, judges, decides and maintains.
# Only what differs from the defaults stands here; `gamewarden config` prints all settings with a sentence each.

[workspace]
lake = "lake"        # events, by day
results = "results"  # what was found: features, scores, verdicts
models = "models"    # what was learned
"""
_LABELS = """\
labels = "labels.csv"  # who is known to be a bot or human: actor,bot
profiles = "profiles.csv"  # what is known of accounts beside their events
"""
_NO_LABELS = """\
# labels = "labels.csv"      # who is known to be a bot or human: actor,bot; `fit` and `maintain` learn from it
# profiles = "profiles.csv"  # what is known of accounts beside their events
"""
_RESPONSE = """\

[response]
armed = false  # decisions are rehearsed: nothing leaves gamewarden; `gamewarden decisions list` shows them
"""
_ZONE = """\

[read]
# time_zone = "Asia/Seoul"  # of times written without one, and of the days
"""
_SOURCE = """\

# One [[source]] for each kind of files. New, grown and rotated files are found by themselves.
[[source]]
name = "game"
locator = "logs/*.csv"  # a file, a glob, a directory, or s3://bucket/logs/*.parquet
{map}

# [[source]]
# name = "packets"
# locator = "captures/*.pcap"
# server_ports = [6900]
# accounts = "accounts.csv"  # who used which address when
# settled = "5m"  # taken in once it has not changed for so long
"""
_NO_MAP = '# map = "game.toml"  # what its columns and kinds are called; `gamewarden lint FILE` shows what is missing'
_DEMO_SOURCE = """\

[population]
bots = {bots}  # the share of bots that probabilities suppose, here as the synthetic game has them

[[source]]
name = "game"
locator = "logs/*.parquet"  # a synthetic game, one file per day
"""


def choices() -> tuple[str, ...]:
    """What a workspace can be made from: a synthetic game, or the mapping of a game we know."""
    return (DEMO, *presets())


@dataclass(frozen=True)
class SetUp:
    """What was set up."""

    root: Path
    notes: tuple[str, ...] = ()


def set_up(root: Path, preset: str | None = None, progress: Progress = no_progress) -> SetUp:
    """Make a workspace in a directory that has none.

    Raises:
        ConfigError: there is no such preset.
        WriteError: there are settings already, or the directory cannot be written.
    """
    if preset is not None and preset not in choices():
        raise ConfigError(f"init: there is no preset {preset!r}; choose {', '.join(choices())}, or leave it out")
    if (root / FILE_NAME).exists():
        raise WriteError(f"{root / FILE_NAME}: is there already; change it, or choose another directory")
    try:
        for name in ("lake", "results", "models", "logs"):
            make_directory(root / name)
    except OSError as error:
        raise unwritable(root, error) from error
    if preset == DEMO:
        return _demo(root, progress)
    mapping = f'map = "{preset}"' if preset else _NO_MAP
    write_text(root / FILE_NAME, _HEAD + _NO_LABELS + _ZONE + _RESPONSE + _SOURCE.format(map=mapping))
    return SetUp(root, ("put logs into logs/, or say in warden.toml where they are; then `gamewarden run`",))


def _demo(root: Path, progress: Progress) -> SetUp:
    """A synthetic game with its logs by day, labels of a third of its accounts, and models that learned from these."""
    from gamewarden import pipeline, readers
    from gamewarden.features.self_similarity.recipe import SelfSimilarity
    from gamewarden.lab.world import World, write
    from gamewarden.tables import write_table

    world = World("lineage", _ACCOUNTS, days=_DAYS, seed=_SEED)
    write(world, root / "logs", progress)
    log = root / "logs" / "events.parquet"
    labels = world.labels().filter(pl.int_range(pl.len()) % _KNOWN == 0)
    write_table(labels, root / "labels.csv")
    for name in ("self-similarity", "account-day"):
        recipe = pipeline.detector_recipe(name, SelfSimilarity(), {})
        pipeline.fit(recipe, readers.open(log), root / "labels.csv", root / "models")
    _by_day(log)
    (root / "logs" / "profiles.csv").replace(root / "profiles.csv")
    for name in ("labels.csv", "truth.json"):
        (root / "logs" / name).replace(root / f"synthetic-{name}")
    write_text(root / FILE_NAME, _HEAD + _LABELS + _RESPONSE + _DEMO_SOURCE.format(bots=f"{world.bots:g}"))
    known = f"{labels.height:,} of {_ACCOUNTS:,} accounts are labelled, and two models have learned from them"
    return SetUp(root, (f"a synthetic game of {_DAYS} days is in {root / 'logs'}: {known}",))


def _by_day(log: Path) -> None:
    """One file per day, as an operator's logs come."""
    from gamewarden.tables import write_table

    events = pl.read_parquet(log)
    for day in events["at"].dt.date().unique().sort():
        write_table(events.filter(pl.col("at").dt.date() == day), log.with_name(f"events-{day}.parquet"))
    log.unlink()
