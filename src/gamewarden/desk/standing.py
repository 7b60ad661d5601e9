"""Where accounts stand with people and with the ladder: decisions, protection, appeals, votes and labels, a row each.

It changes with every act at the desk, and is small: only those are in it of whom something is said.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import polars as pl

from gamewarden.cases import Appeal, Decision, Label, Protected, Suspicion
from gamewarden.desk.desk import Desk
from gamewarden.desk.known_people import settled_labels
from gamewarden.desk.memory import looks_of
from gamewarden.policy import INTERNAL, WATCH
from gamewarden.store.partitions import INDEX
from gamewarden.tables import DataType
from gamewarden.workspace.desk_tables import DeskTables
from gamewarden.workspace.labels import REVIEW, agreed, in_force

if TYPE_CHECKING:
    from gamewarden.store.ledger.ledger import Ledger

BOT, HUMAN = "bot", "human"
_MINUTE = 60  # seconds after which it is looked at anew, whatever was written: decisions end by themselves
_A_WHILE = 300
_MARGIN = timedelta(minutes=2)  # by which clocks of others may be behind
_SCHEMA: Mapping[str, DataType] = {
    "actor": pl.String,
    "rung": pl.Int16,
    "step": pl.String,  # of the decision that stands, the farthest above watching
    "rehearsal": pl.Boolean,
    "protected": pl.Boolean,
    "appeal": pl.Boolean,  # an open one
    "votes": pl.Int16,
    "label": pl.String,
    "reviewed": pl.Boolean,  # people at this desk said so, or an appeal did
    "family": pl.String,
    "group": pl.String,
}


@dataclass(frozen=True)
class Standing:
    """What is said of accounts, and what that rests on."""

    frame: pl.DataFrame
    rests_on: tuple[object, ...]


def standing(desk: Desk) -> Standing:
    """Where accounts stand now.

    Raises:
        LedgerError: the ledger cannot be read.
        ReadError: the labels cannot be read.
    """
    workspace = desk.workspace
    head = workspace.ledger.head.number if workspace.has_ledger else None
    index = DeskTables(workspace).rest("accounts").directory / INDEX
    looks = looks_of(workspace.labels_file, index)
    key = (head, looks, int(desk.now().timestamp()) // _MINUTE)
    return desk.memory.of("standing", key, lambda: Standing(_frame(desk), key), 2)


def _frame(desk: Desk) -> pl.DataFrame:
    told = [_labels(desk)]
    if desk.workspace.has_ledger:
        told += [_rungs(desk), *_of_decisions(desk), *_of_ledger(desk)]
    actors = pl.concat([one.select("actor") for one in told]).unique()
    for one in told:
        actors = actors.join(one, on="actor", how="left")
    if "said" in actors.columns:  # people at this desk, or an appeal, against whatever a file says
        actors = actors.with_columns(label=pl.coalesce("said", "label"), reviewed=pl.col("said").is_not_null())
    missing = [pl.lit(None).alias(name) for name in _SCHEMA if name not in actors.columns]
    rows = actors.with_columns(missing).select(pl.col(name).cast(kind) for name, kind in _SCHEMA.items())
    return rows.with_columns(_few(rows[name]) for name in ("step", "label", "family"))


def _few(texts: pl.Series) -> pl.Series:
    """Texts that are held once each."""
    return texts.cast(pl.Enum(texts.drop_nulls().unique().sort()))


def _rungs(desk: Desk) -> pl.DataFrame:
    """Who stands on a rung of the ladder: there are many, whom runs move, so that they are looked at less often."""
    return desk.memory.of("rungs", _slowly(desk), lambda: _on_rungs(desk.workspace.ledger), 1)


def _slowly(desk: Desk) -> tuple[object, ...]:
    """What changes with a run, and every few minutes."""
    index = DeskTables(desk.workspace).rest("accounts").directory / INDEX
    return looks_of(index), int(desk.now().timestamp()) // _A_WHILE


def _on_rungs(ledger: "Ledger") -> pl.DataFrame:
    return _rows("rung", {one.actor: one.rung for one in ledger.find(Suspicion) if one.rung}, pl.Int16())


def _of_decisions(desk: Desk) -> list[pl.DataFrame]:
    """What stands of decisions: those of some minutes ago, and what was decided or taken back since."""
    ledger, at = desk.workspace.ledger, desk.now()
    looked, before = desk.memory.of("decisions", _slowly(desk), lambda: (at - _MARGIN, _standing(ledger, at)), 1)
    known = before | {one.id: one for one in ledger.find(Decision, at_least={"at": looked})}
    known |= {one.id: one for one in ledger.find(Decision, at_least={"undone_at": looked})}
    standing = [one for one in known.values() if one.undone_at is None and (one.until is None or one.until > at)]
    # A step that was only rehearsed, or only watches, stands behind one that somebody feels.
    felt = sorted(standing, key=lambda one: (not one.rehearsal, *_strength(one), one.rung, one.at))
    return [
        _rows("step", {one.actor: one.step for one in felt}, pl.String()),
        _rows("rehearsal", {one.actor: one.rehearsal for one in felt}, pl.Boolean()),
    ]


def _strength(one: Decision) -> tuple[bool, bool]:
    """Steps that players feel come above a review case, and that above watching."""
    return one.step not in INTERNAL, one.step != WATCH


def _standing(ledger: "Ledger", at: datetime) -> dict[str, Decision]:
    for_good = ledger.find(Decision, undone_at=None, until=None)
    return {one.id: one for one in (*for_good, *ledger.find(Decision, at_least={"until": at}, undone_at=None))}


def _of_ledger(desk: Desk) -> list[pl.DataFrame]:
    ledger, at, one_enough = desk.workspace.ledger, desk.now(), desk.workspace.config.workspace.one_rater
    protected = (one.actor for one in ledger.find(Protected) if one.until > at)
    appeals = (one.actor for one in ledger.find(Appeal, outcome=None))
    labels = ledger.find(Label, order=("at",))
    votes = {one.actor: len(one.votes) for one in labels if one.source == REVIEW}
    words = [(label.actor, agreed(label, one_enough=one_enough)) for label in in_force(labels)]
    settled = {actor: BOT if bot else HUMAN for actor, bot in words if bot is not None}
    return [
        _rows("protected", dict.fromkeys(protected, True), pl.Boolean()),
        _rows("appeal", dict.fromkeys(appeals, True), pl.Boolean()),
        _rows("votes", votes, pl.Int16()),
        _rows("said", settled, pl.String()),
    ]


def _rows(name: str, told: Mapping[str, Any], kind: pl.DataType) -> pl.DataFrame:
    return pl.DataFrame({"actor": list(told), name: list(told.values())}, schema={"actor": pl.String, name: kind})


def _labels(desk: Desk) -> pl.DataFrame:
    """One row per actor: what the operator's own file calls it; of several words the last."""
    last = settled_labels(desk).unique("actor", keep="last", maintain_order=True)
    texts = [name for name in ("family", "group") if name in last.columns]
    return last.select(
        "actor",
        pl.when("bot").then(pl.lit(BOT)).otherwise(pl.lit(HUMAN)).alias("label"),
        *(pl.col(name).cast(pl.String) for name in texts),
    )
