"""What a new model learns from and on whom it is tried: the newest periods, and actors that no retraining ever sees."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from gamewarden.contracts import digest
from gamewarden.drift.correlation import by_actor
from gamewarden.drift.effects import cliffs_delta
from gamewarden.drift.validation import Comparison
from gamewarden.learning.label_sources import agreed_on

LEAST_PERIODS, MOST_PERIODS = 4, 8
LEAST_ACTORS = 50  # labelled, of each class
HELD_OUT = 0.3  # of labelled actors
_PARTS = 1 << 16


@dataclass(frozen=True)
class RetrainingRules:
    """How far back a new model learns, and from how many."""

    least_periods: int = LEAST_PERIODS
    most_periods: int = MOST_PERIODS
    least_actors: int = LEAST_ACTORS
    held_out: float = HELD_OUT


@dataclass(frozen=True)
class Window:
    """The newest periods that hold enough labelled actors, or why there are none such."""

    periods: int
    bots: int
    humans: int
    why_not: str | None = None


def window(actors: Sequence[Iterable[str]], labels: pl.DataFrame, rules: RetrainingRules) -> Window:
    """The shortest window with enough labelled actors of both classes; `actors` by period, the newest first."""
    found = Window(len(actors), 0, 0, f"{len(actors)} periods were scored and {rules.least_periods} are needed")
    for periods in range(rules.least_periods, min(len(actors), rules.most_periods) + 1):
        there = {actor for one in actors[:periods] for actor in one}
        known = labels.filter(pl.col("actor").is_in(list(there))).unique("actor")
        bots = int(known["bot"].sum())
        found = Window(periods, bots, known.height - bots)
        if min(found.bots, found.humans) >= rules.least_actors:
            return found
        why = f"the last {periods} periods hold {found.bots:,} labelled bots and {found.humans:,} humans"
        found = Window(periods, bots, found.humans, f"{why}; {rules.least_actors:,} of each are needed")
    return found


def is_held_out(group: str, share: float = HELD_OUT) -> bool:
    """Whether an actor, or the group it belongs to, is kept for trying models on: by its name, so always the same."""
    return int(digest("held out", group)[:4], 16) < share * _PARTS


def split(labels: pl.DataFrame, share: float = HELD_OUT) -> tuple[pl.DataFrame, pl.DataFrame]:
    """LABELS to learn from, and those to try on."""
    group = pl.coalesce("group", "actor") if "group" in labels.columns else pl.col("actor")
    held = labels.select(held=group.map_elements(lambda name: is_held_out(name, share), return_dtype=pl.Boolean))
    return labels.filter(~held["held"]), labels.filter(held["held"])


def compare(
    new: pl.DataFrame,
    old: pl.DataFrame,
    labels: pl.DataFrame,
    everybody: tuple[pl.DataFrame, pl.DataFrame | None, pl.DataFrame | None],
    flag: float,
) -> Comparison:
    """SCORES of held-out actors under both models side by side.

    `everybody` are the scores of the period under the new and the old model (none where the old one's are not to be
    trusted), and of the latest period in control under the old one. Only periods that both models judge count, so that
    neither gains by being unsure.
    """
    key = ["actor", "since"]
    judged = new.drop_nulls("probability").join(old.drop_nulls("probability"), on=key, suffix="_old")
    rows = judged.join(labels.select("actor", "bot").unique("actor"), on="actor")
    bots, humans = rows.filter("bot"), rows.filter(~pl.col("bot"))
    shares = [None if scores is None else flagged_share(scores, flag) for scores in everybody]
    return Comparison(
        new_auc=_auc(bots, humans, "probability"),
        old_auc=_auc(bots, humans, "probability_old"),
        new_share=shares[0] or 0.0,
        old_share=shares[1],
        old_share_in_control=shares[2],
        bots=bots.height,
        humans=humans.height,
    )


def flagged_share(scores: pl.DataFrame, flag: float) -> float:
    """The share of judged actors whose mean probability reaches `flag`."""
    actors = by_actor(scores)
    return float((actors["probability"] >= flag).sum()) / max(actors.height, 1)


def _auc(bots: pl.DataFrame, humans: pl.DataFrame, column: str) -> float | None:
    if not bots.height or not humans.height:
        return None
    return (1 + cliffs_delta(humans[column].to_numpy(), bots[column].to_numpy())) / 2


def called_human(labels: pl.DataFrame) -> frozenset[str]:
    """Actors whom some label calls human, and none a bot; only labels that reviewers agree on count."""
    humans = agreed_on(labels).group_by("actor").agg(pl.col("bot").any()).filter(~pl.col("bot"))
    return frozenset(humans["actor"])
