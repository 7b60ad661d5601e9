"""The batch run: the one file that knows the order of the rooms.

A source becomes a stream of events, events become features, features and labels become a model, features and a model
become scores, and scores become a list of accounts to look at, each with its reasons.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self, cast

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from gamewarden import detectors, features
from gamewarden.config import Config
from gamewarden.contracts import Detector, EventStream, Feature, Model, Progress, Recipe, no_progress
from gamewarden.errors import ConfigError, ModelError, ReadError
from gamewarden.evaluation.cross_validation import Evaluation
from gamewarden.evaluation.cross_validation import evaluate as cross_validate
from gamewarden.features.self_similarity import SelfSimilarity
from gamewarden.readers.lint import Lint
from gamewarden.readers.lint import lint as lint_file
from gamewarden.readers.mapping import load_mapping
from gamewarden.readers.small import read_labels, read_table, read_vocabulary
from gamewarden.readers.tables import MAX_BAD_SHARE, EventFile, open_events
from gamewarden.spans import parse_span
from gamewarden.store import models as shelf
from gamewarden.store.lake import Lake
from gamewarden.verdicts.filters import Filter, parse_filter
from gamewarden.verdicts.ranking import rank as rank_scores

# The feature family each detector sees, and the detectors from the widest view to the narrowest.
FEATURE_OF = {"account-day": "self-similarity", "self-similarity": "self-similarity"}


@dataclass(frozen=True)
class Reading:
    """How sources are read in this run."""

    mapping: str | None = None
    zone: str | None = None
    max_bad_share: float = MAX_BAD_SHARE
    keep_truncated: bool = False


@dataclass(frozen=True)
class Told:
    """A table, and what has to be said beside it."""

    frame: pl.DataFrame
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fitted:
    """A model, where it is kept, and what has to be said beside it."""

    model: Model
    path: Path
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Story:
    """All that is known of one actor under one model."""

    actor: str
    model: Model
    scores: pl.DataFrame
    evidence: pl.DataFrame  # of the period that scores highest
    measured: pl.DataFrame
    windows: pl.DataFrame


@dataclass(frozen=True)
class Protocol:
    """How an evaluation splits and states its results."""

    group: str | None
    folds: int
    prevalence: float

    @classmethod
    def of(cls, config: Config, *, group: str | None, folds: int | None, prevalence: float | None) -> Self:
        """What the command line asks for, and warden.toml where it is silent."""
        return cls(group, folds or config.evaluate.folds, prevalence or config.evaluate.prevalence)


@dataclass(frozen=True)
class Wishes:
    """Who shall stand on the list."""

    probability: float
    top: int
    detector: str | None = None
    profiles: Path | None = None
    filters: tuple[Filter, ...] = field(default=())


def open_source(source: Path, reading: Reading) -> EventStream:
    """A lake or a log file as a stream of events.

    Raises:
        ReadError: there is neither, or it cannot be read.
    """
    if source.is_dir():
        if Lake.is_at(source):
            return Lake(source).events()
        raise ReadError(f"{source}: is a directory and not a lake; `gamewarden read FILE… --to {source}` makes one")
    return _open_file(source, reading)


def _open_file(source: Path, reading: Reading) -> EventFile:
    mapping = None if reading.mapping is None else load_mapping(reading.mapping)
    return open_events(
        source,
        mapping,
        zone=reading.zone,
        max_bad_share=reading.max_bad_share,
        keep_truncated=reading.keep_truncated,
    )


def lint(source: Path, reading: Reading) -> Lint:
    """What of a log can be read, and which features stay blind."""
    mapping = None if reading.mapping is None else load_mapping(reading.mapping)
    return lint_file(source, mapping, zone=reading.zone, features=[features.load(name) for name in features.NAMES])


def read(source: Path, lake: Path, reading: Reading, progress: Progress = no_progress) -> Told:
    """Take a log file into a lake; one row of what came in, with what was wrong in it as remarks."""
    file = _open_file(source, reading).numbered()
    added = Lake(lake).add(cast("Any", Watched(file, progress)))
    remarks = () if not added.new and not added.known else tuple(file.report.sentences())
    row = {
        "source": str(source),
        "new": added.new,
        "already_there": added.known,
        "days": len(added.days),
        "note": added.note,
    }
    return Told(pl.DataFrame([row], schema_overrides={"note": pl.String}), remarks)


def feature_recipe(name: str, options: dict[str, Any], config: Config) -> Feature:
    """A feature's recipe from the command line's options, with warden.toml where they are silent."""
    recipe = features.load(name)
    vocabulary = options.pop("vocabulary", None)
    if isinstance(vocabulary, Path):
        options["vocabulary"] = read_vocabulary(vocabulary)
    return recipe(**(_configured(recipe, config) | options))


def _configured(recipe: type[Feature], config: Config) -> dict[str, Any]:
    policy = config.measure
    known = {"unit": parse_span(policy.unit), "every": parse_span(policy.every), "min_windows": policy.min_windows}
    return {name: value for name, value in known.items() if name in recipe.__dataclass_fields__}  # type: ignore[attr-defined]  # every recipe is a dataclass


def measure(feature: Feature, source: Path, reading: Reading, progress: Progress = no_progress) -> Told:
    """FEATURES of a source."""
    events = open_source(source, reading)
    frame = feature.measure(Watched(events, progress))
    return Told(frame, _remarks(events))


def detector_recipe(name: str, options: dict[str, Any], of_feature: dict[str, Any], config: Config) -> Detector:
    """A detector's recipe around the recipe of the feature it sees."""
    feature = feature_recipe(FEATURE_OF[name], of_feature, config)
    return detectors.load(name)(feature=feature, **options)


def fit(
    detector: Detector, source: Path, labels: Path, to: Path, reading: Reading, progress: Progress = no_progress
) -> Fitted:
    """Learn from a log and its labels, and keep the model."""
    told = read_labels(labels)
    events = open_source(source, reading)
    frozen = detector.feature.freeze(Watched(events, progress))
    measured = frozen.measure(Watched(events, progress))
    model = replace(cast("Any", detector), feature=frozen).fit(measured, told.frame)
    return Fitted(model, shelf.save(model, to), (*_remarks(events), *told.remarks))


def load_models(directory: Path, detector: str | None = None) -> list[Model]:
    """The newest model of each detector, those that see most first; or of one detector.

    Raises:
        ModelError: there is no such model, or it is damaged.
    """
    found = {stored.detector: stored for stored in shelf.newest(directory)}
    if detector is not None and detector not in found:
        raise ModelError(f"{directory}: there is no model of {detector!r}, only of {', '.join(found)}")
    names = [name for name in (*FEATURE_OF, *found) if name in found] if detector is None else [detector]
    return [detectors.revive(shelf.load(found[name].path)) for name in dict.fromkeys(names)]


def score(source: Path, models: Path, reading: Reading, progress: Progress = no_progress) -> Told:
    """SCORES of every actor and period under every detector's newest model."""
    events = open_source(source, reading)
    measured: dict[str, pl.DataFrame] = {}
    scores = []
    for model in load_models(models):
        key = repr(model.feature)
        if key not in measured:
            measured[key] = _feature_of(model.feature).measure(Watched(events, progress))
        scores.append(model.score(measured[key]))
    frame = pl.concat(scores).sort("actor", "since", "detector")
    return Told(frame, (*_remarks(events), *_unsure(frame)))


def rank(source: Path, models: Path, wishes: Wishes, reading: Reading, progress: Progress = no_progress) -> Told:
    """The accounts to look at, highest first, with their reasons."""
    model = load_models(models, wishes.detector)[0]
    events = open_source(source, reading)
    feature = _feature_of(model.feature)
    measured = feature.measure(Watched(events, progress))
    places = _activity_like(feature).measure(Watched(events, progress))
    seen = measured.join(places.select("actor", "since", "until", zone="main_zone"), on=["actor", "since", "until"])
    scores = model.score(measured)
    profiles = None if wishes.profiles is None else read_table(wishes.profiles)
    listed = rank_scores(scores, seen, profiles, filters=wishes.filters, threshold=wishes.probability)
    suspects = listed.filter(pl.col("probability") >= wishes.probability)
    shown = suspects.head(wishes.top) if wishes.top else suspects
    periods = measured.join(shown.select("actor"), on="actor", how="semi")
    more = (f"{suspects.height - shown.height} more are not shown; --top 0 lists all",) * (suspects.height > shown.height)
    return Told(add_reasons(shown, model.explain(periods)), (*_remarks(events), *more))


def explain(
    actor: str, source: Path, models: Path, detector: str | None, reading: Reading, progress: Progress = no_progress
) -> Story:
    """What one actor did, and why it scores as it does.

    Raises:
        ReadError: the source has no event of this actor.
    """
    model = load_models(models, detector)[0]
    feature = _feature_of(model.feature)
    by = "character" if getattr(feature, "by", "account") == "character" else "actor"
    alone = OneActor(Watched(open_source(source, reading), progress), by, actor)
    measured = feature.measure(alone)
    if not measured.height:
        raise ReadError(f"{source}: has no event of {by} {actor!r}")
    scores = model.score(measured)
    highest = scores.sort("probability", "since", descending=[True, True], nulls_last=True).head(1)
    period = measured.join(highest.select("actor", "since"), on=["actor", "since"], how="semi")
    windows = cast("SelfSimilarity", feature).windows(alone, actor)
    inside = windows.filter(pl.col("since") >= period["since"][0], pl.col("since") < period["until"][0])
    return Story(actor, model, scores, model.explain(period), period, inside)


@dataclass(frozen=True)
class Evaluated:
    """How good the detectors are, and the features that were used."""

    result: Evaluation
    measured: pl.DataFrame
    labels: pl.DataFrame
    remarks: tuple[str, ...]


def evaluate(
    feature: Feature,
    source: Path,
    labels: Path,
    protocol: Protocol,
    reading: Reading,
    progress: Progress = no_progress,
) -> Evaluated:
    """Cross-validate every detector that sees this feature, by actor or by group."""
    told = read_labels(labels)
    groups = None
    if protocol.group is not None:
        if protocol.group not in told.frame.columns:
            raise ConfigError(f"{labels}: has no column {protocol.group!r} to group by; it has {', '.join(told.frame.columns)}")
        groups = told.frame.select("actor", group=pl.col(protocol.group).cast(pl.String))
    events = open_source(source, reading)
    measured = feature.measure(Watched(events, progress))
    seeing = [detectors.load(name)(feature=feature) for name, seen in FEATURE_OF.items() if seen == feature.name]
    result = cross_validate(
        seeing[::-1], measured, told.frame, groups=groups, folds=protocol.folds, prevalence=protocol.prevalence
    )
    return Evaluated(result, measured, told.frame, (*_remarks(events), *told.remarks, *result.notes))


class Watched:
    """A stream that reports how many rows have passed."""

    def __init__(self, events: EventStream, progress: Progress) -> None:
        self._events = events
        self._progress = progress

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever the stream has beside its batches
        return getattr(self._events, name)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The stream's own batches."""
        for batch in self._events.batches(columns):
            yield batch
            self._progress(batch.num_rows)


class OneActor:
    """The events of one actor among all."""

    def __init__(self, events: EventStream, column: str, actor: str) -> None:
        self._events = events
        self._column = column
        self._actor = actor
        self.columns = events.columns
        self.rows: int | None = None

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Their rows in the source's order."""
        needed = list(dict.fromkeys([*columns, self._column]))
        for batch in self._events.batches(needed):
            kept = batch.filter(pc.equal(batch.column(self._column).cast(pa.string()), self._actor))
            if kept.num_rows:
                yield kept.select(list(columns))


def _feature_of(recipe: Recipe) -> Feature:
    return features.load(recipe.name).from_dict(recipe.options)


def _activity_like(feature: Feature) -> Feature:
    """The recipe of where actors are, for the same periods."""
    chosen = {name: getattr(feature, name) for name in ("every", "by", "zone")}
    return features.load("activity")(**chosen)


def _remarks(events: EventStream) -> tuple[str, ...]:
    report = getattr(events, "report", None)
    return () if report is None else tuple(report.sentences())


def _unsure(scores: pl.DataFrame) -> tuple[str, ...]:
    unsure = scores["probability"].null_count()
    return (f"{unsure:,} of {scores.height:,} scores are empty: too little evidence to say",) * (unsure > 0)


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
