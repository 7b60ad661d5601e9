"""What any detector has to beat: knowing only how common bots are, or only how much someone plays."""

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np
import polars as pl

from gamewarden.evaluation.metrics import Flags, Floats
from gamewarden.learning.labels import label_periods
from gamewarden.tables import SCORES, check


class Scores(Protocol):
    """A fitted model, as far as an evaluation looks at it."""

    def score(self, features: pl.DataFrame) -> pl.DataFrame:
        """SCORES of these periods."""


class Fits(Protocol):
    """A recipe, as far as an evaluation looks at it; every Detector is one."""

    name: ClassVar[str]

    def fit(self, features: pl.DataFrame, labels: pl.DataFrame) -> Scores:
        """A model of these periods and labels."""


@dataclass(frozen=True)
class Dummy:
    """Says of everyone how common bots were in training."""

    name: ClassVar[str] = "dummy"

    def fit(self, features: pl.DataFrame, labels: pl.DataFrame) -> "Constant":
        """The share of bots among the labelled periods."""
        bot = label_periods(features, labels, self.name).rows["bot"].to_numpy()
        return Constant(float(bot.mean()))


@dataclass(frozen=True)
class Constant:
    """One probability for all."""

    probability: float

    def score(self, features: pl.DataFrame) -> pl.DataFrame:
        """The same for every row."""
        return _scores(features, Dummy.name, pl.lit(self.probability))


@dataclass(frozen=True)
class EventsAlone:
    """Looks at the number of log entries and nothing else: whoever plays much is suspect."""

    name: ClassVar[str] = "events alone"

    def fit(self, features: pl.DataFrame, labels: pl.DataFrame) -> "Volume":
        """The standardised logarithm of the events, turned so that bots are high."""
        logs, bot = self._logs(features, labels)
        direction = 1.0 if logs[bot].mean() >= logs[~bot].mean() else -1.0
        return Volume(float(logs.mean()), direction / (float(logs.std()) or 1.0))

    def learn(self, features: pl.DataFrame, labels: pl.DataFrame) -> "Volume":
        """The same curve for decisions: nothing is decided half-way between the typical bot and the typical human."""
        logs, bot = self._logs(features, labels)
        return replace(self.fit(features, labels), middle=float(logs[bot].mean() + logs[~bot].mean()) / 2)

    def _logs(self, features: pl.DataFrame, labels: pl.DataFrame) -> tuple[Floats, Flags]:
        rows = label_periods(features, labels, self.name).rows
        return np.log1p(rows["events"].to_numpy()), rows["bot"].to_numpy()


@dataclass(frozen=True)
class Volume:
    """A logistic curve over the logarithm of the events."""

    middle: float
    slope: float

    def score(self, features: pl.DataFrame) -> pl.DataFrame:
        """Higher for whoever has more, or fewer, events than the middle."""
        return _scores(features, EventsAlone.name, 1 / (1 + (-self._log_odds).exp()))

    def decide(self, features: pl.DataFrame) -> Floats:
        """The same as log-odds: positive is a bot's."""
        return features.select(self._log_odds).to_series().to_numpy()

    @property
    def _log_odds(self) -> pl.Expr:
        return self.slope * (pl.col("events").cast(pl.Float64).log1p() - self.middle)


BASELINES: tuple[Fits, ...] = (Dummy(), EventsAlone())


def _scores(features: pl.DataFrame, name: str, probability: pl.Expr) -> pl.DataFrame:
    named = (pl.lit(name).alias(column) for column in ("detector", "model"))
    return check(
        features.select("actor", "since", "until", "events", *named, probability.alias("probability")), SCORES, name
    )
