"""Options that several commands share, and the kinds of values they take."""

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from gamewarden.cli.home import at_rest, from_workspace
from gamewarden.cli.settings import current
from gamewarden.cli.show import TIME_ZONE, Presentation
from gamewarden.config import PACKET_CLIENTS, moment_of
from gamewarden.core.database_urls import PASSWORD_FROM, Address, address_of, is_database
from gamewarden.core.durations import parse_span, parse_zone
from gamewarden.core.listening import Listener
from gamewarden.core.sizes import parse_size
from gamewarden.errors import ConfigError, Remark

if TYPE_CHECKING:
    from gamewarden.contracts import Progress, Source
    from gamewarden.core.time_ranges import TimeRange
    from gamewarden.engine import Engine
    from gamewarden.pipeline import RunOptions
    from gamewarden.readers.options import SourceOptions
    from gamewarden.readers.places import File, Place
    from gamewarden.workspace.asking import Answers
    from gamewarden.workspace.place import Workspace

Decorator = Callable[[Any], Any]
FILE = click.Path(path_type=Path)
# A path, an address such as s3://bucket/log.csv or a pattern as they are written, or a database.
Where: TypeAlias = Path | str | Address


class SourcePath(click.Path):
    """Where a source is: a path, a pattern such as logs/*.csv, or an address such as s3://bucket/log.csv."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401  click's signature
        """A path, unless it names several files, one in a store, or a database."""
        from gamewarden.readers.places import has_magic, is_there
        from gamewarden.readers.remote import is_remote

        if is_database(value):
            return _database(value)
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        several = isinstance(value, str) and (is_remote(value) or (has_magic(value) and not is_there(path)))
        return value if several else path


def _database(url: str) -> Address:
    """A database that was named on the command line."""
    found = address_of(url)
    if found.has_password:
        warnings.warn(
            f"{found}: whoever sees the list of processes sees the password; leave it out and set {PASSWORD_FROM}",
            Remark,
            stacklevel=2,
        )
    return found


SOURCE = SourcePath(path_type=Path)


class AccountsPlace(SourcePath):
    """Where it stands who is behind an address: a table, `messages` of the clients themselves, or a topic."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401  click's signature
        """A path, unless it is a word or an address of its own."""
        from gamewarden.requests import is_no_table

        return value if isinstance(value, str) and is_no_table(value) else super().convert(value, param, ctx)


class Span(click.ParamType[int]):
    """A length of time such as 60s, 15m or 1d, as microseconds."""

    name = "span"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401  click's signature
        """Text from the command line, or microseconds from a default."""
        if isinstance(value, int):
            return value
        try:
            return parse_span(value)
        except ConfigError as error:
            self.fail(str(error), param, ctx)


class Size(click.ParamType[int]):
    """An amount of memory such as 512MiB or 1GiB, as bytes."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401  click's signature
        """Text from the command line, or bytes from a default."""
        if isinstance(value, int):
            return value
        try:
            return parse_size(value)
        except ConfigError as error:
            self.fail(str(error), param, ctx)


class Kinds(click.ParamType[tuple[str, ...]]):
    """Kinds of events, separated by commas, or a file with one a line."""

    name = "kinds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:  # noqa: ANN401  click's signature
        """The kinds that were written."""
        if isinstance(value, tuple):
            return value
        from gamewarden.readers.logs.operator_tables import read_vocabulary

        if Path(value).is_file():
            return tuple(read_vocabulary(Path(value)))
        kinds = tuple(kind.strip() for kind in value.split(",") if kind.strip())
        if not kinds:
            self.fail(f"{value!r} names no kind; write for example combat.kill,loot.*", param, ctx)
        return kinds


class Zone(click.ParamType[str]):
    """An IANA time zone name."""

    name = "zone"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401  click's signature
        """The name, once it is known to exist."""
        try:
            return parse_zone(value).key
        except ConfigError as error:
            self.fail(str(error), param, ctx)


class Moment(click.ParamType[datetime]):
    """A time such as 2026-03-01 or 2026-03-01T12:00:00Z; without a zone it is UTC."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:  # noqa: ANN401  click's signature
        """The moment in UTC."""
        try:
            return moment_of(str(value))
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is not ISO 8601; write for example 2026-03-01T12:00:00Z", param, ctx)


class WrittenMoment(click.ParamType[datetime]):
    """A time such as 2026-03-01 or 2026-03-01T12:00:00Z, as it was written: it may name no zone."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:  # noqa: ANN401  click's signature
        """The moment, with its zone where one was written."""
        try:
            return datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{value!r} is not ISO 8601; write for example 2026-03-01 or 2026-03-01T12:00", param, ctx)


class ListenerAddress(click.ParamType[Listener]):
    """Where to listen, such as 9400 or 127.0.0.1:9400."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Listener:  # noqa: ANN401  click's signature
        """The host, this machine alone where none is named, and the port."""
        try:
            return value if isinstance(value, Listener) else Listener.of(value)
        except ConfigError as error:
            self.fail(str(error), param, ctx)


class Page(click.ParamType[Path]):
    """A place for an HTML page."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:  # noqa: ANN401  click's signature
        """The place, once its ending says that it is one."""
        path = Path(value)
        if path.suffix.lower() not in {".html", ".htm"}:
            self.fail(f"{value!r} is no page; end the name in .html", param, ctx)
        return path


class TreeName(click.ParamType[Any]):
    """A tree of the traffic test by its name."""

    name = "tree"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401  click's signature
        """The tree."""
        from gamewarden.core.trees import Tree

        try:
            return value if isinstance(value, Tree) else Tree.named(value)
        except ConfigError as error:
            self.fail(str(error), param, ctx)


measured_by = click.option(
    "--on",
    metavar="WHERE",
    help="Let others measure events: local:8, spark://host:7077, local-cluster[2,1,1024], dask://host:8786.",
)
source = click.argument("source", type=SOURCE, required=False, callback=from_workspace("lake"))
sources = click.argument(
    "sources",
    nargs=-1,
    required=False,
    type=SOURCE,
    metavar="[SOURCE]…",
    callback=from_workspace("lake", several=True),
)
labels = click.option(
    "--labels",
    type=FILE,
    metavar="FILE",
    callback=from_workspace("labels"),
    help="Who is known: actor,bot …  [default: the workspace's]",
)
models = click.option(
    "--models",
    type=FILE,
    metavar="DIR",
    callback=from_workspace("models"),
    help="Where fitted models are.  [default: the workspace's]",
)
models_if_any = click.option(
    "--models",
    type=FILE,
    metavar="DIR",
    callback=from_workspace("models", needed=False),
    help="Where fitted models are; without any, who looks odd.  [default: the workspace's]",
)
kept_in = click.option(
    "--to",
    type=FILE,
    metavar="DIR",
    callback=from_workspace("models"),
    help="Where the model is kept.  [default: the workspace's]",
)
fresh = click.option("--fresh", is_flag=True, help="Compute anew what rests in the workspace.")
detector = click.option("--detector", metavar="NAME", help="Ask this detector; by default the one that sees most.")
metrics = click.option(
    "--metrics",
    type=ListenerAddress(),
    metavar="[HOST:]PORT",
    help="Tell Prometheus what is counted, at /metrics; on 127.0.0.1 where no host is named.",
)
plot = click.option("--plot", type=FILE, metavar="FILE", help="Draw it as a PNG.")


def together(*options: Decorator) -> Decorator:
    """Several options as one decorator, shown in this order."""

    def decorate(command: Any) -> Any:  # noqa: ANN401  click decorates functions and commands alike
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def reading(function: Callable[..., None]) -> Callable[..., None]:
    """Adds --map, --time-zone and --max-bad-share; the command gets `reading`: how this run reads its sources."""

    @click.option("--map", "mapping", metavar="FILE|PRESET", help="Names of columns and kinds in this log.")
    @click.option(
        "--time-zone",
        "--zone",
        type=Zone(),
        help="Time zone of times written without one, and of the days; a lake has its own.",
    )
    @click.option(
        "--max-bad-share",
        type=click.FloatRange(0, 1),
        metavar="SHARE",
        help="Bad rows allowed.  [default: warden.toml]",
    )
    @wraps(function)
    def command(*, mapping: str | None, time_zone: str | None, max_bad_share: float | None, **given: Any) -> None:  # noqa: ANN401  the command's own
        places = given.get("sources") or [given.get("source")]
        asked = _reading(mapping, time_zone, max_bad_share, places)
        click.get_current_context().meta[TIME_ZONE] = asked.logs.time_zone
        function(reading=asked, **given)

    return command


def databases(function: Callable[..., None]) -> Callable[..., None]:
    """Adds how databases are read to a command that has `reading`."""

    @click.option("--offline", is_flag=True, help="Nobody plays on this database: it may be read in full.")
    @click.option("--password-from", metavar="VARIABLE", default="", help=f"Else {PASSWORD_FROM} has the password.")
    @click.option("--password-file", type=FILE, metavar="FILE", help="A file with the password of a database.")
    @click.option("--encoding", metavar="NAME", default="", help="Letters of a database's texts, such as cp949.")
    @wraps(function)
    def command(
        *,
        reading: "SourceOptions",
        offline: bool,
        password_from: str,
        password_file: Path | None,
        encoding: str,
        **given: Any,  # noqa: ANN401  the command's own
    ) -> None:
        from gamewarden.readers.databases.options import DatabaseOptions
        from gamewarden.readers.logs.layout import known_encoding

        letters = known_encoding(encoding) if encoding else ""
        told = DatabaseOptions(password_from, password_file, letters, offline)
        function(reading=replace(reading, databases=told), **given)

    return command


def time_range(function: Callable[..., None]) -> Callable[..., None]:
    """Adds --since, --until and --last to a command that has `reading`: only what happened then is looked at."""

    @click.option(
        "--since",
        type=WrittenMoment(),
        metavar="TIME",
        help="Only what happened from then on, such as 2026-03-01; without a zone in --time-zone.",
    )
    @click.option("--until", type=WrittenMoment(), metavar="TIME", help="Only what happened before then.")
    @click.option(
        "--last",
        type=Span(),
        metavar="SPAN",
        help="Instead of --since: so long before --until, or before the newest event; 7d are seven calendar days.",
    )
    @wraps(function)
    def command(
        *,
        reading: "SourceOptions",
        since: datetime | None,
        until: datetime | None,
        last: int | None,
        **given: Any,  # noqa: ANN401  the command's own
    ) -> None:
        asked = _time_range(since, until, last, reading.logs.time_zone or current().read.time_zone or "UTC")
        function(reading=replace(reading, time_range=asked), **given)

    return command


def _time_range(since: datetime | None, until: datetime | None, last: int | None, time_zone: str) -> "TimeRange":
    from gamewarden.core.time_ranges import TimeRange, in_utc

    try:
        begin, end = (None if at is None else in_utc(at, time_zone) for at in (since, until))
        return TimeRange(begin, end, last, time_zone)
    except OverflowError:
        raise click.UsageError("--since or --until lies beyond the calendar; give a year from 2 to 9998") from None
    except ConfigError as error:
        raise click.UsageError(str(error)) from error


def on(function: Callable[..., None]) -> Callable[..., None]:
    """Adds --on to a command that has `reading`: who measures events."""

    @measured_by
    @wraps(function)
    def command(*, reading: "SourceOptions", on: str | None, **given: Any) -> None:  # noqa: ANN401  the command's own
        function(reading=replace(reading, on=on or ""), **given)

    return command


def engine_at(where: str) -> "Engine | None":
    """Who measures events for this command, started once and ended with it; None: this process does."""
    if not where:
        return None
    from gamewarden import engine

    ctx = click.get_current_context()
    known: dict[str, Engine] = ctx.meta.setdefault("gamewarden.engines", {})
    if where not in known:
        known[where] = engine.open(where)
        ctx.call_on_close(known[where].close)
    return known[where]


def prevalence(function: Callable[..., None]) -> Callable[..., None]:
    """Adds --prevalence; the command gets `prevalence`: the share of bots that its probabilities suppose."""

    @click.option(
        "--prevalence",
        "share",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        metavar="SHARE",
        help="Share of bots among all accounts, such as 0.05.  [default: warden.toml]",
    )
    @wraps(function)
    def command(*, share: float | None, **given: Any) -> None:  # noqa: ANN401  the command's own
        from gamewarden.verdicts.prevalence import Prevalence

        function(prevalence=Prevalence.of(current(), share), **given)

    return command


ports = click.option(
    "--server-port", "server_ports", type=int, multiple=True, metavar="N", help="Port of the game; may be given again."
)
_ACCOUNTS = click.option(
    "--accounts",
    type=AccountsPlace(path_type=Path),
    metavar="FILE|messages|TOPIC",
    help="Who is behind an address: a table address,port,from,until,account, the client's own connect message, "
    "or a topic such as kafka://host/accounts.",
)
_EMPTY = click.option("--include-empty", is_flag=True, help="Count packets without payload too.")


def packets(function: Callable[..., None]) -> Callable[..., None]:
    """Adds --server-port, --accounts and --include-empty to a command that has `reading`."""

    @ports
    @_ACCOUNTS
    @_EMPTY
    @wraps(function)
    def command(
        *,
        reading: "SourceOptions",
        server_ports: tuple[int, ...],
        accounts: Path | str | None,
        include_empty: bool,
        **given: Any,  # noqa: ANN401  the command's own
    ) -> None:
        from gamewarden.requests import captures_of

        captures = captures_of(server_ports, accounts, include_empty=include_empty)
        function(reading=replace(reading, captures=captures), **given)

    return command


def message_tables(function: Callable[..., None]) -> Callable[..., None]:
    """Adds which messages a client can send, to a command that has `reading`."""

    @click.option(
        "--packet-db",
        type=FILE,
        multiple=True,
        metavar="FILE",
        help="Message table; given again, the later counts over the earlier.  [default: the thesis']",
    )
    @click.option(
        "--packet-version",
        type=int,
        metavar="N",
        help="Up to which version of the message table; of a server's headers, the client's date: YYYYMMDD.",
    )
    @click.option(
        "--packet-client",
        type=click.Choice(PACKET_CLIENTS),
        help="Of a server's headers, the kind of client.  [default: as the server has it by date]",
    )
    @wraps(function)
    def command(
        *,
        reading: "SourceOptions",
        packet_db: tuple[Path, ...],
        packet_version: int | None,
        packet_client: str | None,
        **given: Any,  # noqa: ANN401  the command's own
    ) -> None:
        if packet_version is not None and not packet_db:
            raise ConfigError(
                f"--packet-version {packet_version}: says nothing without a message table; name it with --packet-db"
            )
        told = replace(
            reading.messages, packet_db=packet_db, packet_version=packet_version, packet_client=packet_client
        )
        function(reading=replace(reading, messages=told), **given)

    return command


def packet_reading(function: Callable[..., None]) -> Callable[..., None]:
    """Adds all that says how packets are read; the command gets `reading`."""
    inner = packets(message_tables(function))

    @click.option("--map", "mapping", metavar="FILE", help="Names of the columns of a packet log.")
    @click.option(
        "--time-zone",
        "--zone",
        type=Zone(),
        help="Time zone of times written without one.",
    )
    @wraps(inner)
    def command(*, mapping: str | None, time_zone: str | None, **given: Any) -> None:  # noqa: ANN401  the command's own
        inner(reading=_reading(mapping, time_zone), **given)

    return command


def table(function: Callable[..., None]) -> Callable[..., None]:
    """Adds --out, --json and --raw; the command gets `present`: how its table is shown."""

    @click.option(
        "--out",
        type=FILE,
        metavar="FILE",
        help="Write the table here: .csv, .jsonl, .json, .parquet, .html; - prints CSV.",
    )
    @click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
    @click.option("--raw", is_flag=True, help="Write text into .csv as it is, even what a spreadsheet would run.")
    @wraps(function)
    def command(*, out: Path | None, as_json: bool, raw: bool, **given: Any) -> None:  # noqa: ANN401  the command's own
        function(present=Presentation(out, as_json=as_json, exact=raw), **given)

    return command


def _reading(
    mapping: str | None, time_zone: str | None, max_bad_share: float | None = None, places: Sequence[object] = ()
) -> "SourceOptions":
    from gamewarden.requests import reading_of

    return reading_of(current(), mapping, time_zone, max_bad_share, places)


def with_ports(reading: "SourceOptions", server_ports: tuple[int, ...]) -> "SourceOptions":
    """The same way of reading, of captures of these ports."""
    return replace(reading, captures=replace(reading.captures, server_ports=server_ports))


def opened(place: Where | Sequence[Where], reading: "SourceOptions", reader: str | None = None) -> "Source":
    """What stands at a place, or at several, as a source."""
    from gamewarden import readers
    from gamewarden.readers.places import Place

    if isinstance(place, Path | str | Address):
        return _measured_on(readers.open(place, reading, reader), reading, reader)
    files = [one.file if isinstance(one, Place) else one for one in listed(place)]
    if database := next((one for one in files if isinstance(one, Address)), None):
        raise ConfigError(f"{database}: a database is read alone; read it into a lake, beside whatever else")
    return readers.open([one for one in files if not isinstance(one, Address)], reading, reader)


def _measured_on(source: "Source", reading: "SourceOptions", reader: str | None) -> "Source":
    """The source, measured by whom --on names."""
    engine = engine_at(reading.on)
    if engine is None:
        return source
    from gamewarden.spreading.events import spread

    return spread(source, engine, reading, reader)


def listed(sources: Sequence[Where]) -> "list[File | Place | Address]":
    """Every file that is named, each of a pattern or of a directory in a store for itself.

    Raises:
        ReadError: a pattern names nothing that there is, or a store cannot be read.
    """
    from gamewarden.readers.places import located

    found = [located(source) if isinstance(source, str) else source for source in sources]
    return [place for one in found for place in (one if isinstance(one, list) else [one])]


def opened_together(places: Sequence[Where], reading: "SourceOptions", shelf: Path) -> "Source":
    """What stands at several places, as one source for the models of a shelf; in a workspace all that it has."""
    from gamewarden import pipeline

    home = at_rest("sources")
    if home is not None:
        return home.together(shelf)
    return pipeline.together([opened(place, reading) for place in places], shelf)


def answers(home: "Workspace", reading: "SourceOptions", *, fresh: bool, progress: "Progress") -> "Answers":
    """A workspace that is asked about a time."""
    from gamewarden.workspace.asking import Answers, Question

    asked = replace(home, engine=engine_at(reading.on))
    return Answers(asked, Question(asked.window(reading.time_range), fresh, progress))


def run_options(reading: "SourceOptions") -> "RunOptions":
    """What this run goes by, as its options and warden.toml say."""
    from gamewarden.requests import run_of

    return run_of(current(), reading)
