"""A picture of letters to read: made here, for one player and one moment, never to be shown again."""

from random import Random

from gamewarden.response.challenges.drawing import draw
from gamewarden.response.challenges.question import Game, Question, plain

# None is taken for another: without I, L, 1 and 7; O, Q, D and 0; S and 5; Z and 2; B and 8; G, U, V, M, W, X and 4.
LETTERS = "ACEFHJKNPRTY39"
_COUNT = 5  # half a million answers


class Letters:
    """Five letters and digits without lookalikes, turned, bent and struck through."""

    name = "image"
    draws = True

    def ask(self, game: Game, rng: Random) -> Question:
        """A picture.

        Raises:
            InstallError: Pillow is not installed.
        """
        text = "".join(rng.choices(LETTERS, k=_COUNT))
        return Question(game.say("image", count=_COUNT), (text,), draw(text, rng))

    def read(self, text: str) -> str:
        """Capitals, spaces and width do not count."""
        return plain(text)
