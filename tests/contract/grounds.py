"""What a detector learns from in the contract tests: the rows of its feature, made up where nobody knows better."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from gamewarden import detectors, features
from gamewarden.detectors.fusion.scores import Scores
from gamewarden.features.account_table.recipe import AccountTable
from gamewarden.features.session.recipe import Sessions
from gamewarden.learning.model_info import ModelInfo
from gamewarden.tables import TIME, FrameRows
from made_up import CHUNKS, DAY, START, GivenNumbers, account_days, action_chunks, actor_names, labels_of
from sessions_made_up import session_rows
from tables_made_up import account_table

BOTS, HUMANS = 12, 14
# A network need not be finished, nor a wood be full-grown, to keep its promises.
QUICK: Mapping[str, Mapping[str, Any]] = {
    "session-network": {"epochs": 60},
    "account-table": {"rounds": 12, "runs": 1},
    "fusion": {"least": 8},
}


@dataclass(frozen=True)
class Ground:
    """A feature's recipe, rows of it with too little play to judge in some, labels, and which rows those are."""

    feature: Any
    table: pl.DataFrame
    labels: pl.DataFrame
    unmeasured: Callable[[Any], pl.Series]  # by recipe


def ground_of(detector: str) -> Ground:
    """What this detector learns from."""
    return _ground(detectors.feature_of(detector))


def recipe_of(detector: str, **options: Any) -> Any:
    """The detector's recipe on its ground, quick enough for a test."""
    return detectors.load(detector)(feature=ground_of(detector).feature, **{**QUICK.get(detector, {}), **options})


@cache
def _ground(feature: str) -> Ground:
    return KNOWN[feature]() if feature in KNOWN else made_up(features.load(feature)())


def made_up(feature: Any) -> Ground:
    """Rows from nothing but the names and types of a feature's columns: bots have more of everything, with overlap."""
    draw = np.random.default_rng(5)
    actors = [actor for actor in actor_names(BOTS, HUMANS) for _ in range(3)]
    bot = np.array([actor.startswith("bot") for actor in actors])
    since = pl.Series([START + DAY * (at % 3) for at in range(len(actors))]).cast(TIME)
    columns = {name: _column(kind, bot, draw) for name, kind in types_of(feature).items()}
    holes = pl.Series(draw.random(len(actors)) < 0.1)
    rows = pl.DataFrame({"actor": actors, "since": since, "until": since + DAY, "events": 50, **columns})
    table = rows.with_columns(pl.when(~holes).then(pl.col(name)).alias(name) for name in columns)
    return Ground(feature, table, labels_of(BOTS, HUMANS), lambda recipe: _none_of(table, _measured(table, recipe)))


def _measured(table: pl.DataFrame, recipe: Any) -> tuple[str, ...]:
    """The columns that a recipe looks at and a feature measures."""
    return tuple(name for name in recipe.columns if name in table.columns)


def types_of(feature: Any) -> dict[str, Any]:
    """The types of a feature's columns; numbers where it names its columns alone."""
    schema = getattr(feature, "schema", None)
    return dict(schema) if schema else dict.fromkeys(feature.names, pl.Float64)


def _column(kind: Any, bot: np.ndarray, draw: np.random.Generator) -> pl.Series:
    values = np.exp(draw.normal(np.where(bot, 4.0, 3.0), 0.7))
    if kind in (pl.String, pl.Categorical):
        return pl.Series([f"v{int(value) % 5}" for value in values])
    return pl.Series(values > np.median(values)) if kind == pl.Boolean else pl.Series(values).cast(kind)


def _none_of(table: pl.DataFrame, columns: tuple[str, ...]) -> pl.Series:
    return table.select(pl.all_horizontal(pl.col(columns).is_null())).to_series()


def _holes(rows: pl.DataFrame) -> np.ndarray:
    return np.random.default_rng(3).random(rows.height) < 0.1


def _days() -> Ground:
    rows = account_days(BOTS, HUMANS, days=2)
    holes = _holes(rows)
    table = rows.with_columns(
        pl.when(pl.Series(holes)).then(None).otherwise(pl.col("self_sim")).alias("self_sim"),
        pl.when(pl.Series(holes[::-1])).then(None).otherwise(pl.col("retrieve_count")).alias("retrieve_count"),
    )
    return Ground(GivenNumbers(), table, labels_of(BOTS, HUMANS), lambda _: table["self_sim"].is_null())


def _chunks() -> Ground:
    rows = action_chunks(hours=1.0)
    table = rows.with_columns(events=pl.when(pl.Series(_holes(rows))).then(1).otherwise(pl.col("events")))
    return Ground(CHUNKS, table, labels_of(BOTS, HUMANS), lambda recipe: table["events"] < recipe.enough)


def _sessions() -> Ground:
    rows = session_rows(bots=BOTS, humans=HUMANS, each=2)
    short = _holes(rows)
    table = rows.with_columns(valid=~pl.Series(short), enough=~pl.Series(short[::-1]))

    def unmeasured(recipe: Any) -> pl.Series:
        return ~table["valid"] | ~(table["enough"] | recipe.as_published)

    return Ground(Sessions(), table, labels_of(BOTS, HUMANS), unmeasured)


def _accounts() -> Ground:
    source = FrameRows(account_table(40, 50))
    feature = AccountTable(group="account", label="verdict", drop=("character",)).learn(source)
    rows = feature.measure(source)
    telling = [name for name in feature.names[:-1] if name != "Max_level"]  # bots and humans are of all levels
    thin = pl.Series(_holes(rows))
    table = rows.with_columns(pl.when(thin).then(None).otherwise(pl.col(name)).alias(name) for name in telling)
    return Ground(feature, table, labels_of(40, 50), lambda _: _none_of(table, tuple(telling)))


def _scores() -> Ground:
    models = {"day@1": ModelInfo("day", "self-similarity", 0.5), "chunk@1": ModelInfo("chunk", "actions", 0.5)}
    feature = Scores(models)
    rows = made_up(feature).table
    odds = rows.with_columns((pl.col(name).log() - 3.5).alias(name) for name in models)
    table = odds.with_columns(pl.when(pl.int_range(pl.len()) % 5 > 0).then(pl.col("chunk@1")).alias("chunk@1"))
    return Ground(feature, table, labels_of(BOTS, HUMANS), lambda _: _none_of(table, feature.names))


KNOWN: Mapping[str, Callable[[], Ground]] = {
    "self-similarity": _days,
    "actions": _chunks,
    "session": _sessions,
    "account-table": _accounts,
    "scores": _scores,
}
