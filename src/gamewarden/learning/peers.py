"""Whom a row of a table is compared with: the people who are like it along each of its numbers.

One reference for all people breaks its promise to those who look most like bots, such as the busiest. So each number
parts the reference humans by steps, and an FPR is never below the share among the people on one's own step of any of
them: at most 1 in 100 of all people, and of the people on every step of every number.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import polars as pl

from gamewarden.learning.calibration import Floats, Reference
from gamewarden.learning.ladders import UNMEASURED, Ladder
from gamewarden.learning.validation import Count, Rising

Said = Callable[[Reference, Floats], Floats]


@dataclass(frozen=True)
class Peers:
    """The reference humans row by row: whose it is, the decision on it as a stranger's, and its step on each ladder.

    Who has several rows on a step counts once there, with the row that looks most like a bot. Another human's most
    bot-like row is then as likely to stand anywhere among them as each of theirs, so that at most 1 in 100 of such
    people have a row with an FPR of 1 in 100, however many rows a person has. Where nobody stands, the FPR is 1.
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

    def fpr(self, table: pl.DataFrame, decisions: Floats, pooled: Reference, said: Said = Reference.fpr) -> Floats:
        """The share of people that look at least as bot-like: of all, or on a step of one's own where it is larger."""
        fprs = said(pooled, decisions)
        for ladder, references in zip(self.ladders, self._references, strict=True):
            steps = ladder.steps(table)
            for step in np.unique(steps):
                own = np.flatnonzero(steps == step)
                found = references.get(int(step))
                fprs[own] = 1.0 if found is None else np.maximum(fprs[own], said(found, decisions[own]))
        return fprs

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

    @cached_property
    def _references(self) -> list[dict[int, Reference]]:
        rows = pl.DataFrame({"person": self.persons, "held_out": self.held_out})
        return [_by_step(rows, steps) for steps in self.steps]


def reference_of(humans: pl.DataFrame) -> Reference:
    """The reference in which every `person` counts once, with the row that looks most like a bot."""
    strictest = humans.group_by("person").agg(pl.col("held_out").max()).sort("held_out")
    return Reference(tuple(strictest["held_out"].to_list()), (1.0,) * strictest.height, strictest.height)


def _by_step(rows: pl.DataFrame, steps: Sequence[int]) -> dict[int, Reference]:
    parts = rows.with_columns(step=pl.Series(steps, dtype=pl.Int64)).partition_by("step", as_dict=True)
    return {int(step): reference_of(part) for (step,), part in sorted(parts.items())}
