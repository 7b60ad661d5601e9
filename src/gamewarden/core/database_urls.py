"""Where a database is: its URL, the password from the environment or a file, and a name that gives nothing away."""

import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from gamewarden.core.outside import visible
from gamewarden.errors import ConfigError, ReadError

PASSWORD_FROM = "GAMEWARDEN_DB_PASSWORD"  # noqa: S105  the name of a variable
SCHEMES = ("mysql", "mariadb", "postgresql", "sqlite")
_ANY = re.compile(r"(mysql|mariadb|postgres|postgresql|sqlite|mssql|oracle|mongodb)(\+\w+)?://", re.IGNORECASE)
_LARGEST = 4 << 10  # bytes of a file with a password


@dataclass(frozen=True)
class Address:
    """A database as its URL names it; shown, it names neither who asks nor a password."""

    url: str = field(repr=False)

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """The same from wherever and by whomever it is read."""
        parts = _split(self.url)
        if parts.scheme == "sqlite":
            return f"sqlite:///{Path(unquote(parts.path[1:])).absolute()}"
        port = f":{parts.port}" if parts.port else ""
        socket = dict(parse_qsl(parts.query)).get("unix_socket") or dict(parse_qsl(parts.query)).get("host")
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        return f"{parts.scheme}://{socket or host or 'localhost'}{port}{unquote(parts.path)}"

    @property
    def scheme(self) -> str:
        """Which kind of database it is."""
        return _split(self.url).scheme

    @property
    def has_password(self) -> bool:
        """Whether a password stands in it, where others can read it."""
        return _split(self.url).password is not None

    @property
    def without_password(self) -> str:
        """The URL as it may be written down."""
        parts = _split(self.url)
        where = parts.netloc.rpartition("@")[2]
        return parts._replace(netloc=f"{parts.username}@{where}" if parts.username else where).geturl()


def is_database(locator: object) -> bool:
    """Whether a text is the URL of a database, told by how it begins, be it of one that can be read or not."""
    return isinstance(locator, str) and bool(_ANY.match(locator))


def address_of(locator: str, base: Path | None = None) -> Address:
    """The database that a text names; a file of SQLite begins at `base`.

    Raises:
        ReadError: it is no URL, or names no database that can be read.
    """
    parts = _split(locator)
    if parts.scheme not in SCHEMES:
        some = ", ".join(f"{scheme}://" for scheme in SCHEMES)
        raise ReadError(f"{parts.scheme}://…: is no database that can be read; its URL begins with one of {some}")
    if not parts.path.strip("/"):
        example = "sqlite:///logs.db" if parts.scheme == "sqlite" else f"{parts.scheme}://user@host/name"
        raise ReadError(f"{visible(Address(locator).name)}: names no database; write {example}")
    if parts.scheme == "sqlite" and base is not None:
        return Address(f"sqlite:///{(base / unquote(parts.path[1:])).absolute()}")
    return Address(locator)


def password_for(address: Address, variable: str, file: Path | None) -> str | None:
    """The password: of the file, of the environment, or the one in the URL; None where there is none.

    Raises:
        ConfigError: the file cannot be read, or others may read it.
    """
    if file is not None:
        return _in_file(file)
    if given := os.environ.get(variable or PASSWORD_FROM):
        return given
    written = _split(address.url).password
    return None if written is None else unquote(written)


def _in_file(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            seen, content = os.fstat(opened.fileno()), opened.read(_LARGEST)
    except OSError as error:
        raise ConfigError(f"{file}: the password cannot be read ({error.strerror or error})") from error
    if seen.st_mode & (stat.S_IRGRP | stat.S_IROTH):
        raise ConfigError(f"{file}: others than you may read the password in it; chmod 600 it")
    return content.decode(errors="replace").partition("\n")[0].strip("\r")


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        # What is wrong may be a part of the password, so that nothing of it is shown, nor its cause.
        scheme = visible(url.partition(":")[0])
        raise ReadError(
            f"{scheme}://…: is no URL of a database; write {scheme}://user@host/name, the password in {PASSWORD_FROM}"
        ) from None
    return parts
