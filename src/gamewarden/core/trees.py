"""Trees that turn the three answers of the traffic test into one, as data.

A tree never lets a bot-like answer make the verdict more human. Of three answers there are 18 such trees that do not
ignore all three; MONOTONE holds them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

from gamewarden.errors import ConfigError

# From the root: the paper calls lengths sufficient alone, argues interarrival from it, and adds autocorrelation last.
TESTS = ("lengths", "interarrival", "autocorrelation")
_WEIGHT = {"autocorrelation": 1, "interarrival": 2, "lengths": 4}
_CELLS = 1 << len(TESTS)


def cell(*, lengths: bool, interarrival: bool, autocorrelation: bool) -> int:
    """The number of one combination of answers: which bit of a tree decides on it."""
    return 4 * lengths + 2 * interarrival + autocorrelation


@dataclass(frozen=True)
class Tree:
    """The verdict on each combination of the three answers: bit `cell(…)` is set where it is bot.

    Raises:
        ConfigError: the verdicts ignore all answers, or a bot-like answer would make one more human.
    """

    bits: int

    def __post_init__(self) -> None:
        if not 0 < self.bits < (1 << _CELLS) - 1 or not _is_monotone(self.bits):
            raise ConfigError(
                f"tree {self.bits:#010b} is not one of the {len(MONOTONE)} in which a bot-like answer never makes "
                f"the verdict more human; name one of {', '.join(NAMED)}"
            )

    def __str__(self) -> str:
        return next((name for name, tree in NAMED.items() if tree == self), self.rule)

    def verdict(self, at: int) -> bool:
        """What this tree says on the combination `cell(…)`."""
        return bool(self.bits >> at & 1)

    @property
    def rule(self) -> str:
        """The shortest "or of ands" that says the same."""
        bots = [at for at in range(_CELLS) if self.verdict(at)]
        least = [at for at in bots if not any(other != at and other & at == other for other in bots)]
        return " or ".join(_conjunction(at) for at in sorted(least, reverse=True))

    def to_dict(self) -> dict[str, Any]:
        """The tree as nested questions: {"ask": test, "bot": tree or verdict, "human": tree or verdict}."""
        asked = _nested(self.bits, 0, TESTS)
        if isinstance(asked, str):
            raise TypeError(f"tree {self.bits:#010b} asks nothing")
        return asked

    @classmethod
    def from_dict(cls, values: object) -> Self:
        """The tree back from its name or from nested questions.

        Raises:
            ConfigError: this is no such tree.
        """
        if isinstance(values, str):
            return cls.named(values)
        verdicts = [_walk(values, answers) for answers in _combinations()]
        return cls(sum(bot << at for at, bot in enumerate(verdicts)))

    @classmethod
    def named(cls, name: str) -> Self:
        """One of the trees people know by a name.

        Raises:
            ConfigError: there is no tree of this name.
        """
        if name not in NAMED:
            raise ConfigError(f"tree {name!r} is unknown; choose one of {', '.join(NAMED)}")
        return cls(NAMED[name].bits)

    def text(self) -> str:
        """The tree drawn with lines, for people."""
        return "\n".join(_drawn(self.to_dict()))


def _is_monotone(bits: int) -> bool:
    return all(bits >> (at | weight) & 1 or not bits >> at & 1 for at in range(_CELLS) for weight in _WEIGHT.values())


def _conjunction(at: int) -> str:
    return " and ".join(test for test in TESTS if at & _WEIGHT[test])


def _combinations() -> list[Mapping[str, bool]]:
    """All answers, in the order of their cells."""
    return [dict(zip(TESTS, answers, strict=True)) for answers in product((False, True), repeat=len(TESTS))]


def _nested(bits: int, known: int, tests: Sequence[str]) -> dict[str, Any] | str:
    open_ones = sum(_WEIGHT[test] for test in tests)
    if (bits >> known & 1) == (bits >> (known | open_ones) & 1):
        return "bot" if bits >> known & 1 else "human"
    test, rest = tests[0], tests[1:]
    bot, human = _nested(bits, known | _WEIGHT[test], rest), _nested(bits, known, rest)
    return bot if bot == human else {"ask": test, "bot": bot, "human": human}


def _walk(tree: object, answers: Mapping[str, bool], depth: int = 0) -> bool:
    match tree:
        case "bot":
            return True
        case "human":
            return False
        case {"ask": str(test), "bot": bot, "human": human} if test in answers and depth < len(TESTS):
            return _walk(bot if answers[test] else human, answers, depth + 1)
    raise ConfigError(
        f'tree {tree!r} is not a verdict ("bot", "human") nor a question with "ask" ({", ".join(TESTS)}), "bot" and '
        f'"human", at most {len(TESTS)} deep'
    )


def _drawn(tree: dict[str, Any]) -> list[str]:
    lines = [f"{tree['ask']}?"]
    for answer, corner, bar in (("bot", "├─", "│ "), ("human", "└─", "  ")):
        below = tree[answer]
        first, *rest = [below.upper()] if isinstance(below, str) else _drawn(below)
        lines += [f"{corner} {answer}: {first}", *(f"{bar} {line}" for line in rest)]
    return lines


def _named(rule: Sequence[int]) -> int:
    """The bits of the tree that says bot on these cells and on all with more bot-like answers."""
    return sum(1 << at for at in range(_CELLS) if any(at & least == least for least in rule))


MONOTONE = tuple(bits for bits in range(1, (1 << _CELLS) - 1) if _is_monotone(bits))
# 2 of 3 is the default: three independent tests of 76.5 % give 86.0 % by majority, the paper's figure. (Figure 6, which
# draws the tree, is lost.)
NAMED: Mapping[str, Tree] = {
    "majority": Tree(_named([0b110, 0b101, 0b011])),
    "strong_or_pair": Tree(_named([0b100, 0b011])),
    "duality": Tree(_named([0b100, 0b010])),
    "any": Tree(_named([0b100, 0b010, 0b001])),
    "strong_and_any": Tree(_named([0b110, 0b101])),
    "all": Tree(_named([0b111])),
}
