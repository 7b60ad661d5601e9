"""`gamewarden config`: the settings in force, as a warden.toml to start from."""

from pathlib import Path

import click

from gamewarden.config import Config, config_text, load_config


def current(ctx: click.Context) -> Config:
    """The settings of this run."""
    named = ctx.find_root().obj
    return load_config(Path(named) if named else None)


@click.command
@click.pass_context
def config(ctx: click.Context) -> None:
    """Print the settings in force, with a sentence each."""
    click.echo(config_text(current(ctx)), nl=False)
