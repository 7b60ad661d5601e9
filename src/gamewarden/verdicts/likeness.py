"""The periods of a source in which it speaks as the log did that a vocabulary was learned from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from gamewarden.contracts import Vocabulary
from gamewarden.tables import Table
from gamewarden.verdicts.meeting import Limits, Spell

_PERIOD = ("since", "until")


@dataclass(frozen=True)
class Likeness:
    """In which periods of a whole source it speaks as the log did that a vocabulary was learned from."""

    learned: Vocabulary
    alike: Sequence[Spell]
    strange: Sequence[Spell]
    seen: Mapping[str, int]  # events by kind in the periods that are alike

    @classmethod
    def of(cls, learned: Vocabulary, counts: pl.DataFrame, limits: Limits) -> "Likeness":
        """From how often each kind occurs in each period of a source."""
        spells = [
            Spell.of(since, until, dict(part.select("kind", "n").iter_rows()), learned)
            for (since, until), part in counts.partition_by(_PERIOD, as_dict=True, maintain_order=True).items()
        ]
        alike = [spell for spell in spells if spell.fits(limits)]
        strange = [spell for spell in spells if not spell.fits(limits)]
        inside = counts.filter(pl.col("since").is_in([spell.since for spell in alike]))
        return cls(learned, alike, strange, dict(inside.group_by("kind").agg(pl.col("n").sum()).iter_rows()))

    def applied(self, told: Table) -> Table:
        """FEATURES of the source or of a part of it, without what it did not show, and what it can show."""
        shows = self.shown(told.shows or {})
        if not self.alike or not (self._missed or self.strange):
            return replace(told, shows=shows)
        frame = _without_kinds(_without_periods(told.frame, self.strange, self.learned), self.alike, self.learned)
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


def _without_periods(frame: pl.DataFrame, strange: Sequence[Spell], learned: Vocabulary) -> pl.DataFrame:
    """Rows of such periods stay without what cannot be told of them; where that is all, they are left out."""
    for spell in strange:
        if learned.unmeasured:
            frame = frame.with_columns(_null_in(spell, learned.unmeasured))
        else:
            frame = frame.filter(~_ends_in(spell))
    return frame


def _without_kinds(frame: pl.DataFrame, alike: Sequence[Spell], learned: Vocabulary) -> pl.DataFrame:
    """The numbers of a kind are null in the periods in which it went missing."""
    for spell in alike:
        frame = frame.with_columns(
            _null_in(spell, [learned.columns[kind] for kind in spell.missing if kind in learned.columns])
        )
    return frame


def _null_in(spell: Spell, names: Sequence[str]) -> list[pl.Expr]:
    return [pl.when(_ends_in(spell)).then(None).otherwise(pl.col(name)).alias(name) for name in names]
