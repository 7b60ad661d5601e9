"""The same detectors under several splits at once, so that nobody has to believe the kindest one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from gamewarden.contracts import Detector, Progress, no_progress
from gamewarden.core.text import counted
from gamewarden.errors import FitError
from gamewarden.evaluation import breakdowns
from gamewarden.evaluation.baselines import Fits
from gamewarden.evaluation.counting import beaten
from gamewarden.evaluation.cross_validation import PREVALENCE, Judged, by_actor, judge
from gamewarden.evaluation.leaks import actors_across, telling_columns, tied_across
from gamewarden.evaluation.play_groups import styles_of
from gamewarden.evaluation.shares import share_notes
from gamewarden.evaluation.split_schemes import ACTOR, FARM, SAYS, Ground, Plan, bonds, family_of, plan
from gamewarden.evaluation.summaries import HOW, caveats
from gamewarden.evaluation.unlabelled import judged_strangers, missed_in
from gamewarden.learning.label_sources import UNNAMED, without_model_made

ALL = "all"


@dataclass(frozen=True)
class Part:
    """One split's results with all that can be broken down from its held-out scores."""

    plan: Plan
    summary: pl.DataFrame
    scores: pl.DataFrame
    unjudged: int
    families: pl.DataFrame
    farms: pl.DataFrame  # never seen before, where they are held out whole; no row otherwise
    people: pl.DataFrame
    personas: pl.DataFrame
    promises: pl.DataFrame
    reliability: pl.DataFrame

    @property
    def name(self) -> str:
        """The split's."""
        return self.plan.name


@dataclass(frozen=True)
class SideBySide:
    """The results of all splits in one table, the parts they come from, and what has to be said beside them."""

    summary: pl.DataFrame  # one row a split, detector and unit
    parts: tuple[Part, ...]
    provenance: pl.DataFrame  # source, labels, bots, humans, tested
    missed: pl.DataFrame  # a row a pair of detectors: what both miss, among known bots and among strangers
    warnings: tuple[str, ...]  # leaks that were found, and detectors that counting alone beats
    notes: tuple[str, ...]

    @property
    def main(self) -> Part:
        """The split that headline and pictures show."""
        return main_part(self.parts)

    @property
    def scores(self) -> pl.DataFrame:
        """The held-out scores of the split that the pictures show."""
        return self.main.scores


def main_part(parts: Sequence[Part]) -> Part:
    """By farm, else by actor, else the first that does not flatter."""
    order = {FARM: 0, ACTOR: 1}
    return min(parts, key=lambda part: (part.plan.flatters, order.get(part.name, len(order))))


def compare(
    detectors: Sequence[Fits],
    ground: Ground,
    splits: Sequence[str],
    *,
    prevalence: float = PREVALENCE,
    progress: Progress = no_progress,
) -> SideBySide:
    """Judge the detectors under each split; `all` takes every split that the log and the labels allow.

    Labels that a model made are on no side of any split: a model may have learned them from those it is tested on.

    Raises:
        ConfigError: the prevalence is not a share, or a detector is named twice.
        FitError: a split that was asked for cannot be made, or no split can.
    """
    people_say = without_model_made(ground.labels, [detector.name for detector in detectors])
    clean = replace(ground, labels=people_say.frame)
    plans, refused = _plans(clean, splits)
    parts = [
        _part(
            made,
            clean,
            judge(
                detectors,
                made.splits,
                clean.features,
                made.labels,
                prevalence=prevalence,
                progress=progress,
            ),
        )
        for made in plans
    ]
    summary = pl.concat([_with_split(part, clean) for part in parts], how="diagonal_relaxed")
    warnings = [*_leaks(clean, plans), *_left_out_warnings(people_say.left_out), *beaten(summary)]
    told = provenance(ground.labels, plans[0].labelled.rows)
    main = main_part(parts)
    strangers = judged_strangers(detectors, main.plan, clean)
    missed = missed_in(detectors, main.scores, strangers)
    common = share_notes(clean.labels, main.scores, strangers)
    notes = [*_notes(parts, prevalence), *_estimates(missed), *common, *refused]
    return SideBySide(summary, tuple(parts), told, missed, (*dict.fromkeys(warnings), *_unsourced(told)), tuple(notes))


def _plans(ground: Ground, splits: Sequence[str]) -> tuple[list[Plan], list[str]]:
    """The splits in their order, and why some of `all` are missing."""
    asked = tuple(SAYS) if ALL in splits else tuple(dict.fromkeys(splits))
    plans, refused = [], []
    for name in asked:
        try:
            plans.append(plan(name, ground))
        except FitError as error:
            if name in splits:
                raise
            refused.append(f"Not shown, split by {name}: {str(error).removeprefix('evaluate: ')}.")
    if not plans:
        raise FitError(f"evaluate: no split can be made. {' '.join(refused)}")
    return plans, refused


def _part(made: Plan, ground: Ground, judged: Judged) -> Part:
    scores = judged.scores
    actors = by_actor(scores)
    families = family_of(ground.labels)
    told = pl.DataFrame(schema={"actor": pl.String, "family": pl.String}) if families is None else families
    return Part(
        made,
        judged.summary.join(breakdowns.time_to_detection(scores), on="detector", how="left", maintain_order="left"),
        scores,
        judged.unjudged,
        breakdowns.by_family(actors, told),
        breakdowns.by_farm(actors),
        breakdowns.by_human_group(scores, styles_of(ground.features, ground.labels)),
        breakdowns.by_human_group(scores, told.rename({"family": "style"})),
        breakdowns.by_promise(scores),
        breakdowns.by_probability(scores),
    )


def _estimates(missed: pl.DataFrame) -> Iterator[str]:
    for row in missed.iter_rows(named=True):
        high = "any number" if row["estimated_high"] is None else f"{row['estimated_high']:,.0f}"
        truth = "" if row["known"] is None else f"; {row['known']:,} are there"
        yield (
            f"Among {row['among']}, {row['detectors']} flag {row['found']:,}, {row['both']:,} of them both; that makes "
            f"{row['estimated']:,.0f} in all ({row['estimated_low']:,.0f} to {high}) if they were independent{truth}."
        )


def _with_split(part: Part, ground: Ground) -> pl.DataFrame:
    known = bonds(ground)
    tied = tied_across(part.plan.splits, known.groups).share if known.visible else None
    return part.summary.select(
        pl.lit(part.name).alias("split"),
        pl.all(),
        pl.lit(tied, pl.Float64).alias("tied"),
        pl.lit(actors_across(part.plan.splits).share, pl.Float64).alias("known_actors"),
        pl.lit(part.plan.flatters).alias("flatters"),
    )


def provenance(labels: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Who the labels come from: one row a source, what it says, and how many of its actors were tested."""
    tested = rows.select("actor", pl.col("source").str.split("+")).explode("source").unique()
    given = labels.with_columns(pl.col("source").fill_null(UNNAMED))
    return (
        given.group_by("source")
        .agg(
            pl.len().cast(pl.Int64).alias("labels"),
            pl.col("actor").filter(pl.col("bot")).n_unique().cast(pl.Int64).alias("bots"),
            pl.col("actor").filter(~pl.col("bot")).n_unique().cast(pl.Int64).alias("humans"),
        )
        .join(tested.group_by("source").agg(pl.len().cast(pl.Int64).alias("tested")), on="source", how="left")
        .with_columns(pl.col("tested").fill_null(0))
        .sort("source")
    )


def _leaks(ground: Ground, plans: Sequence[Plan]) -> Iterator[str]:
    known = bonds(ground)
    shared = {made.name: tied_across(made.splits, known.groups) for made in plans if not made.flatters}
    tied = [f"{found.tied} of {found.tested} in the split by {name}" for name, found in shared.items() if found.tied]
    if tied:
        yield (
            f"Accounts tested are tied by trade, address or named group to accounts learned from: {', '.join(tied)}. "
            "Who shares a farm's script is then half known; compare the split by farm."
        )
    if not ground.ties.visible:
        yield "The log has neither partners (other) nor addresses (ip): a farm that no label names could not be seen."
    yield from telling_columns(plans[0].labelled.rows)


def _left_out_warnings(left_out: Mapping[str, int]) -> Iterator[str]:
    for reason, count in left_out.items():
        yield f"{count} {reason} are in no test set and no training set: a model cannot be its own witness."


def _unsourced(told: pl.DataFrame) -> Iterator[str]:
    nameless = told.filter(source=UNNAMED)["humans"].sum()
    if nameless:
        yield (
            f"{nameless} accounts are called human by labels that name no source; if nobody reviewed them they are "
            "unlabelled, not human, and false positives among them may be bots."
        )


def _notes(parts: Sequence[Part], prevalence: float) -> Iterator[str]:
    for part in parts:
        yield f"Split by {part.name}: {SAYS[part.name]}; {len(part.plan.splits)} folds, each with its own fit."
        yield from part.plan.notes
    yield from _new_farms(main_part(parts))
    first = parts[0]
    yield "AUC ranks the held-out scores of all folds together, log-odds from the middle of each fold's training."
    yield f"{HOW} Precision supposes that {prevalence:.1%} of all are bots."
    yield from (f"Left out, {reason}: {count}." for reason, count in first.plan.labelled.left_out.items())
    if first.unjudged:
        yield f"Left out, periods with too little play to judge: {first.unjudged}."
    fewest = min(parts, key=lambda part: part.summary.filter(unit="actor")["humans"].sum())
    yield from caveats(fewest.summary)


def _new_farms(part: Part) -> Iterator[str]:
    """What of farms that nobody had taught, split by farm, each detector catches."""
    for row in part.farms.iter_rows(named=True):
        some, half = (round(row[name] * row["farms"]) for name in ("somebody", "half"))
        yield (
            f"{row['detector']}: of {counted(row['farms'], 'farm')} it had never seen, it catches somebody of {some} "
            f"and at least half of {half}, at 1 % of the people."
        )


def as_values(result: SideBySide, detector: Detector) -> dict[str, Any]:
    """What is kept beside a model: its own lines and the baselines', by split, and all that was said."""
    others = [
        name for name in result.summary["detector"].unique() if name not in breakdowns.detectors_in(result.scores)
    ]
    mine = result.summary.filter(pl.col("detector").is_in([detector.name, *others]))
    return {
        "detector": detector.name,
        "splits": mine.to_dicts(),
        "families": [row | {"split": part.name} for part in result.parts for row in _rows_of(part.families, detector)],
        "farms": _rows_of(result.main.farms, detector),
        "people": _rows_of(result.main.people, detector),
        "fprs": _rows_of(result.main.promises, detector),
        "labels": result.provenance.to_dicts(),
        "warnings": list(result.warnings),
        "notes": list(result.notes),
    }


def _rows_of(frame: pl.DataFrame, detector: Detector) -> list[dict[str, Any]]:
    return frame.filter(detector=detector.name).drop("detector").to_dicts()
