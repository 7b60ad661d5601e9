"""A small thing to do in the game: the game watches for it and reports that it was done.

What the game watches for is data; `report` in it is what the game sends as the answer, and players never see it.
"""

from random import Random
from typing import Any

from gamewarden.core.outside import visible
from gamewarden.response.challenges.question import Game, Question, plain

_WAYS = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}
_EMOTIONS = ("smile", "surprise", "thanks")
_REPORT = 16  # bytes that nobody guesses


class Tasks:
    """Walk somewhere, sit, show an emotion, or talk to somebody."""

    name = "task"
    draws = False

    def ask(self, game: Game, rng: Random) -> Question:
        """Something to do."""
        makers = [_walk, _sit, _emote, *([_talk] if game.npcs else [])]
        text, task = rng.choice(makers)(game, rng)
        report = rng.randbytes(_REPORT).hex()
        return Question(text, (report,), task={**task, "report": report})

    def read(self, text: str) -> str:
        """What the game reports."""
        return plain(text)


def _walk(game: Game, rng: Random) -> tuple[str, dict[str, Any]]:
    way, far = rng.choice(sorted(_WAYS)), rng.randint(3, 7)
    x, y = _WAYS[way]
    return game.say("walk", far=far, way=game.say(way)), {"do": "walk", "dx": x * far, "dy": y * far}


def _sit(game: Game, rng: Random) -> tuple[str, dict[str, Any]]:
    del rng
    return game.say("sit"), {"do": "sit"}


def _emote(game: Game, rng: Random) -> tuple[str, dict[str, Any]]:
    emotion = rng.choice(_EMOTIONS)
    return game.say("emote", emotion=game.say(emotion)), {"do": "emote", "emotion": emotion}


def _talk(game: Game, rng: Random) -> tuple[str, dict[str, Any]]:
    npc = rng.choice(list(game.npcs))
    return game.say("talk", npc=visible(npc)), {"do": "talk", "npc": npc}
