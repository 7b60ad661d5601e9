"""What most features have in common, so that a new one says only what it measures."""

from collections.abc import Container, Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any, ClassVar, Self

import polars as pl

from gamewarden.contracts import (
    Divides,
    Entity,
    Fold,
    Progress,
    Side,
    Sight,
    Stream,
    StreamKind,
    Vocabulary,
    no_progress,
)
from gamewarden.errors import MeasureError
from gamewarden.features.folding import TableFold, folded
from gamewarden.phrases import Phrase
from gamewarden.tables import EVENTS, MESSAGES, PACKETS, DataType

ANY_SIGHT = Sight()
_COLUMNS: Mapping[StreamKind, Mapping[str, DataType]] = {
    "events": EVENTS.columns,
    "packets": PACKETS.columns,
    "messages": MESSAGES.columns,
}


class PlainFeature:
    """A feature that learns nothing, has no periods of its own and can be measured actor by actor.

    A short one says its `schema` and overrides `rows`; one that must not hold all rows overrides `fold`.
    """

    name: ClassVar[str]
    input: ClassVar[StreamKind] = "events"
    requires: ClassVar[tuple[str, ...]] = ("actor", "at")
    optional: ClassVar[Mapping[str, str]] = {}
    about_others: ClassVar[bool] = False
    one_sided: ClassVar[bool] = False
    part_of_day: ClassVar[bool] = False
    odd_when: ClassVar[Mapping[str, Side]] = {}

    @property
    def schema(self) -> Mapping[str, DataType]:
        """Names and types of the columns after actor, since, until and events."""
        return {}

    @property
    def names(self) -> tuple[str, ...]:
        """The columns after actor, since, until and events."""
        return tuple(self.schema)

    @property
    def phrases(self) -> Mapping[str, Phrase]:
        """Plain words, made of the name of each number."""
        numbers = {name: dtype for name, dtype in self.schema.items() if is_number(dtype)}
        return {name: Phrase.plain(name, 0 if dtype.is_integer() else 2) for name, dtype in numbers.items()}

    @property
    def entity(self) -> Entity:
        """Accounts."""
        return "actor"

    @property
    def time_zone(self) -> str | None:
        """None: it has no periods of its own, or they are those of UTC."""
        return None

    @property
    def divides(self) -> Divides:
        """Actors can be measured apart; of time nothing is promised."""
        return Divides()

    @property
    def strict(self) -> bool:
        """What cannot be read is left out and counted."""
        return False

    @property
    def warnings(self) -> tuple[str, ...]:
        """None."""
        return ()

    @property
    def own_needs(self) -> tuple[str, ...]:
        """What the family requires."""
        return self.requires

    @property
    def learned(self) -> Vocabulary | None:
        """It counts no kinds."""
        return None

    def learn(self, stream: Stream, progress: Progress = no_progress) -> Self:
        """Itself: there is nothing to learn."""
        del stream, progress
        return self

    def unlearned(self) -> Self:
        """Itself."""
        return self

    def fold(self, sight: Sight = ANY_SIGHT) -> Fold:
        """All rows in memory, as `rows` takes them; a column that is optional and not there is null."""
        del sight
        known: Container[str] = (
            _COLUMNS.get(self.input) or self.optional
        )  # what is optional may be a kind, which is no column
        columns = dict.fromkeys((*self.requires, *(name for name in self.optional if name in known)))
        return TableFold(tuple(columns), self.rows, self.schema)

    def rows(self, table: pl.DataFrame) -> pl.DataFrame:
        """The rows of FEATURES of what stands in a table: the columns required and the optional ones.

        Raises:
            MeasureError: the feature has neither this nor a fold of its own.
        """
        del table
        raise MeasureError(f"{self.name}: has neither rows nor a fold of its own; whoever offers it has to write one")

    def measure(self, stream: Stream, progress: Progress = no_progress) -> pl.DataFrame:
        """FEATURES: one row per actor and period, sorted by actor, then since."""
        return folded(self, stream, progress).frame

    def to_dict(self) -> dict[str, Any]:
        """The recipe as JSON values."""
        if not is_dataclass(self):
            raise MeasureError(f"{self.name}: is not a dataclass; its options cannot be kept")
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def taking(cls, options: Mapping[str, Any]) -> Self:
        """The recipe with those of these options that it has."""
        known: set[str] = {option.name for option in fields(cls)} if is_dataclass(cls) else set()
        return cls(**{name: value for name, value in options.items() if name in known})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The recipe back from JSON values.

        Raises:
            MeasureError: there is an option this recipe does not have.
        """
        known: set[str] = {option.name for option in fields(cls)} if is_dataclass(cls) else set()
        if unknown := sorted(set(values) - known):
            raise MeasureError(f"{cls.name}: unknown option {', '.join(unknown)}; remove it")
        return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})


def is_number(dtype: DataType) -> bool:
    """Whether a column holds numbers."""
    return bool(dtype.is_numeric())
