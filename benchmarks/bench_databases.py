"""How much a reading of a game server's database costs, beside fetching the same rows and doing nothing with them.

Both on a MariaDB of this benchmark's own, with rAthena's tables (MyISAM) and synthetic rows. CPU seconds of the
reader's process; the server's are not in them. `--rows N` picks are read, and then again with nothing new.
"""

import argparse
import resource
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import pymysql

import mariadb_server
import ragnarok_database as ragnarok
from gamewarden import pipeline, readers
from gamewarden.readers.databases.options import DatabaseOptions
from gamewarden.readers.options import LogOptions, SourceOptions

ACCOUNTS = 1_000


def fill(server: mariadb_server.Server, name: str, rows: int) -> None:
    """Accounts, characters and picks of a day."""
    ragnarok.make_tables(server, name)
    with server.connected(name) as connection, connection.cursor() as cursor:
        people = [(2_000_000 + n, f"user{n}") for n in range(ACCOUNTS)]
        cursor.executemany("INSERT INTO login (account_id, userid) VALUES (%s, %s)", people)
        characters = [(150_000 + n, 2_000_000 + n, f"Name{n}") for n in range(ACCOUNTS)]
        cursor.executemany("INSERT INTO `char` (char_id, account_id, name) VALUES (%s, %s, %s)", characters)
        cursor.execute(
            "INSERT INTO picklog (time, char_id, type, nameid, amount, map)"
            " SELECT TIMESTAMPADD(SECOND, seq * 86400 DIV %s, '2026-03-01'), 150000 + seq %% 1000,"
            " ELT(1 + seq %% 4, 'P', 'C', 'M', 'S'), 500 + seq %% 90, IF(seq %% 4 = 1, -1, 1), 'prontera'"
            " FROM seq_1_to_%s",
            (rows, rows),
        )


def fetched(server: mariadb_server.Server, name: str) -> int:
    """The same columns of all picks, a batch after the other, thrown away."""
    connection = pymysql.connect(unix_socket=str(server.socket), user="root", database=name, autocommit=True)
    above = count = 0
    with connection, connection.cursor() as cursor:
        while batch := _batch(cursor, above):
            above, count = batch[-1][0], count + len(batch)
    return count


def _batch(cursor: pymysql.cursors.Cursor, above: int) -> tuple[tuple[int, ...], ...]:
    columns = "id, time, char_id, type, nameid, amount, map, unique_id"
    cursor.execute(f"SELECT {columns} FROM picklog WHERE id > %s ORDER BY id LIMIT 5000", (above,))  # noqa: S608
    return cursor.fetchall()


def main() -> None:
    """Print both, and their ratio."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rows", type=int, default=1_000_000)
    rows = asked.parse_args().rows
    options = SourceOptions(LogOptions(time_zone="UTC"), databases=DatabaseOptions(pause=0.0))
    with mariadb_server.served() as server, TemporaryDirectory() as place:
        url = server.new_database()
        name = mariadb_server.database_of(url)
        fill(server, name, rows)
        begun = time.process_time()
        fetched(server, name)
        plain = time.process_time() - begun
        for what in ("first reading", "nothing new"):
            begun = time.process_time()
            told = pipeline.read(readers.open(url, options), Path(place) / "lake")
            used = time.process_time() - begun
            new = told.frame["new"].item()
            times = f"{used / plain:.2f} × fetching ({plain:.1f})"
            print(f"{what}: {new:,} events of {rows:,} rows, {used:.1f} CPU-s, {times}")
    print(f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB")


if __name__ == "__main__":
    main()
