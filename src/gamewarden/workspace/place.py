"""A workspace: one directory that knows its sources, lake, results, models, labels and time zone."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from gamewarden.config import FILE_NAME, Config, SourceSettings, load_config
from gamewarden.contracts import Feature, Model, Source, StreamKind, canonical_json, digest
from gamewarden.core.files import hold_alone, make_directory, unwritable
from gamewarden.core.time_ranges import TimeRange
from gamewarden.engine import Engine
from gamewarden.errors import ConfigError, ModelError, ReadError
from gamewarden.features.activity import Activity
from gamewarden.notices import now
from gamewarden.pipeline.measuring import RunOptions, feature_of, limits_of
from gamewarden.pipeline.models import days_of, load_models, together
from gamewarden.readers import open as open_source
from gamewarden.readers.logs.operator_tables import OwnTable, read_labels
from gamewarden.readers.places import Place, places
from gamewarden.readers.together import KnownAs
from gamewarden.requests import reading_of_source
from gamewarden.store import manifest as manifests
from gamewarden.store.forgotten import Forgotten
from gamewarden.store.lake import Lake
from gamewarden.store.source import LakeSource
from gamewarden.store.verdict_days import VerdictDays
from gamewarden.workspace.days import LakeDays, Window
from gamewarden.workspace.exonerated import exonerated_until
from gamewarden.workspace.judged import JudgedDays
from gamewarden.workspace.kept import Kept, Memory
from gamewarden.workspace.parts import FilePart, GoneError, Part, Parts, SourceStates, validities
from gamewarden.workspace.pushed import INBOX, named_sources, pushed_sources
from gamewarden.workspace.response_settings import no_more_permissive
from gamewarden.workspace.rest import Rest
from gamewarden.workspace.scored import Scored

if TYPE_CHECKING:
    from gamewarden.store.ledger.ledger import Ledger

VARIABLE = "GAMEWARDEN_WORKSPACE"
LEDGER_VARIABLE = "GAMEWARDEN_LEDGER"
_RUNNING = ".run.lock"


@dataclass(frozen=True)
class Workspace:
    """A directory with a warden.toml that says [workspace]; all its places are relative to it."""

    root: Path
    config: Config
    settings: Path | None = None  # whose settings it follows, where they are not its own
    engine: Engine | None = None  # who measures events; None: this process

    @classmethod
    def at(cls, root: Path, config: Path | None = None) -> "Workspace":
        """The workspace of a directory, by its own settings or by others.

        Raises:
            ConfigError: there is none, or its settings cannot be followed.
        """
        path = root / FILE_NAME
        if not path.is_file():
            raise ConfigError(f"{root}: is no workspace (it has no {FILE_NAME}); `gamewarden init {root}` makes one")
        return cls(root, _settings(load_config(path), config), config)

    @classmethod
    def found(
        cls, named: str | None = None, here: Path | None = None, config: Path | None = None
    ) -> "Workspace | None":
        """The workspace that was named, or that the environment names, or in which somebody stands; None without one.

        Raises:
            ConfigError: the one named is none, or its settings cannot be followed.
        """
        if named or os.environ.get(VARIABLE):
            return cls.at(Path(named or os.environ[VARIABLE]), config)
        start = (here or Path()).absolute()
        root = next((one for one in (start, *start.parents) if _is_ours(one / FILE_NAME, one == start)), None)
        settings = None if root is None else load_config(root / FILE_NAME)
        if root is None or settings is None or not settings.is_workspace:
            return None
        return cls(_short(root, start), _settings(settings, config), config)

    @property
    def lake(self) -> Path:
        """Where events are."""
        return self.root / self.config.workspace.lake

    @property
    def results(self) -> Path:
        """Where results rest."""
        return self.root / self.config.workspace.results

    @property
    def models(self) -> Path:
        """Where models are."""
        return self.root / self.config.workspace.models

    @property
    def labels_file(self) -> Path | None:
        """Who is known by the operator's own file."""
        return self.root / self.config.workspace.labels if self.config.workspace.labels else None

    @property
    def labels(self) -> OwnTable | None:
        """Who is known: the file, or one table of it and of what people said in the ledger.

        Raises:
            LedgerError: the ledger cannot be read.
            ReadError: the file cannot be read.
        """
        if not self.has_ledger:
            return self.labels_file
        from gamewarden.cases import Label
        from gamewarden.desk_records import Review
        from gamewarden.workspace.labels import known_labels

        told = self.ledger.find(Label, order=("at",))
        zone = self.time_zone
        if not told:
            return self.labels_file
        drawn = {one.actor for one in self.ledger.find(Review, drawn=True, undone_at=None)}
        return known_labels(self.labels_file, told, zone, alone=self.config.workspace.one_rater, drawn=drawn)

    @property
    def disputed(self) -> frozenset[str]:
        """Accounts that wait for a third person, because a vote contradicts another vote or the labels file.

        Raises:
            LedgerError: the ledger cannot be read.
            ReadError: the labels file cannot be read.
        """
        from gamewarden.cases import Label
        from gamewarden.workspace.labels import disputed

        labels = self.ledger.find(Label, order=("at",)) if self.has_ledger else []
        if not labels:
            return frozenset()
        path, zone = self.labels_file, self.time_zone
        return disputed(labels, None if path is None or not path.is_file() else read_labels(path, zone).frame)

    @property
    def profiles(self) -> Path | None:
        """What is known beside the events."""
        return self.root / self.config.workspace.profiles if self.config.workspace.profiles else None

    @property
    def ledger_place(self) -> Path | str:
        """Where decisions are: a file, or the URL of a database, which may have a password in it."""
        named = os.environ.get(LEDGER_VARIABLE, "")
        return named if "://" in named else self.root / (named or self.config.workspace.ledger)

    @property
    def has_ledger(self) -> bool:
        """Whether there is a ledger already; no file is made by asking."""
        place = self.ledger_place
        return isinstance(place, str) or place.exists()

    @cached_property
    def ledger(self) -> "Ledger":
        """The ledger; it is made where there is none.

        Raises:
            LedgerError: it cannot be opened, or a newer gamewarden has written it.
        """
        from gamewarden.store.ledger.ledger import Ledger  # SQLAlchemy takes its time, and few commands need it

        ledger = Ledger.at(self.ledger_place)
        ledger.account_numbers = self.account_numbers
        return ledger

    @property
    def noted_head(self) -> Path:
        """Where the last line of the ledger's audit is noted, outside the ledger."""
        return self.results / "ledger.head"

    @property
    def inbox(self) -> Path:
        """Where what game servers push waits for the next run."""
        return self.root / INBOX

    @property
    def account_numbers(self) -> bool:
        """Whether all that names actors says that they are account numbers."""
        said = [one.account_numbers for one in self.config.sources] or [self.config.workspace.account_numbers]
        return all(said) and not named_sources(self.config, self.root)

    @property
    def sources(self) -> tuple[SourceSettings, ...]:
        """What is read: the sources of the settings, and what was pushed."""
        return (*self.config.sources, *pushed_sources(self.inbox))

    @property
    def states(self) -> SourceStates:
        """What was taken in, source by source."""
        return SourceStates(self.results / "sources")

    @property
    def verdicts(self) -> VerdictDays:
        """The verdicts that were sealed."""
        return VerdictDays(self.results / "verdicts")

    @property
    def time_zone(self) -> str | None:
        """The time zone of its days, and of labels and profiles: by the settings, else by the lake; None means UTC."""
        return self.config.read.time_zone or Lake.time_zone_at(self.lake)

    @property
    def run_options(self) -> RunOptions:
        """What runs here go by."""
        return RunOptions(self.time_zone, limits_of(self.config))

    def open(self, source: SourceSettings, place: object) -> Source:
        """One place of a source.

        Raises:
            ReadError: it cannot be read.
            ConfigError: there is no such reader, or a way of reading it is none.
        """
        return open_source(place, reading_of_source(source, self.config, self.root), source.reader or None)  # type: ignore[arg-type]

    def models_in_force(self) -> tuple[Model, ...]:
        """The model of each detector, those that see most first; none before one was fitted.

        Raises:
            ModelError: a model is damaged.
        """
        return tuple(load_models(self.models)) if any(self.models.glob("*@*.json")) else ()

    def features(self, models: tuple[Model, ...]) -> list[Feature]:
        """What the models look at, and what lists show beside it."""
        found = {repr(model.feature): feature_of(model.feature) for model in models}
        of_events = [model for model in models if found[repr(model.feature)].input == "events"]
        for model in of_events[:1]:
            days = days_of(model, self.models).recipe
            beside: list[Feature] = [days, Activity(every=days.every, by=days.by, time_zone=days.time_zone)]
            for feature in beside:
                if feature not in found.values():
                    found[repr(feature)] = feature
        return list(found.values())

    def days(self, at: datetime | None = None) -> LakeDays:
        """The lake as it is now, by period."""
        when = at or now()
        zone = self.time_zone or "UTC"
        return LakeDays(Lake(self.lake), Rest(self.results), when, zone, self.kept(when), self.engine)

    @property
    def forgotten(self) -> Forgotten:
        """Who was forgotten: the lake keeps the list."""
        known = manifests.load(self.lake) if Lake.is_at(self.lake) else manifests.Manifest()
        return Forgotten(known.salt, frozenset(known.forgotten))

    @property
    def gone(self) -> Memory:
        """What is known of events that retention has removed."""
        return Memory(self.results / "retention.json")

    def kept(self, at: datetime) -> Kept:
        """From when on what is kept.

        Raises:
            ReadError: what is known of removed events is damaged.
        """
        return Kept.of(self.config.retention, at, self.gone.load())

    def parts(self, at: datetime | None = None) -> Parts:
        """The files that stay where they are.

        Raises:
            ReadError: what is known of a source is damaged.
        """
        found = tuple(part for source in self.sources for part in self._parts_of(source))
        kept = self.kept(at or now())
        return Parts(Rest(self.results), found, self.run_options, kept, self.forgotten)

    def scored(self, at: datetime | None = None) -> Scored:
        """The models in force before all that was measured.

        Raises:
            ModelError: there is no model, or one is damaged.
        """
        models = self.models_in_force()
        if not models:
            raise ModelError(
                f"{self.models}: there is no model yet; `gamewarden fit signs` learns one from reviewed accounts, or "
                "from --labels FILE"
            )
        return Scored(self.days(at), self.parts(at), models, self.run_options.limits, self.switched_on())

    def switched_on(self) -> dict[str, frozenset[str]]:
        """About whom the detectors are asked that a rung of the ladder switches on; the others are asked about all."""
        if not any(rung.detectors for rung in self.config.ladder):
            return {}
        from gamewarden.cases import Suspicion
        from gamewarden.response.ladder import Ladder, switched_on

        suspicions = self.ledger.find(Suspicion) if self.has_ledger else []
        found = switched_on(Ladder.of(self.config), suspicions)
        return {detector: frozenset(actors) for detector, actors in found.items()}

    def measured_of(self, models: tuple[Model, ...]) -> dict[str, frozenset[str]]:
        """Of whom features are measured that only such detectors look at, by the feature's recipe."""
        switched = self.switched_on()
        by_feature: dict[str, list[Model]] = {}
        for model in models:
            by_feature.setdefault(repr(model.feature), []).append(model)
        return {
            feature: frozenset[str]().union(*(switched[one.card.detector] for one in theirs))
            for feature, theirs in by_feature.items()
            if all(one.card.detector in switched for one in theirs)
        }

    def judged(self, at: datetime | None = None) -> JudgedDays:
        """The verdicts."""
        scored = self.scored(at)
        return JudgedDays(
            scored, self.verdicts, self.models, self.config, self.run_options, scored.days.now, self.exonerated
        )

    @property
    def exonerated(self) -> dict[str, datetime]:
        """Accounts that won an appeal, each with the end of the time whose evidence no longer counts.

        Raises:
            LedgerError: the ledger cannot be read.
        """
        return exonerated_until(self)

    def window(self, asked: TimeRange) -> Window:
        """The time that somebody asks about; `last` is counted back from the newest event."""
        span = Lake(self.lake).span if asked.needs_newest and Lake.is_at(self.lake) else None
        counted = asked.counted_back(None if span is None else span[1])
        return counted.since, counted.until

    def together(self, shelf: Path) -> Source:
        """All that the workspace has, as one source for the models of a directory.

        Raises:
            ReadError: a file is gone.
        """
        lake = [LakeSource(self.lake)] if Lake.is_at(self.lake) else []
        return together([*lake, *(part.opened() for part in self.parts().parts)], shelf)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Be the only run of this workspace; whoever dies lets go.

        Raises:
            WriteError: another one is at work.
        """
        try:
            make_directory(self.results)
            with (self.results / _RUNNING).open("a") as lock:
                hold_alone(lock.fileno(), self.root, "running this workspace")
                yield
        except OSError as error:
            raise unwritable(self.results, error) from error

    def _parts_of(self, source: SourceSettings) -> Iterator[Part]:
        reading = self._reading_of(source)
        taken = sorted(self.states.load(source.name).files, key=lambda one: one.taken)
        files = [one for one in taken if one.digest and not one.error]
        for file, valid in zip(files, validities(files), strict=True):
            yield Part(source.name, file, reading, partial(self._open_as, source, file), valid)

    def _open_as(self, source: SourceSettings, file: FilePart) -> Source:
        """A file that was taken in, as what it was taken in.

        Raises:
            GoneError: there is another one, or none, in its place.
        """
        looks = [(one.size, one.mtime) for one in _places_of(file.name)]
        if looks != [(file.size, file.changed)]:
            raise GoneError(f"{file.name}: is not the file any more that was taken in")
        kinds = cast("tuple[StreamKind, ...]", file.kinds)
        return KnownAs(self.open(source, file.name), kinds)

    def _reading_of(self, source: SourceSettings) -> str:
        """A digest of how files of a source are read: its settings, and the files that they name."""
        files = [self.root / name for name in (source.map, source.accounts, *source.packet_db) if name]
        content = [digest(path.read_bytes()) if path.is_file() else str(path) for path in files]
        options = [source.map, source.time_zone, source.kind, source.reader, list(source.server_ports)]
        more = [source.include_empty, source.max_bad_share, source.keep_truncated, source.packet_version, source.strict]
        later = [source.packet_client] if source.packet_client else []  # digests of before this setting stay
        return digest(canonical_json([*options, *more, content, *later]))


def _settings(own: Config, file: Path | None) -> Config:
    """The settings of a workspace, or of another file as far as that allows no more than the workspace's own.

    Raises:
        ConfigError: the file allows more, or cannot be followed.
    """
    if file is None:
        return own
    return no_more_permissive(own, load_config(file), file)


def _is_ours(path: Path, here: bool) -> bool:  # noqa: FBT001  whether somebody stands beside it
    """Whether there are settings that may be followed: above us only those of this user or of the system's own."""
    try:
        return path.is_file() and (here or sys.platform == "win32" or path.stat().st_uid in {os.geteuid(), 0})
    except OSError:
        return False


def _places_of(name: str) -> list[Place]:
    try:
        return list(places(name))
    except ReadError:
        return []


def _short(root: Path, start: Path) -> Path:
    """The directory as somebody who stands in it would write it."""
    return Path() if root == start else root
