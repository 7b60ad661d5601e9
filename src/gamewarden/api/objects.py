"""What the functions for a notebook give back: answers that know what was said beside them, and show themselves."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, TypeAlias
from weakref import finalize

import polars as pl

from gamewarden import pipeline, requests
from gamewarden.api.arguments import Place, path
from gamewarden.contracts import Card, Model, Source
from gamewarden.errors import ConfigError

if TYPE_CHECKING:
    from gamewarden.evaluation.compare_splits import SideBySide
    from gamewarden.evaluation.leave_pair_out import PairsHeldOut
    from gamewarden.presentation.rank_page import RankPage
    from gamewarden.presentation.ranking import Ranked


@dataclass(frozen=True)
class Fitted:
    """A model, the directory that holds it, and what has to be said beside it."""

    model: Model = field(repr=False)
    directory: Path
    notes: tuple[str, ...] = field(repr=False)
    _kept: object = field(default=None, repr=False, compare=False)  # a temporary directory lives as long as this

    @property
    def card(self) -> Card:
        """What it is, what it was made from and how good it was."""
        return self.model.card

    def __str__(self) -> str:
        return pipeline.page_of(self.model, self.directory).markdown()

    def _repr_html_(self) -> str:
        return pipeline.page_of(self.model, self.directory).html(self.notes)


Models: TypeAlias = Place | Fitted | Sequence[Place | Fitted]


@dataclass(frozen=True)
class Ranking:
    """The accounts to look at, highest first, and what has to be said beside them."""

    frame: pl.DataFrame
    notes: tuple[str, ...]
    _ranked: "Ranked" = field(repr=False)
    _source: Source = field(repr=False)
    _shelf: "Shelf" = field(repr=False)

    def html(self) -> str:
        """The list as a page of its own."""
        from gamewarden.presentation.rank_page import rank_page

        return rank_page(self._cards)

    def _repr_html_(self) -> str:
        from gamewarden.presentation.rank_page import rank_fragment

        return rank_fragment(self._cards)

    @cached_property
    def _cards(self) -> "RankPage":
        """Drawn when it is first shown, since that reads the source once more."""
        return pipeline.rank_cards(self._ranked, self._source, self._shelf.path)


@dataclass(frozen=True)
class Explanation:
    """Why an account scores as it does."""

    story: pipeline.Explanation = field(repr=False)
    actor: str

    @property
    def evidence(self) -> pl.DataFrame:
        """EVIDENCE of the period that scores highest."""
        return self.story.evidence

    @property
    def scores(self) -> pl.DataFrame:
        """SCORES of all its periods."""
        return self.story.scores

    @property
    def windows(self) -> pl.DataFrame:
        """The windows of the period that scores highest, where the detector sees any."""
        return self.story.windows

    @property
    def notes(self) -> tuple[str, ...]:
        """What has to be said beside it."""
        return (*self.story.caveats, self.story.prevalence.sentence)

    @property
    def text(self) -> str:
        """All of it in sentences."""
        from gamewarden.presentation.story import explanation_text

        return explanation_text(self.story)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from gamewarden.presentation.explanation import explanation_fragment

        return explanation_fragment(self.story)


@dataclass(frozen=True)
class Evaluation:
    """How good detectors are on accounts they have not seen."""

    summary: pl.DataFrame
    notes: tuple[str, ...] = field(repr=False)
    _result: "SideBySide | PairsHeldOut" = field(repr=False)
    _name: str = field(repr=False)

    @property
    def short(self) -> pl.DataFrame:
        """The columns to look at first."""
        return pipeline.evaluation_in_short(self._result)

    def _repr_html_(self) -> str:
        return pipeline.evaluation_html(self._result, self._name, self.notes)


@dataclass(frozen=True)
class Shelf:
    """The directory of models that somebody means, and what keeps it there."""

    path: Path
    _kept: object = None

    @classmethod
    def of(cls, models: Models) -> "Shelf":
        """One directory or fitted model as it is; of several the models in force, gathered in one directory."""
        if isinstance(models, Fitted):
            return cls(models.directory, models)
        if isinstance(models, str | PathLike):
            return cls(path(models, "models"))
        if not isinstance(models, Sequence) or not models:
            raise ConfigError(f"models: {models!r} is no directory; give one, what fit returned, or a list of these")
        shelves = [cls.of(one) for one in models]
        if len(shelves) == 1:
            return shelves[0]
        lent = Lent()
        return cls(requests.gather_models([one.path for one in shelves], lent.path), lent)


class Lent:
    """A directory that is there as long as somebody holds this."""

    def __init__(self) -> None:
        self.path = Path(mkdtemp(prefix="gamewarden-"))
        finalize(self, rmtree, self.path, ignore_errors=True)
