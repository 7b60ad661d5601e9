"""The past of a workspace as a ladder is tried on it: verdicts at rest, outcomes in the ledger, and who is known."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import polars as pl

from gamewarden.cases import VERDICT, Exonerated, Observation, Suspicion
from gamewarden.contracts import Progress, no_progress
from gamewarden.core.durations import from_micros
from gamewarden.core.text import counted
from gamewarden.errors import ReadError
from gamewarden.evaluation.backtests import LABEL, STYLE, called, usual_styles
from gamewarden.learning.styles import UNKNOWN, styles_of
from gamewarden.pipeline.models import days_of
from gamewarden.readers.logs.operator_tables import read_labels
from gamewarden.response.appeals import kept_out
from gamewarden.response.evidence import observations_of
from gamewarden.response.ladder import Ladder
from gamewarden.response.policies import History, replay
from gamewarden.store.verdict_days import DaySeal
from gamewarden.verdicts.points import ACT, WATCH
from gamewarden.workspace.beside import facts_of
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.rest import recipe_of


@dataclass(frozen=True)
class Past:
    """What is known of a workspace's accounts, day by day."""

    observations: Mapping[str, Sequence[Observation]]
    days: tuple[datetime, ...]
    met: Mapping[str, datetime]  # when each account was first suspected
    known: pl.DataFrame  # one row per judged account: KNOWN of response.policies
    on_call: frozenset[str] = frozenset()
    outcomes: int = 0  # observations of the ledger beside verdicts

    @property
    def sentence(self) -> str:
        """What a ladder is tried on, for a person."""
        if not self.days:
            return "No day was judged yet."
        first, last = (f"{one:%Y-%m-%d}" for one in (self.days[0], self.days[-1]))
        beside = f", {counted(self.outcomes, 'further observation')} of the ledger" if self.outcomes else ""
        days = f"{counted(len(self.days), 'day')} that ended from {first} to {last}"
        return f"{days}, {counted(self.known.height, 'account')}{beside}"

    def under(self, ladder: Ladder, progress: Progress = no_progress) -> History:
        """What a ladder would have done."""
        return replay(ladder, self.observations, self.days, met=self.met, on_call=self.on_call, progress=progress)


def past_of(workspace: Workspace, progress: Progress = no_progress) -> Past:
    """All verdicts at rest as evidence, beside what the ledger knows.

    As `decide` does, an account is looked at from the day on that a verdict reaches a point, with all verdicts on it
    that still carry something then; of accounts without such a verdict, those that the ledger has taken in as the most
    suspicious ones. What an appeal excluded counts nothing.

    Raises:
        ReadError: no day was judged yet.
        VerdictError: verdicts that rest are missing or damaged.
        LedgerError: the ledger cannot be read.
    """
    seals = sorted(workspace.verdicts.current().values(), key=lambda one: one.until)
    if not seals:
        raise ReadError(f"{workspace.results}: no day was judged yet; `gamewarden run` judges what is there")
    written = _Written.of(workspace)
    met, everybody = _met(workspace, seals, written.beside)
    met = {**written.taken_in, **met}
    seen: dict[str, list[Observation]] = defaultdict(list)
    for seal in seals:
        for one in written.counting(_observed(workspace, seal, met)):
            seen[one.actor].append(one)
        progress(seal.verdicts)
    for one in written.beside:
        seen[one.actor].append(one)
    days = tuple(from_micros(seal.until) for seal in seals)
    return Past(seen, days, met, _known(workspace, everybody | seen.keys()), written.on_call, len(written.beside))


def _met(
    workspace: Workspace, seals: Sequence[DaySeal], beside: Sequence[Observation]
) -> tuple[dict[str, datetime], set[str]]:
    """When each account was first suspected, by a verdict or by what else was seen of it; and who was judged."""
    met: dict[str, datetime] = {one.actor: one.at for one in reversed(beside)}
    everybody: set[str] = set()
    for seal in seals:
        until = from_micros(seal.until)
        judged = _verdicts(workspace, seal, columns=("actor", "point", "probability"))
        everybody.update(judged["actor"])
        for actor in judged.filter(pl.col("point").is_in([WATCH, ACT]))["actor"]:
            met[actor] = min(met.get(actor, until), until)
    return met, everybody


def _verdicts(
    workspace: Workspace, seal: DaySeal, actors: Collection[str] | None = None, columns: Sequence[str] | None = None
) -> pl.DataFrame:
    """The verdicts of a day on those who were judged and not forgotten."""
    store = workspace.verdicts
    found = store.table(seal, columns=columns, actors=actors).filter(pl.col("probability").is_not_null())
    return found.filter(~pl.col("actor").is_in(store.stubs(seal))) if seal.forgotten else found


def _observed(workspace: Workspace, seal: DaySeal, met: Collection[str]) -> list[Observation]:
    """The verdicts of a day as evidence: all of them on those who were ever suspected."""
    bots = float(facts_of(workspace.verdicts, seal)["rules"]["bots"])
    return observations_of(_verdicts(workspace, seal, actors=met), bots)


@dataclass(frozen=True)
class _Written:
    """What the ledger knows that bears on the past."""

    beside: tuple[Observation, ...] = ()  # what counts beside verdicts, in the order of time
    excluded: frozenset[str] = frozenset()  # verdicts that no longer count
    exonerated: tuple[Exonerated, ...] = ()
    on_call: frozenset[str] = frozenset()  # who has a human on call
    taken_in: Mapping[str, datetime] = field(default_factory=dict)  # whom verdicts in it are about, and since when

    @classmethod
    def of(cls, workspace: Workspace) -> "_Written":
        """As it is now; nothing where there is no ledger yet."""
        if not workspace.has_ledger:
            return cls()
        known = workspace.ledger.find(Observation, order=("at",))
        return cls(
            tuple(one for one in known if one.kind != VERDICT and one.excluded is None),
            frozenset(one.id for one in known if one.kind == VERDICT and one.excluded is not None),
            tuple(workspace.ledger.find(Exonerated)),
            frozenset(one.actor for one in workspace.ledger.find(Suspicion, on_call=True)),
            {one.actor: one.at for one in reversed(known) if one.kind == VERDICT},
        )

    def counting(self, observations: Sequence[Observation]) -> list[Observation]:
        """Of verdicts those that no appeal has refuted."""
        told = kept_out(observations, self.exonerated)
        return [one for one in told if one.excluded is None and one.id not in self.excluded]


def _known(workspace: Workspace, actors: set[str]) -> pl.DataFrame:
    """What labels call each account, how it plays, and whom it belongs to; null where nobody knows."""
    everybody = pl.DataFrame({"actor": sorted(actors)}, schema={"actor": pl.String})
    labels, groups = _labels(workspace)
    told = everybody.join(labels, on="actor", how="left").join(_styles(workspace), on="actor", how="left")
    return told.join(groups, on="actor", how="left").select("actor", "label", "style", "group")


def _labels(workspace: Workspace) -> tuple[pl.DataFrame, pl.DataFrame]:
    nobody = {"actor": pl.String, "label": pl.String}, {"actor": pl.String, "group": pl.String}
    labels = workspace.labels
    if labels is None:
        return pl.DataFrame(schema=nobody[0]), pl.DataFrame(schema=nobody[1])
    told = read_labels(labels, workspace.time_zone).frame
    if "group" not in told.columns:
        told = told.with_columns(group=pl.lit(None, pl.String))
    groups = told.group_by("actor").agg(pl.col("group").drop_nulls().min())
    return called(told).select("actor", label=LABEL), groups


def _styles(workspace: Workspace) -> pl.DataFrame:
    """How each account plays on most of its days, where a model of days has measured that."""
    nobody = pl.DataFrame(schema={"actor": pl.String, "style": pl.String})
    models = workspace.models_in_force()
    features = {model.card.id: feature for model in models for feature in workspace.features((model,))[:1]}
    of_events = [model for model in models if features[model.card.id].input == "events"]
    if not of_events:
        return nobody
    recipe, scored = days_of(of_events[0], workspace.models).recipe, workspace.scored()
    rows = scored.rest.features(recipe_of(recipe)).table(scored.days.partitions(recipe))
    told = usual_styles(rows, styles_of(workspace.config)).select("actor", style=STYLE)
    return told.with_columns(pl.when(pl.col("style") != UNKNOWN).then(pl.col("style")))
