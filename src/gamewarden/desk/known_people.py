"""What is known of accounts beside their events: profiles of the operator's own, and who is called a bot or a human."""

from functools import partial
from pathlib import Path

import polars as pl

from gamewarden.cases import Label
from gamewarden.desk.desk import Desk
from gamewarden.desk.memory import looks_of
from gamewarden.errors import ReadError
from gamewarden.learning.label_sources import APPEAL, agreed_on
from gamewarden.readers.logs.operator_tables import labels_in, read_labels, read_profiles
from gamewarden.tables import LABELS, PROFILES
from gamewarden.workspace.labels import disputed, told_by


def profile_of(desk: Desk, actor: str) -> pl.DataFrame:
    """The row of PROFILES of one account, or none.

    Raises:
        ReadError: the file cannot be read.
    """
    known = profiles(desk)
    place = known["actor"].search_sorted(actor)
    row = known.slice(place, 1)
    return row if row.height and row["actor"][0] == actor else row.clear()


def profiles(desk: Desk) -> pl.DataFrame:
    """PROFILES of the workspace, sorted by account; nothing where it has none.

    Raises:
        ReadError: the file cannot be read.
    """
    path, zone = desk.workspace.profiles, desk.workspace.time_zone
    if path is None or not path.is_file():
        return pl.DataFrame(schema=dict(PROFILES.columns))
    return desk.memory.of("profiles", looks_of(path), lambda: read_profiles(path, zone).sort("actor"), most=1)


def labels(desk: Desk) -> pl.DataFrame:
    """LABELS of the workspace: its file's and those that people gave at the desk; an appeal replaces earlier ones.

    Raises:
        ReadError: the file cannot be read.
        LedgerError: the ledger cannot be read.
    """
    given = _ledger_labels(desk)
    appealed = given.filter(source=APPEAL).group_by("actor").agg(decided=pl.col("at").max())
    dated = _file_labels(desk).join(appealed, on="actor", how="left", maintain_order="left")
    earlier = pl.col("decided").is_not_null() & (pl.col("at") <= pl.col("decided")).fill_null(value=True)
    return pl.concat([dated.filter(~earlier).drop("decided"), given], how="diagonal_relaxed")


def settled_labels(desk: Desk) -> pl.DataFrame:
    """LABELS of the operator's own file but for those that contradict each other; nothing where there is none.

    Raises:
        ReadError: the file cannot be read.
    """
    path, zone = desk.workspace.labels_file, desk.workspace.time_zone
    if path is None or not path.is_file():
        return pl.DataFrame(schema=dict(LABELS.columns))
    return desk.memory.of("settled labels", looks_of(path), lambda: read_labels(path, zone).frame, most=1)


def known_as(desk: Desk) -> pl.DataFrame:
    """One row per account of which people agree what it is: actor, bot."""
    said = agreed_on(labels(desk)).group_by("actor").agg(pl.col("bot").unique())
    agreed = said.filter(pl.col("bot").list.len() == 1)
    return agreed.select("actor", pl.col("bot").list.first())


def _file_labels(desk: Desk) -> pl.DataFrame:
    path, zone = desk.workspace.labels_file, desk.workspace.time_zone
    if path is None or not path.is_file():
        return pl.DataFrame(schema=dict(LABELS.columns))
    return desk.memory.of("labels", looks_of(path), partial(_read_labels, path, zone), most=1)


def _read_labels(path: Path, zone: str | None) -> pl.DataFrame:
    try:
        return labels_in(path, zone)
    except ReadError as error:
        raise ReadError(f"{error}; the desk shows no labels before that") from error


def _ledger_labels(desk: Desk) -> pl.DataFrame:
    if not desk.workspace.has_ledger:
        return pl.DataFrame(schema=dict(LABELS.columns))
    known, alone = desk.workspace.ledger.find(Label, order=("at",)), desk.workspace.config.workspace.one_rater
    return told_by(known, alone=alone, waiting=disputed(known, settled_labels(desk)) if alone else ())
