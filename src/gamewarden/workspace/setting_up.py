"""Setting up a workspace: its settings, its directories, and, for a first look, a synthetic game to run on."""

import json
import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from gamewarden.config import FILE_NAME, config_from
from gamewarden.contracts import Progress, no_progress
from gamewarden.core.database_urls import Address
from gamewarden.core.files import make_directory, unwritable, write_text
from gamewarden.errors import ConfigError, WriteError
from gamewarden.policy import ADAPTER_KINDS
from gamewarden.readers import servers
from gamewarden.readers.databases.source import DatabaseSource
from gamewarden.readers.logs.mapping import presets
from gamewarden.readers.options import SourceOptions

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
_SERVER_PROFILES = """\
profiles = "profiles.csv"  # what is known of accounts beside their events; the source below writes it
# labels = "labels.csv"    # who is known to be a bot or human: actor,bot; `fit` and `maintain` learn from it
"""
_ADAPTER = """\

# What carries decisions into the game, once [response] is armed; until then they are rehearsed.
# [[response.adapter]]
# name = "game"
# kind = "{kind}"
# database_from = "GAMEWARDEN_GAME_DB"  # the environment variable with a URL that may write
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
_DATABASE = """\

# The game server's own database; it is read from where the last reading ended. A user that may SELECT is enough.
# Its password stands in the environment variable GAMEWARDEN_DB_PASSWORD, or in a file named by password_file.
[[source]]
name = "game"
locator = {locator}
map = {server}
profiles = "profiles.csv"  # accounts with their names, levels and groups, written at each look
offline = {offline}  # true: nobody plays on it, as on a copy, so that tables without a key are read in full
{zone}
"""
_DEMO_SOURCE = """\

[population]
bots = {bots}  # the share of bots that probabilities suppose, here as the synthetic game has them

[[source]]
name = "game"
locator = "logs/*.parquet"  # a synthetic game, one file per day
"""


_AROUND = """\

[population]
bots = {bots}  # the share of bots that probabilities suppose, here as the synthetic game has them
"""


def choices() -> tuple[str, ...]:
    """What a workspace can be made from: a synthetic game, the mapping of a game or a game server that we know."""
    return (DEMO, *presets(), *sorted(servers.NAMES))


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
    if preset in servers.NAMES:
        raise ConfigError(f"init: {preset} is a game server; name its database: --source mysql://user@host/name")
    _make(root, "logs")
    if preset == DEMO:
        return _demo(root, progress)
    mapping = f'map = "{preset}"' if preset else _NO_MAP
    write_text(root / FILE_NAME, _HEAD + _NO_LABELS + _ZONE + _RESPONSE + _SOURCE.format(map=mapping))
    return SetUp(root, ("put logs into logs/, or say in warden.toml where they are; then `gamewarden run`",))


def set_up_around(root: Path, profiles: str, bots: float) -> None:
    """Make a workspace of a directory that has a lake, models, labels and profiles already.

    Raises:
        WriteError: the directory cannot be written.
    """
    known = _LABELS.replace('"profiles.csv"', _quoted(profiles))
    write_text(root / FILE_NAME, _HEAD + known + _RESPONSE + _AROUND.format(bots=f"{bots:g}"))


def set_up_database(root: Path, address: Address, preset: str | None, options: SourceOptions) -> SetUp:
    """Make a workspace that reads a game server's database, which is looked at first.

    Raises:
        ReadError: the database cannot be read, nobody knows its tables, or where its clock stands.
        WriteError: there are settings already, or the directory cannot be written.
    """
    source = DatabaseSource(address, replace(options, logs=replace(options.logs, mapping=preset)))
    try:
        found, zone = source.preset, source.time_zone
        read = ", ".join(table.name for table in source.tables)
    finally:
        source.database.close()
    _make(root)
    local = f'time_zone = "{zone}"  # of the times in its tables' if zone else ""
    text = _DATABASE.format(
        locator=_quoted(address.without_password),
        server=_quoted(found.name),
        offline=str(options.databases.offline).lower(),
        zone=local,
    )
    write_text(root / FILE_NAME, _HEAD + _SERVER_PROFILES + _ZONE + _RESPONSE + _adapter(found.name) + text)
    refused = tuple(str(one) for one in source.refused)
    return SetUp(root, (f"{address} is a database of {found.title}; it will be read: {read}", *refused))


def write_one_rater(path: Path, *, enough: bool) -> None:
    """Write into settings whether one vote is enough for a label; everything else in the file stays as it is.

    Raises:
        ConfigError: the file is written in a way that this cannot add to; the message says what to write.
        WriteError: the file cannot be written.
    """
    value = "true" if enough else "false"
    line = f"one_rater = {value}  # whether one reviewer's vote is enough for a label\n"
    text = path.read_text(encoding="utf-8")
    head = re.search(r"^[ \t]*\[workspace\][^\n]*(\n|$)", text, re.MULTILINE)
    start, rest = (text[: head.end()], text[head.end() :]) if head else (f"{text.rstrip()}\n\n[workspace]", "")
    new = start + ("" if start.endswith("\n") else "\n") + line + rest
    try:
        written = config_from(tomllib.loads(new), str(path)).workspace.one_rater is enough
    except ValueError:
        written = False
    if not written:
        raise ConfigError(f"{path}: cannot add a setting to it; write one_rater = {value} under [workspace] yourself")
    write_text(path, new)


def _make(root: Path, *more: str) -> None:
    if (root / FILE_NAME).exists():
        raise WriteError(f"{root / FILE_NAME}: is there already; change it, or choose another directory")
    try:
        for name in ("lake", "results", "models", *more):
            make_directory(root / name)
    except OSError as error:
        raise unwritable(root, error) from error


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _adapter(server: str) -> str:
    return _ADAPTER.format(kind=server) if server in ADAPTER_KINDS else ""


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
