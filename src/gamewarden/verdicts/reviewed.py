"""What can be promised where few people play: how many of the flags are wrong, from flags that people have reviewed."""

import math
from dataclasses import dataclass

import polars as pl

from gamewarden.core.binomial import upper_bound
from gamewarden.core.text import counted
from gamewarden.errors import ConfigError
from gamewarden.learning.label_sources import UNCERTAIN_VOTES, resolve, without_model_made
from gamewarden.verdicts.budget import Budget

FLAGS_SCHEMA: dict[str, type[pl.DataType]] = {
    "model": pl.String,
    "reviewed": pl.Int64,
    "people": pl.Int64,
    "confidence": pl.Float64,
    "wrong_at_most": pl.Float64,
    "flags_a_month": pl.Int64,
    "says": pl.String,
}
_EXAMPLES = (10, 50)  # flags a month
_HAIR = 1e-9  # by which a bound found by halving may be too high


@dataclass(frozen=True)
class Accepted:
    """So many wrong flags a month, with so much confidence (per cent).

    Raises:
        ConfigError: a number cannot be used.
    """

    wrong_per_month: float
    confidence: float = 95.0

    def __post_init__(self) -> None:
        if not self.wrong_per_month > 0 or not 0 < self.confidence < 100:  # noqa: PLR2004  per cent
            raise ConfigError(
                f"budget: {self.wrong_per_month:g} wrong flags a month with {self.confidence:g} per cent confidence "
                "cannot be used; give more than 0 of the one, and between 0 and 100 of the other"
            )

    @property
    def doubt(self) -> float:
        """The chance that the promise is wrong."""
        return 1 - self.confidence / 100


def flags_promised(accepted: Accepted, reviewed: int, people: int) -> dict[str, object]:
    """How many flags a month may be followed, after so many were reviewed of which so many were people.

    Of n flags alike k were wrong, so that the share of wrong ones is at most u (Clopper & Pearson), and of F flags at
    most F · u are wrong in the mean. Nothing is asked of how many people play.

    Raises:
        ConfigError: no flag was reviewed.
    """
    if not 0 <= people <= reviewed or not reviewed:
        raise ConfigError(
            f"budget: {people:,} people among {reviewed:,} reviewed flags cannot be used; review some flags"
        )
    share = upper_bound(people, reviewed, accepted.doubt)
    flags = math.floor(accepted.wrong_per_month / share * (1 + _HAIR))
    return {
        "model": "reviewed flags",
        "reviewed": reviewed,
        "people": people,
        "confidence": accepted.confidence,
        "wrong_at_most": share,
        "flags_a_month": flags,
        "says": _says(accepted, reviewed, people, share, flags),
    }


def offer(accepted: Accepted) -> str:
    """What reviewing flags would allow, before any was reviewed."""
    examples = [
        f"{clean_reviews(accepted, flags):,} reviews allow {flags} flags a month"
        for flags in _EXAMPLES
        if flags > accepted.wrong_per_month
    ]
    clean = f"; without a person among them {', '.join(examples)}" if examples else ""
    return (
        "Where few people play, count flags instead of players: let a person review each before anything follows, keep "
        f"the outcomes (actor,bot) and give them with --reviewed FILE{clean}."
    )


def clean_reviews(accepted: Accepted, flags: int) -> int:
    """How many reviewed flags, none of them a person, let so many flags a month be followed."""
    return math.ceil(math.log(accepted.doubt) / math.log1p(-accepted.wrong_per_month / flags))


def _says(accepted: Accepted, reviewed: int, people: int, share: float, flags: int) -> str:
    seen = (
        f"{people:,} of {counted(reviewed, 'reviewed flag')} were people, so that at most {share:.1%} of such flags "
        f"are wrong ({accepted.confidence:g} % confidence)"
    )
    if not flags:
        return (
            f"{seen}: not one flag a month can be followed and {accepted.wrong_per_month:g} wrong a month be promised."
        )
    return (
        f"{seen}: follow up to {counted(flags, 'flag')} a month, each after a person's review, and at most "
        f"{accepted.wrong_per_month:g} a month is a person in the mean, even if no review ever saves one."
    )


def outcomes_of(labels: pl.DataFrame) -> pl.DataFrame:
    """What people found of each actor: whoever one of them called human, or one rater of three bot, counts as human."""
    told = without_model_made(resolve(labels).frame).frame
    sure = pl.col("bot") & (pl.col("votes") != UNCERTAIN_VOTES).fill_null(value=True)
    return told.group_by("actor").agg(sure.all().alias("bot"))


def instead_of_players(budget: Budget, found: pl.DataFrame) -> tuple[str, ...]:
    """What a server can have where a budget over all players cannot be promised; nothing where it can."""
    if found["above_review"].any():
        return ()
    needed = budget.humans_needed()
    plain = (
        f"{needed:,} humans are more than the {budget.players:,} people who play: nobody can promise it of them all. "
    )
    return ((plain if needed > budget.players else "") + offer(Accepted(budget.wrong_per_month, budget.confidence)),)
