"""Learning how much each detector counts, from actors that none of them had seen."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from gamewarden import detectors
from gamewarden.config import Config
from gamewarden.contracts import Model, Progress, Source, no_progress
from gamewarden.detectors.fusion.model import FusionModel
from gamewarden.detectors.fusion.recipe import Fusion
from gamewarden.detectors.fusion.scores import Scores
from gamewarden.errors import FitError
from gamewarden.learning import folds
from gamewarden.learning.labels import label_periods
from gamewarden.learning.styles import Styles
from gamewarden.pipeline.fitting import Fitted, kept
from gamewarden.pipeline.judging import infos_of
from gamewarden.pipeline.measuring import feature_of
from gamewarden.pipeline.meeting import only_whole
from gamewarden.pipeline.scoring import hear, load_models, models_for
from gamewarden.pipeline.sources import USUAL, RunOptions
from gamewarden.readers.logs.operator_tables import OwnTable, read_labels
from gamewarden.spans import parse_span
from gamewarden.verdicts.periods import Clock, played, roll_up, side_by_side

_LEAST_MODELS = 2  # one voice needs no fusing


def styles_of(config: Config) -> Styles:
    """The borders between styles that the settings name."""
    given = config.styles
    return Styles(given.hardcore_hours, given.grinder_kills, given.newbie_level, given.borders == "learned")


def fit_fusion(
    source: Source,
    labels: OwnTable,
    models: Path,
    to: Path,
    *,
    fusion: Fusion,
    config: Config,
    every: int | None,
    run: RunOptions = USUAL,
    progress: Progress = no_progress,
) -> Fitted:
    """Learn how much each model in force counts, and keep the fusion.

    Each detector's recipe is fitted anew without a part of the actors, whom it then scores, so that the fusion learns
    from answers on strangers even where the models themselves knew these actors.

    Raises:
        FitError: there are fewer than two models, or too few labelled actors.
    """
    told = read_labels(labels, run.time_zone)
    found = models_for(load_models(models), source, models)
    if len(found) < _LEAST_MODELS:
        raise FitError(f"fit fusion: {models} has {len(found)} model for {source.name}; fit a second detector first")
    heard = hear(found, source, run, progress)
    if len(heard.models) < _LEAST_MODELS:
        raise FitError(
            f"fit fusion: {models} has {len(heard.models)} model that can judge {source.name}; fit a second one"
        )
    measured = {name: only_whole(seen, run.limits) for name, seen in heard.shown.items()}
    cut = Clock(every or parse_span(config.measure.every), run.time_zone or "UTC")
    features = {name: seen.frame for name, seen in measured.items()}
    model = fuse(heard.models, features, told.frame, fusion=fusion, cut=cut, discount=config.chunks.discount)
    notes = dict.fromkeys(line for seen in measured.values() for line in seen.notes)
    return kept(model, to, (*notes, *heard.caveats, *told.notes))


def fuse(
    models: Sequence[Model],
    features: dict[str, pl.DataFrame],
    labels: pl.DataFrame,
    *,
    fusion: Fusion,
    cut: Clock,
    discount: float,
) -> FusionModel:
    """The fusion of these models, from what their recipes say of actors they had not seen."""
    scores = pl.concat([_strangers_scores(model, features[model.card.id], labels, fusion) for model in models])
    infos = infos_of(models)
    table = side_by_side(roll_up(scores, infos, cut, discount), played(features.values(), fusion.styles, cut))
    heard = {name: info for name, info in infos.items() if name in table.columns}
    return replace(fusion, feature=Scores(heard, cut.every, cut.time_zone, discount)).fit(table, labels)


def _strangers_scores(model: Model, features: pl.DataFrame, labels: pl.DataFrame, fusion: Fusion) -> pl.DataFrame:
    """SCORES of every labelled actor by the model's recipe, fitted without it, under the model's own name."""
    recipe = detectors.load(model.card.detector).from_dict(model.card.recipe, feature_of(model.feature))
    actors = (
        label_periods(features, labels, "fit fusion")
        .rows.group_by("actor")
        .agg(pl.col("bot").max(), pl.col("group").first())
        .sort("actor")
    )
    bot = actors["bot"].to_numpy()
    groups = actors["group"].to_numpy().astype(np.str_)
    fold = folds.assign_folds(groups, bot, folds.max_folds(groups, bot, fusion.folds), fusion.seed)
    parts = []
    for part in range(int(fold.max()) + 1):
        out = actors.filter(pl.Series(fold == part))["actor"].implode()
        learned = recipe.fit(features.filter(~pl.col("actor").is_in(out)), labels.filter(~pl.col("actor").is_in(out)))
        parts.append(learned.score(features.filter(pl.col("actor").is_in(out))))
    return pl.concat(parts).with_columns(model=pl.lit(model.card.id))
