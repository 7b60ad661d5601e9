"""The world in: whatever somebody has is opened here, and nowhere else is it said what it is."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from gamewarden.contracts import Source
from gamewarden.core.registry import Registry
from gamewarden.errors import ConfigError, ReadError

if TYPE_CHECKING:
    from gamewarden.readers.options import SourceOptions


class ArrowTable(Protocol):
    """A table in memory: Polars, pandas, Arrow and others speak this way."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Its columns, by Arrow's PyCapsule interface."""


Locator: TypeAlias = Path | Sequence[Path] | ArrowTable


class Reader(Protocol):
    """Whoever opens one kind of thing: often the class of the source itself."""

    def matches(self, locator: Locator) -> bool:
        """Whether this is what it opens, told by its place or its first bytes."""

    def __call__(self, locator: Locator, options: "SourceOptions") -> Source:
        """The source; no more than its beginning is read."""


# A reader's name, and where it lives. They are tried in this order, those of installed packages before LAST.
REGISTRY = Registry(
    "gamewarden.readers",
    "reader",
    {
        "capture": "gamewarden.readers.files:Capture",
        "packetstream": "gamewarden.readers.files:Packetstream",
        "memory": "gamewarden.readers.memory:TableInMemory",
        "lake": "gamewarden.store.source:LakeSource",
        "ragnarok": "gamewarden.readers.files:RagnarokLog",
        "folder": "gamewarden.readers.folders:MessageFolder",
        "log": "gamewarden.readers.files:LogFile",
    },
    ConfigError,
)
LAST = ("folder", "log")  # they take any folder and any file


def names() -> tuple[str, ...]:
    """Every reader in the order in which they are tried."""
    return (*(name for name in REGISTRY.names if name not in LAST), *LAST)


def load(name: str) -> Reader:
    """A reader by its name.

    Raises:
        ConfigError: there is none, or it cannot be loaded.
    """
    reader: Reader = REGISTRY.load(name)
    return reader


def open(locator: Locator | str, options: "SourceOptions | None" = None, reader: str | None = None) -> Source:  # noqa: A001  readers.open is what it does
    """What somebody has, as a source: by the reader that is named, or by the first that knows it.

    A file, a lake, a folder of packetstreams, several of these files at once, `-` for standard input, or a table in
    memory.

    Raises:
        ReadError: it cannot be read.
        ConfigError: there is no such reader.
    """
    from gamewarden.readers.options import SourceOptions

    place = Path(locator) if isinstance(locator, str) else locator
    given = options or SourceOptions()
    return (_knowing(place) if reader is None else load(reader))(place, given)


def _knowing(place: Locator) -> Reader:
    for name in names():
        reader = load(name)
        if reader.matches(place):
            return reader
    raise ReadError(
        f"{type(place).__name__}: cannot be opened; give the place of a file or folder, several of them, or a table in "
        "memory"
    )
