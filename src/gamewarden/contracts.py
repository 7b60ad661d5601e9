"""What a part must offer to live in a room: the protocols, and the digests that name models."""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol, Self, cast, runtime_checkable

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from gamewarden.core.clock import Clock
from gamewarden.core.coverage import Coverage
from gamewarden.core.sizes import MIB, size_text
from gamewarden.errors import ConfigError
from gamewarden.phrases import Phrase
from gamewarden.tables import DataType

Progress = Callable[[int], None]  # called with the number of rows just done
# What a feature can be measured from; scores are what other models say.
StreamKind = Literal["events", "packets", "messages", "table", "scores"]
Entity = Literal["actor", "character"]  # whose rows a feature gives, by the column of the stream that names them
Side = Literal["high", "low"]  # on which side of the others a number is odd
PACKET_COLUMNS = ("actor", "at", "up", "size")


def no_progress(_rows: int) -> None:
    """Nobody is watching."""


class Stream(Protocol):
    """Rows of any kind that a feature can be measured from, a batch at a time, only the columns asked for."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the latest reading has to say."""

    def batches(self, columns: Sequence[str], /) -> Iterator[pa.RecordBatch]:
        """The rows in the source's order."""


class EventStream(Protocol):
    """Events of any number: read as often as needed, a batch at a time, only the columns asked for.

    No event comes twice: whoever offers the stream has dropped rows whose source and seq were there already.
    Batches have exactly the columns asked for, in that order. `at` is timestamp[us, UTC], `seq` int64, `level`
    int16; text columns are string, large_string or dictionary<int32, string>. A column the source lacks is all null.

    What it shows and covers is said of the whole source, whatever part of it is read. A kind that a source can show was
    seen in it, or its mapping promises it. Any other is null wherever it is counted, and never 0.
    """

    @property
    def columns(self) -> frozenset[str]:
        """The EVENTS columns this source has."""

    @property
    def rows(self) -> int | None:
        """How many rows there are, where that is known without reading them."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the latest reading has to say: rows left out, where it had to stop."""

    @property
    def shows(self) -> Mapping[str, int] | None:
        """The kinds it can show, and how many events it has of each; None: whatever it is asked for."""

    @property
    def coverage(self) -> Coverage | None:
        """When it was there; None where nobody knows."""

    @property
    def whole(self) -> "EventStream":
        """The same time with everybody and every kind in it, where this stream leaves some out; else the stream."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows in the source's order."""


@runtime_checkable
class CountedByPeriod(Protocol):
    """A stream of whose whole source somebody has counted the kinds already."""

    def kinds_by_period(self, clock: Clock) -> pl.DataFrame:
        """One row a period and kind: since, until, kind and n, how many events of everybody there are."""


class PartedEvents(EventStream, Protocol):
    """Events of which any part of their time, and any actors, can be read alone."""

    @property
    def shows(self) -> Mapping[str, int]:
        """The kinds that the whole source can show, and how many events it has of each."""

    @property
    def coverage(self) -> Coverage:
        """When the whole source was there."""

    @property
    def stretches(self) -> Iterable[tuple[int, int]]:
        """The times [first, last] in microseconds between which it has events, the earliest first."""

    def between(self, since: int, until: int) -> "PartedEvents":
        """Its events of [since, until) in microseconds."""

    def of(self, actors: Collection[str]) -> "PartedEvents":
        """Its events of these actors."""


class Content(Protocol):
    """What a file holds, told apart from what any other holds."""

    @property
    def digest(self) -> str:
        """Of all its bytes, unpacked."""

    @property
    def size(self) -> int:
        """How many bytes that are."""

    @property
    def ends_with_newline(self) -> bool:
        """Whether its last row can no longer grow."""

    @property
    def beginnings(self) -> Mapping[int, str]:
        """Digests of its first bytes, by their number."""


@dataclass(frozen=True)
class Stretch:
    """Which rows of a source without end these are: where reading stood before them, and where it stands after.

    Each is a JSON object that only its reader understands, but for `actors`: what it says of an actor stands there by
    the actor's name, so that whoever forgets one finds it. Nothing was read yet where it is empty.
    """

    before: str
    after: str


class LogSource(EventStream, Protocol):
    """Events that a lake can take in, and know again when they come a second time."""

    @property
    def name(self) -> str:
        """Where they come from; with seq it tells rows apart."""

    @property
    def recipe(self) -> str:
        """A digest of all that decides what a row of the source becomes."""

    @property
    def own_seq(self) -> bool:
        """Whether seq stands in the source; otherwise it is a row's place there."""

    @property
    def promised(self) -> frozenset[str]:
        """The kinds that its mapping, or whoever decodes it, can give, seen or not."""

    @property
    def time_zone(self) -> str | None:
        """The time zone that its times were written in, where somebody named one."""

    @property
    def stretch(self) -> Stretch | None:
        """Where in a source without end these rows are; None of a source that is whole, and known by its content."""

    def content(self, beginnings: Sequence[int]) -> Content:
        """What the source holds, with digests of as many first bytes as asked for.

        From then on `batches` gives the rows of these very bytes, or raises ReadError when it has not found them.
        """


@dataclass(frozen=True)
class Bounds:
    """How much a watch that never ends may remember, whatever is sent at it."""

    players: int = 1_000_000  # kept at a time, and as many connections of theirs; newcomers beyond are counted
    unproven: int = 1 << 18  # sources kept at a time that have not proven to be there; the oldest makes room
    keep: int = 86_400_000_000  # microseconds of silence after which somebody is forgotten, at the latest after twice
    one_sided: bool = False  # the tap shows no answers, so that payload alone has to be proof
    idle: int = 1_800_000_000  # microseconds of silence after which a player's state goes to disk
    letters: int = 1 << 50  # bytes of the players' names, at most

    def within(self, memory: int) -> "Bounds":
        """The same, with no more players than the whole process has memory for.

        The program itself takes a part that was measured, and so does everybody kept: what is left over is divided by
        what a player and its connection take at most. So the same packets are always decided upon alike.

        Raises:
            ConfigError: that is less than the program itself takes.
        """
        left = memory - _PROGRAM - self.unproven * _AN_UNPROVEN
        if left < _A_PLAYER * _FEWEST:
            least = -(-(memory - left + _A_PLAYER * _FEWEST) // MIB)
            raise ConfigError(
                f"memory of {size_text(memory)} is too little: the program itself and the sources that have not proven "
                f"to be there take most of it; give {least}MiB or more, or lower unproven in the [watch] section"
            )
        players = min(self.players, left // _A_PLAYER)
        return replace(self, players=players, letters=min(self.letters, players * _LETTERS))

    def shared(self, partitions: int) -> "Bounds":
        """The part of one partition where a worker may come to have all of them."""
        return replace(self, players=max(1, self.players // partitions), letters=max(1, self.letters // partitions))


# Bytes. The watch of a small capture peaked at 317 MiB and that of a small log at 327; the cache and the filter of
# sleepers, what leaves and what is written take up to 40 more. A connection with its player took 460 to 560.
_PROGRAM, _AN_UNPROVEN, _A_PLAYER, _LETTERS, _FEWEST = 400 << 20, 170, 600, 64, 1000


class PacketStream(Protocol):
    """Packets of any number, in the source's order, the same rows at every reading of a file.

    Batches have the columns `actor` dictionary<int32, string>, `at` timestamp[us, UTC], `up` bool and `size` int32,
    none of them null. Within one reading a code of `actor` always means the same actor: dictionaries only grow; a
    stream with bounds forgets, and there a dictionary speaks for its own batch.
    """

    @property
    def rows(self) -> int | None:
        """How many rows there are, where that is known without reading them."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the latest reading counted, and where it had to stop."""

    @property
    def counts(self) -> Mapping[str, int]:
        """What the latest reading has counted so far, by the words for it."""

    @property
    def withheld(self) -> int:
        """Packets so far of sources that have not proven to be there, or for which there was no place."""

    def batches(self, columns: Sequence[str] = PACKET_COLUMNS) -> Iterator[pa.RecordBatch]:
        """The rows in the source's order."""


class MessageStream(Protocol):
    """Decoded messages of game clients to their server, of any number, as columns of MESSAGES.

    The messages of one session come in the order they were sent; sessions of several streams may come interleaved.
    Batches have exactly the columns asked for, in that order: text as dictionary<int32, string>, `at` as
    timestamp[us, UTC], numbers as in MESSAGES. `stream` and `session` are numbers of this reading.
    """

    @property
    def rows(self) -> int | None:
        """How many rows there are, where that is known without reading them."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the latest reading counted, and where it had to stop."""

    @property
    def messages(self) -> int:
        """How many messages the latest reading gave."""

    @property
    def sessions(self) -> int:
        """In how many sessions they were."""

    @property
    def damaged(self) -> bool:
        """Whether it had to skip something, or to stop."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows in the order of each session."""


class RowStream(Protocol):
    """An operator's own table: one row per actor, whatever its columns are called, the same rows at every reading."""

    @property
    def name(self) -> str:
        """What to call the table in a message."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table, in its order."""

    @property
    def rows(self) -> int | None:
        """How many rows there are, where that is known without reading them."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the latest reading has to say."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows in the source's order, exactly these columns, each as text or of its own type."""


@dataclass(frozen=True)
class Fingerprint:
    """What a source held, so that it can be known again."""

    kind: str  # file, lake, folder …
    name: str
    digest: str


class Source(Protocol):
    """What somebody has, opened: it says what it can be read as, and gives a stream of each kind.

    Opening reads no more than the beginning. A method raises ReadError, in one line, where the source is not that.
    """

    @property
    def name(self) -> str:
        """What to call it in a message."""

    @property
    def kinds(self) -> tuple[StreamKind, ...]:
        """What it can be read as, the most likely first."""

    @property
    def sure(self) -> bool:
        """Whether it holds all of its kinds; else it is one of them, and its bytes do not say which."""

    @property
    def nameable(self) -> bool:
        """Whether a command could name it; a table in memory has no name there."""

    @property
    def flags(self) -> tuple[str, ...]:
        """What the command line needs to read it in the same way, beside its name."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns where it is a table, as they are in it."""

    @property
    def parts(self) -> "Sequence[Source]":
        """The files of a folder, each a source of its own; itself where it is one."""

    def fingerprint(self) -> Fingerprint:
        """What it holds now."""

    def events(
        self, since: datetime | None = None, until: datetime | None = None, actors: Collection[str] | None = None
    ) -> EventStream:
        """Its events of [since, until), of these actors only or of all."""

    def parted(self) -> PartedEvents | None:
        """Its events where parts of their time can be read alone; None where only all of it can be."""

    def log(self) -> LogSource:
        """Its events as a lake takes them in: numbered, and known again when they come a second time."""

    def packets(self, bounds: Bounds | None = None) -> PacketStream:
        """Its packets; with bounds for a source without end."""

    def messages(self, *, strict: bool = False) -> MessageStream:
        """What game clients said in it; strict: the first message that cannot be read ends its stream."""

    def rows(self) -> RowStream:
        """Its rows, as an operator's own table."""


# Of characters that a source no longer knows, the accounts that had them, as far as somebody remembers.
Remembered = Callable[[Collection[str]], Mapping[str, str]]


def nobody_remembered(characters: Collection[str]) -> Mapping[str, str]:
    """No account."""
    del characters
    return {}


@runtime_checkable
class Growing(Protocol):
    """A source without end, such as the tables of a running game: a lake takes it in piece by piece."""

    def pieces(self, reached: str, remembered: Remembered = nobody_remembered) -> Iterator[LogSource]:
        """What there is after where reading stood, in pieces that are each taken in whole, with where it stands then.

        The next piece is asked for once the last one is in.
        """


@runtime_checkable
class KnowsAccounts(Protocol):
    """A source that knows of accounts what stands beside their events, such as a game server's database."""

    def profiles(self) -> pl.DataFrame:
        """PROFILES of its accounts as they are now."""


def _shows_anything() -> Mapping[str, int] | None:
    return None


@dataclass(frozen=True)
class Sight:
    """What is known of a stream beside its rows."""

    name: str = "the source"
    columns: tuple[str, ...] | None = None  # that it has; None: all that its kind of stream can have
    # The kinds it can show; None: whatever it is asked for. Asked for before the rows have come it may cost a reading.
    shows: Callable[[], Mapping[str, int] | None] = _shows_anything

    def has(self, column: str) -> bool:
        """Whether the stream has a column."""
        return self.columns is None or column in self.columns


def sight_of(kind: StreamKind, stream: Stream) -> Sight:
    """What a stream of this kind says of itself."""
    match kind:
        case "events":
            events = cast("EventStream", stream)
            return Sight(columns=tuple(events.columns), shows=lambda: events.shows)
        case "table":
            table = cast("RowStream", stream)
            return Sight(table.name, table.columns)
        case _:
            return Sight()


class Notes(Protocol):
    """What has to be said of rows that did not count as they stood."""

    def __add__(self, other: Self, /) -> Self:
        """Both together, of two parts of one source."""

    def sentences(self) -> tuple[str, ...]:
        """A line for a person each."""


@runtime_checkable
class MeasuredElsewhere(Protocol):
    """Events that others measure, each a slice of them; their rows can be read here all the same."""

    def folded(self, feature: "Feature", sight: Sight, progress: Progress, /) -> "tuple[pl.DataFrame, Notes]":
        """FEATURES of a feature, and what has to be said beside them."""

    def kinds(self) -> dict[str, int]:
        """The different kinds, sorted, with how often each occurs."""

    def between(self, since: int, until: int, /) -> EventStream:
        """Its events of [since, until) in microseconds, measured elsewhere too."""


class Fold(Protocol):
    """A measurement under way: batches in, FEATURES out. How rows were cut into batches does not matter."""

    @property
    def columns(self) -> Sequence[str]:
        """The columns of the stream that `push` is given, in this order."""

    def push(self, batch: pa.RecordBatch, /) -> object:
        """Take the rows of a batch in."""

    def again(self) -> bool:
        """Asked when all rows have come: whether all of them are to come once more before there is a table.

        A fold that found rows out of order may say so, and then sort a part of them at a time.
        """

    def frame(self) -> pl.DataFrame:
        """FEATURES of all that has come, sorted by actor, then since."""

    def notes(self) -> Notes:
        """What has to be said beside the table."""


@dataclass(frozen=True)
class Divides:
    """How what a feature measures can be cut into parts that are measured apart, with the same rows as together."""

    clock: Clock | None = None  # whole periods of this clock can be; None: a cut in time changes rows
    actors: bool = True  # the rows of some actors can be
    before: int = 0  # microseconds before a period whose events its rows speak of as well

    def by(self, clock: Clock) -> bool:
        """Whether each period of a clock can be measured without the others."""
        own = self.clock
        return own is not None and clock.every % own.every == 0 and clock.time_zone == own.time_zone


@dataclass(frozen=True)
class Vocabulary:
    """The kinds of event that a feature counts, and what becomes of rows whose source does not show them."""

    kinds: tuple[str, ...] | None  # None: not learned yet
    shares: tuple[float, ...] | None  # of the events it was learned from, by kind; None: nobody counted
    counts: Callable[[str], bool]  # which kinds the feature looks at
    clock: Clock  # over whose periods it is asked whether a source speaks as the one it was learned from
    columns: Mapping[str, str]  # kind -> the column that is null where that kind was not shown
    unmeasured: tuple[str, ...]  # columns that are null in a period of another vocabulary; none: its rows are left out
    online: bool = False  # whether log-ins decide what is measured
    number: str = ""  # what people call the number that is another one over other kinds, if there is one

    @cached_property
    def common(self) -> dict[str, float]:
        """How common each kind was in training; all alike where nobody counted."""
        kinds = self.kinds or ()
        alike = [1 / len(kinds)] * len(kinds) if kinds else []
        return dict(zip(kinds, alike if self.shares is None else self.shares, strict=True))


class Feature(Protocol):
    """A frozen recipe that turns a stream into numbers: rows of actor, since, until, events, and columns of its own.

    `events` counts what the row was made of: events, packets or messages. Times and the count are null in the rows of
    an operator's own table. `gamewarden.features.plain.PlainFeature` has honest defaults for most of this.

    A recipe is a frozen dataclass whose fields each name, in `metadata["also"]`, the other values the contract
    tests shall try.
    """

    name: ClassVar[str]
    input: ClassVar[StreamKind]  # what kind of stream it measures
    requires: ClassVar[tuple[str, ...]]  # columns of it without which it is blind
    optional: ClassVar[Mapping[str, str]]  # column or kind -> what stays null without it
    # Its numbers speak of those whom an actor has to do with: where nothing else says bot, they are a reason to watch.
    about_others: ClassVar[bool]
    # Many bots show nothing of it: to look human here, or to be silent, excuses nothing that others have seen.
    one_sided: ClassVar[bool]
    part_of_day: ClassVar[bool]  # a row is a piece of a day's play, several of which add up, and not a whole period

    @property
    def odd_when(self) -> Mapping[str, Side]:
        """The columns that look odd before anybody has said who is a bot, and on which side."""

    @property
    def schema(self) -> Mapping[str, DataType]:
        """Names and types of its columns after actor, since, until and events."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names in `schema`."""

    @property
    def phrases(self) -> Mapping[str, Phrase]:
        """Its words for people: of every column that is a number."""

    @property
    def entity(self) -> Entity:
        """Whose rows these are."""

    @property
    def time_zone(self) -> str | None:
        """On whose clock its periods are; None: UTC, or it has none."""

    @property
    def divides(self) -> Divides:
        """How it may be cut into parts."""

    @property
    def strict(self) -> bool:
        """Whether the first message that cannot be read has to end its stream."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know about these options before trusting them."""

    @property
    def own_needs(self) -> tuple[str, ...]:
        """Columns of the stream without which this very recipe is blind; mostly `requires`."""

    @property
    def learned(self) -> Vocabulary | None:
        """The kinds it counts; None of a feature to which kinds are nothing special."""

    def learn(self, stream: Stream, progress: Progress = no_progress) -> Self:
        """The recipe with all that must not change after training learned from a stream."""

    def unlearned(self) -> Self:
        """The recipe before it learned anything, so that it can learn anew."""

    def fold(self, sight: Sight = ...) -> Fold:
        """A measurement that has not seen a row yet, of a stream of which so much is known."""

    def measure(self, stream: Stream, progress: Progress = no_progress) -> pl.DataFrame:
        """FEATURES of a stream: its fold over all batches."""

    def to_dict(self) -> dict[str, Any]:
        """The recipe as JSON values."""

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The recipe back from JSON values."""

    @classmethod
    def taking(cls, options: Mapping[str, Any]) -> Self:
        """The recipe with those of these options that it has."""


class Decides(Protocol):
    """What tells bots from humans by the sign of a number."""

    def decide(self, features: pl.DataFrame) -> NDArray[np.float64]:
        """One number per row: positive is a bot's, NaN where there is too little evidence."""


class Persons(Protocol):
    """The humans that a model was tried on, as a budget counts them: one entry per person; nobody is named."""

    @property
    def lowest(self) -> tuple[float, ...]:
        """The lowest FPR of all rows of a person."""

    @property
    def days(self) -> tuple[float, ...] | None:
        """On how many days it was judged; None where rows have no times."""


class WholeDays(Protocol):
    """The days of the humans that a model was tried on: what a day of several rows is compared with."""

    @property
    def cut(self) -> Clock:
        """The periods they are of."""

    def fpr(self, means: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """The share of human days that look at least as bot-like, by mean log-odds and number of rows."""


class Detector(Protocol):
    """A frozen recipe of one published method; `learning.recipe.DetectorRecipe` has all of it but `fit`."""

    name: ClassVar[str]
    says: ClassVar[str]  # one sentence for a person
    sees: ClassVar[str]  # the name of the feature it looks at
    model: ClassVar["type[Model]"]  # what `fit` gives

    @property
    def feature(self) -> Feature:
        """What has to be measured before it can speak; given by the caller, frozen before `fit`."""

    def fit(self, features: pl.DataFrame, labels: pl.DataFrame) -> "Model":
        """An immutable model from FEATURES and LABELS; same recipe and data give the same model id."""

    @property
    def cut(self) -> float | None:
        """The probability from which accusing costs less than waiting; None of a method that does not weigh it."""

    def learn(self, features: pl.DataFrame, labels: pl.DataFrame) -> Decides:
        """What decides, without calibration where that is possible: for trials that hold rows out themselves."""

    def on_clock(self, zone: str | None) -> Self:
        """The recipe with whole days on the clock of a zone, where it ranks days and was told no zone."""

    def around(self, feature: Feature) -> Self:
        """The same recipe around another feature."""

    def with_styles(self, styles: Any) -> Self:  # noqa: ANN401  what they are is known above
        """The recipe with these borders between styles of play, where it compares people by style."""

    def to_dict(self) -> dict[str, Any]:
        """The recipe as JSON values, without the feature's."""

    @classmethod
    def of(cls, feature: Feature, options: Mapping[str, Any]) -> Self:
        """The recipe with these options, around a feature."""

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], feature: Feature) -> Self:
        """The recipe back from JSON values, around a feature; an option that is not there has its default."""


@dataclass(frozen=True)
class Recipe:
    """A feature recipe at rest: a name of the registry and its options as JSON values.

    A model carries this instead of the recipe itself, since a detector knows no feature's class; whoever scores
    rebuilds the feature from it.
    """

    name: str
    options: Mapping[str, Any]


class Model(Protocol):
    """A fitted, immutable detector; `learning.fitted.FittedModel` has all of it but what the method knows."""

    without_people: ClassVar[str]  # why a budget cannot count with it, where it has no people

    @property
    def id(self) -> str:
        """`detector@digest` of its recipes and training data."""

    @property
    def card(self) -> "Card":
        """What it is, what it was made from and how good it was."""

    @property
    def feature(self) -> Recipe:
        """The frozen feature recipe it was trained on."""

    @property
    def base(self) -> float:
        """The log-odds from which the weights of evidence are measured."""

    @property
    def days(self) -> WholeDays | None:
        """The days of the humans it was tried on; None where no day of theirs has two rows."""

    @property
    def people(self) -> Persons | None:
        """The humans it was tried on, as a budget counts them."""

    @property
    def compared_with(self) -> tuple[int, ...]:
        """How many humans a row is ranked among: of each kind that is told apart, or all of them."""

    @property
    def price(self) -> str:
        """What the promise of its FPR costs, in one line; nothing where there was no choice."""

    def told_styles(self, features: pl.DataFrame) -> pl.Series:
        """The style of play of each row, as `style`; null where the method tells none apart."""

    def score(self, features: pl.DataFrame) -> pl.DataFrame:
        """SCORES: null probability and FPR where there is too little evidence."""

    def explain(self, features: pl.DataFrame) -> pl.DataFrame:
        """EVIDENCE: one row a feature, the heaviest first.

        Weights add up, with the model's base, to the log-odds of `probability`. What stands before the first colon
        of `says` is a reason that can stand alone in a list; of a number as people have it, it says "usual".
        """

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values."""

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The model back from JSON values."""


@dataclass(frozen=True)
class Card:
    """What a model is, what it was made from and how good it was, for people and for `model show`."""

    id: str
    detector: str
    recipe: Mapping[str, Any]
    feature: Mapping[str, Any]  # the feature recipe: its name and options, a vocabulary as its size and digest
    parameters: Mapping[str, Any]  # what was learned: means, deviations, weights, intercept
    training: Mapping[str, Any]  # since, until, label counts by class and source, rows left out and why
    validation: Mapping[str, Any]  # held-out results
    weaknesses: tuple[str, ...] = field(default=())


# Made once: json.dumps would make a new one for every value.
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical_json(value: object) -> str:
    """One text for one value: sorted keys, no spaces, no NaN."""
    return _CANONICAL.encode(value)


def digest(*parts: str | bytes) -> str:
    """Twelve hex digits that name these parts anywhere."""
    running = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        running.update(len(data).to_bytes(8, "little"))
        running.update(data)
    return running.hexdigest()[:12]


def model_id(detector: str, recipe: Mapping[str, Any], feature: Recipe, data: str) -> str:
    """`detector@digest`: the same recipes and training data have the same name anywhere."""
    recipes = canonical_json(dict(recipe)), feature.name, canonical_json(dict(feature.options))
    return f"{detector}@{digest(detector, *recipes, data)}"


def frame_digest(frame: pl.DataFrame) -> str:
    """A digest of a table's values, whatever the order of its rows."""
    ordered = frame.sort(frame.columns, nulls_last=True) if frame.width else frame
    return digest(
        ",".join(f"{name}:{dtype}" for name, dtype in frame.schema.items()), ordered.write_csv(null_value="\x00")
    )
