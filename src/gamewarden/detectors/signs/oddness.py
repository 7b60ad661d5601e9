"""How odd an account looks among all players: one-sided tails of signs, added up by topic. It needs no labels.

After the idea of ECOD (Li et al., 2022), that ranks in each tail can be added up, with what an operator knows besides:
on which side a number is odd, which numbers tell the same, and that people who play differently are no outliers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, ClassVar, Self, get_type_hints

import numpy as np
import polars as pl

from gamewarden.contracts import Feature, Recipe, Side, frame_digest
from gamewarden.detectors.signs.population import DETECTOR, OddnessModel, Sign, shared, surprises
from gamewarden.errors import ConfigError, FitError
from gamewarden.learning.calibration import KEY, plain_json
from gamewarden.learning.columns import checked, values
from gamewarden.learning.model_json import build, dump
from gamewarden.learning.phrases import topic_of
from gamewarden.learning.recipe import AT_LEAST_2, option, refuse_bad_options
from gamewarden.learning.standard import percentiles_of, steady
from gamewarden.learning.styles import Styles
from gamewarden.learning.tails import Tail, outward

# Hours are a sign themselves, and bots crowd among those who play long: among them they would look usual.
_NO_DAY_HAS_SO_MANY = 25.0
NOT_MEASURED = "it was not measured of anybody"
STYLES = Styles(hardcore_hours=_NO_DAY_HAS_SO_MANY)


@dataclass(frozen=True)
class Oddness:
    """A frozen recipe: which signs count, and whom an account is compared with."""

    name: ClassVar[str] = DETECTOR
    says: ClassVar[str] = "How odd an account looks among all players, before anybody has said who is a bot."

    feature: Feature
    without: tuple[str, ...] = option((), (("self_sim",),))  # signs that do not count
    least: int = option(20, (10,), AT_LEAST_2)  # players without whom nobody is odd
    least_of_style: int = option(100, (10,), AT_LEAST_2)  # players of a style that are compared with each other alone
    styles: Styles = option(STYLES, (Styles(),))

    def __post_init__(self) -> None:
        """Check every option.

        Raises:
            ConfigError: an option has a value that nothing can be learned with.
        """
        refuse_bad_options(self, DETECTOR)
        if not self.sides:
            raise ConfigError(
                f"{DETECTOR}: nothing in {self.feature.name} says what is odd in it; columns of a table do by words "
                "such as playtime, online, party, guild and friend"
            )

    @property
    def sides(self) -> Mapping[str, Side]:
        """The signs that count, and on which side each is odd."""
        return {name: side for name, side in self.feature.odd_when.items() if name not in self.without}

    def fit(self, features: pl.DataFrame) -> OddnessModel:
        """The population of these rows, of each player the newest; the same whatever their order.

        Raises:
            FitError: there are too few players, or nothing differs among them.
            TableError: the table lacks a column or holds what it must not.
        """
        door = f"fit {DETECTOR}"
        rows = newest_rows(checked(features, tuple(self.sides), door, f"measure {self.feature.name} first"))
        if rows.height < self.least:
            raise FitError(f"{door}: {rows.height} players are too few to say who is odd; {self.least} are needed")
        styles = self.styles.frozen(rows)
        signs, left_out = self._signs(rows, styles)
        topics = tuple(topic_of(sign.name, self.feature.phrases) for sign in signs)
        oddness = shared(surprises(signs, rows, styles), topics).sum(axis=1)
        words = {sign.name: self.feature.phrases[sign.name] for sign in signs if sign.name in self.feature.phrases}
        return OddnessModel(
            recipe=self.to_dict(),
            feature=Recipe(self.feature.name, plain_json(self.feature.to_dict())),
            data=self._digest(rows),
            players=rows.height,
            styles=styles,
            signs=signs,
            reference=Tail.of(oddness),
            population=_population(rows, styles),
            left_out=left_out,
            phrases=words or None,
        )

    def to_dict(self) -> dict[str, Any]:
        """The options as JSON values, without the feature's."""
        return plain_json({one.name: dump(getattr(self, one.name)) for one in fields(self) if one.name != "feature"})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], feature: Feature) -> Self:
        """The recipe back from JSON values, around a feature."""
        kinds = get_type_hints(cls, include_extras=True)
        return cls(feature=feature, **{name: build(kinds[name], value) for name, value in values.items()})

    def _digest(self, rows: pl.DataFrame) -> str:
        telling = [name for name in self.styles.columns if name in rows.columns]
        return frame_digest(rows.select(*KEY, *dict.fromkeys((*self.sides, *telling))))

    def _signs(self, rows: pl.DataFrame, styles: Styles) -> tuple[tuple[Sign, ...], dict[str, str]]:
        told = styles.tell(rows)
        signs, left_out = [], {}
        for name, side in self.sides.items():
            numbers = values(rows, name)
            there = numbers[~np.isnan(numbers)]
            if not there.size:
                left_out[name] = NOT_MEASURED
            elif steady(there.mean(), there.std()):
                left_out[name] = "it is the same of everybody"
            else:
                signs.append(self._sign(name, side, numbers, told))
        if not signs:
            raise FitError(f"fit {DETECTOR}: nothing differs among {rows.height} players; nobody looks odd here")
        return tuple(signs), left_out

    def _sign(self, name: str, side: Side, numbers: np.ndarray[Any, Any], styles: pl.Series) -> Sign:
        there, told = ~np.isnan(numbers), styles.to_numpy()
        out = outward(numbers, side)
        parts = {style: out[there & (told == style)] for style in sorted(set(told.tolist()))}
        return Sign(
            name=name,
            side=side,
            everybody=Tail.of(out[there]),
            by_style={style: Tail.of(some) for style, some in parts.items() if some.size >= self.least_of_style},
            percentiles=percentiles_of(numbers),
        )


def newest_rows(features: pl.DataFrame) -> pl.DataFrame:
    """Of each actor the newest row: a player counts once, as it plays now; sorted by actor."""
    return features.sort("actor", "since", "until").unique("actor", keep="last", maintain_order=True)


def _population(rows: pl.DataFrame, styles: Styles) -> dict[str, Any]:
    counts = styles.tell(rows).value_counts().sort("style").rows()
    since, until = rows["since"].min(), rows["until"].max()
    written = {
        name: at.isoformat() if isinstance(at, datetime) else None for name, at in (("since", since), ("until", until))
    }
    return {**written, "styles": dict(counts)}
