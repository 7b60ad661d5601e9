"""Who is known in a workspace: its labels file, and beside it what raters and appeals say in the ledger."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from gamewarden.cases import LADDER, AuditLine, Label
from gamewarden.errors import ResponseError, short
from gamewarden.learning.label_sources import APPEAL, UNCERTAIN_VOTES, UNREVIEWED, agreed_on, made_by_a_model
from gamewarden.readers.logs.operator_tables import labels_in, read_labels
from gamewarden.store.ledger.ledger import Ledger, Writing
from gamewarden.tables import LABELS

REVIEW = "review"  # what raters' votes are called
AT_RANDOM = "random-review"  # and those on accounts that chance named: from them it is told how common bots are
_WRITTEN = ("add labels", "change labels", "remove labels")  # what the audit calls it
_RATERS = 3  # who look at a character (Lee et al.): two of them make a label, one makes nothing


def vote(
    ledger: Ledger, actor: str, *, bot: bool, by: str, at: datetime, source: str = REVIEW, because: str | None = None
) -> Label:
    """One rater's vote on an account, beside those of the others; a rater who votes again thinks again.

    Raises:
        ResponseError: nobody is named, or the source is not one of people who look at accounts.
        LedgerError: the ledger cannot be written.
    """
    with ledger.writing(_rater(by), at) as work:
        return voted(work, actor, bot=bot, by=by, source=source, because=because)


def voted(work: Writing, actor: str, *, bot: bool, by: str, source: str = REVIEW, because: str | None = None) -> Label:
    """The same within a transaction, at its time.

    Raises:
        ResponseError: nobody is named, or the source is not one of people who look at accounts.
    """
    who, kind, at = _rater(by), _source(source), work.at
    known = work.find(Label, actor=actor, source=kind, order=("at",))
    if not known:
        made = _label(Label(actor, bot, kind, at, who, because=because), {who: bot})
        work.add([made])
        return made
    latest = replace(known[-1], at=at, by=who, because=because or known[-1].because)
    made = _label(latest, {**known[-1].votes, who: bot})
    work.change(known[-1], made)
    return made


def withdrawn(work: Writing, actor: str, *, by: str, source: str = REVIEW) -> None:
    """Let a rater's vote no longer count, because the rater is not sure any more; nothing where there is none."""
    who, kind = _rater(by), _source(source)
    known = work.find(Label, actor=actor, source=kind, order=("at",))
    if not known or who not in known[-1].votes:
        return
    votes = _of_others(known[-1].votes, who)
    if votes:
        work.change(known[-1], _label(replace(known[-1], at=work.at, by=who), votes))
    else:
        work.remove(known[-1])


def unvoted(work: Writing, actor: str, *, by: str, at: datetime, source: str = REVIEW) -> None:
    """Take back what a rater said at a moment: the label is as it was before, but for what others said since.

    Raises:
        ResponseError: nobody knows any more what was there before it.
    """
    who, kind = _rater(by), _source(source)
    written = work.find(AuditLine, subject=actor, at=at, what=_WRITTEN, order=("number",), newest=1)
    if not written:
        raise ResponseError(f"label: {short(who)} said nothing of {short(actor)} at {at.isoformat()} to take back")
    known = work.find(Label, actor=actor, source=kind, order=("at",))
    old = {} if written[0].old is None else dict(written[0].old)
    if not known:
        work.add([_as_told(old)] if "actor" in old else [])
        return
    now = known[-1]
    earlier = dict(old.get("votes", now.votes)) if old else {}  # the audit names only what was changed
    if (now.at, now.by, _of_others(now.votes, who)) == (at, who, _of_others(earlier, who)):
        _restore(work, now, old)
    else:
        _without(work, now, who, earlier)


def _restore(work: Writing, now: Label, old: Mapping[str, Any]) -> None:
    """The label as it was before the vote that made it what it is; none where there was none."""
    if old:
        work.change(now, replace(now, **_values(old)))
    else:
        work.remove(now)


def _without(work: Writing, now: Label, who: str, earlier: Mapping[str, bool]) -> None:
    """The label with what a rater said earlier, if anything, in the place of what the rater said last."""
    votes = _of_others(now.votes, who) | ({who: earlier[who]} if who in earlier else {})
    if votes:
        work.change(now, _label(now, votes))
    else:
        work.remove(now)


def _of_others(votes: Mapping[str, bool], who: str) -> dict[str, bool]:
    return {name: vote for name, vote in votes.items() if name != who}


def _as_told(old: Mapping[str, Any]) -> Label:
    return Label(**_values(old))


def _values(old: Mapping[str, Any]) -> dict[str, Any]:
    """What the audit says of a label, as a label has it."""
    times = {name: datetime.fromisoformat(old[name]) for name in ("at", "since", "until") if old.get(name)}
    return {**old, **times}


def consensus(votes: Mapping[str, bool], *, one_enough: bool = False) -> bool | None:
    """What raters agree on: bot or human where two say so, and two thirds of all; None where they do not agree.

    With `one_enough` a single vote counts until a second person votes.
    """
    least = 1 if one_enough else _RATERS - 1
    for bot in (True, False):
        agreeing = sum(vote is bot for vote in votes.values())
        if agreeing >= least and _RATERS * agreeing >= (_RATERS - 1) * len(votes):
            return bot
    return None


def agreed(label: Label, *, one_enough: bool = False) -> bool | None:
    """What a label of the ledger says; an appeal is one person's decision, and no vote."""
    if label.source == APPEAL or not label.votes:
        return label.bot
    return consensus(label.votes, one_enough=one_enough)


def in_force(labels: Sequence[Label]) -> list[Label]:
    """Labels of the ledger, the earliest first, without those that an appeal of the same account has replaced."""
    appeals = {label.actor: label.at for label in labels if label.source == APPEAL}
    return [
        label
        for label in labels
        if label.source == APPEAL or label.actor not in appeals or label.at > appeals[label.actor]
    ]


def disputed(labels: Sequence[Label], file: pl.DataFrame | None = None) -> frozenset[str]:
    """Accounts that wait for another person: a vote contradicts another one, or what the labels file says.

    The file counts as one vote: with it, two of three decide.
    """
    votes = {label.actor: dict(label.votes) for label in in_force(labels) if label.source == REVIEW}
    if file is not None and votes:
        known = agreed_on(file.filter(pl.col("actor").is_in(list(votes)))).group_by("actor").agg(pl.col("bot").unique())
        for actor, words in known.iter_rows():
            votes[actor] |= {"": words[0]} if len(words) == 1 else {}
    return frozenset(
        actor for actor, theirs in votes.items() if len(set(theirs.values())) > 1 and consensus(theirs) is None
    )


def told_by(labels: Sequence[Label], *, alone: bool = False, waiting: Collection[str] = ()) -> pl.DataFrame:
    """LABELS of the ledger with the number of `raters`; an appeal replaces what was said before it.

    With `alone` the word of one rater is a label while nobody else has looked: it is not one of three votes then.
    Accounts that are `waiting` for another person have no such label.
    """

    def votes(one: Label) -> int | None:
        return None if alone and len(one.votes) == 1 and one.actor not in waiting else _of_three(one)

    rows: list[dict[str, Any]] = [
        {"actor": one.actor, "since": one.since, "until": one.until, "bot": one.bot, "source": one.source}
        | {"votes": votes(one), "at": one.at, "raters": len(one.votes)}
        for one in in_force(labels)
    ]
    return pl.DataFrame(rows, schema={**LABELS.columns, "raters": pl.Int64})


def by_chance(labels: pl.DataFrame, drawn: Collection[str]) -> pl.DataFrame:
    """LABELS in which votes on accounts that chance named say so."""
    named = (pl.col("source") == REVIEW) & pl.col("actor").is_in(list(drawn))
    return labels.with_columns(source=pl.when(named).then(pl.lit(AT_RANDOM)).otherwise("source"))


def known_labels(
    file: Path | None,
    labels: Sequence[Label],
    time_zone: str | None,
    *,
    alone: bool = False,
    drawn: Collection[str] = (),
) -> pl.DataFrame:
    """The labels of a file and those of the ledger, as one table.

    Raises:
        ReadError: the file cannot be read.
    """
    waiting = disputed(labels, read_labels(file, time_zone).frame) if alone and file is not None else ()
    ours = by_chance(told_by(labels, alone=alone, waiting=waiting), drawn)
    return ours if file is None else pl.concat([labels_in(file, time_zone), ours], how="diagonal")


def _label(label: Label, votes: Mapping[str, bool]) -> Label:
    result = consensus(votes)
    return replace(label, votes=votes, bot=sum(votes.values()) * 2 > len(votes) if result is None else result)


def _of_three(label: Label) -> int:
    """How many of three raters say bot, as LABELS counts them: 1 is uncertain, and in no training set."""
    result = agreed(label)
    if result is None:
        return UNCERTAIN_VOTES
    return min(max(sum(label.votes.values()), _RATERS - 1), _RATERS) if result else 0


def _rater(by: str) -> str:
    if by.strip() in {"", LADDER}:
        raise ResponseError("label: a person votes, and nobody is named; give a name with --by")
    return by.strip()


def _source(source: str) -> str:
    kind = source.strip().lower()
    if kind == APPEAL:
        raise ResponseError(
            "label: the source appeal is kept for appeals; `gamewarden appeal decide` gives such labels"
        )
    if not kind or kind in UNREVIEWED or made_by_a_model(kind):
        raise ResponseError(
            f"label: the source {short(source)} is nobody who looked at an account; such as {REVIEW} is"
        )
    return kind
