"""How common bots are: a model supposes their share among its labels, an operator's list their share among players."""

from dataclasses import dataclass
from typing import Self, TypeVar

import polars as pl

from gamewarden.config import Config, Population
from gamewarden.contracts import Model
from gamewarden.errors import ConfigError
from gamewarden.verdicts.chunks import prior_of

SETTING, OPTION = "[population] bots", "--prevalence"
_Number = TypeVar("_Number", float, pl.Expr)


@dataclass(frozen=True)
class Prevalence:
    """The share of bots that every probability of a run supposes, and who said so.

    Raises:
        ConfigError: it is not a share.
    """

    bots: float
    told_by: str | None = None  # nobody: it is the default

    def __post_init__(self) -> None:
        if not 0 < self.bots < 1:
            raise ConfigError(f"prevalence: {self.bots!r} is not a share; write for example 0.05 for 5 %")

    @classmethod
    def of(cls, config: Config, given: float | None = None) -> Self:
        """What the command line says, or warden.toml, or the default."""
        if given is not None:
            return cls(given, OPTION)
        return cls(config.population.bots, SETTING if SETTING in config.given else None)

    @property
    def text(self) -> str:
        """The share for a person, as 5 %."""
        return f"{100 * self.bots:.3g} %"

    @property
    def sentence(self) -> str:
        """Which share was used, and how to say another."""
        supposed = f"Probabilities suppose that {self.text} of all accounts are bots"
        if self.told_by is not None:
            return f"{supposed} ({self.told_by})."
        return (
            f"{supposed}, which nobody has said of this game: set {SETTING} in warden.toml or give {OPTION}; "
            "`gamewarden evaluate` estimates it."
        )


SUPPOSED = Prevalence(Population.bots)  # where nobody has said how common bots are


def moved(probability: _Number, prior: float, bots: float) -> _Number:
    """A probability that supposed the share `prior`, where bots have the share `bots`: its odds grow by as much.

    The order of a list stays; an FPR, which compares with people alone, does not change at all.
    """
    factor = bots / (1 - bots) * (1 - prior) / prior
    return probability * factor / (probability * factor + (1 - probability))


def scored(model: Model, features: pl.DataFrame, prevalence: Prevalence) -> pl.DataFrame:
    """SCORES of a model, its probabilities moved from the share of bots among its labels to the supposed one."""
    return at_share(model.score(features), prior_of(model.card), prevalence.bots)


def at_share(scores: pl.DataFrame, prior: float, bots: float) -> pl.DataFrame:
    """Scores or verdicts whose probability supposed the share `prior`, where it is `bots`."""
    return scores.with_columns(moved(pl.col("probability"), prior, bots))
