"""One input: the files it is made of, and the command that is to read them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fuzz.kit import Kit
from fuzz.mutate import Dice, chance

KIT = "{kit}"  # stands in a command for the place of the right files


@dataclass(frozen=True)
class Case:
    """Files by their path, and the words of the command after `gamewarden`."""

    words: Sequence[str]
    files: Mapping[str, bytes] = field(default_factory=dict)


Make = Callable[[Dice, Kit], Case]


class Format(NamedTuple):
    """One format: how a case is made of it, and how often beside the others."""

    make: Make
    weight: int


def command(dice: Dice, *choices: tuple[int, str]) -> list[str]:
    """One of the commands, each as often as its number says; a word that needs a blank in it is put in later."""
    weights, texts = zip(*choices, strict=True)
    return dice.choices(texts, weights)[0].split()


def perhaps(dice: Dice, share: float, *words: str) -> list[str]:
    """The words, or none."""
    return list(words) if chance(dice, share) else []


def shown(dice: Dice) -> list[str]:
    """How a table is asked for."""
    return dice.choice(([], [], ["--json"], ["--out", "out.csv"], ["--out", "out.parquet"]))
