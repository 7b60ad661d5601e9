"""Every pair held out in turn, by three methods and at every t: the answers of the detectors, from shared work.

Chunks are measured once a length; shorter t fold the last bins together; machines of one method share their products.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gamewarden.core.durations import MINUTE
from gamewarden.detectors.actions.hinge import Machines
from gamewarden.detectors.actions.recipe import Frequency, Interval, TwoStage
from gamewarden.detectors.actions.vectors import INTERVAL, OFTEN, StageOne, columns_of, counts_of, thinned
from gamewarden.evaluation.metrics import Confusion
from gamewarden.features.actions.recipe import Actions
from gamewarden.lab.studies.thawonmas_cast import RESOURCES, Cast, Stage
from gamewarden.tables import FrameEvents

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Decide = Callable[[Flags], Floats]

LONGEST = 300  # seconds: the largest t
LEARNED_FROM = 2000  # chunks at the most, taken evenly: neighbours overlap by one half


@dataclass(frozen=True)
class Chunks:
    """All characters' chunks of one length."""

    table: pl.DataFrame
    bot: Flags

    @cached_property
    def actors(self) -> NDArray[np.int64]:
        """Whose each chunk is, as a number."""
        return self.table["actor"].rank("dense").to_numpy().astype(np.int64)

    @cached_property
    def often(self) -> Floats:
        """Equation 7."""
        return self.table.select(columns_of(self.table, OFTEN)).to_numpy()

    @cached_property
    def learned_from(self) -> Flags:
        """The chunks that machines may learn from."""
        chosen = np.zeros(self.table.height, np.bool_)
        chosen[thinned(np.arange(self.table.height), LEARNED_FROM)] = True
        return chosen

    def gaps(self, t: int) -> Floats:
        """Equation 8 with the bins from t on as one."""
        shares = self.table.select(columns_of(self.table, INTERVAL)).to_numpy() ** 4
        folded = np.column_stack([shares[:, :t], shares[:, t:].sum(axis=1)])
        most = folded.max(axis=1, keepdims=True)
        roots: Floats = np.divide(folded, most, out=np.zeros(folded.shape), where=most > 0) ** 0.25
        return roots

    def pairs(self) -> Iterator[Flags]:
        """The chunks of each pair of a bot and a human."""
        for bot in np.unique(self.actors[self.bot]):
            for human in np.unique(self.actors[~self.bot]):
                yield (self.actors == bot) | (self.actors == human)


def chunks_of(stage: Stage, cast: Cast, minutes: int, disguises: Mapping[str, str] | None = None) -> Chunks:
    """The fourteen characters' chunks, some of them in a disguise; as published, two actions make a chunk."""
    recipe = Actions(chunk=minutes * MINUTE, t=LONGEST, kinds=RESOURCES, max_freq=True)
    lives = [stage.life(actor, (disguises or {}).get(actor)) for actor in cast.all]
    table = recipe.measure(FrameEvents(pl.concat([life.log for life in lives])))
    return Chunks(table, table["actor"].is_in(cast.bots).to_numpy())


def held_out(chunks: Chunks, sweep: Sequence[int]) -> Iterator[tuple[str, int | None, Confusion]]:
    """Each method's pooled counts: its name, its t where one matters, the counts."""
    yield TwoStage.name, None, _pooled(chunks, _two_stages(chunks))
    yield Frequency.name, None, _pooled(chunks, _one_stage(chunks, chunks.often))
    for t in sweep:
        yield Interval.name, t, _pooled(chunks, _one_stage(chunks, np.column_stack([chunks.often, chunks.gaps(t)])))


def _pooled(chunks: Chunks, decide: Decide) -> Confusion:
    cells = np.zeros(4, np.int64)
    for out in chunks.pairs():
        count = Confusion.count(decide(out) > 0, chunks.bot[out])
        cells += (count.tp, count.fp, count.tn, count.fn)
    return Confusion(*cells.tolist())


def _one_stage(chunks: Chunks, values: Floats) -> Decide:
    kept = chunks.learned_from
    machines = Machines(values[kept], chunks.bot[kept])
    return lambda out: machines.margins(~out[kept], values[out])


def _two_stages(chunks: Chunks) -> Decide:
    """The first stage learns from every chunk, the second from those that pass it; whoever is flagged is a bot."""
    kept = chunks.learned_from
    kinds = [name.removeprefix(OFTEN) for name in columns_of(chunks.table, OFTEN)]
    counts, done = counts_of(chunks.table, kinds), (chunks.often > 0).astype(np.float64)
    machines = Machines(done[kept], chunks.bot[kept])

    def decide(out: Flags) -> Floats:
        stage = StageOne.learn(counts[~out], chunks.bot[~out], kinds, "performed")
        flagged: Flags = np.any(stage.ratios(counts, kinds) > 0, axis=1)
        margins = machines.margins((~out & ~flagged)[kept], done[out])
        lifted: Floats = np.where(flagged[out], 1.0, margins)
        return lifted

    return decide
