"""Which kind of player a row is of: people differ more by how they play than most bots differ from people.

An FPR that is right for people as a whole is wrong for those who play all day, so each style has humans of its own to
be compared with. The style is told from the row alone: by what it is, not by who it belongs to.
"""

from dataclasses import asdict, dataclass
from typing import Self

import polars as pl

from gamewarden.config import Config
from gamewarden.errors import ConfigError

HARD_CORE, GRINDER, NEWBIE, VETERAN, UNKNOWN = "hard-core", "grinder", "newbie", "veteran", "unknown"
STYLES = (HARD_CORE, GRINDER, NEWBIE, VETERAN, UNKNOWN)
LEARNED_SHARE = 0.2  # of the training humans: those who play longest, kill fastest, or have the lowest level
_HOURS_A_DAY = 24.0


@dataclass(frozen=True)
class Styles:
    """Borders between styles; the first that fits counts: hard-core, grinder, newbie, and veteran for the rest.

    A number that was not measured fits no border; a row without any of the three has the style `unknown`. With
    `learned` the borders are replaced by those that cut a fifth off the training humans.

    Raises:
        ConfigError: a border cannot be one.
    """

    hardcore_hours: float = 10.0  # a day
    grinder_kills: float = 2.0  # a minute online
    newbie_level: float = 15.0
    learned: bool = False
    minutes: str = "total_use_time_min"
    kills: str = "npc_kill_count"
    level: str = "main_char_level"

    def __post_init__(self) -> None:
        for name in ("hardcore_hours", "grinder_kills", "newbie_level"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ConfigError(f"styles: {name} {getattr(self, name)!r} cannot be used; give a number from 0 on")

    def tell(self, features: pl.DataFrame) -> pl.Series:
        """The style of each row of FEATURES."""
        numbers = features.select(self._numbers(features))
        known = pl.any_horizontal(pl.all().is_not_null())
        told = (
            pl.when(pl.col("hours") >= self.hardcore_hours)
            .then(pl.lit(HARD_CORE))
            .when(pl.col("pace") >= self.grinder_kills)
            .then(pl.lit(GRINDER))
            .when(pl.col("level") <= self.newbie_level)
            .then(pl.lit(NEWBIE))
            .when(known)
            .then(pl.lit(VETERAN))
            .otherwise(pl.lit(UNKNOWN))
        )
        return numbers.select(told.alias("style")).to_series()

    def frozen(self, humans: pl.DataFrame) -> Self:
        """The rule with its borders settled: as they are, or learned from the training humans' rows."""
        if not self.learned:
            return self
        numbers = humans.select(self._numbers(humans))
        borders = {
            "hardcore_hours": numbers["hours"].quantile(1 - LEARNED_SHARE, "higher"),
            "grinder_kills": numbers["pace"].quantile(1 - LEARNED_SHARE, "higher"),
            "newbie_level": numbers["level"].quantile(LEARNED_SHARE, "lower"),
        }
        found = {name: border for name, border in borders.items() if border is not None}
        return type(self)(**{**asdict(self), **found})

    def _numbers(self, features: pl.DataFrame) -> list[pl.Expr]:
        """Hours played a day, kills a minute and level, null where they were not measured."""

        def column(name: str) -> pl.Expr:
            there = pl.col(name).cast(pl.Float64) if name in features.columns else pl.lit(None, dtype=pl.Float64)
            return pl.when(there.is_finite()).then(there)

        minutes, spans = column(self.minutes), (pl.col("until") - pl.col("since")).dt.total_microseconds() / 60_000_000
        hours = pl.when(spans > 0).then(minutes / spans * _HOURS_A_DAY)
        pace = pl.when(minutes > 0).then(column(self.kills) / minutes)
        return [hours.alias("hours"), pace.alias("pace"), column(self.level).alias("level")]

    @property
    def columns(self) -> tuple[str, str, str]:
        """The columns that styles are told from."""
        return self.minutes, self.kills, self.level


def styles_of(config: Config) -> Styles:
    """The borders between styles that the settings name."""
    given = config.styles
    return Styles(given.hardcore_hours, given.grinder_kills, given.newbie_level, given.borders == "learned")
