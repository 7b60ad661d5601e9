"""A model that has to do without a column: its held-out rows are looked at without it too.

A log that cannot show kills says nothing of kills. The column then adds nothing to a row's decision; for the two
numbers of a score to mean what they say, the held-out people and bots are compared without it as well.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Annotated, Self

import numpy as np
import polars as pl

from gamewarden.learning.calibration import Calibration, Floats, Reference, StyleReferences, platt
from gamewarden.learning.styles import STYLES, Styles
from gamewarden.learning.validation import Count, Rule

_Place = Annotated[Count, Rule(lambda v: v < len(STYLES), "the place of a style")]
_DIGITS = 6  # of a part of a decision: people differ by far more


@dataclass(frozen=True)
class HeldOut:
    """Every held-out training row: whose it is, its decision, and what each column that may be absent added to it."""

    who: tuple[Count, ...]
    bot: tuple[bool, ...]
    decisions: tuple[float, ...]
    parts: Mapping[str, tuple[float, ...]]  # by column
    styles: Mapping[str, tuple[_Place, ...]]  # places in STYLES, by the columns that are absent when the style is told
    _known: dict[tuple[str, ...], Calibration] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, rows: pl.DataFrame, decisions: Floats, parts: Mapping[str, Floats], rule: Styles) -> Self:
        """From the labelled rows, their held-out decisions and the parts of them."""
        return cls(
            tuple(rows["actor"].rank("dense").cast(pl.Int64).to_list()),
            tuple(rows["bot"].to_list()),
            tuple(np.round(decisions, _DIGITS).tolist()),
            {name: tuple(np.round(terms, _DIGITS).tolist()) for name, terms in parts.items()},
            {" ".join(absent): _told(rows, rule, absent) for absent in _subsets(rule, parts)},
        )

    def without(self, absent: tuple[str, ...], calibrated: Calibration, *, fitted: bool) -> Calibration:
        """What turns a decision value without these columns into a probability and an FPR; made once."""
        if absent not in self._known:
            self._known[absent] = self._without(absent, calibrated, fitted=fitted)
        return self._known[absent]

    def _without(self, absent: tuple[str, ...], calibrated: Calibration, *, fitted: bool) -> Calibration:
        decisions = np.asarray(self.decisions) - sum(np.asarray(self.parts[name]) for name in absent)
        slope, offset = platt(decisions, np.asarray(self.bot)) if fitted else (calibrated.slope, calibrated.offset)
        table = pl.DataFrame({"actor": self.who, "bot": self.bot, "held_out": decisions})
        styles = calibrated.styles
        return Calibration(
            slope,
            offset,
            calibrated.reference.of_same_kind(table.filter(~pl.col("bot"))),
            None if styles is None else self._styles(table, absent, calibrated.reference, styles.rule),
        )

    def _styles(
        self, table: pl.DataFrame, absent: Sequence[str], reference: Reference, rule: Styles
    ) -> StyleReferences:
        names = " ".join(name for name in (rule.kills, rule.level) if name in absent)
        told = table.with_columns(style=pl.Series([STYLES[place] for place in self.styles[names]]))
        parts = told.filter(~pl.col("bot")).partition_by("style", as_dict=True)
        kind = reference.of_same_kind
        return StyleReferences(rule, {str(style): kind(part) for (style,), part in sorted(parts.items())})

    def agreements(self) -> Iterator[tuple[str, bool]]:
        """What must hold between its values."""
        rows = [self.bot, self.decisions, *self.parts.values(), *self.styles.values()]
        yield "held_out has as many of each", {len(row) for row in rows} == {len(self.who)}
        yield "held_out knows both classes", set(self.bot) == {True, False}

    def fits(self, columns: Collection[str], rule: Styles | None) -> Iterator[tuple[str, bool]]:
        """What must hold between it and the model it is in."""
        needed = {" ".join(absent) for absent in _subsets(rule, self.parts)} if rule is not None else set()
        yield "held_out speaks of the model's columns", set(self.parts) <= set(columns)
        yield "held_out tells every style", needed <= set(self.styles)


def _subsets(rule: Styles, parts: Mapping[str, object]) -> list[tuple[str, ...]]:
    """The columns that tell styles apart and may be absent, none, one or both at a time."""
    telling = [name for name in (rule.kills, rule.level) if name in parts]
    return [absent for many in range(len(telling) + 1) for absent in combinations(telling, many)]


def _told(rows: pl.DataFrame, rule: Styles, absent: Sequence[str]) -> tuple[int, ...]:
    blind = rows.with_columns(pl.lit(None, pl.Float64).alias(name) for name in absent)
    return tuple(STYLES.index(style) for style in rule.tell(blind))
