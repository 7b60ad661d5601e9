"""A world on disk: events.parquet, labels.csv, profiles.csv, truth.json and circles.csv, each whole or not there."""

import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from gamewarden.contracts import Progress, no_progress
from gamewarden.core.files import whole_file, write_text
from gamewarden.lab.world.tabling import TYPES
from gamewarden.lab.world.world import World
from gamewarden.lab.world.year import WEEKS, Year
from gamewarden.tables import EVENTS, TIME, write_table

_SCHEMA = pa.schema([(name, TYPES[name]) for name in EVENTS.columns])
_TEXTS = [name for name, kind in TYPES.items() if pa.types.is_dictionary(kind)]
_FEW_VALUES = [*_TEXTS, "level", "amount"]
_YEAR = ("actor", "character", "at", "seq", "kind", "level", "session")
_ENCODINGS = {"at": "DELTA_BINARY_PACKED", "seq": "DELTA_BINARY_PACKED"}


def write(world: World, directory: Path, progress: Progress = no_progress) -> None:
    """Play a world into a directory, a batch at a time; `progress` is told the accounts played.

    Raises:
        WriteError: the directory cannot be written, or the disk is full.
    """
    with whole_file(directory / "events.parquet") as draft, _writer(draft) as file:
        for accounts, batch in world.played():
            if batch.num_rows:
                file.write_batch(batch)
            progress(accounts)
    write_table(world.labels().select("actor", "bot", "source", "family", "farm"), directory / "labels.csv")
    write_table(world.profiles(), directory / "profiles.csv")
    if world.society:
        write_table(world.circles(), directory / "circles.csv")
    lines = ",\n".join(f'  "{actor}": "{persona}"' for actor, persona in world.truth().items())
    write_text(directory / "truth.json", f"{{\n{lines}\n}}\n")


def write_events(batches: Iterator[pa.RecordBatch], path: Path) -> None:
    """Events with all columns, a batch at a time.

    Raises:
        WriteError: the place cannot be written, or the disk is full.
    """
    with whole_file(path) as draft, _writer(draft) as file:
        for batch in batches:
            if batch.num_rows:
                file.write_batch(batch)


def write_year(year: Year, directory: Path, progress: Progress = no_progress) -> None:
    """Play a scripted year into a directory, a file a week; `progress` is told the weeks played.

    Places, targets and addresses are left out: a year is long. A label holds from the day its account came.

    Raises:
        WriteError: the directory cannot be written, or the disk is full.
    """
    columns = [name for name in EVENTS.columns if name in _YEAR]
    schema = pa.schema([_SCHEMA.field(name) for name in columns])
    for number in range(WEEKS):
        week = year.week(number)
        with whole_file(directory / f"events-week-{number:02}.parquet") as draft, _writer(draft, schema) as file:
            for batch in week.batches(columns):
                file.write_batch(batch)
        progress(1)
    comes = [year.day(int(week)) for week in year.lives.comes]
    labels = year.labels().select("actor", pl.Series("since", comes, TIME), "bot", "source")
    write_table(labels, directory / "labels.csv")
    write_text(directory / "happenings.json", json.dumps(year.script.happenings, indent=1) + "\n")
    write_text(directory / "truth.json", json.dumps(year.truth(), indent=1) + "\n")


def _writer(path: Path, schema: pa.Schema = _SCHEMA) -> pq.ParquetWriter:
    # Readers see plain text columns: the dictionaries are Parquet's own, one a row group.
    return pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        use_dictionary=[name for name in _FEW_VALUES if name in schema.names],
        column_encoding=_ENCODINGS,
        write_statistics=["at", "seq"],
        store_schema=False,
    )
