"""Every command of the command line."""

import click

from gamewarden.cli import root


def all_commands(group=root, path=()):
    """Every command with the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from all_commands(command, (*path, name))
