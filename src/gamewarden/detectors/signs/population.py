"""A frozen population: how odd an account looks in it, and by what. Nothing here says who is a bot."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Self

import numpy as np
import polars as pl

from gamewarden.contracts import Recipe, Side, model_id
from gamewarden.learning.calibration import KEY, Floats, plain_json, short_options
from gamewarden.learning.columns import checked, measured, values
from gamewarden.learning.model_json import dump, load
from gamewarden.learning.phrases import PLAYERS, SeenNumber, median, says, topic_of, window_word
from gamewarden.learning.styles import STYLES, Styles
from gamewarden.learning.tails import Tail, outward, surprise
from gamewarden.learning.validation import Natural, Percentiles, Rule, Text
from gamewarden.phrases import Phrase
from gamewarden.tables import EVIDENCE, ODDNESS, check

DETECTOR = "oddness"
NO_PROMISE = (
    "Nobody has said who is human yet: the share counts all players, bots among them, and is neither a false-positive "
    "rate nor a probability."
)
WEAKNESSES = (
    NO_PROMISE,
    "What most players do never looks odd: where most of them are bots, people do.",
    "Whoever does one thing for hours (crafting, fishing, grinding) looks odder than others, and is no bot for it.",
    "A bot that plays little, unevenly and alone is not on the list.",
)


@dataclass(frozen=True)
class Sign:
    """One number as it was among all players, each of them counted once."""

    name: Text
    side: Side
    everybody: Tail
    by_style: Annotated[Mapping[str, Tail], Rule(lambda v: v.keys() <= set(STYLES), "tails by style")]
    percentiles: Percentiles  # of the numbers as they are

    def surprise(self, table: pl.DataFrame, styles: pl.Series) -> Floats:
        """How surprising each row's number is, among all players or those of its style, whichever it is less.

        0 where nothing was measured. Style by style, so that whoever plays in an unusual way is odd only beside those
        who play so too.
        """
        numbers = outward(values(table, self.name), self.side)
        share, told = self.everybody.share(numbers), styles.to_numpy()
        for style, tail in self.by_style.items():
            own = np.flatnonzero(told == style)
            share[own] = np.maximum(share[own], tail.share(numbers[own]))
        return np.where(np.isnan(share), 0.0, surprise(share))


@dataclass(frozen=True, kw_only=True)
class OddnessModel:
    """Tails of signs over a population, their sum by topic, and how that sum was spread over its players.

    Signs of one topic measure nearly the same: a topic says as much as its signs do on average.
    """

    recipe: Mapping[str, Any]
    feature: Recipe
    data: Text  # digest of the rows
    players: Natural
    styles: Styles
    signs: Annotated[tuple[Sign, ...], Rule(bool, "a list of at least one sign")]
    reference: Tail  # of all players' oddness
    population: Mapping[str, Any]  # since, until and the players of each style
    left_out: Mapping[str, Text]  # column -> why it is no sign here
    phrases: Mapping[str, Phrase] | None = None

    detector = DETECTOR

    @property
    def id(self) -> str:
        """`oddness@digest` of both recipes and the population."""
        return model_id(DETECTOR, self.recipe, self.feature, self.data)

    def card(self) -> dict[str, Any]:
        """What it is and what it was made from."""
        return {
            "id": self.id,
            "feature": {"name": self.feature.name, **short_options(self.feature.options)},
            "players": self.players,
            "smallest_share": 1 / self.players,
            "population": dict(self.population),
            "signs": {sign.name: {"odd_when": sign.side, "typical": median(sign.percentiles)} for sign in self.signs},
            "left_out": dict(self.left_out),
            "weaknesses": list(WEAKNESSES),
        }

    def score(self, features: pl.DataFrame) -> pl.DataFrame:
        """ODDNESS: how odd each row is, and the share of all players who look at least as odd; null without signs."""
        table = self._table(features)
        oddness = self._parts(table).sum(axis=1)
        told = table.select(*KEY, "events").with_columns(
            pl.lit(DETECTOR).alias("detector"),
            pl.lit(self.id).alias("model"),
            pl.Series("oddness", oddness),
            pl.Series("as_odd", self.reference.share(oddness)),
        )
        enough = measured(table, self._names)
        blind = [pl.when(enough).then(pl.col(name)).alias(name) for name in ("oddness", "as_odd")]
        return check(told.with_columns(blind), ODDNESS, f"score {DETECTOR}")

    def explain(self, features: pl.DataFrame) -> pl.DataFrame:
        """EVIDENCE: a row after the other, in each the heaviest sign first; weights add up to `oddness`."""
        table = self._table(features)
        parts, single = self._parts(table), self._surprises(table)
        told = [self._evidence(table, at, parts[:, at], single[:, at]) for at in range(len(self.signs))]
        order = ["row", "weight", "order"]
        evidence = pl.concat([part.with_columns(order=at) for at, part in enumerate(told)])
        ranked = evidence.sort(order, descending=[False, True, False], nulls_last=True)
        return check(ranked.drop("row", "order"), EVIDENCE, f"explain {DETECTOR}")

    def heaviest(self, features: pl.DataFrame) -> pl.Series:
        """The sign by which each row is oddest, as `sign`; null where nothing is odd in it."""
        parts = self._parts(self._table(features))
        names = pl.Series("sign", self._names).gather(parts.argmax(axis=1))
        return names.zip_with(pl.Series(parts.max(axis=1) > 0), pl.Series("sign", [None], dtype=pl.String))

    def told_styles(self, features: pl.DataFrame) -> pl.Series:
        """The style of play of each row."""
        return self.styles.tell(features)

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values."""
        return plain_json({"id": self.id, "detector": DETECTOR, **dump(self)})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The model back from JSON values."""
        return load(cls, {key: value for key, value in values.items() if key != "detector"})

    def agreements(self) -> Iterator[tuple[str, bool]]:
        """What must hold between its values."""
        yield "every sign is there once", len(set(self._names)) == len(self.signs)
        yield "its players are those of its reference", self.players == self.reference.players

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(sign.name for sign in self.signs)

    def _table(self, features: pl.DataFrame) -> pl.DataFrame:
        return checked(features, self._names, f"score {DETECTOR}", f"measure {self.feature.name} first")

    def _surprises(self, table: pl.DataFrame) -> Floats:
        return surprises(self.signs, table, self.styles)

    def _parts(self, table: pl.DataFrame) -> Floats:
        return shared(self._surprises(table), self.topics)

    @property
    def topics(self) -> tuple[str, ...]:
        """Of each sign."""
        return tuple(topic_of(name, self.phrases) for name in self._names)

    def _evidence(self, table: pl.DataFrame, at: int, weight: Floats, alone: Floats) -> pl.DataFrame:
        sign, enough = self.signs[at], measured(table, self._names)
        return table.select(
            *KEY,
            pl.int_range(pl.len()).alias("row"),
            pl.lit(DETECTOR).alias("detector"),
            pl.lit(sign.name).alias("feature"),
            pl.col(sign.name).alias("value"),
            pl.lit(median(sign.percentiles)).alias("typical"),
            pl.when(enough).then(pl.Series(weight)).alias("weight"),
            pl.when(enough).then(pl.Series(alone)).alias("alone"),
            pl.Series(self._sentences(table, sign), dtype=pl.String).alias("says"),
        )

    def _sentences(self, table: pl.DataFrame, sign: Sign) -> list[str]:
        phrase, window = (self.phrases or {}).get(sign.name), window_word("60s")

        @cache
        def said(value: float | None) -> str:
            return says(SeenNumber(sign.name, value, sign.percentiles, window, whom=PLAYERS), phrase)

        return list(map(said, table[sign.name].to_list()))


def surprises(signs: tuple[Sign, ...], table: pl.DataFrame, styles: Styles) -> Floats:
    """How surprising each sign of each row is, a column per sign."""
    told = styles.tell(table)
    return np.column_stack([sign.surprise(table, told) for sign in signs])


def shared(surprise: Floats, topics: tuple[str, ...]) -> Floats:
    """Each sign's part of the oddness: its share of the mean of its topic."""
    sizes = np.array([topics.count(topic) for topic in topics], dtype=np.float64)
    parts: Floats = surprise / sizes
    return parts
