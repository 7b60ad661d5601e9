"""Makes a small synthetic workspace large: its accounts come again under other names, and its days on later dates.

What rests is written as a run would write it: sealed verdicts, features, scores and the tables of the desk. The lake
stays small, since no page of the desk measures.
"""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import numpy as np
import polars as pl

from gamewarden.core.durations import DAY
from gamewarden.store.partitions import Partition, Partitions
from gamewarden.store.verdict_days import Bundle, DaySeal, VerdictDays
from gamewarden.tables import TIME
from gamewarden.workspace.beside import facts_of
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.retention import tables_at_rest

_NAMES = ("actor", "other", "address")  # what has to be another for every copy


@dataclass(frozen=True)
class Fill:
    """How large it is to be."""

    accounts: int
    days: int

    def grow(self, small: Workspace, root: Path) -> Workspace:
        """A large workspace beside a small one."""
        root.mkdir(parents=True)
        for name in ("warden.toml", "models", "lake", "labels.csv"):
            place = small.root / name
            copy = shutil.copytree if place.is_dir() else shutil.copy
            copy(place, root / name)
        with (root / "warden.toml").open("a") as settings:
            settings.write('\n[retention]\nevents = "1d"\n')  # what rests is then as true as it is
        large = Workspace.at(root)
        copies = -(-self.accounts // min(seal.verdicts for seal in small.verdicts.current().values()))
        if small.profiles is not None and large.profiles is not None:
            _many(pl.read_csv(small.profiles, infer_schema_length=None), copies).write_csv(large.profiles)
        for table in tables_at_rest(small.results):
            place = large.results / table.directory.relative_to(small.results)
            self._table(table, Partitions(place, table.schema), copies)
        self._verdicts(small.verdicts, large.verdicts, copies)
        return large

    def _days(self, there: Mapping[str, Partition | DaySeal]) -> Iterator[tuple[str, Partition | DaySeal, int]]:
        """A name, what it is made of, and how much later it is."""
        known = list(there.values())
        first = known[0].since
        for day in range(self.days):
            source = known[day % len(known)]
            later = first + day * DAY - source.since
            yield f"day={pl.Series([source.since + later]).cast(TIME)[0]:%Y-%m-%d}", source, later

    def _table(self, source: Partitions, to: Partitions, copies: int) -> None:
        there = {name: one for name, one in source.all().items() if name.startswith("day=")}
        for place, (name, one, later) in enumerate(self._days(there) if there else ()):
            rows = source.read(one)
            if "actor" in rows.columns:
                rows = _noisy(_many(rows, copies), place)
            told, ends = dict(one.about), (one.since + later, one.until + later)
            to.put(name, _later(rows, later), came_from=one.came_from, since=ends[0], until=ends[1], about=told)

    def _verdicts(self, source: VerdictDays, to: VerdictDays, copies: int) -> None:
        for place, (name, seal, later) in enumerate(self._days(source.current())):
            tables = {
                table: _later(_noisy(_many(source.table(seal, table), copies), place), later).sort("actor")
                for table in source.tables(seal)
            }
            bundle = Bundle(tables, facts_of(source, seal))
            ends = {"since": seal.since + later, "until": seal.until + later}
            kept = seal.kept * copies
            to.seal(name, bundle, **ends, content=seal.content, rules=seal.rules, kept=kept, at=seal.at)


def _later(rows: pl.DataFrame, micros: int) -> pl.DataFrame:
    times = [name for name, kind in rows.schema.items() if isinstance(kind, pl.Datetime)]
    return rows.with_columns(pl.col(times) + timedelta(microseconds=micros))


def _many(rows: pl.DataFrame, copies: int) -> pl.DataFrame:
    """Rows again and again, each time by other names."""
    again = pl.DataFrame({"copy": [f"-{copy:04}" if copy else "" for copy in range(copies)]})
    names = [pl.col(name) + pl.col("copy") for name in _NAMES if name in rows.columns]
    return rows.join(again, how="cross").with_columns(names).drop("copy")


def _noisy(rows: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Probabilities that are not the same for all copies."""
    if "probability" not in rows.columns:
        return rows
    dice = np.random.default_rng(seed)
    return rows.with_columns(pl.col("probability") * pl.Series(dice.uniform(0.95, 1.0, rows.height)))
