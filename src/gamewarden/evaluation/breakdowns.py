"""Where one figure hides several: by bot family, by group of people, by FPR, by probability, in time."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from gamewarden.core.intervals import share_interval
from gamewarden.evaluation.baselines import BASELINES
from gamewarden.evaluation.metrics import Flags, Floats, Ranked

FPR = 0.01  # the share of held-out people flagged at which families, groups and times are compared
PROMISES = (0.1, 0.05, 0.01, 0.001)
BINS = 10
_A_FARM = 2  # bots that belong together
_HOUR = 3600e6
Schema = dict[str, pl.DataType | type[pl.DataType]]


@dataclass(frozen=True)
class Rate:
    """A share with its interval, over actors and not over their periods."""

    rate: float
    low: float
    high: float


def rate_of(flags: Flags, actors: pl.Series) -> Rate | None:
    """The share of flagged rows; of one or two actors anything is possible."""
    if not flags.size:
        return None
    low, high = share_interval(flags, actors.to_numpy().astype(np.str_)) or (0.0, 1.0)
    return Rate(float(flags.mean()), low, high)


def threshold_at(evidence: Floats, bot: Flags, fpr: float) -> float:
    """The lowest evidence at and above which at most the share `fpr` of humans lies; above all of them if need be."""
    humans = np.sort(evidence[~bot])[::-1]
    allowed = int(fpr * humans.size + 1e-9)
    if allowed >= humans.size:
        return float("-inf")
    return float(np.nextafter(humans[allowed], np.inf))


def detectors_in(scores: pl.DataFrame) -> list[str]:
    """The detectors without the baselines, in their order."""
    baselines = {recipe.name for recipe in BASELINES}
    return [name for name in scores["detector"].unique(maintain_order=True).to_list() if name not in baselines]


def thresholds(scores: pl.DataFrame, fpr: float = FPR) -> dict[str, float]:
    """The threshold of each detector that this share of the held-out humans passes."""
    found = {}
    for name in scores["detector"].unique(maintain_order=True):
        rows = scores.filter(detector=name)
        found[name] = threshold_at(rows["evidence"].to_numpy(), rows["bot"].to_numpy(), fpr)
    return found


def flagged(scores: pl.DataFrame, fpr: float = FPR) -> pl.DataFrame:
    """The scores with `flagged`: above the threshold of each detector that this share of the held-out humans passes."""
    bound = pl.col("detector").replace_strict(thresholds(scores, fpr), return_dtype=pl.Float64)
    return scores.with_columns(flagged=pl.col("evidence") >= bound)


def by_family(actors: pl.DataFrame, families: pl.DataFrame) -> pl.DataFrame:
    """One row a detector and bot family: its AUC against all humans, and the share caught at the common threshold.

    `actors` has one row a detector and actor; `families` actor and family.
    """
    marked = flagged(actors).join(families, on="actor", how="left", maintain_order="left")
    rows = []
    for name in detectors_in(actors):
        mine = marked.filter(detector=name)
        humans = mine.filter(~pl.col("bot"))
        for family in mine.filter("bot")["family"].drop_nulls().unique().sort():
            bots = mine.filter("bot", family=family)
            both = pl.concat([bots, humans])
            rate = rate_of(bots["flagged"].to_numpy(), bots["actor"])
            ranked = Ranked(both["evidence"].to_numpy(), both["bot"].to_numpy()).auc()
            rows.append(
                {"detector": name, "family": family, "bots": bots.height, "auc": ranked, **_caught("tpr", rate)}
            )
    return pl.DataFrame(rows, schema=_FAMILIES)


def by_human_group(scores: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """One row a detector and group of people: the share of their periods flagged where one in a hundred of all is.

    `groups` has a style for each actor, or for each of its periods.
    """
    key = [name for name in groups.columns if name != "style"]
    marked = flagged(scores).filter(~pl.col("bot")).join(groups, on=key, how="left", maintain_order="left")
    rows = []
    for name in detectors_in(scores):
        for group in marked["style"].drop_nulls().unique().sort():
            mine = marked.filter(detector=name, style=group)
            rate = rate_of(mine["flagged"].to_numpy(), mine["actor"])
            counts = {"humans": mine["actor"].n_unique(), "periods": mine.height}
            rows.append({"detector": name, "style": group, **counts, **_caught("fpr", rate)})
    return pl.DataFrame(rows, schema=_GROUPS)


def by_farm(actors: pl.DataFrame) -> pl.DataFrame:
    """One row a detector: of how many farms somebody is caught at the common threshold, half of them, or everybody.

    `actors` has one row a detector and actor, with the group that was held out whole. A farm are two bots of one group
    or more.
    """
    members = flagged(actors).filter("bot")
    caught = pl.col("flagged").mean()
    each = (
        members.group_by("detector", "group", maintain_order=True)
        .agg(pl.len().alias("bots"), caught.alias("caught"))
        .filter(pl.col("bots") >= _A_FARM)
    )
    shares = {"somebody": pl.col("caught") > 0, "half": pl.col("caught") >= 1 / 2, "everybody": pl.col("caught") == 1}
    told = each.group_by("detector", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("farms"), **{name: share.mean() for name, share in shares.items()}
    )
    mine = told.filter(pl.col("detector").is_in(detectors_in(actors)))
    return mine.select(pl.col(name).cast(kind) for name, kind in _FARMS.items())


def by_promise(scores: pl.DataFrame) -> pl.DataFrame:
    """One row a detector and promised FPR: the share of held-out people's periods that really were at or below it."""
    rows = []
    humans = scores.filter(~pl.col("bot"), pl.col("fpr").is_not_null())
    for name in detectors_in(scores):
        mine = humans.filter(detector=name)
        for promised in PROMISES:
            rate = rate_of((mine["fpr"] <= promised + 1e-12).to_numpy(), mine["actor"])
            rows.append({"detector": name, "promised": promised, "periods": mine.height, **_caught("realised", rate)})
    return pl.DataFrame(rows, schema=_PROMISED)


def by_probability(scores: pl.DataFrame) -> pl.DataFrame:
    """One row a detector and tenth of the probability: what was said on average, and how many were bots."""
    rows = []
    for name in detectors_in(scores):
        mine = scores.filter(detector=name)
        place = np.minimum((mine["probability"].to_numpy() * BINS).astype(np.int64), BINS - 1)
        for tenth in np.unique(place):
            part = mine.filter(pl.Series(place == tenth))
            rate = rate_of(part["bot"].to_numpy(), part["actor"])
            said = float(part["probability"].to_numpy().mean())
            rows.append({"detector": name, "said": said, "periods": part.height, **_caught("bots", rate)})
    return pl.DataFrame(rows, schema=_RELIABLE)


def time_to_detection(scores: pl.DataFrame) -> pl.DataFrame:
    """One row a detector: the share of bots ever flagged, and the median hours from first play to the flag.

    The threshold is one that at most 1 in 100 people ever passes in any of their periods, so that watching for long
    costs nobody more. Hours are those of the calendar, from the beginning of the first judged period held out.
    """
    rows = []
    for name in scores["detector"].unique(maintain_order=True):
        mine = scores.filter(detector=name).sort("actor", "since")
        highest = mine.group_by("actor", maintain_order=True).agg(pl.col("evidence").max(), pl.col("bot").any())
        bound = threshold_at(highest["evidence"].to_numpy(), highest["bot"].to_numpy(), FPR)
        hours = (pl.col("until") - pl.col("since").min().over("actor")).dt.total_microseconds() / _HOUR
        caught = (
            mine.filter(pl.col("bot").any().over("actor"))
            .with_columns(hours=hours)
            .filter(pl.col("evidence") >= bound)
            .group_by("actor")
            .agg(pl.col("hours").min())
        )
        bots = int(highest["bot"].sum())
        median = caught["hours"].median()
        rows.append(
            {"detector": name, "ever_flagged": caught.height / bots if bots else None, "hours_to_detection": median}
        )
    return pl.DataFrame(
        rows, schema={"detector": pl.String, "ever_flagged": pl.Float64, "hours_to_detection": pl.Float64}
    )


def _caught(name: str, rate: Rate | None) -> dict[str, float | None]:
    known = (None, None, None) if rate is None else (rate.rate, rate.low, rate.high)
    return dict(zip((name, f"{name}_low", f"{name}_high"), known, strict=True))


def _rates(name: str) -> Schema:
    return dict.fromkeys((name, f"{name}_low", f"{name}_high"), pl.Float64)


_FAMILIES: Schema = {"detector": pl.String, "family": pl.String, "bots": pl.Int64, "auc": pl.Float64, **_rates("tpr")}
_FARMS: Schema = {
    "detector": pl.String,
    "farms": pl.Int64,
    **dict.fromkeys(("somebody", "half", "everybody"), pl.Float64),
}
_GROUPS: Schema = {"detector": pl.String, "style": pl.String, "humans": pl.Int64, "periods": pl.Int64, **_rates("fpr")}
_PROMISED: Schema = {"detector": pl.String, "promised": pl.Float64, "periods": pl.Int64, **_rates("realised")}
_RELIABLE: Schema = {"detector": pl.String, "said": pl.Float64, "periods": pl.Int64, **_rates("bots")}
