"""A world on disk: events.parquet, labels.csv, profiles.csv and truth.json, each whole or not there."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from gamewarden.contracts import Progress, no_progress
from gamewarden.files import whole_file, write_text
from gamewarden.tables import EVENTS, write_table
from gamewarden.world.tabling import TYPES
from gamewarden.world.world import World

_SCHEMA = pa.schema([(name, TYPES[name]) for name in EVENTS.columns])
_TEXTS = [name for name, kind in TYPES.items() if pa.types.is_dictionary(kind)]
_FEW_VALUES = [*_TEXTS, "level", "amount"]
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
    lines = ",\n".join(f'  "{actor}": "{persona}"' for actor, persona in world.truth().items())
    write_text(directory / "truth.json", f"{{\n{lines}\n}}\n")


def _writer(path: Path) -> pq.ParquetWriter:
    # Readers see plain text columns: the dictionaries are Parquet's own, one a row group.
    return pq.ParquetWriter(
        path,
        _SCHEMA,
        compression="zstd",
        use_dictionary=_FEW_VALUES,
        column_encoding=_ENCODINGS,
        write_statistics=["at", "seq"],
        store_schema=False,
    )
