"""The world in: every source becomes EVENTS, with each bad row counted by reason."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from gamewarden.errors import ConfigError

if TYPE_CHECKING:
    from gamewarden.contracts import EventStream

# A kind of source, and what opens it. Readers are imported when asked for: --help must not pay for them.
READERS = (
    ("csv", "gamewarden.readers.logs.tables", "open_events"),
    ("jsonl", "gamewarden.readers.logs.tables", "open_events"),
    ("parquet", "gamewarden.readers.logs.tables", "open_events"),
)
NAMES = tuple(name for name, *_ in READERS)


def open_as(name: str, path: Path) -> "EventStream":
    """A source opened by the reader of its kind.

    Raises:
        ConfigError: there is no such reader.
    """
    for known, module, opener in READERS:
        if known == name:
            stream: EventStream = getattr(import_module(module), opener)(path)
            return stream
    raise ConfigError(f"reader {name!r} is unknown; choose one of {', '.join(NAMES)}")
