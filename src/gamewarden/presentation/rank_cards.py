"""What each card of a list's page shows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from gamewarden.contracts import EventStream
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.learning.phrases import UNREACHED, window_word
from gamewarden.presentation.rank_page import Band, Series
from gamewarden.presentation.ranking import Behind
from gamewarden.streams import EventView
from gamewarden.verdicts.ranking import usual_number

MOST_CARDS = 100  # a page of more is read by nobody
PEOPLE = 25  # accounts of a style in a band, at the most
FEWEST = 5  # fewer are no band
_HUMAN = 0.5  # an account that stays below it in every period is called human
_FOR, _AGAINST = 6, 3  # sentences
_SAYS_LITTLE = 0.15  # log-odds

Periods = dict[str, tuple[datetime, datetime]]


@dataclass(frozen=True)
class Drawn:
    """The windows of the accounts with a card, and of those in the bands."""

    days: SelfSimilarity
    periods: Periods
    windows: Mapping[str, pl.DataFrame]
    styles: Mapping[str, str | None]
    bands: Mapping[str | None, Band | None]

    def series(self, actor: str) -> Series | None:
        """What is drawn of an account."""
        if actor not in self.windows:
            return None
        unit, style = timedelta(microseconds=self.days.unit), self.styles[actor]
        called, zone = window_word(self.days.unit), self.days.time_zone or "UTC"
        return Series(*self.periods[actor], self.windows[actor], unit, called, zone, style, self.bands.get(style))


def drawn_of(behind: Behind, highest: pl.DataFrame, listed: pl.Series, events: EventStream) -> Drawn:
    """The windows of those with a card, and of people beside them."""
    people = _people(highest, listed)
    periods = _days(behind, highest, [*listed.head(MOST_CARDS), *chain.from_iterable(people.values())])
    windows = behind.days.windows_of(InPeriods(events, behind.days.by, periods), list(periods))
    bands = {style: _band([windows[actor] for actor in some if actor in windows]) for style, some in people.items()}
    return Drawn(behind.days, periods, windows, dict(highest.select("actor", "style").iter_rows()), bands)


class InPeriods(EventView):
    """The events of some actors, each within a period of its own."""

    def __init__(self, events: EventStream, by: str, periods: Periods) -> None:
        super().__init__(events)
        self._who = "character" if by == "character" else "actor"
        self._actors = pa.array(list(periods), pa.string())
        moments = pa.timestamp("us", "UTC")
        self._since = pa.array([since for since, _ in periods.values()], moments)
        self._until = pa.array([until for _, until in periods.values()], moments)

    @property
    def rows(self) -> int | None:
        """Nobody has counted them."""
        return None

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows that stay, in the source's order."""
        needed = list(dict.fromkeys([*columns, self._who, "at"]))
        for batch in self._events.batches(needed):
            place = pc.index_in(batch.column(self._who).cast(pa.string()), self._actors)
            theirs = batch.append_column("place", place).filter(pc.is_valid(place))
            place, at = theirs.column("place"), theirs.column("at")
            inside = pc.and_(
                pc.greater_equal(at, self._since.take(place)),
                pc.less(at, self._until.take(place)),
            )
            kept = theirs.filter(inside)
            if kept.num_rows:
                yield kept.select(list(columns))


def highest_periods(behind: Behind) -> pl.DataFrame:
    """One row per judged actor: the period that scores highest, of several the latest, and its style of play."""
    judged = behind.scores.drop_nulls("probability")
    best = judged.sort("probability", "since", descending=True).unique("actor", keep="first", maintain_order=True)
    rows = behind.rows.join(best.select("actor", "since", "probability"), on=["actor", "since"])
    return rows.select("actor", "since", "until", "probability").with_columns(behind.model.told_styles(rows))


def _people(highest: pl.DataFrame, listed: pl.Series) -> Mapping[str | None, list[str]]:
    """Some accounts of each listed style that the model calls human, spread evenly over all of them."""
    on_it = pl.col("actor").is_in(listed.implode())
    styles = set(highest.filter(on_it)["style"])
    called = highest.filter(pl.col("probability") < _HUMAN, ~on_it).sort("actor").partition_by("style", as_dict=True)
    enough = {style: part for (style,), part in called.items() if style in styles and part.height >= FEWEST}
    return {style: _spread(part["actor"].to_list()) for style, part in enough.items()}


def _spread(actors: list[str]) -> list[str]:
    many = len(actors)
    return actors if many <= PEOPLE else [actors[at * many // PEOPLE] for at in range(PEOPLE)]


def _days(behind: Behind, highest: pl.DataFrame, actors: Sequence[str]) -> Periods:
    """The period of windows in which the row of each actor ends; rows of an hour belong to their day."""
    rows = highest.filter(pl.col("actor").is_in(list(actors))).select("actor", last=pl.col("until"))
    within = (pl.col("since") < pl.col("last")) & (pl.col("last") <= pl.col("until"))
    days = behind.played.join(rows, on="actor").filter(within).select("actor", "since", "until")
    known = {actor: (since, until) for actor, since, until in days.iter_rows()}
    return {actor: known[actor] for actor in actors if actor in known}


def _band(windows: Sequence[pl.DataFrame]) -> Band | None:
    if len(windows) < FEWEST:
        return None
    cosines = pl.concat(frame["cosine"] for frame in windows)
    low, middle, high = (cosines.filter(cosines > 0).quantile(share) or 0.0 for share in (0.1, 0.5, 0.9))
    return Band(low, middle, high, len(windows))


def sentences_of(evidence: pl.DataFrame, highest: pl.DataFrame, actor: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What speaks for a bot and what for a person in the period that scores highest, the heaviest first."""
    mine = evidence.filter(actor=actor).join(highest.select("actor", "since"), on=["actor", "since"], how="semi")
    alone, reached = pl.coalesce("alone", "weight"), ~pl.col("says").str.contains(UNREACHED, literal=True)
    mine = mine.filter(~usual_number())
    sides = (
        mine.filter(pl.col("weight") >= _SAYS_LITTLE, alone > 0).sort("weight", descending=True).head(_FOR),
        mine.filter(pl.col("weight") <= -_SAYS_LITTLE, alone < 0, reached).sort("weight").head(_AGAINST),
    )
    said_for, said_against = (tuple(side["says"]) for side in sides)
    return said_for, said_against
