"""Actors that a lake has forgotten: it knows them by digests alone, and lets no log bring them back."""

import json
from dataclasses import dataclass, field
from hashlib import blake2b

import pyarrow as pa

from gamewarden.contracts import canonical_json
from gamewarden.store.lake_parts import without_unused

_NAMING = ("other", "target")  # columns in which rows of others may name an actor


@dataclass(frozen=True)
class Forgotten:
    """Actors by the digests of their names, keyed with the lake's own salt: without it nobody can compare them."""

    salt: str
    digests: frozenset[str]
    _known: dict[str, bool] = field(default_factory=dict, compare=False)  # names that were looked up

    def digest(self, name: str) -> str:
        """The digest of a name."""
        return blake2b(name.encode(), key=bytes.fromhex(self.salt), digest_size=16).hexdigest()

    def named_in(self, batch: pa.RecordBatch) -> bool:
        """Whether a batch with the columns actor, other and target may name one of them."""
        return any(any(self._are(batch.column(name).dictionary)) for name in ("actor", *_NAMING))

    def left_out(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of everybody else, null where they name one of them."""
        if not self.named_in(batch):
            return batch
        actor = batch.column("actor")
        others = pa.array([not one for one in self._are(actor.dictionary)])
        kept = batch.filter(others.take(actor.indices))
        unnamed = {name: self._unnamed(kept.column(name)) for name in _NAMING}
        # What nobody uses any more would still be written into the dictionaries of a file.
        columns = [_tight(unnamed.get(name, kept.column(name))) for name in kept.schema.names]
        return pa.RecordBatch.from_arrays(columns, schema=kept.schema)

    def left_out_of(self, reached: str) -> str:
        """Where the reading of a source without end stands, without what it says of them."""
        if not reached or not self.digests:
            return reached
        values = json.loads(reached)
        known = {name: one for name, one in values.get("actors", {}).items() if not self.names(name)}
        return canonical_json({**values, "actors": known}) if "actors" in values else reached

    def _unnamed(self, column: pa.DictionaryArray) -> pa.DictionaryArray:
        theirs = self._are(column.dictionary)
        kept = pa.array([None if one else place for place, one in enumerate(theirs)], pa.int32())
        return pa.DictionaryArray.from_arrays(kept.take(column.indices), column.dictionary).cast(column.type)

    def _are(self, names: pa.Array) -> list[bool]:
        return [self.names(name) for name in names.to_pylist()]

    def names(self, name: str) -> bool:
        """Whether somebody of this name was forgotten."""
        if name not in self._known:
            self._known[name] = self.digest(name) in self.digests
        return self._known[name]


def _tight(column: pa.Array) -> pa.Array:
    return without_unused(column) if pa.types.is_dictionary(column.type) else column
