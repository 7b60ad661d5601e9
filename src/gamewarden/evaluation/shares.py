"""How common are bots? From accounts that were drawn at random and reviewed, or from how many unlabelled ones look so.

The first is a plain count with an exact interval. The second corrects how many unlabelled accounts pass a threshold for
the people who pass it too and the bots who do not (Rogan & Gladen 1978), with the interval of Lang & Reiczigel (2014),
which knows that both rates were counted on few labelled accounts. It holds as far as unlabelled bots are like the
labelled ones and unlabelled people like the reviewed ones; bots that nobody catches make it too low.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt

import polars as pl

from gamewarden.core.binomial import lower_bound, upper_bound
from gamewarden.evaluation.breakdowns import thresholds
from gamewarden.evaluation.cross_validation import by_actor
from gamewarden.evaluation.metrics import auc
from gamewarden.learning.label_sources import resolve
from gamewarden.learning.labels import UNCERTAIN_VOTES

# Sources of labels that say: this account was not reviewed because somebody suspected it.
AT_RANDOM = frozenset({"random-review", "random review", "random", "random-sample", "random sample"})
_TAIL = 0.025
_NEARLY_ALL = 0.99  # what is told with two digits and is below 1
_NORMAL = 1.959964  # standard deviations of a 95 % interval
_PEOPLE_PASSING = 0.05  # few enough that people do not drown rare bots, many enough to be counted among some dozens


@dataclass(frozen=True)
class Share:
    """A share of bots, its 95 % interval, and among how many accounts."""

    bots: float
    low: float
    high: float
    accounts: int

    @property
    def text(self) -> str:
        """For a person."""
        return f"{100 * self.bots:.2g} % (95 %: {100 * self.low:.2g} to {100 * self.high:.2g} %)"

    @property
    def supposed(self) -> float:
        """A share that probabilities can suppose: of none or of all among few, the end of the interval that is one."""
        return min(self.low if self.bots == 1 else self.bots or self.high, _NEARLY_ALL)


@dataclass(frozen=True)
class Rate:
    """So large a share of so many, which need not be whole: accounts of one farm count as one."""

    share: float
    among: float

    @property
    def softened(self) -> float:
        """As if one more had been counted on each side."""
        return (self.share * self.among + 1) / (self.among + 2)

    @property
    def variance(self) -> float:
        """Of the softened share."""
        return self.softened * (1 - self.softened) / (self.among + 2)


def share_at_random(labels: pl.DataFrame) -> Share | None:
    """From LABELS whose source says that the accounts were drawn at random (Clopper & Pearson); None without any.

    Whom one rater of three called a bot may be either: the lower end counts it as a person, the upper as a bot.
    """
    source = pl.col("source").str.strip_chars().str.to_lowercase()
    drawn = resolve(labels).frame.filter(source.is_in(sorted(AT_RANDOM)).fill_null(value=False))
    if not drawn.height:
        return None
    unsure = pl.col("bot") & (pl.col("votes") == UNCERTAIN_VOTES).fill_null(value=False)
    actors = drawn.group_by("actor").agg(
        sure=(pl.col("bot") & ~unsure).any(), unsure=unsure.any() & ~(pl.col("bot") & ~unsure).any()
    )
    bots, either, count = int(actors["sure"].sum()), int(actors["unsure"].sum()), actors.height
    return Share(bots / count, lower_bound(bots, count, _TAIL), upper_bound(bots + either, count, _TAIL), count)


def share_by_likeness(bots: Rate, people: Rate, strangers: Rate) -> Share | None:
    """From the shares of known bots, of known people and of strangers that pass one threshold.

    None where bots pass it hardly more often than people: then strangers say nothing.
    """
    apart = bots.softened - people.softened
    if apart <= _NORMAL * sqrt(bots.variance + people.variance):
        return None
    square = _NORMAL**2
    seen = (strangers.share * strangers.among + square / 2) / (strangers.among + square)
    share = min(1.0, max(0.0, (seen - people.softened) / apart))
    shift = 2 * square * (share * bots.variance - (1 - share) * people.variance)
    own = seen * (1 - seen) / (strangers.among + square)
    half = _NORMAL / apart * sqrt(own + share**2 * bots.variance + (1 - share) ** 2 * people.variance)
    plain = min(1.0, max(0.0, (strangers.share - people.share) / (bots.share - people.share)))
    low, high = max(0.0, share + shift - half), min(1.0, share + shift + half)
    return Share(min(max(plain, low), high), low, high, round(strangers.among))


def share_among_strangers(scores: pl.DataFrame, strangers: pl.DataFrame | None) -> Share | None:
    """The share of bots among unlabelled accounts, by the detector that ranks the held-out ones best."""
    if strangers is None:
        return None
    known, unknown = by_actor(scores), by_actor(strangers)
    ranked = {
        name: auc(rows["evidence"].to_numpy(), rows["bot"].to_numpy()) or 0.0
        for name in unknown["detector"].unique().sort()
        if (rows := known.filter(detector=name)).height and rows["bot"].n_unique() > 1
    }
    if not ranked:
        return None
    best = max(ranked, key=lambda name: ranked[name])
    bound = thresholds(known, _PEOPLE_PASSING)[best]
    passing = known.filter(detector=best).with_columns(passes=pl.col("evidence") >= bound)
    met = unknown.filter(detector=best)["evidence"] >= bound
    bots, people = (_rate(passing.filter(pl.col("bot") == bot)) for bot in (True, False))
    return share_by_likeness(bots, people, Rate(float(met.sum()) / met.len(), met.len()))


def _rate(actors: pl.DataFrame) -> Rate:
    return Rate(float(actors["passes"].sum()) / actors.height, actors["group"].n_unique())


def share_notes(labels: pl.DataFrame, scores: pl.DataFrame, strangers: pl.DataFrame | None) -> Iterator[str]:
    """What is known of how common bots are, in sentences with what each rests on."""
    drawn, alike = share_at_random(labels), share_among_strangers(scores, strangers)
    if drawn is not None:
        yield (
            f"Of {drawn.accounts:,} accounts reviewed at random {drawn.text} are bots: write [population] bots = "
            f"{drawn.supposed:.2g}. It holds for those they were drawn from, as far as reviewers see bots."
        )
    if alike is not None:
        yield (
            f"Of {alike.accounts:,} accounts without a label about {alike.text} look like bots, if bots and people "
            "among them are like the labelled ones: a guess for [population] bots, too low where some are never caught."
        )
    if drawn is None:
        yield (
            "To know how common bots are, review accounts drawn at random, bot or not, and label them with the source "
            "random-review; 300 tell 5 % from 1 and 10 %."
        )
