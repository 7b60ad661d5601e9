"""Somebody who plays, and lets a program play for some hours: spans of a day, and those that beat as a clock does.

Lee et al. (NDSS 2016) see such accounts as pulses of self-similarity over short times (spec §2.10). A day as a whole
says nothing about them, since their own minutes of play are as uneven as anybody's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import polars as pl

from gamewarden.contracts import Divides, Sight, StreamKind, Vocabulary
from gamewarden.core.durations import DAY, HOUR, MINUTE
from gamewarden.errors import MeasureError
from gamewarden.features.periods import ByPeriod
from gamewarden.features.plain import ANY_SIGHT
from gamewarden.features.vocabulary import CountsKinds, any_kind
from gamewarden.phrases import Phrase
from gamewarden.phrases.pulses import PHRASES
from gamewarden.tables import DataType

if TYPE_CHECKING:
    from gamewarden.features.pulses.stream import PulseFold

By = Literal["account", "character"]
RuleName = Literal["beat", "published"]
SPAN, STEP = 60, 10  # windows of a span, and from the beginning of one to that of the next (spec §2.10)
STEADY = 0.6  # a bar that hardly a person's hours reach: decision 148
_MOST_WINDOWS = 1 << 30
_ALIKE = ("span_self_sim", "span_evenness", "own_self_sim", "jump")
_SCHEMA: Mapping[str, DataType] = {
    "spans": pl.Int64,
    "pulses": pl.Int64,
    "pulse_minutes": pl.Float64,
    "pulse_share": pl.Float64,
    "pulse_begin_min": pl.Float64,
    "pulse_end_min": pl.Float64,
    "pulse_steady": pl.Float64,
    "pulse_kinds": pl.Float64,
    "span_self_sim": pl.Float64,
    "span_evenness": pl.Float64,
    "span_steady": pl.Float64,
    "clockwork": pl.Float64,
    "own_self_sim": pl.Float64,
    "own_steady": pl.Float64,
    "own_kinds": pl.Float64,
    "jump": pl.Float64,
    "total_use_time_min": pl.Float64,
    "npc_kill_count": pl.Int64,
}


@dataclass(frozen=True)
class Pulses(ByPeriod, CountsKinds):
    """One row an actor and period: how even its best hours are, and for how long it beats as a clock does.

    A beat is the time between two events of one kind; it is steady when it is as long as the one before, give or take a
    fifth. A person's beats are steady about three times in ten, a script's eight times.
    """

    unit: int = field(
        default=MINUTE,
        metadata={"also": (10 * MINUTE,), "as": "span", "shown": "60s", "says": "Length of one window."},
    )
    every: int = field(
        default=DAY,
        metadata={"also": (7 * DAY, 2 * HOUR), "as": "span", "shown": "1d", "says": "Length of one period."},
    )
    span: int = field(default=SPAN, metadata={"also": (10,), "says": "Windows of one span."})
    step: int = field(
        default=STEP, metadata={"also": (5,), "says": "Windows from the beginning of one span to that of the next."}
    )
    rule: RuleName = field(
        default="beat",
        metadata={
            "also": ("published",),
            "says": "What makes a pulse: beats as steady as a clock's, or self-similarity as published.",
        },
    )
    steady: float = field(
        default=STEADY, metadata={"also": (0.3,), "says": "Share of steady beats that makes a span clockwork."}
    )
    bot_level: float | None = field(
        default=None,
        metadata={"also": (0.9,), "says": "Self-similarity of a usual bot, for the published rule."},
    )
    by: By = field(default="account", metadata={"also": ("character",), "says": "What stands in the column actor."})
    time_zone: str | None = field(default=None, metadata={"also": ("Asia/Seoul", "Europe/Berlin")})
    vocabulary: tuple[str, ...] | None = field(
        default=None,
        metadata={"also": (("combat.kill", "move"),), "as": "lines", "says": "File with the game's kinds, one a line."},
    )
    # How common each kind was where the vocabulary was learned; nothing is measured by it.
    shares: tuple[float, ...] | None = field(default=None, compare=False, metadata={"also": ((1.0,),)})

    name: ClassVar[str] = "pulses"
    one_sided: ClassVar[bool] = True
    input: ClassVar[StreamKind] = "events"
    requires: ClassVar[tuple[str, ...]] = ("actor", "at", "kind")
    optional: ClassVar[Mapping[str, str]] = {"combat.kill": "npc_kill_count"}

    def __post_init__(self) -> None:
        """Check every option.

        Raises:
            MeasureError: an option has a value that nothing can be measured with.
        """
        self._check_times()
        self._check_choices()
        self._check_vocabulary()

    def _check_times(self) -> None:
        self._check_windows(self.unit)
        if self.every // self.unit > _MOST_WINDOWS:
            raise MeasureError(f"pulses: a period has more than {_MOST_WINDOWS} windows; take a longer unit")
        if self.step < 1 or self.span < self.step or self.span % self.step:
            raise MeasureError(
                f"pulses: step {self.step} does not divide span {self.span}; take 10 and 60, or the like"
            )

    def _check_choices(self) -> None:
        for name, choices in (("rule", get_args(RuleName)), ("by", get_args(By))):
            if getattr(self, name) not in choices:
                raise MeasureError(f"pulses: {name} is {getattr(self, name)!r}; choose {' or '.join(choices)}")
        for name in ("steady", "bot_level"):
            share = getattr(self, name)
            if share is not None and not 0 <= share <= 1:
                raise MeasureError(f"pulses: {name} is {share}; it must lie from 0 to 1")
        self._check_zone()

    @property
    def schema(self) -> Mapping[str, DataType]:
        """The columns after actor, since, until and events."""
        return _SCHEMA

    @property
    def phrases(self) -> Mapping[str, Phrase]:
        """Its own words."""
        return PHRASES

    @property
    def divides(self) -> Divides:
        """With a vocabulary a period is measured without the others; else the kinds of all of them count."""
        return Divides(None if self.vocabulary is None else self.clock)

    @property
    def learned(self) -> Vocabulary:
        """Its kinds: in a period of another vocabulary nothing is said of evenness."""
        return Vocabulary(
            self.vocabulary,
            self.shares,
            counts=any_kind,
            clock=self.clock,
            columns={"combat.kill": "npc_kill_count"},
            unmeasured=(*_ALIKE, "npc_kill_count"),
            number="Evenness",
        )

    def fold(self, sight: Sight = ANY_SIGHT) -> "PulseFold":
        """Pieces of play, closed as events come."""
        from gamewarden.features.pulses.stream import PulseFold

        return PulseFold(self, sight)
