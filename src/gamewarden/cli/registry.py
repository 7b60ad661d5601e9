"""Commands made from the parts of a room, when they are asked for and not before."""

import warnings
from collections.abc import Callable
from typing import Any

import click

from gamewarden.cli.volume import NAMES, with_volume
from gamewarden.core.registry import Registry
from gamewarden.errors import GamewardenError, Remark, short


class PartGroup(click.Group):
    """One command for each name a room's registry holds."""

    def __init__(
        self,
        *args: Any,  # noqa: ANN401  passed on to click
        names: Callable[[], tuple[str, ...]],
        make: Callable[[str], click.Command],
        registry: Callable[[], Registry] | None = None,
        **kwargs: Any,  # noqa: ANN401  passed on to click
    ) -> None:
        super().__init__(*args, **kwargs)
        self._names = names
        self._make = make
        self._registry = registry

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the registry's order; a part that cannot be used is a remark, not the end of the others."""
        del ctx
        return [name for name in self._names() if self._works(name)]

    def _works(self, name: str) -> bool:
        try:
            self._make(name)
        except Exception as error:  # noqa: BLE001  a part of an installed package may lack anything
            why = str(error) if isinstance(error, GamewardenError) else f"{type(error).__name__}: {short(str(error))}"
            warnings.warn(f"{self.name} {name} is left out: {why}", Remark, stacklevel=2)
            return False
        return True

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The part's command, or nothing for a name the registry does not hold."""
        del ctx
        return with_volume(self._credited(cmd_name)) if cmd_name in self._names() else None

    def _credited(self, name: str) -> click.Command:
        """The part's command; below its options stands which installed package offers it."""
        made, registry = self._make(name), self._registry and self._registry()
        if registry is not None and name not in registry.own:
            made.epilog = f"This {registry.what} is offered by {registry.origin(name)}."
        return made


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
