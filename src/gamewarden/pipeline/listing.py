"""The list of accounts to look at, with their reasons; its page; and all that is known of one account."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

import polars as pl

from gamewarden import features
from gamewarden.config import Config
from gamewarden.contracts import EventStream, Feature, Model, Progress, Source, no_progress
from gamewarden.core.durations import parse_span
from gamewarden.errors import ConfigError, ModelError, ReadError
from gamewarden.features.account_table.recipe import AccountTable, whole
from gamewarden.features.activity import Activity
from gamewarden.features.addresses import addresses_by_period
from gamewarden.features.pulses.recipe import Pulses
from gamewarden.features.pulses.stretches import Stretches, pulses_like, stretches_of
from gamewarden.features.self_similarity.recipe import By, SelfSimilarity
from gamewarden.pipeline.judging import judged_scores, rules_of
from gamewarden.pipeline.measuring import USUAL, RunOptions, feature_of, measured, rows_to_judge
from gamewarden.pipeline.models import days_of, event_model, model_for
from gamewarden.pipeline.scoring import ask, doubted, other_voices
from gamewarden.presentation.ranking import Behind, Ranked, in_common, why_nobody
from gamewarden.presentation.vocabularies import Days
from gamewarden.readers.logs.operator_tables import OwnTable, read_profiles
from gamewarden.streams import WatchedEvents, WatchedRows, only, within
from gamewarden.tables import FEATURES, SCORES, FrameRows, Table
from gamewarden.verdicts.chunks import Patience, with_time_to_detection
from gamewarden.verdicts.facts import Facts
from gamewarden.verdicts.filters import Filter, parse_filter, range_filters
from gamewarden.verdicts.meeting import least_covered, only_covered
from gamewarden.verdicts.prevalence import SUPPOSED, Prevalence
from gamewarden.verdicts.ranking import add_reasons, common_reasons, highest_period, judged_rows
from gamewarden.verdicts.ranking import rank as rank_scores
from gamewarden.verdicts.reach import best_points, pointless
from gamewarden.verdicts.rolling import DAYS, with_days
from gamewarden.verdicts.saying import Said, zone_notes
from gamewarden.verdicts.trend import trend_by_day, trend_by_zone

if TYPE_CHECKING:
    from gamewarden.presentation.rank_page import RankPage


@dataclass(frozen=True)
class RankOptions:
    """Who shall stand on the list."""

    probability: float
    top: int
    detector: str | None = None
    profiles: OwnTable | None = None
    filters: tuple[Filter, ...] = field(default=())
    facts: Facts = field(default=Facts())
    patience: Patience = field(default=Patience())
    prevalence: Prevalence = field(default=SUPPOSED)
    policy: Config = field(default=Config())  # by which `judge` would give operating points

    @classmethod
    def of(
        cls,
        config: Config,
        *,
        probability: float | None = None,
        top: int | None = None,
        detector: str | None = None,
        profiles: OwnTable | None = None,
        self_similarity: str | None = None,
        level: str | None = None,
        zones: Sequence[str] = (),
        play_time: str | None = None,
        money: str | None = None,
        kinds: Sequence[str] = (),
        sharing: int | None = None,
        where: Sequence[str] = (),
        prevalence: Prevalence | None = None,
    ) -> Self:
        """What the command line asks for, and warden.toml where it is silent.

        Raises:
            ConfigError: a condition cannot be read.
        """
        facts = Facts(money, tuple(dict.fromkeys(kinds)), sharing)
        filters = (
            *facts.filters,
            *range_filters("self_sim", self_similarity),
            *range_filters("level", level),
            *range_filters("play_minutes", play_time),
            *((Filter("zone", "in", tuple(zones)),) if zones else ()),
            *(parse_filter(text) for text in where),
        )
        return cls(
            config.rank.probability if probability is None else probability,
            config.rank.top if top is None else top,
            detector,
            profiles,
            filters,
            facts,
            Patience(config.chunks.sure, config.chunks.flagged, config.chunks.discount),
            prevalence or Prevalence.of(config),
            config,
        )


def rank(
    source: Source, models: Path, wishes: RankOptions, run: RunOptions = USUAL, progress: Progress = no_progress
) -> Ranked:
    """The accounts to look at, highest first, with their reasons.

    Raises:
        ConfigError: a condition names no column, or a value that the column cannot have; found before measuring.
    """
    model = event_model(models, wishes.detector)
    refuse_bad_conditions(wishes, run)
    events = WatchedEvents(source.events(), progress)
    wishes.facts.refuse_unknown(source.name, events.columns, events.shows if wishes.facts.kinds else None)
    feature = feature_of(model.feature)
    shown = measured(feature, events, run.limits)
    said = ask(model, shown, run.limits)
    if said.refusal is not None:
        raise ModelError(f"{source.name}: {said.refusal}")
    days = days_of(model, models)
    activity = activity_of(days.recipe, wishes)
    return list_accounts(
        ListInput(
            model=model,
            days=days,
            rows=shown.frame,
            scores=said.scores,
            played=shown.frame if days.recipe == feature else days.recipe.measure(events),
            places=activity.measure(events),
            addresses=addresses_by_period(events, activity.clock, activity.entity) if wishes.facts.sharing else None,
            notes=shown.notes,
            caveats=said.caveats,
            again=days.again(source, models),
        ),
        models,
        wishes,
        run,
    )


def activity_of(days: SelfSimilarity, wishes: RankOptions) -> Activity:
    """The recipe of what a list shows beside a day."""
    return Activity(every=days.every, by=days.by, time_zone=days.time_zone, kinds=wishes.facts.kinds)


@dataclass(frozen=True)
class ListInput:
    """What a list of accounts is made of, wherever it comes from: tables of the same accounts and periods."""

    model: Model
    days: Days  # how a day is shown to people
    rows: pl.DataFrame  # FEATURES that the model looked at
    scores: pl.DataFrame  # what it said of them, at the share of bots that it supposes
    played: pl.DataFrame  # FEATURES of the days
    places: pl.DataFrame  # FEATURES of where, and what for
    addresses: pl.DataFrame | None = None
    newest: datetime | None = None  # when the newest period ends, where the tables leave accounts out
    periods: pl.DataFrame | None = None  # since and until of all scores of those who may be listed, likewise
    others: int = 0  # how many more reach the list, below all in the tables, likewise
    notes: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    again: str = ""  # how to get the same self-similarity


def list_accounts(found: ListInput, models: Path, wishes: RankOptions, run: RunOptions = USUAL) -> Ranked:
    """The accounts to look at, highest first, with their reasons, from what was measured and scored."""
    model, feature = found.model, feature_of(found.model.feature)
    profiles = None if wishes.profiles is None else read_profiles(wishes.profiles, run.time_zone)
    whole = only_covered(found.played, least_covered(model.card.training, run.limits))
    seen = whole.join(found.places.select("actor", "since", zone="main_zone"), on=["actor", "since"])
    rules = rules_of(wishes.policy, run, wishes.prevalence)
    scores, verdicts = judged_scores({model.card.id: found.scores}, [found.rows], [model], None, rules)
    last, repeated = parse_span(wishes.policy.rank.rolling), wishes.patience.discount
    known = wishes.facts.of(found.places, found.addresses)
    facts = with_days(known, verdicts, last, repeated, wishes.prevalence.bots, newest=found.newest)
    listed = rank_scores(scores, seen, profiles, facts=facts, filters=wishes.filters, threshold=wishes.probability)
    suspects = listed.filter(pl.col("probability") >= wishes.probability)
    listing = suspects.head(wishes.top) if wishes.top else suspects
    listing = listing.join(best_points(verdicts, rules.points), on="actor", how="left", maintain_order="left")
    if feature.part_of_day:
        listing = with_time_to_detection(listing, scores, replace(wishes.patience, prior=wishes.prevalence.bots))
    periods = judged_rows(found.rows, scores).join(listing.select("actor"), on="actor", how="semi")
    hidden = suspects.height + found.others - listing.height
    more = (
        (f"{hidden:,} more are not shown; --top 0 lists all",)
        if hidden
        else why_nobody(listed, suspects, wishes.probability)
    )
    evidence = model.explain(periods)
    common = common_reasons(listing, evidence)
    notes = (
        *found.notes,
        *zone_notes([model], run.time_zone),
        *doubted(models, [model], scores if found.periods is None else found.periods),
        *found.caveats,
        wishes.prevalence.sentence,
        *other_voices(models, model),
        *pointless(listing, model.card, rules.points),
        *more,
        *((found.again,) if found.again and listing.height else ()),
        *in_common(common, listing.height),
    )
    reasoned = add_reasons(listing, evidence).with_columns(pl.lit(wishes.prevalence.bots).alias("prevalence"))
    behind = Behind(model, found.rows, scores, evidence, found.days.recipe, found.played)
    return Ranked(frame=reasoned, notes=notes, common=tuple(common["says"]), behind=behind, asked=wishes.facts.columns)


def refuse_bad_conditions(wishes: RankOptions, run: RunOptions = USUAL) -> None:
    """Try the conditions on a list of nobody, before anything long is done.

    Raises:
        ConfigError: a condition names no column, or a value that the column cannot have.
    """
    profiles = None if wishes.profiles is None else read_profiles(wishes.profiles, run.time_zone)
    nobody, nothing = (pl.DataFrame(schema=dict(table.columns)) for table in (SCORES, FEATURES))
    facts = pl.DataFrame(schema={**wishes.facts.schema, **DAYS})
    rank_scores(nobody, nothing, profiles, facts=facts, filters=wishes.filters, threshold=wishes.probability)


def rank_cards(ranked: Ranked, source: Source, models: Path, progress: Progress = no_progress) -> "RankPage":
    """The page of a list: of at most 100 accounts, with one reading of the source for all of them."""
    from gamewarden.presentation.rank_cards import MOST_CARDS, drawn_of, highest_periods, sentences_of
    from gamewarden.presentation.rank_page import AccountCard, RankPage

    behind, listed = ranked.behind, ranked.frame.head(MOST_CARDS)
    highest = highest_periods(behind)
    drawn = drawn_of(behind, highest, ranked.frame["actor"], WatchedEvents(source.events(), progress))
    cards = (
        AccountCard(row, *sentences_of(behind.evidence, highest, row["actor"]), drawn.series(row["actor"]))
        for row in listed.iter_rows(named=True)
    )
    hidden = ranked.frame.height - listed.height
    again = _explain_options(ranked, models, source)
    return RankPage(tuple(cards), behind.model.card, source.name, again, ranked.notes, hidden)


def _explain_options(ranked: Ranked, models: Path, source: Source) -> tuple[str, ...]:
    if not source.nameable:
        return ()
    shares = (("--prevalence", f"{share:g}") for share in ranked.frame["prevalence"].head(1))
    return ("--models", str(models), "--detector", ranked.behind.model.card.detector, *chain(*shares), *source.flags)


@dataclass(frozen=True)
class Explanation:
    """All that is known of one actor under one model."""

    actor: str
    model: Model
    scores: pl.DataFrame
    evidence: pl.DataFrame  # of the period that scores highest
    measured: pl.DataFrame
    windows: pl.DataFrame
    prevalence: Prevalence = SUPPOSED
    again: str = ""  # how to get the same self-similarity
    time_zone: str = "UTC"  # by which its days begin
    caveats: tuple[str, ...] = ()  # what stands beside every word of the model on this source
    stretches: Stretches = field(default_factory=Stretches)  # its hours, and those that beat as a clock does


def explain(
    actor: str,
    source: Source,
    models: Path,
    detector: str | None,
    *,
    run: RunOptions = USUAL,
    prevalence: Prevalence = SUPPOSED,
    progress: Progress = no_progress,
) -> Explanation:
    """What one actor did, and why it scores as it does.

    Raises:
        ReadError: the source has no event or row of this actor.
    """
    model = model_for(source, models, detector)
    kind = features.load(model.feature.name).input
    if kind == "messages":
        return _session_story(actor, source, model, prevalence, run=run, progress=progress)
    if kind == "table":
        return _row_story(actor, source, model, prevalence, run=run, progress=progress)
    model = event_model(models, model.card.detector)
    feature = feature_of(model.feature)
    by = feature.entity
    alone = only(WatchedEvents(source.events(), progress), by, actor)
    shown = _shown_of(actor, feature, alone, source, run)
    if not shown.frame.height:
        raise ReadError(f"{source.name}: has no event of {by} {actor!r}")
    said = _said(model, shown, source, run)
    days = days_of(model, models)
    again = days.again(source, models) if days.model is model else ""
    return event_story(
        actor,
        said,
        rows=shown.frame,
        days=days,
        alone=partial(within, alone),
        models=models,
        prevalence=prevalence,
        again=again,
    )


def _shown_of(actor: str, feature: Feature, alone: EventStream, source: Source, run: RunOptions) -> Table:
    """What a feature shows of one actor: from its events alone, where nothing depends on those of others."""
    if feature.divides.actors:
        return measured(feature, alone, run.limits)
    shown = measured(feature, source.events(), run.limits)
    return replace(shown, frame=shown.frame.filter(actor=actor))


def event_story(
    actor: str,
    said: Said,
    *,
    rows: pl.DataFrame,
    days: Days,
    alone: Callable[[datetime, datetime], EventStream],
    models: Path,
    prevalence: Prevalence,
    again: str = "",
) -> Explanation:
    """The story of one actor, of whom `alone` gives the events of a time."""
    model, scores = said.model, said.at(prevalence)
    period = highest_period(rows, scores)
    since, until = period["since"][0], period["until"][0]
    windows = days.recipe.windows(alone(since, until), actor)
    inside = windows.filter(pl.col("since") >= since, pl.col("since") < until)
    caveats = (*doubted(models, [model], scores), *said.caveats)
    zone = days.recipe.time_zone or "UTC"
    told = stretches_of(_pulses(model, days), alone(since, until), [actor])[actor]
    return Explanation(
        actor, model, scores, model.explain(period), period, inside, prevalence, again, zone, caveats, told
    )


def _pulses(model: Model, days: Days) -> Pulses:
    """How the hours of this model's actors are shown: as it sees them itself, else over the windows of days."""
    if model.feature.name == Pulses.name:
        return Pulses.from_dict(model.feature.options)
    return pulses_like(days.recipe.to_dict())


def _row_story(
    actor: str, source: Source, model: Model, prevalence: Prevalence, *, run: RunOptions, progress: Progress
) -> Explanation:
    """The story of one row of an operator's own table: there are no windows in it."""
    row = row_of(actor, source, AccountTable.from_dict(model.feature.options), progress)
    said = _said(model, Table(row), source, run)
    return Explanation(
        actor, model, said.at(prevalence), model.explain(row), row, pl.DataFrame(), prevalence, caveats=said.caveats
    )


def _session_story(
    actor: str, source: Source, model: Model, prevalence: Prevalence, *, run: RunOptions, progress: Progress
) -> Explanation:
    sessions = rows_to_judge(feature_of(model.feature), source, run, progress).frame
    mine = sessions.filter(actor=actor)
    if not mine.height:
        raise ReadError(f"{source.name}: has no session of actor {actor!r}")
    said = _said(model, Table(mine), source, run)
    scores = said.at(prevalence)
    session = highest_period(mine, scores)
    return Explanation(
        actor, model, scores, model.explain(session), session, pl.DataFrame(), prevalence, caveats=said.caveats
    )


def _said(model: Model, shown: Table, source: Source, run: RunOptions) -> Said:
    """What the model says of one actor.

    Raises:
        ModelError: it cannot judge the source.
    """
    said = ask(model, shown, run.limits)
    if said.refusal is not None:
        raise ModelError(f"{source.name}: {said.refusal}")
    return said


def draw_story(story: Explanation, path: Path) -> None:
    """One actor's windows as a picture, with its hours below them where an hour was full enough.

    Raises:
        ConfigError: the model looks at something that has no windows.
    """
    from gamewarden.presentation.plots import plot_windows
    from gamewarden.presentation.pulse_plots import plot_stretches

    if not story.windows.height:
        raise ConfigError(f"explain: {story.model.feature.name} has no windows to draw; leave --plot out")
    title = f"{story.actor}: one dot a window; a flat band is a routine"
    if story.stretches.spans.height:
        plot_stretches(story.windows, story.stretches, path, title, story.time_zone)
    else:
        plot_windows(story.windows, path, title, story.time_zone)


def row_of(actor: str, source: Source, feature: AccountTable, progress: Progress) -> pl.DataFrame:
    """FEATURES of one actor of a table.

    Raises:
        ReadError: the table has no row of this actor.
    """
    rows = WatchedRows(source.rows(), progress)
    table = whole(rows, rows.columns)
    mine = table.filter(pl.col(feature.actor).cast(pl.String) == actor)
    if not mine.height:
        raise ReadError(f"{source.name}: has no row whose {feature.actor} is {actor!r}")
    # A row that knows its siblings is measured among them.
    among = table if feature.siblings else mine
    return feature.measure(FrameRows(among, source.name)).filter(actor=actor)


@dataclass(frozen=True)
class TrendOptions:
    """What a trend counts as a bot, and along what."""

    by: Literal["day", "zone"] = "day"
    probability: float | None = None  # from which an account counts; else as `rank` lists
    detector: str | None = None
    prevalence: Prevalence = field(default=SUPPOSED)
    policy: Config = field(default=Config())

    @property
    def listed_from(self) -> float:
        """The probability from which an account counts as a bot."""
        return self.policy.rank.probability if self.probability is None else self.probability


def trend(
    source: Source, models: Path, wishes: TrendOptions, run: RunOptions = USUAL, progress: Progress = no_progress
) -> Table:
    """How many accounts look like bots, by day or by main zone, under the model that `rank` asks.

    Raises:
        ModelError: it cannot judge the source.
    """
    model = event_model(models, wishes.detector)
    events = WatchedEvents(source.events(), progress)
    feature = feature_of(model.feature)
    shown = measured(feature, events, run.limits)
    said = _said(model, shown, source, run)
    places = zones_of(model, wishes, run).measure(events) if wishes.by == "zone" else None
    told = count_trend(said, shown.frame, places, models, wishes, run=run)
    return replace(told, notes=(*shown.notes, *told.notes))


def zones_of(model: Model, wishes: TrendOptions, run: RunOptions = USUAL) -> Activity:
    """The recipe of the main zones that a trend counts by."""
    cut = rules_of(wishes.policy, run, wishes.prevalence).cut
    return Activity(every=cut.every, by=_by(feature_of(model.feature)), time_zone=cut.time_zone)


def count_trend(
    said: Said,
    rows: pl.DataFrame,
    places: pl.DataFrame | None,
    models: Path,
    wishes: TrendOptions,
    *,
    run: RunOptions = USUAL,
) -> Table:
    """A trend from what was measured and scored."""
    model, rules = said.model, rules_of(wishes.policy, run, wishes.prevalence)
    scores, verdicts = judged_scores({model.card.id: said.scores}, [rows], [model], None, rules)
    periods = verdicts.with_columns(rules.points.reached(verdicts))
    if places is None:
        table = trend_by_day(periods, wishes.listed_from)
    else:
        table = trend_by_zone(periods, places.select("actor", "since", zone="main_zone"), wishes.listed_from)
    notes = (
        *zone_notes([model], run.time_zone),
        *doubted(models, [model], scores),
        *said.caveats,
        wishes.prevalence.sentence,
        *other_voices(models, model),
    )
    return Table(table, notes)


def _by(feature: Feature) -> By:
    return "character" if feature.entity == "character" else "account"


def draw_trend(table: pl.DataFrame, path: Path, wishes: TrendOptions, run: RunOptions = USUAL) -> None:
    """A trend as a picture.

    Raises:
        ConfigError: nobody is in it.
    """
    from gamewarden.presentation.trend_plots import plot_trend, plot_zones

    if not table.height:
        raise ConfigError("trend: nobody was judged in that time, and there is nothing to draw; leave --plot out")
    if wishes.by == "zone":
        plot_zones(table, path, wishes.listed_from)
    else:
        plot_trend(table, path, wishes.listed_from, run.time_zone or "UTC")
