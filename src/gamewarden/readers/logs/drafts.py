"""The draft of a mapping for a log that nobody has mapped: what was guessed, and how many rows bear it out."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from gamewarden.errors import ReadError
from gamewarden.readers.compression import Unpacked, foreign_format
from gamewarden.readers.logs.convert import Convert
from gamewarden.readers.logs.guesses import NOTHING, Sample, looks_headless, refuse_text
from gamewarden.readers.logs.joins import joined
from gamewarden.readers.logs.layout import NULLS, PLAIN, other_encoding
from gamewarden.readers.logs.mapping import LogMap, parse_mapping
from gamewarden.readers.logs.normalize import ROW
from gamewarden.readers.logs.plausible import ANY_TIME, Plausible
from gamewarden.readers.logs.toml_sections import near_miss
from gamewarden.readers.places import File
from gamewarden.readers.row_report import Report, rows_text
from gamewarden.tables import EVENTS, RESERVED_KINDS

_HEAD = 1 << 20
_LONGEST = 60
_SHOWN = 100  # kinds and columns: as many as a person will go through
# Words in the names of a log's events, and what these probably are; only ever a suggestion.
_MEANT = {
    "login": "session.login",
    "logon": "session.login",
    "logout": "session.logout",
    "logoff": "session.logout",
    "disconnect": "session.logout",
    "kill": "combat.kill",
    "slay": "combat.kill",
    "death": "combat.death",
    "die": "combat.death",
    "attack": "combat.attack",
    "pickup": "loot.pickup",
    "loot": "loot.pickup",
    "drop": "loot.drop",
    "craft": "item.craft",
    "levelup": "level.up",
    "exp": "exp.gain",
    "skill": "skill.use",
    "cast": "skill.use",
    "chat": "chat",
    "say": "chat",
    "whisper": "chat",
    "walk": "move",
    "move": "move",
    "teleport": "zone.enter",
    "deposit": "storage.deposit",
    "withdraw": "storage.withdraw",
}


@dataclass(frozen=True)
class Draft:
    """The text of a mapping file, and what its owner should look at."""

    text: str
    notes: tuple[str, ...]


def draft(path: File, time_zone: str | None = None, plausible: Plausible = ANY_TIME) -> Draft:
    """A mapping for a log file, tried on its first rows.

    Raises:
        ReadError: it is no table we read.
        ConfigError: the zone is none.
    """
    sample = _sample(path)
    columns = sample.guesses()
    parts = (_columns(sample, columns), _time(sample, columns, time_zone), _file(sample, columns))
    body = "\n\n".join(part for part in (*parts, _kinds(sample, columns)) if part) + "\n"
    notes = tuple(_findings(tried(sample, parse_mapping(body, "draft"), plausible)))
    head = f"A draft, by the names of the columns and the first {rows_text(sample.rows)} of {quoted(path.name)}."
    return Draft("".join(f"# {line}\n" for line in (head, *notes)) + "\n" + body, notes)


def tried(sample: Sample, mapping: LogMap, plausible: Plausible = ANY_TIME) -> Report | str:
    """What the first rows become by a mapping, or why none of them can be read."""
    tally = deepcopy(sample.tally)
    rows = pl.Series(ROW, np.arange(sample.rows, dtype=np.int64))
    try:
        convert = Convert(mapping, mapping.clock(), tally, tables=joined(mapping), plausible=plausible)
        tally.kept = convert(sample.frame.with_columns(rows), EVENTS.required).height
    except ReadError as error:
        return str(error)
    return tally.report()


def quoted(text: str) -> str:
    """A text as TOML writes it, on one line."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _sample(path: File) -> Sample:
    """The first rows, in the letters and with the header that they seem to have."""
    with Unpacked(path) as stream:
        head = stream.read(_HEAD)
    binary = head.startswith(b"PAR1") or foreign_format(head)
    layout = PLAIN if binary else replace(PLAIN, encoding=other_encoding(head))
    sample = Sample.of(path, layout)
    refuse_text(sample)
    return Sample.of(path, replace(layout, header=False)) if looks_headless(sample) else sample


def _columns(sample: Sample, columns: Mapping[str, str]) -> str:
    lines = ["[columns]"]
    for ours in EVENTS.columns:
        if ours in columns:
            lines.append(f"{ours} = {quoted(columns[ours])}  # {_borne_out(sample, ours, columns[ours])}")
        elif ours in EVENTS.required:
            lines.append(f'# {ours} = "…"  # no name tells which column this is; without it no row can be read')
    unused = [name for name in sample.texts if name not in columns.values()]
    lines += ["# Not used:"] if unused else []
    lines += [f"#   {quoted(name)}: {_seen(sample, name)}" for name in unused[:_SHOWN]]
    return "\n".join([*lines, *_more(unused)])


def _borne_out(sample: Sample, ours: str, name: str) -> str:
    count, filled = sample.fits(ours, name), sample.filled(name)
    said = f"in {count:,} of {rows_text(sample.rows)} ({_percent(count, sample.rows)})"
    return said if count == filled else f"{said}; in {filled - count:,} it cannot be read"


def _seen(sample: Sample, name: str) -> str:
    filled = sample.filled(name)
    if not filled:
        return "always empty"
    values = sample.texts[name].drop_nulls()
    return f"filled in {_percent(filled, sample.rows)}, as in {quoted(str(values[0])[:_LONGEST])}"


def _percent(count: int, rows: int) -> str:
    return f"{count / max(rows, 1):.1%}".replace("%", " %").replace(".0 %", " %")


def _time(sample: Sample, columns: Mapping[str, str], time_zone: str | None) -> str:
    clock = sample.clock(columns["at"]) if "at" in columns else None
    if clock is None:
        return ""
    lines = ["[time]"]
    if len(clock.formats) > 1:
        lines.append("# These read the times differently, and the rows do not tell which is meant; take one of them.")
    sure = "" if len(clock.formats) == 1 else "# "
    lines += [f"{sure}format = {quoted(one)}" for one in clock.formats]
    if time_zone is not None:
        lines.append(f"zone = {quoted(time_zone)}")
    elif clock.needs_zone:
        lines.append('# zone = "Asia/Seoul"  # the times name none: say where the log\'s clock stood')
    return "\n".join(lines)


def _file(sample: Sample, columns: Mapping[str, str]) -> str:
    layout = sample.layout
    lines = [f"encoding = {quoted(layout.encoding)}  # by its first letters"] if layout.encoding else []
    lines += (
        [] if layout.header else ["header = false  # the first line is a row, so columns are called by their places"]
    )
    lines += _null_words(sample, columns) if sample.shape.format == "csv" else []
    return "\n".join(["[file]", *lines]) if lines else ""


def _null_words(sample: Sample, columns: Mapping[str, str]) -> list[str]:
    """What may stand for null; active where no row is lost by it."""
    found: dict[str, dict[str, int]] = {}
    for name, text in sample.texts.items():
        words = text.filter(text.str.to_lowercase().is_in(NOTHING).fill_null(False)).value_counts()
        for word, count in words.iter_rows():
            found.setdefault(word, {})[name] = count
    if not found:
        return []
    needed = {columns[ours] for ours in EVENTS.required if ours in columns}
    lost = sum(count for names in found.values() for name, count in names.items() if name in needed)
    said = f"  # {rows_text(lost)} would be left out, having no actor, time or kind then" if lost else ""
    listed = ", ".join(quoted(word) for word in dict.fromkeys((*NULLS, *found)))
    return [f"{'# ' if lost else ''}null = [{listed}]{said}"]


def _kinds(sample: Sample, columns: Mapping[str, str]) -> str:
    if "kind" not in columns:
        return ""
    counts = sample.texts[columns["kind"]].drop_nulls().value_counts().sort("count", descending=True)
    values = [(str(value), int(count)) for value, count in counts.iter_rows()]
    lines = [f"# {quoted(value)} = {quoted(_meant(value) or '…')}  # {rows_text(count)}" for value, count in values]
    what = "# Take the # away where a value means one of the reserved kinds; any other keeps its own name."
    return "\n".join(["[kinds]", what, *lines[:_SHOWN], *_more(lines)])


def _meant(value: str) -> str | None:
    """The reserved kind that a log's word probably is."""
    if value in RESERVED_KINDS:
        return value
    words = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", value).lower())
    joined_words = ["".join(words[place : place + 2]) for place in range(len(words))]
    return near_miss(value) or next((_MEANT[word] for word in (*joined_words, *words) if word in _MEANT), None)


def _more(listed: Sequence[object]) -> list[str]:
    return [f"# … and {len(listed) - _SHOWN:,} more"] if len(listed) > _SHOWN else []


def _findings(report: Report | str) -> Iterable[str]:
    """How far the draft gets."""
    if isinstance(report, str):
        yield f"No row can be read with it yet: {report}"
        return
    yield f"Of {rows_text(report.rows)} {report.kept:,} are kept with it ({_percent(report.kept, report.rows)})."
    for fault in report.bad:
        yield f"{_percent(fault.count, report.rows)} of rows are left out: {fault}."
