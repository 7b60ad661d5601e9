"""The models of a live run: what they look at, over which periods, and what they say while one is under way and after.

What is said of all events together, whether a source could show a kind and was there all day, is said of everybody's
events in the period, as of a log of that period alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import polars as pl

from gamewarden.contracts import Feature, Model
from gamewarden.core.clock import Clock
from gamewarden.core.durations import DAY
from gamewarden.features.census import Census
from gamewarden.tables import SCORES, TIME, Table
from gamewarden.verdicts.meeting import Far, Limits
from gamewarden.verdicts.prevalence import SUPPOSED, Prevalence
from gamewarden.verdicts.saying import Said, say, say_of_part
from gamewarden.verdicts.sighting import alike, sighted

Frames = Mapping[str, pl.DataFrame]  # FEATURES by what names their recipe


def judged_live(feature: Feature) -> bool:
    """Whether what a feature measures of an actor can be told from the actor's own events of a period."""
    return feature.input == "events" and feature.divides.actors and not feature.divides.before


def cut_of(feature: Feature) -> Clock:
    """The periods over which a feature is measured live: days of its clock, or its own where those are longer."""
    own = feature.divides.clock
    if own is None:
        return feature.learned.clock if feature.learned is not None else Clock(DAY, feature.time_zone or "UTC")
    day = Clock(DAY, own.time_zone)
    return day if feature.divides.by(day) else own


@dataclass(frozen=True)
class Judge:
    """A model, and the feature it looks at."""

    model: Model
    feature: Feature

    @property
    def key(self) -> str:
        """What names the feature's recipe: several models may look at one."""
        return repr(self.model.feature)


@dataclass(frozen=True)
class Judges:
    """All models of a live run."""

    judges: tuple[Judge, ...]
    limits: Limits = field(default=Limits())
    prevalence: Prevalence = SUPPOSED
    promised: frozenset[str] = frozenset()  # kinds that the source can show, seen or not

    @cached_property
    def cuts(self) -> tuple[Clock, ...]:
        """The different periods, in a fixed order."""
        return tuple(dict.fromkeys(cut_of(judge.feature) for judge in self.judges))

    def features(self, cut: Clock) -> dict[str, Feature]:
        """What is measured over the periods of a clock, each recipe once."""
        return {judge.key: judge.feature for judge in self.judges if cut_of(judge.feature) == cut}

    def clocks(self, cut: Clock) -> tuple[Clock, ...]:
        """By which clocks the kinds of a period have to be counted."""
        learned = [feature.learned for feature in self.features(cut).values()]
        return tuple(dict.fromkeys((cut, *(one.clock for one in learned if one is not None))))

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds that any of the models has learned."""
        learned = [judge.feature.learned for judge in self.judges]
        return frozenset(kind for one in learned if one is not None for kind in one.kinds or ())

    def shows(self, counted: Mapping[str, int]) -> dict[str, int]:
        """What a source can show that had so many events of each kind."""
        return dict.fromkeys(self.promised, 0) | dict(counted)

    def now(self, cut: Clock, frames: Frames, census: Census, shows: Mapping[str, int]) -> pl.DataFrame:
        """SCORES of rows of a period under way; how much of it the source covers is not known yet."""
        told = [(judge, Table(frames[judge.key], shows=shows)) for judge in self._of(cut)]
        alikes = [(judge, self._alike(judge.feature, table, census)) for judge, table in told if table.frame.height]
        return self._scores([say(judge.model, judge.feature, table, self.limits) for judge, table in alikes])

    def of_part(self, cut: Clock, frames: Frames, census: Census) -> dict[str, Said]:
        """What each model says of a part of the rows of a period that is over, in the light of all its events."""
        return {
            judge.model.card.id: say_of_part(
                judge.model, judge.feature, self._shown(judge.feature, frames[judge.key], census), self.limits
            )
            for judge in self._of(cut)
        }

    def final(self, said: Mapping[str, Said], far: Mapping[str, Far]) -> tuple[pl.DataFrame, tuple[str, ...]]:
        """The final SCORES of a part, and why a model says nothing: by how far the rows of all parts lie."""
        able = [
            one if one.refusal else replace(one, refusal=far[name].refusal(name, self.limits))
            for name, one in said.items()
        ]
        return (
            self._scores([one for one in able if one.refusal is None]),
            tuple(one.refusal for one in able if one.refusal is not None),
        )

    def _of(self, cut: Clock) -> Sequence[Judge]:
        return [judge for judge in self.judges if cut_of(judge.feature) == cut]

    def _shown(self, feature: Feature, frame: pl.DataFrame, census: Census) -> Table:
        seen = sighted(Table(frame), feature, census.coverage, self.shows(census.shows))
        return self._alike(feature, seen, census)

    def _alike(self, feature: Feature, told: Table, census: Census) -> Table:
        return alike(told, feature, lambda: _kinds(census, feature), self.limits)

    def _scores(self, said: Sequence[Said]) -> pl.DataFrame:
        rows = [one.at(self.prevalence).select(list(SCORES.columns)) for one in said]
        nobody = pl.DataFrame(schema=dict(SCORES.columns))
        return pl.concat([nobody, *rows]).sort("actor", "since", "detector")


def _kinds(census: Census, feature: Feature) -> pl.DataFrame:
    learned = feature.learned
    return census.kinds[learned.clock] if learned is not None else pl.DataFrame()


def with_keys(scores: pl.DataFrame, tick: int | None) -> pl.DataFrame:
    """SCORES with a key that no other line has, whether they are final, and how late it was in the stream."""
    times = [pl.col(name).dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ") for name in ("since", "until")]
    window = pl.concat_str(times, separator="/")
    at = [] if tick is None else [pl.lit(tick).cast(TIME).dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ")]
    key = pl.concat_list([pl.col("actor"), pl.col("detector"), window, *at])
    return scores.select(
        key.alias("key"), pl.lit(tick is None).alias("final"), pl.lit(tick, pl.Int64).cast(TIME).alias("tick"), pl.all()
    )
