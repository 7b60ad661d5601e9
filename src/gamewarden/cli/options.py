"""Options that several commands share, and the kinds of values they take."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from gamewarden.errors import ConfigError
from gamewarden.spans import parse_span, parse_zone

Decorator = Callable[[Any], Any]


class Span(click.ParamType):
    """A length of time such as 60s, 15m or 1d, as microseconds."""

    name = "span"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401
        """Text from the command line, or microseconds from a default."""
        if isinstance(value, int):
            return value
        try:
            return parse_span(value)
        except ConfigError as error:
            self.fail(str(error), param, ctx)


class Zone(click.ParamType):
    """An IANA time zone name."""

    name = "zone"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401
        """The name, once it is known to exist."""
        try:
            return parse_zone(value).key
        except ConfigError as error:
            self.fail(str(error), param, ctx)


FILE = click.Path(path_type=Path)

source = click.argument("source", type=FILE)
map_ = click.option("--map", "mapping", metavar="FILE|PRESET", help="Names of columns and kinds in this log.")
zone = click.option("--zone", type=Zone(), help="Time zone of times written without one, and of the days.")
out = click.option("--out", type=FILE, metavar="FILE", help="Write the table here: .csv, .parquet or .json.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
labels = click.option("--labels", type=FILE, required=True, metavar="FILE", help="Who is known: actor,bot …")
models = click.option("--models", type=FILE, required=True, metavar="DIR", help="Where fitted models are.")


def together(*options: Decorator) -> Decorator:
    """Several options as one decorator, shown in this order."""

    def decorate(command: Any) -> Any:  # noqa: ANN401  click decorates functions and commands alike
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


reading = together(map_, zone)
table = together(out, as_json)
