"""Two operating points: one to watch an actor, one to act in a way a player could feel."""

from collections.abc import Collection
from dataclasses import dataclass

import polars as pl

from gamewarden.errors import ConfigError
from gamewarden.tables import VERDICTS, check
from gamewarden.verdicts.combining import by_family
from gamewarden.verdicts.periods import KEY

ACT, WATCH, NEITHER = "act", "watch", "neither"


@dataclass(frozen=True)
class OperatingPoints:
    """From which FPR on an actor is watched, and from which on more may follow.

    The point to watch needs the verdict's FPR, and a probability above the share of bots that it assumes. An FPR is a
    rank among people, and somebody is always the most bot-like of them: evidence that points to a person gives no
    point. The point to act needs a lower FPR, and so many families that reach the FPR to watch each on its own.

    Raises:
        ConfigError: a border cannot be one, or the point to act would be easier to reach than the point to watch.
    """

    watch: float = 0.05
    act: float = 0.001
    agree: int = 2
    bots: float = 0.0  # the share that probabilities assume

    def __post_init__(self) -> None:
        if not 0 <= self.act <= self.watch <= 1:
            raise ConfigError(
                f"verdict: the FPRs {self.act!r} (act) and {self.watch!r} (watch) are not shares that rise"
            )
        if self.agree < 1:
            raise ConfigError(f"verdict: agree {self.agree!r} cannot be used; give 1 or more")

    def reached(self, verdicts: pl.DataFrame) -> pl.Series:
        """Which point each verdict reaches: act, watch or neither; null where nothing was judged.

        What lies far beyond what a detector learned from is a reason to watch, and for no more.
        """
        near = pl.col("far").is_null() if "far" in verdicts.columns else pl.lit(True)
        strict = self._says_bot() & (pl.col("fpr") <= self.act) & (pl.col("agree") >= self.agree) & near
        point = (
            pl.when(pl.col("fpr").is_null())
            .then(None)
            .when(strict)
            .then(pl.lit(ACT))
            .when(self._says_bot())
            .then(pl.lit(WATCH))
            .otherwise(pl.lit(NEITHER))
        )
        return verdicts.select(point.alias("point")).to_series()

    def verdicts(
        self,
        fused: pl.DataFrame,
        parts: pl.DataFrame,
        everybody: pl.DataFrame,
        about_others: Collection[str] = (),
    ) -> pl.DataFrame:
        """VERDICTS of every actor and period in `everybody`, from the fused numbers and the detectors' parts.

        `everybody` may say how much of a period was covered, and which detectors were shown the unknown. Families in
        `about_others` describe the accounts around an actor: without a family that sees its own behaviour and says
        bot, none of them counts in `agree`.
        """
        says_bot = pl.col("own_fpr") <= self.watch
        own = (says_bot & ~pl.col("family").is_in(list(about_others))).any()
        agree = pl.when(own).then(says_bot.sum()).otherwise(0)
        agreeing = by_family(parts).group_by(KEY).agg(agree.cast(pl.Int64).alias("agree"))
        rows = (
            everybody.unique(KEY)
            .join(fused, on=KEY, how="left")
            .join(agreeing, on=KEY, how="left")
            .with_columns(pl.col("agree").fill_null(0))
            .sort("actor", "since")
        )
        return check(rows.with_columns(streak=self._streak()), VERDICTS, "verdicts")

    def with_streaks(self, verdicts: pl.DataFrame) -> pl.DataFrame:
        """VERDICTS of several periods, sorted by actor and time, with the streaks that they make together."""
        return verdicts.with_columns(streak=self._streak())

    def streak_after(self, before: pl.Expr) -> pl.Expr:
        """The streak of one period more, after one of `before`: the same as counted over all of them at once."""
        judged = pl.col("fpr").is_not_null()
        said = (judged & self._says_bot()).fill_null(False)
        return pl.when(judged & ~said).then(0).otherwise(before + said.cast(pl.Int64)).cast(pl.Int64)

    def _says_bot(self) -> pl.Expr:
        return (pl.col("fpr") <= self.watch) & (pl.col("probability") > self.bots)

    def _streak(self) -> pl.Expr:
        """Judged periods in a row that say bot; a period nobody could judge neither lengthens nor ends it."""
        judged = pl.col("fpr").is_not_null()
        said = (judged & self._says_bot()).fill_null(False)
        ends = (judged & ~said).cum_sum().over("actor")
        run = said.cast(pl.Int64).cum_sum().over("actor", ends)
        return pl.when(judged & ~said).then(0).otherwise(run).cast(pl.Int64)
