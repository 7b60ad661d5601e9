-- gamewarden's own two tables in a game's database (MariaDB or MySQL). The collectors fill the first, the pollers in the
-- game read the second. Load it once into the database that holds the game's logs:  mysql ragnarok < tables.sql

-- What happened, as gamewarden calls it: one row per event, in the columns of its EVENTS table.
CREATE TABLE IF NOT EXISTS `gw_events` (
  `id`        bigint unsigned   NOT NULL AUTO_INCREMENT,
  `at`        bigint            NOT NULL,               -- milliseconds since 1970-01-01 UTC, when it happened
  `actor`     int unsigned      NOT NULL,               -- the account's number
  `character` int unsigned      NULL,
  `kind`      varchar(32)       NOT NULL,               -- combat.kill, session.login …
  `zone`      varchar(32)       NULL,
  `x`         float             NULL,
  `y`         float             NULL,
  `level`     smallint unsigned NULL,
  `target`    varchar(32)       NULL,
  `item`      varchar(32)       NULL,
  `amount`    bigint            NULL,
  `other`     int unsigned      NULL,                   -- the other account's number
  `ip`        varchar(45)       NULL,
  PRIMARY KEY (`id`),
  KEY `at` (`at`)                                       -- for purging by age
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- What the game shall do to accounts that are online: gamewarden writes rows, a poller in the game does each once.
CREATE TABLE IF NOT EXISTS `gw_actions` (
  `id`         bigint unsigned NOT NULL AUTO_INCREMENT,
  `key`        char(32)        NOT NULL,                -- names the action: the same one twice is one row
  `account_id` int unsigned    NOT NULL,
  `verb`       varchar(8)      NOT NULL,                -- do, undo
  `step`       varchar(16)     NOT NULL,                -- limit, challenge, freeze, isolate, kick
  `until`      bigint          NULL,                    -- seconds since 1970, when it ends by itself
  `created`    bigint          NOT NULL,                -- seconds since 1970
  `taken`      bigint          NULL,                    -- when the poller began with it
  `outcome`    varchar(16)     NULL,                    -- done, offline, busy, refused
  PRIMARY KEY (`id`),
  UNIQUE KEY `key` (`key`),
  KEY `taken` (`taken`, `id`),
  KEY `account_id` (`account_id`, `id`)                 -- what holds for somebody who logs in
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
