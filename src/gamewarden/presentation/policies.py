"""A policy of responses as people read it: its rungs, what it would have done, and what another does differently."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import polars as pl

from gamewarden.core.text import counted
from gamewarden.policy import SANCTIONS
from gamewarden.response.ladder import Ladder
from gamewarden.response.policies import BOT, HUMAN, NOT_KNOWN, History, difference, difference_by_step
from gamewarden.tables import json_text

_RUNGS = {
    "rung": pl.String,
    "enter": pl.Float64,
    "leave": pl.Float64,
    "steps": pl.String,
    "lasts": pl.String,
    "fpr": pl.Float64,
    "families": pl.Int64,
    "detectors": pl.String,
}
_CALLED_ALIKE = 10  # groups that a person reads at once


@dataclass(frozen=True)
class Told:
    """Sentences and tables, for a person or for a program."""

    sentences: tuple[str, ...]
    tables: Mapping[str, pl.DataFrame]
    values: Mapping[str, Any] = field(default_factory=dict)  # what a program reads beside the tables

    def json(self) -> str:
        """All of it as one JSON object."""
        tables = {name.replace(" ", "_"): json.loads(json_text(frame)) for name, frame in self.tables.items()}
        return json.dumps({**self.values, **tables}, ensure_ascii=False, allow_nan=False) + "\n"


def ladder_told(ladder: Ladder, unreachable: Sequence[str] = ()) -> Told:
    """A policy: its rungs as a table, and what holds for all of them in sentences; and which steps nobody can reach."""
    rows = [_rung_row(ladder, number) for number in range(1, len(ladder.rungs) + 1)]
    frame = pl.DataFrame(rows, schema=_RUNGS, orient="row")
    numbers = {"response": asdict(ladder.response), "covered": ladder.covered}
    sentences = (*_ladder_sentences(ladder), *(f"{line[0].upper()}{line[1:]}." for line in unreachable))
    values = {"policy": ladder.digest, **numbers, "unreachable": list(unreachable)}
    return Told(sentences, {"rungs": frame}, values)


def history_told(history: History, known: pl.DataFrame, tried_on: str) -> Told:
    """What a policy would have done: by step, by what is known of accounts, and account by account."""
    tables = {
        "steps": history.by_step(known),
        "labels": history.by("label", known),
        "styles of play": history.by("style", known),
        "groups": history.by("group", known),
        "steps not taken": history.refused(),
        "accounts": history.listed(known),
    }
    touched = sum(one.touched for one in history.accounts.values())
    values = {"policy": history.ladder.digest, "days": len(history.days), "judged": known.height, "touched": touched}
    return Told(tuple(_history_sentences(history, tables["labels"], tried_on)), tables, values)


def difference_told(one: History, other: History, tried_on: str) -> Told:
    """What policy B would have done otherwise than policy A on the same past."""
    tables = {"steps": difference_by_step(one, other), "accounts": difference(one, other)}
    names = one.ladder.digest, other.ladder.digest
    return Told(
        tuple(_difference_sentences(tables["accounts"], names, tried_on)), tables, {"a": names[0], "b": names[1]}
    )


def for_reading(told: Told, top: int) -> Told:
    """The same with so many accounts and some groups, as a person reads at once; 0 shows all accounts."""
    rows = {"accounts": top or None, "groups": _CALLED_ALIKE}
    shown = {
        name: frame.head(rows[name] or frame.height) if name in rows else frame for name, frame in told.tables.items()
    }
    left = [
        f"{counted(frame.height - shown[name].height, 'row')} of {name}"
        for name, frame in told.tables.items()
        if frame.height > shown[name].height
    ]
    hint = (f"Not shown: {', '.join(left)}; --json prints all, --top 0 shows all accounts.",) if left else ()
    return Told((*told.sentences, *hint), {name: frame for name, frame in shown.items() if _says_something(frame)})


def _says_something(frame: pl.DataFrame) -> bool:
    """Whether a table is worth reading: not where nothing is known of anybody."""
    return frame.height > 0 and frame.to_series(0).to_list() != [NOT_KNOWN]


def _rung_row(ladder: Ladder, number: int) -> tuple[object, ...]:
    rung, needs = ladder.rungs[number - 1], ladder.needs[number - 1]
    leave = ladder.scale.leaves[number - 1]
    evidence = (None, None) if needs is None else (needs.fpr, needs.agree)
    return rung.name, rung.enter, leave, ", ".join(rung.steps), rung.lasts, *evidence, ", ".join(rung.detectors)


def _ladder_sentences(ladder: Ladder) -> Iterator[str]:
    response, scale = ladder.response, ladder.scale
    yield f"Policy {ladder.digest}."
    yield (
        f"Suspicion (log-odds) starts at {scale.prior:.2f}, a share of {response.prior:.0%} bots, and decays to it "
        f"with play, about two thirds of the way in {response.tau}; it stays from {scale.least:g} to {scale.most:g}."
    )
    if ladder.review_by_rank is not None:
        yield (
            f"Each day the {response.cases_per_day:,} most suspicious accounts that nobody has reviewed become review "
            "cases, whatever their false-positive rate."
        )
    yield f"The first verdict counts whole, a further one {response.discount:g} of that; a challenge counts whole."
    yield (
        f"A rung that needs evidence rests on a verdict of the last {response.evidence_for} with at most that "
        f"false-positive rate (fpr), so many families that agree, {ladder.covered:.0%} of its period covered, and a "
        "source that the models know."
    )
    long = f"a ban or suspension for longer than {response.long_ban} needs"
    second = f"{long} a second one" if response.four_eyes else "a ban needs no second one"
    yield f"Only a person decides on {', '.join(SANCTIONS[:-1])} and {SANCTIONS[-1]}; {second}."
    armed = "Decisions are carried out: [response] armed is true."
    yield armed if response.armed else "Nothing leaves gamewarden: [response] armed is false."


def _history_sentences(history: History, labels: pl.DataFrame, tried_on: str) -> Iterator[str]:
    yield f"Policy {history.ladder.digest} on {tried_on}."
    touched = sum(one.touched for one in history.accounts.values())
    reached = counted(len(history.accounts), "account")
    yield f"{reached} would have reached a rung, and {touched:,} of them a step that players can feel."
    for label, word in ((HUMAN, "human"), (BOT, "bot")):
        for row in labels.filter(pl.col("label") == label).iter_rows(named=True):
            yield f"Of {counted(row['accounts'], f'known {word}')} {row['touched']:,} would have been touched."
    yield "Outcomes of challenges are those of the policy that was in force then."


def _difference_sentences(accounts: pl.DataFrame, names: tuple[str, str], tried_on: str) -> Iterator[str]:
    yield f"Policy A is {names[0]} and policy B {names[1]}, on {tried_on}."
    if names[0] == names[1]:
        yield "They are the same policy."
    elif not accounts.height:
        yield "They differ, and would have done the same."
    else:
        yield f"They would have treated {counted(accounts['actor'].n_unique(), 'account')} differently."
