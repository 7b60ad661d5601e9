"""The list of accounts to look at, with their reasons."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import polars as pl

from gamewarden.config import Config
from gamewarden.contracts import Progress, Source, no_progress
from gamewarden.errors import ModelError
from gamewarden.features.activity import Activity
from gamewarden.pipeline.doubting import doubted
from gamewarden.pipeline.judging import judged, rules_of
from gamewarden.pipeline.measuring import feature_of, measured
from gamewarden.pipeline.reaching import other_voices
from gamewarden.pipeline.scoring import ask, event_model
from gamewarden.pipeline.sources import USUAL, RunOptions
from gamewarden.pipeline.vocabularies import days_of
from gamewarden.presentation.ranking import Behind, Ranked, in_common, why_nobody
from gamewarden.readers.logs.operator_tables import read_profiles
from gamewarden.streams import WatchedEvents
from gamewarden.tables import FEATURES, SCORES
from gamewarden.verdicts.chunks import Patience, with_time_to_detection
from gamewarden.verdicts.filters import Filter, parse_filter, range_filters
from gamewarden.verdicts.meeting import least_covered, only_covered
from gamewarden.verdicts.prevalence import SUPPOSED, Prevalence
from gamewarden.verdicts.ranking import add_reasons, common_reasons, judged_rows
from gamewarden.verdicts.ranking import rank as rank_scores
from gamewarden.verdicts.reach import best_points, pointless
from gamewarden.verdicts.saying import zone_notes


@dataclass(frozen=True)
class Wishes:
    """Who shall stand on the list."""

    probability: float
    top: int
    detector: str | None = None
    profiles: Path | None = None
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
        profiles: Path | None = None,
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
    said = ask(model, shown, run.limits)
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
        listing = with_time_to_detection(listing, scores, replace(wishes.patience, prior=wishes.prevalence.bots))
    periods = judged_rows(shown.frame, scores).join(listing.select("actor"), on="actor", how="semi")
    hidden = suspects.height - listing.height
    more = (
        (f"{hidden:,} more are not shown; --top 0 lists all",)
        if hidden
        else why_nobody(listed, suspects, wishes.probability)
    )
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
        *pointless(listing, model.card, rules.points),
        *more,
        *again,
        *in_common(common, listing.height),
    )
    reasoned = add_reasons(listing, evidence).with_columns(pl.lit(wishes.prevalence.bots).alias("prevalence"))
    behind = Behind(model, shown.frame, scores, evidence, days, played)
    return Ranked(frame=reasoned, notes=notes, common=tuple(common["says"]), behind=behind)


def _refuse_bad_conditions(wishes: Wishes, profiles: pl.DataFrame | None) -> None:
    """Try the conditions on a list of nobody, before anything long is done."""
    nobody, nothing = (pl.DataFrame(schema=dict(table.columns)) for table in (SCORES, FEATURES))
    rank_scores(nobody, nothing, profiles, filters=wishes.filters, threshold=wishes.probability)
