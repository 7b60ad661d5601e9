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
    logs = {
        "zenylog": Advice("the zeny log is empty (log_zeny: 0 is the default)", "who gave money to whom, and sales", file, (zeny,), f"{_ROW} change of money"),
        "mvplog": Advice("the log of bosses is empty (off by default)", "who killed bosses", file, (mvp,), f"{_ROW} boss"),
        "chatlog": Advice("the chat log is empty", "who talks, and where (what is said is never read)", file, (chat,), f"{_ROW} line, and what is said in it"),
        "picklog": Advice("the pick log is empty", "every detector of game logs", file, ("enable_logs: 0xFFFFFFFF", "log_filter: 1", "sql_logs: yes"), f"{_ROW} item that moves"),
    }  # fmt: skip
    return [one for table, one in logs.items() if not database.holds(table)]


def _log_ins(database: "Database") -> list[Advice]:
    if "loginlog" not in database.places or database.backend == "sqlite" or "time" in database.indexed("loginlog"):
        return []
    line = "ALTER TABLE `loginlog` ADD INDEX (`time`);"
    why = "loginlog has no key and no index on its time, so that a look at it reads all of it"
    return [
        Advice(
            why,
            "log-ins and their addresses, unless it is read --offline",
            "SQL",
            (line,),
            "once, some seconds per million rows",
        )
    ]


def _collector() -> Advice:
    return Advice(
        "no table records kills, positions, experience or log-outs, and no setting of the server changes that",
        "kills per minute, where somebody walks, and when somebody leaves (a session ends with half an hour of silence)",
        "npc/scripts_custom.conf",
        ("npc: npc/custom/gw_collector.txt",),
        "see integrations/README.md: load its tables.sql, copy the script, reload scripts",
    )
