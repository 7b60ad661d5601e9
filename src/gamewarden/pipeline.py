"""The batch run: the one file that knows the order of the rooms.

A source becomes a stream of events or packets, these become features, features and labels become a model, features and
a model become scores, and scores become a list of accounts to look at, each with its reasons.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, Self, cast

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from gamewarden import detectors, features
from gamewarden.config import Config
from gamewarden.contracts import Detector, EventStream, Feature, Model, PacketStream, Progress, Recipe, no_progress
from gamewarden.errors import ConfigError, ModelError, ReadError
from gamewarden.evaluation.cross_validation import Evaluation, distinct_units
from gamewarden.evaluation.cross_validation import evaluate as cross_validate
from gamewarden.evaluation.leave_pair_out import MOST_PAIRS, ByProbability, Learns, PairsHeldOut, leave_pair_out
from gamewarden.features.activity import Activity
from gamewarden.features.self_similarity import SelfSimilarity
from gamewarden.features.traffic import TrafficTest
from gamewarden.features.traffic_details import TrafficDetails
from gamewarden.readers.lint import Lint, lint_events
from gamewarden.readers.lint import lint as lint_file
from gamewarden.readers.mapping import load_mapping
from gamewarden.readers.packets import is_capture, open_packets
from gamewarden.readers.small import read_labels, read_profiles, read_vocabulary
from gamewarden.readers.tables import MAX_BAD_SHARE, EventFile, open_events
from gamewarden.spans import parse_span
from gamewarden.store import models as stored_models
from gamewarden.store import shelf
from gamewarden.store.lake import Lake
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
    "traffic": "traffic",
}


@dataclass(frozen=True)
class Reading:
    """How sources are read in this run."""

    mapping: str | None = None
    zone: str | None = None
    max_bad_share: float = MAX_BAD_SHARE
    keep_truncated: bool = False
    server_ports: tuple[int, ...] = ()  # of captures
    accounts: Path | None = None  # who used which address when, for captures
    include_empty: bool = False  # packets without payload


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
            config.evaluate.folds if folds is None else folds,
            config.evaluate.prevalence if prevalence is None else prevalence,
            name,
            MOST_PAIRS if pairs is None else pairs,
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


def open_packet_source(source: Path, reading: Reading) -> PacketStream:
    """A capture or a packet table, or standard input for `-`, as a stream of packets.

    Raises:
        ReadError: it cannot be read.
        ConfigError: a port, the zone or the mapping is none.
    """
    if source.is_dir():
        raise ReadError(f"{source}: is a directory; packets are read from a capture or a packet table")
    return open_packets(
        source,
        reading.server_ports,
        reading.accounts,
        include_empty=reading.include_empty,
        mapping=reading.mapping,
        zone=reading.zone,
    )


def lint(source: Path, reading: Reading) -> Lint:
    """What of a log or a lake can be read, and which detectors of events stay blind."""
    if not source.exists():
        raise ReadError(f"{source}: there is no such file or lake")
    seeing = {name: feature_class_of(name)() for name in FEATURE_OF if food_of(name) == "events"}
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


def food_of(detector: str) -> Literal["events", "packets"]:
    """What a detector's feature is measured from."""
    return feature_class_of(detector).eats


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
    if feature.eats == "packets":
        return _measure_packets(feature, source, reading, progress)
    events = open_source(source, reading)
    measured = _measured(feature, Watched(events, progress))
    return Told(measured.frame, (*_remarks(events), *measured.remarks))


def _measured(feature: Feature, events: EventStream) -> Told:
    """FEATURES, and what could not be counted as it stood."""
    if isinstance(feature, SelfSimilarity):
        frame, usage = feature.measure_with_usage(events)
        return Told(frame, usage.sentences())
    return Told(feature.measure(events))


def _measure_packets(feature: Feature, source: Path, reading: Reading, progress: Progress) -> Told:
    packets = open_packet_source(source, reading)
    frame = feature.measure(cast("Any", packets), progress)
    return Told(frame, (*getattr(feature, "warnings", ()), *packet_remarks(packets)))


def packet_remarks(packets: PacketStream) -> tuple[str, ...]:
    """What the latest reading of packets counted, and where it had to stop."""
    report = getattr(packets, "report", None)
    return () if report is None else tuple(report.lines())


def detector_recipe(name: str, feature: Feature, options: Mapping[str, Any]) -> Detector:
    """A detector's recipe around the recipe of the feature it sees."""
    recipe: Any = detectors.load(name)
    found: Detector = recipe(feature=feature, **options)
    return found


def trace_recipe(name: str, options: Mapping[str, Any]) -> Detector:
    """The recipe of a detector that learns from whole packet traces."""
    return detector_recipe(name, cast("Feature", TrafficDetails()), options)


def fit(
    detector: Detector, source: Path, labels: Path, to: Path, *, reading: Reading, progress: Progress = no_progress
) -> Fitted:
    """Learn from a log and its labels, and keep the model."""
    told = read_labels(labels, reading.zone)
    events = open_source(source, reading)
    frozen = detector.feature.freeze(Watched(events, progress))
    measured = _measured(frozen, Watched(events, progress))
    recipe: Any = detector
    model: Model = replace(recipe, feature=frozen).fit(measured.frame, told.frame)
    path = stored_models.save(model, to)
    return Fitted(model, path, (*_remarks(events), *measured.remarks, *told.notes, *_waiting(model, to)))


def fit_traces(
    detector: Detector,
    traces: Sequence[Path],
    labels: Path,
    to: Path,
    *,
    reading: Reading,
    progress: Progress = no_progress,
) -> Fitted:
    """Learn from captures or packet tables and their labels, and keep the model.

    A trace is an actor. One that is alone in its file and that the labels do not know goes by the file's name.

    Raises:
        ReadError: a source cannot be read, or two sources have an actor in common.
    """
    told = read_labels(labels, reading.zone)
    known = set(told.frame["actor"])
    parts: list[pl.DataFrame] = []
    remarks: list[str] = []
    for source in traces:
        part = _measure_packets(detector.feature, source, reading, progress)
        remarks += [f"{source}: {line}" for line in part.remarks]
        parts.append(_named_after_file(part.frame, source, known))
    _refuse_shared_actors(parts, traces)
    model = detector.fit(pl.concat(parts), told.frame)
    path = stored_models.save(model, to)
    return Fitted(model, path, (*remarks, *told.notes, *_waiting(model, to)))


def _waiting(model: Model, directory: Path) -> tuple[str, ...]:
    """What keeps a model that was just stored from being used, if anything does."""
    fitted = model.card
    standing = next((one.id for one in shelf.in_force(directory) if one.detector == fitted.detector), None)
    if standing == fitted.id:
        return ()
    promote = f"gamewarden model promote {fitted.id} --models {directory}"
    return (f"{standing} was promoted and stays in force; `{promote}` puts this model in its place",)


def _named_after_file(measured: pl.DataFrame, source: Path, known: set[str]) -> pl.DataFrame:
    name = source.name.partition(".")[0]
    alone = measured["actor"].unique().to_list()
    if len(alone) != 1 or alone[0] in known or name not in known:
        return measured
    return measured.with_columns(actor=pl.lit(name))


def _refuse_shared_actors(parts: Sequence[pl.DataFrame], traces: Sequence[Path]) -> None:
    owner: dict[str, Path] = {}
    for part, source in zip(parts, traces, strict=True):
        for actor in part["actor"].unique().sort():
            if actor in owner:
                raise ReadError(
                    f"{source}: {actor!r} is in {owner[actor]} too; name captures by --accounts, or label them by the "
                    "name of their file"
                )
            owner[actor] = source


def traffic_profile(models: Path) -> TrafficTest:
    """The profile of the traffic model in force of a directory.

    Raises:
        ModelError: there is none, or it is damaged.
    """
    (model,) = load_models(models, TrafficTest.name)
    return TrafficTest.from_dict(model.feature.options)


def load_models(directory: Path, detector: str | None = None) -> list[Model]:
    """The model in force of each detector, those that see most first; or of one detector.

    Raises:
        ModelError: there is no such model, or it is damaged.
    """
    found = {stored.detector: stored for stored in shelf.in_force(directory)}
    if detector is not None and detector not in found:
        raise ModelError(f"{directory}: there is no model of {detector!r}, only of {', '.join(found)}")
    names = [name for name in (*FEATURE_OF, *found) if name in found] if detector is None else [detector]
    return [detectors.revive(stored_models.load(found[name].path)) for name in dict.fromkeys(names)]


def score(source: Path, models: Path, reading: Reading, progress: Progress = no_progress) -> Told:
    """SCORES of every actor and period under the model in force of every detector that can see this source.

    Raises:
        ModelError: no model judges what the source holds.
    """
    measured: dict[str, Told] = {}
    scores = []
    for model in _seeing(load_models(models), source, models):
        key = repr(model.feature)
        if key not in measured:
            measured[key] = measure(_feature_of(model.feature), source, reading, progress)
        scores.append(model.score(measured[key].frame))
    frame = pl.concat(scores).sort("actor", "since", "detector")
    remarks = dict.fromkeys(line for told in measured.values() for line in told.remarks)
    return Told(frame, (*remarks, *_unsure(frame)))


def _seeing(models: Sequence[Model], source: Path, shelf: Path) -> list[Model]:
    """The models of what the source holds, where that shows from outside; else those of events before packets."""
    by_food: dict[str, list[Model]] = {}
    for model in models:
        by_food.setdefault(features.load(model.feature.name).eats, []).append(model)
    food = "events" if source.is_dir() else "packets" if is_capture(source) else next(iter(by_food))
    if food not in by_food:
        raise ModelError(f"{shelf}: judges {', '.join(by_food)} and {source} holds {food}; fit a detector of {food}")
    return by_food[food]


def _event_model(models: Path, detector: str | None) -> Model:
    """The model of events that sees most, or the one asked for.

    Raises:
        ModelError: there is none.
    """
    found = load_models(models, detector)[0]
    if features.load(found.feature.name).eats != "events":
        raise ModelError(
            f"{models}: {found.card.id} judges packets, a window at a time; `gamewarden score` and `gamewarden watch` "
            "use it, lists and explanations need a detector of events"
        )
    return found


def rank(source: Path, models: Path, wishes: Wishes, reading: Reading, progress: Progress = no_progress) -> Told:
    """The accounts to look at, highest first, with their reasons."""
    model = _event_model(models, wishes.detector)
    events = open_source(source, reading)
    feature = _feature_of(model.feature)
    measured = feature.measure(Watched(events, progress))
    days = _days_like(feature)
    played = measured if days is feature else days.measure(Watched(events, progress))
    places = Activity(every=days.every, by=days.by, zone=days.zone).measure(Watched(events, progress))
    seen = played.join(places.select("actor", "since", zone="main_zone"), on=["actor", "since"])
    scores = model.score(measured)
    profiles = None if wishes.profiles is None else read_profiles(wishes.profiles, reading.zone)
    listed = rank_scores(scores, seen, profiles, filters=wishes.filters, threshold=wishes.probability)
    suspects = listed.filter(pl.col("probability") >= wishes.probability)
    shown = suspects.head(wishes.top) if wishes.top else suspects
    if hasattr(feature, "chunk"):
        shown = _with_time_to_detection(shown, scores)
    periods = measured.join(shown.select("actor"), on="actor", how="semi")
    hidden = suspects.height - shown.height
    more = (f"{hidden:,} more are not shown; --top 0 lists all",) if hidden else _nobody(listed, suspects, wishes)
    return Told(add_reasons(shown, model.explain(periods)), (*_remarks(events), *more))


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


def ranking_in_short(ranking: pl.DataFrame) -> pl.DataFrame:
    """The columns of a ranking that a person looks at first."""
    first = ("actor", "probability", "alarm", "periods_flagged", "verdict", "streak", "minutes_until_sure")
    then = ("self_sim", "level", "play_minutes", "zone", "reasons")
    return ranking.select(name for name in (*first, *then) if name in ranking.columns)


def explain(
    actor: str, source: Path, models: Path, detector: str | None, *, reading: Reading, progress: Progress = no_progress
) -> Story:
    """What one actor did, and why it scores as it does.

    Raises:
        ReadError: the source has no event of this actor.
    """
    model = _event_model(models, detector)
    feature = _feature_of(model.feature)
    by = "character" if getattr(feature, "by", "account") == "character" else "actor"
    alone = OneActor(Watched(open_source(source, reading), progress), by, actor)
    measured = feature.measure(alone)
    if not measured.height:
        raise ReadError(f"{source}: has no event of {by} {actor!r}")
    scores = model.score(measured)
    highest = scores.sort("probability", "since", descending=[True, True], nulls_last=True).head(1)
    period = measured.join(highest.select("actor", "since"), on=["actor", "since"], how="semi")
    windows = _days_like(feature).windows(alone, actor)
    inside = windows.filter(pl.col("since") >= period["since"][0], pl.col("since") < period["until"][0])
    return Story(actor, model, scores, model.explain(period), period, inside)


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
    plot_windows(story.windows, path, f"{story.actor}: one dot a window; a flat band is a routine")


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


def _days_like(feature: Feature) -> SelfSimilarity:
    """The recipe that shows a player's days and windows to people, whatever the detector looked at."""
    if isinstance(feature, SelfSimilarity):
        return feature
    return SelfSimilarity(by=getattr(feature, "by", "account"), zone=getattr(feature, "zone", None))


def _with_time_to_detection(ranking: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    """A ranking with what an actor's chunks add up to."""
    wanted = ("belief", "verdict", "streak", "chunks_until_sure", "minutes_until_sure")
    return ranking.join(roll_up(scores).select("actor", *wanted), on="actor", how="left", maintain_order="left")


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
