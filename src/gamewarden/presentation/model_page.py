"""All there is to say of a model, and a shelf of them in short."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from gamewarden.contracts import Card, canonical_json
from gamewarden.presentation.card import Section, card_fragment, card_markdown, card_sections
from gamewarden.store.evaluations import results_in_short
from gamewarden.store.model_registry import Promotion


@dataclass(frozen=True)
class Page:
    """All there is to say of a model: its card, what it needs to see, and its place on the shelf."""

    card: Card
    needs: Mapping[str, Any]
    in_force: bool
    history: tuple[Promotion, ...]
    results: Mapping[str, Any] | None = None  # of later evaluations, by split
    offered_by: str | None = None  # the installed package whose detector it is, and its version

    def markdown(self) -> str:
        """For people."""
        results = None if self.results is None else results_in_short(self.results)
        return card_markdown(self.card, needs=self.needs, standing=self._standing(), results=results)

    def html(self, notes: Sequence[str] = ()) -> str:
        """For a notebook."""
        return card_fragment(self.card, self.sections(), notes)

    def sections(self) -> list[Section]:
        """Its parts under their titles."""
        results = None if self.results is None else results_in_short(self.results)
        return card_sections(self.card, needs=self.needs, standing=self._standing(), results=results)

    def json(self) -> str:
        """For machines."""
        history = [asdict(line) | {"at": line.at.isoformat()} for line in self.history]
        beside = {"needs": self.needs, "in_force": self.in_force, "history": history, "results": self.results}
        offered = {} if self.offered_by is None else {"offered_by": self.offered_by}
        return canonical_json(asdict(self.card) | beside | offered)

    def _standing(self) -> list[str]:
        now = "in force" if self.in_force else "not in force"
        offered = [] if self.offered_by is None else [f"a detector of {self.offered_by}"]
        return [now, *offered, *(_told(line, self.card.id) for line in self.history)]


def models_in_short(table: pl.DataFrame) -> pl.DataFrame:
    """The columns of a shelf that a person looks at first."""
    days = [pl.col(name).dt.strftime("%Y-%m-%d") for name in ("since", "until")]
    fitted_on = pl.concat_str(*days, separator=" – ").alias("fitted_on")
    saved = pl.col("saved").dt.strftime("%Y-%m-%d %H:%M")
    problem = ["problem"] if table["problem"].null_count() < table.height else []
    return table.select("model", "in_force", fitted_on, "bots", "humans", "auc", saved, *problem)


def _told(line: Promotion, model: str) -> str:
    """A line of the history as this model sees it."""
    came = "rolled back to" if line.rolled_back else "promoted"
    left = "rolled back" if line.rolled_back else "replaced"
    what = came if line.model == model else f"{left}, {line.model} came in its place"
    return f"{line.at:%Y-%m-%d %H:%M} {what}, by {line.by}: {line.because}"
