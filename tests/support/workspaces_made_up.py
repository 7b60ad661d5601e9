"""A small workspace whose players leave a log, packets by day and an account table, with models of all three."""

import shutil
from datetime import timedelta

import polars as pl

from gamewarden.tables import write_table
from gamewarden.workspace.place import Workspace
from gamewarden.workspace.running import Run
from several_made_up import LOG, accounts, make_several, packets
from upkeep_made_up import START

LATER = START + timedelta(days=10)  # when it is run
SETTINGS = """
[workspace]
labels = "labels.csv"

[[source]]
name = "game"
locator = "logs/*.parquet"

[[source]]
name = "packets"
locator = "packets/*.parquet"
kind = "packets"

[[source]]
name = "accounts"
locator = "accounts.csv"
kind = "table"
"""
# So few known people, seen by three families, promise no more than 1 in 18.
POINTS = """
[verdict]
watch = 0.2
"""


def make_models(place):
    """What a workspace of this game takes its models and labels from."""
    place.mkdir(exist_ok=True)
    return make_several(place)


def make_workspace(root, made, retention="", *, settings=SETTINGS + POINTS):
    """A workspace that was never run."""
    root.mkdir()
    shutil.copytree(made / "models", root / "models")
    shutil.copy(made / "labels.csv", root / "labels.csv")
    for name, table in (("logs", LOG.events()), ("packets", packets())):
        (root / name).mkdir()
        for day in table["at"].dt.date().unique().sort():
            write_table(table.filter(pl.col("at").dt.date() == day), root / name / f"{day}.parquet")
    write_table(accounts().drop("verdict"), root / "accounts.csv")
    (root / "warden.toml").write_text(settings + retention)
    return Workspace.at(root)


def again(workspace):
    """The workspace by its settings as they are now."""
    return Workspace.at(workspace.root)


def keep(workspace, **spans):
    """Say how long what is kept."""
    lines = "".join(f'{name} = "{span}"\n' for name, span in spans.items())
    path = workspace.root / "warden.toml"
    path.write_text(path.read_text().partition("\n[retention]")[0] + f"\n[retention]\n{lines}")
    return again(workspace)


def run_all(workspace, at=LATER, **options):
    """One run; what each step said."""
    said = {}
    run = Run(workspace, at, lambda step: said.update({f"{step.step} {step.what}".strip(): step}), **options)
    assert run.run() == 0, [step.says for step in said.values() if step.failed]
    return {name: step.says for name, step in said.items()}


def days_of(table):
    """The days of a table of results, as dates."""
    return [name.removeprefix("day=") for name in table.all() if name.startswith("day=")]
