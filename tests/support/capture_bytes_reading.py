"""Captures read from memory, whole or in pieces, and how that ended."""

import random
from contextlib import contextmanager

from gamewarden.readers.captures import stream as captures


class Pieces:
    """Bytes that come in pieces of any size, as over a slow line."""

    live = True
    problem = None

    def __init__(self, data, largest, number):
        self._data, self._largest, self._dice = data, largest, random.Random(number)  # noqa: S311 - as above

    def read_into(self, room):
        size = min(len(room), len(self._data), self._dice.randint(1, self._largest))
        room[:size], self._data = self._data[:size], self._data[size:]
        return size


class Whole(Pieces):
    live = False

    def __init__(self, data):
        super().__init__(data, 1, 0)

    def read_into(self, room):
        size = min(len(room), len(self._data))
        room[:size], self._data = self._data[:size], self._data[size:]
        return size


class From:
    """An origin that was never a file."""

    name = "made up"

    def __init__(self, source):
        self._source = source

    @contextmanager
    def opened(self):
        yield self._source


def outcome(batches, report):
    """All that a reading says, to be compared."""
    said = [(row["actor"], row["at"], row["up"], row["size"]) for batch in batches for row in batch.to_pylist()]
    return said, report.tally.tolist(), report.problem


def read(source, **options):
    stream = captures.CaptureStream(From(source), **options)
    return outcome(list(stream.batches()), stream.report)
