"""Forgetting a player: personal data leave lake, results, sealed days, ledger and maintenance; nameless stubs stay.

What is to be forgotten is written down first and struck out last: whoever is killed in between leaves a note by which
the next `forget` or `run` ends the work. The lake keeps a keyed digest of the name, by which no file brings it back.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from gamewarden import features
from gamewarden.contracts import digest
from gamewarden.core.durations import to_micros
from gamewarden.core.files import make_directory, whole_file, write_text
from gamewarden.core.text import counted
from gamewarden.errors import GamewardenError, LedgerError, ReadError
from gamewarden.features.looking_back import LooksBack
from gamewarden.learning.validation import misfit
from gamewarden.pipeline.measuring import feature_of
from gamewarden.readers.places import places
from gamewarden.store import manifest as manifests
from gamewarden.store.lake import Lake
from gamewarden.store.maintenance_state import score_files
from gamewarden.store.partitions import Partition, Partitions, read_rows
from gamewarden.store.verdict_days import Bundle, DaySeal
from gamewarden.tables import write_parquet
from gamewarden.workspace.beside import about, facts_of, verdicts_of
from gamewarden.workspace.days import day_name
from gamewarden.workspace.intake import take_in_pushed
from gamewarden.workspace.judged import OUTDATED
from gamewarden.workspace.parts import with_looks
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.pushed import PACKETS_NAME, packet_files, pending_rows, without_actors
from gamewarden.workspace.rest import DESK, PARTS, Rest, recipe_of
from gamewarden.workspace.retention import sweep, tables_at_rest

STUB = "forgotten-"


@dataclass(frozen=True)
class Names:
    """Who is to be forgotten: accounts, and what their characters are called."""

    actors: tuple[str, ...]
    characters: tuple[str, ...] = ()

    @property
    def all(self) -> list[str]:
        """Every name."""
        return sorted({*self.actors, *self.characters})

    def are_in(self, text: str) -> bool:
        """Whether a text names one of them as a word of its own."""
        return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in self.all)


@dataclass(frozen=True)
class Begun:
    """A note of what is being forgotten, until it is done."""

    actors: tuple[str, ...]
    characters: tuple[str, ...]
    judged: tuple[str, ...]  # days whose verdicts stood on all that was known; nobody need judge them again

    @property
    def names(self) -> Names:
        """Who it is."""
        return Names(self.actors, self.characters)


@dataclass(frozen=True)
class Held:
    """What a workspace holds of somebody."""

    events: int
    features: int
    scores: int
    verdicts: int
    maintenance: int
    ledger: int = 0
    characters: tuple[str, ...] = ()
    files: tuple[
        str, ...
    ] = ()  # that stay as they are: labels, profiles, files of sources, models that learned from it

    @property
    def rows(self) -> int:
        """How many rows there are in all."""
        return self.events + self.features + self.scores + self.verdicts + self.maintenance + self.ledger

    def sentences(self) -> Iterator[str]:
        """It in words."""
        told = f"{self.events:,} events, {self.features:,} rows of features, {self.scores:,} of scores"
        cases = f", {counted(self.ledger, 'record')} of the ledger" if self.ledger else ""
        yield f"{told}, {self.verdicts:,} verdicts, {self.maintenance:,} scores of maintenance{cases}"
        if self.characters:
            yield f"called in the game: {', '.join(self.characters)}; name them too where rows of others may have them"
        yield from _untouched(self.files)


def _untouched(files: Sequence[str], most: int = 5) -> Iterator[str]:
    if not files:
        yield "labels, profiles, models and files of sources are not touched; none of them was seen to name it"
        return
    more = f" and {len(files) - most:,} more" if len(files) > most else ""
    yield f"not touched, though it is in them: {', '.join(files[:most])}{more}; change your files, and fit models anew"


def held(workspace: Workspace, actors: Sequence[str]) -> Held:
    """Look what there is of somebody; nothing is changed.

    Raises:
        ReadError: something that rests is damaged.
    """
    looking = _Looking(workspace, _names(workspace, actors))
    rows = dict.fromkeys(("features", "parts", "scores", "desk"), 0)
    for found in looking.at_rest():
        rows[found.table.directory.parent.name] += sum(found.parts.values())
    verdicts = sum(frame.height for _, frame in looking.verdicts())
    maintenance = sum(looking.rows(path) for path in score_files(workspace.models))
    waiting = pending_rows(workspace.inbox, looking.names.all)
    events, files = looking.events() + waiting, tuple(dict.fromkeys(looking.files()))
    counts = (
        events,
        rows["features"] + rows["parts"],
        rows["scores"],
        verdicts,
        maintenance,
        _in_ledger(workspace, actors),
    )
    return Held(*counts, looking.names.characters, files)


def is_known(workspace: Workspace, actor: str) -> bool:
    """Whether this actor was forgotten before."""
    known = workspace.forgotten
    return bool(known.salt) and known.digest(actor) in known.digests


def begin(workspace: Workspace, actors: Sequence[str], at: datetime) -> None:
    """Write down who is to be forgotten; `finish` does it.

    Raises:
        LedgerError: a decision about one of them is in force, or an appeal is open.
        ReadError: what was pushed cannot be taken in.
        WriteError: the results cannot be written.
    """
    _refuse_if_standing(workspace, actors, at)
    for taken in take_in_pushed(workspace, at):
        if taken.failed:
            raise ReadError(f"what was pushed cannot be taken in, and may name them: {taken.failed[0]}")
    before = begun(workspace)
    names, judged = _names(workspace, actors), _standing(workspace, at)
    if before is not None:
        names = Names((*before.actors, *names.actors), (*before.characters, *names.characters))
        judged = list(before.judged)
    note = Begun(tuple(dict.fromkeys(names.actors)), tuple(dict.fromkeys(names.characters)), tuple(judged))
    write_text(_note(workspace), json.dumps(asdict(note), ensure_ascii=False) + "\n")


def begun(workspace: Workspace) -> Begun | None:
    """What was begun and not finished.

    Raises:
        ReadError: the note is damaged.
    """
    path = _note(workspace)
    if not path.exists():
        return None
    try:
        values = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise ReadError(f"{path}: cannot be read; remove it, and forget anew whom it named") from error
    if wrong := misfit(Begun, values, "it"):
        raise ReadError(f"{path}: {wrong}; remove it, and forget anew whom it named")
    return Begun(*(tuple(values[name]) for name in ("actors", "characters", "judged")))


def finish(workspace: Workspace, at: datetime) -> Names | None:
    """Forget whom the note names; who that was, or None where there was nothing to do.

    Raises:
        ReadError: something that rests is damaged.
        WriteError: a place cannot be written, or another process is writing to the lake.
    """
    note = begun(workspace)
    if note is None:
        return None
    _from_lake(workspace, note.actors)
    _from_ledger(workspace, note.names, at)
    cleaning = _Looking(workspace, note.names)
    for found in cleaning.at_rest():
        cleaning.rewrite(found)
    for path in score_files(workspace.models):
        cleaning.rewrite_scores(path)
    cleaning.rewrite_notes()
    cleaning.rewrite_packets(at)
    sweep(workspace)
    _seal_again(cleaning, note.judged, at)
    _strike_out(workspace)
    return note.names


def _strike_out(workspace: Workspace) -> None:
    _note(workspace).unlink()


def _note(workspace: Workspace) -> Path:
    return workspace.results / "forgetting.json"


def _names(workspace: Workspace, actors: Sequence[str]) -> Names:
    """The actors with their characters, as far as the lake knows these."""
    if not Lake.is_at(workspace.lake):
        return Names(tuple(actors))
    events = Lake(workspace.lake).events(actors=list(actors))
    if "character" not in events.columns:
        return Names(tuple(actors))
    found = {name for batch in events.batches(["character"]) for name in batch.column("character").unique().to_pylist()}
    return Names(tuple(actors), tuple(sorted(found - {None, *actors})))


def _standing(workspace: Workspace, at: datetime) -> list[str]:
    """The days whose verdicts rest on all that is known of them."""
    try:
        judged = workspace.judged(at)
        due = {day_name(one.period, judged.clock) for one in judged.due() if one.reason != OUTDATED}
    except GamewardenError:  # nobody judges here now
        return []
    return [name for name in workspace.verdicts.current() if name not in due]


def _from_lake(workspace: Workspace, actors: Sequence[str]) -> None:
    """A workspace without a lake gets an empty one: it keeps the list of those who were forgotten."""
    if not Lake.is_at(workspace.lake):
        make_directory(workspace.lake)
        manifests.save(manifests.Manifest(), workspace.lake)
    for actor in actors:
        Lake(workspace.lake).forget(actor)


def _in_ledger(workspace: Workspace, actors: Sequence[str]) -> int:
    if not workspace.has_ledger:
        return 0
    from gamewarden.store.ledger.forgetting import records_about

    return records_about(workspace.ledger, actors)


def _refuse_if_standing(workspace: Workspace, actors: Sequence[str], at: datetime) -> None:
    """What is in force could not be taken back from somebody without a name, nor an appeal be answered."""
    if not workspace.has_ledger:
        return
    from gamewarden.store.ledger.forgetting import standing

    found = standing(workspace.ledger, actors, at)
    if found.decisions:
        first = found.decisions[0]
        raise LedgerError(
            f"decision {first} is in force; `gamewarden decisions undo {first}` takes it back, then forget"
        )
    if found.actions:
        raise LedgerError(f"action {found.actions[0]} is not taken back yet; `gamewarden run` does it, then forget")
    if found.appeals:
        raise LedgerError(f"appeal {found.appeals[0]} is open; decide it with `gamewarden appeal decide`, then forget")


def _from_ledger(workspace: Workspace, names: Names, at: datetime) -> None:
    """The same stubs as in sealed days, so that a decision and its verdicts still belong together."""
    if not workspace.has_ledger:
        return
    from gamewarden.store.ledger.forgetting import Persons, forget

    stubs = {name: STUB + workspace.forgotten.digest(name) for name in names.actors}
    forget(workspace.ledger, Persons(stubs, names.characters), at)


@dataclass(frozen=True)
class _Looking:
    """Finds somebody in a workspace, and takes them out."""

    workspace: Workspace
    names: Names

    def events(self) -> int:
        """How many events there are."""
        if not Lake.is_at(self.workspace.lake):
            return 0
        events = Lake(self.workspace.lake).events(actors=list(self.names.actors))
        return sum(batch.num_rows for batch in events.batches(["actor"]))

    def at_rest(self) -> Iterator["_Found"]:
        """The tables of results, and the partitions with rows of theirs."""
        by_account = self._by_account()
        for table in tables_at_rest(self.workspace.results):
            if "actor" in table.schema.columns:
                names = self.names.actors if table.directory.name in by_account else self.names.all
                rows = {one.name: self._count(table, one, names) for one in table.all().values()}
                yield _Found(table, names, {name: n for name, n in rows.items() if n})

    def verdicts(self) -> Iterator[tuple[DaySeal, pl.DataFrame]]:
        """The sealed bundles, superseded ones too, with the verdicts about them."""
        store = self.workspace.verdicts
        for seal in store.seals():
            found = verdicts_of(store, seal, self.names.all)
            if found.height:
                yield seal, found

    def rows(self, path: Path) -> int:
        """How many rows of theirs a table of scores has."""
        return read_rows(path, ["actor"], self.names.all).height

    def files(self) -> Iterator[str]:
        """The operator's own files that name them, as far as it is known without reading every one of them."""
        written = [self.workspace.root / one.path for one in self.workspace.config.adapters if one.kind == "log"]
        for place in (self.workspace.labels_file, self.workspace.profiles, *written):
            if place is not None and place.is_file() and self._are_in(place):
                yield str(place)
        yield from (str(path) for path in sorted(self.workspace.models.rglob("*.json")) if self._are_in(path))
        yield from self._logs()
        for found in self.at_rest():
            yield from (str(one.about["file"]) for one in found.partitions() if one.about.get("file"))

    def rewrite(self, found: "_Found") -> None:
        """Partitions without them; what they were made of is the same."""
        table = found.table
        for one in found.partitions():
            theirs = pl.any_horizontal(pl.col(_naming(table)).is_in(found.names).fill_null(value=False))
            rows = _left_of(table, table.read(one).filter(~theirs))
            told = self._nameless(one.about)
            table.put(one.name, rows, came_from=one.came_from, since=one.since, until=one.until, about=told)

    def _nameless(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """What is known of a partition, without what tells of them."""
        some = {"some": sorted({*told["some"]} - {digest(name) for name in self.names.all})} if "some" in told else {}
        notes = {"notes": self._harmless(told["notes"])} if "notes" in told else {}
        return {**told, **some, **notes}

    def rewrite_scores(self, path: Path) -> None:
        """A table of maintenance without them."""
        if self.rows(path):
            left = pl.read_parquet(path, glob=False).filter(~pl.col("actor").is_in(self.names.all))
            with whole_file(path) as draft:
                write_parquet(left, draft)

    def rewrite_notes(self) -> None:
        """What was wrong in files, without the lines that name them."""
        for source in self.workspace.sources:
            state = self.workspace.states.load(source.name)
            files = tuple(replace(one, notes=tuple(self._harmless(one.notes))) for one in state.files)
            if files != state.files:
                self.workspace.states.save(source.name, replace(state, files=files))

    def rewrite_packets(self, at: datetime) -> None:
        """Pushed packets without theirs; the files are still those that were taken in."""
        source = next((one for one in self.workspace.sources if one.name == PACKETS_NAME), None)
        if source is None:
            return
        for path in packet_files(self.workspace.inbox):
            without_actors(path, self.names.all)
        state = self.workspace.states.load(PACKETS_NAME)
        looks = {one.name: one for one in places(list(source.locator), self.workspace.root)}
        self.workspace.states.save(PACKETS_NAME, with_looks(state, looks, to_micros(at)))

    def _harmless(self, lines: Sequence[str]) -> list[str]:
        return [line for line in lines if not self.names.are_in(str(line))]

    def _count(self, table: Partitions, one: Partition, names: Collection[str]) -> int:
        if not (table.directory / one.file).is_file():
            return 0
        if table.schema in (PARTS, *DESK.values()):
            read = table.read(one, _naming(table), names if _naming(table) == ["actor"] else None)
            return read.filter(pl.any_horizontal(pl.all().is_in(list(names)).fill_null(value=False))).height
        notes = about(one, table).get("notes", ())
        return table.read(one, ["actor"], names).height or len(notes) - len(self._harmless(notes))

    def _by_account(self) -> set[str]:
        """The directories of results that are surely by account: another's account may be called as a character."""
        models = self.workspace.models_in_force()
        features = [one for one in self.workspace.features(models) if one.entity == "actor"]
        rest = Rest(self.workspace.results)
        found = {rest.features(recipe_of(one)).directory.name for one in features}
        ours = {} if any(feature_of(one.feature).entity == "character" for one in models) else DESK
        return found | {one.card.id for one in models if feature_of(one.feature).entity == "actor"} | {*ours}

    def _logs(self) -> Iterator[str]:
        """The logs of the days on which they played."""
        if not Lake.is_at(self.workspace.lake):
            return
        known = manifests.load(self.workspace.lake)
        events = Lake(self.workspace.lake).events(actors=list(self.names.actors))
        played = {day for batch in events.batches(["at"]) for day in pl.Series(batch.column("at")).dt.date().unique()}
        for part in known.parts:
            if part.day in {day.isoformat() for day in played}:
                yield from (known.sources[piece.source].name for piece in part.origins)

    def _are_in(self, path: Path) -> bool:
        if path.suffix.lower() == ".parquet":
            table = pl.read_parquet(path, glob=False).select(pl.selectors.string())
            return bool(table.select(pl.any_horizontal(pl.all().is_in(self.names.all)).any()).item())
        return self.names.are_in(path.read_text(encoding="utf-8", errors="replace"))


def _left_of(table: Partitions, rows: pl.DataFrame) -> pl.DataFrame:
    """Parts of a day without what was told of nobody but those who are gone."""
    name = table.directory.name.partition("@")[0]
    family = features.load(name) if table.schema is PARTS and name in features.usable() else None
    return family.without_rest(rows) if family is not None and issubclass(family, LooksBack) else rows


def _naming(table: Partitions) -> list[str]:
    """The columns of a table that name accounts."""
    return [name for name in ("actor", "other") if name in table.schema.columns]


@dataclass(frozen=True)
class _Found:
    """Where in a table somebody is."""

    table: Partitions
    names: Sequence[str]
    parts: Mapping[str, int]  # rows by partition

    def partitions(self) -> list[Partition]:
        """Those that have to do with them."""
        return [one for name, one in self.table.all().items() if name in self.parts]


def _seal_again(looking: _Looking, judged: Collection[str], at: datetime) -> None:
    """Put stubs into every bundle that knew them; a day that was judged by all that is known stays judged."""
    workspace = looking.workspace
    store = workspace.verdicts
    current = {seal.bundle for seal in store.current().values()}
    contents = _contents(workspace, judged, at)
    mine = {seal.bundle: found for seal, found in looking.verdicts()}
    for seal in store.seals():
        content = contents.get(seal.day, seal.content) if seal.bundle in current else seal.content
        if seal.bundle in mine or content != seal.content:
            stubs = _stubs(workspace, mine.get(seal.bundle))
            bundle = _without(looking.names, facts_of(store, seal), _tables(workspace, seal), stubs)
            less = 0 if seal.bundle not in mine else mine[seal.bundle]["verdict"].count()
            kept, gone = seal.kept - less, len(bundle.facts["forgotten"])
            store.replace(seal, bundle, content=content, kept=kept, forgotten=gone, at=at.isoformat())


def _contents(workspace: Workspace, judged: Collection[str], at: datetime) -> Mapping[str, str]:
    """What names all that is known of days now."""
    if not judged:
        return {}
    days = workspace.judged(at)
    return {name: days.content(one) for one in days.periods() if (name := day_name(one, days.clock)) in judged}


def _stubs(workspace: Workspace, found: pl.DataFrame | None) -> dict[str, str]:
    """What stands for whom."""
    known = workspace.forgotten
    names = [] if found is None else found["actor"].unique().to_list()
    return {name: STUB + known.digest(name) for name in names}


def _tables(workspace: Workspace, seal: DaySeal) -> dict[str, pl.DataFrame]:
    return {name: workspace.verdicts.table(seal, name) for name in workspace.verdicts.tables(seal)}


def _without(
    names: Names, facts: Mapping[str, Any], tables: Mapping[str, pl.DataFrame], stubs: Mapping[str, str]
) -> Bundle:
    """A bundle in which nobody is named whom a stub stands for: verdicts stay, what they rested on goes."""
    left = {name: table.filter(~pl.col("actor").is_in(list(stubs))) for name, table in tables.items()}
    left["verdicts"] = tables["verdicts"].with_columns(pl.col("actor").replace(dict(stubs)))
    caveats = [line for line in facts["caveats"] if not names.are_in(str(line))]
    gone = sorted({*facts.get("forgotten", ()), *stubs.values()})
    return Bundle(left, {**facts, "caveats": caveats, "forgotten": gone})
