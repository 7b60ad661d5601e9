"""What a person wrote in a mapping file, section by section; each surprise is one line that says what is needed."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from gamewarden.errors import ConfigError
from gamewarden.tables import RESERVED_KINDS

_NEARLY = 0.8  # difflib's ratio above which a name is taken for a slip of the pen


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


def kind_of(value: object, where: str) -> str:
    """A kind of ours.

    Raises:
        ConfigError: it is no text, empty, or one slip of the pen away from a reserved kind.
    """
    if not isinstance(value, str):
        raise ConfigError(f'{where} is {value!r}; write it in quotes, as in "{value}"')
    meant = near_miss(value)
    if not value or meant:
        raise ConfigError(f"{where}: kind {value!r} is not a reserved kind; {f'{meant!r} is' if meant else 'name one'}")
    return value


def known(values: Mapping[str, object], names: tuple[str, ...], where: str, what: str) -> None:
    """Refuse a key that is none of the names.

    Raises:
        ConfigError: there is one.
    """
    for key in values:
        if key not in names:
            meant = nearest(key, names)
            hint = f"did you mean {meant!r}?" if meant else f"there are {', '.join(sorted(names))}"
            raise ConfigError(f"{where}: unknown {what} {key!r}; {hint}")


def section(values: Mapping[str, Any], name: str, where: str) -> Mapping[str, Any]:
    """A section, empty where there is none.

    Raises:
        ConfigError: it is a single value.
    """
    found = values.get(name, {})
    if not isinstance(found, dict):
        raise ConfigError(f"{where}: {name} must be a section, written [{name}]")
    return found


def texts(values: Mapping[str, Any], name: str, where: str) -> dict[str, str]:
    """A section that holds texts alone.

    Raises:
        ConfigError: a value is none.
    """
    found = section(values, name, where)
    for key, value in found.items():
        if not isinstance(value, str):
            raise ConfigError(f'{where}: [{name}] {key} is {value!r}; write it in quotes, as in {key} = "{value}"')
    return dict(found)


def lists(values: Mapping[str, Any], name: str, where: str) -> dict[str, tuple[str, ...]]:
    """A section that holds lists of texts alone.

    Raises:
        ConfigError: a value is none.
    """
    found = section(values, name, where)
    for key, value in found.items():
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ConfigError(f'{where}: [{name}] {key} must be a list of quoted values, as in {key} = ["1003"]')
    return {key: tuple(value) for key, value in found.items()}


def names(value: object, where: str, needed: str) -> tuple[str, ...]:
    """A list of texts of which none is there twice.

    Raises:
        ConfigError: it is something else.
    """
    if isinstance(value, list) and all(isinstance(item, str) for item in value) and len(set(value)) == len(value):
        return tuple(value)
    raise ConfigError(f"{where} is {value!r}; it must be {needed}, each once")
