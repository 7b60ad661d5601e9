"""What every method does when it learns: from whom, who is held out, and what is written down of it."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.contracts import digest, frame_digest
from gamewarden.core.coverage import COVERED
from gamewarden.errors import FitError
from gamewarden.learning.folds import assign_folds, max_folds
from gamewarden.learning.labels import more_labels
from gamewarden.learning.reference import Flags, Floats
from gamewarden.tables import LABELS, check

_LEAST_GROUPS = 2  # one group cannot be held out and learned from


def bots(rows: pl.DataFrame) -> Flags:
    """Which labelled periods are a bot's."""
    return rows["bot"].to_numpy()


def groups(rows: pl.DataFrame) -> NDArray[np.str_]:
    """Who is held out together, a period at a time."""
    return rows["group"].to_numpy().astype(np.str_)


def refuse_too_few(rows: pl.DataFrame, least: int, door: str, left_out: Mapping[str, int]) -> None:
    """Stop before learning from next to nobody.

    Raises:
        FitError: too few labelled actors of a class with a measured period.
    """
    machines, humans = (rows.filter(bot=bot)["actor"].n_unique() for bot in (True, False))
    parts = max_folds(groups(rows), bots(rows), least)
    if min(machines, humans) < least or parts < _LEAST_GROUPS:
        why = "; ".join(f"{reason}: {count}" for reason, count in left_out.items())
        raise FitError(
            f"{door}: {machines} labelled bots and {humans} labelled humans have a measured period; "
            f"needed are {least} of each, in 2 groups at least; {more_labels(left_out, 'label more actors')}"
            + (f" (left out: {why})" if why else "")
        )


def fold_count(rows: pl.DataFrame, folds: int) -> int:
    """As many folds as asked for, or as groups allow."""
    return max_folds(groups(rows), bots(rows), folds)


def out_of_fold(rows: pl.DataFrame, folds: int, seed: int, decide: Callable[[Flags], Floats]) -> Floats:
    """The decision value of each row from a model that never saw its group.

    `decide` learns from the rows outside the mask and answers for those inside.
    """
    fold = assign_folds(groups(rows), bots(rows), fold_count(rows, folds), seed)
    decisions = np.empty(rows.height)
    for part in range(int(fold.max()) + 1):
        decisions[fold == part] = decide(fold == part)
    return decisions


def training_of(rows: pl.DataFrame, left_out: Mapping[str, int]) -> dict[str, Any]:
    """What a model was made from, for its card."""

    def counts(measure: Callable[[pl.DataFrame], int]) -> dict[str, int]:
        return {"bot": measure(rows.filter("bot")), "human": measure(rows.filter(~pl.col("bot")))}

    by_source = rows.group_by("source", "bot").agg(pl.col("actor").n_unique()).sort("source", "bot")
    sources: dict[str, dict[str, int]] = {}
    for source, bot, actors in by_source.iter_rows():
        sources.setdefault(source, {"bot": 0, "human": 0})["bot" if bot else "human"] = actors
    return {
        "since": _written(rows["since"].min()),
        "until": _written(rows["until"].max()),
        "actors": counts(lambda part: part["actor"].n_unique()),
        "periods": counts(lambda part: part.height),
        "sources": sources,
        "left_out": dict(left_out),
        **({COVERED: rows[COVERED].min()} if COVERED in rows.columns else {}),
    }


# All that labels say and a model can depend on.
_SAID = ("actor", "since", "until", "bot", "source", "votes", "group", "at")


def training_digest(
    table: pl.DataFrame, labels: pl.DataFrame, written: Callable[[pl.DataFrame], Iterable[str | bytes]]
) -> str:
    """A digest of all that a model and its card are made from: the labelled actors' rows as `written`, and the labels.

    Raises:
        TableError: the labels lack a column.
    """
    given = check(labels, LABELS, "fit").select(_SAID).unique()
    return digest(*written(table.join(given, on="actor", how="semi")), frame_digest(given))


def _written(moment: object) -> str | None:
    """A time for the card; none where the rows have no times."""
    return moment.isoformat() if isinstance(moment, datetime) else None
