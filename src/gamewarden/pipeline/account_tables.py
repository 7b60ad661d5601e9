"""From an operator's own table to a model, and to one row's story."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import polars as pl

from gamewarden.contracts import Feature, Progress, Source, no_progress
from gamewarden.errors import ReadError
from gamewarden.evaluation.separation import separates
from gamewarden.features.account_table.labels import labels_of_table, with_probes
from gamewarden.features.account_table.recipe import AccountTable, whole
from gamewarden.pipeline.fitting import Fitted, detector_recipe, kept
from gamewarden.pipeline.measuring import measured
from gamewarden.streams import WatchedRows
from gamewarden.tables import FrameRows

_NO_GROUP = "every row counts as a person of its own; where people have several rows, name their account with --group"


@dataclass(frozen=True)
class Asked:
    """What a fit on a table is told about it."""

    feature: AccountTable
    positive: str | None  # the value of the label column that means bot
    options: Mapping[str, Any]  # of the detector


def fit_table(asked: Asked, source: Source, to: Path, *, progress: Progress = no_progress) -> Fitted:
    """Learn from a table that has its labels in it, and keep the model.

    Raises:
        ConfigError: no label column is named, or its values do not say which of them is a bot.
        MeasureError: a column is missing, or an actor has two rows that differ.
        FitError: too few labelled actors of a class.
    """
    rows = WatchedRows(source.rows(), progress)
    frozen = asked.feature.learn(rows)
    labels, notes = labels_of_table(rows, frozen, asked.positive)
    probed = replace(frozen, left_out=with_probes(rows, frozen, labels, separates))
    feature = cast("Feature", probed)
    told = measured(feature, rows)
    model = detector_recipe("account-table", feature, asked.options).fit(told.frame, labels)
    left_out = tuple(f"{name} is left out: {why}" for name, why in probed.left_out.items())
    alone = () if probed.group else (_NO_GROUP,)
    return kept(model, to, (*alone, *left_out, *told.notes, *notes, model.price))


def row_of(actor: str, source: Source, feature: AccountTable, progress: Progress) -> pl.DataFrame:
    """FEATURES of one actor of a table.

    Raises:
        ReadError: the table has no row of this actor.
    """
    rows = WatchedRows(source.rows(), progress)
    mine = whole(rows, rows.columns).filter(pl.col(feature.actor).cast(pl.String) == actor)
    if not mine.height:
        raise ReadError(f"{source.name}: has no row whose {feature.actor} is {actor!r}")
    return feature.measure(FrameRows(mine, source.name))
