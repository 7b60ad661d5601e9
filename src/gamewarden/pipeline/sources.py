"""A source on its way: as the stream that a feature takes, into a lake, or looked over before anything is read."""

import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import cast

import polars as pl

from gamewarden import detectors, features, readers
from gamewarden.config import Config
from gamewarden.contracts import (
    Bounds,
    EventStream,
    Feature,
    Progress,
    Source,
    Stream,
    StreamKind,
    no_progress,
)
from gamewarden.errors import MeasureError, ReadError, Remark
from gamewarden.readers.files import OneFile
from gamewarden.readers.logs.lint import DETECTOR, FEATURE, Lint, Needs, lint_events
from gamewarden.readers.logs.lint import lint as lint_file
from gamewarden.spans import parse_span
from gamewarden.store.lake import Lake
from gamewarden.streams import WatchedEvents, WatchedLog, WatchedMessages, WatchedPackets, WatchedRows
from gamewarden.verdicts.meeting import Limits


@dataclass(frozen=True)
class RunOptions:
    """What a run goes by, whatever it reads."""

    time_zone: str | None = None  # of its days, and of times in labels and profiles written without one
    limits: Limits = field(default=Limits())  # how much a model and a source must have in common


USUAL = RunOptions()


@dataclass(frozen=True)
class Table:
    """A table, and what has to be said beside it."""

    frame: pl.DataFrame
    notes: tuple[str, ...] = ()
    shows: Mapping[str, int] | None = None  # what the source behind it can show, where it is one of events


def limits_of(config: Config) -> Limits:
    """How much a model and a source must have in common, by the settings."""
    return Limits(**asdict(config.origin), covered=config.coverage.least)


def bounds_of(config: Config, *, one_sided: bool = False) -> Bounds:
    """How much a watch may remember, by the settings."""
    watch = config.watch
    return Bounds(watch.players, watch.unproven, parse_span(watch.keep), one_sided)


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


def lint(source: Source) -> Lint:
    """What of a log or a lake can be read, and which detectors and features of events stay blind.

    Raises:
        ReadError: there is nothing at that place.
    """
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
    return replace(_linted(source, seeing, alone), called=called)


def _linted(source: Source, seeing: Mapping[str, Needs], alone: Mapping[str, Needs]) -> Lint:
    if not isinstance(source, OneFile):
        return lint_events(source.events(), source.name, seeing, alone, form=f"events{readers.credit_of(source)}")
    if not source.path.exists():
        raise ReadError(f"{source.name}: there is no such file or lake")
    logs = source.options.logs
    return lint_file(
        source.path,
        source.mapping,
        time_zone=logs.time_zone,
        detectors=seeing,
        features=alone,
        plausible=logs.plausible,
    )


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


def read(source: Source, lake: Path, progress: Progress = no_progress) -> Table:
    """Take a log into a lake; one row of what came in, with what was wrong in it as notes."""
    log = source.log()
    added = Lake(lake).add(WatchedLog(log, progress))
    notes = log.notes if added.new else ()
    row = {
        "source": source.name,
        "new": added.new,
        "already_there": added.known,
        "days": len(added.days),
        "note": added.note,
    }
    return Table(pl.DataFrame([row], schema_overrides={"note": pl.String}), notes)
