"""Verdicts at rest: a sealed bundle of tables per day, and a log of seals in which every line is bound to all before.

A seal names every file of its day with its SHA-256, so that a changed byte, a removed row and a removed day show. A day
that is judged again gets a bundle and a seal of its own beside the earlier ones: what a verdict rested on stays.
"""

import json
import re
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from gamewarden.core.files import alone_in, make_directory, sync, sync_name, write_text
from gamewarden.errors import VerdictError, WriteError, short
from gamewarden.learning.validation import Count, Moment, PerhapsTime, Time, misfit
from gamewarden.store.append_log import AppendLog
from gamewarden.store.partitions import file_digest, read_rows, write_rows
from gamewarden.store.sealed import sha256

LOG = "seals.jsonl"
HEAD = "head.json"
FACTS = "day.json"
_DRAFT = ".draft"
_TABLE = ".parquet"
_DAY = re.compile(r"day=[0-9]{1,4}-[0-9]{2}-[0-9]{2}")
_BUNDLE = re.compile(rf"{_DAY.pattern}/[0-9a-f]{{16}}")
_FILE = re.compile(r"[0-9A-Za-z][0-9A-Za-z._@-]{0,120}")


@dataclass(frozen=True)
class DaySeal:
    """What was sealed of one day."""

    day: str  # such as day=2026-03-01
    bundle: str  # its directory
    since: Moment
    until: Moment
    verdicts: Count
    kept: Count  # of them with all they rest on
    content: str  # what names the events and files that were judged
    rules: str  # what names models, fusion and rules
    files: Mapping[str, str]  # name -> SHA-256
    at: Time  # when it was judged
    forgotten: Count = 0  # actors who were forgotten since: their verdicts stay without a name, and rest on nothing
    resealed: PerhapsTime = ""  # when that was
    replaces: str = ""  # the bundle that still knew them, and is gone


@dataclass(frozen=True)
class Bundle:
    """All there is to keep of the verdicts of a day."""

    tables: Mapping[str, pl.DataFrame]
    facts: Mapping[str, Any]  # JSON values that hold for all of them


@dataclass
class _OpenLog:
    """The log of seals as an object that writes it knows it."""

    log: AppendLog
    bundles: set[str]  # that a seal names
    left: tuple[tuple[int, ...], ...]  # how its files looked when this object last wrote them


class VerdictDays:
    """The sealed days of a directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._open: _OpenLog | None = None
        self._several = False

    def seals(self) -> list[DaySeal]:
        """Every seal that stands, the first one first: none of a dropped day, and one for another that it replaces.

        Raises:
            VerdictError: the log was edited, cut or damaged.
        """
        standing: dict[str, DaySeal] = {}  # by the bundle that was sealed first
        first: dict[str, str] = {}
        for record in self._records():
            if "dropped" in record:
                standing = {name: one for name, one in standing.items() if one.day != record["dropped"]}
            else:
                seal = self._seal(record)
                first[seal.bundle] = first.get(seal.replaces, seal.bundle)
                standing[first[seal.bundle]] = seal
        return list(standing.values())

    def _records(self) -> Sequence[Mapping[str, Any]]:
        if not (self.directory / LOG).exists():
            self._refuse_lost_log(())
            return ()
        records = AppendLog(self.directory / LOG, VerdictError, called="log of seals").records
        self._refuse_lost_log(records)
        return records

    def current(self) -> dict[str, DaySeal]:
        """The latest seal of each day, the earliest day first."""
        latest = {seal.day: seal for seal in self.seals()}
        return dict(sorted(latest.items(), key=lambda one: (one[1].since, one[0])))

    def seal(
        self, day: str, bundle: Bundle, *, since: int, until: int, content: str, rules: str, kept: int, at: str
    ) -> DaySeal:
        """Keep a day and seal it; both are on the disk before this returns, or neither counts.

        Raises:
            VerdictError: the log was edited or damaged.
            WriteError: the directory cannot be written.
        """
        with self._writing():
            known = self._checked_log().bundles
            if not (self.directory / HEAD).exists():
                self._remember(0, {})  # before anything else: whoever removes it later is found out
            self._sweep(day, known)
            name, files = self._keep(day, bundle, at)
            height = bundle.tables["verdicts"].height
            made = DaySeal(day, name, since, until, height, kept, content, rules, files, at)
            self._log(asdict(made))
        return made

    @contextmanager
    def several(self) -> Iterator[None]:
        """Within it days are sealed one after the other: the log is read and checked once, not again for each day."""
        self._several = True
        try:
            yield
        finally:
            self._several = False

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with alone_in(self.directory):
            if not self._several:
                self._open = None
            yield

    def replace(self, seal: DaySeal, bundle: Bundle, *, content: str, kept: int, forgotten: int, at: str) -> DaySeal:
        """Put a bundle that no longer knows somebody in the place of a sealed one, which goes; its own seal says so.

        Raises:
            VerdictError: the log was edited or damaged.
            WriteError: the directory cannot be written.
        """
        with self._writing():
            self._sweep(seal.day, self._checked_log().bundles)
            name, files = self._keep(seal.day, bundle, at)
            new = replace(seal, bundle=name, files=files, content=content, kept=kept, forgotten=forgotten)
            made = replace(new, resealed=at, replaces=seal.bundle)
            self._log(asdict(made))
            shutil.rmtree(self.directory / seal.bundle)
        return made

    def sweep(self) -> None:
        """Remove what a crash has left: bundles that no seal names, and days that were dropped.

        Raises:
            WriteError: the directory cannot be written.
        """
        if not self.directory.is_dir():
            return
        with alone_in(self.directory):
            known = {one.bundle for one in self.seals()}
            for place in sorted(self.directory.glob("day=*")):
                self._sweep(place.name, known)
                if not any(place.iterdir()):
                    place.rmdir()

    def _keep(self, day: str, bundle: Bundle, at: str) -> tuple[str, dict[str, str]]:
        """Write a bundle; its name, and the digest of each of its files."""
        draft = self.directory / day / _DRAFT
        files = _write(bundle, draft)
        name = f"{day}/{sha256({**files, 'at': at, 'place': len(self._checked_log().log.records)})[:16]}"
        draft.rename(self.directory / name)
        sync_name(self.directory / name)
        return name, files

    def _log(self, record: Mapping[str, Any]) -> None:
        opened = self._checked_log()
        opened.log.append(record)
        self._remember(len(opened.log.records), record)
        gone = {name for name in opened.bundles if name.partition("/")[0] == record.get("dropped")}
        opened.bundles -= {*gone, str(record.get("replaces"))}
        opened.bundles |= {str(record["bundle"])} if "bundle" in record else set()
        opened.left = self._files_now()

    def _checked_log(self) -> "_OpenLog":
        """The log for one more record: read and checked as a whole where it is not as this object left it.

        Raises:
            VerdictError: the log was edited, cut or damaged.
        """
        now = self._files_now()
        if self._open is None or self._open.left != now:
            bundles = {one.bundle for one in self.seals()}
            self._open = _OpenLog(AppendLog(self.directory / LOG, VerdictError, called="log of seals"), bundles, now)
        return self._open

    def _files_now(self) -> tuple[tuple[int, ...], ...]:
        """What tells whether somebody else has written the log or its head."""
        return tuple(_file_state(self.directory / name) for name in (LOG, HEAD))

    def drop(self, days: Collection[str], because: str, at: str) -> None:
        """Take days away for good; that they were there, and why they went, stays in the log.

        Raises:
            VerdictError: the log was edited or damaged.
            WriteError: a name is none of a day, or the directory cannot be written.
        """
        if strange := [day for day in days if not _DAY.fullmatch(day)]:
            raise WriteError(f"{self.directory}: {short(strange[0])} names no day; such as day=2026-03-01 does")
        with self._writing():
            for day in sorted(days):
                self._log({"dropped": day, "because": because, "at": at})
                shutil.rmtree(self.directory / day, ignore_errors=True)

    def dropped(self) -> set[str]:
        """The days that were taken away."""
        return {str(record["dropped"]) for record in self._records() if "dropped" in record}

    def stubs(self, seal: DaySeal) -> list[str]:
        """What stands in the verdicts of a day for those who were forgotten.

        Raises:
            VerdictError: the file that says so is missing or damaged.
        """
        return [str(one) for one in self.facts(seal).get("forgotten", [])] if seal.forgotten else []

    def table(
        self,
        seal: DaySeal,
        name: str = "verdicts",
        columns: Sequence[str] | None = None,
        actors: Collection[str] | None = None,
    ) -> pl.DataFrame:
        """A table of a day, of these actors or of all.

        Raises:
            ReadError: it is missing or damaged.
        """
        return read_rows(self.directory / seal.bundle / f"{name}{_TABLE}", columns, actors)

    def of_actor(self, seals: Sequence[DaySeal], actor: str) -> pl.DataFrame:
        """The verdicts of one actor on several days in one reading, each with its day.

        Raises:
            ReadError: those of a day are missing or damaged.
        """
        days = {str(self.directory / one.bundle / f"verdicts{_TABLE}"): one.day for one in seals}
        try:
            rows = pl.scan_parquet(list(days), include_file_paths="day").filter(pl.col("actor") == actor).collect()
            return rows.with_columns(pl.col("day").replace_strict(days, return_dtype=pl.String))
        except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):  # one by one it is said which
            parts = (self.table(one, actors=[actor]).with_columns(day=pl.lit(one.day)) for one in seals)
            return pl.concat(parts, how="diagonal_relaxed") if seals else pl.DataFrame()

    def tables(self, seal: DaySeal) -> list[str]:
        """The tables of a day."""
        return sorted(name.removesuffix(_TABLE) for name in seal.files if name.endswith(_TABLE))

    def facts(self, seal: DaySeal) -> dict[str, Any]:
        """What holds for all verdicts of a day.

        Raises:
            VerdictError: the file is missing or damaged.
        """
        path = self.directory / seal.bundle / FACTS
        try:
            values = json.loads(path.read_bytes())
        except OSError as error:
            raise VerdictError(f"{path}: cannot be read ({error.strerror or error})") from error
        except (ValueError, RecursionError) as error:
            raise VerdictError(f"{path}: is not JSON, so it was changed or damaged") from error
        if not isinstance(values, dict):
            raise VerdictError(f"{path}: is no object, so it was changed or damaged")
        return values

    def faults(self, seal: DaySeal) -> Iterator[str]:
        """What is not as it was sealed.

        Raises:
            OSError: a file cannot be read.
        """
        place = self.directory / seal.bundle
        if not place.is_dir():
            yield f"it is gone ({seal.verdicts:,} verdicts were sealed)"
            return
        for name, wanted in sorted(seal.files.items()):
            path = place / name
            if not path.is_file():
                yield f"{name} is gone"
            elif file_digest(path) != wanted:
                yield f"{name} is not what was sealed"
        for path in sorted(place.iterdir()):
            if path.name not in seal.files:
                yield f"{path.name} was added after it was sealed"

    def _seal(self, record: Mapping[str, Any]) -> DaySeal:
        if wrong := misfit(DaySeal, dict(record), "a seal"):
            raise VerdictError(f"{self.directory / LOG}: {wrong}; put a copy of it back")
        made = DaySeal(**record)
        if not _BUNDLE.fullmatch(made.bundle) or made.bundle.partition("/")[0] != made.day:
            raise VerdictError(f"{self.directory / LOG}: a seal names {short(made.bundle)}; put a copy of it back")
        if odd := [name for name in made.files if not _FILE.fullmatch(name)]:
            raise VerdictError(f"{self.directory / LOG}: a seal names {short(odd[0])}; put a copy of it back")
        return made

    def _remember(self, seals: int, last: Mapping[str, Any]) -> None:
        values = {"seals": seals, "last": sha256(dict(last))}
        write_text(self.directory / HEAD, json.dumps(values, sort_keys=True) + "\n")

    def _refuse_lost_log(self, records: Sequence[Mapping[str, Any]]) -> None:
        """A log that was cut at its end is whole in itself; the head remembers how far it went."""
        path = self.directory / HEAD
        try:
            if not path.exists():
                fits = not records and not any(self.directory.glob("day=*"))
            else:
                head = json.loads(path.read_bytes())
                fits = _fits(head["seals"], head.get("last"), records)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise VerdictError(
                f"{path}: cannot be read, so nobody knows whether seals are missing; put a copy of it back"
            ) from error
        if not fits:
            raise VerdictError(f"{self.directory / LOG}: seals are missing that were there; put a copy of it back")

    def _sweep(self, day: str, known: Collection[str]) -> None:
        """Remove what a crash has left of a day: whatever no seal names."""
        place = self.directory / day
        make_directory(place)
        for path in place.iterdir():
            if f"{day}/{path.name}" not in known and path.is_dir():
                shutil.rmtree(path)


def _file_state(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except FileNotFoundError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns


def _fits(seals: object, last: object, records: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a head is of this log; a crash keeps it one seal behind at most."""
    if not isinstance(seals, int) or isinstance(seals, bool) or not 0 <= len(records) - seals <= 1:
        return False
    return seals == 0 or (seals > 0 and sha256(dict(records[seals - 1])) == last)


def _write(bundle: Bundle, draft: Path) -> dict[str, str]:
    """Write a bundle; the digest of each of its files."""
    make_directory(draft)
    for name, table in bundle.tables.items():
        path = draft / f"{name}{_TABLE}"
        write_rows(table, path)
        sync(path)
    write_text(draft / FACTS, json.dumps(bundle.facts, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    return {path.name: file_digest(path) for path in sorted(draft.iterdir())}
