"""The hours of some actors one by one: what a person looks at to believe that a program played."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from gamewarden.contracts import EventStream, sight_of
from gamewarden.features.folding import feed
from gamewarden.features.pulses.recipe import Pulses
from gamewarden.tables import TIME, DataType

if TYPE_CHECKING:
    from gamewarden.features.pulses.stream import PulseFold

_SPANS: dict[str, DataType] = {
    "actor": pl.String,
    "since": TIME,
    "until": TIME,
    "self_sim": pl.Float64,
    "steady": pl.Float64,
    "pulse": pl.Boolean,
}
_PULSES: dict[str, DataType] = {
    "actor": pl.String,
    "since": TIME,
    "until": TIME,
    "self_sim": pl.Float64,
    "steady": pl.Float64,
    "share": pl.Float64,
}


@dataclass(frozen=True)
class Pulse:
    """A stretch in which somebody acts as a clock does."""

    since: datetime
    until: datetime
    self_sim: float  # of its usual span
    steady: float | None  # share of beats as long as the one before
    share: float  # of the windows with an event


@dataclass(frozen=True)
class Stretches:
    """The spans of one actor in time, the pulses among them, and what its other hours are like."""

    spans: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_SPANS))
    pulses: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_PULSES))
    steady: float = 0.0  # share of steady beats that makes a span clockwork

    @property
    def named(self) -> tuple[Pulse, ...]:
        """Its pulses one by one."""
        return tuple(Pulse(**row) for row in self.pulses.drop("actor").iter_rows(named=True))

    @property
    def own_self_sim(self) -> float | None:
        """H of its usual span outside pulses; None where there is no other play."""
        return self._own("self_sim")

    @property
    def own_steady(self) -> float | None:
        """The share of steady beats of its usual span outside pulses; None where there is no other play."""
        return self._own("steady")

    def _own(self, column: str) -> float | None:
        middle = self.spans.filter(~pl.col("pulse")).select(pl.col(column).median()).item()
        return None if middle is None else float(middle)


def pulses_like(options: Mapping[str, Any]) -> Pulses:
    """The recipe with the windows, periods and vocabulary of another feature's options."""
    shared = ("unit", "every", "by", "time_zone", "vocabulary")
    return Pulses.from_dict({name: options[name] for name in shared if name in options})


def stretches_of(recipe: Pulses, events: EventStream, actors: Sequence[str]) -> dict[str, Stretches]:
    """The stretches of some actors, from one reading of their events; nothing of who has no event."""
    from gamewarden.features.pulses.rows import pulses_of, spans_of

    fold: PulseFold = recipe.fold(sight_of("events", events))
    feed(fold, events)
    pieces = fold.pieces()
    spans, pulses = spans_of(recipe, pieces), pulses_of(recipe, pieces)
    return {actor: Stretches(spans.filter(actor=actor), pulses.filter(actor=actor), recipe.steady) for actor in actors}
