"""A detector trained from a notebook: by what its feature is measured from, as the commands of `fit` are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from gamewarden import detectors, pipeline, requests
from gamewarden.api.arguments import Data, Place, opened, refuse_unknown
from gamewarden.config import load_config
from gamewarden.errors import ConfigError
from gamewarden.readers.logs.operator_tables import OwnTable

_OF_A_TABLE = ("actor", "group", "label", "drop", "keep", "positive")


@dataclass(frozen=True)
class Request:
    """What shall be learned from, and how."""

    source: Data
    mapping: Place | None
    time_zone: str | None
    options: Mapping[str, Any]


def fitted(name: str, asked: Request, labels: OwnTable | None, to: Path) -> pipeline.Fitted:
    """The model of this detector, kept."""
    config, kind = load_config(None), pipeline.input_of(name)
    if kind == "scores":
        raise ConfigError(f"fit {name}: learns from other models; use the command `gamewarden fit {name}`")
    recipes = (detectors.load(name), pipeline.feature_class_of(name))
    columns = _OF_A_TABLE if kind == "table" else ()
    refuse_unknown(f"fit {name}", asked.options, (*columns, *requests.options_taken(*recipes)))
    if kind == "packets":
        return _fitted_traces(name, asked, _needed(name, labels), to)
    held, run = opened(asked.source, asked.mapping, asked.time_zone)
    if kind == "table":
        return pipeline.fit_table(requests.table_named(name, _of_table(name, asked, labels), config), held, to)
    recipe = requests.recipe_named(name, asked.options, config, run.time_zone)
    if kind == "messages":
        return pipeline.fit_sessions(recipe, held, labels, to, run=run).fitted
    return pipeline.fit(recipe, held, _needed(name, labels), to, run=run)


def _fitted_traces(name: str, asked: Request, labels: OwnTable, to: Path) -> pipeline.Fitted:
    """Every trace is a source of its own."""
    several = isinstance(asked.source, Sequence) and not isinstance(asked.source, str)
    traces = cast("Sequence[Data]", asked.source) if several else [asked.source]
    found = [opened(trace, asked.mapping, asked.time_zone) for trace in traces]
    recipe = requests.recipe_named(name, asked.options, load_config(None))
    return pipeline.fit_traces(recipe, [held for held, _ in found], labels, to, run=found[0][1])


def _of_table(name: str, asked: Request, labels: OwnTable | None) -> Mapping[str, Any]:
    if labels is not None or not {"actor", "label"} <= asked.options.keys():
        raise ConfigError(f"fit {name}: its table has the labels; leave labels out and name actor=… and label=…")
    return {key: (value,) if key in ("drop", "keep") and isinstance(value, str) else value
            for key, value in asked.options.items()}  # fmt: skip


def _needed(name: str, labels: OwnTable | None) -> OwnTable:
    if labels is None:
        raise ConfigError(f"fit {name}: needs labels; give a file or a table with actor and bot")
    return labels
