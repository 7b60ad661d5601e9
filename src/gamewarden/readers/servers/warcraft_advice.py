"""What operators of World of Warcraft servers can do, so that more is seen: a few lines of the server's settings."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gamewarden.readers.servers.advice import Advice

if TYPE_CHECKING:
    from gamewarden.readers.databases.database import Database
    from gamewarden.readers.servers.preset import LogTable

FILE = "worldserver.conf"
_LOST = {
    "log_money": "who paid whom",
    "log_encounter": "who was there when a raid's boss fell",
    "guild_bank_eventlog": "what went into guild banks and out of them",
    "quest_tracker": "who took which quest",
}


def switched_off(database: "Database") -> list[Advice]:
    """Logs that are off by default, told by tables without a row."""
    found = []
    if not database.holds("logs_ip_actions"):
        found.append(
            Advice(
                "the log of log-ins is empty (off by default)",
                "log-ins, log-outs and their addresses, and with them how long anybody plays",
                FILE,
                ("Allow.IP.Based.Action.Logging = 1",),
                "a row of some 100 bytes for each log-in and log-out; restart the worldserver",
            )
        )
    if not database.holds("quest_tracker"):
        found.append(
            Advice(
                "the quest tracker is empty (off by default)",
                "who took which quest, and when",
                FILE,
                ("Quests.EnableQuestTracker = 1",),
                "a row of some 100 bytes for each quest; restart the worldserver",
            )
        )
    return found


def overwritten(database: "Database") -> list[Advice]:
    """The guild banks' log is a ring."""
    if "guild_bank_eventlog" not in database.places:
        return []
    return [
        Advice(
            "the guild banks' log keeps 25 rows of a guild's tab and writes over the oldest",
            "what a busy guild did between two readings; read it often, or let it keep more",
            FILE,
            ("Guild.BankEventLogRecordsCount = 500",),
            "the server holds as many rows of each tab in memory",
        )
    ]


def without_index(database: "Database", tables: "tuple[LogTable, ...]") -> Iterator[Advice]:
    """Tables that are read by a time without an index; the server inserts by position, so that no column may be new."""
    if database.backend == "sqlite":
        return
    for table in tables:
        here = table.key is None and table.name in database.places
        if here and table.time not in database.indexed(table.name):
            yield Advice(
                f"{table.name} has no key and no index on {table.time}, so that a look at it reads all of it",
                f"{_LOST[table.name]}, unless it is read --offline",
                "SQL",
                (f"ALTER TABLE `{table.name}` ADD INDEX (`{table.time}`);",),
                "once, some seconds per million rows; add an index and never a column, which its INSERTs do not expect",
            )


SECONDS = Advice(
    "times are whole seconds",
    "intervals between actions are known to the second only; order within it is that of the rows",
)
