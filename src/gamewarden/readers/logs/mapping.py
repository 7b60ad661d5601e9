"""Mapping files: how the columns, times and event names of any game's log become ours."""

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from importlib import resources
from pathlib import Path
from typing import Any

from gamewarden.contracts import canonical_json, digest
from gamewarden.errors import ConfigError
from gamewarden.readers.logs.layout import PLAIN, Layout, known_encoding
from gamewarden.readers.timestamps import TimeReader
from gamewarden.tables import EVENTS, RESERVED_KINDS

_SECTIONS = ("columns", "time", "kinds", "only", "amount", "file")
_NEARLY = 0.8  # difflib's ratio above which a name is taken for a slip of the pen


@dataclass(frozen=True)
class LogMap:
    """What a log's columns and values are called, and what we call them.

    Without columns the log's names already are ours. With some, only those are read, and `actor`, `at` and `kind`
    keep their own names unless they are among them.
    """

    name: str = "none"
    columns: Mapping[str, str] = field(default_factory=dict)  # ours -> theirs
    format: str = "auto"
    time_zone: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)  # their value -> our kind
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # our column -> their kinds that fill it
    losses: tuple[str, ...] = ()  # their kinds whose amount the actor gives away
    layout: Layout = PLAIN  # how the file itself is written

    def theirs(self) -> dict[str, str]:
        """Our columns as the log calls them."""
        if not self.columns:
            return {name: name for name in EVENTS.columns}
        return {**{name: name for name in EVENTS.required}, **self.columns}

    def clock(self, time_zone: str | None = None) -> TimeReader:
        """How the log writes its times; a zone given here wins over the file's."""
        return TimeReader(self.format, time_zone or self.time_zone)

    @property
    def renames_nothing(self) -> bool:
        """Whether every value stays as it is."""
        return not (self.kinds or self.only or self.losses) and all(a == b for a, b in self.theirs().items())

    @property
    def digest(self) -> str:
        """Names this mapping by what it does, not by its name."""
        values = [dict(self.theirs()), self.format, self.time_zone, dict(self.kinds), dict(self.only), self.losses]
        # What was read before mappings could say it is known again.
        written = [] if self.layout == PLAIN else [asdict(self.layout)]
        return digest(canonical_json([*values, *written]))


IDENTITY = LogMap()


def presets() -> tuple[str, ...]:
    """The names of the mappings that come with gamewarden."""
    folder = resources.files("gamewarden.readers") / "presets"
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")))


def load_mapping(name: str | Path) -> LogMap:
    """A mapping by a preset's name or a file's path.

    Raises:
        ConfigError: there is neither, or it says something we cannot follow.
    """
    if str(name) in presets():
        preset = resources.files("gamewarden.readers") / "presets" / f"{name}.toml"
        return parse_mapping(preset.read_text(encoding="utf-8"), str(name))
    path = Path(name)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: byte {error.start} is not UTF-8; save the mapping file as UTF-8") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(
            f"mapping {str(name)!r} is neither a preset ({', '.join(presets())}) nor a file that can be read ({reason})"
        ) from error
    return parse_mapping(text, str(path))


def parse_mapping(text: str, name: str) -> LogMap:
    """A mapping from the text of its TOML file.

    Raises:
        ConfigError: it is not TOML, or says something we cannot follow.
    """
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{name}: is not TOML: {str(error) or 'nested too deep'}") from error
    _known(values, _SECTIONS, name, "section")
    columns = _texts(values, "columns", name)
    _known(columns, tuple(EVENTS.columns), f"{name}: [columns]", "column")
    time = _texts(values, "time", name)
    _known(time, ("format", "zone"), f"{name}: [time]", "key")
    kinds = _texts(values, "kinds", name)
    for theirs, ours in kinds.items():
        _refuse_near_miss(ours, f"{name}: [kinds] {theirs!r}")
    amount = _lists(values, "amount", name)
    _known(amount, ("losses",), f"{name}: [amount]", "key")
    only = _lists(values, "only", name)
    _known(only, tuple(set(EVENTS.columns) - set(EVENTS.required)), f"{name}: [only]", "optional column")
    try:
        TimeReader(time.get("format", "auto"), time.get("zone"))
    except ConfigError as error:
        raise ConfigError(f"{name}: [time] {error}") from error
    losses = amount.get("losses", ())
    layout = _layout(_section(values, "file", name), name)
    return LogMap(name, columns, time.get("format", "auto"), time.get("zone"), kinds, only, losses, layout)


def _layout(values: Mapping[str, Any], name: str) -> Layout:
    _known(values, ("encoding", "header", "null"), f"{name}: [file]", "key")
    header, null, encoding = values.get("header", True), values.get("null"), values.get("encoding")
    if not isinstance(header, bool):
        header = _names(header, f"{name}: [file] header", 'true, false, or the columns in order, as in ["time", "id"]')
    if null is not None:
        null = _names(null, f"{name}: [file] null", r"a list of quoted values, as in ['\N', 'NULL']")
    if encoding is not None:
        try:
            known_encoding(encoding)
        except ConfigError as error:
            raise ConfigError(f"{name}: [file] {error}") from error
    return Layout(encoding, header is True, () if isinstance(header, bool) else header, null)


def _names(value: object, where: str, needed: str) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(item, str) for item in value) and len(set(value)) == len(value):
        return tuple(value)
    raise ConfigError(f"{where} is {value!r}; it must be {needed}, each once")


def nearest(name: str, names: tuple[str, ...], likeness: float = 0.6) -> str | None:
    """The known name that was probably meant."""
    folded = {known.lower(): known for known in sorted(names)}
    found = get_close_matches(name.lower(), folded, n=1, cutoff=likeness)
    return folded[found[0]] if found else None


def near_miss(kind: str) -> str | None:
    """The reserved kind that a name of no reserved kind was probably meant to be."""
    if kind in RESERVED_KINDS:
        return None
    folded = kind.lower().replace("_", ".").replace("-", ".").replace(" ", ".").strip(".")
    if folded in RESERVED_KINDS:
        return folded
    last = [name for name in RESERVED_KINDS if name.partition(".")[2] == folded]
    if len(last) == 1:
        return last[0]
    found = get_close_matches(folded, sorted(RESERVED_KINDS), n=1, cutoff=_NEARLY)
    return found[0] if found and "." in folded and abs(len(found[0]) - len(folded)) <= 1 else None


def _refuse_near_miss(kind: str, where: str) -> None:
    meant = near_miss(kind)
    if not kind or meant:
        raise ConfigError(f"{where}: kind {kind!r} is not a reserved kind; {f'{meant!r} is' if meant else 'name one'}")


def _known(values: Mapping[str, object], names: tuple[str, ...], where: str, what: str) -> None:
    for key in values:
        if key not in names:
            meant = nearest(key, names)
            hint = f"did you mean {meant!r}?" if meant else f"there are {', '.join(sorted(names))}"
            raise ConfigError(f"{where}: unknown {what} {key!r}; {hint}")


def _section(values: Mapping[str, Any], section: str, name: str) -> Mapping[str, Any]:
    found = values.get(section, {})
    if not isinstance(found, dict):
        raise ConfigError(f"{name}: {section} must be a section, written [{section}]")
    return found


def _texts(values: Mapping[str, Any], section: str, name: str) -> dict[str, str]:
    found = _section(values, section, name)
    for key, value in found.items():
        if not isinstance(value, str):
            raise ConfigError(f'{name}: [{section}] {key} is {value!r}; write it in quotes, as in {key} = "{value}"')
    return dict(found)


def _lists(values: Mapping[str, Any], section: str, name: str) -> dict[str, tuple[str, ...]]:
    found = _section(values, section, name)
    for key, value in found.items():
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ConfigError(f'{name}: [{section}] {key} must be a list of quoted values, as in {key} = ["1003"]')
    return {key: tuple(value) for key, value in found.items()}
