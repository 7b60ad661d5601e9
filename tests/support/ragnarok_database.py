"""The tables of Ragnarok servers as the servers make them (names, types, keys and engines), and the rig's rows in them.

The rig's rows are read from GAMEWARDEN_DATA; nothing of them is kept here.
"""

import csv
import os
from pathlib import Path

import pytest

_OPTIONS = ", ".join(
    f"`option_id{n}` smallint(5) NOT NULL DEFAULT 0, `option_val{n}` smallint(5) NOT NULL DEFAULT 0, "
    f"`option_parm{n}` tinyint(3) NOT NULL DEFAULT 0"
    for n in range(5)
)
_CARDS = ", ".join(f"`card{n}` int(10) unsigned NOT NULL DEFAULT 0" for n in range(4))
_STATS = ", ".join(
    f"`{name}` int(11) unsigned NOT NULL DEFAULT 0" for name in ("str", "agi", "vit", "int", "dex", "luk")
)
_PICKED = ", ".join(f"'{letter}'" for letter in "MPLTVSNCARGEBOIXDU$FYZQHJW0123")
RATHENA = {
    "login": """`account_id` int(11) unsigned NOT NULL AUTO_INCREMENT, `userid` varchar(23) NOT NULL DEFAULT '',
        `user_pass` varchar(32) NOT NULL DEFAULT '', `sex` enum('M','F','S') NOT NULL DEFAULT 'M',
        `email` varchar(39) NOT NULL DEFAULT '', `group_id` tinyint(3) NOT NULL DEFAULT 0,
        `state` int(11) unsigned NOT NULL DEFAULT 0, `unban_time` int(11) unsigned NOT NULL DEFAULT 0,
        `expiration_time` int(11) unsigned NOT NULL DEFAULT 0, `logincount` mediumint(9) unsigned NOT NULL DEFAULT 0,
        `lastlogin` datetime, `last_ip` varchar(100) NOT NULL DEFAULT '', `birthdate` date,
        `character_slots` tinyint(3) unsigned NOT NULL DEFAULT 0, PRIMARY KEY (`account_id`), KEY `name` (`userid`)""",
    "char": """`char_id` int(11) unsigned NOT NULL AUTO_INCREMENT, `account_id` int(11) unsigned NOT NULL DEFAULT 0,
        `char_num` tinyint(1) NOT NULL DEFAULT 0, `name` varchar(30) NOT NULL DEFAULT '',
        `class` smallint(6) unsigned NOT NULL DEFAULT 0, `base_level` smallint(6) unsigned NOT NULL DEFAULT 1,
        `job_level` smallint(6) unsigned NOT NULL DEFAULT 1, `base_exp` bigint(20) unsigned NOT NULL DEFAULT 0,
        `zeny` int(11) unsigned NOT NULL DEFAULT 0, `last_map` varchar(11) NOT NULL DEFAULT '',
        `last_x` smallint(4) unsigned NOT NULL DEFAULT 53, `last_y` smallint(4) unsigned NOT NULL DEFAULT 111,
        `online` tinyint(2) NOT NULL DEFAULT 0, `last_login` datetime DEFAULT NULL, PRIMARY KEY (`char_id`),
        UNIQUE KEY `name_key` (`name`), KEY `account_id` (`account_id`)""",
    "picklog": f"""`id` int(11) NOT NULL AUTO_INCREMENT, `time` datetime NOT NULL, `char_id` int(11) NOT NULL DEFAULT 0,
        `type` enum({_PICKED}) NOT NULL DEFAULT 'P', `nameid` int(10) unsigned NOT NULL DEFAULT 0,
        `amount` int(11) NOT NULL DEFAULT 1, `refine` tinyint(3) unsigned NOT NULL DEFAULT 0, {_CARDS}, {_OPTIONS},
        `unique_id` bigint(20) unsigned NOT NULL DEFAULT 0, `map` varchar(11) NOT NULL DEFAULT '',
        `bound` tinyint(1) unsigned NOT NULL DEFAULT 0, `enchantgrade` tinyint unsigned NOT NULL DEFAULT 0,
        PRIMARY KEY (`id`), KEY (`type`)""",
    "zenylog": """`id` int(11) NOT NULL AUTO_INCREMENT, `time` datetime NOT NULL, `char_id` int(11) NOT NULL DEFAULT 0,
        `src_id` int(11) NOT NULL DEFAULT 0,
        `type` enum('T','V','P','M','S','N','D','C','A','E','I','B','K','J','X','0','2') NOT NULL DEFAULT 'S',
        `amount` int(11) NOT NULL DEFAULT 0, `map` varchar(11) NOT NULL DEFAULT '', PRIMARY KEY (`id`), KEY (`type`)""",
    "chatlog": """`id` bigint(20) NOT NULL AUTO_INCREMENT, `time` datetime NOT NULL,
        `type` enum('O','W','P','G','M','C') NOT NULL DEFAULT 'O', `type_id` int(11) NOT NULL DEFAULT 0,
        `src_charid` int(11) NOT NULL DEFAULT 0, `src_accountid` int(11) NOT NULL DEFAULT 0,
        `src_map` varchar(11) NOT NULL DEFAULT '', `src_map_x` smallint(4) NOT NULL DEFAULT 0,
        `src_map_y` smallint(4) NOT NULL DEFAULT 0, `dst_charname` varchar(25) NOT NULL DEFAULT '',
        `message` varchar(150) NOT NULL DEFAULT '', PRIMARY KEY (`id`), KEY (`src_accountid`), KEY (`src_charid`)""",
    "loginlog": """`time` datetime NOT NULL, `ip` varchar(15) NOT NULL DEFAULT '',
        `user` varchar(23) NOT NULL DEFAULT '',
        `rcode` tinyint(4) NOT NULL DEFAULT 0, `log` varchar(255) NOT NULL DEFAULT '', KEY (`ip`)""",
    "charlog": f"""`id` bigint(20) unsigned NOT NULL AUTO_INCREMENT, `time` datetime NOT NULL,
        `char_msg` varchar(255) NOT NULL DEFAULT 'char select', `account_id` int(11) unsigned NOT NULL DEFAULT 0,
        `char_num` tinyint(4) NOT NULL DEFAULT 0, `name` varchar(23) NOT NULL DEFAULT '', {_STATS},
        `hair` tinyint(4) NOT NULL DEFAULT 0, `hair_color` int(11) NOT NULL DEFAULT 0, PRIMARY KEY (`id`),
        KEY `account_id` (`account_id`)""",
    "mvplog": """`mvp_id` mediumint(9) unsigned NOT NULL AUTO_INCREMENT, `mvp_date` datetime NOT NULL,
        `kill_char_id` int(11) NOT NULL DEFAULT 0, `monster_id` smallint(6) NOT NULL DEFAULT 0,
        `prize` int(10) unsigned NOT NULL DEFAULT 0, `mvpexp` bigint(20) unsigned NOT NULL DEFAULT 0,
        `map` varchar(11) NOT NULL DEFAULT '', PRIMARY KEY (`mvp_id`)""",
    "vendings": """`id` int(10) unsigned NOT NULL, `account_id` int(11) unsigned NOT NULL,
        `char_id` int(10) unsigned NOT NULL, `sex` enum('F','M') NOT NULL DEFAULT 'M', `map` varchar(20) NOT NULL,
        `x` smallint(5) unsigned NOT NULL, `y` smallint(5) unsigned NOT NULL, `title` varchar(80) NOT NULL,
        `autotrade` tinyint(4) NOT NULL, PRIMARY KEY (`id`)""",
}  # fmt: skip


def rig():
    """The directory of the rig's tables; skips where there is none."""
    data = os.environ.get("GAMEWARDEN_DATA", "")
    place = Path(data) / "ragnarok" / "rig"
    if not data or not place.is_dir():
        pytest.skip("GAMEWARDEN_DATA does not name a directory with ragnarok/rig")
    return place


def make_tables(server, name, tables=RATHENA, engine="MyISAM"):
    """The tables of a server, empty."""
    for table, columns in tables.items():
        server.execute(f"CREATE TABLE `{table}` ({columns}) ENGINE={engine}", name)


def rows_of(table):
    """The header and the rows of one of the rig's tables; `login` and `char` are put together from what is there."""
    if table == "login":
        users = [row[2] for row in rows_of("loginlog")[1] if row[4] == "login ok"]
        accounts = dict(zip(dict.fromkeys(users), range(2000000, 2000018), strict=True))
        staff = [(str(number), user, "M", "0") for user, number in accounts.items()]
        return ["account_id", "userid", "sex", "group_id"], [("1", "s1", "S", "0"), *staff]
    name, delimiter = ("char_end_state.tsv", "\t") if table == "char" else (f"{table}.csv", ",")
    with (rig() / "sql_logs" / name).open(newline="") as file:
        header, *rows = csv.reader(file, delimiter=delimiter)
    return header, [tuple(row) for row in rows]


RIG_TABLES = ("login", "char", "picklog", "zenylog", "chatlog", "loginlog", "charlog")


def load(server, name, table, rows=None):
    """Put rows of the rig into a table, all of them or these."""
    header, every = rows_of(table)
    columns = ", ".join(f"`{column}`" for column in header)
    places = ", ".join(["%s"] * len(header))
    with server.connected(name) as connection, connection.cursor() as cursor:
        cursor.executemany(f"INSERT INTO `{table}` ({columns}) VALUES ({places})", every if rows is None else rows)  # noqa: S608


def load_rig(server, name):
    """The rig's tables with all their rows, as its server had them."""
    make_tables(server, name)
    for table in RIG_TABLES:
        load(server, name, table)
