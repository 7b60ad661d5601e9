"""gamewarden in a notebook: the commands as functions, on files and on tables in memory.

A function that gives a frame says what stands beside it as a warning (`gamewarden.errors.Remark`); one that gives an
object has it in `.notes`. Settings come from ./warden.toml where there is one, as for the commands.
"""

import warnings
from collections.abc import Collection, Sequence
from typing import Any, cast

import polars as pl

from gamewarden import features, pipeline, requests
from gamewarden.api import fitting
from gamewarden.api.arguments import (
    Data,
    Length,
    Moment,
    Place,
    moment,
    number,
    opened,
    own,
    path,
    refuse_unknown,
    texts,
    whole,
)
from gamewarden.api.arguments import prevalence as supposed
from gamewarden.api.objects import Evaluation, Explanation, Fitted, Lent, Models, Ranking, Shelf
from gamewarden.config import load_config
from gamewarden.core.extras import need
from gamewarden.errors import ConfigError, Remark
from gamewarden.readers import ArrowTable

__all__ = [
    "Evaluation",
    "Explanation",
    "Fitted",
    "Ranking",
    "evaluate",
    "explain",
    "fit",
    "look",
    "measure",
    "rank",
    "read",
    "score",
]


def read(
    source: Data,
    *,
    mapping: Place | None = None,
    time_zone: str | None = None,
    since: Moment = None,
    until: Moment = None,
    actors: Collection[str] | None = None,
    to: Place | None = None,
) -> pl.DataFrame:
    """EVENTS of a log or a lake in memory, of [since, until) and these actors; or, with `to`, taken into a lake.

    Raises:
        ReadError: it cannot be read.
        ConfigError: a way of reading it is none.
    """
    held, run = opened(source, mapping, time_zone)
    if to is not None:
        if (since, until, actors) != (None, None, None):
            raise ConfigError("read: a lake takes a log whole; leave since, until and actors out, or leave to out")
        return _warned(pipeline.read(held, path(to, "to")))
    some = None if actors is None else texts(actors, "actors")
    begin, end = moment(since, "since", run.time_zone), moment(until, "until", run.time_zone)
    return _warned(requests.events_of(held.events(begin, end, some)))


def measure(
    source: Data,
    feature: str = "self-similarity",
    *,
    mapping: Place | None = None,
    time_zone: str | None = None,
    since: Moment = None,
    until: Moment = None,
    last: Length = None,
    models: Models | None = None,
    **options: Any,  # noqa: ANN401  each feature brings options of its own
) -> pl.DataFrame:
    """FEATURES of a source; with `models` as a model there measures it.

    Raises:
        ReadError: the source cannot be read as what this feature takes.
        ConfigError: there is no such option, or a value that it cannot have.
    """
    refuse_unknown(f"measure {feature}", options, requests.options_taken(features.load(feature)))
    held, run = opened(source, mapping, time_zone, (since, until, last))
    shelf = None if models is None else Shelf.of(models)
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


def look(
    source: Data,
    *,
    actor: str | None = None,
    top: int | None = None,
    profiles: Place | ArrowTable | None = None,
    where: Sequence[str] | str = (),
    without: Sequence[str] | str = (),
    mapping: Place | None = None,
    time_zone: str | None = None,
    since: Moment = None,
    until: Moment = None,
    last: Length = None,
) -> pl.DataFrame:
    """Who looks odd before anybody has said who is a bot, the oddest first, with `as_odd` and reasons.

    `as_odd` is the share of all players who look at least as odd: neither a probability nor a false-positive rate. Of
    an operator's own table `actor` names the column of who a row is about.

    Raises:
        FitError: there are too few accounts to say who is odd among them.
        ConfigError: a condition cannot be followed.
    """
    from gamewarden.pipeline.first_look import LookOptions, first_look, list_odd

    held, run = opened(source, mapping, time_zone, (since, until, last))
    wishes = pipeline.RankOptions.of(
        load_config(None),
        top=whole(top, "top", 0),
        profiles=None if profiles is None else own(profiles, "profiles"),
        where=texts(where, "where"),
    )
    asked = LookOptions(actor, tuple(texts(without, "without")))
    return _warned(list_odd(first_look(held, wishes, asked, run), wishes, run))


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
    kept = Lent() if to is None else None
    place = kept.path if kept is not None else path(cast("Place", to), "to")
    known = None if labels is None else own(labels, "labels")
    fitted = fitting.fitted(detector, fitting.Request(source, mapping, time_zone, options), known, place)
    return Fitted(fitted.model, place, fitted.notes, kept)


def score(
    source: Data,
    models: Models,
    *,
    prevalence: float | None = None,
    mapping: Place | None = None,
    time_zone: str | None = None,
    since: Moment = None,
    until: Moment = None,
    last: Length = None,
) -> pl.DataFrame:
    """SCORES of every account and period by every model that can judge the source.

    Raises:
        ModelError: none can.
    """
    held, run = opened(source, mapping, time_zone, (since, until, last))
    shelf = Shelf.of(models)
    return _warned(pipeline.score(held, shelf.path, run, prevalence=supposed(prevalence)))


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
    since: Moment = None,
    until: Moment = None,
    last: Length = None,
) -> Ranking:
    """The accounts to look at, highest first, with reasons; `html` writes the list as a page too.

    Raises:
        ModelError: no model can judge the source.
        ConfigError: a condition cannot be followed.
    """
    held, run = opened(source, mapping, time_zone, (since, until, last))
    shelf = Shelf.of(models)
    wishes = pipeline.RankOptions.of(
        load_config(None),
        probability=number(probability, "probability"),
        top=whole(top, "top", 0),
        detector=detector,
        profiles=None if profiles is None else own(profiles, "profiles"),
        where=texts(where, "where"),
        prevalence=supposed(prevalence),
    )
    ranked = pipeline.rank(held, shelf.path, wishes, run)
    found = Ranking(ranked.frame, ranked.notes, ranked, held, shelf)
    if html is not None:
        from gamewarden.core.files import write_text

        write_text(path(html, "html"), found.html())
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
    since: Moment = None,
    until: Moment = None,
    last: Length = None,
) -> Explanation:
    """Why an account scores as it does: evidence, sentences, windows.

    Raises:
        ReadError: the source has nothing of this actor.
    """
    held, run = opened(source, mapping, time_zone, (since, until, last))
    shelf = Shelf.of(models)
    if not isinstance(actor, str):
        raise ConfigError(f"explain: actor is {actor!r}; actors are text")
    story = pipeline.explain(actor, held, shelf.path, detector, run=run, prevalence=supposed(prevalence))
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
    since: Moment = None,
    until: Moment = None,
    last: Length = None,
    **options: Any,  # noqa: ANN401  each feature brings options of its own
) -> Evaluation:
    """How good detectors are on accounts they have not seen, under the splits asked for.

    Raises:
        ConfigError: there is no such detector, split or option.
        FitError: labels or features do not allow it.
    """
    need("evaluate", "sklearn", "scipy")
    config = load_config(None)
    held, run = opened(source, mapping, time_zone, (since, until, last))
    named, parts = texts(detectors, "detectors"), texts(splits, "splits")
    rules = pipeline.Protocol.of(
        config, group=group, folds=whole(folds, "folds", 2), splits=parts, prevalence=supposed(prevalence)
    )
    feature, tried = requests.evaluation_named(named, rules, options, config, run.time_zone)
    found = pipeline.evaluate(feature, held, own(labels, "labels"), rules, tried=tried, run=run)
    return Evaluation(found.result.summary, found.notes, found.result, held.name if held.nameable else "")


def _warned(table: pipeline.Table) -> pl.DataFrame:
    """A frame, once its notes are said."""
    for line in table.notes:
        warnings.warn(line, Remark, stacklevel=3)
    return table.frame
