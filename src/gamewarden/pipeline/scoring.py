"""Models before a source: what they look at and say, what has to stand beside it, and where two of them differ."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path

import polars as pl

from gamewarden import detectors, features
from gamewarden.contracts import (
    Card,
    EventStream,
    Feature,
    Model,
    PartedEvents,
    Progress,
    Source,
    Vocabulary,
    no_progress,
)
from gamewarden.core.clock import LAST_MOMENT, Clock
from gamewarden.core.coverage import Coverage
from gamewarden.errors import ConfigError, ModelError, ReadError
from gamewarden.evaluation.backtests import (
    LABEL,
    NOT_KNOWN,
    STYLE,
    Backtest,
    called,
    changes,
    changes_in_short,
    counts_by_group,
    flagged_by_both,
    usual_styles,
)
from gamewarden.evaluation.two_models import by_both, crossings
from gamewarden.features.folding import Measured, folded
from gamewarden.features.signs import Signs
from gamewarden.learning.model_info import family_of
from gamewarden.learning.styles import Styles
from gamewarden.pipeline.measuring import (
    USUAL,
    RunOptions,
    days_like,
    detectors_of_sources,
    feature_of,
    input_of,
    likeness_of,
    measured,
    of_the_time,
    rows_to_judge,
)
from gamewarden.pipeline.models import event_model, load_models, models_for
from gamewarden.readers.logs.operator_tables import read_labels, read_profiles
from gamewarden.store import model_registry
from gamewarden.store import models as stored_models
from gamewarden.store.maintenance_state import MaintenanceState
from gamewarden.streams import WatchedEvents
from gamewarden.tables import TIME, Table
from gamewarden.verdicts.likeness import Likeness
from gamewarden.verdicts.meeting import Limits, Meeting, said_once
from gamewarden.verdicts.points import OperatingPoints
from gamewarden.verdicts.prevalence import SUPPOSED, Prevalence
from gamewarden.verdicts.ranking import rank
from gamewarden.verdicts.reach import otherwise_judged, out_of_reach
from gamewarden.verdicts.saying import Said, meeting_of, say, shared_names, unsure, zone_notes
from gamewarden.verdicts.timeless import TIMELESS


def score(
    source: Source,
    models: Path,
    run: RunOptions = USUAL,
    progress: Progress = no_progress,
    prevalence: Prevalence = SUPPOSED,
) -> Table:
    """SCORES of every actor and period under the model in force of every detector that can see this source.

    Raises:
        ModelError: no model judges what the source holds.
    """
    found = models_for(load_models(models), source, models)
    heard = hear(found, source, run, progress)
    scores = heard.at(prevalence)
    caveats = (*doubted(models, heard.models, scores), *heard.caveats)
    return Table(scores, (*heard.notes, *caveats, *unsure(scores), prevalence.sentence))


@dataclass(frozen=True)
class Heard:
    """What the models that can judge a source say of it."""

    models: tuple[Model, ...]
    shown: Mapping[str, Table]  # what each looked at, by the model's id
    said: Mapping[str, Said]  # likewise
    caveats: tuple[str, ...]  # what stands beside every word of theirs

    def at(self, prevalence: Prevalence) -> pl.DataFrame:
        """SCORES of all of them where bots are so common."""
        return pl.concat([one.at(prevalence) for one in self.said.values()]).sort("actor", "since", "detector")

    @property
    def features(self) -> dict[str, pl.DataFrame]:
        """The FEATURES each model looked at, by its id."""
        return {name: told.frame for name, told in self.shown.items()}

    @property
    def notes(self) -> tuple[str, ...]:
        """What the source and the features have to say, and of several sources how far their names agree."""
        lines = dict.fromkeys(line for told in self.shown.values() for line in told.notes)
        return (*lines, *names_in_common(self.models, {name: told.frame for name, told in self.shown.items()}))


def hear(models: Sequence[Model], source: Source, run: RunOptions = USUAL, progress: Progress = no_progress) -> Heard:
    """Show a source to models, and keep what those say that can judge it.

    Raises:
        ModelError: none of them can.
    """
    shown = measure_for(models, source, run, progress)
    said = {model.card.id: ask(model, shown[model.card.id], run.limits) for model in models}
    refusals = [one.refusal for one in said.values() if one.refusal is not None]
    able = {name: one for name, one in said.items() if one.refusal is None}
    if not able:
        raise ModelError(f"{source.name}: {'; '.join(refusals)}")
    caveats = said_once({name: one.caveats for name, one in able.items()})
    return Heard(
        tuple(one.model for one in able.values()),
        {name: shown[name] for name in able},
        able,
        (*refusals, *caveats),
    )


def names_in_common(models: Iterable[Model], tables: Mapping[str, pl.DataFrame]) -> tuple[str, ...]:
    """How many actors of each kind of source are in the others, where there are several; tables by the model's id."""
    found: dict[str, set[str]] = {}
    for model in models:
        found.setdefault(input_of(model.card.detector), set()).update(tables[model.card.id]["actor"].unique())
    return shared_names(found)


def ask(model: Model, shown: Table, limits: Limits) -> Said:
    """What a model says of the rows it is shown; one that cannot judge their source says nothing."""
    return say(model, feature_of(model.feature), shown, limits)


def measure_for(
    models: Sequence[Model], source: Source, run: RunOptions = USUAL, progress: Progress = no_progress
) -> dict[str, Table]:
    """The FEATURES each model looks at, by the model's id; what several look at is measured once."""
    recipes = {repr(model.feature): model.feature for model in models}
    known = {key: rows_to_judge(feature_of(recipe), source, run, progress) for key, recipe in recipes.items()}
    zones = zone_notes(models, run.time_zone)
    told = {key: replace(one, notes=(*one.notes, *zones)) for key, one in known.items()}
    return {model.card.id: told[repr(model.feature)] for model in models}


def doubted(models: Path, found: Iterable[Model], scores: pl.DataFrame) -> tuple[str, ...]:
    """A line for each model whose SCORES here are of periods that maintenance does not trust."""
    shown = scores.drop_nulls(["since", "until"])
    if not shown.height:
        return ()
    return tuple(line for model in found for line in _lines(models, model.card, shown))


def _lines(models: Path, card: Card, scores: pl.DataFrame) -> Iterator[str]:
    try:
        records = MaintenanceState(models, card.detector).history().records
    except ReadError as error:
        yield f"whether maintenance trusts {card.id} is unknown: {error}"
        return
    if records:
        from gamewarden.drift.trust import untrusted

        yield from untrusted(records, card.id, scores)


def reach_of(models: Sequence[Model], fusion: Model | None, points: OperatingPoints) -> tuple[str, ...]:
    """Why nobody can reach the point to act with these models, or not by some of them alone, where that is so."""
    seen = {family_of(model.feature.name) for model in models}
    inputs = {features.load(model.feature.name).input for model in models}
    others = [
        name
        for name in detectors_of_sources()
        if (other := features.load(detectors.feature_of(name))).name not in {*seen, Signs.name}
        and other.input in inputs
        and not other.about_others
    ]
    return (*_around(models), *out_of_reach(models, fusion, points, others))


def _around(models: Sequence[Model]) -> Iterator[str]:
    """What the detectors that look at those around an actor may lead to."""
    names = [model.card.detector for model in models if features.load(model.feature.name).about_others]
    if names:
        speak = "speaks" if len(names) == 1 else "speak"
        yield (
            f"{' and '.join(names)} {speak} of those around an account: without something in its own behaviour that "
            "says bot, that is a reason to watch and for no more."
        )


def other_voices(directory: Path, model: Model) -> Iterator[str]:
    """Why `judge` may see an account otherwise than this model alone does, where it may."""
    stored = {one.detector for one in model_registry.in_force(directory)}
    kind = features.load(model.feature.name).input
    mates = [name for name in detectors_of_sources() if features.load(detectors.feature_of(name)).input == kind]
    fusing = [name for name in detectors.usable() if detectors.fuses(name)]
    others = [name for name in (*fusing, *mates) if name in stored]
    others = [name for name in others if name != model.card.detector]
    first = next(name for name in detectors.of_feature(model.feature.name) if name in stored)
    alike = all(detectors.feature_of(name) == model.feature.name for name in others) and first == model.card.detector
    return otherwise_judged(model.card.detector, others, alike=alike)


Span = tuple[int, int]  # [since, until) in microseconds


@dataclass(frozen=True)
class PartedView:
    """How models look at events that can be read in parts: what each of their features makes of a part."""

    events: PartedEvents
    models: tuple[Model, ...]
    limits: Limits
    kinds: Callable[[Clock], pl.DataFrame] | None = None  # events by kind and period, where somebody has counted them
    covered: Coverage | None = None  # when the sources were there, where somebody knows more than the events tell
    beside: Mapping[str, Table] = field(default_factory=dict)  # FEATURES of what is no event, by recipe

    @cached_property
    def recipes(self) -> dict[str, Feature]:
        """The features, each once."""
        return {repr(model.feature): feature_of(model.feature) for model in self.models}

    @cached_property
    def likeness(self) -> dict[str, Likeness | None]:
        """In which periods the whole lake speaks as the features' vocabularies; None where nobody counted kinds."""
        return {key: self._likeness(None if key in self.beside else one.learned) for key, one in self.recipes.items()}

    def _likeness(self, learned: Vocabulary | None) -> Likeness | None:
        if learned is None or learned.shares is None:
            return None
        if self.kinds is not None:
            return Likeness.of(learned, self.kinds(learned.clock), self.limits)
        return likeness_of(learned, self.events, self.limits)

    @cached_property
    def coverage(self) -> Coverage:
        """When the lake's sources were there."""
        return self.events.coverage if self.covered is None else self.covered

    @cached_property
    def meetings(self) -> dict[str, Meeting | None]:
        """Each model's vocabulary beside what the lake can show."""
        shows = self.events.shows
        told = {
            key: Table(pl.DataFrame(), shows=shows if one is None else one.shown(shows))
            for key, one in self.likeness.items()
        } | dict(self.beside)
        return {
            model.card.id: meeting_of(model, self.recipes[repr(model.feature)], told[repr(model.feature)])
            for model in self.models
        }

    def features(self, span: Span, actors: Sequence[str] | None = None) -> dict[str, pl.DataFrame]:
        """FEATURES of a period by the model's id, of everybody or of these actors."""
        tables = {
            key: self.rows_beside(key, span, actors)
            if key in self.beside
            else self.told(key, self.measured(key, span, actors).frame).frame
            for key in self.recipes
        }
        return {model.card.id: tables[repr(model.feature)] for model in self.models}

    def rows_beside(self, key: str, span: Span, actors: Sequence[str] | None = None) -> pl.DataFrame:
        """What was measured of another source than the events, of rows that end in a period or in none at all."""
        since, until = (pl.lit(moment).cast(TIME) for moment in span)
        mine = self.beside[key].frame.filter(LAST_MOMENT.is_between(since, until, closed="left") | TIMELESS)
        return mine if actors is None else mine.filter(pl.col("actor").is_in(actors))

    def measured(
        self, key: str, span: Span, actors: Sequence[str] | None = None, progress: Progress = no_progress
    ) -> Measured:
        """What a feature measures in a period."""
        recipe, (since, until) = self.recipes[key], span
        part = self.events.between(since - recipe.divides.before, until)
        if actors is not None and recipe.entity == "actor" and recipe.divides.actors:
            part = part.of(actors)
        found = folded(recipe, WatchedEvents(part, progress))
        return replace(found, frame=of_the_time(found.frame, recipe, since))

    def told(self, key: str, frame: pl.DataFrame) -> Table:
        """FEATURES with the share that is covered of each row's time, without what the lake did not show."""
        seen = Table(frame.with_columns(self.coverage.of(frame)), shows=self.events.shows)
        likeness = self.likeness[key]
        return seen if likeness is None else likeness.applied(seen)


@dataclass(frozen=True)
class BacktestOptions:
    """Which two models, on which past, and by which groups."""

    models: tuple[Path, Path]  # the one in force, and the one that shall follow it
    source: Source
    since: datetime | None
    until: datetime | None
    probability: float  # from which an actor is flagged
    labels: Path | None = None
    profiles: Path | None = None
    by: tuple[str, ...] = ()  # columns of the profiles
    styles: Styles = field(default_factory=Styles)
    prevalence: Prevalence = SUPPOSED  # at which both models are compared


def backtest(question: BacktestOptions, run: RunOptions = USUAL, progress: Progress = no_progress) -> Backtest:
    """Score the same past with both models and put the flagged side by side.

    Raises:
        ModelError: a model is missing, damaged, or judges no events.
        ReadError: the source cannot be read or holds no event of that time.
        ConfigError: a column to group by is none of the profiles.
    """
    old, new = (_model_of_events(path) for path in question.models)
    events = WatchedEvents(question.source.events(question.since, question.until), progress)
    styles = usual_styles(days_like(old.feature).measure(events), question.styles)
    listed = (
        _listed(old, events, run, question.prevalence),
        _listed(new, events, run, question.prevalence),
    )
    if not any(one.height for one in listed):
        raise ReadError(f"{question.source.name}: holds no event between {question.since} and {question.until}")
    both = flagged_by_both(*listed, question.probability)
    grouped = _grouped(both.join(styles, on="actor", how="left"), question, run.time_zone)
    notes = (
        f"A is {old.card.id}, B is {new.card.id}; flagged from a probability of {question.probability} on.",
        question.prevalence.sentence,
        *changes_in_short(grouped),
    )
    return Backtest(counts_by_group(grouped, _groups(question)), changes(grouped), notes)


def _model_of_events(path: Path) -> Model:
    if path.is_dir():
        return event_model(path, None)
    found = detectors.load_model(stored_models.load(path))
    if features.load(found.feature.name).input != "events":
        raise ModelError(f"{path}: judges packets; only models of events can be compared on a log")
    return found


def _listed(model: Model, events: EventStream, run: RunOptions, prevalence: Prevalence) -> pl.DataFrame:
    """One row an actor: its probability over the whole time."""
    shown = measured(feature_of(model.feature), events, run.limits)
    said = ask(model, shown, run.limits)
    if said.refusal is not None:
        raise ModelError(f"backtest: {said.refusal}")
    return rank(said.at(prevalence), shown.frame)


def _grouped(found: pl.DataFrame, question: BacktestOptions, time_zone: str | None) -> pl.DataFrame:
    """Every actor with its groups."""
    if question.labels is not None:
        found = found.join(called(read_labels(question.labels, time_zone).frame), on="actor", how="left")
    if question.by:
        found = found.join(_profiled(question, time_zone), on="actor", how="left")
    return found.with_columns(pl.col(list(_groups(question))).fill_null(NOT_KNOWN))


def _profiled(question: BacktestOptions, time_zone: str | None) -> pl.DataFrame:
    if question.profiles is None:
        raise ConfigError(f"backtest: --by {question.by[0]} needs --profiles FILE, which has the column")
    profiles = read_profiles(question.profiles, time_zone)
    for column in question.by:
        if column not in profiles.columns:
            raise ConfigError(f"{question.profiles}: has no column {column!r}; it has {', '.join(profiles.columns)}")
    return profiles.select("actor", *(pl.col(column).cast(pl.String) for column in question.by))


def _groups(question: BacktestOptions) -> tuple[str, ...]:
    return (STYLE, *((LABEL,) if question.labels is not None else ()), *question.by)


def compare_on(
    models: tuple[Model, Model],
    source: Source,
    listed_from: float,
    run: RunOptions = USUAL,
    *,
    prevalence: Prevalence = SUPPOSED,
    progress: Progress = no_progress,
) -> Table:
    """Who scores differently under two models: both probabilities and FPRs, the largest difference first.

    `listed_from` is the probability from which an account would be listed.

    Raises:
        ModelError: one is a fusion, which scores no source by itself.
    """
    for model in models:
        if detectors.fuses(model.card.detector):
            raise ModelError(f"{model.id} judges scores, not a source; compare the models it hears")
    heard = hear(models, source, run, progress)
    if {model.card.id for model in models} != {model.card.id for model in heard.models}:
        raise ModelError(f"{source.name}: {heard.caveats[0]}")
    shown = heard.at(prevalence)
    table = by_both(*(shown.filter(model=model.card.id) for model in models))
    return Table(table, (*heard.notes, *heard.caveats, prevalence.sentence, *crossings(table, listed_from)))
