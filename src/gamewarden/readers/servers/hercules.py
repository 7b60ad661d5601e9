"""Hercules: the other open Ragnarok Online server; its tables are rAthena's but for some letters and keys."""

from typing import TYPE_CHECKING

from gamewarden.readers.servers import ragnarok, ragnarok_advice
from gamewarden.readers.servers.advice import Advice
from gamewarden.readers.servers.collector import GW_EVENTS
from gamewarden.readers.servers.preset import Preset

if TYPE_CHECKING:
    from gamewarden.readers.databases.database import Database

LETTERS: ragnarok.Letters = {
    **ragnarok.LETTERS,
    "Y": ("item.divorce", "item.divorce"),
    "Z": ("item.roulette", "item.roulette"),
    "W": ("item.rental", "item.rental"),
    "Q": ("item.card", "item.card"),
    "J": ("item.invalid", "item.invalid"),
    "H": ("item.invalid", "item.invalid"),
    "@": ("item.egg", "item.egg"),
    "0": ("item.quest", "item.quest"),
    "1": ("item.skill", "item.skill"),
    "2": ("item.refine", "item.refine"),
    "3": ("item.achievement", "item.achievement"),
    "4": ("item.grade", "item.grade"),
    "5": ("item.stylist", "item.stylist"),
}


def _wrote(database: "Database") -> bool:
    return "opt_idx0" in database.columns("picklog")


def _advice(database: "Database") -> list[Advice]:
    return ragnarok_advice.advice(
        database, "conf/map/logs.conf", mvp="log_mvpdrop: true", zeny="log_zeny: 1", chat="log_chat: 0x2f"
    )


PRESET = Preset(
    "hercules",
    "Hercules",
    (
        ragnarok.LOGINLOG,
        ragnarok.CHARLOG_WITHOUT_KEY,
        ragnarok.picked(LETTERS),
        ragnarok.ZENYLOG,
        ragnarok.CHATLOG,
        ragnarok.MVPLOG,
        ragnarok.ATCOMMANDLOG,
        ragnarok.BRANCHLOG,
        ragnarok.NPCLOG,
        GW_EVENTS,
    ),
    ragnarok.directory,
    ragnarok.profiles,
    _wrote,
    _advice,
    beside=ragnarok.PEOPLE,
    seen="a real server (410b9738c) with real OpenKore bots, a few minutes of picks, kills and log-ins; no trades",
)
