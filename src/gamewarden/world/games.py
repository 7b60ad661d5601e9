"""The three games: what they log, how a kill goes, and who plays them. Calibrated as docs/world.md says."""

from collections.abc import Mapping
from dataclasses import dataclass

from gamewarden.errors import ConfigError
from gamewarden.world.routines import (
    CRAFTING,
    DEALING,
    GATHER,
    QUEST,
    ROAMING,
    SITTING,
    TALKING,
    TOWN,
    Routine,
    hunting,
)
from gamewarden.world.vocabulary import Vocabulary


@dataclass(frozen=True)
class Game:
    """One game: the size of its log's vocabulary, its hunting round, and the mix of its players."""

    name: str
    vocabulary: Vocabulary
    hunt: Routine
    highest_level: int
    towns: int
    fields: int
    humans: Mapping[str, float]  # shares by persona
    bots: Mapping[str, float]
    restless: float = 1.0  # how much oftener people pause, look around and vary here than in personas.py
    rough: float = 1.0  # the same for scripts

    @property
    def routines(self) -> Mapping[str, Routine]:
        """The routine of each activity."""
        return {
            "hunt": self.hunt,
            "gather": GATHER,
            "quest": QUEST,
            "town": TOWN,
            "deal": DEALING,
            "craft": CRAFTING,
            "talk": TALKING,
            "sit": SITTING,
            "roam": ROAMING,
        }


_HUMANS = {
    "casual": 0.40,
    "hard-core": 0.10,
    "grinder": 0.14,
    "trader": 0.08,
    "newbie": 0.10,
    "sitter": 0.08,
    "sharer": 0.10,
}
_BOTS = {
    "farmer": 0.26,
    "randomised-farmer": 0.14,
    "gatherer": 0.12,
    "semi-autonomous": 0.10,
    "cheat": 0.08,
    "mimic": 0.10,
    "star-farmer": 0.10,
    "occasional": 0.10,
}

LINEAGE = Game(
    "lineage",
    Vocabulary(
        {
            "skill.use.*": 120,
            "quest.step.*": 260,
            "npc.talk.*": 130,
            "ui.*": 110,
            "item.use.*": 130,
            "emote.*": 30,
            "gather.*": 24,
            "craft.*": 60,
            "feat.*": 100,
        }
    ),
    hunt=hunting(skills=(1, 1), skill_chance=0.3, kill_seconds=9.0, extras=0.8),
    highest_level=90,
    towns=6,
    fields=40,
    humans=_HUMANS,
    bots=_BOTS,
)
AION = Game(
    "aion",
    Vocabulary(
        {
            "skill.use.*": 90,
            "quest.step.*": 120,
            "npc.talk.*": 50,
            "ui.*": 40,
            "item.use.*": 35,
            "emote.*": 16,
            "gather.*": 16,
            "craft.*": 24,
            "feat.*": 30,
        }
    ),
    hunt=hunting(skills=(1, 2), skill_chance=0.9, kill_seconds=9.0, extras=0.9),
    highest_level=65,
    towns=4,
    fields=28,
    humans=_HUMANS,
    bots=_BOTS,
)
BLADE_AND_SOUL = Game(
    "blade-and-soul",
    Vocabulary(
        {
            "skill.use.*": 48,
            "quest.step.*": 36,
            "npc.talk.*": 18,
            "ui.*": 20,
            "item.use.*": 12,
            "emote.*": 10,
            "gather.*": 8,
            "craft.*": 10,
            "feat.*": 10,
        }
    ),
    hunt=hunting(skills=(2, 4), skill_chance=1.0, kill_seconds=7.0, extras=1.0),
    highest_level=50,
    towns=3,
    fields=20,
    humans=_HUMANS,
    bots=_BOTS,
)
GAMES = (LINEAGE, AION, BLADE_AND_SOUL)


def game_named(name: str) -> Game:
    """The game of that name.

    Raises:
        ConfigError: there is no such game.
    """
    for game in GAMES:
        if game.name == name:
            return game
    raise ConfigError(f"game {name!r} is unknown; choose one of {', '.join(game.name for game in GAMES)}")
