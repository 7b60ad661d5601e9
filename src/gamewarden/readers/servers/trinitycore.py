"""TrinityCore: World of Warcraft of several versions; of what happens in the game it keeps little."""

from typing import TYPE_CHECKING

import polars as pl

from gamewarden.readers.servers import warcraft, warcraft_advice
from gamewarden.readers.servers.advice import Advice
from gamewarden.readers.servers.collector import GW_EVENTS
from gamewarden.readers.servers.collector import TABLE as COLLECTED
from gamewarden.readers.servers.preset import Preset

if TYPE_CHECKING:
    from gamewarden.readers.databases.database import Database


def _wrote(database: "Database") -> bool:
    """Its quest tracker, which MaNGOS has not, without AzerothCore's log of money."""
    characters, quests = database.columns("characters"), database.columns("quest_tracker")
    return (
        {"guid", "account"} <= characters.keys()
        and "quest_accept_time" in quests
        and "sender_acc" not in database.columns("log_money")
    )


def _profiles(database: "Database") -> pl.DataFrame:
    return warcraft.profiles(database, "AccountID", "SecurityLevel")


def _advice(database: "Database") -> list[Advice]:
    found = [*warcraft_advice.switched_off(database), *warcraft_advice.without_index(database, PRESET.tables)]
    found += [*warcraft_advice.overwritten(database), warcraft_advice.SECONDS]
    return found if database.holds(COLLECTED) else [*found, _COLLECTOR]


_COLLECTOR = Advice(
    "no table records kills, loot, trades, positions or levels, and none of our collectors runs on this server",
    "every detector of game logs, unless a script of yours writes what happens into gw_events",
    "SQL",
    ("SOURCE integrations/tables.sql;",),
    "see integrations/README.md for what its columns mean; traffic can be read without any of this",
)

PRESET = Preset(
    "trinitycore",
    "TrinityCore",
    (warcraft.IP_ACTIONS, warcraft.guild_bank(), warcraft.QUESTS, GW_EVENTS),
    warcraft.directory,
    _profiles,
    _wrote,
    _advice,
    purges="the guild banks' log is a ring of 25 rows a tab; from the others the server removes nothing",
    beside=("characters", "account", "account_access"),
    sessions=False,
)
