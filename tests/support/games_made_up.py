"""The accounts of game servers in a real MariaDB: their names and types of columns, and a count of all changes."""
# ruff: noqa: S608  names of our own tables

from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import create_engine, make_url, text
from sqlalchemy.pool import NullPool

from paths import ROOT

TABLES = ROOT / "integrations" / "tables.sql"
EVIL = "a';DROP TABLE login; --"  # the longest name that login.userid takes
_RAGNAROK = """CREATE TABLE login (
  account_id int(11) unsigned NOT NULL AUTO_INCREMENT, userid varchar(23) NOT NULL DEFAULT '',
  user_pass varchar(32) NOT NULL DEFAULT '', sex enum('M','F','S') NOT NULL DEFAULT 'M',
  email varchar(39) NOT NULL DEFAULT '', group_id tinyint(3) NOT NULL DEFAULT 0,
  state int(11) unsigned NOT NULL DEFAULT 0, unban_time int(11) unsigned NOT NULL DEFAULT 0,
  expiration_time int(11) unsigned NOT NULL DEFAULT 0, logincount mediumint(9) unsigned NOT NULL DEFAULT 0,
  lastlogin datetime, last_ip varchar(100) NOT NULL DEFAULT '', birthdate date,
  character_slots tinyint(3) unsigned NOT NULL DEFAULT 0, pincode varchar(4) NOT NULL DEFAULT '',
  pincode_change int(11) unsigned NOT NULL DEFAULT 0,{more}
  PRIMARY KEY (account_id), {key} name (userid)) ENGINE=MyISAM AUTO_INCREMENT=2000000"""
_RATHENA = """
  vip_time int(11) unsigned NOT NULL DEFAULT 0, old_group tinyint(3) NOT NULL DEFAULT 0, web_auth_token varchar(17),
  web_auth_token_enabled tinyint(2) NOT NULL DEFAULT 0, UNIQUE KEY web_auth_token_key (web_auth_token),"""
_PANEL = """CREATE TABLE cp_banlog (
  id int(10) unsigned NOT NULL AUTO_INCREMENT, account_id int(11) unsigned NOT NULL, banned_by int(11) unsigned,
  ban_type tinyint(1) NOT NULL, ban_until datetime NOT NULL, ban_date datetime NOT NULL, ban_reason text NOT NULL,
  PRIMARY KEY (id), KEY account_id (account_id, banned_by)) ENGINE=MyISAM DEFAULT CHARSET=latin1"""
_LETTERS = "CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"
_CORE = f"""CREATE TABLE account (
  id int unsigned NOT NULL AUTO_INCREMENT, username varchar(32) {_LETTERS} NOT NULL DEFAULT '',
  salt binary(32) NOT NULL DEFAULT '', verifier binary(32) NOT NULL DEFAULT '', session_key binary(40),
  joindate timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP, last_ip varchar(15) NOT NULL DEFAULT '127.0.0.1',
  online int unsigned NOT NULL DEFAULT 0, locked tinyint unsigned NOT NULL DEFAULT 0,
  PRIMARY KEY (id), UNIQUE KEY idx_username (username)) ENGINE=InnoDB"""
_BANNED = f"""CREATE TABLE account_banned (
  id int unsigned NOT NULL DEFAULT 0, bandate int unsigned NOT NULL DEFAULT 0,
  unbandate int unsigned NOT NULL DEFAULT 0,
  bannedby varchar(50) {_LETTERS} NOT NULL, banreason varchar(255) {_LETTERS} NOT NULL,
  active tinyint unsigned NOT NULL DEFAULT 1, PRIMARY KEY (id, bandate)) ENGINE=InnoDB"""
_ACCESS = """CREATE TABLE account_access (
  {id} int unsigned NOT NULL, {level} tinyint unsigned NOT NULL, RealmID int NOT NULL DEFAULT -1,
  comment varchar(255) DEFAULT '', PRIMARY KEY ({id}, RealmID)) ENGINE=InnoDB"""
_EQEMU = """CREATE TABLE account (
  id int(11) NOT NULL AUTO_INCREMENT, name varchar(30) NOT NULL DEFAULT '', charname varchar(64) NOT NULL DEFAULT '',
  auto_login_charname varchar(64) NOT NULL DEFAULT '', sharedplat int(11) unsigned NOT NULL DEFAULT 0,
  password varchar(50) NOT NULL DEFAULT '', status int(5) NOT NULL DEFAULT 0, ls_id varchar(64) DEFAULT 'eqemu',
  lsaccount_id int(11) unsigned, gmspeed tinyint(3) unsigned NOT NULL DEFAULT 0, revoked tinyint(1) unsigned NOT NULL
  DEFAULT 0, suspendeduntil datetime, time_creation int(10) unsigned NOT NULL DEFAULT 0, ban_reason text,
  suspend_reason text, crc_eqgame text, PRIMARY KEY (id), UNIQUE KEY name_ls_id (name, ls_id)) ENGINE=InnoDB
  DEFAULT CHARSET=latin1"""


@dataclass(frozen=True)
class Kind:
    """A kind of server: its tables, its players (the first is ann), its staff, and what else is in it."""

    creates: tuple[str, ...]
    account: str  # table, and the columns with numbers and names
    id: str
    name: str
    ann: int
    staff: tuple[str, ...]
    inserts: tuple[str, ...]
    written: str  # the table that steps write


def _ragnarok(more: str, key: str) -> Kind:
    people = (
        "(1, 's1', 'S', 0)",
        "(2000000, 'ann', 'F', 0)",
        "(2000001, 'bob', 'M', 1)",
        "(2000003, '-x''\"\\\\', 'M', 0)",
        "(2000004, 'gm', 'M', 99)",
        "(2000005, 'helper', 'M', 2)",
        "(2000006, 'odd', 'M', 42)",
    )
    inserts = [f"INSERT INTO login (account_id, userid, sex, group_id) VALUES {one}" for one in people]
    inserts.append("INSERT INTO login (account_id, userid) VALUES (2000007, :evil)")
    create = _RAGNAROK.format(more=more, key=key)
    return Kind(
        (create,), "login", "account_id", "userid", 2000000, ("s1", "gm", "helper", "odd"), tuple(inserts), "login"
    )


def _core(number: str, level: str) -> Kind:
    names = {10: "ANN", 11: "BOB", 13: "-X'\"\\\\", 14: "GM", 15: "MOD", 16: "12#1", 17: "TWO WORDS"}
    inserts = [
        f'INSERT INTO account (id, username) VALUES ({n}, "{name.replace(chr(34), chr(34) * 2)}")'
        for n, name in names.items()
    ]
    inserts.append("INSERT INTO account (id, username) VALUES (18, :evil)")
    inserts.append(f"INSERT INTO account_access ({number}, {level}) VALUES (14, 3), (15, 1), (11, 0)")
    creates = (_CORE, _BANNED, _ACCESS.format(id=number, level=level))
    return Kind(creates, "account", "id", "username", 10, ("GM", "MOD"), tuple(inserts), "account_banned")


def _eqemu() -> Kind:
    people = (
        "(20, 'ann', 0, 1)",
        "(21, 'bob', 0, 2)",
        "(23, '-x''\"\\\\', 0, 3)",
        "(24, 'gm', 250, 4)",
        "(25, 'steward', 10, 5)",
    )
    inserts = [f"INSERT INTO account (id, name, status, lsaccount_id) VALUES {one}" for one in people]
    inserts.append("INSERT INTO account (id, name) VALUES (26, :evil)")
    return Kind((_EQEMU,), "account", "id", "name", 20, ("gm", "steward"), tuple(inserts), "account")


KINDS = {
    "rathena": _ragnarok(_RATHENA, "KEY"),
    "hercules": _ragnarok("", "UNIQUE KEY"),
    "azerothcore": _core("id", "gmlevel"),
    "trinitycore": _core("AccountID", "SecurityLevel"),
    "eqemu": _eqemu(),
}


class Server:
    """The database of a game server."""

    def __init__(self, url: str, kind: str) -> None:
        self.url, self.name, self.kind = url, kind, KINDS[kind]
        plain = {"ssl_disabled": True}  # making a context for TLS takes longer than all else
        driver = make_url(url).set(drivername="mysql+pymysql")
        self._engine = create_engine(driver, poolclass=NullPool, connect_args=plain)

    @classmethod
    def new(cls, url: str, kind: str) -> "Server":
        one = cls(url, kind)
        for statement in one.kind.creates:
            one.run(statement)
        engine = "MyISAM" if "ENGINE=MyISAM" in one.kind.creates[0] else "InnoDB"  # what is rolled back was no change
        one.run(f"CREATE TABLE changes (what varchar(10)) ENGINE={engine}")
        for what in ("INSERT", "UPDATE", "DELETE"):
            one.run(
                f"CREATE TRIGGER on_{what.lower()} AFTER {what} ON {one.kind.written} FOR EACH ROW"
                f" INSERT INTO changes VALUES ('{what}')"
            )
        one.begin()
        return one

    def begin(self) -> None:
        """Let there be only what a server begins with."""
        for (table,) in self.run("SHOW TABLES"):
            self.run(f"DELETE FROM {table}")
        for statement in self.kind.inserts:
            self.run(statement, evil=EVIL)
        self.forget_changes()

    def add_poller(self) -> None:
        for statement in TABLES.read_text().split(";"):
            if statement.strip():
                self.run(statement.replace(":", r"\:"))

    def add_panel(self) -> None:
        self.run(_PANEL)

    @contextmanager
    def connected(self):
        with self._engine.begin() as connection:
            yield connection

    def run(self, statement: str, **values) -> list[tuple]:
        with self.connected() as connection:
            done = connection.execute(text(statement), values)
            return [tuple(row) for row in done] if done.returns_rows else []

    def set(self, number: int, **values) -> None:
        """What somebody else writes into an account."""
        given = ", ".join(f"{name} = :{name}" for name in values)
        self.run(f"UPDATE {self.kind.account} SET {given} WHERE {self.kind.id} = :number", **values, number=number)
        self.forget_changes()

    def of(self, number: int, *columns: str) -> tuple:
        where = f"WHERE {self.kind.id} = :number"
        return self.run(f"SELECT {', '.join(columns)} FROM {self.kind.account} {where}", number=number)[0]

    def number_of(self, name: str) -> int:
        asked = f"SELECT {self.kind.id} FROM {self.kind.account} WHERE {self.kind.name} = :name"
        return self.run(asked, name=name)[0][0]

    def everything(self) -> dict[str, list[tuple]]:
        """Every column of every row of the game's own tables."""
        tables = [row[0] for row in self.run("SHOW TABLES")]
        ours = {"changes", "gw_actions", "gw_events", "cp_banlog"}
        return {one: sorted(self.run(f"SELECT * FROM {one}"), key=repr) for one in tables if one not in ours}

    def changes(self) -> int:
        return self.run("SELECT count(*) FROM changes")[0][0]

    def forget_changes(self) -> None:
        self.run("DELETE FROM changes")


class Servers:
    """A server of each kind in a MariaDB: made once, since making tables takes longer than most tests."""

    def __init__(self, mariadb) -> None:
        self._mariadb, self._made = mariadb, {}

    def of(self, kind: str, *beside: str) -> Server:
        """A server as it begins; beside its own tables the poller's or the panel's."""
        if (kind, beside) not in self._made:
            self._made[kind, beside] = one = Server.new(self._mariadb.new_database(), kind)
            for name in beside:
                getattr(one, f"add_{name}")()
        self._made[kind, beside].begin()
        return self._made[kind, beside]

    def drop(self) -> None:
        for one in self._made.values():
            self._mariadb.drop(one.url)
