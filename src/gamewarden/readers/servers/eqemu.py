"""EQEmu: the open EverQuest server, whose log has the account, the zone and the position on every row."""

from collections.abc import Collection
from typing import TYPE_CHECKING

import polars as pl

from gamewarden.readers.servers.advice import Advice
from gamewarden.readers.servers.collector import GW_EVENTS
from gamewarden.readers.servers.everquest import KINDS, TYPES, player_event_logs
from gamewarden.readers.servers.preset import Directory, Preset, number, text

if TYPE_CHECKING:
    from gamewarden.readers.databases.database import Database

_SETTINGS = "player_event_log_settings"
_STEWARD = 10  # account.status of the lowest staff; below 0 somebody is suspended or banned
_MONTH = 30  # days that a log should reach back
_ONLINE, _OFFLINE, _KILLED = 10, 11, 44
_WANTED = {
    (_KILLED,): ("kills are not written down (off by default)", "kills per minute", "each monster that falls"),
    (_ONLINE, _OFFLINE): (
        "log-ins and leaving are not written down (off by default)",
        "when somebody came and left (a session ends with half an hour of silence)",
        "each log-in, and each time somebody leaves a zone",
    ),
}
_RELOAD = "in the game: #reload logs global"


def _settings(database: "Database") -> pl.DataFrame:
    """Which types are written down, and for how many days; no rows where nobody says."""
    columns = ("id", "event_enabled", "retention_days")
    if not set(columns) <= database.columns(_SETTINGS).keys():
        return pl.DataFrame(schema=dict.fromkeys(columns, pl.Int64))
    return database.frame(_SETTINGS, columns).select(number(name).cast(pl.Int64, strict=False) for name in columns)


def _written(settings: pl.DataFrame) -> set[int]:
    return set(settings.filter(pl.col("event_enabled") > 0)["id"].drop_nulls())


def _muted(database: "Database") -> frozenset[str]:
    """The kinds that no type gives that is written down; where nobody says, only what is seen counts."""
    written = _written(_settings(database))
    return KINDS - {kind for number_of_type in written & TYPES.keys() for kind in TYPES[number_of_type].kinds}


def _directory(database: "Database") -> Directory:
    found = database.frame("character_data", ("id", "account_id", "name", "level"))
    people = found.select(
        character=pl.col("id").cast(pl.String), actor=text("account_id"), name=pl.col("name").cast(pl.String),
        level=number("level").cast(pl.Int16, strict=False),
    )  # fmt: skip
    return Directory(people.drop_nulls("actor"), at=database.clock.utc)


def _profiles(database: "Database") -> pl.DataFrame:
    """PROFILES: of each account its highest character, its status, whether it is staff or keeps a shop."""
    columns = ("id", "account_id", "name", "class", "level", "time_played", "last_login")
    characters = database.frame("character_data", columns).with_columns(actor=text("account_id"))
    best = characters.sort("actor", "level", "id").group_by("actor", maintain_order=True).last()
    many = characters.group_by("actor").agg(
        characters=pl.len().cast(pl.Int64),
        hours_played=(number("time_played").sum() / 3600).round(1),
        _last=number("last_login").max(),
    )
    accounts = database.frame("account", ("id", "status", "time_creation"))
    told = accounts.select("status", "time_creation", actor=pl.col("id").cast(pl.String))
    told = told.join(best, on="actor", how="left").join(many, on="actor", how="left")
    return told.sort("actor").select(
        "actor",
        name=pl.col("name").cast(pl.String),
        main_character=pl.col("id").cast(pl.String),
        **{"class": pl.col("class").cast(pl.String)},
        level=number("level").cast(pl.Int16, strict=False),
        first_login=_moment("time_creation"),
        last_login=_moment("_last"),
        characters=pl.col("characters"),
        hours_played=pl.col("hours_played"),
        group=pl.col("status").cast(pl.String),
        staff=number("status") >= _STEWARD,
        autotrader=pl.col("actor").is_in(_traders(database, characters)),
    )


def _moment(column: str) -> pl.Expr:
    seconds = number(column).cast(pl.Int64, strict=False)
    return pl.from_epoch(pl.when(seconds > 0).then(seconds)).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")


def _traders(database: "Database", characters: pl.DataFrame) -> Collection[str]:
    """The accounts whose characters have things for sale in the bazaar, where they stand while nobody plays them."""
    if "char_id" not in database.columns("trader"):
        return []
    selling = database.frame("trader", ("char_id",))["char_id"].cast(pl.String).unique()
    mine = characters.filter(pl.col("id").cast(pl.String).is_in(selling.implode()))
    return sorted(mine["actor"].drop_nulls().unique())


def _wrote(database: "Database") -> bool:
    has_log = {"event_type_id", "event_data"} <= database.columns("player_event_logs").keys()
    return has_log and {"id", "account_id"} <= database.columns("character_data").keys()


def _advice(database: "Database") -> list[Advice]:
    settings = _settings(database)
    found = [] if database.holds("player_event_logs") else [_EMPTY]
    found += [_switch_on(types, *words) for types, words in _WANTED.items() if not {*types} <= _written(settings)]
    days = settings.filter(pl.col("retention_days").is_between(1, _MONTH - 1))
    if days.height:
        found.append(_keep(int(days["retention_days"].min() or 0), days.height))  # type: ignore[arg-type]
    return [*found, _ADDRESSES, _SECONDS]


def _switch_on(types: tuple[int, ...], missing: str, so: str, rows: str) -> Advice:
    numbers = ", ".join(map(str, types))
    line = f"UPDATE `{_SETTINGS}` SET `event_enabled` = 1 WHERE `id` IN ({numbers});"  # noqa: S608  for people to run
    return Advice(missing, so, "SQL", (line,), f"a row of some 200 bytes for {rows}; {_RELOAD}")


def _keep(days: int, types: int) -> Advice:
    line = f"UPDATE `{_SETTINGS}` SET `retention_days` = 90 WHERE `retention_days` BETWEEN 1 AND {_MONTH - 1};"  # noqa: S608  for people to run
    return Advice(
        f"rows of {types} types are deleted after {days} days and more (7 is the default)",
        "what was not read by then; read at least as often, or let the log keep more",
        "SQL",
        (line,),
        f"disk, as many times more; {_RELOAD}",
    )


_EMPTY = Advice(
    "player_event_logs is empty",
    "every detector of game logs; with the rule Logging:PlayerEventsQSProcess the query server's database has it",
)
_ADDRESSES = Advice(
    "the log has no addresses of players", "accounts that play from one place; traffic that is recorded shows them"
)
_SECONDS = Advice(
    "times are whole seconds",
    "intervals between actions are known to the second only; order within it is that of the rows",
)

PRESET = Preset(
    "eqemu",
    "EQEmu",
    (player_event_logs(_muted), GW_EVENTS),
    _directory,
    _profiles,
    _wrote,
    _advice,
    purges="the server deletes rows after the retention_days of their type, 7 by default",
    beside=("character_data", "account", "trader", "player_event_log_settings"),
)
