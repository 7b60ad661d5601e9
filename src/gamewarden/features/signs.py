"""What of an account can look odd before anybody has said who is a bot: the signs of several families, side by side.

Each family knows one thing about an account. A first look at an unknown log wants all of them in one row, over the same
days: how it repeats itself, when it plays, how fast, whom it is like, to whom it gives, and how it is called.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any, ClassVar, Self, cast

import polars as pl
import pyarrow as pa

from gamewarden.contracts import Feature, Fold, Progress, Side, Sight, Stream, Vocabulary, no_progress
from gamewarden.errors import MeasureError
from gamewarden.features.copies.recipe import Copies
from gamewarden.features.flows import Flows
from gamewarden.features.folding import NotesOfSeveral, typed
from gamewarden.features.looking_back import LooksBack
from gamewarden.features.name_series import Names
from gamewarden.features.paths.recipe import Paths
from gamewarden.features.plain import ANY_SIGHT, PlainFeature
from gamewarden.features.pulses.recipe import Pulses
from gamewarden.features.rhythm.recipe import Rhythm
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.features.vocabulary import CountsKinds
from gamewarden.phrases import Phrase
from gamewarden.phrases.rhythm import FAST
from gamewarden.tables import DataType

# Of families with a row per day: what is kept of the day, and looked at as a mean over the days.
_OF_A_DAY: Mapping[type[PlainFeature], tuple[str, ...]] = {
    SelfSimilarity: ("self_sim", "log_count_per_min", "total_use_time_min", "npc_kill_count", "main_char_level"),
    Pulses: ("span_steady", "clockwork"),
    Paths: ("repeated_way", "same_places"),
}
# Of families that look back themselves: what is looked at.
_OF_DAYS: Mapping[type[LooksBack], tuple[str, ...]] = {
    Rhythm: (
        *("days_played", "play_hours", "awake_hours", "hours_of_day", "day_spread"),
        *("gap_entropy", "periodic", "period_min", "busiest_min", "busiest_hour"),
    ),
    Flows: ("gave_n", "star_score", "chain_n"),
    Copies: ("alike_beyond", "alike_with", "same_way", "same_way_with"),
    Names: ("name_series",),
}
_FAMILIES: Mapping[str, type[PlainFeature]] = {one.name: one for one in (*_OF_A_DAY, *_OF_DAYS)}
_NEEDED = (SelfSimilarity.name, Rhythm.name)  # who played on a day, and how, is known from these
MAY_BE_LEFT_OUT = tuple(name for name in _FAMILIES if name not in _NEEDED)
_COLUMNS = {name: family.name for family, names in (*_OF_A_DAY.items(), *_OF_DAYS.items()) for name in names}
_PART = "part"  # of which family a part is
_DIGITS = 9  # of a mean: so it is the same in whatever order it was added up
_ODD: Mapping[str, Side] = {
    "self_sim": "high",
    "span_steady": "high",
    "clockwork": "high",
    "gap_entropy": "low",
    "periodic": "high",
    "repeated_way": "high",
    "same_places": "high",
    "play_hours": "high",
    "awake_hours": "high",
    "hours_of_day": "high",
    "day_spread": "low",
    "busiest_min": "high",
    "busiest_hour": "high",
    "log_count_per_min": "high",
    "gave_n": "high",
    "star_score": "high",
    "chain_n": "high",
    "alike_beyond": "high",
    "alike_with": "high",
    "same_way": "high",
    "same_way_with": "high",
    "name_series": "high",
}


def _own(family: str, column: str) -> str:
    """The name of a family's column among the parts of all."""
    return f"{family}.{column}"


def _kept_of(family: type[PlainFeature]) -> Mapping[str, DataType]:
    """What is kept of a day, beside whose it is."""
    if issubclass(family, LooksBack):
        return {name: dtype for name, dtype in family.parts.items() if name != "actor"}
    return {name: family().schema[name] for name in _OF_A_DAY[family]}


@dataclass(frozen=True)
class Signs(LooksBack):
    """One row per actor and day: the signs of its last days.

    A mean over days is one over the days on which it could be measured. What a log cannot show is null.
    """

    without: tuple[str, ...] = field(
        default=(), metadata={"also": ((Copies.name, Flows.name),), "says": "Families to do without, by commas."}
    )
    # Options of the families that learned something, by their names; None: nothing was learned yet.
    families: Mapping[str, Mapping[str, Any]] | None = field(
        default=None, metadata={"also": ({SelfSimilarity.name: {"vocabulary": ["combat.kill", "move"]}},)}
    )

    name: ClassVar[str] = "signs"
    requires: ClassVar[tuple[str, ...]] = ("actor", "at", "kind")
    optional: ClassVar[Mapping[str, str]] = {
        "x": "repeated_way, same_places, same_way, same_way_with",
        "y": "repeated_way, same_places, same_way, same_way_with",
        "other": "gave_n, star_score, chain_n",
        "character": "names of characters in name_series",
        "level": "main_char_level",
        "combat.kill": "npc_kill_count",
    }
    about_others: ClassVar[bool] = False
    one_sided: ClassVar[bool] = False
    odd_when: ClassVar[Mapping[str, Side]] = _ODD
    schema: ClassVar[Mapping[str, DataType]] = {
        name: pl.Float64() if family in {one.name for one in _OF_A_DAY} else _FAMILIES[family]().schema[name]
        for name, family in _COLUMNS.items()
    }
    parts: ClassVar[Mapping[str, DataType]] = {
        "actor": pl.String,
        _PART: pl.String,
        "events": pl.Int64,
        **{_own(one.name, name): dtype for one in _FAMILIES.values() for name, dtype in _kept_of(one).items()},
    }
    naming: ClassVar[tuple[str, ...]] = ("actor", _own(Flows.name, "other"))

    def __post_init__(self) -> None:
        """Look at the days and at the families.

        Raises:
            MeasureError: a family cannot be left out, or its options are none.
        """
        super().__post_init__()
        unknown = [name for name in self.without if name not in MAY_BE_LEFT_OUT]
        if unknown:
            raise MeasureError(f"signs: {unknown[0]!r} cannot be left out; choose among {', '.join(MAY_BE_LEFT_OUT)}")

    @cached_property
    def recipes(self) -> Mapping[str, Feature]:
        """The families that are looked at, each with what it learned."""
        told = {} if self.families is None else dict(self.families)
        usual = {"back": self.back, "time_zone": self.time_zone}
        return {
            name: family.from_dict(told[name]) if name in told else family.taking(usual)
            for name, family in _FAMILIES.items()
            if name not in self.without
        }

    @property
    def days(self) -> SelfSimilarity:
        """The recipe that shows a day to people, over the kinds that were learned."""
        return cast("SelfSimilarity", self.recipes[SelfSimilarity.name])

    @property
    def phrases(self) -> Mapping[str, Phrase]:
        """The words of the families; actions a minute are about pace here."""
        words = {name: _FAMILIES[family]().phrases[name] for name, family in _COLUMNS.items()}
        pace = "log_count_per_min"
        return {**words, pace: replace(words[pace], topic=FAST)}

    @property
    def learned(self) -> Vocabulary | None:
        """The kinds that windows and beats are made of."""
        kinds = self.recipes[SelfSimilarity.name].learned
        if kinds is None:
            return None
        mine = {kind: column for kind, column in kinds.columns.items() if column in self.schema}
        return replace(kinds, columns=mine, unmeasured=("self_sim", "npc_kill_count"), online=False)

    def learn(self, stream: Stream, progress: Progress = no_progress) -> Self:
        """The recipe with the kinds of a stream."""
        from gamewarden.features.slots import kinds_of

        return self if self.families is not None else self.counting(kinds_of(stream, SelfSimilarity.name, progress))

    def counting(self, counts: Mapping[str, int]) -> Self:
        """The recipe with the kinds that somebody has counted already; the same from one reading of them for all."""
        learning = {name: one for name, one in self.recipes.items() if isinstance(one, CountsKinds)}
        return replace(self, families={name: one.counting(counts).to_dict() for name, one in learning.items()})

    def unweighed(self) -> Self:
        """The recipe without how common kinds were: of a lake that grows it stays the same as long as its kinds do."""
        known = (
            None if self.families is None else {name: {**one, "shares": None} for name, one in self.families.items()}
        )
        return replace(self, families=known)

    def unlearned(self) -> Self:
        """The recipe before it looked at a stream."""
        return replace(self, families=None)

    def part_fold(self, sight: Sight = ANY_SIGHT) -> Fold:
        """The parts of all families, from one reading."""
        return _Parts({name: _fold_of(one, sight) for name, one in self.recipes.items()}, self.parts_schema)

    def rows_of(self, parts: pl.DataFrame, since: datetime, until: datetime) -> pl.DataFrame:
        """The signs of whoever has events on the day, each by its own family."""
        rows = _of(parts, SelfSimilarity).filter(since=since).select("actor", "since", "until", "events")
        for name, recipe in self.recipes.items():
            mine = _of(parts, _FAMILIES[name])
            if isinstance(recipe, LooksBack):
                told = typed(recipe.rows_of(mine, since, until), recipe.schema).select("actor", *_OF_DAYS[type(recipe)])
            else:
                ordered = mine.sort("actor", "since").group_by("actor", maintain_order=True)
                told = ordered.agg(pl.col(column).mean().round(_DIGITS) for column in _OF_A_DAY[_FAMILIES[name]])
            rows = rows.join(told, on="actor", how="left", maintain_order="left")
        missing = [pl.lit(None).alias(name) for name, family in _COLUMNS.items() if family in self.without]
        return rows.with_columns(missing)

    @classmethod
    def without_rest(cls, parts: pl.DataFrame) -> pl.DataFrame:
        """Parts without what those of somebody who was forgotten alone told of others, family by family."""
        return pl.concat(
            [_marked(family, family.without_rest(_of(parts, family)), parts) for family in _LOOKING]
            + [parts.filter(~pl.col(_PART).is_in([one.name for one in _LOOKING]))]
        )

    def unseen(self, sight: Sight) -> Sequence[str]:
        """What the families cannot see."""
        looking = [one for one in self.recipes.values() if isinstance(one, LooksBack)]
        return [name for one in looking for name in one.unseen(sight) if _COLUMNS.get(name) == one.name]


_LOOKING = tuple(_OF_DAYS)


def _fold_of(recipe: Feature, sight: Sight) -> Fold:
    return recipe.part_fold(sight) if isinstance(recipe, LooksBack) else recipe.fold(sight)


def _of(parts: pl.DataFrame, family: type[PlainFeature]) -> pl.DataFrame:
    """The parts of one family, as it knows them."""
    own = {_own(family.name, name): name for name in _kept_of(family)}
    mine = parts.filter(pl.col(_PART) == family.name)
    beside = [name for name in ("events",) if name not in own.values()]
    return mine.select("since", "until", "actor", *beside, *own).rename(own)


def _marked(family: type[PlainFeature], rows: pl.DataFrame, like: pl.DataFrame) -> pl.DataFrame:
    """The parts of one family among those of all."""
    own = {name: _own(family.name, name) for name in _kept_of(family)}
    events = pl.col("events") if "events" in rows.columns else pl.lit(None, pl.Int64).alias("events")
    told = rows.select("since", "until", "actor", events, *(pl.col(name).alias(new) for name, new in own.items()))
    missing = [pl.lit(None, dtype).alias(name) for name, dtype in like.schema.items() if name not in told.columns]
    return told.with_columns(*missing).with_columns(pl.lit(family.name).alias(_PART)).select(like.columns)


class _Parts:
    """The folds of several families, fed together; each comes again as often as it has to."""

    def __init__(self, folds: Mapping[str, Fold], schema: Mapping[str, DataType]) -> None:
        self._folds = folds
        self._schema = schema
        self._waiting = tuple(folds.values())
        self.columns = tuple(dict.fromkeys(name for fold in folds.values() for name in fold.columns))

    def push(self, batch: pa.RecordBatch) -> None:
        """Let each see its columns."""
        for fold in self._waiting:
            fold.push(batch.select(list(fold.columns)))

    def again(self) -> bool:
        """Where one of them has to see all rows again; the others have seen enough."""
        self._waiting = tuple(fold for fold in self._waiting if fold.again())
        return bool(self._waiting)

    def notes(self) -> NotesOfSeveral:
        """What each has to say, once."""
        return NotesOfSeveral(tuple(fold.notes() for fold in self._folds.values()))

    def frame(self) -> pl.DataFrame:
        """The parts of every day."""
        nothing = pl.DataFrame(schema=dict(self._schema))
        told = [_marked(_FAMILIES[name], fold.frame(), nothing) for name, fold in self._folds.items()]
        return pl.concat([nothing, *told])
