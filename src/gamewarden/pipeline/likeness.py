"""The periods of a source in which it speaks as the log did that a vocabulary was learned from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from gamewarden.contracts import EventStream
from gamewarden.features.actions.recipe import Actions
from gamewarden.features.kinds import kinds_by_period
from gamewarden.features.self_similarity.recipe import ROLES, SelfSimilarity
from gamewarden.pipeline.sources import Table
from gamewarden.spans import DAY
from gamewarden.verdicts.meeting import Learned, Limits, Spell

_PERIOD = ("since", "until")


def learned_by(feature: SelfSimilarity | Actions) -> Learned:
    """What the vocabulary of a feature was learned from."""
    return Learned(feature.vocabulary or (), feature.shares, feature.counts_kind, isinstance(feature, SelfSimilarity))


def only_alike(told: Table, feature: SelfSimilarity | Actions, events: EventStream, limits: Limits) -> Table:
    """FEATURES in which nothing is said of what a source did not show in a period.

    A kind that was common in training and never occurs in a period is null there, not 0. A period most of whose events
    are of other kinds, or in which too much is missing, is not measured at all. What the source can show is then told
    by the other periods; where there are none, by what did occur, whatever a mapping promises.
    """
    if told.shows is None or feature.vocabulary is None or feature.shares is None:
        return told
    return Likeness.of(feature, events, limits).applied(told)


@dataclass(frozen=True)
class Likeness:
    """In which periods of a whole source it speaks as the log did that a vocabulary was learned from."""

    feature: SelfSimilarity | Actions
    alike: Sequence[Spell]
    strange: Sequence[Spell]
    seen: Mapping[str, int]  # events by kind in the periods that are alike

    @classmethod
    def of(cls, feature: SelfSimilarity | Actions, events: EventStream, limits: Limits) -> "Likeness":
        """One look at all events of a source."""
        every, time_zone = (feature.every, feature.time_zone) if isinstance(feature, SelfSimilarity) else (DAY, None)
        counts = kinds_by_period(events.whole, every, time_zone)
        learned = learned_by(feature)
        spells = [
            Spell.of(since, until, dict(part.select("kind", "n").iter_rows()), learned)
            for (since, until), part in counts.partition_by(_PERIOD, as_dict=True, maintain_order=True).items()
        ]
        alike = [spell for spell in spells if spell.fits(limits)]
        strange = [spell for spell in spells if not spell.fits(limits)]
        inside = counts.filter(pl.col("since").is_in([spell.since for spell in alike]))
        return cls(feature, alike, strange, dict(inside.group_by("kind").agg(pl.col("n").sum()).iter_rows()))

    def applied(self, told: Table) -> Table:
        """FEATURES of the source or of a part of it, without what it did not show, and what it can show."""
        shows = self.shown(told.shows or {})
        if not self.alike or not (self._missed or self.strange):
            return replace(told, shows=shows)
        frame = _without_kinds(_without_periods(told.frame, self.strange, self.feature), self.alike, self.feature)
        notes = [spell.sentence(rows) for spell in self.strange if (rows := _inside(told.frame, spell))]
        return replace(told, frame=frame, notes=(*told.notes, *notes), shows=shows)

    def shown(self, shows: Mapping[str, int]) -> Mapping[str, int]:
        """What the source can show as far as it is alike; where no period is, without what went missing."""
        if not self.alike:
            missing = {kind for spell in self.strange for kind in spell.missing}
            return {kind: n for kind, n in shows.items() if n or kind not in missing}
        if not (self._missed or self.strange):
            return shows
        return {kind: 0 for kind, count in shows.items() if not count and kind not in self._missed} | dict(self.seen)

    @property
    def _missed(self) -> set[str]:
        return {kind for spell in self.alike for kind in spell.missing}


def _ends_in(spell: Spell) -> pl.Expr:
    """Whether a row ends in a period, as a verdict's rows do."""
    last = pl.col("until") - pl.duration(microseconds=1)
    return (last >= spell.since) & (last < spell.until)


def _inside(frame: pl.DataFrame, spell: Spell) -> int:
    return frame.filter(_ends_in(spell)).height


def _without_periods(frame: pl.DataFrame, strange: Sequence[Spell], feature: SelfSimilarity | Actions) -> pl.DataFrame:
    """Chunks of such periods are left out; a day stays, without a self-similarity, and so without a score."""
    for spell in strange:
        if isinstance(feature, Actions):
            frame = frame.filter(~_ends_in(spell))
        else:
            gone = [
                pl.when(_ends_in(spell)).then(None).otherwise(pl.col(name)).alias(name) for name in ("self_sim", *ROLES)
            ]
            frame = frame.with_columns(gone)
    return frame


def _without_kinds(frame: pl.DataFrame, alike: Sequence[Spell], feature: SelfSimilarity | Actions) -> pl.DataFrame:
    """The numbers of a kind are null in the periods in which it went missing."""
    columns = {kind: name for name, kind in ROLES.items()}
    for spell in alike:
        names = [columns.get(kind) if isinstance(feature, SelfSimilarity) else f"a_{kind}" for kind in spell.missing]
        gone = [name for name in names if name in frame.columns]
        frame = frame.with_columns(
            pl.when(_ends_in(spell)).then(None).otherwise(pl.col(name)).alias(name) for name in gone
        )
    return frame
