"""The fourteen characters of the chunk experiment: one class, levels alike on both sides, three days of resources."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from gamewarden.errors import ConfigError
from gamewarden.features.actions.recipe import Actions
from gamewarden.lab.world import World

# What a rollback database holds: gathering, spending and handing over of resources.
RESOURCES = (
    *("loot.*", "gather.*", "item.*", "craft.*", "currency.*"),
    *("npc.buy", "npc.sell", "trade.*", "market.*", "storage.*", "mail.*"),
)
LOOT = "loot.pickup"
CLASS = "knight"  # the published ones were Bladers; in our world a class changes nothing but the profile
EACH = 7
# The tools the paper names: bots that fight, bots that make items, cheats. Nobody is the only one of its kind, or
# holding it out would ask for what was never seen.
IRREGULAR = {"farmer": 3, "gatherer": 2, "cheat": 2}
LEAST_HOURS = 8  # half-hours with an action, in the three days: else a character has few chunks
_COUNTED = Actions(kinds=RESOURCES)


@dataclass(frozen=True)
class Life:
    """What one character did with resources, and for how many hours it was at it."""

    log: pl.DataFrame
    hours: float

    @property
    def loot(self) -> float:
        """Things picked up an hour."""
        return float((self.log["kind"] == LOOT).sum()) / self.hours if self.hours else 0.0


class Stage:
    """One world, of which only the characters are played that are asked for."""

    def __init__(self, world: World) -> None:
        self.world = world
        profiles = world.profiles().filter(pl.col("class") == CLASS)
        self.levels: dict[str, int] = dict(profiles.select("actor", "level").iter_rows())
        self.labels = world.labels()
        self._truth = world.truth()
        self._humans = set(self.labels.filter(~pl.col("bot"))["actor"])
        self._lives: dict[tuple[str, str], Life] = {}

    def of(self, family: str, among: Iterable[str] | None = None) -> list[str]:
        """The accounts of a bot family."""
        return [actor for actor in (self.levels if among is None else among) if self._truth[actor] == family]

    def humans(self) -> list[str]:
        """The accounts that people play."""
        return [actor for actor in self.levels if actor in self._humans]

    def life(self, actor: str, persona: str | None = None) -> Life:
        """What an account did, or would have done as another persona."""
        key = actor, persona or self._truth[actor]
        if key not in self._lives:
            world = self.world.recast({actor: persona}) if persona else self.world
            self._lives[key] = _life(world, actor)
        return self._lives[key]

    def long_enough(self, actors: Sequence[str]) -> Iterator[str]:
        """Those who play long enough, found by playing one after the other."""
        return (actor for actor in actors if self.life(actor).hours >= LEAST_HOURS)


@dataclass(frozen=True)
class Cast:
    """Seven regular and seven irregular characters."""

    humans: tuple[str, ...]
    bots: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """The fourteen."""
        return (*self.humans, *self.bots)


def cast_of(stage: Stage) -> Cast:
    """For each of seven levels spread over the class, the human and the bot nearest to it who play long enough.

    Which level which bot family gets is drawn with the world's seed.

    Raises:
        ConfigError: the world has too few such characters.
    """
    families = [family for family, number in IRREGULAR.items() for _ in range(number)]
    spread = [stage.levels[actor] for family in (*IRREGULAR,) for actor in stage.of(family)]
    spread += [stage.levels[actor] for actor in stage.humans()]
    wanted = np.quantile(spread, (np.arange(EACH) + 0.5) / EACH) if spread else np.zeros(EACH)
    dealt = np.random.default_rng(stage.world.seed).permutation(len(families))
    humans: list[str] = []
    bots: list[str] = []
    for level, place in zip(wanted.tolist(), dealt.tolist(), strict=True):
        humans.append(_nearest(stage, stage.humans(), level, humans))
        bots.append(_nearest(stage, stage.of(families[place]), level, bots))
    return Cast(tuple(humans), tuple(bots))


def _nearest(stage: Stage, actors: Sequence[str], level: float, taken: Sequence[str]) -> str:
    free = sorted(set(actors) - set(taken), key=lambda actor: (abs(stage.levels[actor] - level), actor))
    for actor in stage.long_enough(free):
        return actor
    raise ConfigError(
        f"thawonmas: too few of {stage.world.accounts:,} accounts are {CLASS}s who play long enough; take more accounts"
    )


def _life(world: World, actor: str) -> Life:
    batches = [pl.DataFrame(batch) for batch in world.lives([actor], ("actor", "at", "kind"))]
    log = pl.concat([batch.with_columns(pl.col("actor", "kind").cast(pl.String)) for batch in batches])
    counted = [kind for kind in log["kind"].unique() if _COUNTED.is_action(kind)]
    mine = log.filter(pl.col("kind").is_in(counted))
    return Life(mine, mine["at"].dt.truncate("30m").n_unique() / 2)
