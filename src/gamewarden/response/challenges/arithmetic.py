"""A sum to work out: the question for whoever cannot see a picture. A program solves it as well as a person does."""

from random import Random

from gamewarden.response.challenges.question import Game, Question, plain


class Arithmetic:
    """Two additions or subtractions of small numbers, with a result that is not negative."""

    name = "arithmetic"
    draws = False

    def ask(self, game: Game, rng: Random) -> Question:
        """A sum."""
        first, second = rng.randint(11, 49), rng.randint(2, 9)
        third = rng.randint(2, 9)
        adds = rng.random() < 0.5  # noqa: PLR2004  heads or tails
        answer = first + second + third if adds else first + second - third
        written = f"{first} + {second} {'+' if adds else '−'} {third}"
        return Question(game.say("arithmetic", sum=written), (str(answer),))

    def read(self, text: str) -> str:
        """A number, also in digits of another width or script; zeros before it do not count."""
        found = plain(text)
        return found.lstrip("0") or "0" if found.isdecimal() else found
