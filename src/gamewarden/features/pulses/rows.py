"""Pieces of play to tables: the row of each period, the spans that are drawn, and the pulses that are named."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from gamewarden.core.durations import MINUTE
from gamewarden.features.folding import typed
from gamewarden.features.pulses.finding import Found, Rule, find
from gamewarden.tables import TIME

if TYPE_CHECKING:
    from gamewarden.features.pulses.recipe import Pulses

BY_HAND = 0.4  # share of steady beats up to which hands are like each other: below it nothing speaks for anybody
FINEST = 1e-6  # a spread below this is that of rounding
_HIGH = 0.75  # a span that stands for the best hours of a day, and not for the best one of many


@dataclass(frozen=True)
class Pieces:
    """Finished pieces in any order, the actor of each slot, and how many kinds count."""

    rows: NDArray[Any]
    actors: pa.Array
    size: int

    @property
    def ordered(self) -> NDArray[Any]:
        """By slot, period and number."""
        return self.rows[np.lexsort((self.rows["number"], self.rows["since"], self.rows["slot"]))]


def rule_of(recipe: "Pulses", size: int) -> Rule:
    """When spans are a pulse, as a recipe says."""
    return Rule(
        unit=recipe.unit,
        span=recipe.span,
        step=recipe.step,
        size=size,
        steady=recipe.steady,
        published=recipe.rule == "published",
        bot_level=recipe.bot_level or 0.0,
    )


def frame_of(recipe: "Pulses", pieces: Pieces, *, kills: bool) -> pl.DataFrame:
    """FEATURES: one row per actor and period; `kills` says whether the source can show any."""
    ordered = pieces.ordered
    found = find(ordered, rule_of(recipe, pieces.size))
    rows = (
        _periods(recipe, pieces, ordered, found)
        .join(_of_spans(found), on="period", how="left")
        .join(_of_pulses(recipe, found), on="period", how="left")
        .with_columns(pl.col("spans", "pulses", "pulse_windows", "pulse_variety").fill_null(0))
    )
    return typed(rows.with_columns(**_told(recipe, kills=kills)), recipe.schema)


def spans_of(recipe: "Pulses", pieces: Pieces) -> pl.DataFrame:
    """One row a span, in the order of time: actor, since, until, self_sim, steady, and whether it is in a pulse."""
    ordered = pieces.ordered
    found = find(ordered, rule_of(recipe, pieces.size))
    spans, length = found.spans, recipe.unit * recipe.step
    first = ordered[found.firsts[spans["period"]]]
    since = first["since"] + spans["number"] * length
    return pl.DataFrame(
        [
            pl.Series("actor", pieces.actors, dtype=pl.String).gather(first["slot"]),
            _times("since", since),
            _times("until", np.minimum(since + recipe.unit * recipe.span, first["until"])),
            pl.Series("self_sim", 1 - spans["spread"] / 2),
            pl.Series("steady", spans["steady"]).fill_nan(None),
            pl.Series("pulse", spans["pulse"] != 0),
        ]
    )


def pulses_of(recipe: "Pulses", pieces: Pieces) -> pl.DataFrame:
    """One row a pulse, in the order of time: actor, since, until, self_sim, steady, and its share of the windows."""
    ordered = pieces.ordered
    found = find(ordered, rule_of(recipe, pieces.size))
    pulses, length = found.pulses, recipe.unit * recipe.step
    first = ordered[found.firsts[pulses["period"]]]
    played = np.add.reduceat(ordered["windows"], found.firsts[:-1]) if len(ordered) else np.zeros(0, np.int64)
    return pl.DataFrame(
        [
            pl.Series("actor", pieces.actors, dtype=pl.String).gather(first["slot"]),
            _times("since", first["since"] + pulses["first"] * length),
            _times("until", np.minimum(first["since"] + pulses["end"] * length, first["until"])),
            pl.Series("self_sim", 1 - pulses["spread"] / 2),
            pl.Series("steady", pulses["steady"]).fill_nan(None),
            pl.Series("share", pulses["windows"] / played[pulses["period"]]),
        ]
    )


def _times(name: str, moments: NDArray[np.int64]) -> pl.Series:
    return pl.Series(name, moments, dtype=pl.Int64).cast(pl.Datetime("us")).dt.replace_time_zone("UTC").cast(TIME)


def _periods(recipe: "Pulses", pieces: Pieces, ordered: NDArray[Any], found: Found) -> pl.DataFrame:
    """What is known of a period without its spans."""
    first = ordered[found.firsts[:-1]]
    names = ("events", "windows", "variety", "kills")
    if not len(ordered):
        sums = dict.fromkeys(names, np.zeros(0, np.int64))
    else:
        sums = {name: np.add.reduceat(ordered[name].astype(np.int64), found.firsts[:-1]) for name in names}
    return pl.DataFrame(
        [
            pl.Series("period", np.arange(len(first))),
            pl.Series("actor", pieces.actors, dtype=pl.String).gather(first["slot"]),
            _times("since", first["since"]),
            _times("until", first["until"]),
            *(pl.Series(name, values) for name, values in sums.items()),
            pl.Series("total_use_time_min", sums["windows"] * (recipe.unit / MINUTE)),
        ]
    )


def _of_spans(found: Found) -> pl.DataFrame:
    spans = pl.DataFrame({name: found.spans[name] for name in ("period", "spread", "active_spread", "steady", "pulse")})
    own = pl.col("pulse") == 0
    told = spans.with_columns(
        pl.col("steady").fill_nan(None),
        even=-pl.col("active_spread").clip(lower_bound=FINEST).log(),
        alike=1 - pl.col("spread") / 2,
    )
    return told.group_by("period").agg(
        spans=pl.len().cast(pl.Int64),
        span_self_sim=pl.col("alike").max(),
        span_evenness=pl.col("even").quantile(_HIGH, "linear"),
        span_steady=pl.col("steady").quantile(_HIGH, "linear"),
        own_self_sim=pl.col("alike").filter(own).median(),
        own_evenness=pl.col("even").filter(own).median(),
        own_steady=pl.col("steady").filter(own).median(),
        pulse_evenness=pl.col("even").filter(~own).median(),
    )


def _of_pulses(recipe: "Pulses", found: Found) -> pl.DataFrame:
    pulses = pl.DataFrame(
        {name: found.pulses[name] for name in ("period", "first", "end", "windows", "variety", "steady")}
    )
    minutes = recipe.unit * recipe.step / MINUTE
    return pulses.group_by("period").agg(
        pulses=pl.len().cast(pl.Int64),
        pulse_begin_min=pl.col("first").min() * minutes,
        pulse_end_min=pl.col("end").max() * minutes,
        pulse_windows=pl.col("windows").sum(),
        pulse_variety=pl.col("variety").sum(),
        pulse_steady=pl.col("steady").fill_nan(None).median(),
    )


def _told(recipe: "Pulses", *, kills: bool) -> dict[str, pl.Expr]:
    """The numbers that are made of several others."""
    inside, outside = pl.col("pulse_windows"), pl.col("windows") - pl.col("pulse_windows")
    return {
        "pulse_minutes": inside * (recipe.unit / MINUTE),
        "pulse_share": inside / pl.col("windows"),
        "pulse_kinds": pl.when(inside > 0).then(pl.col("pulse_variety") / inside),
        "own_kinds": pl.when(outside > 0).then((pl.col("variety") - pl.col("pulse_variety")) / outside),
        "clockwork": (pl.col("span_steady") - BY_HAND).clip(lower_bound=0) / (1 - BY_HAND),
        "jump": pl.col("pulse_evenness") - pl.col("own_evenness"),
        "npc_kill_count": pl.col("kills") if kills else pl.lit(None, pl.Int64),
    }
