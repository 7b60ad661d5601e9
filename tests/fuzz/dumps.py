"""Databases of game servers as dumps and as files: SQL of MySQL and PostgreSQL, and tables with tabs and commas."""

# ruff: noqa: E501, S608  statements that nobody runs, as long as they are

import datetime as dt
from collections.abc import Sequence

from fuzz import values
from fuzz.case import Case, command, perhaps, shown
from fuzz.kit import Kit
from fuzz.mutate import Dice, chance, odd_text, pack, spoil_bytes

_TABLES = {
    "login": {"account_id": "int(11)", "userid": "varchar(23)", "sex": "enum('M','F','S')", "group_id": "tinyint(3)"},
    "char": {"char_id": "int(11)", "account_id": "int(11)", "name": "varchar(30)", "base_level": "smallint(6)"},
    "picklog": {
        "id": "int(11)", "time": "datetime", "char_id": "int(11)", "type": "char(1)", "nameid": "int(11)",
        "amount": "int(11)", "map": "varchar(11)", "unique_id": "bigint(20) unsigned",
    },
    "loginlog": {"time": "datetime", "ip": "varchar(15)", "user": "varchar(23)", "rcode": "tinyint(4)", "log": "text"},
    "gw_events": {
        "id": "bigint(20)", "at": "bigint(20)", "actor": "varchar(64)", "character": "varchar(64)", "kind": "varchar(40)",
        "zone": "varchar(64)", "x": "float", "y": "float", "level": "int", "target": "varchar(64)", "item": "text",
        "amount": "double", "other": "varchar(64)", "ip": "varchar(64)",
    },
    "unwanted": {"a": "longblob", "b": "text"},
}  # fmt: skip
_TYPES = (
    "int(11)",
    "text",
    "datetime",
    "timestamp",
    "double",
    "blob",
    "bit(1)",
    "boolean",
    "json",
    "bytea",
    "point",
    "",
)
_START = dt.datetime(2026, 3, 1, 12)  # noqa: DTZ001  as a server writes it
_NUMBERS = (
    "id",
    "char_id",
    "account_id",
    "nameid",
    "amount",
    "base_level",
    "group_id",
    "rcode",
    "unique_id",
    "at",
    "x",
    "y",
)
Rows = list[list[str | None]]


def sql(dice: Dice, _kit: Kit) -> Case:
    """A dump of MySQL or PostgreSQL."""
    postgresql = chance(dice, 0.4)
    data = (_postgresql(dice) if postgresql else _mysql(dice)).encode("utf-8", "surrogatepass")
    data = spoil_bytes(data, dice, values.WORDS["sql"]) if chance(dice, 0.6) else data
    return _asked(dice, "dump.sql", {"dump.sql": pack(data, dice) if chance(dice, 0.1) else data}, "--as dump ")


def exports(dice: Dice, _kit: Kit) -> Case:
    """A folder with a file a table."""
    files = {}
    for table in _some(dice):
        data = _delimited(dice, table).encode("utf-8", "surrogatepass")
        data = spoil_bytes(data, dice, values.WORDS["csv"]) if chance(dice, 0.1) else data
        files[f"tables/{table}.{dice.choice(('csv', 'tsv', 'txt'))}"] = pack(data, dice) if chance(dice, 0.05) else data
    return _asked(dice, "tables", files, "--as export ")


def _asked(dice: Dice, name: str, files: dict[str, bytes], named: str) -> Case:
    words = command(
        dice,
        (60, f"read {name} --to lake"),
        (10, f"read {name} {named}--to lake"),
        (15, f"read {name} --to lake --keep-truncated"),
        (10, f"lint {name}"),
        (5, f"measure activity {name}"),
    )
    server = ["--map", dice.choice(("rathena", "rathena", "rathena", "hercules"))]
    zone = perhaps(dice, 0.95, "--zone", dice.choice(("UTC", "Asia/Seoul")))
    loose = perhaps(dice, 0.5, "--max-bad-share", "1")
    return Case([*words, *server, *zone, *loose, *shown(dice)], files)


def _some(dice: Dice) -> list[str]:
    return list(_TABLES) if chance(dice, 0.7) else dice.sample(sorted(_TABLES), dice.randrange(1, len(_TABLES)))


def _columns(dice: Dice, table: str) -> dict[str, str]:
    columns = dict(_TABLES[table])
    for name in list(columns):
        if chance(dice, 0.03):
            columns[name] = dice.choice(_TYPES)
        if chance(dice, 0.01):
            del columns[name]
    return columns


def _rows(dice: Dice, columns: Sequence[str]) -> Rows:
    odd = dice.choice((0.0, 0.0, 0.02, 0.3))
    return [
        [_value(dice, name, number, odd) for name in columns] for number in range(dice.choice((0, 1, 2, 12, 12, 40)))
    ]


def _value(dice: Dice, name: str, number: int, odd: float) -> str | None:
    if chance(dice, odd):
        return dice.choice((None, "", "0", "-1", "1e400", str(2**64), "NULL", odd_text(dice)))
    made = {
        "id": str(number), "time": str(_START + dt.timedelta(seconds=number)), "at": str(1_772_366_400_000 + number),
        "char_id": str(150_000 + number % 3), "account_id": str(2_000_000 + number % 3), "type": dice.choice("PMTVBSN"),
        "userid": f"u{number}", "user": f"u{number % 3}", "sex": "M", "kind": dice.choice(("combat.kill", "session.login")),
        "rcode": dice.choice(("100", "1")), "actor": str(2_000_000 + number % 3),
    }  # fmt: skip
    return made.get(name) or (str(dice.randrange(99)) if name in _NUMBERS else f"{name}{dice.randrange(3)}")


def _mysql(dice: Dice) -> str:
    parts = ["-- MariaDB dump 10.19", "-- Host: localhost    Database: game", "/*!40101 SET NAMES utf8mb4 */;"]
    parts += dice.choice(
        ([], ["/*!40103 SET TIME_ZONE='+00:00' */;"], ["USE `game`;"], ["DELIMITER ;;\nx;\n;;\nDELIMITER ;"])
    )
    for table in _some(dice):
        columns = _columns(dice, table)
        declared = ",\n".join(f"  `{name}` {kind} NOT NULL" for name, kind in columns.items())
        parts.append(
            f"CREATE TABLE `{table}` (\n{declared},\n  PRIMARY KEY (`x`)\n) ENGINE=MyISAM DEFAULT CHARSET=latin1;"
        )
        listed = f" (`{'`,`'.join(columns)}`)" if chance(dice, 0.3) else ""
        if rows := _rows(dice, list(columns)):
            parts.append(
                f"INSERT INTO `{table}`{listed} VALUES\n" + ",\n".join(_quoted(dice, row) for row in rows) + ";"
            )
    return "\n".join(
        [*parts, *dice.choice((["-- Dump completed on 2026-03-02 01:02:03"], ["-- Dump completed"], [])), ""]
    )


def _quoted(dice: Dice, row: Sequence[str | None]) -> str:
    written = [
        "NULL" if value is None
        else value if value.lstrip("-").isdigit() and chance(dice, 0.9)
        else f"_binary '{value}'" if chance(dice, 0.02)
        else f"0x{value.encode('utf-8', 'replace').hex()}" if chance(dice, 0.02)
        else "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        for value in row
    ]  # fmt: skip
    return f"({','.join(written)})"


def _postgresql(dice: Dice) -> str:
    parts = ["--", "-- PostgreSQL database dump", "--", "SET client_encoding = 'UTF8';"]
    parts += dice.choice(([], ["CREATE FUNCTION f() AS $$ ' ; $$;"], ["\\connect game"], ["\\restrict x"]))
    for table in _some(dice):
        columns = _columns(dice, table)
        declared = ",\n".join(f'    "{name}" {kind}' for name, kind in columns.items())
        parts.append(f'CREATE TABLE public."{table}" (\n{declared}\n);')
        rows = _rows(dice, list(columns))
        listed = ", ".join(f'"{name}"' for name in columns)
        if chance(dice, 0.6):
            lines = ["\t".join("\\N" if value is None else _escaped(value) for value in row) for row in rows]
            parts += [f'COPY public."{table}" ({listed}) FROM stdin;', *lines, "\\."]
        else:
            texts = [
                ["NULL" if value is None else "'" + value.replace("'", "''") + "'" for value in row] for row in rows
            ]
            parts += [f'INSERT INTO public."{table}" VALUES ({", ".join(row)});' for row in texts]
    return "\n".join([*parts, *dice.choice((["-- PostgreSQL database dump complete"], [])), ""])


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def _delimited(dice: Dice, table: str) -> str:
    columns, mark = list(_columns(dice, table)), dice.choice("\t\t,,;|")
    lines = [columns] * (not chance(dice, 0.03)) + [
        ["\\N" if value is None else _field(value, mark) for value in row] for row in _rows(dice, columns)
    ]
    end = dice.choice(("\n", "\n", "\r\n"))
    return end.join(mark.join(line) for line in lines) + dice.choice(("", end))


def _field(value: str, mark: str) -> str:
    if mark == "\t":
        return _escaped(value)
    return '"' + value.replace('"', '""') + '"' if any(one in value for one in f'"\n\r{mark}') else value
