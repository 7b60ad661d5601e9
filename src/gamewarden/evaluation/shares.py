"""How common are bots? From accounts that were drawn at random and reviewed, or from how many unlabelled ones look so.

The first is a plain count with an exact interval. The second corrects how many unlabelled accounts pass a threshold for
the people who pass it too and the bots who do not (Rogan & Gladen 1978), with the interval of Lang & Reiczigel (2014),
which knows that both rates were counted on few labelled accounts. It holds as far as unlabelled bots are like the
labelled ones and unlabelled people like the reviewed ones; bots that nobody catches make it too low.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_DOWN, Context
from math import ceil, log, log1p, sqrt

import polars as pl

from gamewarden.core.binomial import lower_bound, upper_bound
from gamewarden.evaluation.breakdowns import thresholds
from gamewarden.evaluation.cross_validation import by_actor
from gamewarden.evaluation.metrics import auc
from gamewarden.learning.label_sources import UNCERTAIN_VOTES, resolve

# Sources of labels that say: this account was not reviewed because somebody suspected it.
AT_RANDOM = frozenset({"random-review", "random review", "random", "random-sample", "random sample"})
_TAIL = 0.025
_LEAST = 10  # accounts reviewed at random: fewer say nothing of all accounts
_RARE = 0.05  # a search for the first bot starts with the share that is supposed by default
_SURE = 0.95  # chance that a search finds one
_ALL = 0.995  # from here on two digits of a percentage are 100
_TWO_DIGITS = Context(prec=2, rounding=ROUND_DOWN)
_NORMAL = 1.959964  # standard deviations of a 95 % interval
_PEOPLE_PASSING = 0.05  # few enough that people do not drown rare bots, many enough to be counted among some dozens


@dataclass(frozen=True)
class Share:
    """A share of bots, its 95 % interval, and among how many accounts."""

    bots: float
    low: float
    high: float
    accounts: int
    unsettled: int = 0  # accounts on which reviewers do not agree yet

    @property
    def text(self) -> str:
        """For a person."""
        shares = (self.bots, self.low, self.high)
        bots, low, high = ("100" if share >= _ALL else f"{100 * share:.2g}" for share in shares)
        return f"{bots} % (95 %: {low} to {high} %)"

    @property
    def usable(self) -> float | None:
        """The point estimate in two digits, never rounded up; None where it is 0 or 1 or counted on too few."""
        if self.accounts < _LEAST or not 0 < self.bots < 1:
            return None
        return float(_TWO_DIGITS.create_decimal(repr(self.bots)))

    @property
    def missing(self) -> str:
        """Why there is no usable estimate yet, and how many more accounts to review."""
        unsettled = f"; {self.unsettled} of them wait until two reviewers agree" if self.unsettled else ""
        if self.accounts < _LEAST:
            return f"too few to say how common bots are{unsettled}: review {_LEAST - self.accounts:,} more at random"
        rare = "people" if self.bots == 1 else "bots"
        searches = ((_until_one(share), share) for share in (_RARE, *(10.0**-digits for digits in range(2, 9))))
        needed, share = next(one for one in searches if one[0] > self.accounts)
        return (
            f"this cannot tell yet how common bots are{unsettled}: review {needed - self.accounts:,} more at random; "
            f"{needed:,} find at least one of the {rare} in {100 * _SURE:.0f} of 100 cases if {100 * share:.2g} % of "
            f"all accounts are {rare}"
        )


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

    An account on which reviewers do not agree yet may be either: the lower end of the interval counts it as a person,
    the upper end as a bot.
    """
    source = pl.col("source").str.strip_chars().str.to_lowercase()
    drawn = resolve(labels).frame.filter(source.is_in(sorted(AT_RANDOM)).fill_null(value=False))
    if not drawn.height:
        return None
    unsure = (pl.col("votes") == UNCERTAIN_VOTES).fill_null(value=False)
    actors = drawn.group_by("actor").agg(
        sure=(pl.col("bot") & ~unsure).any(), unsure=unsure.any() & ~(pl.col("bot") & ~unsure).any()
    )
    bots, either, count = int(actors["sure"].sum()), int(actors["unsure"].sum()), actors.height
    low, high = lower_bound(bots, count, _TAIL), upper_bound(bots + either, count, _TAIL)
    return Share(bots / count, low, high, count, either)


def _until_one(share: float) -> int:
    """How many accounts drawn at random find at least one of so rare a kind, nearly always."""
    return ceil(log(1 - _SURE) / log1p(-share))


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
        advice = drawn.missing if drawn.usable is None else f"write [population] bots = {drawn.usable:g}"
        yield (
            f"Of {drawn.accounts:,} accounts reviewed at random {drawn.text} are bots: {advice}. It holds for those "
            "they were drawn from, as far as reviewers see bots."
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
