"""The players of the study of defences: who teaches the detectors, who is judged, and what each day brought them.

Those who teach live in another world than those who are judged: no account and no farm is on both sides.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property

import numpy as np
import polars as pl
import pyarrow as pa

from gamewarden.contracts import Detector, Model
from gamewarden.core.clock import Clock
from gamewarden.core.durations import DAY
from gamewarden.detectors.actions.recipe import Interval
from gamewarden.detectors.fusion.model import FusionModel
from gamewarden.detectors.fusion.recipe import Fusion
from gamewarden.detectors.fusion.scores import Scores
from gamewarden.detectors.logistic.recipe import AccountDay
from gamewarden.features.actions.recipe import Actions
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.lab.studies.thawonmas_cast import RESOURCES
from gamewarden.lab.world import World
from gamewarden.lab.world.answers import Answers
from gamewarden.lab.world.tabling import actor_id
from gamewarden.learning.strangers import scores_of_strangers
from gamewarden.streams import PlainEvents
from gamewarden.tables import EVENTS
from gamewarden.verdicts.chunks import prior_of
from gamewarden.verdicts.periods import KEY, infos_of, marks_of, played, roll_up, side_by_side
from gamewarden.verdicts.points import OperatingPoints
from gamewarden.verdicts.prevalence import SUPPOSED, at_share
from gamewarden.verdicts.rules import VerdictRules
from gamewarden.verdicts.wholes import of_whole_periods

GAME = "lineage"
BOTS = 0.25  # of those who are judged
TEACHERS, TAUGHT_BOTS = 1200, 0.3
ARRIVE_WITHIN = 14  # days over which bots set up; people are there from the first
ACT = 0.01  # the FPR from which more than watching may follow; the default of 0.001 takes 1,000 people of one style
_TEACHING_SEED = 1000  # added to the seed of a world: another world teaches
_LEARNED_FROM = 1200  # chunks of actions
_FOLDS = 3
_DISCOUNT = 0.3
_ARRIVALS = 41  # a stream of the dice
GOLD = ("currency.gain", "npc.sell")  # what the game itself pays


@dataclass(frozen=True)
class Player:
    """One judged account: who it truly is, and what it would do if nobody stopped it."""

    actor: str
    family: str
    bot: bool
    helper: str  # who answers challenges for it
    arrives: int  # the day it begins
    sessions: tuple[tuple[datetime, datetime], ...]
    gold: Mapping[int, float]  # by day
    played: Mapping[int, float]  # hours, by day

    def play(self, since: datetime, until: datetime) -> Iterator[tuple[datetime, datetime]]:
        """When it plays between two moments."""
        for begin, end in self.sessions:
            if begin < until and end > since:
                yield max(begin, since), min(end, until)


@dataclass(frozen=True)
class Population:
    """A world with its verdicts: what every policy is replayed on."""

    seed: int
    start: datetime
    days: int
    players: tuple[Player, ...]
    verdicts: pl.DataFrame  # VERDICTS with point, day and the hours played
    answers: Answers
    taught: frozenset[str]
    least_fpr: float  # the lowest that a verdict of these models can have

    def day(self, number: int) -> datetime:
        """When a day begins."""
        return self.start + timedelta(days=number)

    @cached_property
    def by_day(self) -> Mapping[int, pl.DataFrame]:
        """The verdicts of each day that were told at its end."""
        parts = self.verdicts.partition_by("day", as_dict=True, include_key=False)
        return {int(day): part for (day,), part in parts.items()}

    def at(self, act: float, agree: int) -> "Population":
        """The same with another point to act."""
        chosen = OperatingPoints(act=act, agree=agree)
        return replace(self, verdicts=self.verdicts.with_columns(chosen.reached(self.verdicts)))

    def gone_mad(self, day: int, act: float = ACT) -> "Population":
        """The same with models that from a day on take everybody for a bot, as surely as they can."""
        mad = pl.col("day") >= day
        told = {"probability": 0.999, "fpr": self.least_fpr, "agree": 2}
        changed = self.verdicts.with_columns(
            pl.when(mad).then(pl.lit(value)).otherwise(pl.col(name)).alias(name) for name, value in told.items()
        )
        return replace(self, verdicts=changed).at(act, 2)


@dataclass(frozen=True)
class _Lives(PlainEvents):
    """Some accounts of a world."""

    world: World
    actors: tuple[str, ...]

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(EVENTS.columns)

    def batches(self, columns: Sequence[str] = tuple(EVENTS.columns)) -> Iterator[pa.RecordBatch]:
        """The events of these accounts."""
        return self.world.lives(self.actors, columns)


@dataclass(frozen=True)
class _Taught:
    """Two detectors of two families of features, and what fuses them."""

    features: tuple[SelfSimilarity, Actions]
    models: tuple[Model, ...]
    fusion: FusionModel


def population(accounts: int, days: int, seed: int, teachers: int = TEACHERS) -> Population:
    """Play and judge a world by models that another world taught."""
    world = World(GAME, accounts, days, seed, bots=BOTS)
    school = World(GAME, accounts + teachers, 1, seed + _TEACHING_SEED, bots=TAUGHT_BOTS)
    # Accounts from the last of the judged on: no name stands on both sides.
    pupils = tuple(actor_id(account) for account in range(accounts, accounts + teachers))
    taught = _teach(_Lives(school, pupils), school.labels().filter(pl.col("actor").is_in(pupils)))
    answers = Answers(world.truth(), seed)
    players = tuple(_players(world, answers))
    verdicts = _since_arrival(_judged(world, taught), players, world.start)
    least = taught.fusion.card.parameters["smallest_fpr"]
    return Population(seed, world.start, days, players, verdicts, answers, frozenset(pupils), least)


def points() -> OperatingPoints:
    """The operating points of the study."""
    return OperatingPoints(act=ACT)


def _teach(lives: _Lives, labels: pl.DataFrame) -> _Taught:
    days, actions = SelfSimilarity().learn(lives), Actions(kinds=RESOURCES, max_freq=True).learn(lives)
    recipes: tuple[Detector, ...] = AccountDay(feature=days), Interval(feature=actions, most=_LEARNED_FROM)
    tables = days.measure(lives), actions.measure(lives)
    models = tuple(recipe.fit(table, labels) for recipe, table in zip(recipes, tables, strict=True))
    strangers = [
        scores_of_strangers(recipe, table, labels, folds=_FOLDS, seed=0, door="defence").with_columns(
            model=pl.lit(model.card.id)
        )
        for recipe, table, model in zip(recipes, tables, models, strict=True)
    ]
    cut, infos = Clock(DAY), infos_of(models)
    fusion = Fusion(Scores(infos, cut.every, cut.time_zone, _DISCOUNT))
    wide = side_by_side(roll_up(pl.concat(strangers), infos, cut, _DISCOUNT), played(tables, fusion.styles, cut))
    return _Taught((days, actions), models, fusion.fit(wide, labels))


def _judged(world: World, taught: _Taught) -> pl.DataFrame:
    """VERDICTS of every account and day, put together as `judge` does."""
    rules = VerdictRules(Clock(DAY), points(), _DISCOUNT, _DISCOUNT, SUPPOSED.bots)
    tables = [feature.measure(world) for feature in taught.features]
    scores = pl.concat([model.score(table) for model, table in zip(taught.models, tables, strict=True)])
    marks = marks_of(scores, rules.cut)
    rolled = roll_up(scores, infos_of(taught.models), rules.cut, rules.repeated)
    parts = of_whole_periods(rolled, marks, taught.models, rules)
    known = played(tables, taught.fusion.styles.rule, rules.cut)
    wide = side_by_side(parts, known)
    fused = taught.fusion.score(wide).select(*KEY, "probability", "fpr").drop_nulls("fpr")
    verdicts = rules.points.verdicts(at_share(fused, prior_of(taught.fusion.card), rules.bots), parts, marks)
    return verdicts.with_columns(rules.points.reached(verdicts))


def _since_arrival(verdicts: pl.DataFrame, players: Sequence[Player], start: datetime) -> pl.DataFrame:
    """VERDICTS of the days since each account began, with the hours that it played on them."""
    rows = [(one.actor, day, hours) for one in players for day, hours in one.played.items()]
    played = pl.DataFrame(rows, schema={"actor": pl.String, "day": pl.Int64, "played": pl.Float64}, orient="row")
    numbered = verdicts.with_columns((pl.col("since") - start).dt.total_days().alias("day"))
    return numbered.join(played, on=("actor", "day"), maintain_order="left")


def _players(world: World, answers: Answers) -> Iterator[Player]:
    labels = {row["actor"]: row for row in world.labels().iter_rows(named=True)}
    dice = np.random.default_rng([world.seed, _ARRIVALS])
    within = min(ARRIVE_WITHIN, max(1, world.days // 2))
    arrivals = dict(zip(labels, dice.integers(within, size=len(labels)).tolist(), strict=True))
    for actor, part in _lives_of(world):
        label = labels[actor]
        arrives = arrivals[actor] if label["bot"] else 0
        first = world.start + timedelta(days=arrives)
        sessions = tuple(span for span in _sessions(part) if span[0] >= first)
        gold = {day: gold for day, gold in _gold(part, world.start) if day >= arrives}
        helper, played = answers.helper(actor), _hours(sessions, world.start)
        yield Player(actor, label["family"], label["bot"], helper, arrives, sessions, gold, played)


def _hours(sessions: Sequence[tuple[datetime, datetime]], start: datetime) -> dict[int, float]:
    """How long is played on each day."""
    found: dict[int, float] = {}
    for begin, end in sessions:
        for day in range((begin - start).days, (end - start).days + 1):
            since = start + timedelta(days=day)
            stretch = min(end, since + timedelta(days=1)) - max(begin, since)
            found[day] = found.get(day, 0.0) + stretch / timedelta(hours=1)
    return found


def _lives_of(world: World) -> Iterator[tuple[str, pl.DataFrame]]:
    for account in range(world.accounts):
        actor = actor_id(account)
        batches = list(world.lives([actor], ("at", "session", "kind", "amount")))
        if batches and sum(batch.num_rows for batch in batches):
            yield actor, pl.DataFrame(pl.concat([pl.DataFrame(pl.from_arrow(batch)) for batch in batches]))


def _sessions(life: pl.DataFrame) -> Iterator[tuple[datetime, datetime]]:
    spans = life.group_by("session", maintain_order=True).agg(since=pl.col("at").min(), until=pl.col("at").max())
    return spans.select("since", "until").iter_rows()


def _gold(life: pl.DataFrame, start: datetime) -> Iterator[tuple[int, float]]:
    paid = life.filter(pl.col("kind").cast(pl.String).is_in(GOLD))
    day = (pl.col("at") - start).dt.total_days().alias("day")
    return paid.group_by(day).agg(pl.col("amount").sum()).sort("day").iter_rows()
