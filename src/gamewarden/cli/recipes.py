"""Command-line options from the fields of a recipe, so that a new part brings its own."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click

from gamewarden.cli.options import Decorator, Kinds, Span, TreeName, Zone, together
from gamewarden.core.durations import span_text

# How a field is written on the command line, by its metadata "as".
_WRITTEN: Mapping[str, click.ParamType[Any]] = {
    "span": Span(),
    "zone": Zone(),
    "kinds": Kinds(),
    "lines": click.Path(path_type=Path),
    "tree": TreeName(),
}


def options_of(recipe: type) -> Decorator:
    """One option for each field of the recipe that says what it is for."""
    types = get_type_hints(recipe)
    fields = [field for field in dataclasses.fields(recipe) if "says" in field.metadata]
    return together(*(_option(field, types[field.name]) for field in fields))


def _option(field: dataclasses.Field[Any], hint: Any) -> Decorator:  # noqa: ANN401  a type hint has no one type
    flag = "--" + field.name.replace("_", "-")
    says = field.metadata["says"]
    if hint is bool:
        return click.option(f"{flag}/--no-{flag[2:]}", default=None, help=says)
    return click.option(flag, type=_value_type(field, hint), default=None, help=f"{says}{_default_text(field)}")


def _value_type(field: dataclasses.Field[Any], hint: Any) -> Any:  # noqa: ANN401  a click type or a class
    written = field.metadata.get("as")
    if written is not None:
        return _WRITTEN[written]
    parts = get_args(hint)
    plain = next(part for part in parts if part is not NoneType) if NoneType in parts else hint
    if get_origin(plain) is not Literal:
        return plain
    choices = get_args(plain)
    return click.Choice(choices) if isinstance(choices[0], str) else _NumberChoice([str(c) for c in choices])


def _default_text(field: dataclasses.Field[Any]) -> str:
    default = field.metadata.get("shown", field.default)
    if default is field.default and field.metadata.get("as") == "span" and isinstance(default, int):
        default = span_text(default)
    return "" if default in (None, dataclasses.MISSING) or default == () else f"  [default: {default}]"


class _NumberChoice(click.Choice[str]):
    """A choice among whole numbers."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        """The number that was chosen."""
        return int(super().convert(str(value), param, ctx))
