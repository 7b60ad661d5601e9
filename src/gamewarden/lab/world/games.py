"""The three games: what they log, how a kill goes, and who plays them. Calibrated as docs/world.md says."""

from collections.abc import Mapping
from dataclasses import dataclass

from gamewarden.errors import ConfigError
from gamewarden.lab.world.routines import (
    CRAFTING,
    DEALING,
    FISHING,
    GATHER,
    QUEST,
    ROAMING,
    SITTING,
    TALKING,
    TOWN,
    Routine,
    hunting,
)
from gamewarden.lab.world.vocabulary import Vocabulary


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
            "fish": FISHING,
        }


LINEAGE = Game(
    "lineage",
    Vocabulary(
        {
            "skill.use.*": 310,
            "quest.step.*": 630,
            "npc.talk.*": 310,
            "ui.*": 270,
            "item.use.*": 310,
            "emote.*": 70,
            "gather.*": 60,
            "craft.*": 160,
            "feat.*": 250,
        }
    ),
    hunt=hunting(seconds=17.0, skills=(1, 1), skill=0.06, money=1.0, loot=0.1, other=0.04),
    highest_level=90,
    towns=6,
    fields=40,
    humans={
        "casual": 0.39,
        "hard-core": 0.15,
        "grinder": 0.13,
        "trader": 0.09,
        "newbie": 0.10,
        "sitter": 0.03,
        "sharer": 0.11,
    },
    bots={
        "farmer": 0.27,
        "randomised-farmer": 0.10,
        "gatherer": 0.10,
        "semi-autonomous": 0.12,
        "cheat": 0.08,
        "mimic": 0.15,
        "star-farmer": 0.08,
        "occasional": 0.10,
    },
    restless=0.8,
    rough=0.3,
)
AION = Game(
    "aion",
    Vocabulary(
        {
            "skill.use.*": 210,
            "quest.step.*": 330,
            "npc.talk.*": 130,
            "ui.*": 110,
            "item.use.*": 100,
            "emote.*": 36,
            "gather.*": 28,
            "craft.*": 60,
            "feat.*": 70,
        }
    ),
    hunt=hunting(seconds=16.0, skills=(1, 1), skill=1.0, money=1.0, loot=0.3, other=0.05),
    highest_level=65,
    towns=4,
    fields=28,
    humans={
        "casual": 0.52,
        "hard-core": 0.07,
        "grinder": 0.04,
        "trader": 0.10,
        "newbie": 0.13,
        "sitter": 0.02,
        "sharer": 0.12,
    },
    bots={
        "farmer": 0.42,
        "randomised-farmer": 0.08,
        "gatherer": 0.16,
        "semi-autonomous": 0.12,
        "cheat": 0.06,
        "mimic": 0.02,
        "star-farmer": 0.11,
        "occasional": 0.03,
    },
    restless=1.0,
    rough=0.6,
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
    hunt=hunting(seconds=15.0, skills=(1, 4), skill=1.0, money=0.7, loot=0.5, other=0.3),
    highest_level=50,
    towns=3,
    fields=20,
    humans={
        "casual": 0.38,
        "hard-core": 0.13,
        "grinder": 0.16,
        "trader": 0.08,
        "newbie": 0.07,
        "sitter": 0.09,
        "sharer": 0.09,
    },
    bots={
        "farmer": 0.24,
        "randomised-farmer": 0.14,
        "gatherer": 0.12,
        "semi-autonomous": 0.10,
        "cheat": 0.08,
        "mimic": 0.12,
        "star-farmer": 0.10,
        "occasional": 0.10,
    },
    restless=1.0,
    rough=0.95,
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
