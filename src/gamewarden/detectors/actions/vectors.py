"""A chunk as the numbers a linear machine weighs: what was done, how often, at what intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Annotated, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.errors import TableError
from gamewarden.learning.calibration import KEY, Flags, Floats
from gamewarden.learning.validation import Count, Rule
from gamewarden.tables import FEATURES, check

Over = Literal["performed", "all"]
MAX_FREQ = "max_freq"
DONE, OFTEN, INTERVAL, OWN_MEAN, OWN_SPREAD = "done_", "a_", "i_", "m_", "d_"  # how the names of the numbers begin
PACE, ACTIONS = "pace_", "pace_actions"  # the shares of the shortest intervals, and the logarithm of all actions
# Ten times as many actions weigh as much as an action that is the most frequent one beside one that is never done.
_DECADE, _USUAL = log(10.0), 2.0


@dataclass(frozen=True)
class StageOne:
    """The rule of equations 1 to 3: some action is done far more often than by any human in training."""

    rho: Annotated[float, Rule(lambda v: v >= 1, "a number from 1 on")] | None  # None: nobody qualified or is flagged
    most: Mapping[str, Count]  # the largest count of each action in a human's chunk (max_regular_freq)
    mean_over: Over  # kinds of action

    def ratios(self, counts: Floats, kinds: Sequence[str]) -> Floats:
        """How far each action is above ρ × the most of a human; 0 where it does not flag."""
        if self.rho is None:
            return np.zeros(counts.shape)
        most = np.array([self.most[kind] for kind in kinds], dtype=np.float64)
        qualifies = (counts > mean_freq(counts, self.mean_over)[:, None]) & (most > 0)
        beyond = np.divide(counts, self.rho * most, out=np.zeros(counts.shape), where=most > 0)
        flags: Floats = np.where(qualifies & (counts > self.rho * most), beyond, 0.0)
        return flags

    @classmethod
    def learn(
        cls, counts: Floats, bot: Flags, kinds: Sequence[str], mean_over: Literal["performed", "all"]
    ) -> "StageOne":
        """Equations 4 to 6: ρ is the median of the bots' smallest qualifying ratios."""
        most = counts[~bot].max(axis=0)
        theirs = counts[bot]
        ratios = np.divide(theirs, most, out=np.full(theirs.shape, np.inf), where=most > 0)
        qualifies = (most > 0) & (theirs > mean_freq(theirs, mean_over)[:, None]) & (ratios >= 1)
        smallest = np.where(qualifies, ratios, np.inf).min(axis=1, initial=np.inf)
        finite = smallest[np.isfinite(smallest)]
        rho = float(np.median(finite)) if finite.size else None
        return cls(rho, {kind: int(count) for kind, count in zip(kinds, most, strict=True)}, mean_over)


def mean_freq(counts: Floats, over: str) -> Floats:
    """The mean frequency of a chunk's actions: of the kinds it has, or of all kinds."""
    kinds = np.maximum((counts > 0).sum(axis=1), 1) if over == "performed" else max(counts.shape[1], 1)
    mean: Floats = counts.sum(axis=1) / kinds
    return mean


def checked(features: pl.DataFrame, door: str) -> pl.DataFrame:
    """FEATURES of chunks, with the numbers of actions and intervals as they must be.

    Raises:
        TableError: there is no action or interval, or a number is missing or not from 0 to 1.
    """
    table = check(features, FEATURES, door)
    kinds, gaps = columns_of(table, OFTEN), columns_of(table, INTERVAL)
    if not kinds or not gaps or MAX_FREQ not in table.columns:
        raise TableError(f"{door}: FEATURES lacks a_…, i_… or {MAX_FREQ}; measure actions with max_freq first")
    # An action that the source cannot show is null in all of its chunks.
    done = pl.col(*kinds).is_between(0.0, 1.0).fill_null(value=True).all()
    within = pl.col(*gaps).is_between(0.0, 1.0).fill_null(value=False).all()
    for name, right in zip((*kinds, *gaps), table.select(done, within).row(0), strict=True):
        if not right:
            raise TableError(
                f"{door}: FEATURES.{name} must be a number from 0 to 1 in every row; measure actions again"
            )
    return table


def columns_of(table: pl.DataFrame, prefix: str) -> tuple[str, ...]:
    """The names of a table's columns that begin like this."""
    return tuple(name for name in table.columns if name.startswith(prefix))


def counts_of(table: pl.DataFrame, kinds: Sequence[str]) -> Floats:
    """How often each action was done, a row a chunk: the fourth power of equation 7, times the largest count.

    An action that the source cannot show was not done as far as anybody knows: it flags nobody.
    """
    most = np.ascontiguousarray(table[MAX_FREQ].to_numpy(), dtype=np.float64)
    columns = [np.nan_to_num(np.rint(numbers(table, OFTEN + kind) ** 4 * most)) for kind in kinds]
    return np.column_stack(columns) if columns else np.zeros((table.height, 0))


def inputs(table: pl.DataFrame, name: str) -> Floats:
    """One number a row for the machine, about 0 to 1, NaN where it was not measured.

    Own intervals, seconds without an upper end, count by their logarithm against the chunk's length; the number of
    actions by its logarithm.
    """
    if name.startswith(DONE):
        often = numbers(table, OFTEN + name.removeprefix(DONE))
        done: Floats = np.where(np.isnan(often), np.nan, (often > 0).astype(np.float64))
        return done
    values = numbers(table, name)
    if name == ACTIONS:
        return values / _DECADE - _USUAL
    if name.startswith((OWN_MEAN, OWN_SPREAD)):
        length = (table["until"] - table["since"]).dt.total_microseconds().to_numpy() / 1e6
        scaled: Floats = np.log1p(values) / np.log1p(length)
        return scaled
    return values


def actions_in(decades: float) -> float:
    """How many actions the number of the machine stands for."""
    return float(10.0 ** (decades + _USUAL))


def is_input(name: str) -> bool:
    """Whether this can be the name of a number of a chunk."""
    interval = name.startswith(INTERVAL) and name.removeprefix(INTERVAL).isdecimal()
    return interval or name.startswith((DONE, OFTEN, OWN_MEAN, OWN_SPREAD, PACE))


def numbers(table: pl.DataFrame, name: str) -> Floats:
    """A column as an array of its own, NaN where the table has null."""
    try:
        column = table.get_column(name)  # asking for the list of thousands of names, thousands of times, takes seconds
    except pl.exceptions.ColumnNotFoundError as error:
        raise TableError(
            f"FEATURES lacks {name}, which this model was trained on; measure with the model's own recipe"
        ) from error
    return np.ascontiguousarray(column.cast(pl.Float64).to_numpy(), dtype=np.float64)


def table_digest_parts(table: pl.DataFrame) -> list[bytes]:
    """A table's names and values as bytes, rows in a fixed order."""
    ordered = table.sort(KEY)
    names = [name for name in ordered.columns if name != "actor"]
    values = [np.ascontiguousarray(ordered[name].to_physical().cast(pl.Float64).to_numpy()) for name in names]
    actors = "\x00".join(ordered["actor"].to_list()).encode()
    return ["\x00".join(names).encode(), actors, *(column.tobytes() for column in values)]


def thinned(rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """At most so many rows, every nth in the order of actors and time: neighbouring chunks say nearly the same."""
    return rows[:: -(-len(rows) // most)] if len(rows) > most else rows
