"""Identifiers hashed at the door: addresses and the like become keyed digests before a row reaches a lake.

Equal identifiers stay equal, so that accounts which share an address are still found. The key is never stored; a lake
keeps a digest of it, by which another key is noticed.
"""

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import blake2b

import pyarrow as pa

from gamewarden.config import Privacy
from gamewarden.contracts import LogSource, digest, no_progress
from gamewarden.errors import ConfigError
from gamewarden.streams import WatchedLog

_BYTES = 10  # of a digest: two of a thousand million different identifiers are the same once in a million lakes
_HELD = 1 << 20  # identifiers whose digests are remembered


class HashedLog(WatchedLog):
    """A log whose identifiers are keyed digests."""

    def __init__(self, log: LogSource, privacy: Privacy) -> None:
        """Take the key from the environment.

        Raises:
            ConfigError: there is no key.
        """
        super().__init__(log, no_progress)
        self._columns = frozenset(privacy.columns)
        self._key = _key(privacy)
        self._known: dict[str, str] = {}

    @cached_property
    def key(self) -> str:
        """A digest of the key."""
        return blake2b(b"gamewarden identifiers", key=self._key, digest_size=16).hexdigest()

    @property
    def recipe(self) -> str:
        """What decides what its rows become: also which columns are hashed."""
        return digest(self._log.recipe, "hashed", *sorted(self._columns))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The log's rows, their identifiers hashed."""
        for batch in self._log.batches(columns):
            arrays = [
                self._hashed(column) if name in self._columns else column
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)

    def _hashed(self, column: pa.Array) -> pa.DictionaryArray:
        """Each different text once, however many rows have it."""
        coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        texts = pa.array([self._digest(text) for text in coded.dictionary.to_pylist()], pa.string())
        return pa.DictionaryArray.from_arrays(coded.indices, texts)

    def _digest(self, text: str) -> str:
        if text not in self._known:
            if len(self._known) >= _HELD:
                self._known.clear()
            self._known[text] = blake2b(text.encode(), key=self._key, digest_size=_BYTES).hexdigest()
        return self._known[text]


def _key(privacy: Privacy) -> bytes:
    text = os.environ.get(privacy.key_from, "")
    if not text:
        raise ConfigError(
            f"[privacy] hash = {privacy.hash!r} needs a key, and {privacy.key_from} is empty; "
            "set this environment variable to a long random text, and keep it"
        )
    return blake2b(text.encode()).digest()
