"""The world in: whatever somebody has is opened here, and nowhere else is it said what it is."""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

from gamewarden.contracts import Source
from gamewarden.core.database_urls import Address, address_of, is_database
from gamewarden.core.registry import Registry
from gamewarden.errors import ConfigError, ReadError, Remark, short
from gamewarden.readers import servers
from gamewarden.readers.places import File, Place, located

if TYPE_CHECKING:
    from gamewarden.readers.options import SourceOptions


class ArrowTable(Protocol):
    """A table in memory: Polars, pandas, Arrow and others speak this way."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Its columns, by Arrow's PyCapsule interface."""


Locator: TypeAlias = File | Place | Address | Sequence[File | Place] | ArrowTable


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
        "database": "gamewarden.readers.databases.source:DatabaseSource",
        "dump": "gamewarden.readers.databases.dumps:DumpSource",
        "ragnarok": "gamewarden.readers.files:RagnarokLog",
        "export": "gamewarden.readers.databases.exports:ExportSource",
        "files": "gamewarden.readers.log_files:LogFiles",
        "folder": "gamewarden.readers.folders:MessageFolder",
        "log": "gamewarden.readers.files:LogFile",
    },
    ConfigError,
)
LAST = ("files", "folder", "log")  # they take any folder and any file


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


def credit_of(source: Source) -> str:
    """By whose reader a source was opened, for a sentence; nothing where it is gamewarden's own."""
    offered = (name for name in REGISTRY.usable if name not in REGISTRY.own and REGISTRY.load(name) is type(source))
    return next((f", read by {REGISTRY.credit(name)}" for name in offered), "")


def open(locator: Locator | str, options: "SourceOptions | None" = None, reader: str | None = None) -> Source:  # noqa: A001  readers.open is what it does
    """What somebody has, as a source: by the reader that is named, or by the first that knows it.

    A file, a lake, a folder of packetstreams or logs, several of these files at once, `-` for standard input, or a
    table in memory. As text it may also be a pattern such as logs/*.csv.gz, an address such as s3://bucket/log.csv, or
    the URL of a database such as mysql://user@host/name.

    Raises:
        ReadError: it cannot be read.
        ConfigError: there is no such reader.
    """
    from gamewarden.readers.options import SourceOptions
    from gamewarden.readers.ranges import limited

    place = _place(locator) if isinstance(locator, str) else locator
    given = options or SourceOptions()
    found = _knowing(place, given) if reader is None else load(reader)
    return limited(found(place, given), given.time_range)


def _place(locator: str) -> Locator:
    """What a text names; of a pattern or a directory in a store all files, and the one where it is one."""
    if is_database(locator):
        return address_of(locator)
    found = located(locator)
    return found[0] if isinstance(found, list) and len(found) == 1 else found


def _knowing(place: Locator, options: "SourceOptions") -> Reader:
    """The first reader that knows what this is; one of an installed package that breaks over it is passed over."""
    for name in names():
        if name in REGISTRY.own:
            if load(name).matches(place):
                # Whoever names a game server says of plain files that they are its tables.
                return load("export" if name in LAST and options.logs.mapping in servers.NAMES else name)
        elif (found := _offered(name, place)) is not None:
            return found
    raise ReadError(
        f"{type(place).__name__}: cannot be opened; give the place of a file or folder, several of them, or a table in "
        "memory"
    )


def _offered(name: str, place: Locator) -> Reader | None:
    try:
        reader = load(name)
        return reader if reader.matches(place) else None
    except ConfigError as error:
        warnings.warn(str(error), Remark, stacklevel=2)
    except Exception as error:  # noqa: BLE001  what a stranger's reader does with a strange file is anybody's guess
        reason = f"{type(error).__name__}: {short(str(error))}"
        warnings.warn(
            f"reader {REGISTRY.credit(name)} cannot say whether it knows this ({reason})", Remark, stacklevel=2
        )
    return None
