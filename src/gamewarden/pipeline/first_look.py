"""A first look at a source of which nobody has said who is a bot: who looks odd in it, by what, and with which days."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import polars as pl

from gamewarden.contracts import EventStream, Feature, Progress, Source, Stream, no_progress
from gamewarden.detectors.signs.oddness import NOT_MEASURED, Oddness, newest_rows
from gamewarden.detectors.signs.population import DETECTOR, NO_PROMISE, OddnessModel
from gamewarden.errors import ConfigError, ReadError
from gamewarden.features.account_table.recipe import AccountTable
from gamewarden.features.activity import Activity
from gamewarden.features.addresses import addresses_by_period
from gamewarden.features.signs import Signs
from gamewarden.pipeline.listing import RankOptions
from gamewarden.pipeline.measuring import USUAL, RunOptions, days_like, feature_of, given_to, measured, stream_for
from gamewarden.presentation.odd_story import NOTABLE, OddStory
from gamewarden.presentation.ranking import in_common
from gamewarden.readers.logs.operator_tables import read_profiles
from gamewarden.store import models as stored_models
from gamewarden.store.lake_events import LakeEvents
from gamewarden.streams import WatchedEvents, of_actors
from gamewarden.tables import FEATURES, ODDNESS, TIME, Table
from gamewarden.verdicts.oddities import alike, list_oddities, usual_zones
from gamewarden.verdicts.ranking import add_reasons, common_reasons

KEPT = "unlabelled"  # the folder beside models in which populations are kept: no model of theirs ever judges anybody
_NAMES_A_ROW = ("actor", "account", "character", "player", "user", "actor_id", "account_id", "char_id", "id")
_HUNDRED = 100  # players, of whom one is a share of 0.01
_NO_TABLE = "name the column of who each row is about with --actor"


@dataclass(frozen=True)
class LookOptions:
    """How somebody looks."""

    actor: str | None = None  # the column of an operator's own table that names the row; None: the one called so
    without: tuple[str, ...] = ()  # families of signs to do without
    models: Path | None = None  # where a population may be kept that was looked at before


@dataclass(frozen=True)
class FirstLook:
    """All accounts of a source, how odd each looks among them, and by what."""

    model: OddnessModel
    rows: pl.DataFrame  # FEATURES, of each account the newest
    notes: tuple[str, ...] = ()
    places: pl.DataFrame | None = None  # FEATURES of where, and what for
    addresses: pl.DataFrame | None = None

    @cached_property
    def oddness(self) -> pl.DataFrame:
        """ODDNESS of every account."""
        return self.model.score(self.rows)

    def groups(self) -> dict[str, str]:
        """Who is odd in the same way at the same place, by account."""
        zones = None if self.places is None else usual_zones(self.places)
        return alike(self.rows["actor"], self.model.heaviest(self.rows), zones)

    def of(self, actors: Sequence[str]) -> pl.DataFrame:
        """FEATURES of some accounts."""
        return self.rows.filter(pl.col("actor").is_in(list(actors)))


@dataclass(frozen=True, kw_only=True)
class OddList(Table):
    """The list, what has to be said beside it, and the reasons that nearly all on it share."""

    common: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()  # further columns that somebody filtered by


def first_look(
    source: Source,
    wishes: RankOptions,
    asked: LookOptions = LookOptions(),  # noqa: B008  frozen
    run: RunOptions = USUAL,
    progress: Progress = no_progress,
) -> FirstLook:
    """Measure the signs of everybody, and compare each with all.

    A population that was kept is compared with as it was kept; else this source is the population.

    Raises:
        ReadError: the source cannot be read.
        FitError: there are too few accounts to say who is odd among them.
    """
    kept = None if asked.models is None else population_in(asked.models)
    refuse_settled(kept, asked)
    feature = feature_of(kept.feature) if kept else _feature_for(source, asked, run)
    stream = stream_for(feature, source, progress)
    learned = feature if kept else _learned(feature, stream)
    told = measured(learned, stream, run.limits)
    found = looked_at(learned, told.frame, kept)
    if feature.input != "events":
        return replace(found, notes=(*told.notes, *found.notes))
    events = WatchedEvents(source.events(), progress)
    wishes.facts.refuse_unknown(source.name, events.columns, events.shows if wishes.facts.kinds else None)
    activity = activity_beside(learned, wishes)
    addresses = addresses_by_period(events, activity.clock, activity.entity) if wishes.facts.sharing else None
    return replace(found, notes=(*told.notes, *found.notes), places=activity.measure(events), addresses=addresses)


def refuse_settled(kept: OddnessModel | None, asked: LookOptions) -> None:
    """Stop over what a population that was kept has settled already.

    Raises:
        ConfigError: it was asked for.
    """
    for option, value in (("--actor", asked.actor), ("--without", asked.without)):
        if kept is not None and value:
            raise ConfigError(f"{option} was settled when {kept.id} was kept; leave it out, or keep another population")


def _learned(feature: Feature, stream: Stream) -> Feature:
    """The recipe as it is learned from this source."""
    found = feature.learn(given_to(stream))
    return found.unweighed() if isinstance(found, Signs) else found


def looked_at(feature: Feature, rows: pl.DataFrame, kept: OddnessModel | None = None) -> FirstLook:
    """Accounts compared with a population: one that was kept, or all of them."""
    newest = newest_rows(rows)
    if kept is not None:
        return FirstLook(
            kept, newest, (f"Compared with {kept.players:,} players as they were when {kept.id} was kept.",)
        )
    model = Oddness(feature).fit(newest)
    return FirstLook(model, newest, tuple(_blind_spots(model)))


def _blind_spots(model: OddnessModel) -> list[str]:
    unseen = [name for name, why in model.left_out.items() if why == NOT_MEASURED]
    return [f"Not measured of anybody here, and so no sign: {', '.join(unseen)}."] if unseen else []


def activity_beside(feature: Feature, wishes: RankOptions) -> Activity:
    """The recipe of what a list shows beside signs."""
    return Activity(time_zone=feature.time_zone, kinds=wishes.facts.kinds)


def list_odd(look: FirstLook, wishes: RankOptions, run: RunOptions = USUAL) -> OddList:
    """The accounts to look at, the oddest first, with their reasons.

    Raises:
        ConfigError: a condition names no column, or a value that the column cannot have.
    """
    profiles = None if wishes.profiles is None else read_profiles(wishes.profiles, run.time_zone)
    listed = list_oddities(
        look.oddness,
        look.rows,
        profiles,
        zones=None if look.places is None else usual_zones(look.places),
        facts=None if look.places is None else wishes.facts.of(look.places, look.addresses),
        filters=wishes.filters,
    )
    told = listed.drop_nulls("as_odd")
    listing = told.head(wishes.top) if wishes.top else told
    evidence = look.model.explain(look.of(listing["actor"].to_list())).filter(pl.col("alone") >= NOTABLE)
    common = common_reasons(listing, evidence)
    more = told.height - listing.height
    notes = (
        *look.notes,
        NO_PROMISE,
        *_next(look.model),
        *((f"{more:,} more are not shown; --top 0 lists all",) if more else ()),
        *in_common(common, listing.height),
    )
    return OddList(add_reasons(listing, evidence), notes, common=tuple(common["says"]), asked=wishes.facts.columns)


def _next(model: OddnessModel) -> tuple[str, ...]:
    share = 0.01 if model.players >= _HUNDRED else 0.1
    means = f"as_odd {share} means: {round(share * model.players):,} of {model.players:,} players look at least as odd."
    return (f"{means} `gamewarden review` turns an afternoon of looking at them into labels.",)


def refuse_bad_conditions(wishes: RankOptions, run: RunOptions = USUAL) -> None:
    """Try the conditions on a list of nobody, before anything long is done.

    Raises:
        ConfigError: a condition names no column, or a value that the column cannot have.
    """
    profiles = None if wishes.profiles is None else read_profiles(wishes.profiles, run.time_zone)
    nobody, nothing = (pl.DataFrame(schema=dict(table.columns)) for table in (ODDNESS, FEATURES))
    facts = pl.DataFrame(schema=dict(wishes.facts.schema))
    list_oddities(nobody, nothing, profiles, facts=facts, filters=wishes.filters)


def odd_stories(look: FirstLook, actors: Sequence[str], events: EventStream | None) -> dict[str, OddStory]:
    """What is known of some accounts, with their days where there are events: one reading for all of them.

    Raises:
        ReadError: nobody is called so.
    """
    known = set(look.rows["actor"].to_list())
    if strangers := [actor for actor in actors if actor not in known]:
        raise ReadError(f"there is no account {strangers[0]!r} here")
    mine = look.of(actors)
    oddness, evidence = look.model.score(mine), look.model.explain(mine)
    days = _Days.of(look, actors, events)
    return {
        actor: OddStory(
            actor,
            look.model,
            oddness.filter(actor=actor),
            evidence.filter(actor=actor),
            days.windows(actor),
            days.moments(actor),
            days.time_zone,
        )
        for actor in actors
    }


def draw_odd_story(story: OddStory, path: Path) -> None:
    """The windows of an account's newest day as a picture.

    Raises:
        ConfigError: there are none.
    """
    from gamewarden.presentation.plots import plot_windows

    if not story.windows.height:
        raise ConfigError("explain: there are no windows to draw here; leave --plot out")
    plot_windows(story.windows, path, f"{story.actor}: one dot a window; a flat band is a routine", story.time_zone)


@dataclass(frozen=True)
class _Days:
    """The events of some accounts, as pictures need them."""

    rows: pl.DataFrame
    by_actor: Mapping[str, pl.DataFrame] = field(default_factory=dict)  # windows
    at: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema={"actor": pl.String, "at": TIME}))
    time_zone: str = "UTC"

    @classmethod
    def of(cls, look: FirstLook, actors: Sequence[str], events: EventStream | None) -> "_Days":
        rows = look.of(actors)
        if events is None:
            return cls(rows)
        days = days_like(look.model.feature)
        theirs = of_actors(events, actors)
        batches = [pl.DataFrame(pl.from_arrow(batch)) for batch in theirs.batches(("actor", "at"))]
        at = [batch.select(pl.col("actor").cast(pl.String), pl.col("at").cast(TIME)) for batch in batches]
        nobody = pl.DataFrame(schema={"actor": pl.String, "at": TIME})
        return cls(rows, days.windows_of(theirs, list(actors)), pl.concat([nobody, *at]), days.time_zone or "UTC")

    def windows(self, actor: str) -> pl.DataFrame:
        """Those of its newest day."""
        found = self.by_actor.get(actor, pl.DataFrame())
        if not found.height:
            return found
        since, until = self.rows.filter(actor=actor).select("since", "until").row(0)
        return found.filter(pl.col("since") >= since, pl.col("since") < until)

    def moments(self, actor: str) -> pl.Series:
        """When it did something."""
        return self.at.filter(actor=actor)["at"]


def population_in(models: Path) -> OddnessModel | None:
    """The population that was kept last beside models; None where none was.

    Raises:
        ModelError: it is damaged.
    """
    place = models / KEPT
    found = [one for one in stored_models.stored(place) if one.detector == DETECTOR] if place.is_dir() else []
    return OddnessModel.from_dict(stored_models.load(found[-1].path)) if found else None


def keep_population(model: OddnessModel, models: Path) -> Path:
    """Keep a population beside models, so that tomorrow's accounts are compared with the same players.

    Raises:
        WriteError: it cannot be written.
    """
    return stored_models.save(model, models / KEPT)


def signs_of_lake(signs: Signs, events: LakeEvents, progress: Progress = no_progress) -> Signs:
    """The recipe with the kinds of a lake, which mostly has counted them; days of the same kinds do not change it."""
    counted = events.counted
    return (signs.learn(events, progress) if counted is None else signs.counting(counted)).unweighed()


def _feature_for(source: Source, asked: LookOptions, run: RunOptions) -> Feature:
    """What is looked at: the signs of a log, or the columns of an operator's own table.

    Raises:
        ReadError: the source is neither.
    """
    if "events" in source.kinds and (source.sure or asked.actor is None):
        try:
            source.events()
        except ReadError:
            if "table" not in source.kinds or source.sure or not source.columns:  # nothing is there
                raise
        else:
            return Signs(time_zone=run.time_zone, without=asked.without)
    if "table" not in source.kinds:
        raise ReadError(f"{source.name}: holds {' or '.join(source.kinds)}; a first look needs events or a table")
    return AccountTable(actor=asked.actor or _named_column(source.name, source.columns))


def _named_column(name: str, columns: Sequence[str]) -> str:
    found = [column for known in _NAMES_A_ROW for column in columns if column.lower() == known]
    if not found:
        raise ConfigError(
            f"{name}: is no log of events as it is (--map says what its columns mean), and as a table of accounts no "
            f"column says whose a row is; {_NO_TABLE}"
        )
    return found[0]
