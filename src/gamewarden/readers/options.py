"""How sources are read in this run, by the kind of thing that is read."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gamewarden.core.time_ranges import TimeRange
from gamewarden.readers.databases.options import DatabaseOptions
from gamewarden.readers.logs.plausible import ANY_TIME, Plausible
from gamewarden.readers.logs.tables import MAX_BAD_SHARE
from gamewarden.readers.places import File

if TYPE_CHECKING:
    from gamewarden.readers.captures.account_sources import AccountFeed


@dataclass(frozen=True)
class LogOptions:
    """Of logs and other tables, packet logs too."""

    mapping: str | None = None  # a file, or the name of a preset
    time_zone: str | None = None  # of times written without one
    max_bad_share: float = MAX_BAD_SHARE
    keep_truncated: bool = False
    plausible: Plausible = ANY_TIME  # the times that events can have


@dataclass(frozen=True)
class CaptureOptions:
    """Of captures; whether packets without payload count is asked of packet logs too."""

    server_ports: tuple[int, ...] = ()
    accounts: "File | AccountFeed | None" = None  # who used which address when
    include_empty: bool = False
    connect_messages: bool = False  # clients say themselves who they are, as a message table explains


@dataclass(frozen=True)
class MessageOptions:
    """Of what game clients say."""

    packet_db: tuple[File, ...] = ()  # message tables, the last uppermost; else the thesis' own
    packet_version: int | None = None  # up to which version of them; of headers, the client's date
    packet_client: str | None = None  # of headers, the kind of client
    strict: bool = False  # the first message that cannot be read ends its stream


@dataclass(frozen=True)
class SourceOptions:
    """All of them."""

    logs: LogOptions = field(default=LogOptions())
    captures: CaptureOptions = field(default=CaptureOptions())
    messages: MessageOptions = field(default=MessageOptions())
    databases: DatabaseOptions = field(default=DatabaseOptions())
    time_range: TimeRange = field(default=TimeRange())  # only what happened in it is looked at
    on: str = ""  # who measures events: processes of this machine, or a cluster; else this process
