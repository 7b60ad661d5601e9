"""Reads a database into a lake in small pieces, again and again, until somebody kills it: `URL LAKE`."""

import sys
from pathlib import Path

from gamewarden import pipeline, readers
from gamewarden.core.durations import SECOND
from gamewarden.errors import ReadError, WriteError
from gamewarden.readers.databases.options import DatabaseOptions
from gamewarden.readers.options import LogOptions, SourceOptions

# Rows are inserted by transactions that take a moment, so that lower numbers may come after higher ones.
GENTLE = SourceOptions(
    LogOptions(time_zone="UTC"),
    databases=DatabaseOptions(batch=40, pause=0.0, piece=120, wait=SECOND, late=60 * SECOND),
)


def read(url, lake, options=GENTLE):
    """All there is by now."""
    return pipeline.read(readers.open(url, options), Path(lake))


def main():
    while True:
        try:
            read(sys.argv[1], sys.argv[2])
        except (ReadError, WriteError) as error:
            print(error, flush=True)  # noqa: T201  whoever started it wants to know


if __name__ == "__main__":
    main()
