"""Tables of a game's database as files, one a table and named as it: as a source like the database itself.

A server, `mysql -B`, phpMyAdmin and `psql` write them in a few ways: with tabs and backslashes, or with commas and
quotes. What stands between two tabs or commas is a text; numbers are only the keys that rows are ordered by.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from gamewarden.contracts import Fingerprint, canonical_json
from gamewarden.core.database_urls import Address
from gamewarden.core.outside import visible
from gamewarden.errors import ReadError
from gamewarden.readers import Locator
from gamewarden.readers.compression import Readable, Unpacked
from gamewarden.readers.databases.dump_tables import MOST_COLUMNS, Column
from gamewarden.readers.databases.dump_text import DumpText
from gamewarden.readers.databases.dump_values import (
    Convert,
    Plain,
    Value,
    converter,
    letters_of,
    of_copy,
    without_backslashes,
)
from gamewarden.readers.databases.dumps import offline
from gamewarden.readers.databases.loaded import LoadedDatabase, Scratch, StoredTable, whole_key
from gamewarden.readers.databases.source import DatabaseSource
from gamewarden.readers.files import file_digest, is_file_locator, path_of
from gamewarden.readers.options import SourceOptions
from gamewarden.readers.places import File, not_empty, places, spooled
from gamewarden.sources import PlainSource

_DELIMITERS = (b"\t", b",", b";", b"|")
_BOM = b"\xef\xbb\xbf"
_A_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_ $.-]{0,63}")
_ESCAPES = re.compile(rb'(?:^|[,;|])\\N(?=[,;|\r\n])|\\"[^,;|\r\n]', re.MULTILINE)
_WINDOWS = re.compile(rb"[^\n]*+(?<=\r)\n")
_SAMPLE = re.compile(rb".{0,60000}", re.DOTALL)


@dataclass(frozen=True)
class Style:
    """How the values of a file are told apart, and what stands for nothing."""

    delimiter: bytes
    backslashes: bool
    line_end: bytes = b"\n"

    @property
    def field(self) -> bytes:
        """One value."""
        ends = re.escape(self.delimiter + self.line_end)
        escaped = rb"[^\\" + ends + rb"]*+(?:\\.[^\\" + ends + rb"]*+)*+"
        if self.delimiter == b"\t":
            return escaped
        if self.backslashes:
            return rb'(?:"[^"\\]*+(?:(?:\\.|"")[^"\\]*+)*+"|(?!")' + escaped + rb")"
        return rb'(?:"[^"]*+(?:""[^"]*+)*+"|[^"' + ends + rb"]*+)"

    def row(self, width: int, taken: Sequence[int]) -> re.Pattern[bytes]:
        """A row, with the values that are taken."""
        fields = [rb"(" + self.field + rb")" if place in set(taken) else self.field for place in range(width)]
        return re.compile(re.escape(self.delimiter).join(fields) + self.line_end, re.DOTALL)

    def plain(self, token: bytes) -> bytes | None:
        r"""What was meant by a value: \N and NULL are nothing, and so is an empty one where texts have quotes."""
        if token[:1] == b'"' and token[-1:] == b'"' and self.delimiter != b"\t":
            inner = token[1:-1].replace(b'""', b'"')
            return without_backslashes(inner) if self.backslashes else inner
        if token in {b"NULL", b"\\N"} or (not token and self.delimiter != b"\t"):
            return None
        return of_copy(token) if self.backslashes else token


class _WithLastLine:
    """A stream whose last line has an end."""

    def __init__(self, stream: Readable) -> None:
        self._stream, self._last = stream, b"\n"

    def read(self, size: int, /) -> bytes:
        """The next bytes."""
        chunk = self._stream.read(size)
        if not chunk and self._last != b"\n":
            chunk = b"\n"
        self._last = chunk[-1:] or self._last
        return chunk


@dataclass(frozen=True)
class Exported:
    """One file, and the table that it holds."""

    file: File
    table: str

    def text(self, stream: Readable) -> DumpText:
        """What stands in it."""
        return DumpText(_WithLastLine(stream), str(self.file))

    def load(self, scratch: Scratch, table: StoredTable, style: Style, convert: Callable[[Column], Convert]) -> None:
        """Put its rows into a table.

        Raises:
            ReadError: a row has more or fewer values than there are columns, or the file cannot be read.
        """
        places = [place for place, column in enumerate(table.columns) if column.name in table.taken]
        columns = [table.columns[place] for place in places]
        converts, pattern = [convert(column) for column in columns], style.row(len(table.columns), places)
        with Unpacked(spooled(self.file)) as stream:
            text = self.text(stream)
            text.line()
            scratch.add(table, [column.name for column in columns], self._rows(text, pattern, converts))

    def _rows(self, text: DumpText, pattern: re.Pattern[bytes], converts: Sequence[Convert]) -> Iterator[list[Value]]:
        number = 0
        for found in text.matches(pattern):
            number += 1
            yield [convert(token) for convert, token in zip(converts, found.groups(), strict=True)]
        text.match(re.compile(rb"\s*+"))
        if not text.done:
            raise ReadError(
                f"{self.file}: row {number + 1:,} has not as many values as there are columns, or a quote in it never "
                f"closes: {text.shown}"
            )


class ExportSource(DatabaseSource):
    """A folder of exported tables, or several of them by a pattern, of a server that was named."""

    is_a = "is exports of a database"

    def __init__(self, locator: Locator, options: SourceOptions) -> None:
        self.options = replace(options, databases=offline(options))
        self._files = _files(locator)
        PlainSource.__init__(self, _named(locator, self._files))

    @staticmethod
    def matches(locator: Locator) -> bool:
        """Never: files are what somebody says they are, by --as export or by the name of a server."""
        del locator
        return False

    def fingerprint(self) -> Fingerprint:
        """A digest of the files' names and bytes."""
        files = sorted([one.name, file_digest(one)] for one in self._files)
        return Fingerprint("folder", self.name, hashlib.sha256(canonical_json(files).encode()).hexdigest())

    @cached_property
    def database(self) -> LoadedDatabase:
        """The tables in a database of our own.

        Raises:
            ReadError: a file cannot be read, or its columns have no names.
            ConfigError: there is no such preset.
        """
        with Scratch(self.name) as scratch:
            tables = {one.table: self._load(one, f"t{number}", scratch) for number, one in enumerate(self._exported())}
            scratch.finish(tables.values())
        return LoadedDatabase(
            Address("sqlite://"), self.options.databases, scratch.file, self.name, tables,
            time_zone=self.options.logs.time_zone,
        )  # fmt: skip

    def _exported(self) -> list[Exported]:
        named = self.options.logs.mapping
        if named is None:
            raise ReadError(f"{self.name}: name the server whose tables these are with --map, such as --map rathena")
        every = [Exported(file, file.name.partition(".")[0]) for file in self._files]
        wanted = [one for one in every if self.preset.wants(one.table)]
        if not wanted:
            some = ", ".join(visible(one.table) for one in every[:5])
            raise ReadError(
                f"{self.name}: holds no table of {self.preset.title} ({some} …); call each file as its table, such as "
                f"{self.preset.tables[0].name}.csv"
            )
        twice = {one.table: other.file for one in wanted for other in wanted if one.table == other.table}
        for one in wanted:
            if twice[one.table] != one.file:
                raise ReadError(f"{one.file} and {twice[one.table]} are both {visible(one.table)}; keep one of them")
        return wanted

    def _load(self, one: Exported, stored: str, scratch: Scratch) -> StoredTable:
        style, names = _looked_over(one)
        columns = tuple(Column(name, "TEXT") for name in names)
        table = StoredTable(one.table, stored, columns, self.preset.logged(one.table))
        scratch.create(table)
        try:
            one.load(scratch, table, style, lambda column: self._convert(one, table, column, style.plain))
        except ReadError:
            if style.delimiter == b"\t":
                raise
            # Its first rows did not tell whether a backslash is one.
            scratch.drop(table)
            scratch.create(table)
            other = replace(style, backslashes=not style.backslashes)
            one.load(scratch, table, other, lambda column: self._convert(one, table, column, other.plain))
        return table

    def _convert(self, one: Exported, table: StoredTable, column: Column, plain: Plain) -> Convert:
        logged = table.logged
        key = logged is not None and column.name == logged.key
        counted = logged is not None and column.name == logged.time and logged.format.startswith("epoch")
        read_as = replace(column, type="BIGINT") if key or counted else column
        kept = bool(self.options.databases.encoding)
        made = converter(read_as, plain, letters_of("utf-8"), kept=kept, utc=False)
        return whole_key(made, f"{one.file}: {column.name}") if key else made


def _looked_over(one: Exported) -> tuple[Style, tuple[str, ...]]:
    """How a file is written, and its columns.

    Raises:
        ReadError: its first line does not name them.
    """
    with Unpacked(spooled(one.file)) as stream:
        text = one.text(stream)
        windows = text.ahead(_WINDOWS) is not None
        first = text.line().removeprefix(_BOM)
        found = text.ahead(_SAMPLE)
    delimiter = max(_DELIMITERS, key=first.count)
    names = tuple(name.strip().strip('"') for name in first.decode(errors="replace").split(delimiter.decode()))
    if len(set(names)) < len(names) or len(names) > MOST_COLUMNS or not all(map(_A_NAME.fullmatch, names)):
        raise ReadError(
            f"{one.file}: its first line does not name the columns ({visible(first[:60].decode(errors='replace'))}); "
            "export it with a header line"
        )
    sample = found[0] if found else b""
    escapes = delimiter == b"\t" or _ESCAPES.search(sample) is not None
    return Style(delimiter, escapes, b"\r\n" if windows else b"\n"), names


def _files(locator: Locator) -> list[File]:
    if isinstance(locator, Path) and locator.is_dir():
        return [place.file for place in not_empty(places(str(locator)))]
    if is_file_locator(locator):
        return [path_of(locator)]
    if isinstance(locator, Sequence) and all(map(is_file_locator, locator)):
        return [path_of(place) for place in locator]
    raise ReadError(f"{type(locator).__name__}: is no folder of exported tables; name one")


def _named(locator: Locator, files: Sequence[File]) -> str:
    """What a lake knows them by: where they are."""
    if isinstance(locator, Path):
        return f"export:{locator.absolute()}"
    return f"export:{str(files[0]).rpartition('/')[0]}"
