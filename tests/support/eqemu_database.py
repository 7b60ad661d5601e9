"""The tables of EQEmu as the server makes them (the columns that matter, with their types and keys), and a small world
in them whose truth is known.
"""

import json
import random
from collections import Counter
from dataclasses import dataclass, field

from warcraft_database import clock

EQEMU = {
    "player_event_logs": """`id` bigint(20) NOT NULL AUTO_INCREMENT, `account_id` bigint(20) DEFAULT NULL,
        `character_id` bigint(20) DEFAULT NULL, `zone_id` int(11) DEFAULT NULL, `instance_id` int(11) DEFAULT NULL,
        `x` float DEFAULT NULL, `y` float DEFAULT NULL, `z` float DEFAULT NULL, `heading` float DEFAULT NULL,
        `event_type_id` int(11) DEFAULT NULL, `event_type_name` varchar(255) DEFAULT NULL,
        `event_data` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL {check},
        `etl_table_id` bigint(20) NOT NULL DEFAULT '0', `created_at` datetime DEFAULT NULL, PRIMARY KEY (`id`),
        KEY `event_created_at` (`event_type_id`,`created_at`), KEY `zone_id` (`zone_id`),
        KEY `character_id` (`character_id`,`zone_id`) USING BTREE, KEY `created_at` (`created_at`)""".format(
        check="CHECK (json_valid(`event_data`))"
    ),
    "player_event_log_settings": """`id` bigint(20) NOT NULL, `event_name` varchar(100) DEFAULT NULL,
        `event_enabled` tinyint(1) DEFAULT NULL, `retention_days` int(11) DEFAULT 0,
        `discord_webhook_id` int(11) DEFAULT 0, `etl_enabled` tinyint(1) unsigned NOT NULL DEFAULT 0,
        PRIMARY KEY (`id`)""",
    "account": """`id` int(11) NOT NULL AUTO_INCREMENT, `name` varchar(30) NOT NULL DEFAULT '',
        `status` int(5) NOT NULL DEFAULT 0, `ls_id` varchar(64) DEFAULT 'eqemu', `suspendeduntil` datetime DEFAULT NULL,
        `time_creation` int(10) unsigned NOT NULL DEFAULT 0, `ban_reason` text DEFAULT NULL, PRIMARY KEY (`id`)""",
    "character_data": """`id` int(11) unsigned NOT NULL AUTO_INCREMENT, `account_id` int(11) NOT NULL DEFAULT 0,
        `name` varchar(64) NOT NULL DEFAULT '', `zone_id` int(11) unsigned NOT NULL DEFAULT 0,
        `class` tinyint(11) unsigned NOT NULL DEFAULT 0, `level` int(11) unsigned NOT NULL DEFAULT 0,
        `last_login` int(11) unsigned NOT NULL DEFAULT 0, `time_played` int(11) unsigned NOT NULL DEFAULT 0,
        `first_login` int(11) unsigned NOT NULL DEFAULT 0, PRIMARY KEY (`id`), UNIQUE KEY `name` (`name`)""",
    "trader": """`id` bigint(20) unsigned NOT NULL AUTO_INCREMENT, `char_id` int(10) unsigned NOT NULL DEFAULT 0,
        `item_id` int(10) unsigned NOT NULL DEFAULT 0, PRIMARY KEY (`id`)""",
}
OFF = (5, 6, 7, 8, 10, 11, 23, 29, 44, 54)  # types that the server leaves out unless told otherwise
WRITTEN = (
    "account_id",
    "character_id",
    "zone_id",
    "instance_id",
    "x",
    "y",
    "event_type_id",
    "event_data",
    "created_at",
)
COPPER = {"platinum": 1000, "gold": 100, "silver": 10, "copper": 1}
_PLAIN = {  # type: its payload and its kind
    1: ({"message": "#goto", "target": "x"}, "gm.command"),
    10: ({}, "session.login"),
    11: ({}, "zone.leave"),
    14: ({"item_id": 1001, "item_name": "Bones", "charges": 2, "npc_id": 77, "corpse_name": "a bat"}, "loot.pickup"),
    15: ({"npc_id": 5, "item_id": 9, "charges": 1, "cost": 30, "alternate_currency_id": 0, "player_money_balance": 1,
          "player_currency_balance": 0}, "npc.buy"),
    16: ({"npc_id": 5, "item_id": 9, "charges": 1, "cost": 20, "alternate_currency_id": 0, "player_money_balance": 1,
          "player_currency_balance": 0}, "npc.sell"),
    31: ({"killer_id": 1, "killer_name": "a bat", "damage": 9}, "combat.death"),
    43: ({"message": "/MQWarp"}, "anticheat.flag"),
    44: ({"npc_id": 77, "npc_name": "a bat", "combat_time_seconds": 3}, "combat.kill"),
    45: ({"npc_id": 78, "npc_name": "#Bat King", "combat_time_seconds": 9}, "combat.named"),
    54: ({"to": "", "from": "Hero1", "guild_id": 0, "type": 8, "message": "hello"}, "chat"),
    56: ({"char_id": 1, "guild_id": 2, "item_id": 9, "quantity": 3, "permission": 0}, "guildbank.deposit"),
}  # fmt: skip


@dataclass
class World:
    """Accounts 1 to 10 with one character each (its number is 1000 more), what they do, and what should be read."""

    seed: int = 5
    truth: Counter = field(default_factory=Counter)
    edges: Counter = field(default_factory=Counter)  # copper by trade: (from, to) as accounts
    rows: list = field(default_factory=list)

    def __post_init__(self):
        self.random = random.Random(self.seed)  # noqa: S311  play, no secret
        for second in range(0, 9_000, 10):
            account = self.random.randint(1, 10)
            if self.random.random() < 0.2:
                self._trade(second, account)
            else:
                number = self.random.choice(list(_PLAIN))
                payload, kind = _PLAIN[number]
                self.add(second, account, number, payload)
                self.truth[kind] += 1

    def add(self, second, account, number, payload, x=10.0):
        """A row; a payload that is text stands there as it is."""
        data = payload if isinstance(payload, str) else json.dumps(payload)
        self.rows.append((account, account + 1000, 22, 0, x, -5.0, number, data, clock(second)))

    def _trade(self, second, one):
        other = self.random.choice([n for n in range(1, 11) if n != one])
        money = [{coin: self.random.randint(0, 3) for coin in COPPER} for _ in range(2)]
        items = [self._items(self.random.randint(0, 3)) for _ in range(2)]
        payload = trade(1000 + one, 1000 + other, money, items)
        copper = [sum(coins[coin] * worth for coin, worth in COPPER.items()) for coins in money]
        for giver, taker, side in ((one, other, 0), (other, one, 1)):
            self.add(second, giver, 27, payload)  # both sides, with the same payload
            given = len(items[side]) + (copper[side] > 0)
            self.truth["trade.give"] += given
            self.truth["trade.receive"] += given
            if copper[side]:
                self.edges[str(giver), str(taker)] += copper[side]

    def _items(self, n):
        return [
            {"slot": 3000, "item_id": 500 + i, "item_name": "thing", "charges": i, "in_bag": False} for i in range(n)
        ]


def trade(one, other, money, items):
    """The payload of a trade of two characters: the coins and the things that each gave."""
    sides = enumerate(zip((one, other), money, items, strict=True), 1)
    return {
        f"character_{n}_{what}": value
        for n, (who, coins, things) in sides
        for what, value in (("id", who), ("name", f"Hero{who}"), ("give_money", coins), ("give_items", things))
    }
