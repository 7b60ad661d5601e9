"""The batch run: the one file that knows the order of the rooms.

A source becomes a stream of events, events become features, features and labels become a model, features and a model
become scores, and scores become a list of accounts to look at, each with its reasons.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self, cast

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from gamewarden import detectors, features
from gamewarden.config import Config
from gamewarden.contracts import Detector, EventStream, Feature, Model, Progress, Recipe, no_progress
from gamewarden.errors import ConfigError, ModelError, ReadError
from gamewarden.evaluation.cross_validation import Evaluation, distinct_units
from gamewarden.evaluation.cross_validation import evaluate as cross_validate
from gamewarden.evaluation.leave_pair_out import MOST_PAIRS, ByProbability, Learns, PairsHeldOut, leave_pair_out
from gamewarden.readers.lint import Lint, lint_events
from gamewarden.readers.lint import lint as lint_file
from gamewarden.readers.mapping import load_mapping
from gamewarden.readers.small import read_labels, read_profiles, read_vocabulary
from gamewarden.readers.tables import MAX_BAD_SHARE, EventFile, open_events
from gamewarden.spans import parse_span
from gamewarden.store import models as shelf
from gamewarden.store.lake import Lake
from gamewarden.tables import TIME
from gamewarden.verdicts.chunks import roll_up
from gamewarden.verdicts.filters import Filter, parse_filter
from gamewarden.verdicts.ranking import add_reasons
from gamewarden.verdicts.ranking import rank as rank_scores

FOLDS, LEAVE_PAIR_OUT = "folds", "leave-pair-out"
# What each protocol tries where no detector is named: the family it was published for.
FEATURE_TRIED = {FOLDS: "self-similarity", LEAVE_PAIR_OUT: "actions"}
# The feature family each detector sees, and the detectors from the widest view to the narrowest.
FEATURE_OF = {
    "account-day": "self-similarity",
    "self-similarity": "self-similarity",
    "actions-interval": "actions",
    "actions-frequency": "actions",
    "actions-two-stage": "actions",
}


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
    name: str = FOLDS
    pairs: int = MOST_PAIRS

    @classmethod
    def of(
        cls,
        config: Config,
        *,
        group: str | None,
        folds: int | None,
        prevalence: float | None,
        name: str = FOLDS,
        pairs: int | None = None,
    ) -> Self:
        """What the command line asks for, and warden.toml where it is silent."""
        return cls(
            group,
            folds or config.evaluate.folds,
            prevalence or config.evaluate.prevalence,
            name,
            pairs or MOST_PAIRS,
        )


@dataclass(frozen=True)
class Wishes:
    """Who shall stand on the list."""

    probability: float
    top: int
    detector: str | None = None
    profiles: Path | None = None
    filters: tuple[Filter, ...] = field(default=())

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
        )


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
    """What of a log or a lake can be read, and which detectors stay blind."""
    if not source.exists():
        raise ReadError(f"{source}: there is no such file or lake")
    seeing = {name: features.load(feature)() for name, feature in FEATURE_OF.items()}
    if source.is_dir():
        return lint_events(open_source(source, reading), str(source), seeing)
    mapping = None if reading.mapping is None else load_mapping(reading.mapping)
    return lint_file(source, mapping, zone=reading.zone, detectors=seeing)


def read(source: Path, lake: Path, reading: Reading, progress: Progress = no_progress) -> Told:
    """Take a log file into a lake; one row of what came in, with what was wrong in it as remarks."""
    file = _open_file(source, reading).numbered()
    added = Lake(lake).add(cast("Any", Watched(file, progress)))
    remarks = _remarks(file) if added.new else ()
    row = {
        "source": str(source),
        "new": added.new,
        "already_there": added.known,
        "days": len(added.days),
        "note": added.note,
    }
    return Told(pl.DataFrame([row], schema_overrides={"note": pl.String}), remarks)


def feature_class_of(detector: str) -> type[Feature]:
    """The recipe class of the feature a detector sees."""
    return features.load(FEATURE_OF[detector])


def feature_recipe(name: str, options: Mapping[str, Any], config: Config, reading: Reading) -> Feature:
    """A feature's recipe from the command line's options, with warden.toml where they are silent."""
    recipe = features.load(name)
    said = {option: value for option, value in options.items() if value is not None}
    if isinstance(said.get("vocabulary"), Path):
        said["vocabulary"] = read_vocabulary(said["vocabulary"])
    known = {
        "unit": parse_span(config.measure.unit),
        "every": parse_span(config.measure.every),
        "min_windows": config.measure.min_windows,
        "zone": reading.zone,
    }
    names = {option.name for option in fields(cast("Any", recipe))}
    return recipe(**{option: value for option, value in (known | said).items() if option in names})


def measure(feature: Feature, source: Path, reading: Reading, progress: Progress = no_progress) -> Told:
    """FEATURES of a source."""
    events = open_source(source, reading)
    frame = feature.measure(Watched(events, progress))
    return Told(frame, _remarks(events))


def detector_recipe(name: str, feature: Feature, options: Mapping[str, Any]) -> Detector:
    """A detector's recipe around the recipe of the feature it sees."""
    recipe: Any = detectors.load(name)
    found: Detector = recipe(feature=feature, **options)
    return found


def fit(
    detector: Detector, source: Path, labels: Path, to: Path, *, reading: Reading, progress: Progress = no_progress
) -> Fitted:
    """Learn from a log and its labels, and keep the model."""
    told = read_labels(labels, reading.zone)
    events = open_source(source, reading)
    frozen = detector.feature.freeze(Watched(events, progress))
    measured = frozen.measure(Watched(events, progress))
    recipe: Any = detector
    model: Model = replace(recipe, feature=frozen).fit(measured, told.frame)
    return Fitted(model, shelf.save(model, to), (*_remarks(events), *told.notes))


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
    seen = _with_places(measured, feature, Watched(events, progress))
    scores = model.score(measured)
    profiles = None if wishes.profiles is None else read_profiles(wishes.profiles, reading.zone)
    listed = rank_scores(scores, seen, profiles, filters=wishes.filters, threshold=wishes.probability)
    suspects = listed.filter(pl.col("probability") >= wishes.probability)
    shown = suspects.head(wishes.top) if wishes.top else suspects
    if hasattr(feature, "chunk"):
        shown = _with_time_to_detection(shown, scores)
    periods = measured.join(shown.select("actor"), on="actor", how="semi")
    hidden = suspects.height - shown.height
    more = (f"{hidden:,} more are not shown; --top 0 lists all",) if hidden else ()
    return Told(add_reasons(shown, model.explain(periods)), (*_remarks(events), *more))


def ranking_in_short(ranking: pl.DataFrame) -> pl.DataFrame:
    """The columns of a ranking that a person looks at first."""
    wanted = (
        "actor",
        "probability",
        "alarm",
        "periods_flagged",
        "verdict",
        "streak",
        "minutes_until_sure",
        "self_sim",
        "level",
        "play_minutes",
        "zone",
        "reasons",
    )
    return ranking.select(name for name in wanted if name in ranking.columns)


def explain(
    actor: str, source: Path, models: Path, detector: str | None, *, reading: Reading, progress: Progress = no_progress
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
    inside = _windows(feature, alone, actor, period)
    return Story(actor, model, scores, model.explain(period), period, inside)


def _windows(feature: Any, events: EventStream, actor: str, period: pl.DataFrame) -> pl.DataFrame:  # noqa: ANN401  any feature, with windows or without
    """The windows of a period, of a feature that has such."""
    if not hasattr(feature, "windows"):
        return pl.DataFrame(schema={"since": TIME, "cosine": pl.Float64})
    windows: pl.DataFrame = feature.windows(events, actor)
    return windows.filter(pl.col("since") >= period["since"][0], pl.col("since") < period["until"][0])


@dataclass(frozen=True)
class Evaluated:
    """How good the detectors are, and the features that were used."""

    result: Evaluation | PairsHeldOut
    measured: pl.DataFrame
    labels: pl.DataFrame
    remarks: tuple[str, ...]


def detectors_to_try(names: Sequence[str], protocol: Protocol) -> tuple[str, ...]:
    """The detectors of an evaluation: those named, or all that see what the protocol was published for.

    Raises:
        ConfigError: one is unknown, or they do not see the same feature.
    """
    for name in names:
        if name not in FEATURE_OF:
            raise ConfigError(f"evaluate: {name!r} cannot be tried on a log; choose among {', '.join(FEATURE_OF)}")
    tried = tuple(names) or tuple(name for name, seen in FEATURE_OF.items() if seen == FEATURE_TRIED[protocol.name])
    if len({FEATURE_OF[name] for name in tried}) > 1:
        sees = ", ".join(f"{name} sees {FEATURE_OF[name]}" for name in tried)
        raise ConfigError(f"evaluate: {sees}; evaluate those of one feature at a time")
    return tried


def evaluate(
    feature: Feature,
    source: Path,
    labels: Path,
    protocol: Protocol,
    *,
    tried: Sequence[str] = (),
    reading: Reading,
    progress: Progress = no_progress,
) -> Evaluated:
    """Try detectors that see this feature on actors or groups they have not seen."""
    told = read_labels(labels, reading.zone)
    if protocol.group is not None and protocol.group not in told.frame.columns:
        raise ConfigError(
            f"{labels}: has no column {protocol.group!r} to group by; it has {', '.join(told.frame.columns)}"
        )
    events = open_source(source, reading)
    seeing = [
        detector_recipe(name, feature, {})
        for name, seen in FEATURE_OF.items()
        if seen == feature.name and name in (tried or FEATURE_OF)
    ][::-1]
    measured = seeing[0].feature.measure(Watched(events, progress))
    run = _pairs_held_out if protocol.name == LEAVE_PAIR_OUT else _folds_held_out
    result = run(seeing, measured, told.frame, protocol)
    return Evaluated(result, measured, told.frame, (*_remarks(events), *told.notes, *result.notes))


def _folds_held_out(
    seeing: Sequence[Detector], measured: pl.DataFrame, labels: pl.DataFrame, protocol: Protocol
) -> Evaluation:
    groups = None
    if protocol.group is not None:
        groups = labels.select("actor", group=pl.col(protocol.group).cast(pl.String))
    return cross_validate(seeing, measured, labels, groups=groups, folds=protocol.folds, prevalence=protocol.prevalence)


def _pairs_held_out(
    seeing: Sequence[Detector], measured: pl.DataFrame, labels: pl.DataFrame, protocol: Protocol
) -> PairsHeldOut:
    grouped = labels.with_columns(group=pl.col(protocol.group).cast(pl.String)) if protocol.group else labels
    methods = [cast("Learns", one) if hasattr(one, "learn") else ByProbability(one) for one in seeing]
    return leave_pair_out(methods, measured, grouped, most=protocol.pairs)


def evaluation_in_short(result: Evaluation | PairsHeldOut) -> pl.DataFrame:
    """The columns of an evaluation that a person looks at first, the interval as one text."""
    summary = result.summary
    if isinstance(result, PairsHeldOut):
        interval = pl.format("{} – {}", pl.col("mcc_low").round(3), pl.col("mcc_high").round(3)).alias("95 %")
        return summary.select("detector", "pairs", "bots", "humans", "mcc", interval, "recall", "fpr", "unsure")
    interval = pl.format("{} – {}", pl.col("auc_low").round(3), pl.col("auc_high").round(3)).alias("95 %")
    wanted = ("tpr_at_1pct", "tpr_at_0_1pct", "precision_at_1pct", "prevalence")
    return distinct_units(summary).select("detector", "unit", "bots", "humans", "auc", interval, *wanted)


def draw_evaluation(evaluated: Evaluated, path: Path) -> None:
    """The ROC curves as a picture.

    Raises:
        ConfigError: the protocol knows decisions only, and no ranking to draw.
    """
    from gamewarden.evaluation.plots import plot_roc

    if isinstance(evaluated.result, PairsHeldOut):
        raise ConfigError("evaluate: leave-pair-out counts decisions, so there is no ROC curve; leave --plot out")
    plot_roc(evaluated.result.scores, path)


def draw_story(story: Story, path: Path) -> None:
    """One actor's windows as a picture.

    Raises:
        ConfigError: the model looks at something that has no windows.
    """
    from gamewarden.evaluation.plots import plot_windows

    if not story.windows.height:
        raise ConfigError(f"explain: {story.model.feature.name} has no windows to draw; leave --plot out")
    plot_windows(story.windows, path, f"{story.actor}: how varied each window is")


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


def _with_places(measured: pl.DataFrame, feature: Feature, events: EventStream) -> pl.DataFrame:
    """FEATURES with the main zone of each period, where periods are those of a clock."""
    if not hasattr(feature, "every"):
        return measured
    places = _activity_like(feature).measure(events)
    period = ["actor", "since", "until"]
    return measured.join(places.select(*period, zone="main_zone"), on=period)


def _with_time_to_detection(ranking: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    """A ranking with what an actor's chunks add up to."""
    wanted = ("belief", "verdict", "streak", "chunks_until_sure", "minutes_until_sure")
    return ranking.join(roll_up(scores).select("actor", *wanted), on="actor", how="left", maintain_order="left")


def _activity_like(feature: Feature) -> Feature:
    """The recipe of where actors are, for the same periods."""
    chosen = {name: getattr(feature, name) for name in ("every", "by", "zone")}
    recipe: Any = features.load("activity")
    found: Feature = recipe(**chosen)
    return found


def _remarks(events: EventStream) -> tuple[str, ...]:
    """What was wrong in a file; the first sentence of a report only counts the rows."""
    report = getattr(events, "report", None)
    return () if report is None else tuple(report.sentences()[1:])


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
