"""`gamewarden config`: the settings in force, as a warden.toml to start from."""

from pathlib import Path

import click

from gamewarden.cli.home import workspace
from gamewarden.cli.show import print_lines
from gamewarden.config import Config, config_text, load_config


def current() -> Config:
    """The settings of this run: the command line first, then warden.toml, then the defaults."""
    home = workspace()
    if home is not None:  # whose own settings limit those of --config
        return home.config
    named = click.get_current_context().find_root().obj
    return load_config(Path(named) if named else None)


@click.command
def config() -> None:
    """Print the settings in force, with a sentence each."""
    print_lines(*config_text(current()).rstrip("\n").split("\n"))
