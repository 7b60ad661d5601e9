"""The votes of a ledger as a LABELS file that models learn from: always whole, and how each label came about."""

from pathlib import Path

import polars as pl

from gamewarden.cases import Label
from gamewarden.desk_records import UNSURE, Review
from gamewarden.learning.label_sources import APPEAL
from gamewarden.reviewing.votes import votes_in
from gamewarden.store.ledger.ledger import Ledger
from gamewarden.tables import write_table
from gamewarden.workspace.labels import REVIEW, by_chance, told_by

_BESIDE = {"actor": pl.String, "drawn": pl.Boolean, "score_seen": pl.Boolean}


def labels_of(ledger: Ledger) -> pl.DataFrame:
    """LABELS of what raters say together, the latest last, with how many they are and how they came to look.

    What one rater says is a label while nobody else has looked. Whom chance named has the source `random-review`, from
    which it is told how common bots are. `drawn` is whether chance named the account, `score_seen` whether somebody who
    votes knew the score; both null where nobody knows.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    labels = ledger.find(Label, source=(REVIEW, APPEAL), order=("at",))
    reviews = [one for one in ledger.find(Review) if one.undone_at is None]
    drawn, votes = _drawn(reviews), votes_in(reviews)
    seen = {actor: any(one.score_seen for one in said.values() if one.says != UNSURE) for actor, said in votes.items()}
    beside = [
        {"actor": one.actor, "drawn": drawn.get(one.actor), "score_seen": seen.get(one.actor)}
        for one in labels
        if one.source == REVIEW
    ]
    columns = ("actor", "bot", "source", "votes", "at", "raters")
    told = told_by(labels, alone=True).filter(pl.col("source") == REVIEW).select(columns)
    both = told.join(pl.DataFrame(beside, schema=_BESIDE), on="actor", how="left", maintain_order="left")
    return by_chance(both, [actor for actor, named in drawn.items() if named])


def write_labels(ledger: Ledger, path: Path) -> None:
    """Write them, whole or not at all.

    Raises:
        LedgerError: the ledger cannot be read.
        WriteError: the file cannot be written.
    """
    write_table(labels_of(ledger), path)


def _drawn(reviews: list[Review]) -> dict[str, bool]:
    """Whether chance named an account, where that is known of any review of it."""
    told: dict[str, bool] = {}
    for one in reviews:
        if one.drawn is not None:
            told[one.actor] = told.get(one.actor, False) or one.drawn
    return told
