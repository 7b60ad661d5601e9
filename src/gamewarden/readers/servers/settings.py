"""A game server's own settings, as far as they are lines of a name and a value: what stands there now."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from gamewarden.errors import ReadError
from gamewarden.readers.servers.advice import Advice

_LARGEST = 4 << 20
# `log_zeny: 0`, `Allow.IP.Based.Action.Logging = 0`, `xi.settings.map.AUDIT_TRADE = false,`
_LINE = re.compile(r"\s*([A-Za-z_][\w.]*)\s*[:=]\s*([^\s,;#/][^,;#]*?)\s*(?:[,;#].*|//.*)?$")


@dataclass(frozen=True)
class Setting:
    """What a file says."""

    value: str
    where: str  # file and line


def settings_in(files: Iterable[Path]) -> dict[str, Setting]:
    """The settings of some files; of those that are there twice the last counts, as servers read them.

    Raises:
        ReadError: a file cannot be read.
    """
    found: dict[str, Setting] = {}
    for path in files:
        for number, line in enumerate(_lines(path), 1):
            if parts := _LINE.match(line):
                found[parts[1].lower()] = Setting(parts[2].strip('"'), f"{path}:{number}")
    return found


def compared(advice: Iterable[Advice], settings: Mapping[str, Setting]) -> list[Advice]:
    """Advice with what its lines say now."""
    return [replace(one, now=tuple(_now(one.lines, settings))) for one in advice]


def _now(lines: Iterable[str], settings: Mapping[str, Setting]) -> Iterable[str]:
    for line in lines:
        wanted = _LINE.match(line)
        there = settings.get(wanted[1].lower()) if wanted else None
        if wanted and there:
            same = there.value == wanted[2].strip('"')
            yield f"{there.where} has {there.value}" + ("; it stands so already, and nothing came yet" if same else "")


def _lines(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise ReadError(f"{path}: cannot be read ({error.strerror or error})") from error
    if len(data) > _LARGEST:
        raise ReadError(f"{path}: is longer than {_LARGEST >> 20} MiB, and so no file of settings")
    return data.decode("utf-8", "replace").splitlines()
