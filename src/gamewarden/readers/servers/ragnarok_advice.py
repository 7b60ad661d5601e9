"""What operators of Ragnarok servers can do, so that more is seen: a few lines of the server's settings."""

from typing import TYPE_CHECKING

from gamewarden.readers.servers.advice import Advice
from gamewarden.readers.servers.collector import TABLE as COLLECTED

if TYPE_CHECKING:
    from gamewarden.readers.databases.database import Database

_ROW = "a row of some 40 bytes for each"


def advice(database: "Database", file: str, *, mvp: str, zeny: str, chat: str) -> list[Advice]:
    """What is missing in a database of a Ragnarok server."""
    found = [*_switched_off(database, file, mvp=mvp, zeny=zeny, chat=chat), *_log_ins(database)]
    if database.holds("zenylog"):
        kept = "the zeny log is on, which it is not by default (log_zeny: 0): let it stay so"
        found.append(Advice(kept, "who gave money to whom, and sales"))
    if not database.holds(COLLECTED):
        found.append(_collector())
    found.append(
        Advice(
            "times are whole seconds",
            "intervals between actions are known to the second only; order within it is that of the rows",
        )
    )
    return found


def _switched_off(database: "Database", file: str, *, mvp: str, zeny: str, chat: str) -> list[Advice]:
    """Logs that are off by default, told by tables without a row."""
    off = "is empty (off by default)"
    logs = {
        "zenylog": Advice(
            f"the zeny log {off}", "who gave money to whom, and sales", file, (zeny,), f"{_ROW} change of money"
        ),
        "mvplog": Advice(f"the log of bosses {off}", "who killed bosses", file, (mvp,), f"{_ROW} boss"),
        "chatlog": Advice(
            f"the chat log {off}", "who talks where (what is said is never read)", file, (chat,), f"{_ROW} line, and it"
        ),
        "picklog": Advice(
            "the pick log is empty",
            "every detector of game logs",
            file,
            ("enable_logs: 0xFFFFFFFF", "log_filter: 1", "sql_logs: yes"),
            f"{_ROW} item that moves",
        ),
    }
    return [one for table, one in logs.items() if not database.holds(table)]


def _log_ins(database: "Database") -> list[Advice]:
    if "loginlog" not in database.places or database.backend == "sqlite" or "time" in database.indexed("loginlog"):
        return []
    line = "ALTER TABLE `loginlog` ADD INDEX (`time`);"
    why = "loginlog has no key and no index on its time, so that a look at it reads all of it"
    return [Advice(why, "log-ins and their addresses, unless it is read --offline", "SQL", (line,), "seconds, once")]


def _collector() -> Advice:
    return Advice(
        "no table records kills, positions, experience or log-outs, and no setting of the server changes that",
        "kills per minute, where somebody walks, when somebody leaves (half an hour of silence ends a session)",
        "npc/scripts_custom.conf",
        ("npc: npc/custom/gw_collector.txt",),
        "see integrations/README.md: load its tables.sql, copy the script, reload scripts",
    )
