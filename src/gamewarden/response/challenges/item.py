"""Which of these things are of a kind? Those who play know their game's items; numbers answer it in any language."""

import unicodedata
from collections.abc import Mapping, Sequence
from random import Random

from gamewarden.core.outside import visible
from gamewarden.errors import ResponseError
from gamewarden.response.challenges.phrases import ITEMS
from gamewarden.response.challenges.question import Game, Question

_SHOWN = 9  # items; two to four of them are of the kind, so that a guess is right once in 246 times
_FEWEST, _MOST = 2, 4


class Items:
    """Nine items, of which two to four are what is asked for; all of them have to be named."""

    name = "item"
    draws = False

    def ask(self, game: Game, rng: Random) -> Question:
        """A list to choose from.

        Raises:
            ResponseError: the game's items are too few.
        """
        items = _enough(game.items or ITEMS[game.language])
        kind = rng.choice(sorted(items))
        right = rng.sample(sorted(items[kind]), rng.randint(_FEWEST, _MOST))
        others = sorted({one for name, several in items.items() if name != kind for one in several} - set(items[kind]))
        shown = right + rng.sample(others, _SHOWN - len(right))
        rng.shuffle(shown)
        listed = ", ".join(f"{number}: {visible(one)}" for number, one in enumerate(shown, 1))
        numbers = [number for number, one in enumerate(shown, 1) if one in right]
        return Question(game.say("item", kind=visible(kind), listed=listed), (self.read(str(numbers)),))

    def read(self, text: str) -> str:
        """The numbers in an answer, in whatever order and with whatever between them."""
        digits = (unicodedata.decimal(letter, None) for letter in text[: 1 << 8])
        return "".join(map(str, sorted({one for one in digits if one})))


def _enough(items: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """The items, where every kind of them can be asked for.

    Raises:
        ResponseError: there are too few.
    """
    every = {one for several in items.values() for one in several}
    for kind, several in items.items():
        if len(set(several)) < _MOST or len(every - set(several)) < _SHOWN - _FEWEST:
            raise ResponseError(
                f"challenge item: {kind!r} has {len(set(several))} items of {len(every)}; a kind needs {_MOST} of its "
                f"own and {_SHOWN - _FEWEST} of other kinds; name more of them"
            )
    return items
