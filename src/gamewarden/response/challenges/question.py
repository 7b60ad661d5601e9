"""What every kind of challenge promises: a question with its answers, and how an answer is read."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType
from typing import Any, Protocol

from gamewarden.errors import ResponseError
from gamewarden.response.challenges.phrases import LANGUAGES

_LONGEST = 256  # letters of an answer; whoever sends more answers nothing


@dataclass(frozen=True)
class Picture:
    """A picture as its pixels: three bytes each, row by row from the top."""

    width: int
    height: int
    pixels: bytes


@dataclass(frozen=True)
class Question:
    """What is asked, and what answers it."""

    text: str  # what the player reads
    answers: tuple[str, ...]  # each of them will do
    picture: Picture | None = None
    task: Mapping[str, Any] | None = None  # what the game watches for, and what it then reports


@dataclass(frozen=True)
class Game:
    """What questions may speak of: in the language of the players, with the words of the game."""

    language: str = "en"
    items: Mapping[str, Sequence[str]] = field(default_factory=lambda: MappingProxyType({}))  # by what they are
    npcs: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Look at the language.

        Raises:
            ResponseError: nothing was translated into it.
        """
        if self.language not in LANGUAGES:
            raise ResponseError(
                f"challenge: language {self.language!r} is unknown; choose one of: {', '.join(LANGUAGES)}"
            )

    def say(self, phrase: str, **values: object) -> str:
        """A phrase in the language of the players."""
        return LANGUAGES[self.language][phrase].format(**values)


class Kind(Protocol):
    """A kind of challenge."""

    name: str
    draws: bool  # whether a picture belongs to its questions

    def ask(self, game: Game, rng: Random) -> Question:
        """A question that was not asked before.

        Raises:
            ResponseError: what it would speak of is missing.
            InstallError: a library that it needs is not installed.
        """

    def read(self, text: str) -> str:
        """An answer as it is compared: equal for all ways to write the same."""


def plain(text: str) -> str:
    """An answer without what does not count: case, spaces, width, and the script of its digits."""
    if len(text) > _LONGEST:
        return ""
    letters = unicodedata.normalize("NFKC", text).casefold()
    return "".join(map(_digit, filter(_is_seen, letters)))


def _is_seen(letter: str) -> bool:
    """Spaces, controls and marks of direction are not."""
    return unicodedata.category(letter)[0] not in "ZC"


def _digit(letter: str) -> str:
    value = unicodedata.decimal(letter, None)
    return letter if value is None else str(value)
