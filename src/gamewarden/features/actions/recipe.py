"""What was done, how often and at what intervals: chunks of play as vectors.

Thawonmas & Kashifuji, "Detection of MMORPG misconducts based on action frequencies, types and time-intervals". A log is
cut into chunks that overlap by one half; a chunk is the fourth root of how often each action was done, against the most
frequent one (equation 7), and of how often each length of interval occurred, against the most frequent one (8).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import polars as pl

from gamewarden.contracts import Entity, Sight, StreamKind, Vocabulary
from gamewarden.core.clock import Clock
from gamewarden.core.durations import DAY, HOUR, MINUTE, span_text
from gamewarden.errors import MeasureError
from gamewarden.features.plain import ANY_SIGHT
from gamewarden.features.vocabulary import CountsKinds, refuse_other_shares
from gamewarden.phrases import Phrase
from gamewarden.phrases.chunks import phrase_of
from gamewarden.tables import TIME, DataType

if TYPE_CHECKING:
    from gamewarden.features.actions.stream import ActionFold, Chunks

By = Literal["account", "character"]
MAX_FREQ = "max_freq"
PACE = "pace_"  # how the names of the numbers begin that say how fast somebody acts
SHORTEST = (1, 2)  # seconds: intervals below them count as the shortest
_MOST_BINS = 86_400  # a day in seconds
_LONGEST = 1 << 60
_NOT_ACTIONS = ("move", "session.*")  # walking and being there are not what a player does


@dataclass(frozen=True)
class Actions(CountsKinds):
    """One row a chunk of play: which actions were done, how often, and at what intervals."""

    chunk: int = field(
        default=HOUR,
        metadata={
            "also": (15 * MINUTE, 2 * HOUR),
            "as": "span",
            "shown": "60m",
            "says": "Length of one chunk; the next begins half a chunk later.",
        },
    )
    t: int = field(
        default=60, metadata={"also": (5, 300), "says": "Seconds from which all longer intervals are one bin."}
    )
    min_actions: int = field(default=2, metadata={"also": (1, 20), "says": "A chunk with fewer actions gives no row."})
    by: By = field(default="account", metadata={"also": ("character",), "says": "What stands in the column actor."})
    kinds: tuple[str, ...] | None = field(
        default=None,
        metadata={
            "also": (("combat.*", "loot.pickup"),),
            "as": "kinds",
            "says": "Kinds that are actions: a,b,c.* or a file with one a line; by default all but move and session.*",
        },
    )
    vocabulary: tuple[str, ...] | None = field(
        default=None,
        metadata={"also": (("combat.kill", "move"),), "as": "lines", "says": "File with the game's kinds, one a line."},
    )
    # How common each kind was where the vocabulary was learned; nothing is measured by it.
    shares: tuple[float, ...] | None = field(default=None, compare=False, metadata={"also": ((1.0,),)})
    max_freq: bool = field(
        default=False,
        metadata={"also": (True,), "says": "Also how often the most frequent action was done: max_freq."},
    )
    own_intervals: bool = field(
        default=False,
        metadata={
            "also": (True,),
            "says": "Also mean and deviation of each action's own intervals in seconds: m_<kind>, d_<kind>.",
        },
    )
    pace: bool = field(
        default=False,
        metadata={
            "also": (True,),
            "says": "Also how fast: logarithm of the actions, shares of intervals below 1 s and 2 s: pace_….",
        },
    )

    name: ClassVar[str] = "actions"
    input: ClassVar[StreamKind] = "events"
    requires: ClassVar[tuple[str, ...]] = ("actor", "at", "kind")
    optional: ClassVar[Mapping[str, str]] = {}
    part_of_day: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check every option.

        Raises:
            MeasureError: an option has a value that nothing can be measured with.
        """
        self._check_numbers()
        if self.by not in get_args(By):
            raise MeasureError(f"actions: by is {self.by!r}; choose {' or '.join(get_args(By))}")
        for option in ("kinds", "vocabulary"):
            given = getattr(self, option)
            if given is not None:
                object.__setattr__(self, option, tuple(sorted(set(given))))
                if not given:
                    raise MeasureError(f"actions: {option} is empty; it needs at least one kind")
        if self.vocabulary is None:
            object.__setattr__(self, "shares", None)
        else:
            refuse_other_shares(self.name, self.vocabulary, self.shares)
        if self.vocabulary is not None and not self.action_kinds():
            raise MeasureError(
                f"actions: none of the {len(self.vocabulary)} kinds of the vocabulary is an action; choose with kinds"
            )

    def _check_numbers(self) -> None:
        if not 2 <= self.chunk <= _LONGEST or self.chunk % 2:  # noqa: PLR2004 - two halves
            raise MeasureError(
                f"actions: chunk {span_text(self.chunk)} has no half of whole microseconds; take another"
            )
        if not 1 <= self.t <= _MOST_BINS:
            raise MeasureError(f"actions: t is {self.t}; it must lie from 1 to {_MOST_BINS} seconds")
        if self.min_actions < 1:
            raise MeasureError(f"actions: min_actions is {self.min_actions}; a chunk needs 1 action at least")

    def is_action(self, kind: str) -> bool:
        """Whether events of this kind count."""
        if self.kinds is None:
            return not _matches(kind, _NOT_ACTIONS)
        return _matches(kind, self.kinds)

    def action_kinds(self) -> tuple[str, ...]:
        """The actions that have a column, sorted; none before a vocabulary is known."""
        return tuple(kind for kind in self.vocabulary or () if self.is_action(kind))

    @property
    def schema(self) -> Mapping[str, DataType]:
        """The columns after actor, since, until and events."""
        kinds = self.action_kinds()
        own = [f"{part}_{kind}" for kind in kinds for part in ("m", "d")] if self.own_intervals else []
        more = [*self.paces, *([MAX_FREQ] if self.max_freq else [])]
        names = (*(f"a_{kind}" for kind in kinds), *(f"i_{gap}" for gap in range(self.t + 1)), *own, *more)
        return dict.fromkeys(names, pl.Float64)

    @property
    def paces(self) -> tuple[str, ...]:
        """The numbers of the pace; a share below more seconds than are told apart is nobody's to know."""
        shares = (f"{PACE}{seconds}s" for seconds in SHORTEST if seconds <= self.t)
        return (f"{PACE}actions", *shares) if self.pace else ()

    @property
    def phrases(self) -> Mapping[str, Phrase]:
        """The words for actions and intervals."""
        return {name: phrase_of(name, self.t) for name in self.schema if name != MAX_FREQ} | (
            {MAX_FREQ: Phrase.plain(MAX_FREQ)} if self.max_freq else {}
        )

    @property
    def entity(self) -> Entity:
        """As `by` says."""
        return "character" if self.by == "character" else "actor"

    @property
    def learned(self) -> Vocabulary:
        """Its actions: chunks of a day of another vocabulary are left out."""
        return Vocabulary(
            self.vocabulary,
            self.shares,
            counts=self.is_action,
            clock=Clock(DAY),
            columns={kind: f"a_{kind}" for kind in self.action_kinds()},
            unmeasured=(),
        )

    def speaking(self, kinds: tuple[str, ...]) -> Self:
        """The recipe with the actions among these kinds as its vocabulary.

        Raises:
            MeasureError: none of them is an action.
        """
        vocabulary = tuple(kind for kind in kinds if self.is_action(kind))
        if not vocabulary:
            raise MeasureError("actions: the source has no action, so there is no vocabulary to learn")
        return replace(self, vocabulary=vocabulary)

    def fold(self, sight: Sight = ANY_SIGHT) -> "ActionFold":
        """Chunks, closed as events come."""
        from gamewarden.features.actions.stream import ActionFold

        return ActionFold(self, sight)

    def to_dict(self) -> dict[str, Any]:
        """The recipe as JSON values."""
        values = super().to_dict()
        # A recipe without it is written as before there was a pace, and its models keep their names.
        return values if self.pace else {name: value for name, value in values.items() if name != "pace"}


def _matches(kind: str, patterns: tuple[str, ...]) -> bool:
    """Whether a kind is named, by itself or by its family as in `session.*`."""
    family = kind.partition(".")[0] + ".*"
    return kind in patterns or (family in patterns and "." in kind)


def frame_of(recipe: Actions, chunks: "Chunks", unseen: tuple[str, ...]) -> pl.DataFrame:
    """FEATURES of finished chunks; actions that the source cannot show are null."""
    times = [
        pl.Series(name, values).cast(pl.Datetime("us")).dt.replace_time_zone("UTC").cast(TIME)
        for name, values in (("since", chunks.since), ("until", chunks.since + recipe.chunk))
    ]
    actors = pl.Series("actor", chunks.actors, dtype=pl.String).gather(chunks.slot)
    numbers = [pl.Series(name, values, dtype=pl.Float64) for name, values in chunks.columns.items()]
    frame = pl.DataFrame([actors, *times, pl.Series("events", chunks.events, dtype=pl.Int64), *numbers])
    return frame.with_columns(pl.lit(None, pl.Float64).alias(f"a_{kind}") for kind in unseen)
