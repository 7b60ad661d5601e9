"""One verdict for people: what it says, why, and by which models and rules; as text and as a page."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import polars as pl

from gamewarden.learning.phrases import may_point
from gamewarden.presentation.report import html_page
from gamewarden.presentation.story import NO_CONCLUSION

_REASONS = 8  # for and against, in text
_FPR_DIGITS = 4


class ShownVerdict(Protocol):
    """A verdict with all it rests on."""

    @property
    def values(self) -> Mapping[str, Any]:
        """As a document holds it."""

    @property
    def evidence(self) -> pl.DataFrame:
        """EVIDENCE."""

    @property
    def scores(self) -> pl.DataFrame:
        """SCORES."""

    @property
    def features(self) -> Mapping[str, pl.DataFrame]:
        """The numbers that were measured."""


def verdict_text(shown: ShownVerdict, *, refuted: bool = False) -> list[str]:
    """The verdict in lines; they say so where an overturned appeal has `refuted` it."""
    lines = [*_head(shown.values, refuted=refuted), "", "What speaks for a bot, and what against:"]
    heaviest = shown.evidence.drop_nulls("weight").sort(pl.col("weight").abs(), descending=True)
    rows = heaviest.head(_REASONS).select("weight", "says").iter_rows()
    lines += [f"  {_mark(weight, says)} {says}" for weight, says in rows]
    lines += ["", *(f"Beside it: {line}" for line in shown.values["caveats"])]
    return [*lines, "`gamewarden verdict show ID --json` prints all of it; `gamewarden verify` scores it again."]


def _mark(weight: float, says: str | None) -> str:
    sign, side = ("+", "bot") if weight > 0 else ("−", "human")
    return sign if may_point(says or "", side) else "·"


def verdict_page(shown: ShownVerdict, *, refuted: bool = False) -> str:
    """The verdict as a page; it says so where an overturned appeal has `refuted` it."""
    values = shown.values
    since = values["since"][:10]
    tables = [
        ("What speaks for a bot, and what against", shown.evidence.drop("actor", "since", "until")),
        ("Scores", shown.scores),
        *((f"Measured: {values['features'][name]['name']}", table) for name, table in shown.features.items()),
    ]
    notes = [*_head(values, refuted=refuted), *values["caveats"]]
    return html_page(f"{values['actor']}, {since}", notes, tables, [])


def _head(values: Mapping[str, Any], *, refuted: bool) -> Iterator[str]:
    fpr, probability = values["fpr"], values["probability"]
    yield f"{values['actor']}, {values['since'][:16].replace('T', ' ')} to {values['until'][:16].replace('T', ' ')} UTC"
    if refuted:
        yield "An appeal was overturned: this verdict no longer counts against the account."
    share = f"{100 * values['rules']['bots']:g} %"
    if probability is not None:
        yield f"Bot probability {probability:.4g}, if {share} of all accounts are bots."
    if fpr is not None:
        people = round(1 / fpr)
        says = f"at most 1 in {people:,} people looks as bot-like" if people > 1 else NO_CONCLUSION
        yield f"False-positive rate {round(fpr, _FPR_DIGITS):g}: {says}."
    agreeing = "1 family of features says" if values["agree"] == 1 else f"{values['agree']} families of features say"
    yield f"It reaches the point to {values['point']}; {agreeing} bot alone."
    judges = ", ".join(one["id"] for one in values["models"])
    fused = f", fused by {values['fusion']['id']}" if values["fusion"] else ""
    yield f"Judged by {judges}{fused}, with gamewarden {values['gamewarden']}."
    yield "A number is a reason to look, never a sanction."
