"""The policy as people at the desk look at it: the ladder, what it would have done, and what leaves."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import polars as pl

from gamewarden.cases import BEGUN, DO, DONE, FAILED, STOPPED, UNCERTAIN, WAITING, Action
from gamewarden.core.durations import from_micros
from gamewarden.core.text import counted
from gamewarden.desk.desk import Desk
from gamewarden.desk.jobs import Job, jobs
from gamewarden.errors import ModelError
from gamewarden.policy import INTERNAL, SANCTIONS, WITHOUT_A_LOOK
from gamewarden.presentation.policies import history_told, ladder_told
from gamewarden.response.adapters import Ways, ways_of
from gamewarden.response.ladder import Ladder
from gamewarden.store.ledger.ledger import Ledger
from gamewarden.store.model_registry import in_force
from gamewarden.workspace.carrying_book import HALTED, RESUMED
from gamewarden.workspace.ladder_reach import unreachable_steps
from gamewarden.workspace.policies import past_of
from gamewarden.workspace.pushed import named_sources

_OPEN = (WAITING, BEGUN, FAILED, UNCERTAIN, STOPPED)
_LEFT = (BEGUN, DONE, FAILED, UNCERTAIN, STOPPED)
_SHOWN = 50  # actions
_TABLES = ("steps", "labels", "styles of play", "steps not taken")


@dataclass(frozen=True)
class RungShown:
    """One rung of the ladder, in numbers and in words."""

    number: int
    name: str
    enter: float
    leave: float
    steps: tuple[str, ...]
    lasts: str
    fpr: float | None
    families: int | None
    detectors: tuple[str, ...]
    words: tuple[str, ...]


@dataclass(frozen=True)
class AdapterShown:
    """A way into the game, and how it does."""

    name: str
    kind: str
    steps: tuple[str, ...]
    missing: str | None  # why it cannot work
    sure: bool | None  # whether the same action twice does no more than once
    states: dict[str, int]  # its actions, by state
    last: datetime | None  # when something was last carried out
    trouble: str | None


@dataclass(frozen=True)
class ActionShown:
    """An action on its way."""

    id: str
    decision: str
    actor: str
    verb: str
    step: str
    adapter: str
    state: str
    due: datetime
    attempts: int
    error: str | None
    asks: bool  # a person has to say what became of it


@dataclass(frozen=True)
class Breaker:
    """Whether anything leaves, and what would stop it."""

    halted: str | None
    resumed: datetime | None
    left: int  # actions within the last hour
    most: int
    overturned_most: float
    overturned_of: int


@dataclass(frozen=True)
class PolicyTable:
    """A table of a rehearsal."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str | int | float | None, ...], ...]


@dataclass(frozen=True)
class Rehearsed:
    """What the ladder would have done on all that was judged."""

    sentences: tuple[str, ...]
    tables: tuple[PolicyTable, ...]


@dataclass(frozen=True)
class PolicyView:
    """The policy, and how it is carried out."""

    digest: str
    sentences: tuple[str, ...]
    rungs: tuple[RungShown, ...]
    unreachable: tuple[str, ...]  # which steps nobody can reach, and why
    sanctions: tuple[str, ...]  # only a person decides them
    armed: bool
    how_to_arm: str
    four_eyes: bool
    long_ban: str
    canary: float
    breaker: Breaker
    adapters: tuple[AdapterShown, ...]
    actions: tuple[ActionShown, ...]
    on_their_way: int
    rehearsal: str | None  # running, ready, failed; None: nobody asked
    rehearsed_at: datetime | None
    rehearsal_error: str | None
    rehearsed: Rehearsed | None


def policy(desk: Desk) -> PolicyView:
    """The policy in force, and how it is carried out.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    config = desk.workspace.config
    ladder, response = Ladder.of(config), config.response
    ledger = desk.workspace.ledger if desk.workspace.has_ledger else None
    waiting = [] if ledger is None else ledger.find(Action, state=_OPEN, order=("due",), newest=_SHOWN)
    job = jobs(desk).last("rehearsal", _key(desk, ladder))
    return PolicyView(
        digest=ladder.digest,
        sentences=ladder_told(ladder).sentences[1:],
        rungs=tuple(_rung(ladder, number) for number in range(1, len(ladder.rungs) + 1)),
        unreachable=_unreachable(desk, ladder),
        sanctions=SANCTIONS,
        armed=response.armed,
        how_to_arm=_how_to_arm(desk),
        four_eyes=response.four_eyes,
        long_ban=response.long_ban,
        canary=response.canary,
        breaker=_breaker(desk, ledger),
        adapters=tuple(_adapters(desk, ledger)),
        actions=tuple(map(_action, waiting)),
        on_their_way=0 if ledger is None else ledger.count(Action, state=_OPEN),
        rehearsal=None if job is None else job.state,
        rehearsed_at=None if job is None else job.ended or job.begun,
        rehearsal_error=None if job is None else job.error,
        rehearsed=None if job is None else job.value,
    )


def _unreachable(desk: Desk, ladder: Ladder) -> tuple[str, ...]:
    """Which steps nobody can reach; models are read again only where others are in force."""
    try:
        models = tuple(str(one.path) for one in in_force(desk.workspace.models))
    except ModelError:  # there is none, or one is damaged: the page of models says so
        return ()
    return desk.memory.of("unreachable", (ladder.digest, models), lambda: unreachable_steps(desk.workspace, ladder), 1)


def begin_rehearsal(desk: Desk) -> Job:
    """Let the ladder be tried on all that was judged, beside whatever else happens."""
    ladder = Ladder.of(desk.workspace.config)
    return jobs(desk).begin(desk, "rehearsal", _key(desk, ladder), partial(rehearse, desk, ladder))


def rehearse(desk: Desk, ladder: Ladder) -> Rehearsed:
    """What the ladder would have done on all that was judged.

    Raises:
        ReadError: no day was judged yet.
    """
    past = past_of(desk.workspace)
    told = history_told(past.under(ladder), past.known, past.sentence)
    tables = tuple(_table(name, told.tables[name]) for name in _TABLES if told.tables[name].height)
    return Rehearsed(told.sentences, tables)


def _key(desk: Desk, ladder: Ladder) -> tuple[str, str]:
    """What a rehearsal is of: a ladder, whatever was judged since; the page says when it was made."""
    return ladder.digest, str(desk.workspace.results)


def _how_to_arm(desk: Desk) -> str:
    place = f"under [response] in warden.toml of {desk.workspace.root.absolute().name}"
    if desk.workspace.config.response.armed:
        return f"To stop everything, set armed = false {place}."
    return (
        f"Arming is done by whoever runs the server, in no browser: armed = true {place}. "
        "Begin with a small canary: the others are rehearsed still."
    )


def _rung(ladder: Ladder, number: int) -> RungShown:
    rung, needs = ladder.rungs[number - 1], ladder.needs[number - 1]
    return RungShown(
        number=number,
        name=rung.name,
        enter=rung.enter,
        leave=ladder.scale.leaves[number - 1],
        steps=rung.steps,
        lasts=rung.lasts,
        fpr=None if needs is None else needs.fpr,
        families=None if needs is None else needs.agree,
        detectors=rung.detectors,
        words=tuple(_words(ladder, number)),
    )


def _words(ladder: Ladder, number: int) -> Iterator[str]:
    """What a rung means, for somebody who never saw log-odds."""
    rung, needs = ladder.rungs[number - 1], ladder.needs[number - 1]
    yield f"Entered when suspicion reaches {rung.enter:g}, left below {ladder.scale.leaves[number - 1]:g}."
    inside = [step for step in rung.steps if step in INTERNAL]
    if len(inside) == len(rung.steps):
        yield "Nothing of it reaches the game."
    if number == ladder.review_by_rank:
        cases = ladder.response.cases_per_day
        yield f"It needs no rate: the {cases:,} most suspicious accounts a day that nobody has reviewed become cases."
    elif needs is None:
        yield "It needs no particular evidence: looking harms nobody."
    else:
        share = "nobody" if not needs.fpr else f"at most 1 in {round(1 / needs.fpr):,}"
        families = "1 family of evidence" if needs.agree == 1 else f"{needs.agree} families of evidence"
        yield f"A verdict must carry it that {share} people would get; {families} must agree."
    held = {WITHOUT_A_LOOK[step].days for step in rung.steps if step in WITHOUT_A_LOOK}
    if held:
        yield f"It holds for at most {min(held)} days in all until a person has looked at the account."
    yield f"It ends by itself after {rung.lasts}, unless newer evidence carries it."


def _breaker(desk: Desk, ledger: Ledger | None) -> Breaker:
    response = desk.workspace.config.response
    hour_ago = {"changed": desk.now() - timedelta(hours=1)}
    left = 0 if ledger is None else ledger.count(Action, verb=DO, state=_LEFT, at_least=hour_ago)
    halted = None if ledger is None else ledger.fact(HALTED) or None
    resumed = None if ledger is None else ledger.fact(RESUMED)
    since = None if resumed is None else from_micros(int(resumed))
    return Breaker(halted, since, left, response.actions_per_hour, response.overturned_most, response.overturned_of)


def _adapters(desk: Desk, ledger: Ledger | None) -> Iterator[AdapterShown]:
    config = desk.workspace.config
    ways: Ways = ways_of(config.adapters, desk.workspace.root, named_sources(config, desk.workspace.root))
    for one in config.adapters:
        made = ways.adapters.get(one.name)
        some = [] if ledger is None else ledger.find(Action, adapter=one.name, state=_OPEN, newest=1_000)
        done = [] if ledger is None else ledger.find(Action, adapter=one.name, state=DONE, order=("changed",), newest=1)
        yield AdapterShown(
            name=one.name,
            kind=one.kind,
            steps=one.steps if made is None else made.steps,
            missing=ways.missing.get(one.name),
            sure=None if made is None else made.sure,
            states=dict(Counter(action.state for action in some)),
            last=done[0].changed if done else None,
            trouble=next((action.error for action in some if action.error and action.state != WAITING), None),
        )


def _action(one: Action) -> ActionShown:
    return ActionShown(
        id=one.id,
        decision=one.decision,
        actor=one.actor,
        verb=one.verb,
        step=one.step,
        adapter=one.adapter,
        state=one.state,
        due=one.due,
        attempts=one.attempts,
        error=one.error,
        asks=one.state in {UNCERTAIN, STOPPED},
    )


def _table(title: str, frame: pl.DataFrame) -> PolicyTable:
    head = tuple(name.replace("_", " ") for name in frame.columns)
    return PolicyTable(title, head, tuple(tuple(map(_cell, row)) for row in frame.iter_rows()))


def _cell(value: Any) -> str | int | float | None:  # noqa: ANN401  a value of a table
    return f"{value:%Y-%m-%d}" if isinstance(value, datetime) else value


def troubles(view: PolicyView) -> Sequence[str]:
    """What somebody has to look at, the most urgent first."""
    asked = sum(one.asks for one in view.actions)
    broken = [one.name for one in view.adapters if one.missing]
    return [
        *([f"All actions are stopped: {view.breaker.halted}"] if view.breaker.halted else []),
        *([f"{counted(asked, 'action')} wait for somebody who says what became of them"] if asked else []),
        *([f"These adapters cannot work: {', '.join(broken)}"] if broken else []),
    ]
