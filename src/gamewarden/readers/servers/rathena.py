"""rAthena: Ragnarok Online's most used open server."""

from typing import TYPE_CHECKING

from gamewarden.readers.servers import ragnarok, ragnarok_advice
from gamewarden.readers.servers.advice import Advice
from gamewarden.readers.servers.collector import GW_EVENTS
from gamewarden.readers.servers.preset import Preset

if TYPE_CHECKING:
    from gamewarden.readers.databases.database import Database

LETTERS: ragnarok.Letters = {
    **ragnarok.LETTERS,
    "$": ("cash.buy", "cash.use"),
    "F": ("item.gain", "item.bound"),
    "Y": ("item.roulette", "item.roulette"),
    "Z": ("item.merge", "item.merge"),
    "Q": ("item.quest", "item.quest"),
    "H": ("item.airship", "item.airship"),
    "J": ("npc.barter", "npc.barter"),
    "W": ("item.laphine", "item.laphine"),
    "0": ("item.grade", "item.grade"),
    "1": ("item.reform", "item.reform"),
    "2": ("item.enchant", "item.enchant"),
    "3": ("item.package", "item.package"),
}


def _wrote(database: "Database") -> bool:
    """Its pick log, or the older one of eAthena, which has fewer columns and the same letters."""
    picked = database.columns("picklog")
    return bool(picked) and "opt_idx0" not in picked and "login" in database.places


def _advice(database: "Database") -> list[Advice]:
    return ragnarok_advice.advice(
        database, "conf/log_athena.conf", mvp="log_mvpdrop: yes", zeny="log_zeny: 1", chat="log_chat: 1"
    )


PRESET = Preset(
    "rathena",
    "rAthena",
    (
        ragnarok.LOGINLOG,
        ragnarok.CHARLOG,
        ragnarok.picked(LETTERS),
        ragnarok.ZENYLOG,
        ragnarok.CASHLOG,
        ragnarok.CHATLOG,
        ragnarok.MVPLOG,
        ragnarok.FEEDINGLOG,
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
    seen="a real server (e985006171) with real OpenKore bots: 66 minutes of its logs, and nine with our collector",
)
