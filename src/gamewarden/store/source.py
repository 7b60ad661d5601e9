"""A lake as a source of events."""

import hashlib
from collections.abc import Collection
from datetime import datetime
from pathlib import Path

from gamewarden.contracts import Fingerprint, StreamKind, canonical_json
from gamewarden.errors import ReadError
from gamewarden.sources import PlainSource
from gamewarden.store import manifest
from gamewarden.store.lake import Lake
from gamewarden.store.lake_events import LakeEvents


class LakeSource(PlainSource):
    """All events that were ever read into a lake."""

    kinds: tuple[StreamKind, ...] = ("events",)
    is_a = "is a directory"

    def __init__(self, locator: object, options: object = None) -> None:
        del options  # the events were read before
        if not isinstance(locator, Path) or not Lake.is_at(locator):
            raise ReadError(f"{locator}: is not a lake; `gamewarden read FILE… --to {locator}` makes one")
        super().__init__(str(locator))
        self.lake = Lake(locator)

    @staticmethod
    def matches(locator: object) -> bool:
        """Whether there is a lake at this place."""
        return isinstance(locator, Path) and Lake.is_at(locator)

    def fingerprint(self) -> Fingerprint:
        """A digest of all it has read."""
        directory = self.lake.directory
        held = manifest.load(directory)
        known: list[list[object]] = sorted([one.name, one.digest, one.recipe, one.rows] for one in held.sources)
        gone = [[held.dropped, *held.forgotten]] if held.dropped is not None or held.forgotten else []
        return Fingerprint("lake", directory.name, hashlib.sha256(canonical_json(known + gone).encode()).hexdigest())

    def events(
        self, since: datetime | None = None, until: datetime | None = None, actors: Collection[str] | None = None
    ) -> LakeEvents:
        """Its events, day by day.

        Raises:
            ReadError: its manifest is damaged.
        """
        return self.lake.events(since, until, actors)

    def parted(self) -> LakeEvents:
        """Its events: any day of them, and any actors, can be read alone."""
        return self.events()
