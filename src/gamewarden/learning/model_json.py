"""A model as JSON and back: every value is checked by the types of its dataclass before it is believed."""

from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

from gamewarden.errors import ConfigError, ModelError, short
from gamewarden.learning.validation import key_of, misfit, plain_rules, written_fields

_Model = TypeVar("_Model", bound="Named")
_Part = TypeVar("_Part")
_PLAIN = (str, int, float, bool, NoneType)


class Named(Protocol):
    """A model that knows the name its recipe and data make."""

    @property
    def id(self) -> str:
        """`detector@digest`."""


def load(kind: type[_Model], values: Mapping[str, Any]) -> _Model:
    """The model back from JSON values.

    A part whose values have to fit together yields, in `agreements`, what must hold and whether it does.

    Raises:
        ModelError: a value is missing, superfluous or not what it must be, or the name does not fit the rest.
    """
    name = values.get("id")
    model = load_part(kind, {key: value for key, value in values.items() if key != "id"}, name)
    if model.id != name:
        raise ModelError(f"model {short(name)}: its recipe and data make it {model.id!r}; fit it again")
    return model


def load_part(kind: type[_Part], values: object, name: object) -> _Part:
    """A part of the model of this name back from JSON values.

    Raises:
        ModelError: a value is missing, superfluous or not what it must be.
    """
    if wrong := misfit(kind, values, ""):
        raise ModelError(f"model {short(name)}: {wrong}; fit it again")
    try:
        part: _Part = build(kind, values)
    except (_DisagreementError, ConfigError) as error:
        raise ModelError(f"model {short(name)}: {error}; fit it again") from error
    return part


def dump(part: Any) -> Any:  # noqa: ANN401  a model, or any part of one
    """A part as JSON values; a field whose default is None is left out where it is None."""
    if hasattr(part, "json_shape"):
        return part.to_dict()
    if is_dataclass(part):
        written = {key_of(one): (getattr(part, one.name), one.default) for one in written_fields(part)}
        return {
            key: dump(value) for key, (value, default) in written.items() if value is not None or default is not None
        }
    if isinstance(part, Mapping):
        return {str(key): dump(value) for key, value in part.items()}
    if isinstance(part, tuple | list) and not all(isinstance(one, _PLAIN) for one in part[:1]):
        return [dump(one) for one in part]
    return part


class _DisagreementError(Exception):
    """Values that do not fit together."""


def build(kind: Any, value: Any) -> Any:  # noqa: ANN401  JSON values that fit, and what they become
    """What a type makes of JSON values that fit it: lists become tuples, objects dataclasses."""
    shape, parts = get_origin(kind), get_args(kind)
    if shape is Annotated:
        return build(parts[0], value)
    if value is None:
        return None
    if shape in (Union, UnionType):
        return build(_fitting(parts, value), value)
    if shape is tuple:
        return _row(parts, value)
    if shape is Mapping:
        return {parts[0](key): build(parts[1], part) for key, part in value.items()}
    return _made(kind, value) if is_dataclass(kind) else value


def _made(kind: Any, value: Any) -> Any:  # noqa: ANN401  as above
    """An instance of a dataclass, and whether its values fit together."""
    if hasattr(kind, "json_shape"):
        return _agreed(kind.from_dict(value))
    return _agreed(kind(**{name: build(of, value[key]) for key, (name, of) in _fields(kind).items() if key in value}))


def _fitting(kinds: tuple[Any, ...], value: object) -> Any:  # noqa: ANN401  as above
    """Which of several kinds a value is of."""
    kind, *others = (kind for kind in kinds if kind is not NoneType)
    return next((other for other in others if misfit(kind, value, "") and misfit(other, value, "") is None), kind)


def _row(parts: tuple[Any, ...], value: list[Any]) -> tuple[Any, ...]:
    if parts[-1] is not Ellipsis:
        return tuple(build(part, one) for part, one in zip(parts, value, strict=True))
    return tuple(value) if plain_rules(parts[0]) else tuple(build(parts[0], one) for one in value)


@cache
def _fields(kind: Any) -> Mapping[str, tuple[str, Any]]:  # noqa: ANN401  any dataclass
    """The fields of a dataclass and their types, by their names in JSON."""
    hints = get_type_hints(kind, include_extras=True)
    return {key_of(one): (one.name, hints[one.name]) for one in written_fields(kind)}


def _agreed(part: Any) -> Any:  # noqa: ANN401  any part of a model
    agreements: Iterator[tuple[str, bool]] = part.agreements() if hasattr(part, "agreements") else iter(())
    for words, holds in agreements:
        if not holds:
            raise _DisagreementError(f"it does not hold that {words}")
    return part
