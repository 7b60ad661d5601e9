"""Whom a row of a table is compared with: the people who are like it along each of its numbers.

One reference for all people breaks its promise to those who look most like bots, such as the busiest. So each number
parts the reference humans by steps, and an FPR is never below the share among the people on one's own step of any of
them, unless the step holds a smaller share of people than that: at most 1 in 100 of all people, and of the people on
every step that holds more than 1 in 100 of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.learning.calibration import Floats, Reference
from gamewarden.learning.ladders import UNMEASURED, Ladder
from gamewarden.learning.validation import Count, Rising


@dataclass(frozen=True)
class Peers:
    """The reference humans row by row: whose it is, the decision on it as a stranger's, and its step on each ladder.

    Who has several rows on a step counts once there, with the row that looks most like a bot. Another human's most
    bot-like row is then as likely to stand anywhere among them as each of theirs, so that at most 1 in 100 of such
    people have a row with an FPR of 1 in 100, however many rows a person has. Where nobody stands, nobody is protected.
    """

    ladders: tuple[Ladder, ...]
    persons: tuple[Count, ...]
    held_out: Rising
    steps: tuple[tuple[Count, ...], ...]  # one row per ladder

    @classmethod
    def of(cls, ladders: Sequence[Ladder], humans: pl.DataFrame) -> Self:
        """From the humans' rows: `person`, the decision as `held_out`, and the ladders' numbers."""
        rows = humans.sort("held_out", "person")
        persons = rows.select(pl.col("person").rank("dense")).to_series().to_list()
        steps = tuple(tuple(ladder.steps(rows).tolist()) for ladder in ladders)
        return cls(tuple(ladders), tuple(persons), tuple(rows["held_out"].to_list()), steps)

    def fpr(self, table: pl.DataFrame, decisions: Floats, pooled: Reference, new: int = 1) -> Floats:
        """The rate over all people, or the rate on a step of one's own up to the step's share, whichever is largest.

        `new` is 0 for rows of the reference people themselves.
        """
        fprs = pooled.fpr(decisions, new)
        for own, reference in self._on_steps(table):
            fprs[own] = pooled.with_group(fprs[own], reference, decisions[own], new)
        return fprs

    def within(self, table: pl.DataFrame, decisions: Floats) -> pl.Series:
        """The largest of the rates on a row's steps; null where nobody reviewed stands on any of them."""
        rates = np.full(decisions.size, np.nan)
        for own, reference in self._on_steps(table):
            rates[own] = np.fmax(rates[own], reference.fpr(decisions[own]))
        return pl.Series("fpr_peers", rates).fill_nan(None)

    def counts(self) -> dict[str, int]:
        """How many people stand on each step."""
        return {
            ladder.words(step): reference.humans
            for ladder, references in zip(self.ladders, self._references, strict=True)
            for step, reference in references.items()
        }

    def people_along(self, column: str) -> dict[str, list[float] | list[int]]:
        """The borders along a number, how many people stand on each step, and how many without it; or nothing."""
        for ladder, references in zip(self.ladders, self._references, strict=True):
            if ladder.column == column:
                steps = range(UNMEASURED + 1, len(ladder.borders) + 2)
                there = [references[step].humans if step in references else 0 for step in (*steps, UNMEASURED)]
                return {"borders": list(ladder.borders), "people": there[:-1], "people_without": there[-1:]}
        return {}

    def tell(self, table: pl.DataFrame) -> pl.Series:
        """On which steps each row stands, as one text."""
        told = [pl.Series(ladder.steps(table)).cast(pl.String) for ladder in self.ladders]
        return pl.select(pl.concat_str(pl.repeat("", table.height), *told, separator=" ")).to_series().alias("peers")

    def agreements(self) -> Iterator[tuple[str, bool]]:
        """What must hold between its values."""
        rows = (self.persons, *self.steps)
        yield "peers has a row of steps for each ladder", len(self.steps) == len(self.ladders)
        yield "peers persons, held_out and steps are equally many", {len(row) for row in rows} == {len(self.held_out)}
        yield (
            "every step is on its ladder",
            all(
                step <= 1 + len(ladder.borders)
                for ladder, steps in zip(self.ladders, self.steps, strict=True)
                for step in steps
            ),
        )

    def _on_steps(self, table: pl.DataFrame) -> Iterator[tuple[NDArray[np.int64], Reference]]:
        """The rows on each step of each ladder that a reference person stands on, and the people there."""
        for ladder, references in zip(self.ladders, self._references, strict=True):
            steps = ladder.steps(table)
            for step, reference in references.items():
                yield np.flatnonzero(steps == step), reference

    @cached_property
    def _references(self) -> list[dict[int, Reference]]:
        rows = pl.DataFrame({"person": self.persons, "held_out": self.held_out})
        return [_by_step(rows, steps) for steps in self.steps]


def _by_step(rows: pl.DataFrame, steps: Sequence[int]) -> dict[int, Reference]:
    parts = rows.with_columns(step=pl.Series(steps, dtype=pl.Int64)).partition_by("step", as_dict=True)
    return {int(step): Reference.of(part, "person") for (step,), part in sorted(parts.items())}
