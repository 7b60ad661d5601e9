"""A judged workspace for the desk: a small synthetic game some of whose names would like to be more than names."""

import polars as pl

from gamewarden import pipeline, readers
from gamewarden.features.self_similarity.recipe import SelfSimilarity
from gamewarden.lab.world import World, write
from gamewarden.tables import write_table
from gamewarden.workspace.place import Workspace
from shared import copy_of, shared_directory
from workspaces_made_up import run_all

SCRIPT = "<script>window.harmed=1</script>"
IMAGE = '"><img src=x onerror=window.harmed=1>'
FORMULA = '=HYPERLINK("http://evil","click")'
SLASHES = "a/../b?c#d&e=%2F"
HIDDEN = "\u202eevil\u200b"
TEMPLATE = "{{ 7*7 }}${7*7}"
NASTY = (SCRIPT, IMAGE, FORMULA, SLASHES, HIDDEN, TEMPLATE)
ACCOUNTS, DAYS = 90, 2
SETTINGS = """
[workspace]
labels = "labels.csv"
profiles = "profiles.csv"

[population]
bots = 0.5

[verdict]
watch = 0.4
act = 0.2
agree = 1

[[source]]
name = "game"
locator = "logs/*.parquet"
"""


def make_desk_workspace(root, more=""):
    """A workspace that has taken in, judged and listed a synthetic game: a copy of one that tests share."""
    return Workspace.at(copy_of(shared_directory(_build, more), root))


def _build(root, more):
    world = World("lineage", ACCOUNTS, days=DAYS, seed=3)
    write(world, root / "made")
    events = pl.read_parquet(root / "made" / "events.parquet")
    names = sorted(events["actor"].cast(pl.String).unique())
    renamed = dict(zip(names[:: len(names) // len(NASTY)], NASTY, strict=False))
    zones = dict.fromkeys(events["zone"].cast(pl.String).unique().sort()[:1], IMAGE)
    plain = events.with_columns(pl.col(pl.Categorical).cast(pl.String))
    events = plain.with_columns(pl.col("actor", "other").replace(renamed), pl.col("zone").replace(zones))
    (root / "logs").mkdir()
    for day in events["at"].dt.date().unique().sort():
        write_table(events.filter(pl.col("at").dt.date() == day), root / "logs" / f"{day}.parquet")
    labels = world.labels().with_columns(pl.col("actor").replace(renamed))
    write_table(labels.filter(pl.int_range(pl.len()) % 2 == 0), root / "labels.csv", exact=True)
    profiles = pl.read_csv(root / "made" / "profiles.csv").with_columns(pl.col("actor").replace(renamed))
    first = pl.int_range(pl.len()) == 0
    write_table(
        profiles.with_columns(pl.when(first).then(pl.lit(SCRIPT)).otherwise("name").alias("name")),
        root / "profiles.csv",
        exact=True,
    )
    for name in ("self-similarity", "account-day"):
        recipe = pipeline.detector_recipe(name, SelfSimilarity(), {})
        pipeline.fit(recipe, readers.open(events), root / "labels.csv", root / "models")
    (root / "warden.toml").write_text(SETTINGS + more)
    run_all(Workspace.at(root))
