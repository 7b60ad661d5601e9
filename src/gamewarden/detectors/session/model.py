"""A fitted classifier of sessions: scoring and explaining with plain NumPy, nothing in it that can run."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from gamewarden.contracts import Recipe
from gamewarden.detectors.session.classifiers import Machine, Neighbours, Network
from gamewarden.detectors.session.model_json import session_fields
from gamewarden.detectors.session.sentences import sentence
from gamewarden.detectors.session.vectors import PUBLISHED, Column, checked, judged, matrix
from gamewarden.learning.attribution import shapley
from gamewarden.learning.calibration import Floats, Reference
from gamewarden.learning.fitted import CalibratedModel, evidence_table, optional_parts, refuse_misnamed

MACHINES = {"network": Network, "neighbours": Neighbours}

WEAKNESSES = (
    "Sessions spent sitting carry no evidence: players who rest and bots that rest look alike.",
    "People who gather crowds of monsters before they fight (mobbing) move like programs.",
    "It knows the bot programs it was shown; one that clicks like a person is not told apart.",
    "It holds for one game, one client and one server: latency and walking speed change every number.",
)


@dataclass(frozen=True, kw_only=True)
class SessionModel(CalibratedModel):
    """A fitted classifier of sessions: plain numbers, nothing that can run."""

    always_weak: ClassVar[tuple[str, ...]] = WEAKNESSES

    machine: Machine

    @property
    def as_published(self) -> bool:
        """Whether it sees the numbers on the scales of the thesis and judges sessions spent sitting too."""
        return self.recipe.get("inputs") == PUBLISHED or self.recipe.get("form") == PUBLISHED

    @property
    def base(self) -> float:
        """The log-odds of a session whose every number is the median human's."""
        return self.slope * float(self.machine.decide(self._typical[None])[0]) + self.offset

    def decide(self, features: pl.DataFrame) -> Floats:
        """The machine's own decision before calibration, NaN where there is too little evidence."""
        table = self._table(features)
        decisions: Floats = np.where(self._judged(table).to_numpy(), self._decide(table), np.nan)
        return decisions

    def score(self, features: pl.DataFrame) -> pl.DataFrame:
        """SCORES: one row a session in the table's order; too little evidence gives null, never a number."""
        table = self._table(features)
        return self.scored(table, self._decide(table), self._judged(table))

    def explain(self, features: pl.DataFrame) -> pl.DataFrame:
        """EVIDENCE: a session after the other, in each the heaviest number first.

        `weight` is a number's Shapley share of the way from the median human's log-odds, `base`, to this session's:
        the machines are no sums, so that a share depends on the other numbers too.
        """
        table = self._table(features)
        values, enough = matrix(table, self._names), self._judged(table).to_list()
        rows = [part for at in range(table.height) for part in self._row(at, values[at], enough=enough[at])]
        return evidence_table(rows, table, self.detector)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The model back from JSON values, each looked at before it is believed.

        Raises:
            ModelError: a value is missing, of another type or length, or the name does not fit the recipe and data.
        """
        given = session_fields(values)
        columns = tuple(Column(**column) for column in given.pop("columns"))
        parts = {name: _rows(part) for name, part in given.pop("machine").items()}
        made: Any = MACHINES[parts.pop("kind")]
        model = cls(
            **given
            | {
                "feature": Recipe(**given["feature"]),
                "machine": made(columns=columns, **parts),
                "reference": Reference(**given["reference"]),
            }
            | optional_parts(given)
        )
        refuse_misnamed(model, values)
        return model

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.machine.columns)

    @property
    def _typical(self) -> Floats:
        return np.array([column.typical for column in self.machine.columns], dtype=np.float64)

    def _table(self, features: pl.DataFrame) -> pl.DataFrame:
        return checked(features, self._names, self.detector)

    def _judged(self, table: pl.DataFrame) -> pl.Series:
        return judged(table, as_published=self.as_published)

    def _decide(self, table: pl.DataFrame) -> Floats:
        return self.machine.decide(matrix(table, self._names))

    def _row(self, at: int, values: Floats, *, enough: bool) -> list[tuple[Any, ...]]:
        """The evidence of one session."""
        shares = self.slope * shapley(self.machine.decide, values, self._typical)
        order = np.argsort(-np.abs(shares), kind="stable") if enough else np.arange(values.size)
        return [self._fact(at, place, values, shares, enough=enough) for place in order.tolist()]

    def _fact(self, at: int, place: int, values: Floats, shares: Floats, *, enough: bool) -> tuple[Any, ...]:
        column = self.machine.columns[place]
        value = None if np.isnan(values[place]) else float(values[place])
        says = sentence(column.name, value, column.percentiles, as_published=self.as_published)
        return at, column.name, value, column.typical, float(shares[place]) if enough else None, says

    def _learned(self) -> dict[str, Any]:
        return {
            **_size(self.machine),
            "columns": {
                column.name: {"center": column.center, "spread": column.spread, "typical": column.typical}
                for column in self.machine.columns
            },
        }

    def _kept(self) -> dict[str, Any]:
        machine: Any = self.machine
        kind = next(name for name, known in MACHINES.items() if isinstance(machine, known))
        parts = {part.name: getattr(machine, part.name) for part in fields(machine) if part.name != "columns"}
        return {"columns": [asdict(column) for column in machine.columns], "machine": {"kind": kind, **parts}}


def _size(machine: Machine) -> dict[str, Any]:
    match machine:
        case Network():
            return {"network": f"{len(machine.hidden[0]) - 1}-{len(machine.hidden)}-1"}
        case Neighbours():
            return {"form": machine.form, "neighbours": machine.neighbours, "known_sessions": len(machine.known)}
    return {}


def _rows(value: Any) -> Any:  # noqa: ANN401  JSON values that were looked at
    """Rows of numbers as tuples."""
    return tuple(_rows(part) for part in value) if isinstance(value, list) else value
