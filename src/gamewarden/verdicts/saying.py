"""A model before a source: what it says of what it is shown, and what has to stand beside every word."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import polars as pl

from gamewarden.contracts import Feature, Model
from gamewarden.core.coverage import COVERED
from gamewarden.core.text import counted
from gamewarden.errors import FitError
from gamewarden.tables import Table
from gamewarden.verdicts.chunks import prior_of
from gamewarden.verdicts.meeting import (
    COVERAGE_SETTING,
    Far,
    Limits,
    Meeting,
    Partly,
    coverage_notes,
    least_of_row,
    only_covered,
    origin_notes,
    whole_enough,
)
from gamewarden.verdicts.prevalence import Prevalence, at_share


@dataclass(frozen=True)
class Said:
    """SCORES by one model, what stands beside each of them, and why it does not judge, if it does not."""

    model: Model
    scores: pl.DataFrame  # at the share of bots that the model supposes
    caveats: tuple[str, ...] = ()
    refusal: str | None = None

    def at(self, prevalence: Prevalence) -> pl.DataFrame:
        """The scores where bots are so common."""
        return at_share(self.scores, prior_of(self.model.card), prevalence.bots)


def say(model: Model, feature: Feature, shown: Table, limits: Limits) -> Said:
    """What a model says of the rows it is shown; one that cannot judge their source says nothing."""
    said = say_of_part(model, feature, shown, limits)
    if said.refusal is not None:
        return said
    far = Far.of(said.scores)
    if refusal := far.refusal(model.card.id, limits):
        return Said(model, said.scores.clear(), refusal=refusal)
    least = least_of_row(model.card.training, limits, part_of_day=feature.part_of_day)
    return Said(
        model, said.scores, caveats_of(model, meeting_of(model, feature, shown), Partly.of(said.scores, least), far)
    )


def say_of_part(model: Model, feature: Feature, shown: Table, limits: Limits) -> Said:
    """The same of some rows of a source, before it is known how many of all its rows lie far from what was learned."""
    met = meeting_of(model, feature, shown)
    if met is not None and (refusal := met.refusal(limits)):
        return Said(model, model.score(shown.frame.clear()), refusal=refusal)
    least = least_of_row(model.card.training, limits, part_of_day=feature.part_of_day)
    return Said(model, whole_enough(model.score(shown.frame), least))


def caveats_of(model: Model, met: Meeting | None, partly: Partly, far: Far) -> tuple[str, ...]:
    """What stands beside every word of a model."""
    return (
        *origin_notes(model.card.id, model.card.training),
        *(met.notes() if met is not None else ()),
        *partly.notes("scored"),
        *far.notes(model.card.id),
    )


def meeting_of(model: Model, feature: Feature, shown: Table) -> Meeting | None:
    """A model's vocabulary beside what the source can show; None where one of both has no kinds."""
    learned = feature.learned
    if shown.shows is None or learned is None or learned.kinds is None:
        return None
    return Meeting(model.card.id, learned, shown.shows)


def only_whole(seen: Table, limits: Limits, *, part_of_day: bool) -> Table:
    """What may be learned from: the periods that the source covers as well as its best ones, with a remark on others.

    Where none is whole the parts are all alike, and a model that learned from them knows such parts. A row that is a
    piece of a day's play is covered whatever is missing of its day; the day's share only says which days such a model
    may judge.
    """
    if COVERED not in seen.frame.columns or not seen.frame[COVERED].count():
        return seen
    best = float(seen.frame[COVERED].drop_nulls().to_numpy().max())
    if part_of_day:
        return replace(seen, frame=seen.frame.with_columns(pl.lit(best).alias(COVERED)))
    least = limits.covered * best
    return replace(
        seen,
        frame=only_covered(seen.frame, least),
        notes=(*seen.notes, *coverage_notes(seen.frame, least, "learned from")),
    )


@contextmanager
def coverage_named(seen: Table) -> Iterator[None]:
    """Add to a failed fit which rows were left out because their period is not covered.

    Raises:
        FitError: the fit failed.
    """
    try:
        yield
    except FitError as error:
        left_out = [note for note in seen.notes if COVERAGE_SETTING in note]
        raise FitError("; ".join([str(error), *left_out])) from error


def zone_notes(models: Sequence[Model], time_zone: str | None) -> tuple[str, ...]:
    """Whose days are cut by another zone than this run reads times in: a model keeps the zone it was fitted with."""
    others = {
        model.card.id: model.feature.options["time_zone"] or "UTC"
        for model in models
        if time_zone
        and "time_zone" in model.feature.options
        and (model.feature.options["time_zone"] or "UTC") != time_zone
    }
    return tuple(
        f"{name} cuts days by {own}, as fitted; {time_zone} is only the zone of times written without one"
        for name, own in others.items()
    )


def shared_names(actors: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """How many of the actors that each kind of source names are in the others; nothing where there is one kind.

    An account under two names is two actors, and nothing that one source shows of it stands beside the other's.
    """
    if len(actors) <= 1:
        return ()
    known = {kind: set(names) for kind, names in actors.items()}
    told = [
        f"{counted(len(names), 'actor')} in {kind}: "
        + ", ".join(
            f"{len(names & others):,} {'of them ' if at == 0 else ''}in {other}"
            for at, (other, others) in enumerate((o, n) for o, n in known.items() if o != kind)
        )
        for kind, names in known.items()
    ]
    return (f"Names that the sources share: {'; '.join(told)}",)


def unsure(scores: pl.DataFrame) -> tuple[str, ...]:
    """How many scores are empty though their period is covered."""
    partly = pl.col("covered").is_not_null() & (pl.col("covered") < Limits.covered)
    unsure = scores.filter(~partly)["probability"].null_count()
    return (f"{unsure:,} of {scores.height:,} scores are empty: too little evidence to say",) * (unsure > 0)
