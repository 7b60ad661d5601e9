"""`gamewarden completion`: what a shell needs to complete commands, options and choices."""

import click
from click.shell_completion import get_completion_class

from gamewarden.cli.show import print_lines

NAME, VARIABLE = "gamewarden", "_GAMEWARDEN_COMPLETE"  # the variable by which click knows that a shell is asking
_HOWS = {
    "bash": 'eval "$(gamewarden completion bash)"',
    "zsh": 'eval "$(gamewarden completion zsh)"',
    "fish": "gamewarden completion fish | source",
}


@click.command(
    epilog="\b\nIn the file that the shell reads at its start:\n"
    + "\n".join(f"  {shell:5} {how}" for shell, how in _HOWS.items())
)
@click.argument("shell", type=click.Choice(tuple(_HOWS)))
def completion(shell: str) -> None:
    """Print what lets a shell complete gamewarden's words."""
    kind = get_completion_class(shell)
    if kind is not None:
        root = click.get_current_context().find_root().command
        print_lines(*kind(root, {}, NAME, VARIABLE).source().rstrip("\n").split("\n"))
