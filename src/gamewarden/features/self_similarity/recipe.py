"""How alike a player's minutes are: self-similarity and the thirteen numbers published beside it.

Lee et al., "You are a game bot!" (NDSS 2016). A log is cut into windows; a window is the vector of how often each kind
of event occurred; its cosine to (1, …, 1) is one number a window; H = 1 − σ/2 of these numbers is near 1 for a bot.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np
import polars as pl

from gamewarden.contracts import Divides, EventStream, Sight, StreamKind, Vocabulary
from gamewarden.core.durations import DAY, HOUR, MINUTE, span_text
from gamewarden.core.text import counted
from gamewarden.errors import MeasureError
from gamewarden.features.periods import ByPeriod
from gamewarden.features.plain import ANY_SIGHT
from gamewarden.features.vocabulary import CountsKinds, any_kind
from gamewarden.phrases import Phrase
from gamewarden.phrases.days import PHRASES
from gamewarden.tables import FEATURES, TIME, DataType

if TYPE_CHECKING:
    from gamewarden.features.self_similarity.stream import Finished, SimilarityFold

Empty = Literal["online", "gap", "active"]
By = Literal["account", "character"]
EMPTY = ("active", "gap", "online")
BY = get_args(By)
OTHER = "OTHER"
# Feature 9 to 13 of the paper: how often a kind occurred.
ROLES = {
    "npc_kill_count": "combat.kill",
    "trade_get_count": "trade.receive",
    "trade_give_count": "trade.give",
    "retrieve_count": "storage.withdraw",
    "deposit_count": "storage.deposit",
}
_SCHEMA: Mapping[str, DataType] = {
    "windows": pl.Int64,
    "self_sim": pl.Float64,
    **dict.fromkeys(("cosim_count", "cosim_uniq_count", "cosim_zero_count", "cosim_mode", "total_log_count"), pl.Int64),
    "main_char_level": pl.Int16,
    "total_use_time_min": pl.Float64,
    **dict.fromkeys(ROLES, pl.Int64),
    "log_count_per_min": pl.Float64,
}
_ORDER = {**FEATURES.columns, **_SCHEMA}
_EXAMPLES = 3
_MOST_WINDOWS = 1 << 30  # a window's number in its period is a 32-bit number


@dataclass(frozen=True)
class Usage:
    """What became of the rows: how many there were, and which could not be used as they stood."""

    rows: int = 0
    nameless: int = 0  # no character under by = "character": dropped
    other: int = 0  # events whose kind the vocabulary does not have: counted as OTHER
    other_kinds: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()  # kinds with a role that the vocabulary has and the source never shows
    told: bool = False  # the source said itself what it can show
    disordered: int = 0  # actors whose rows came out of order and were sorted first
    vocabulary: tuple[str, ...] = ()  # the kinds that counted
    own: bool = False  # no vocabulary was given: those of the source counted

    def __add__(self, other: "Usage") -> "Usage":
        """Both together, of two parts of one source; whoever came out of order in both counts twice."""
        absent = [part.absent for part in (self, other) if part.rows]
        return Usage(
            rows=self.rows + other.rows,
            nameless=self.nameless + other.nameless,
            other=self.other + other.other,
            other_kinds=tuple(sorted({*self.other_kinds, *other.other_kinds})),
            absent=tuple(kind for kind in absent[0] if all(kind in part for part in absent)) if absent else (),
            told=self.told or other.told,
            disordered=self.disordered + other.disordered,
            vocabulary=self.vocabulary or other.vocabulary,
            own=self.own or other.own,
        )

    def sentences(self) -> tuple[str, ...]:
        """What its owner should know of rows that did not count as they stood."""
        some = ", ".join(self.other_kinds[:_EXAMPLES]) + (", …" if len(self.other_kinds) > _EXAMPLES else "")
        outside = f"{len(self.other_kinds):,} kinds outside the vocabulary ({some})"
        silent = () if self.told else self.absent
        over = f"over the {counted(len(self.vocabulary), 'kind')} of this source"
        lines = {
            f"{self.nameless:,} of {self.rows:,} rows name no character and could not be counted.": self.nameless,
            f"{self.other:,} of {self.rows:,} events are of {outside} and counted as OTHER.": self.other,
            f"This log never shows {', '.join(silent)}, which the vocabulary has: 0 for everybody.": len(silent),
            f"Self-similarity is {over}; another vocabulary gives other numbers.": self.own,
        }
        return tuple(line for line, count in lines.items() if count)


@dataclass(frozen=True)
class SelfSimilarity(ByPeriod, CountsKinds):
    """One row an actor and period: how alike its windows are, and what it did."""

    unit: int = field(
        default=MINUTE,
        metadata={"also": (10 * MINUTE, HOUR), "as": "span", "shown": "60s", "says": "Length of one window."},
    )
    every: int = field(
        default=DAY,
        metadata={"also": (7 * DAY, HOUR), "as": "span", "shown": "1d", "says": "Length of one period."},
    )
    empty: Empty = field(
        default="online",
        metadata={
            "also": ("gap", "active"),
            "says": "Empty windows that count: while online, in short gaps, none.",
        },
    )
    ddof: Literal[0, 1] = field(
        default=0, metadata={"also": (1,), "says": "Deviation of the population (0) or of a sample (1)."}
    )
    min_windows: int = field(
        default=30, metadata={"also": (1,), "says": "Fewer windows are too little evidence for a self-similarity."}
    )
    by: By = field(default="account", metadata={"also": ("character",), "says": "What stands in the column actor."})
    time_zone: str | None = field(default=None, metadata={"also": ("Asia/Seoul", "Europe/Berlin")})
    vocabulary: tuple[str, ...] | None = field(
        default=None,
        metadata={"also": (("combat.kill", "move"),), "as": "lines", "says": "File with the game's kinds, one a line."},
    )
    # How common each kind was where the vocabulary was learned; nothing is measured by it.
    shares: tuple[float, ...] | None = field(default=None, compare=False, metadata={"also": ((1.0,),)})
    min_events: int = field(
        default=1,
        metadata={"also": (30,), "says": "Fewer events are too little evidence for it.", "shown": "warden.toml"},
    )
    min_active: int = field(
        default=1,
        metadata={
            "also": (10,),
            "says": "Fewer windows with an event are too little evidence for it.",
            "shown": "warden.toml",
        },
    )

    name: ClassVar[str] = "self-similarity"
    input: ClassVar[StreamKind] = "events"
    requires: ClassVar[tuple[str, ...]] = ("actor", "at", "kind")
    optional: ClassVar[Mapping[str, str]] = {
        "level": "main_char_level",
        **{kind: column for column, kind in ROLES.items()},
    }

    def __post_init__(self) -> None:
        """Check every option.

        Raises:
            MeasureError: an option has a value that nothing can be measured with.
        """
        self._check_spans()
        self._check_choices()
        self._check_vocabulary()

    def _check_spans(self) -> None:
        self._check_windows(self.unit)
        if self.every // self.unit > _MOST_WINDOWS:
            raise MeasureError(
                f"self-similarity: a period of {span_text(self.every)} has {self.every // self.unit} windows of "
                f"{span_text(self.unit)}; at most {_MOST_WINDOWS} can be counted, so take a longer unit"
            )
        for name in ("min_windows", "min_events", "min_active"):
            if getattr(self, name) < 1:
                raise MeasureError(f"self-similarity: {name} is {getattr(self, name)}; it must be 1 or more")

    def _check_choices(self) -> None:
        for name, choices in (("empty", EMPTY), ("by", BY), ("ddof", (0, 1))):
            if getattr(self, name) not in choices:
                raise MeasureError(
                    f"self-similarity: {name} is {getattr(self, name)!r}; choose {' or '.join(map(str, choices))}"
                )
        self._check_zone()

    @property
    def schema(self) -> Mapping[str, DataType]:
        """The columns after actor, since, until and events."""
        return _SCHEMA

    @property
    def phrases(self) -> Mapping[str, Phrase]:
        """Its own words, and plain ones for the number of windows."""
        return {**super().phrases, **PHRASES}

    @property
    def divides(self) -> Divides:
        """With a vocabulary a period is measured without the others; else the kinds of all of them count."""
        return Divides(None if self.vocabulary is None else self.clock)

    @property
    def learned(self) -> Vocabulary:
        """Its kinds: a day of another vocabulary stays, without a self-similarity, and so without a score."""
        return Vocabulary(
            self.vocabulary,
            self.shares,
            counts=any_kind,
            clock=self.clock,
            columns={kind: column for column, kind in ROLES.items()},
            unmeasured=("self_sim", *ROLES),
            online=True,
            number="Self-similarity",
        )

    def fold(self, sight: Sight = ANY_SIGHT) -> "SimilarityFold":
        """Windows, closed as events come."""
        from gamewarden.features.self_similarity.stream import SimilarityFold

        return SimilarityFold(self, sight)

    def windows(self, events: EventStream, actor: str) -> pl.DataFrame:
        """One row a window of one actor: since, until, events, kinds, cosine, top_kind; empty windows included."""
        from gamewarden.features.self_similarity.windows import windows

        return windows(self, events, actor)

    def windows_of(self, events: EventStream, actors: Sequence[str]) -> dict[str, pl.DataFrame]:
        """The same of several actors, from one reading."""
        from gamewarden.features.self_similarity.windows import windows_of

        return windows_of(self, events, actors)


def frame_of(recipe: SelfSimilarity, finished: "Finished", shown: Mapping[str, int] | None = None) -> pl.DataFrame:
    """FEATURES of what the kernel found; kinds that the source cannot show have no count."""
    done = finished.rows
    windows = done["windows"].astype(np.int64) + done["empty"]
    minutes = done["online"] / MINUTE
    columns = {
        "since": done["since"],
        "until": done["until"],
        "events": done["events"],
        "windows": windows,
        "self_sim": _self_similarity(recipe, done, windows, len(finished.vocabulary)),
        "cosim_count": done["windows"],
        "cosim_uniq_count": done["unique"],
        "cosim_zero_count": done["empty"],
        "cosim_mode": done["mode"],
        "total_log_count": done["events"],
        "main_char_level": done["level"],
        "total_use_time_min": minutes,
        **{column: done["roles"][:, role] for role, column in enumerate(ROLES)},
        "log_count_per_min": done["events"] / np.where(minutes > 0, minutes, np.nan),
    }
    actors = pl.Series("actor", finished.actors, dtype=pl.String).gather(done["slot"])
    return (
        pl.DataFrame([actors, *(pl.Series(name, values) for name, values in columns.items())])
        .select(*(_typed(name, finished, shown) for name in _ORDER))
        .sort("actor", "since")
    )


def _self_similarity(recipe: SelfSimilarity, done: Any, windows: Any, size: int) -> Any:  # noqa: ANN401 - structured arrays
    # Cosines are the ratios over sqrt(m); an empty window's is 0. Both parts of the sum of squares are positive,
    # so nothing cancels: the spread of the windows with events, and the distance between them and the empty ones.
    full, empty = done["windows"].astype(np.float64), done["empty"].astype(np.float64)
    squares = done["spread"] + full * empty / windows * done["mean"] ** 2
    # An idle stretch is as even as a machine: windows alone, most of them empty, say nothing.
    acted = (done["events"] >= recipe.min_events) & (done["windows"] >= recipe.min_active)
    enough = (windows >= recipe.min_windows) & (windows > recipe.ddof) & acted
    sigma = np.sqrt(squares / np.where(enough, windows - recipe.ddof, 1)) / np.sqrt(max(size, 1))
    return np.where(enough, 1 - sigma / 2, np.nan)


def _typed(name: str, finished: "Finished", shown: Mapping[str, int] | None) -> pl.Expr:
    from gamewarden.features.self_similarity.kernel import NO_LEVEL

    column = pl.col(name)
    if name in {"since", "until"}:
        return column.cast(pl.Int64).cast(pl.Datetime("us")).dt.replace_time_zone("UTC").cast(TIME)
    if name in ROLES:
        seen = ROLES[name] in finished.vocabulary and (shown is None or ROLES[name] in shown)
        return column.cast(pl.Int64) if seen else pl.lit(None, pl.Int64).alias(name)
    if name == "main_char_level":
        return pl.when(column != NO_LEVEL).then(column).cast(pl.Int16).alias(name)
    return column.fill_nan(None) if name in {"self_sim", "log_count_per_min"} else column.cast(_ORDER[name])
