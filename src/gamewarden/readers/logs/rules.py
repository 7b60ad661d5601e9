"""What a mapping says of rows: which are meant, what a sign means, where an account stands, who else took part."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gamewarden.errors import ConfigError
from gamewarden.readers.logs.toml_sections import kind_of, known, texts
from gamewarden.tables import EVENTS

MOST_SIDES = 16
# What a row says of its first actor alone: an event of somebody else does not have it.
PERSONAL = ("character", "x", "y", "level", "target", "other", "session", "ip")


@dataclass(frozen=True)
class Condition:
    """The values of which a row must have one in a column of the log, or must have none; empty and null are ''."""

    column: str
    values: tuple[str, ...]
    wanted: bool = True


@dataclass(frozen=True)
class Signed:
    """The kinds that one value of the log stands for, by the sign of the row's amount; None keeps the value."""

    positive: str | None = None
    negative: str | None = None
    zero: str | None = None

    @property
    def kinds(self) -> tuple[str, ...]:
        """Those that are named."""
        return tuple(kind for kind in (self.positive, self.negative, self.zero) if kind is not None)


@dataclass(frozen=True)
class Join:
    """A second table whose row of the same key stands below each row of the log, under the join's name."""

    name: str
    file: Path
    on: str  # the log's column
    key: str  # the table's
    grows: bool = False  # rows that were read stay as they are when the table has changed


@dataclass(frozen=True)
class Side:
    """One event that each row gives, or each that fits: which columns are its own, and its kind where it is fixed."""

    columns: Mapping[str, str] = field(default_factory=dict)  # ours -> theirs
    kind: str | None = None
    where: tuple[Condition, ...] = ()
    opposite: bool = False  # its amount has the other sign

    def beside(self, first: Mapping[str, str]) -> "Side":
        """With what it takes over from the row's first event: all, and if somebody else acts, nothing personal."""
        left = PERSONAL if "actor" in self.columns else ()
        taken = {ours: theirs for ours, theirs in first.items() if ours not in left}
        return Side({**taken, **self.columns}, self.kind, self.where, self.opposite)


ONE = Side()


def conditions(values: object, where: str) -> tuple[Condition, ...]:
    """`[where]`, or the `where` of a further event.

    Raises:
        ConfigError: a value is neither a text, a list of them nor {not = …}.
    """
    if not isinstance(values, dict):
        raise ConfigError(f"{where} must be a section: column = value")
    return tuple(_condition(column, value, where) for column, value in values.items())


def _condition(column: str, value: object, where: str) -> Condition:
    wanted = not (isinstance(value, dict) and [*value] == ["not"])
    value = value if wanted else value["not"]  # type: ignore[index]  # just seen
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not listed or not all(isinstance(item, str) for item in listed):
        raise ConfigError(
            f'{where} {column} is {value!r}; write a value or a list of them in quotes, or {{not = ["…"]}}, and a path '
            'in quotes as in "player.rank"'
        )
    return Condition(column, tuple(listed), wanted)


def signed(value: Mapping[str, Any], where: str) -> Signed:
    """A value of `[kinds]` that goes by the amount's sign.

    Raises:
        ConfigError: it names no sign, or a kind we cannot follow.
    """
    known(value, ("positive", "negative", "zero"), where, "sign")
    if not value:
        raise ConfigError(f'{where} is empty; write {{positive = "loot.pickup", negative = "loot.drop"}}')
    return Signed(**{sign: kind_of(kind, f"{where} {sign}") for sign, kind in value.items()})


def joins(values: Mapping[str, Any], name: str, folder: Path) -> tuple[Join, ...]:
    """The sections `[join.NAME]`; their files stand beside the mapping.

    Raises:
        ConfigError: one says too little, or something else.
    """
    return tuple(_join(one, said, f"{name}: [join.{one}]", folder) for one, said in values.items())


def _join(name: str, said: object, where: str, folder: Path) -> Join:
    if not isinstance(said, dict):
        raise ConfigError(f"{where} must be a section; name the join, as in [join.char]")
    if not name or "." in name:
        raise ConfigError(f"{where}: {name!r} must be a word without dots, since columns are called {name}.COLUMN")
    known(said, ("file", "on", "key", "grows"), where, "key")
    grows = said.get("grows", False)
    if not isinstance(grows, bool):
        raise ConfigError(f"{where} grows is {grows!r}; it must be true or false")
    found = texts({name: {key: value for key, value in said.items() if key != "grows"}}, name, where)
    for needed in ("file", "on"):
        if not found.get(needed):
            raise ConfigError(f'{where} has no {needed}; write file = "chars.csv", on = "the log\'s column"')
    if "\0" in found["file"]:
        raise ConfigError(f"{where} file has a NUL in its name; name a file")
    return Join(name, folder / found["file"], found["on"], found.get("key") or found["on"], grows)


def sides(values: object, name: str) -> tuple[Side, ...]:
    """The further events of a row, `[[also]]`.

    Raises:
        ConfigError: they are too many, or one says something we cannot follow.
    """
    if not isinstance(values, list) or not all(isinstance(one, dict) for one in values):
        raise ConfigError(f"{name}: also must be sections, each written [[also]]")
    if len(values) >= MOST_SIDES:
        raise ConfigError(f"{name}: has {len(values)} sections [[also]]; a row gives {MOST_SIDES} events at most")
    return tuple(_side(one, f"{name}: [[also]] {place}") for place, one in enumerate(values, 1))


def _side(said: Mapping[str, Any], where: str) -> Side:
    known(said, ("columns", "kind", "where", "opposite"), where, "key")
    columns = texts(said, "columns", where)
    known(columns, tuple(name for name in EVENTS.columns if name != "seq"), f"{where} columns", "column")
    kind = None if "kind" not in said else kind_of(said["kind"], f"{where} kind")
    if kind is None and not {"actor", "kind"} & columns.keys():
        raise ConfigError(f"{where} would be the same event twice; give it a kind, or an actor under columns")
    if kind is not None and "kind" in columns:
        raise ConfigError(f"{where} has its kind twice, fixed and by a column; write one of them")
    opposite = said.get("opposite", False)
    if not isinstance(opposite, bool):
        raise ConfigError(f"{where} opposite is {opposite!r}; it must be true or false")
    return Side(columns, kind, conditions(said.get("where", {}), f"{where} where"), opposite)


def said(rule: Condition | Signed | Join | Side) -> object:
    """A rule as values that can be written down and compared; of a join not where its file stands."""
    if isinstance(rule, Join):
        return [rule.name, rule.on, rule.key, rule.grows]
    return asdict(rule)
