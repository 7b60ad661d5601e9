"""When a source was there at all: part of a day is not a day, and a feed that stopped at noon saw no evening.

Nobody tells when a log was cut. What shows it are the people in it: a quiet night fades, one player after the other,
but a log that is cut, or a feed that breaks, loses at one moment many who were in the middle of playing.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from gamewarden.core.durations import MINUTE

BEAT = 5 * MINUTE  # how finely a source is looked at
SILENCE = 30 * MINUTE  # a shorter silence of everybody is no gap: the time that also ends one player's run of activity
LEAST_PLAYERS = 3  # who vanish together; below that nobody can tell a cut from the last player going to bed
_SHARE = 0.5  # of the players of a usual beat
_HELD = 1 << 22  # pairs of beat and actor in memory before they are added up
_NEVER = -(1 << 62)
_ALWAYS = 1 << 62
COVERED = "covered"

_PAIRS = {"beat": pl.Int64, "actor": pl.String, "came": pl.Boolean, "left": pl.Boolean}


@dataclass(frozen=True)
class Pulse:
    """How many actors were active in each beat, how many of them did not log in in it, and how many did not log out."""

    beats: tuple[int, ...] = ()  # numbers of the beats with events, rising
    active: tuple[int, ...] = ()
    there_before: tuple[int, ...] = ()  # active without having logged in in this beat
    there_after: tuple[int, ...] = ()  # active without having logged out in it

    @classmethod
    def of(cls, batches: Iterable[pa.RecordBatch]) -> "Pulse":
        """The pulse of events with the columns actor, at and kind; the same however they are cut into batches."""
        fold = PulseFold()
        for batch in batches:
            fold.push(batch)
        return fold.pulse()

    def __add__(self, other: "Pulse") -> "Pulse":
        """Both together, as if nobody were in both."""
        return Pulse.total((self, other))

    @classmethod
    def total(cls, pulses: Iterable["Pulse"]) -> "Pulse":
        """All of them together, as if nobody were in two; the work grows with their beats, not with beats by pulses."""
        parts = [np.array([getattr(pulse, name) for name in _PARTS], np.int64) for pulse in pulses]
        together = np.concatenate([np.empty((len(_PARTS), 0), np.int64), *parts], axis=1)
        beats, place = np.unique(together[0], return_inverse=True)
        sums = np.zeros((len(_PARTS) - 1, len(beats)), np.int64)
        for row, numbers in enumerate(together[1:]):
            np.add.at(sums[row], place, numbers)
        return cls(tuple(beats.tolist()), *(tuple(row) for row in sums.tolist()))

    def coverage(self) -> "Coverage":
        """When the source was there."""
        return Coverage(tuple(self._cuts()))

    def _cuts(self) -> Iterator[tuple[int, int]]:
        """The silences of everybody that begin or end in the middle of play."""
        if not self.beats:
            return
        enough = max(LEAST_PLAYERS, _SHARE * float(np.median(self.active)))
        if self._near(0, 1, self.there_before) >= enough:
            yield _NEVER, self.beats[0] * BEAT
        for at, (last, first) in enumerate(pairwise(self.beats)):
            if (first - last - 1) * BEAT >= SILENCE and (
                self._near(at, -1, self.there_after) >= enough or self._near(at + 1, 1, self.there_before) >= enough
            ):
                yield (last + 1) * BEAT, first * BEAT
        if self._near(len(self.beats) - 1, -1, self.there_after) >= enough:
            yield (self.beats[-1] + 1) * BEAT, _ALWAYS

    def _near(self, place: int, way: int, numbers: tuple[int, ...]) -> int:
        """How many were in the middle of playing in the outermost beat, or in the next less those who came or went.

        A border rarely falls on the edge of a beat, so that the outermost one may hold a few seconds only.
        """
        beside = place + way
        follows = 0 <= beside < len(self.beats) and abs(self.beats[beside] - self.beats[place]) == 1
        orderly = self.active[place] - numbers[place]
        return max(numbers[place], numbers[beside] - orderly if follows else 0)

    def to_dict(self) -> dict[str, Any]:
        """The pulse as JSON values."""
        return {name: " ".join(map(str, getattr(self, name))) for name in _PARTS}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Pulse":
        """The pulse back from JSON values.

        Raises:
            ValueError: they are none.
        """
        parts = [tuple(map(int, str(values[name]).split())) for name in _PARTS]
        if len({len(part) for part in parts}) > 1 or any(a >= b for a, b in pairwise(parts[0])):
            raise ValueError("is no pulse")
        return cls(*parts)


_PARTS = ("beats", "active", "there_before", "there_after")


@dataclass(frozen=True)
class Coverage:
    """The stretches of time that a source says nothing of: [begin, end) in microseconds, apart and in order."""

    missing: tuple[tuple[int, int], ...] = ()

    def share(self, since: int, until: int) -> float:
        """The share of [since, until) that the source covers."""
        lost = sum(max(0, min(until, end) - max(since, begin)) for begin, end in self.missing)
        return 1.0 - lost / (until - since) if until > since else 1.0

    def of(self, table: pl.DataFrame) -> pl.Series:
        """The covered share of each row's time, null where a row has none."""
        spans = table.select(pl.col("since", "until").dt.epoch("us"))
        each = spans.drop_nulls().unique()
        shares = pl.Series(COVERED, [self.share(*span) for span in each.iter_rows()], dtype=pl.Float64)
        known = each.with_columns(shares)
        return spans.join(known, on=["since", "until"], how="left", maintain_order="left")[COVERED]

    def within(self, since: int, until: int) -> "Coverage":
        """The same where nobody looks at anything outside [since, until)."""
        outside = [(_NEVER, max(since, _NEVER)), (min(until, _ALWAYS), _ALWAYS)]
        joined: list[tuple[int, int]] = []
        for begin, end in sorted((*self.missing, *(one for one in outside if one[0] < one[1]))):
            if joined and begin <= joined[-1][1]:
                joined[-1] = (joined[-1][0], max(joined[-1][1], end))
            else:
                joined.append((begin, end))
        return Coverage(tuple(joined))

    @cached_property
    def gaps(self) -> tuple[tuple[int, int], ...]:
        """The stretches between two covered ones: a feed that broke and came back."""
        return tuple(one for one in self.missing if one[0] != _NEVER and one[1] != _ALWAYS)


class PulseFold:
    """A pulse under way: whether each actor logged in or out in each beat; memory grows with these pairs only."""

    def __init__(self) -> None:
        self._waiting: list[_Pairs] = []
        self._held = 0

    def push(self, batch: pa.RecordBatch) -> None:
        """Look at events with the columns actor, at and kind."""
        self._waiting.append(_pairs_in(batch))
        self._held += len(self._waiting[-1].beat)
        if self._held > _HELD:
            self._waiting = [_added_up(self._waiting)]
            self._held = 0

    def pulse(self) -> Pulse:
        """What was seen so far."""
        self._waiting, self._held = [_added_up(self._waiting)], 0
        pairs = self._waiting[0]
        beats, beat, active = np.unique(pairs.beat, return_inverse=True, return_counts=True)
        before, after = (np.bincount(beat[~moved], minlength=len(beats)) for moved in (pairs.came, pairs.left))
        return Pulse(*(tuple(column.tolist()) for column in (beats, active, before, after)))


class _Pairs(NamedTuple):
    """Pairs of beat and actor, each once: NumPy and Arrow, since a frame costs more than a small file has to say."""

    beat: NDArray[np.int64]
    actor: pa.Array
    came: NDArray[np.bool_]
    left: NDArray[np.bool_]


def _added_up(parts: list[_Pairs]) -> _Pairs:
    if len(parts) == 1:
        return parts[0]
    frames = [pl.DataFrame({**part._asdict(), "actor": pl.Series(part.actor)}, schema=_PAIRS) for part in parts]
    each = pl.concat([pl.DataFrame(schema=_PAIRS), *frames])
    added = each.group_by("beat", "actor").agg(pl.col("came").any(), pl.col("left").any())
    return _Pairs(
        added["beat"].to_numpy(), added["actor"].to_arrow(), added["came"].to_numpy(), added["left"].to_numpy()
    )


def _pairs_in(batch: pa.RecordBatch) -> _Pairs:
    actor = batch.column("actor")
    actor = actor if pa.types.is_dictionary(actor.type) else actor.dictionary_encode()
    beats = batch.column("at").cast(pa.int64()).to_numpy() // BEAT
    names = max(len(actor.dictionary), 1)
    first = int(beats.min()) if len(beats) else 0
    keys = (beats - first) * names + actor.indices.to_numpy(zero_copy_only=False)
    found = np.unique(keys)
    came, left = (np.isin(found, keys[_is(batch, kind)]) for kind in ("session.login", "session.logout"))
    who = actor.dictionary.cast(pa.string()).take(pa.array(found % names))
    return _Pairs(found // names + first, who, came, left)


def _is(batch: pa.RecordBatch, kind: str) -> NDArray[np.bool_]:
    column = batch.column("kind")
    if _coded(column) and pc.index(column.dictionary, kind).as_py() < 0:
        return np.zeros(len(column), np.bool_)
    plain = pc.equal(column.dictionary, kind).take(column.indices) if _coded(column) else pc.equal(column, kind)
    return np.asarray(plain.to_numpy(zero_copy_only=False), dtype=np.bool_)


def _coded(column: pa.Array) -> bool:
    return bool(pa.types.is_dictionary(column.type))
