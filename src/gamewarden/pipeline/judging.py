"""From a source and a shelf of models to one verdict an actor and period, with all it rests on."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from gamewarden.contracts import Model


@dataclass(frozen=True)
class Judgement:
    """The verdicts of one run, and what they rest on."""

    verdicts: pl.DataFrame  # VERDICTS: one row an actor and period
    scores: pl.DataFrame  # SCORES of every model and row
    features: Mapping[str, pl.DataFrame]  # the FEATURES each model scored, by the model's id
    evidence: pl.DataFrame  # EVIDENCE of the scores behind verdicts that reach an operating point
    models: tuple[Model, ...]
    remarks: tuple[str, ...] = ()
