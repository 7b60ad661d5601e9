"""Three small games that share no code with the synthetic world: people, harmless people who are away, and bots.

People play 1 to 8 hours a day in changing activities with pauses. A tenth of them leave a harmless routine running
while they are away from the keyboard (fishing, crafting or standing in a shop): after some normal play each day, or
for whole sessions. Bots have five designs, from 1.5 to 20 hours a day. All numbers are synthetic.
"""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
PEOPLE, BOTS = 365, 65
AWAY_SHARE = 0.1  # of the people
PLAYED_SESSIONS = 0.35  # of the sessions of people who leave whole sessions running
Routine = tuple[tuple[str, float], ...]  # kind and share


@dataclass(frozen=True)
class Game:
    """What players of one game can do, and what its bots and its absent people repeat."""

    name: str
    activities: dict[str, Routine]
    away: Routine
    bots: tuple[tuple[str, float, Routine], ...]  # design, hours a day, what it repeats
    zones: int
    level: bool = True
    hours: tuple[float, float] = field(default=(1.0, 8.0))
    idle_sessions: bool = False  # people who are away leave whole sessions running, instead of playing first each day


FIGHT: Routine = (("combat.attack", 0.5), ("combat.kill", 0.2), ("loot.pickup", 0.25), ("item.use", 0.05))
FRONTIER = Game(
    "frontier",
    {
        "hunt": FIGHT,
        "travel": (("move", 0.8), ("zone.enter", 0.1), ("npc.buy", 0.1)),
        "town": (("npc.sell", 0.3), ("storage.deposit", 0.2), ("chat", 0.4), ("trade.give", 0.05), ("move", 0.05)),
        "craft": (("item.craft", 0.7), ("storage.withdraw", 0.2), ("chat", 0.1)),
    },
    (("fish.cast", 0.5), ("fish.catch", 0.45), ("loot.pickup", 0.05)),
    (
        ("round the clock", 20.0, FIGHT),
        ("long gatherer", 15.0, (("gather", 0.6), ("loot.pickup", 0.3), ("move", 0.1))),
        ("evening farmer", 6.0, FIGHT),
        ("seller", 9.0, (("npc.sell", 0.5), ("trade.give", 0.1), ("storage.withdraw", 0.4))),
        ("short farmer", 1.5, (("combat.attack", 0.6), ("combat.kill", 0.2), ("loot.pickup", 0.2))),
    ),
    zones=12,
)
HARBOR = Game(
    "harbor",
    {
        "sail": (("move", 0.7), ("zone.enter", 0.2), ("helm.turn", 0.1)),
        "trade": (("market.buy", 0.4), ("market.sell", 0.4), ("chat", 0.2)),
        "fish": (("fish.cast", 0.45), ("fish.catch", 0.35), ("item.use", 0.2)),
        "tavern": (("chat", 0.8), ("npc.buy", 0.2)),
    },
    (("item.craft", 0.9), ("storage.withdraw", 0.1)),
    (
        ("round the clock", 19.0, (("market.buy", 0.5), ("market.sell", 0.5))),
        ("long fisher", 14.0, (("fish.cast", 0.5), ("fish.catch", 0.5))),
        ("evening sailor", 5.0, (("move", 0.8), ("market.sell", 0.2))),
        ("carrier", 8.0, (("storage.deposit", 0.4), ("storage.withdraw", 0.4), ("move", 0.2))),
        ("short trader", 1.5, (("market.buy", 0.3), ("market.sell", 0.7))),
    ),
    zones=5,
    level=False,
)
ARENA = Game(
    "arena",
    {
        "match": (("1204", 0.5), ("1205", 0.3), ("combat.kill", 0.1), ("combat.death", 0.1)),
        "menu": (("2001", 0.5), ("2002", 0.3), ("chat", 0.2)),
        "build": (("3001", 0.6), ("3002", 0.3), ("npc.buy", 0.1)),
    },
    (("4001", 0.8), ("4002", 0.2)),
    (
        ("round the clock", 20.0, (("1204", 0.6), ("1205", 0.3), ("combat.kill", 0.1))),
        ("long builder", 16.0, (("3001", 0.7), ("3002", 0.3))),
        ("evening fighter", 6.0, (("1204", 0.55), ("1205", 0.3), ("combat.kill", 0.1), ("combat.death", 0.05))),
        ("menu clicker", 10.0, (("2001", 0.6), ("2002", 0.4))),
        ("short fighter", 1.5, (("1204", 0.7), ("combat.kill", 0.3))),
    ),
    zones=3,
)
IDLE_ARENA = replace(ARENA, name="idle-arena", idle_sessions=True)
GAMES = (FRONTIER, HARBOR, ARENA)


@dataclass(frozen=True)
class Log:
    """The events of a game, and what each account is: `person`, `away`, or the design of a bot."""

    events: pl.DataFrame
    designs: dict[str, str]

    def is_bot(self, actor: str) -> bool:
        return self.designs[actor] not in {"person", "away"}

    def labels(self) -> pl.DataFrame:
        """What is known of every other account."""
        known = sorted(self.designs)[::2]
        return pl.DataFrame({"actor": known, "bot": [self.is_bot(actor) for actor in known]})


def play(game: Game, seed: int, days: int = 7) -> Log:
    """Play a game for some days."""
    rng = np.random.default_rng((seed, *game.name.encode()))
    kinds = ["person"] * PEOPLE + [game.bots[number % len(game.bots)][0] for number in range(BOTS)]
    kinds[: round(AWAY_SHARE * PEOPLE)] = ["away"] * round(AWAY_SHARE * PEOPLE)
    names = [f"p{number}" for number in rng.permutation(100_000)[: len(kinds)]]
    parts = [_account(game, name, kind, rng, days) for name, kind in zip(names, kinds, strict=True)]
    events = pl.concat(parts).sort("at", "actor").with_row_index("seq").with_columns(pl.col("seq").cast(pl.UInt64))
    return Log(events, dict(zip(names, kinds, strict=True)))


def _account(game: Game, name: str, kind: str, rng: np.random.Generator, days: int) -> pl.DataFrame:
    scripts = {design: (hours, routine) for design, hours, routine in game.bots}
    pace = rng.lognormal(np.log(25.0), 0.25)  # seconds between two actions
    usual = scripts[kind][0] if kind in scripts else rng.uniform(*game.hours)
    morning = rng.uniform(0, 24 - min(usual * 1.3, 23.5))
    parts = []
    for day in range(days):
        if kind not in scripts and rng.random() < 0.2:
            continue  # people do not play every day
        spread, most = (0.05, 23.5) if kind in scripts else (0.25, game.hours[1])
        hours = min(usual * rng.lognormal(0, spread), most)
        seconds, actions = (
            _repeat(scripts[kind][1], hours, pace, 0.25, rng)
            if kind in scripts
            else _away(game, hours, pace, rng)
            if kind == "away"
            else _person(game, hours, pace, rng)
        )
        start = MONDAY + timedelta(days=day, hours=min(max(morning + rng.normal(0, 0.5), 0), 24 - hours))
        at = np.datetime64(start.replace(tzinfo=None), "us") + (seconds * 1e6).astype("timedelta64[us]")
        inside = seconds < hours * 3600
        parts.append(pl.DataFrame({"at": at[inside], "kind": actions[inside]}))
    table = pl.concat([pl.DataFrame(schema={"at": pl.Datetime("us"), "kind": pl.String}), *parts])
    zone = rng.integers(game.zones)
    level = int(rng.integers(5, 60)) if game.level else None
    return table.select(
        actor=pl.lit(name),
        at=pl.col("at").dt.replace_time_zone("UTC"),
        kind="kind",
        zone=pl.lit(f"zone-{zone}"),
        level=pl.lit(level, pl.Int16),
    )


def _repeat(routine: Routine, hours: float, pace: float, spread: float, rng: np.random.Generator):
    """One routine without an end, as a script does it."""
    count = int(hours * 3600 / pace * 1.2) + 10
    waits = pace * rng.lognormal(0, spread, count)
    names, shares = zip(*routine, strict=True)
    return np.cumsum(waits), rng.choice(names, count, p=np.array(shares) / sum(shares))


def _person(game: Game, hours: float, pace: float, rng: np.random.Generator):
    """Activities of 5 to 40 minutes, each with its own pace and mix, and pauses between some of them."""
    seconds, actions, clock = [], [], 0.0
    activities = list(game.activities.values())
    taste = rng.dirichlet(np.ones(len(activities)))
    while clock < hours * 3600:
        routine = activities[rng.choice(len(activities), p=taste)]
        length = rng.uniform(300, 2400)
        shares = rng.dirichlet([30 * share for _, share in routine])
        mixed = tuple((kind, share) for (kind, _), share in zip(routine, shares, strict=True))
        times, kinds = _repeat(mixed, length / 3600, pace * rng.lognormal(0, 0.4), 0.9, rng)
        inside = times < length
        seconds.append(clock + times[inside])
        actions.append(kinds[inside])
        clock += length + (rng.exponential(600) if rng.random() < 0.4 else 0)
    return np.concatenate(seconds), np.concatenate(actions)


def _away(game: Game, hours: float, pace: float, rng: np.random.Generator):
    """A person plays for a while, then leaves a routine running for the rest of the time.

    With idle sessions, one to three a day, each is either played or left running as a whole.
    """
    if game.idle_sessions:
        return _sessions(game, hours, pace, rng)
    first = min(hours * rng.uniform(0.1, 0.3), 1.5)
    seconds, actions = _person(game, first, pace, rng)
    later, routine = _repeat(game.away, hours - first, 1.5 * pace, 0.35, rng)
    own = seconds < first * 3600
    return np.concatenate([seconds[own], first * 3600 + later]), np.concatenate([actions[own], routine])


def _sessions(game: Game, hours: float, pace: float, rng: np.random.Generator):
    seconds, actions, clock = [], [], 0.0
    for share in rng.dirichlet(np.full(rng.integers(1, 4), 4.0)):
        if rng.random() < PLAYED_SESSIONS:
            times, kinds = _person(game, share * hours, pace, rng)
        else:
            times, kinds = _repeat(game.away, share * hours, 1.6 * pace, 0.3, rng)
        inside = times < share * hours * 3600
        seconds.append(clock + times[inside])
        actions.append(kinds[inside])
        clock += share * hours * 3600
    return np.concatenate(seconds), np.concatenate(actions)
