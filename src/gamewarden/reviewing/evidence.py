"""What a rater is shown of an account, whoever listed it: its story before the answer, the list's word after it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import polars as pl

from gamewarden.contracts import Detector, EventStream
from gamewarden.detectors.signs.recipe import SignsDetector, TableSigns
from gamewarden.errors import FitError, InstallError
from gamewarden.pipeline.first_look import FirstLook, odd_stories
from gamewarden.pipeline.measuring import feature_of
from gamewarden.presentation.odd_story import OddStory, rarity, signs_text
from gamewarden.verdicts.review_order import Candidate

AT_ONCE = 20  # accounts whose days are read together, before they are looked at


class Evidence(Protocol):
    """A list of accounts, and what is known of each."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What has to be said of the list."""

    @property
    def learner(self) -> tuple[str, ...]:
        """The detector that learns from labels of these accounts, and the options that it needs at a command line."""

    def candidates(self, labels: pl.DataFrame | None = None) -> Sequence[Candidate]:
        """Everybody who may be looked at, each once; with what a model of the labels so far is unsure of."""

    def prepare(self, actors: Sequence[str]) -> None:
        """These will be looked at next."""

    def story(self, actor: str) -> str:
        """What an account did, in lines for a person: nothing of it tells what the list thinks."""

    def said(self, actor: str) -> str:
        """What the list said of an account, in one line; shown once a rater has answered."""


@dataclass
class OddEvidence:
    """Accounts by how odd they look among all players."""

    look: FirstLook
    events: Callable[[], EventStream | None]  # of the source; None where it is a table
    width: int | None = None
    _stories: dict[str, OddStory] = field(default_factory=dict, init=False)

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be measured, and with whom accounts are compared."""
        return self.look.notes

    @property
    def learner(self) -> tuple[str, ...]:
        """That of a log, or of a table, which has to be told whose a row is."""
        feature = feature_of(self.look.model.feature)
        if feature.input == "events":
            return (SignsDetector.name,)
        return (TableSigns.name, "--actor", str(self.look.model.feature.options["actor"]))

    def candidates(self, labels: pl.DataFrame | None = None) -> Sequence[Candidate]:
        """Everybody with a sign; what a model of the labels thinks where there are enough of them to learn from."""
        sure, groups = self._probabilities(labels), self.look.groups()
        shares = self.look.oddness.drop_nulls("as_odd").select("actor", "as_odd").iter_rows()
        return [Candidate(actor, share, sure.get(actor), groups.get(actor)) for actor, share in shares]

    def prepare(self, actors: Sequence[str]) -> None:
        """Read their days at once."""
        missing = [actor for actor in actors if actor not in self._stories]
        if missing:
            self._stories |= odd_stories(self.look, missing, self.events())

    def story(self, actor: str) -> str:
        """The account's signs by topic, and pictures of its days."""
        self.prepare([actor])
        return signs_text(self._stories[actor], self.width)

    def said(self, actor: str) -> str:
        """How many players look at least as odd."""
        self.prepare([actor])
        share = self._stories[actor].as_odd
        return (
            "The list says nothing of it." if share is None else f"The list: {rarity(share, self.look.model.players)}."
        )

    def _probabilities(self, labels: pl.DataFrame | None) -> Mapping[str, float]:
        if labels is None or not labels.height:
            return {}
        feature = feature_of(self.look.model.feature)
        kind = SignsDetector if feature.input == "events" else TableSigns
        recipe: Detector = kind.of(feature, {})
        try:
            told = recipe.fit(self.look.rows, labels).score(self.look.rows)
        except (FitError, InstallError):  # too few of a kind yet, or nothing here to learn with
            return {}
        return dict(told.drop_nulls("probability").select("actor", "probability").iter_rows())
