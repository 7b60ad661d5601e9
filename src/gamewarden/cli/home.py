"""The workspace that a command stands in, if it stands in one: where its places come from when nobody names them."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from gamewarden.errors import ConfigError

if TYPE_CHECKING:
    from gamewarden.workspace.place import Workspace

_KEPT = "gamewarden.workspace"


def workspace() -> "Workspace | None":
    """The workspace of --workspace, of GAMEWARDEN_WORKSPACE, or of this directory or one above; None without one."""
    root = click.get_current_context().find_root()
    if _KEPT not in root.meta:
        root.meta[_KEPT] = _found(root)
    found: Workspace | None = root.meta[_KEPT]
    return found


def here() -> "Workspace":
    """The workspace, which must be there.

    Raises:
        ConfigError: there is none.
    """
    found = workspace()
    if found is None:
        raise ConfigError(
            "this is no workspace: no warden.toml with [workspace] is here or above; `gamewarden init` makes one, and "
            "--workspace DIR names another"
        )
    return found


def at_rest(*parameters: str) -> "Workspace | None":
    """The workspace whose results answer a command: where nobody named another source or other models."""
    ctx = click.get_current_context()
    named = [name for name in parameters if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    return None if named else workspace()


def from_workspace(place: str, *, several: bool = False, needed: bool = True) -> Callable[..., Any]:
    """A callback that takes a parameter from the workspace where it was left out."""

    def callback(ctx: click.Context, param: click.Parameter, value: Any) -> Any:  # noqa: ANN401  click's signature
        if value or ctx.resilient_parsing:
            return value
        home = workspace()
        found: Path | None = None if home is None else getattr(home, place)
        if found is None and not needed:
            return value
        if found is None:
            raise click.MissingParameter(_outside(home is not None, place), ctx=ctx, param=param)
        return (found,) if several else found

    return callback


def _outside(inside: bool, place: str) -> str:  # noqa: FBT001  which of two sentences
    if inside:
        return f"Name it, or write [workspace] {place} in warden.toml."
    return "Inside a workspace (`gamewarden init`) it need not be named."


def _found(root: click.Context) -> "Workspace | None":
    from gamewarden.workspace.place import Workspace

    config = Path(root.obj) if root.obj else None
    return Workspace.found(root.params.get("workspace_path"), config=config)
