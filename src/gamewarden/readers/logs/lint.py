"""What a log can tell, found out before anything is read in earnest, and what its owner could do about the rest."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, TypeAlias

import polars as pl
import pyarrow as pa

from gamewarden.contracts import EventStream
from gamewarden.errors import ReadError
from gamewarden.readers.logs.drafts import quoted, tried
from gamewarden.readers.logs.guesses import NOTHING, Sample
from gamewarden.readers.logs.layout import advice
from gamewarden.readers.logs.mapping import IDENTITY, LogMap
from gamewarden.readers.logs.normalize import NOT_UTF8
from gamewarden.readers.logs.plausible import ANY_TIME, Plausible
from gamewarden.readers.logs.shapes import Peek, peek
from gamewarden.readers.logs.tables import EventFile
from gamewarden.readers.logs.toml_sections import near_miss
from gamewarden.readers.places import File
from gamewarden.readers.row_report import Report, rows_text
from gamewarden.readers.timestamps import NO_ZONE
from gamewarden.tables import EVENTS, RESERVED_KINDS

FIRST_ROWS = 100_000
DETECTOR, FEATURE = "detector", "feature"
_SHOWN = 10  # kinds, columns: as many as a person will read
_MANY_KINDS = 5_000  # the games we know have a few hundred
_OLDEST_GAME = datetime(1990, 1, 1, tzinfo=UTC)
_NAMES = ("actor", "character", "other", "session", "ip")
_EVERY_ROW = 0.9  # of the rows having an actor of their own, the actors are row numbers


class Needs(Protocol):
    """What a feature says of the events it reads."""

    @property
    def requires(self) -> tuple[str, ...]:
        """EVENTS columns without which it is blind."""

    @property
    def optional(self) -> Mapping[str, str]:
        """Column or kind -> what stays null without it."""


Seeing: TypeAlias = Sequence[tuple[str, str, Needs]]  # detector or feature, its name, what it reads


@dataclass(frozen=True)
class Sight:
    """What one detector, or a feature that no detector looks at, can see in this log."""

    name: str
    blind: tuple[str, ...]  # what it cannot do without and does not get
    poorer: Mapping[str, str]  # what is missing -> what stays null
    what: str = DETECTOR

    def sentence(self, called: str | None = None) -> str:
        """One line for a person, who may know it by a longer name."""
        name = called or self.name
        if self.blind:
            return f"{name} stays blind: the log has no {' and no '.join(self.blind)}."
        if self.poorer:
            losses = "; ".join(f"{what} without {missing}" for missing, what in self.poorer.items())
            return f"{name} can work, but gets no {losses}."
        return f"{name} gets all it needs."


@dataclass(frozen=True)
class Lint:
    """The findings, for a program as fields and for a person as sentences."""

    source: str
    form: str
    problem: str | None = None  # why it cannot be read, or not to its end
    columns: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()  # the file's columns that the mapping leaves alone
    report: Report | None = None
    whole: bool = True  # all rows were looked at, not only the first
    actors: int = 0
    since: datetime | None = None
    until: datetime | None = None
    reserved: Mapping[str, int] = field(default_factory=dict)
    unmapped: Mapping[str, int] = field(default_factory=dict)
    sights: tuple[Sight, ...] = ()
    suspicions: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    called: Mapping[tuple[str, str], str] = field(default_factory=dict)  # what and name -> the name with who offers it

    @property
    def readable(self) -> bool:
        """Whether a reading would give any events."""
        return self.report is not None and self.report.kept > 0

    def sentences(self) -> list[str]:
        """The findings in lines for a person."""
        lines = [f"{self.source}: {self.form}.", *([f"Problem: {self.problem}"] if self.problem else [])]
        lines += self._about_columns()
        if self.report:
            lines += self._about_rows(self.report)
        lines += [
            f"{sight.what.capitalize()}: {sight.sentence(self.called.get((sight.what, sight.name)))}"
            for sight in self.sights
        ]
        lines += [f"Suspicious: {suspicion}" for suspicion in self.suspicions]
        lines += [f"Next: {step}" for step in self.advice]
        return lines

    def table(self) -> pl.DataFrame:
        """The findings as a table: topic, subject, count, says."""
        rows: list[tuple[str, str, int | None, str]] = []
        rows += [("problem", "", None, self.problem)] if self.problem else []
        rows += [("column", name, None, "read") for name in self.columns]
        rows += [("column", name, None, "missing") for name in self.missing]
        rows += [("column", name, None, "not used") for name in self.unused]
        if self.report:
            rows += [("rows", "read", self.report.rows, ""), ("rows", "kept", self.report.kept, "")]
            rows += [("rows", one.reason, one.count, f"not meant: {one.example}") for one in self.report.skipped]
            rows += [("rows", fault.reason, fault.count, f"left out: {fault.example}") for fault in self.report.bad]
            rows += [
                ("rows", fault.reason, fault.count, f"set to null: {fault.example}") for fault in self.report.nulled
            ]
            rows += [("rows", fault.reason, fault.count, f"noted: {fault.example}") for fault in self.report.notes]
        rows += [("kind", kind, count, "reserved") for kind, count in self.reserved.items()]
        rows += [("kind", kind, count, "not mapped") for kind, count in self.unmapped.items()]
        rows += [(sight.what, sight.name, None, sight.sentence()) for sight in self.sights]
        rows += [("suspicious", "", None, suspicion) for suspicion in self.suspicions]
        rows += [("next", "", None, step) for step in self.advice]
        schema = {"topic": pl.String, "subject": pl.String, "count": pl.Int64, "says": pl.String}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def _about_columns(self) -> list[str]:
        lines = [f"Columns read: {', '.join(self.columns) or 'none'}."]
        lines += [f"Columns missing: {', '.join(self.missing)}."] if self.missing else []
        lines += [f"Columns not used: {_some(self.unused)}."] if self.unused else []
        return lines

    def _about_rows(self, report: Report) -> list[str]:
        first, *rest = report.sentences()
        lines = [first if self.whole else f"Of the first {first}", *rest]
        if self.since and self.until:
            lines.append(
                f"{self.actors:,} actors from {self.since:%Y-%m-%d %H:%M:%S} to {self.until:%Y-%m-%d %H:%M:%S} UTC."
            )
        lines.append(f"Reserved kinds seen: {_counts(self.reserved)}.")
        lines += [f"Other kinds seen: {_counts(self.unmapped)}."] if self.unmapped else []
        return lines


def lint(
    path: File,
    mapping: LogMap | None = None,
    *,
    time_zone: str | None = None,
    detectors: Mapping[str, Needs] | None = None,
    features: Mapping[str, Needs] | None = None,
    first_rows: int = FIRST_ROWS,
    now: datetime | None = None,
    plausible: Plausible = ANY_TIME,
) -> Lint:
    """Look at the first rows of a log file; whatever is wrong with the file stands in the answer.

    `detectors` gives, by the detectors' names, the features they read; `features` those that no detector reads.
    """
    mapping = mapping or IDENTITY
    seeing = _seeing(detectors, features)
    try:
        shape = peek(path, mapping.references, mapping.layout)
    except ReadError as error:
        return Lint(
            str(path), "not a table we can read", _reason(error, path), advice=("Mend the file, then ask again.",)
        )
    form = _form(shape)
    try:
        file = EventFile(path, mapping, time_zone=time_zone, max_bad_share=1.0, plausible=plausible)
    except ReadError as error:
        return _without_reading(shape, form, mapping, seeing, _reason(error, path))
    seen = _Seen.of(file, first_rows)
    problem = _reason(seen.problem, path) if seen.problem else None
    begun = Lint(str(path), form, problem, unused=_unused(shape, file), report=file.report)
    return _finding(begun, file, seen, seeing, now or datetime.now(UTC))


def lint_events(
    events: EventStream,
    source: str,
    detectors: Mapping[str, Needs] | None = None,
    features: Mapping[str, Needs] | None = None,
    *,
    form: str = "events",
    first_rows: int = FIRST_ROWS,
    now: datetime | None = None,
) -> Lint:
    """The same look at events that need no reading any more, such as a lake's."""
    seen = _Seen.of(events, first_rows)
    report = Report(seen.frame.height, seen.frame.height, 0, (), (), ())
    begun = Lint(source, form, str(seen.problem) if seen.problem else None, report=report)
    found = _finding(begun, events, seen, _seeing(detectors, features), now or datetime.now(UTC))
    return replace(found, suspicions=(*events.notes, *found.suspicions))


@dataclass(frozen=True)
class _Seen:
    """The first events of a stream, and what stopped it."""

    frame: pl.DataFrame
    whole: bool
    problem: ReadError | None = None

    @classmethod
    def of(cls, events: EventStream, first_rows: int) -> "_Seen":
        columns = [name for name in EVENTS.columns if name in events.columns]
        frames, rows, problem, whole = [pl.DataFrame(schema={n: EVENTS.columns[n] for n in columns})], 0, None, True
        stream = iter(events.batches(columns))
        try:
            for batch in stream:
                frames.append(_frame(batch))
                rows += batch.num_rows
                if rows >= first_rows:
                    further = next(stream, None)
                    whole = further is None
                    frames += [] if further is None else [_frame(further)]  # what was read is also reported
                    break
        except ReadError as error:
            problem = error
        return cls(pl.concat(frames), whole, problem)


def _frame(batch: pa.RecordBatch) -> pl.DataFrame:
    plain = [column.dictionary_decode() if pa.types.is_dictionary(column.type) else column for column in batch.columns]
    return pl.DataFrame(pl.from_arrow(pa.table(dict(zip(batch.schema.names, plain, strict=True)))))


def _seeing(detectors: Mapping[str, Needs] | None, features: Mapping[str, Needs] | None) -> Seeing:
    """Everybody who could work on a log: what it is, its name and its needs."""
    told = ((DETECTOR, detectors or {}), (FEATURE, features or {}))
    return [(what, name, needs) for what, parts in told for name, needs in parts.items()]


def _finding(begun: Lint, events: EventStream, seen: _Seen, seeing: Seeing, now: datetime) -> Lint:
    frame = seen.frame
    kinds = dict(frame["kind"].value_counts().sort(["count", "kind"], descending=[True, False]).iter_rows())
    filled = {name for name in frame.columns if frame[name].null_count() < frame.height}
    unmapped = {kind: count for kind, count in kinds.items() if kind not in RESERVED_KINDS}
    found = replace(
        begun,
        columns=tuple(name for name in EVENTS.columns if name in events.columns),
        missing=tuple(name for name in EVENTS.columns if name not in events.columns),
        whole=seen.whole and not begun.problem,
        actors=frame["actor"].n_unique(),
        since=_moment(frame["at"].min()),
        until=_moment(frame["at"].max()),
        reserved={kind: count for kind, count in kinds.items() if kind in RESERVED_KINDS},
        unmapped=unmapped,
        sights=tuple(_sight(*part, filled, kinds) for part in seeing if frame.height),
        suspicions=tuple(_suspicions(frame, begun.report, unmapped, now)) if begun.report else (),
    )
    return replace(found, advice=tuple(_advice(found)))


def _without_reading(shape: Peek, form: str, mapping: LogMap, seeing: Seeing, problem: str) -> Lint:
    theirs = mapping.theirs()
    present = tuple(ours for ours, name in theirs.items() if name in shape.names)
    missing = tuple(name for name in EVENTS.columns if name not in present)
    used = {theirs[name] for name in present}
    steps = ["Write a mapping file with [columns] and name it with --map; gamewarden map init drafts one."]
    steps += _beginning(shape, mapping, {ours: theirs[ours] for ours in present})
    sights = tuple(_sight(*part, set(present), {}) for part in seeing)
    unused = tuple(name for name in shape.names if name not in used)
    return Lint(str(shape.path), form, problem, present, missing, unused, sights=sights, advice=tuple(steps))


def _beginning(shape: Peek, mapping: LogMap, present: Mapping[str, str]) -> list[str]:
    """What a mapping could begin with, and what the first rows would lose by it."""
    try:
        sample = Sample.of(shape.path, mapping.layout)
    except ReadError:
        return []
    guesses = {ours: name for ours, name in sample.guesses(present).items() if ours in EVENTS.required}
    if not guesses:
        return []
    columns = {ours: {**present, **guesses}[ours] for ours in EVENTS.columns if ours in {**present, **guesses}}
    begun, clock = replace(mapping, columns=columns), sample.clock(columns["at"]) if "at" in guesses else None
    lines = f"[columns] {', '.join(f'{ours} = {quoted(name)}' for ours, name in columns.items())}"
    if clock is not None and mapping.format == "auto" and clock.formats != ("auto",):
        begun = replace(begun, format=clock.formats[0])
        lines += " [time] " + " or ".join(f"format = {quoted(one)}" for one in clock.formats)
    return [f"By their names, it could begin: {lines}.", *_loss(tried(sample, begun))]


def _loss(report: Report | str) -> list[str]:
    """What has to be said of a mapping that does not keep every row."""
    if isinstance(report, str) or report.kept == report.rows:
        return []
    why = "; ".join(str(fault) for fault in report.bad)
    return [f"With that {report.kept:,} of the first {rows_text(report.rows)} would be kept: {why}."]


def _form(shape: Peek) -> str:
    name = {"csv": "CSV", "jsonl": "JSON Lines", "parquet": "Parquet", "lines": "lines of text"}[shape.format]
    split = {"\t": ", split by tabs", ";": ", split by semicolons", "|": ", split by bars"}.get(shape.delimiter, "")
    written = f", in {shape.encoding}" if shape.encoding else ""
    return name + split + written + (f", packed with {shape.packing}" if shape.packing else "")


def _unused(shape: Peek, file: EventFile) -> tuple[str, ...]:
    used = {name for one in file.mapping.references for name in (one, one.partition(".")[0])}
    return tuple(name for name in shape.names if name not in used)


def _sight(what: str, name: str, feature: Needs, columns: set[str], kinds: Mapping[str, int]) -> Sight:
    blind = tuple(column for column in feature.requires if column not in columns)
    poorer = {
        seen: lost
        for seen, lost in feature.optional.items()
        if (seen not in columns if seen in EVENTS.columns else seen not in kinds)
    }
    return Sight(name, blind, poorer, what)


def _suspicions(frame: pl.DataFrame, report: Report, unmapped: Mapping[str, int], now: datetime) -> Iterable[str]:
    if any(fault.reason == NO_ZONE for fault in report.bad):
        yield "times have no zone, and a guess of ours could be hours wrong."
    if report.duplicates:
        yield f"{rows_text(report.duplicates)} with a seq seen before; only the first of each counts."
    if not frame.height:
        yield "no row could be kept, so that nothing can be said of detectors."
        return
    yield from _suspicious_times(frame, now)
    actors = frame["actor"].n_unique()
    if actors == 1:
        yield f"there is one actor only, {frame['actor'][0]!r}."
    elif actors > _EVERY_ROW * frame.height and frame.height > _SHOWN:
        yield "nearly every row has an actor of its own; is this column a row number?"
    yield from _nameless(frame)
    if len(unmapped) > _MANY_KINDS:
        yield f"there are {len(unmapped):,} kinds; is this column a free text?"
    for kind, meant in ((kind, near_miss(kind)) for kind in list(unmapped)[:_MANY_KINDS]):
        if meant:
            yield f"kind {kind!r} looks like the reserved kind {meant!r} and is not counted as it."


def _nameless(frame: pl.DataFrame) -> Iterable[str]:
    for name in (name for name in _NAMES if name in frame.columns):
        loss = "; these rows are then left out" if name == "actor" else ""
        found = frame[name].filter(frame[name].str.to_lowercase().is_in(NOTHING).fill_null(False))
        if len(found):
            yield (
                f"{name} is {found[0]!r} in {rows_text(len(found))}; if that means that there is none, list it in null "
                f"under [file] of the mapping file{loss}."
            )


def _suspicious_times(frame: pl.DataFrame, now: datetime) -> Iterable[str]:
    at = pl.col("at")
    if future := frame.filter(at > now).height:
        latest = _moment(frame["at"].max())
        yield f"{rows_text(future)} in the future, up to {latest}; is the zone or the unit wrong?"
    if frame.filter(at < _OLDEST_GAME).height == frame.height:
        yield "all times lie before 1990; are they ticks, or in another unit?"
    steps_back = frame.select((at < at.shift().over("actor")).sum()).item()
    if steps_back:
        yield f"{rows_text(steps_back)} earlier than the actor's row before; they are put in order when measured."


def _advice(found: Lint) -> Iterable[str]:
    if found.report and any(fault.reason == NO_ZONE for fault in found.report.bad):
        yield "Name the zone the log was written in: --time-zone Asia/Seoul, or zone under [time] in the mapping file."
    if found.report and any(fault.reason.endswith(NOT_UTF8) for fault in (*found.report.bad, *found.report.nulled)):
        yield f"The log is not UTF-8: {advice(Path(found.source), None)}."
    misses = {kind: meant for kind in list(found.unmapped)[:_MANY_KINDS] if (meant := near_miss(kind))}
    if misses:
        lines = ", ".join(f"{quoted(kind)} = {quoted(meant)}" for kind, meant in list(misses.items())[:_SHOWN])
        yield f"Map them in the mapping file: [kinds] {lines}."
    elif found.report and found.report.kept and not found.reserved:
        yield "No kind is a reserved one: give the log's kinds their roles under [kinds] in a mapping file."
    wanted = sorted(
        {name for sight in found.sights for name in (*sight.blind, *sight.poorer) if name in EVENTS.columns}
    )
    if wanted and found.unused:
        named = " or ".join(wanted)
        yield f"See whether one of the unused columns is {named}, and name it under [columns], with all that are read."
    if found.report and found.report.bad:
        yield "Look at the rows left out; more than --max-bad-share of them stops a reading."
    if found.problem:
        yield "Mend or fetch the file again; what stands above was seen before the trouble."
    elif found.readable:
        yield "Read it: gamewarden read SOURCE --to DIR."


def _reason(error: ReadError, path: File) -> str:
    return str(error).removeprefix(f"{path}: ")


def _moment(value: object) -> datetime | None:
    return value if isinstance(value, datetime) else None


def _counts(kinds: Mapping[str, int]) -> str:
    return _some([f"{kind} {count:,}" for kind, count in kinds.items()]) or "none"


def _some(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - _SHOWN:,} more" if len(every) > _SHOWN else ""
    return ", ".join(every[:_SHOWN]) + more
