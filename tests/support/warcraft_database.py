"""The tables of World of Warcraft servers as they make them (what matters of them), and a small realm in them."""

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime

_TEXT = "text CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci NOT NULL"
_ACCOUNT = """`id` int unsigned NOT NULL AUTO_INCREMENT, `username` varchar(32) NOT NULL DEFAULT '',
    `salt` binary(32) NOT NULL, `verifier` binary(32) NOT NULL, `email` varchar(255) NOT NULL DEFAULT '',
    `joindate` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP, `last_ip` varchar(15) NOT NULL DEFAULT '127.0.0.1',
    `last_login` timestamp NULL DEFAULT NULL, `online` int unsigned NOT NULL DEFAULT '0', PRIMARY KEY (`id`),
    UNIQUE KEY `idx_username` (`username`)"""
_ACTIONS = """`id` int unsigned NOT NULL AUTO_INCREMENT, `account_id` int unsigned NOT NULL,
    `character_guid` int unsigned NOT NULL, {realm} `type` tinyint unsigned NOT NULL,
    `ip` varchar({ip}) NOT NULL DEFAULT '127.0.0.1', `systemnote` text, `unixtime` int unsigned NOT NULL,
    `time` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP, `comment` text, PRIMARY KEY (`id`)"""
_CHARACTERS = """`guid` {guid} unsigned NOT NULL DEFAULT '0', `account` int unsigned NOT NULL DEFAULT '0',
    `name` varchar(12) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, `race` tinyint unsigned NOT NULL DEFAULT '0',
    `class` tinyint unsigned NOT NULL DEFAULT '0', `level` tinyint unsigned NOT NULL DEFAULT '0',
    `xp` int unsigned NOT NULL DEFAULT '0', `money` {money} unsigned NOT NULL DEFAULT '0',
    `online` tinyint unsigned NOT NULL DEFAULT '0', `totaltime` int unsigned NOT NULL DEFAULT '0',
    `deleteInfos_Account` int unsigned DEFAULT NULL, `deleteInfos_Name` varchar(12) DEFAULT NULL,
    PRIMARY KEY (`guid`), KEY `idx_account` (`account`)"""
_BANK = """`guildid` {guild} unsigned NOT NULL DEFAULT '0', `LogGuid` int unsigned NOT NULL DEFAULT '0',
    `TabId` tinyint unsigned NOT NULL DEFAULT '0', `EventType` tinyint unsigned NOT NULL DEFAULT '0',
    `PlayerGuid` {guild} unsigned NOT NULL DEFAULT '0', `ItemOrMoney` {guild} unsigned NOT NULL DEFAULT '0',
    `ItemStackCount` smallint unsigned NOT NULL DEFAULT '0', `DestTabId` tinyint unsigned NOT NULL DEFAULT '0',
    `TimeStamp` {time} NOT NULL DEFAULT '0', PRIMARY KEY (`guildid`,`LogGuid`,`TabId`),
    KEY `guildid_key` (`guildid`), KEY `Idx_PlayerGuid` (`PlayerGuid`), KEY `Idx_LogGuid` (`LogGuid`)"""
_QUESTS = """`id` int unsigned NOT NULL DEFAULT '0', `character_guid` {guid} unsigned NOT NULL DEFAULT '0',
    `quest_accept_time` datetime NOT NULL, `quest_complete_time` datetime DEFAULT NULL,
    `quest_abandon_time` datetime DEFAULT NULL, `completed_by_gm` tinyint NOT NULL DEFAULT '0',
    `core_hash` varchar(120) NOT NULL DEFAULT '0', `core_revision` varchar(120) NOT NULL DEFAULT '0',
    UNIQUE KEY `idx_latest_quest_for_character` (`id`,`character_guid`,`quest_accept_time` DESC)"""
AZEROTHCORE_AUTH = {
    "account": _ACCOUNT,
    "account_access": """`id` int unsigned NOT NULL, `gmlevel` tinyint unsigned NOT NULL,
        `RealmID` int NOT NULL DEFAULT '-1', `comment` varchar(255) DEFAULT '', PRIMARY KEY (`id`,`RealmID`)""",
    "logs_ip_actions": _ACTIONS.format(realm="", ip=15),
}
AZEROTHCORE_CHARACTERS = {
    "characters": _CHARACTERS.format(guid="int", money="int"),
    "log_money": f"""`sender_acc` int unsigned NOT NULL, `sender_guid` int unsigned NOT NULL, `sender_name` {_TEXT},
        `sender_ip` {_TEXT}, `receiver_acc` int unsigned NOT NULL, `receiver_name` {_TEXT},
        `money` bigint unsigned NOT NULL, `topic` {_TEXT}, `date` datetime NOT NULL, `type` tinyint NOT NULL""",
    "log_encounter": f"""`time` datetime NOT NULL, `map` smallint unsigned NOT NULL,
        `difficulty` tinyint unsigned NOT NULL, `creditType` tinyint unsigned NOT NULL,
        `creditEntry` int unsigned NOT NULL, `playersInfo` {_TEXT}""",
    "guild_bank_eventlog": _BANK.format(guild="int", time="int unsigned"),
    "quest_tracker": _QUESTS.format(guid="int"),
}
TRINITYCORE_AUTH = {
    "account": _ACCOUNT.replace("varchar(15)", "varchar(64)"),
    "account_access": """`AccountID` int unsigned NOT NULL, `SecurityLevel` tinyint unsigned NOT NULL,
        `RealmID` int NOT NULL DEFAULT '-1', `Comment` varchar(255) DEFAULT NULL,
        PRIMARY KEY (`AccountID`,`RealmID`)""",
    "logs_ip_actions": _ACTIONS.format(realm="`realm_id` int unsigned NOT NULL DEFAULT '0',", ip=64),
}
TRINITYCORE_CHARACTERS = {
    "characters": _CHARACTERS.format(guid="bigint", money="bigint"),
    "guild_bank_eventlog": _BANK.format(guild="bigint", time="bigint"),
    "quest_tracker": _QUESTS.format(guid="bigint"),
}

BEGIN = int(datetime(2026, 3, 2, 12, tzinfo=UTC).timestamp())
GOLD = 10_000  # copper
_MONEY = {1: "money.cod", 2: "money.auction", 3: "guildbank.deposit", 4: "guildbank.withdraw", 5: "money.mail"}


def clock(second):
    """A time of the realm as its tables write it; its database is on UTC."""
    return datetime.fromtimestamp(BEGIN + second, UTC).strftime("%Y-%m-%d %H:%M:%S")


@dataclass
class Realm:
    """Accounts 1 to 12 with two characters each, what they do in three hours, and what should be read of it."""

    seed: int = 7
    truth: Counter = field(default_factory=Counter)  # how many events of each kind
    edges: Counter = field(default_factory=Counter)  # of money: (from, to) as accounts
    rows: dict = field(default_factory=dict)

    def __post_init__(self):
        self.random = random.Random(self.seed)  # noqa: S311  play, no secret
        self.accounts = range(1, 13)
        self.characters = {100 + n: 1 + n % 12 for n in range(24)}
        self.rows = {name: [] for name in ("actions", "money", "encounters", "bank", "quests")}
        self._play()

    def name(self, guid):
        return f"Hero{guid}"

    def _play(self):
        for account in self.accounts:
            self._session(account)
        for second in range(60, 10_000, 25):
            self._pay(second)
        for number, second in enumerate(range(100, 10_000, 90)):
            self._bank(number, second)
        for second in range(90, 10_000, 400):
            self._quest(second)
            self._encounter(second)

    def _someone(self):
        guid = self.random.choice(list(self.characters))
        return guid, self.characters[guid]

    def _session(self, account):
        guid = next(one for one, owner in self.characters.items() if owner == account)
        for kind, second in ((0, account), (8, account + 10), (9, 10_500 + account)):
            self.rows["actions"].append((account, guid if kind else 0, kind, f"10.0.0.{account}", BEGIN + second))
        self.truth.update(["account.login", "session.login", "session.logout"])

    def _pay(self, second):
        (sender, account), (receiver, other) = self._someone(), self._someone()
        kind, money = self.random.choice((1, 2, 3, 4, 5, 6)), self.random.randint(11, 900) * GOLD
        guild = self.random.randint(1, 3)  # as low as accounts: one must not be taken for the other
        ip = f"10.0.0.{account}"
        rows = {
            3: (account, sender, self.name(sender), ip, guild, "The guild", money),
            4: (0, guild, "The guild", ip, account, self.name(sender), money),
        }
        plain = (account, sender, self.name(sender), ip, other, self.name(receiver), money)
        self.rows["money"].append((*rows.get(kind, plain), 'a "topic"', clock(second), kind))
        if kind in (1, 2, 5, 6) and account != other:
            self.edges[str(account), str(other)] += money
        self.truth.update(["money.give", "money.receive"] if kind == 6 else [_MONEY[kind]])

    def _bank(self, number, second):
        guid, kind = self._someone()[0], self.random.choice((1, 2, 3, 4, 5, 6))
        thing = kind <= 3
        money = self.random.randint(1, 20) * GOLD
        self.rows["bank"].append(
            (1, number, 0, kind, guid, 4306 if thing else money, 20 if thing else 0, 0, BEGIN + second)
        )
        kinds = ("deposit", "withdraw", "move", "deposit", "withdraw", "repair")
        if thing or money <= 10 * GOLD:
            self.truth[f"guildbank.{kinds[kind - 1]}"] += 1

    def _quest(self, second):
        self.rows["quests"].append((self.random.randint(1, 9999), self._someone()[0], clock(second)))
        self.truth["quest.accept"] += 1

    def _encounter(self, second):
        guids = self.random.sample(list(self.characters)[:12], 5)  # one character of each account
        lines = [
            f"{self.name(guid)} (GUID Full: 0x{guid:016x} Type: Player Low: {guid}, acc: {self.characters[guid]}, "
            f"ip: 10.0.0.{self.characters[guid]}, guild: 1), xyz: (-12.5, {guid}.0, 3.0), auras: 1(2) 3(4) \n"
            for guid in guids
        ]
        self.rows["encounters"].append((clock(second), 631, 1, 0, 36612, "".join(lines)))
        self.truth["combat.encounter"] += len(guids)

    def people(self, server, auth, characters, access=("id", "gmlevel")):
        """Write down who there is: account 12 is staff, and account 11 is played by the server."""
        names = [f"PLAYER{n}" for n in range(1, 11)] + ["RNDBOT7", "GAMEMASTER"]
        rows = [(n, name, b"", b"", f"2025-01-{n:02} 08:00:00") for n, name in enumerate(names, 1)]
        insert(server, auth, "account", ("id", "username", "salt", "verifier", "joindate"), rows)
        insert(server, auth, "account_access", (*access, "RealmID"), [(12, 3, -1), (12, 2, 1), (1, 0, -1)])
        heroes = [
            (guid, owner, self.name(guid), 1 + guid % 11, 10 + guid % 70, 5 * GOLD, 7200)
            for guid, owner in self.characters.items()
        ]
        columns = ("guid", "account", "name", "class", "level", "money", "totaltime")
        insert(server, characters, "characters", columns, heroes)

    def logs(self, server, auth, characters, part=(0, 1), names=None):
        """Write down what happened, or a part of it, as shares of each table."""
        tables = {
            "actions": (auth, "logs_ip_actions", ("account_id", "character_guid", "type", "ip", "unixtime")),
            "money": (characters, "log_money", None),
            "encounters": (characters, "log_encounter", None),
            "bank": (characters, "guild_bank_eventlog", None),
            "quests": (characters, "quest_tracker", ("id", "character_guid", "quest_accept_time")),
        }
        for name in names or tables:
            database, table, columns = tables[name]
            begin, end = (int(share * len(self.rows[name])) for share in part)
            insert(server, database, table, columns, self.rows[name][begin:end])


def make(server, name, tables):
    for table, columns in tables.items():
        server.execute(f"CREATE TABLE `{table}` ({columns}) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4", name)


def insert(server, name, table, columns, rows):
    """Put rows into a table; without columns by position, as the servers do."""
    if not rows:
        return
    named = f"({', '.join(f'`{column}`' for column in columns)})" if columns else ""
    places = ", ".join(["%s"] * len(rows[0]))
    with server.connected(name) as connection, connection.cursor() as cursor:
        cursor.executemany(f"INSERT INTO `{table}` {named} VALUES ({places})", rows)  # noqa: S608
