"""From a source to the numbers a detector looks at, and what has to be said beside them."""

import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from gamewarden import detectors, features
from gamewarden.config import Config, Privacy
from gamewarden.contracts import (
    Bounds,
    EventStream,
    Feature,
    Growing,
    KnowsAccounts,
    LogSource,
    MessageStream,
    Model,
    Progress,
    Recipe,
    Source,
    Stream,
    StreamKind,
    Vocabulary,
    no_progress,
)
from gamewarden.core.coverage import COVERED
from gamewarden.core.durations import from_micros, parse_span
from gamewarden.core.files import make_directory
from gamewarden.core.sizes import parse_size
from gamewarden.errors import MeasureError, ModelError, ReadError, Remark
from gamewarden.features.folding import folded
from gamewarden.features.kinds import kinds_by_period
from gamewarden.features.self_similarity.recipe import By, SelfSimilarity
from gamewarden.features.signs import Signs
from gamewarden.presentation.vocabularies import said_over
from gamewarden.readers.label_folders import messages_in_short, named_after_file, sessions_lost
from gamewarden.readers.logs.operator_tables import read_vocabulary
from gamewarden.store.forgotten import Forgotten
from gamewarden.store.hashed_log import HashedLog
from gamewarden.store.known_rows import Added
from gamewarden.store.lake import Lake, LakeBatch
from gamewarden.streams import Unquestioned, WatchedEvents, WatchedLog, WatchedMessages, WatchedPackets, WatchedRows
from gamewarden.tables import SESSIONS, TIME, Table, check, write_table
from gamewarden.verdicts.likeness import Likeness
from gamewarden.verdicts.meeting import Limits, least_of_row
from gamewarden.verdicts.sighting import alike, sighted

if TYPE_CHECKING:
    from gamewarden.presentation.checkup import Checkup
    from gamewarden.readers.logs.lint import Lint, Needs

NO_ROWS = "it has no rows to take in; it is read again once it has grown"
_SAME_SESSION = ("actor", "since", "until", "events")  # a session that comes twice: as a stream and in a capture


@dataclass(frozen=True)
class RunOptions:
    """What a run goes by, whatever it reads."""

    time_zone: str | None = None  # of its days, and of times in labels and profiles written without one
    limits: Limits = field(default=Limits())  # how much a model and a source must have in common


USUAL = RunOptions()


def limits_of(config: Config) -> Limits:
    """How much a model and a source must have in common, by the settings."""
    return Limits(**asdict(config.origin), covered=config.coverage.least)


def bounds_of(config: Config, *, one_sided: bool = False, memory: int | None = None) -> Bounds:
    """How much a watch may remember, by the settings; `memory` in bytes is given instead of the setting.

    Raises:
        ConfigError: the memory is less than the program itself takes.
    """
    watch = config.watch
    bounds = Bounds(watch.players, watch.unproven, parse_span(watch.keep), one_sided, parse_span(watch.idle))
    given = memory or (parse_size(watch.memory) if watch.memory else None)
    return bounds if given is None else bounds.within(given)


def stream_for(feature: Feature, source: Source, progress: Progress = no_progress) -> Stream:
    """The source as the stream that this feature measures, watched.

    Raises:
        ReadError: it cannot be read as such.
        ConfigError: a way of reading it is none.
    """
    match feature.input:
        case "events":
            return WatchedEvents(source.events(), progress)
        case "packets":
            return WatchedPackets(source.packets(), progress)
        case "messages":
            return WatchedMessages(source.messages(strict=feature.strict), progress)
        case "table":
            return WatchedRows(source.rows(), progress)
        case "scores":
            raise ReadError(f"{source.name}: {feature.name} is what other models say, and is measured from no source")


def given_to(stream: Stream) -> EventStream:
    """A stream as a feature's contract names it; what a feature takes, its `input` says."""
    return cast("EventStream", stream)


def lint(source: Source) -> "Lint":
    """What of a log or a lake can be read, and which detectors and features of events stay blind.

    Raises:
        ReadError: there is nothing at that place.
    """
    from gamewarden.readers.linting import lint_source
    from gamewarden.readers.logs.lint import DETECTOR, FEATURE

    seeing: dict[str, Needs] = {
        name: feature_class_of(name)() for name in detectors_of_sources() if input_of(name) == "events"
    }
    seen = {detectors.feature_of(name) for name in seeing}
    alone: dict[str, Needs] = {
        name: features.load(name)()
        for name in features.usable()
        if name not in seen and features.load(name).input == "events"
    }
    called = {(DETECTOR, name): detectors.REGISTRY.credit(name) for name in seeing}
    called |= {(FEATURE, name): features.REGISTRY.credit(name) for name in alone}
    return replace(lint_source(source, seeing, alone), called=called)


def doctor(source: Source, settings: Sequence[Path] = ()) -> "Checkup":
    """What a game server's database lets each detector see, and what would let it see more.

    Files of the server's settings say what its lines are now.

    Raises:
        ReadError: the source is no such database, or cannot be read.
    """
    from gamewarden.presentation.checkup import Checkup, Vision
    from gamewarden.readers.databases.source import DatabaseSource
    from gamewarden.readers.logs.lint import lint_events
    from gamewarden.readers.servers.diagnosis import diagnose

    if not isinstance(source, DatabaseSource):
        raise ReadError(f"{source.name}: is no database of a game server; `gamewarden lint` looks at logs")
    found = diagnose(source, settings)
    names = detectors_of_sources()
    seeing: dict[str, Needs] = {name: feature_class_of(name)() for name in names if input_of(name) == "events"}
    recent = source.recent()
    look = lint_events(recent, source.name, seeing, form=f"events of {found.server}")
    # A kind that its tables would tell was just not done lately.
    poorer = [{lack: what for lack, what in one.poorer.items() if lack not in source.promised} for one in look.sights]
    seen = [Vision.of(one.name, one.blind, lacks) for one, lacks in zip(look.sights, poorer, strict=True)]
    elsewhere = [Vision.elsewhere(name, input_of(name)) for name in names if name not in seeing]
    refused = {str(one) for one in source.refused}
    notes = tuple(line for line in recent.notes if line not in refused)
    return Checkup(found, (*seen, *elsewhere), {**look.reserved, **look.unmapped}, look.problem, notes)


def detectors_of_sources() -> tuple[str, ...]:
    """The detectors that judge what a source shows; one whose feature cannot be loaded is a remark."""
    return tuple(name for name in detectors.of_sources() if _sees(name))


def _sees(detector: str) -> bool:
    try:
        feature_class_of(detector)
    except MeasureError as error:
        warnings.warn(f"detector {detectors.REGISTRY.credit(detector)} is left out: {error}", Remark, stacklevel=2)
        return False
    return True


def feature_class_of(detector: str) -> type[Feature]:
    """The recipe class of the feature a detector sees."""
    return features.load(detectors.feature_of(detector))


def input_of(detector: str) -> StreamKind:
    """What a detector's feature is measured from."""
    return "scores" if detectors.fuses(detector) else feature_class_of(detector).input


def read(source: Source, lake: Path, progress: Progress = no_progress, privacy: Privacy | None = None) -> Table:
    """Take a log into a lake; one row of what came in, with what was wrong in it as notes.

    Identifiers that `privacy` names are hashed before the lake has them.

    Raises:
        ReadError: it cannot be read, or the lake has its rows in another shape.
        ConfigError: identifiers are to be hashed, and there is no key.
    """
    with Lake(lake).batch() as batch:
        return read_into(batch, source, progress, privacy)


def lake_batch(lake: Path) -> AbstractContextManager[LakeBatch]:
    """Many sources that are taken into one lake; see `LakeBatch`."""
    return Lake(lake).batch()


def read_into(
    batch: LakeBatch, source: Source, progress: Progress = no_progress, privacy: Privacy | None = None
) -> Table:
    """Take one of many logs into a lake; it is there for good once the batch is saved."""
    growing = isinstance(source, Growing)
    lake = batch.lake
    logs = source.pieces(lake.reached(source.name), lake.actors_of) if isinstance(source, Growing) else [source.log()]
    added, notes, zones = Added(source.name, 0, 0, ()), tuple[str, ...](), tuple[str, ...]()
    for log in logs:
        hashed = HashedLog(log, privacy) if privacy is not None and privacy.columns else None
        piece = batch.add(WatchedLog(hashed or log, progress), key=hashed.key if hashed else "")
        if growing:
            batch.save()  # the next piece may be asked for only now
        notes = _notes(log, piece)  # of a source in pieces, what there is to say of all so far
        zones += batch.zone_notes(log) if piece.new else ()
        added += piece
    row = {
        "source": source.name,
        "new": added.new,
        "already_there": added.known,
        "days": len(added.days),
        "last": added.last,
        "note": added.note,
    }
    return Table(pl.DataFrame([row], schema_overrides={"note": pl.String, "last": TIME}), (*notes, *zones))


def write_profiles(source: Source, path: Path, forgotten: Forgotten | None = None) -> None:
    """Write what a game server's database knows of its accounts, but for those who were forgotten.

    Raises:
        ReadError: the source knows nothing of accounts.
        WriteError: the place cannot be written.
    """
    if not isinstance(source, KnowsAccounts):
        raise ReadError(f"{source.name}: knows no accounts; profiles come from the database of a game server")
    profiles = source.profiles()
    if forgotten is not None and forgotten.digests:
        profiles = profiles.filter(
            ~pl.Series([forgotten.names(actor) for actor in profiles["actor"]], dtype=pl.Boolean)
        )
    make_directory(path.parent)
    write_table(profiles, path)


def _notes(log: LogSource, added: Added) -> tuple[str, ...]:
    """What was wrong in a log that was read, also where nothing came in for it."""
    if added.new or log.stretch is not None:
        return log.notes
    if added.known:
        return ()
    return (log.notes if added.read else ()) or (NO_ROWS,)


def compact(lake: Path, before: date | None = None, progress: Progress = no_progress) -> Table:
    """Make the parts of each day of a lake one; one row per day that was not so yet.

    Raises:
        ReadError: there is no lake here, or a part of it is damaged.
        WriteError: it cannot be written.
    """
    rows = [asdict(one) for one in Lake(lake).compact(before=before, progress=progress)]
    notes = () if rows else (f"{lake}: every day that is over is one file already.",)
    return Table(pl.DataFrame(rows, schema={"day": pl.String, "parts": pl.Int64, "rows": pl.Int64}), notes)


def keep_delta_log(lake: Path) -> str:
    """Let the changes of a lake also be written as a Delta log; what there is to say of it.

    Raises:
        ReadError: there is no lake here, or its Delta log is damaged.
        WriteError: it cannot be written.
    """
    last = Lake(lake).keep_delta_log()
    return f"{lake} is a Delta table too, at version {last}; only gamewarden may write to it."


def feature_recipe(name: str, options: Mapping[str, Any], config: Config, time_zone: str | None = None) -> Feature:
    """A feature's recipe from the command line's options, with warden.toml where they are silent."""
    recipe = features.load(name)
    said = {option: value for option, value in options.items() if value is not None}
    if isinstance(said.get("vocabulary"), Path):
        said["vocabulary"] = read_vocabulary(said["vocabulary"])
    least = said.get("min_windows", config.measure.min_windows)
    known = {
        "unit": parse_span(config.measure.unit),
        "every": parse_span(config.measure.every),
        "min_windows": least,
        # Whoever asks for fewer windows asks for less of all: one window holds no ten windows with events.
        "min_events": min(config.measure.min_events, least),
        "min_active": min(config.measure.min_active, least),
        "time_zone": time_zone,
    }
    return recipe.taking(known | said)


def feature_of(recipe: Recipe) -> Feature:
    """The recipe back from what a model carries of it.

    Raises:
        ModelError: the model carries options that no such recipe has; only a file somebody has made up does.
    """
    try:
        return features.load(recipe.name).from_dict(recipe.options)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
        raise ModelError(f"model: {recipe.name} cannot be measured with its options ({error}); fit it again") from error


def measure(feature: Feature, source: Source, progress: Progress = no_progress) -> Table:
    """FEATURES of a source and nothing else: a vocabulary that was given says itself what the source can show."""
    return measured(feature, unquestioned(feature, stream_for(feature, source, progress)))


def measure_told(
    feature: Feature, source: Source, model: Model | None = None, progress: Progress = no_progress
) -> Table:
    """FEATURES of a source, and over which kinds its self-similarities are.

    A vocabulary that was given says itself what the source can show; of a model's, the source does.
    """
    opened = stream_for(feature, source, progress)
    stream = unquestioned(feature, opened) if model is None else opened
    told = measured(feature, stream)
    frame = told.frame.drop(COVERED, strict=False)
    return replace(told, frame=frame, notes=(*told.notes, *said_over(feature, model)))


def unquestioned(feature: Feature, stream: Stream) -> Stream:
    """A stream of whose source nobody asks what it can show; only events are asked."""
    return Unquestioned(given_to(stream)) if feature.input == "events" else stream


def measured(feature: Feature, stream: Stream, limits: Limits | None = None) -> Table:
    """FEATURES of a stream, and what the recipe and the source have to say beside them.

    Where a vocabulary was learned, periods of another vocabulary than its own, by `limits`, are not measured.
    """
    found = folded(feature, stream)
    told = Table(found.frame, (*feature.warnings, *stream.notes, *found.notes.sentences()))
    return beside_source(told, feature, given_to(stream), limits or Limits()) if feature.input == "events" else told


def beside_source(told: Table, feature: Feature, events: EventStream, limits: Limits) -> Table:
    """FEATURES that a fold gave of some events or of a part of them, in the light of their whole source."""
    seen = sighted(told, feature, events.coverage, events.shows)
    return only_alike(seen, feature, events, limits)


@dataclass(frozen=True)
class MeasuredBefore:
    """What was measured of a stretch of events at another time: the rows of a feature, and events by kind."""

    rows: pl.DataFrame
    kinds: pl.DataFrame  # by the clock of the feature's vocabulary; not looked at where it has none


def shown_before(feature: Feature, events: EventStream, before: MeasuredBefore) -> pl.DataFrame:
    """The FEATURES that `measured` would give of these events, without reading them."""
    told = sighted(Table(before.rows), feature, events.coverage, events.shows)
    return alike(told, feature, lambda: before.kinds, Limits()).frame


def least_measured(model: Model, limits: Limits) -> float:
    """How much of the period of one row must be covered before a model scores it."""
    return least_of_row(model.card.training, limits, part_of_day=features.load(model.feature.name).part_of_day)


def days_like(recipe: Recipe) -> SelfSimilarity:
    """The recipe that shows a player's days and windows to people, whatever the detector looked at."""
    if recipe.name == SelfSimilarity.name:
        return SelfSimilarity.from_dict(recipe.options)
    if recipe.name == Signs.name:
        return Signs.from_dict(recipe.options).days
    feature = feature_of(recipe)
    by: By = "character" if feature.entity == "character" else "account"
    return SelfSimilarity(by=by, time_zone=feature.time_zone)


def only_alike(told: Table, feature: Feature, events: EventStream, limits: Limits) -> Table:
    """FEATURES in which nothing is said of what a source did not show in a period."""
    learned = cast("Vocabulary", feature.learned)
    return alike(told, feature, lambda: kinds_by_period(events.whole, learned.clock), limits)


def likeness_of(learned: Vocabulary, events: EventStream, limits: Limits) -> "Likeness":
    """One look at all events of a source."""
    return Likeness.of(learned, kinds_by_period(events.whole, learned.clock), limits)


def of_the_time(rows: pl.DataFrame, feature: Feature, since: int) -> pl.DataFrame:
    """Rows from a moment in microseconds on, of a feature that had to be shown what was before."""
    return rows.filter(pl.col("since") >= from_micros(since)) if feature.divides.before else rows


def rows_to_judge(feature: Feature, source: Source, run: RunOptions = USUAL, progress: Progress = no_progress) -> Table:
    """What a detector of this feature is shown of a source."""
    if feature.input == "messages":
        return sessions_to_judge(feature, source, progress)
    return measured(feature, stream_for(feature, source, progress), run.limits)


@dataclass(frozen=True)
class Gathered:
    """Sessions that can be judged, each once, with the label its folder gives, and what has to be said of them."""

    rows: pl.DataFrame  # SESSIONS, and folder_says: true, false or null
    notes: tuple[str, ...]


def sessions_to_judge(feature: Feature, source: Source, progress: Progress = no_progress) -> Table:
    """The sessions that have an actor and a time, as FEATURES: `events` counts their messages."""
    gathered = gather(feature, source.parts, progress)
    return Table(gathered.rows.drop("folder_says"), gathered.notes)


def gather(feature: Feature, sources: Sequence[Source], progress: Progress) -> Gathered:
    """The sessions of several files, each once."""
    parts: list[pl.DataFrame] = []
    streams: dict[str, MessageStream] = {}
    for source in sources:
        stream = streams[source.name] = source.messages(strict=feature.strict)
        told = measured(feature, WatchedMessages(stream, progress))
        parts.append(named_after_file(check(told.frame, SESSIONS, source.name), Path(source.name)))
    rows = pl.concat(parts)
    notes = messages_in_short(streams)
    placed = rows.drop_nulls(["since", "until"]).unique(subset=_SAME_SESSION, keep="first", maintain_order=True)
    return Gathered(placed.sort("actor", "since", maintain_order=True), (*notes, *sessions_lost(rows, placed)))
