"""From an operator's own table to a model, and to one row's story."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl

from gamewarden.contracts import Feature, Progress, RowStream, Source, no_progress
from gamewarden.errors import ConfigError, ReadError
from gamewarden.evaluation.metrics import auc
from gamewarden.features.account_table.recipe import AccountTable, whole
from gamewarden.learning import folds
from gamewarden.pipeline.fitting import Fitted, detector_recipe, kept
from gamewarden.pipeline.measuring import measured
from gamewarden.streams import WatchedRows
from gamewarden.tables import FrameRows

_BOT = {"bot": True, "true": True, "1": True, "yes": True, "human": False, "false": False, "0": False, "no": False}
# What people write where nobody has looked: neither bot nor human.
_UNLABELLED = ("", "?", "-", "na", "n/a", "none", "null", "unknown", "unlabelled", "unlabeled", "unreviewed", "pending")
_PROBE_FOLDS, _PROBE_BINS = 5, 64
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
    probed = replace(frozen, left_out=_with_probes(rows, frozen, labels))
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


def labels_of_table(
    rows: RowStream, feature: AccountTable, positive: str | None
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """LABELS of the rows somebody has judged, and what has to be said of them."""
    if feature.label is None:
        raise ConfigError(f"fit account-table: {rows.name} needs a label column; name it with --label")
    columns = [feature.actor, feature.label, *((feature.group,) if feature.group else ())]
    frame = whole(rows, list(dict.fromkeys(columns)))
    text = frame[feature.label].cast(pl.String).str.strip_chars()
    silent = text.is_null() | text.str.to_lowercase().is_in(list(_UNLABELLED))
    bot = _verdicts(text, silent, feature.label, positive)
    group = frame[feature.group].cast(pl.String) if feature.group else pl.Series([None] * frame.height, dtype=pl.String)
    labels = pl.DataFrame(
        {"actor": frame[feature.actor].cast(pl.String), "bot": bot, "source": feature.label, "group": group}
    )
    unlabelled = int(silent.sum())
    notes = (f"{unlabelled:,} rows have no label and are neither bot nor human",) if unlabelled else ()
    return labels.filter(~silent).unique(maintain_order=True), notes


def _verdicts(text: pl.Series, silent: pl.Series, label: str, positive: str | None) -> pl.Series:
    values = text.filter(~silent).unique().sort().to_list()
    if positive is None:
        said = text.str.to_lowercase().replace_strict(_BOT, default=None, return_dtype=pl.Boolean)
        if (said.is_null() & ~silent).any():
            raise ConfigError(
                f"fit account-table: {label} holds {_shown(values)}; say with --positive which of them is a bot"
            )
        return said
    if positive not in values:
        raise ConfigError(f"fit account-table: {label} never is {positive!r}; it holds {_shown(values)}")
    return text == positive


def _shown(values: list[str]) -> str:
    return ", ".join(map(repr, values[:6])) + (" …" if len(values) > 6 else "")  # noqa: PLR2004 - as many as fit a line


def _with_probes(rows: RowStream, feature: AccountTable, labels: pl.DataFrame) -> dict[str, str]:
    """Why columns are left out; with an identifier, how well it alone would tell bots from humans."""
    reasons = dict(feature.left_out)
    if not feature.identifiers:
        return reasons
    frame = whole(rows, list(dict.fromkeys((feature.actor, *feature.identifiers))))
    known = frame.with_columns(pl.col(feature.actor).cast(pl.String).alias("probed actor")).join(
        labels, left_on="probed actor", right_on="actor", how="inner", suffix=" of the label"
    )
    for name in feature.identifiers:
        found = _separates(known, name)
        reasons[name] += "" if found is None else f"; alone it separates the labels with an AUC of {found:.2f}"
    return reasons


def _separates(known: pl.DataFrame, name: str) -> float | None:
    """How well a column's order alone tells bots from humans: the share of bots among held-out neighbours."""
    bot = known["bot"].to_numpy()
    groups = known["group"].fill_null(pl.Series(range(known.height)).cast(pl.String)).to_numpy().astype(np.str_)
    parts = folds.max_folds(groups, bot, _PROBE_FOLDS)
    if parts < 2:  # noqa: PLR2004 - one part holds nothing out
        return None
    numbers = known[name].cast(pl.Float64, strict=False)
    order = (known[name] if numbers.null_count() > known[name].null_count() else numbers).rank("dense").fill_null(0)
    place = order.to_numpy().astype(np.float64)
    bins = np.searchsorted(np.quantile(place, np.linspace(0, 1, _PROBE_BINS + 1)[1:-1]), place)
    fold = folds.assign_folds(groups, bot, parts, 0)
    held_out = np.empty(bot.size)
    for part in range(parts):
        rest = fold != part
        seen = np.bincount(bins[rest], minlength=_PROBE_BINS)
        share = (np.bincount(bins[rest], weights=bot[rest], minlength=_PROBE_BINS) + bot[rest].mean()) / (seen + 1)
        held_out[~rest] = share[bins[~rest]]
    return auc(held_out, bot)
