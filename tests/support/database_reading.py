"""A game's database read as a user reads it: into a lake, whose events are then looked at."""

from dataclasses import replace

import polars as pl

from gamewarden import pipeline, readers
from gamewarden.readers.databases.options import DatabaseOptions
from gamewarden.readers.logs.operator_tables import read_profiles
from gamewarden.readers.options import LogOptions, SourceOptions
from gamewarden.store.lake import Lake
from gamewarden.tables import EVENTS

OFFLINE = SourceOptions(databases=DatabaseOptions(offline=True), logs=LogOptions(time_zone="UTC"))


def opened(url, options=OFFLINE, **databases):
    return readers.open(url, replace(options, databases=replace(options.databases, **databases)))


def read_into(lake, url, **databases):
    """What there is to say of a reading, and the new rows."""
    table = pipeline.read(opened(url, **databases), lake)
    return table.frame["new"][0], table.notes


def events_in(lake):
    """All events of a lake, in their order."""
    events = Lake(lake).events()
    schema = {name: EVENTS.columns[name] for name in sorted(events.columns)}
    frames = [pl.DataFrame(pl.from_arrow(batch)).cast(schema) for batch in events.batches(list(schema))]
    return pl.concat([pl.DataFrame(schema=schema), *frames]).sort("at", "seq")


def kinds_in(frame):
    return dict(frame["kind"].value_counts().iter_rows())


def edges_in(frame, kinds):
    """Who gave how much to whom, by what givers did."""
    some = frame.filter(pl.col("kind").is_in(kinds) & pl.col("other").is_not_null())
    sums = some.group_by("actor", "other").agg(-pl.col("amount").sum())
    return {(actor, other): amount for actor, other, amount in sums.iter_rows()}


def profiles_of(url):
    """The profiles of a database, as they come in: checked like those of a file."""
    source = opened(url)
    found = source.profiles()
    source.database.close()
    return read_profiles(found)


def advice_of(url, **databases):
    source = opened(url, **databases)
    found = list(source.preset.advice(source.database))
    source.database.close()
    return found


def doctor_of(url):
    """What `doctor` says of a running game's database."""
    return "\n".join(pipeline.doctor(opened(url, offline=False)).sentences())


def preset_of(url):
    source = opened(url)
    found = readers.servers.preset_of(source.database)
    source.database.close()
    return found and found.name
