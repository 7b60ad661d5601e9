"""The list of accounts to look at, with their reasons."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import polars as pl

from gamewarden.config import Config
from gamewarden.contracts import Model, Progress, Source, no_progress
from gamewarden.errors import ConfigError, ModelError
from gamewarden.features.activity import Activity
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.pipeline.doubting import doubted
from gamewarden.pipeline.judging import judged, rules_of
from gamewarden.pipeline.measuring import feature_of, measured
from gamewarden.pipeline.meeting import say
from gamewarden.pipeline.reaching import best_points, other_voices, rare_styles
from gamewarden.pipeline.scoring import event_model, zone_notes
from gamewarden.pipeline.sources import USUAL, RunOptions, Table
from gamewarden.pipeline.vocabularies import days_of
from gamewarden.readers.logs.operator_tables import OwnTable, read_profiles
from gamewarden.streams import WatchedEvents
from gamewarden.tables import FEATURES, SCORES
from gamewarden.verdicts.chunks import Patience, roll_up
from gamewarden.verdicts.filters import Filter, parse_filter
from gamewarden.verdicts.meeting import least_covered, only_covered
from gamewarden.verdicts.points import NEITHER, Points
from gamewarden.verdicts.prevalence import SUPPOSED, Prevalence
from gamewarden.verdicts.ranking import add_reasons, common_reasons
from gamewarden.verdicts.ranking import rank as rank_scores

_NOTHING_APART = "what the list has in common"


@dataclass(frozen=True)
class Wishes:
    """Who shall stand on the list."""

    probability: float
    top: int
    detector: str | None = None
    profiles: OwnTable | None = None
    filters: tuple[Filter, ...] = field(default=())
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
        where: Sequence[str] = (),
        prevalence: Prevalence | None = None,
    ) -> Self:
        """What the command line asks for, and warden.toml where it is silent.

        Raises:
            ConfigError: a condition cannot be read.
        """
        filters = (
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
            Patience(config.chunks.sure, config.chunks.flagged, config.chunks.discount),
            prevalence or Prevalence.of(config),
            config,
        )


def range_filters(column: str, text: str | None) -> tuple[Filter, ...]:
    """Filters for FROM, FROM:TO or :TO.

    Raises:
        ConfigError: a border is not a number.
    """
    if text is None:
        return ()
    first, _, last = text.partition(":")
    for border in filter(None, (first, last)):
        if not border.replace(".", "", 1).isdigit():
            raise ConfigError(f"{column}: {text!r} is not FROM, FROM:TO or :TO in numbers")
    wanted = ((">=", first), ("<=", last))
    return tuple(parse_filter(f"{column}{sign}{border}") for sign, border in wanted if border)


@dataclass(frozen=True)
class Behind:
    """What a list rests on, for whoever shows more of it than a table."""

    model: Model
    rows: pl.DataFrame  # FEATURES the model looked at
    scores: pl.DataFrame
    evidence: pl.DataFrame  # of the accounts listed
    days: SelfSimilarity  # the recipe that shows a day to people
    played: pl.DataFrame  # FEATURES of that recipe


@dataclass(frozen=True, kw_only=True)
class Ranked(Table):
    """The list, what has to be said beside it, and the reasons that nearly all on it share."""

    behind: Behind
    common: tuple[str, ...] = ()


def rank(
    source: Source, models: Path, wishes: Wishes, run: RunOptions = USUAL, progress: Progress = no_progress
) -> Ranked:
    """The accounts to look at, highest first, with their reasons.

    Raises:
        ConfigError: a condition names no column, or a value that the column cannot have; found before measuring.
    """
    model = event_model(models, wishes.detector)
    profiles = None if wishes.profiles is None else read_profiles(wishes.profiles, run.time_zone)
    _refuse_bad_conditions(wishes, profiles)
    events = WatchedEvents(source.events(), progress)
    feature = feature_of(model.feature)
    shown = measured(feature, events, run.limits)
    said = say(model, shown, run.limits)
    if said.refusal is not None:
        raise ModelError(f"{source.name}: {said.refusal}")
    shown_by = days_of(model, models)
    days = shown_by.recipe
    played = shown.frame if days == feature else days.measure(events)
    places = Activity(every=days.every, by=days.by, time_zone=days.time_zone).measure(events)
    whole = only_covered(played, least_covered(model.card.training, run.limits))
    seen = whole.join(places.select("actor", "since", zone="main_zone"), on=["actor", "since"])
    rules = rules_of(wishes.policy, run, wishes.prevalence)
    scores, verdicts = judged({model.card.id: shown.frame}, [model], None, rules)
    listed = rank_scores(scores, seen, profiles, filters=wishes.filters, threshold=wishes.probability)
    suspects = listed.filter(pl.col("probability") >= wishes.probability)
    listing = suspects.head(wishes.top) if wishes.top else suspects
    listing = listing.join(best_points(verdicts, rules.points), on="actor", how="left", maintain_order="left")
    if feature.part_of_day:
        listing = _with_time_to_detection(listing, scores, replace(wishes.patience, prior=wishes.prevalence.bots))
    periods = _judged(shown.frame, scores).join(listing.select("actor"), on="actor", how="semi")
    hidden = suspects.height - listing.height
    more = (f"{hidden:,} more are not shown; --top 0 lists all",) if hidden else _nobody(listed, suspects, wishes)
    again = (shown_by.again(source, models),) if listing.height else ()
    evidence = model.explain(periods)
    common = common_reasons(listing, evidence)
    notes = (
        *shown.notes,
        *zone_notes([model], run.time_zone),
        *doubted(models, [model], scores),
        *said.caveats,
        wishes.prevalence.sentence,
        *other_voices(models, model),
        *_pointless(listing, model, rules.points),
        *more,
        *again,
        *_in_common(common, listing.height),
    )
    reasoned = add_reasons(listing, evidence).with_columns(pl.lit(wishes.prevalence.bots).alias("prevalence"))
    behind = Behind(model, shown.frame, scores, evidence, days, played)
    return Ranked(frame=reasoned, notes=notes, common=tuple(common["says"]), behind=behind)


def _judged(measured: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    """The rows that have a score: reasons are about nothing else."""
    judged = scores.filter(pl.col("probability").is_not_null()).select("actor", "since", "until")
    return measured.join(judged, on=["actor", "since", "until"], how="semi")


def _pointless(shown: pl.DataFrame, model: Model, points: Points) -> Iterator[str]:
    """Why accounts stand on the list without a point, where the model knows too few people of their style."""
    if (shown["point"] == NEITHER).any():
        yield from rare_styles([model.card], points)


def _refuse_bad_conditions(wishes: Wishes, profiles: pl.DataFrame | None) -> None:
    """Try the conditions on a list of nobody, before anything long is done."""
    nobody, nothing = (pl.DataFrame(schema=dict(table.columns)) for table in (SCORES, FEATURES))
    rank_scores(nobody, nothing, profiles, filters=wishes.filters, threshold=wishes.probability)


def _with_time_to_detection(ranking: pl.DataFrame, scores: pl.DataFrame, patience: Patience) -> pl.DataFrame:
    """A ranking with what an actor's chunks add up to."""
    wanted = ("belief", "verdict", "streak", "chunks_until_sure", "minutes_until_sure")
    return ranking.join(
        roll_up(scores, patience).select("actor", *wanted), on="actor", how="left", maintain_order="left"
    )


def _nobody(listed: pl.DataFrame, suspects: pl.DataFrame, wishes: Wishes) -> tuple[str, ...]:
    """Why a list is empty, and what would fill it."""
    if suspects.height:
        return ()
    judged = listed.drop_nulls("probability")
    if not judged.height:
        return ("No account that fits the conditions has enough play to be judged.",)
    actor, highest = judged.row(0, named=True)["actor"], judged["probability"][0]
    reached = f"No account reaches {wishes.probability}; the highest is {actor} with {highest:.3f}"
    return (f"{reached}; --probability lists from a lower one on",)


def _in_common(common: pl.DataFrame, listed: int) -> tuple[str, ...]:
    """The reasons that stand above a list instead of in each of its rows."""
    told = "; ".join(f"{says} ({actors:,} of {listed:,})" for says, actors in common.iter_rows())
    return (f"The accounts listed have in common: {told}.",) if told else ()


def ranking_in_short(ranked: Ranked) -> pl.DataFrame:
    """The columns of a ranking that a person looks at first, with the reasons that the others on it do not share."""
    first = ("actor", "probability", "alarm", "point", "periods_flagged", "verdict", "streak", "minutes_until_sure")
    then = ("self_sim", "level", "play_minutes", "zone", "far", "reasons")
    there = [name for name in (*first, *then) if name in ranked.frame.columns]
    short = ranked.frame.select(name for name in there if name != "far" or ranked.frame["far"].count())
    own = pl.col("reasons").str.split("; ").list.filter(~pl.element().is_in(list(ranked.common))).list.join("; ")
    return short.with_columns(pl.when(own == "").then(pl.lit(_NOTHING_APART)).otherwise(own).alias("reasons"))
