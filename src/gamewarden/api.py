"""gamewarden in a notebook: the commands as functions, on files and on tables in memory.

A function that gives a frame says what stands beside it as a warning (`gamewarden.errors.Remark`); one that gives an
object has it in `.notes`. Settings come from ./warden.toml where there is one, as for the commands.
"""

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from os import PathLike
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, TypeAlias, cast
from weakref import finalize

import polars as pl

from gamewarden import detectors, features, pipeline, readers, requests
from gamewarden.config import load_config, moment_of
from gamewarden.contracts import Card, Source
from gamewarden.core.extras import need
from gamewarden.errors import ConfigError, Remark
from gamewarden.pipeline import RunOptions
from gamewarden.readers import ArrowTable, Locator
from gamewarden.readers.logs.operator_tables import OwnTable
from gamewarden.verdicts.prevalence import Prevalence

Place: TypeAlias = str | PathLike[str]
Data: TypeAlias = Place | ArrowTable | Sequence[Place]  # where it stands, several such places, or the table itself
_OF_A_TABLE = ("actor", "group", "label", "drop", "keep", "positive")


@dataclass(frozen=True)
class Fitted:
    """A model, the directory that holds it, and what has to be said beside it."""

    model: Any = field(repr=False)
    directory: Path
    notes: tuple[str, ...] = field(repr=False)
    _kept: object = field(default=None, repr=False, compare=False)  # a temporary directory lives as long as this

    @property
    def card(self) -> Card:
        """What it is, what it was made from and how good it was."""
        return cast("Card", self.model.card)

    def __str__(self) -> str:
        return pipeline.page_of(self.model, self.directory).markdown()

    def _repr_html_(self) -> str:
        return pipeline.page_of(self.model, self.directory).html(self.notes)


Models: TypeAlias = Place | Fitted | Sequence[Place | Fitted]


@dataclass(frozen=True)
class Ranking:
    """The accounts to look at, highest first, and what has to be said beside them."""

    frame: pl.DataFrame
    notes: tuple[str, ...]
    _ranked: Any = field(repr=False)
    _source: Source = field(repr=False)
    _shelf: "_Shelf" = field(repr=False)

    def html(self) -> str:
        """The list as a page of its own."""
        from gamewarden.presentation.rank_page import rank_page

        return rank_page(self._cards)

    def _repr_html_(self) -> str:
        from gamewarden.presentation.rank_page import rank_fragment

        return rank_fragment(self._cards)

    @cached_property
    def _cards(self) -> Any:  # noqa: ANN401  what the page of a list shows
        """Drawn when it is first shown, since that reads the source once more."""
        return pipeline.rank_cards(self._ranked, self._source, self._shelf.path)


@dataclass(frozen=True)
class Explanation:
    """Why an account scores as it does."""

    story: pipeline.Explanation = field(repr=False)
    actor: str

    @property
    def evidence(self) -> pl.DataFrame:
        """EVIDENCE of the period that scores highest."""
        return self.story.evidence

    @property
    def scores(self) -> pl.DataFrame:
        """SCORES of all its periods."""
        return self.story.scores

    @property
    def windows(self) -> pl.DataFrame:
        """The windows of the period that scores highest, where the detector sees any."""
        return self.story.windows

    @property
    def notes(self) -> tuple[str, ...]:
        """What has to be said beside it."""
        return (*self.story.caveats, self.story.prevalence.sentence)

    @property
    def text(self) -> str:
        """All of it in sentences."""
        from gamewarden.presentation.story import explanation_text

        return explanation_text(self.story)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from gamewarden.presentation.explanation import explanation_fragment

        return explanation_fragment(self.story)


@dataclass(frozen=True)
class Evaluation:
    """How good detectors are on accounts they have not seen."""

    summary: pl.DataFrame
    notes: tuple[str, ...] = field(repr=False)
    _result: Any = field(repr=False)
    _name: str = field(repr=False)

    @property
    def short(self) -> pl.DataFrame:
        """The columns to look at first."""
        return pipeline.evaluation_in_short(self._result)

    def _repr_html_(self) -> str:
        return pipeline.evaluation_html(self._result, self._name, self.notes)


def read(
    source: Data,
    *,
    mapping: Place | None = None,
    time_zone: str | None = None,
    since: datetime | str | None = None,
    until: datetime | str | None = None,
    actors: Collection[str] | None = None,
    to: Place | None = None,
) -> pl.DataFrame:
    """EVENTS of a log or a lake in memory, of [since, until) and these actors; or, with `to`, taken into a lake.

    Raises:
        ReadError: it cannot be read.
        ConfigError: a way of reading it is none.
    """
    held, _ = _opened(source, mapping, time_zone)
    if to is not None:
        if (since, until, actors) != (None, None, None):
            raise ConfigError("read: a lake takes a log whole; leave since, until and actors out, or leave to out")
        return _warned(pipeline.read(held, _path(to, "to")))
    if isinstance(actors, str):
        raise ConfigError(f"read: actors is {actors!r}; give a list of them")
    return _warned(requests.events_of(held.events(_moment(since, "since"), _moment(until, "until"), actors)))


def measure(
    source: Data,
    feature: str = "self-similarity",
    *,
    mapping: Place | None = None,
    time_zone: str | None = None,
    models: Models | None = None,
    **options: Any,  # noqa: ANN401  each feature brings options of its own
) -> pl.DataFrame:
    """FEATURES of a source; with `models` as a model there measures it.

    Raises:
        ReadError: the source cannot be read as what this feature takes.
        ConfigError: there is no such option, or a value that it cannot have.
    """
    _refuse_unknown(f"measure {feature}", options, requests.options_taken(features.load(feature)))
    held, run = _opened(source, mapping, time_zone)
    shelf = None if models is None else _Shelf.of(models)
    return _warned(
        requests.measure_named(
            feature,
            held,
            options,
            load_config(None),
            time_zone=run.time_zone,
            models=None if shelf is None else shelf.path,
        )
    )


def fit(
    detector: str,
    source: Data,
    labels: Place | ArrowTable | None = None,
    *,
    to: Place | None = None,
    mapping: Place | None = None,
    time_zone: str | None = None,
    **options: Any,  # noqa: ANN401  each detector and its feature bring options of their own
) -> Fitted:
    """A detector trained on labelled accounts; without `to` its model is kept as long as the object.

    Labels are not given to `account-table`, whose table has them in a column (`actor=…, label=…`), and may be left out
    where play sessions stand in folders that say what they are.

    Raises:
        FitError: labels or features do not allow a model.
        ConfigError: there is no such option, or a value that it cannot have.
    """
    kept = _Lent() if to is None else None
    place = kept.path if kept is not None else _path(cast("Place", to), "to")
    known = None if labels is None else _own(labels, "labels")
    fitted = _fitted(detector, _Request(source, mapping, time_zone, options), known, place)
    return Fitted(fitted.model, place, fitted.notes, kept)


def score(
    source: Data,
    models: Models,
    *,
    prevalence: float | None = None,
    mapping: Place | None = None,
    time_zone: str | None = None,
) -> pl.DataFrame:
    """SCORES of every account and period by every model that can judge the source.

    Raises:
        ModelError: none can.
    """
    held, run = _opened(source, mapping, time_zone)
    shelf = _Shelf.of(models)
    return _warned(pipeline.score(held, shelf.path, run, prevalence=_prevalence(prevalence)))


def rank(
    source: Data,
    models: Models,
    *,
    probability: float | None = None,
    top: int | None = None,
    detector: str | None = None,
    profiles: Place | ArrowTable | None = None,
    where: Sequence[str] | str = (),
    html: Place | None = None,
    prevalence: float | None = None,
    mapping: Place | None = None,
    time_zone: str | None = None,
) -> Ranking:
    """The accounts to look at, highest first, with reasons; `html` writes the list as a page too.

    Raises:
        ModelError: no model can judge the source.
        ConfigError: a condition cannot be followed.
    """
    held, run = _opened(source, mapping, time_zone)
    shelf = _Shelf.of(models)
    wishes = pipeline.RankOptions.of(
        load_config(None),
        probability=probability,
        top=top,
        detector=detector,
        profiles=None if profiles is None else _own(profiles, "profiles"),
        where=(where,) if isinstance(where, str) else where,
        prevalence=_prevalence(prevalence),
    )
    ranked = pipeline.rank(held, shelf.path, wishes, run)
    found = Ranking(ranked.frame, ranked.notes, ranked, held, shelf)
    if html is not None:
        from gamewarden.core.files import write_text

        write_text(_path(html, "html"), found.html())
    return found


def explain(
    actor: str,
    source: Data,
    models: Models,
    detector: str | None = None,
    *,
    prevalence: float | None = None,
    mapping: Place | None = None,
    time_zone: str | None = None,
) -> Explanation:
    """Why an account scores as it does: evidence, sentences, windows.

    Raises:
        ReadError: the source has nothing of this actor.
    """
    held, run = _opened(source, mapping, time_zone)
    shelf = _Shelf.of(models)
    story = pipeline.explain(actor, held, shelf.path, detector, run=run, prevalence=_prevalence(prevalence))
    return Explanation(story, actor)


def evaluate(
    source: Data,
    labels: Place | ArrowTable,
    detectors: Sequence[str] | str = (),
    *,
    splits: Sequence[str] | str = (),
    folds: int | None = None,
    group: str | None = None,
    prevalence: float | None = None,
    mapping: Place | None = None,
    time_zone: str | None = None,
    **options: Any,  # noqa: ANN401  each feature brings options of its own
) -> Evaluation:
    """How good detectors are on accounts they have not seen, under the splits asked for.

    Raises:
        ConfigError: there is no such detector, split or option.
        FitError: labels or features do not allow it.
    """
    need("evaluate", "sklearn", "scipy")
    config = load_config(None)
    held, run = _opened(source, mapping, time_zone)
    named, parts = (((one,) if isinstance(one, str) else tuple(one)) for one in (detectors, splits))
    rules = pipeline.Protocol.of(
        config, group=group, folds=folds, splits=parts, prevalence=Prevalence.of(config, prevalence)
    )
    feature, tried = requests.evaluation_named(named, rules, options, config, run.time_zone)
    found = pipeline.evaluate(feature, held, _own(labels, "labels"), rules, tried=tried, run=run)
    return Evaluation(found.result.summary, found.notes, found.result, held.name if held.nameable else "")


@dataclass(frozen=True)
class _Shelf:
    """The directory of models that somebody means, and what keeps it there."""

    path: Path
    _kept: object = None

    @classmethod
    def of(cls, models: Models) -> "_Shelf":
        """One directory or fitted model as it is; of several the models in force, gathered in one directory."""
        if isinstance(models, Fitted):
            return cls(models.directory, models)
        if isinstance(models, str | PathLike):
            return cls(_path(models, "models"))
        if not isinstance(models, Sequence) or not models:
            raise ConfigError(f"models: {models!r} is no directory; give one, what fit returned, or a list of these")
        shelves = [cls.of(one) for one in models]
        if len(shelves) == 1:
            return shelves[0]
        lent = _Lent()
        return cls(requests.gather_models([one.path for one in shelves], lent.path), lent)


class _Lent:
    """A directory that is there as long as somebody holds this."""

    def __init__(self) -> None:
        self.path = Path(mkdtemp(prefix="gamewarden-"))
        finalize(self, rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True)
class _Request:
    """What shall be learned from, and how."""

    source: Data
    mapping: Place | None
    time_zone: str | None
    options: Mapping[str, Any]


def _fitted(name: str, asked: _Request, labels: OwnTable | None, to: Path) -> pipeline.Fitted:
    config, kind = load_config(None), pipeline.input_of(name)
    if kind == "scores":
        raise ConfigError(f"fit {name}: learns from other models; use the command `gamewarden fit {name}`")
    recipes = (detectors.load(name), pipeline.feature_class_of(name))
    columns = _OF_A_TABLE if kind == "table" else ()
    _refuse_unknown(f"fit {name}", asked.options, (*columns, *requests.options_taken(*recipes)))
    if kind == "packets":
        return _fitted_traces(name, asked, _needed(name, labels), to)
    held, run = _opened(asked.source, asked.mapping, asked.time_zone)
    if kind == "table":
        return pipeline.fit_table(requests.table_named(name, _of_table(name, asked, labels), config), held, to)
    recipe = requests.recipe_named(name, asked.options, config, run.time_zone)
    if kind == "messages":
        return pipeline.fit_sessions(recipe, held, labels, to, run=run).fitted
    return pipeline.fit(recipe, held, _needed(name, labels), to, run=run)


def _fitted_traces(name: str, asked: _Request, labels: OwnTable, to: Path) -> pipeline.Fitted:
    """Every trace is a source of its own."""
    several = isinstance(asked.source, Sequence) and not isinstance(asked.source, str)
    traces = cast("Sequence[Data]", asked.source) if several else [asked.source]
    opened = [_opened(trace, asked.mapping, asked.time_zone) for trace in traces]
    recipe = requests.recipe_named(name, asked.options, load_config(None))
    return pipeline.fit_traces(recipe, [held for held, _ in opened], labels, to, run=opened[0][1])


def _of_table(name: str, asked: _Request, labels: OwnTable | None) -> Mapping[str, Any]:
    if labels is not None or not {"actor", "label"} <= asked.options.keys():
        raise ConfigError(f"fit {name}: its table has the labels; leave labels out and name actor=… and label=…")
    return {key: (value,) if key in ("drop", "keep") and isinstance(value, str) else value
            for key, value in asked.options.items()}  # fmt: skip


def _needed(name: str, labels: OwnTable | None) -> OwnTable:
    if labels is None:
        raise ConfigError(f"fit {name}: needs labels; give a file or a table with actor and bot")
    return labels


def _opened(source: Data, mapping: Place | None, time_zone: str | None) -> tuple[Source, RunOptions]:
    """What somebody has as a source, and what a run on it goes by."""
    config = load_config(None)
    reading = requests.reading_of(config, None if mapping is None else str(mapping), time_zone)
    return readers.open(_locator(source), reading), requests.run_of(config, reading)


def _locator(source: Data) -> Locator:
    if hasattr(source, "__arrow_c_stream__"):
        return cast("ArrowTable", source)
    if isinstance(source, str | PathLike):
        return Path(source)
    if isinstance(source, Sequence) and source and all(isinstance(one, str | PathLike) for one in source):
        return [Path(one) for one in source]
    raise ConfigError(
        f"source: {type(source).__name__} is nothing to read; give a path, several, or a table of Polars, pandas or "
        "Arrow"
    )


def _own(table: Place | ArrowTable, what: str) -> OwnTable:
    if isinstance(table, str | PathLike):
        return Path(table)
    if not hasattr(table, "__arrow_c_stream__"):
        raise ConfigError(f"{what}: {type(table).__name__} is no table; give a path, or one of Polars, pandas or Arrow")
    return table


def _path(place: Place, what: str) -> Path:
    if not isinstance(place, str | PathLike):
        raise ConfigError(f"{what}: {place!r} is no path")
    return Path(place)


def _moment(at: datetime | str | None, what: str) -> datetime | None:
    if at is None:
        return None
    try:
        return moment_of(at.isoformat() if isinstance(at, datetime) else at)
    except (ValueError, OverflowError, TypeError, AttributeError) as error:
        raise ConfigError(f"{what}: {at!r} is not ISO 8601; write for example 2026-03-01T12:00:00Z") from error


def _prevalence(share: float | None) -> Prevalence:
    return Prevalence.of(load_config(None), share)


def _refuse_unknown(who: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
    if others := [name for name in given if name not in known]:
        raise ConfigError(f"{who}: there is no option {', '.join(others)}; it takes {', '.join(known) or 'none'}")


def _warned(table: pipeline.Table) -> pl.DataFrame:
    """A frame, once its notes are said."""
    for line in table.notes:
        warnings.warn(line, Remark, stacklevel=3)
    return table.frame
