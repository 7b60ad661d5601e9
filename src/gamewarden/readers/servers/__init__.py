"""Game servers whose databases we know: what their tables mean, one server a file."""

from importlib import import_module
from typing import TYPE_CHECKING

from gamewarden.errors import ConfigError
from gamewarden.readers.servers.collector import GW_EVENTS

if TYPE_CHECKING:
    from gamewarden.readers.databases.database import Database
    from gamewarden.readers.servers.preset import Preset

# In the order in which a database is looked at: the more particular before the more general.
NAMES = ("hercules", "rathena", "azerothcore", "trinitycore", "eqemu", "landsandboat", "opentibia")


def load(name: str) -> "Preset":
    """A server's preset by its name.

    Raises:
        ConfigError: there is none.
    """
    if name not in NAMES:
        raise ConfigError(f"preset {name!r} is unknown; there are {', '.join(sorted(NAMES))}")
    found: Preset = import_module(f"gamewarden.readers.servers.{name}").PRESET
    return found


def preset_of(database: "Database") -> "Preset | None":
    """The preset of the server that wrote a database, told from its tables and columns."""
    return next((one for one in map(load, NAMES) if _keeps_logs(database, one) and one.wrote(database)), None)


def _keeps_logs(database: "Database", preset: "Preset") -> bool:
    """Whether a log of the server is in the database itself: beside it there may be another game's."""
    own = {name for name, place in database.places.items() if place.schema is None}
    return any(table.name in own for table in preset.tables if table is not GW_EVENTS)
