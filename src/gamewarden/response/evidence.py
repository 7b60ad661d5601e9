"""Verdicts as observations: how much each says for or against a bot, and never more than it was proven to know."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from math import log
from typing import Any

import polars as pl

from gamewarden.cases import VERDICT, Observation
from gamewarden.contracts import digest
from gamewarden.errors import ResponseError

# A day that looks like a person's says no more than a passed challenge (spec §1.10): who runs a bot plays by hand, too.
FOR_A_PERSON = -2.0
SUPERSEDED = "its day was judged again"  # why the earlier verdict of a day is excluded
SUREST = 1e-6  # no false-positive rate below this was ever measured
_EDGE = 1e-9  # probabilities of 0 and 1 have no log-odds


def llr_of(recall: float, fpr: float, *, says_bot: bool) -> float:
    """What the answer of a detector adds to the log-odds, by its recall and its false-positive rate (spec §1.10).

    Raises:
        ResponseError: a rate is no share strictly between 0 and 1.
    """
    for name, share in (("recall", recall), ("fpr", fpr)):
        if not 0 < share < 1:
            raise ResponseError(f"llr: {name} {share!r} cannot be used; give a share above 0 and below 1")
    return log(recall / fpr) if says_bot else log((1 - recall) / (1 - fpr))


def observations_of(verdicts: pl.DataFrame, bots: float) -> list[Observation]:
    """An observation per judged row of VERDICTS, with `point` and `verdict`; `played` may say hours of play.

    `bots` is the share of bots that the probabilities suppose. A day that is judged again keeps its place (actor,
    since, until) and gets another id.
    """
    prior = log_odds(bots)
    judged = verdicts.filter(pl.col("probability").is_not_null()).sort("actor", "since", "until")
    return [_observation(row, prior) for row in judged.iter_rows(named=True)]


Span = tuple[datetime, datetime]


def as_judged_before(
    counting: Iterable[Observation], known: Iterable[Observation], judged_again: Collection[Span]
) -> list[Observation]:
    """The observations that count, but a day of `judged_again` with no more against its actor than any verdict had.

    `known` are all observations, superseded ones included. A day without an earlier verdict says nothing for a bot.
    """
    earlier: dict[tuple[datetime | None, datetime | None], list[Observation]] = defaultdict(list)
    for one in known:
        if one.excluded == SUPERSEDED:
            earlier[one.since, one.until].append(one)
    return [
        _weakest(one, earlier[one.since, one.until])
        if one.kind == VERDICT and any(since < one.at <= until for since, until in judged_again)
        else one
        for one in counting
    ]


def _weakest(verdict: Observation, earlier: Iterable[Observation]) -> Observation:
    every = [verdict, *earlier]
    if len(every) == 1:
        return replace(verdict, llr=min(verdict.llr, 0.0))
    fprs = [one.fpr for one in every if one.fpr is not None]
    return replace(
        verdict,
        llr=min(one.llr for one in every),
        fpr=max(fprs) if len(fprs) == len(every) else None,
        agree=min(one.agree for one in every),
        covered=min((one.covered for one in every if one.covered is not None), default=None),
        far=next((one.far for one in every if one.far is not None), None),
    )


def log_odds(share: float) -> float:
    """The log-odds of a share, finite for 0 and 1 too."""
    inside = min(max(share, _EDGE), 1 - _EDGE)
    return log(inside / (1 - inside))


def observation_id(actor: str, kind: str, since: datetime | None, until: datetime | None, ref: str) -> str:
    """What names a piece of evidence: the same everywhere."""
    return digest(actor, kind, *("" if moment is None else moment.isoformat() for moment in (since, until)), ref)


def _observation(row: Mapping[str, Any], prior: float) -> Observation:
    since, until = (row[name].astimezone(UTC) for name in ("since", "until"))
    llr = _llr(row["probability"], row["fpr"], prior)
    ref = row.get("verdict") or ""
    # Verdicts that are not kept have no id: what they say tells one from the next of the same day.
    named = ref or repr((llr, row["fpr"], row["agree"]))
    return Observation(
        id=observation_id(row["actor"], VERDICT, since, until, named),
        actor=row["actor"],
        at=until,
        kind=VERDICT,
        ref=ref,
        llr=llr,
        fpr=row["fpr"],
        agree=row["agree"],
        covered=row.get("covered"),
        far=row.get("far"),
        since=since,
        until=until,
        played=row.get("played"),
    )


def _llr(probability: float, fpr: float | None, prior: float) -> float:
    """What a verdict says; one whose false-positive rate nobody measured says nothing against its actor."""
    most = 0.0 if fpr is None else log(1 / max(fpr, SUREST))
    return max(min(log_odds(probability) - prior, most), FOR_A_PERSON)
