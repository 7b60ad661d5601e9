"""Commands made from the parts of a room, when they are asked for and not before."""

from collections.abc import Callable
from typing import Any

import click

from gamewarden.cli.volume import NAMES, with_volume


class PartGroup(click.Group):
    """One command for each name a room's registry holds."""

    def __init__(
        self,
        *args: Any,  # noqa: ANN401  passed on to click
        names: Callable[[], tuple[str, ...]],
        make: Callable[[str], click.Command],
        **kwargs: Any,  # noqa: ANN401  passed on to click
    ) -> None:
        super().__init__(*args, **kwargs)
        self._names = names
        self._make = make

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the registry's order."""
        del ctx
        return list(self._names())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The part's command, or nothing for a name the registry does not hold."""
        del ctx
        return with_volume(self._make(cmd_name)) if cmd_name in self._names() else None


class LateOptions(click.Command):
    """A command with options of a recipe that is loaded only when this command is the one that runs."""

    def __init__(self, *args: Any, late: Callable[[], list[click.Parameter]], **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **kwargs)
        self._late = late

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The command's own options, then the recipe's, then those that every command has."""
        own = super().get_params(ctx)
        last = [param for param in own if param.name in (*NAMES, "help")]
        return [*(param for param in own if param not in last), *self._late(), *last]
