"""The policy of responses as data: how suspicion adds up, which rungs the ladder has, and what carries steps out.

`warden.toml` holds it as [response], [challenge], [[response.ladder]] and [[response.adapter]]; `config` reads it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

# What a step may be. The first two stay within gamewarden; the others reach the game through an adapter.
WATCH, REVIEW = "watch", "review"
LIMIT, CHALLENGE, FREEZE, ISOLATE = "limit", "challenge", "freeze", "isolate"
HOLD, SUSPEND, BAN = "hold", "suspend", "ban"
INTERNAL = (WATCH, REVIEW)
REACTIONS = (LIMIT, CHALLENGE, FREEZE, ISOLATE)  # soft and reversible: a ladder may take them by itself
FAMILIES = 2  # a rung above watching needs at least so many families of evidence where it gives no number of its own
# The fewest families that a rung with one of these steps may name.
FEWEST_FAMILIES: Mapping[str, int] = {LIMIT: 1, CHALLENGE: 1, FREEZE: 2, ISOLATE: 2}
# How long these steps of a ladder hold, all decisions about an account added up, until a person has looked at it.
WITHOUT_A_LOOK: Mapping[str, timedelta] = {FREEZE: timedelta(days=7), ISOLATE: timedelta(days=7)}
SANCTIONS = (HOLD, SUSPEND, BAN)  # only a person decides these
STEPS = (*INTERNAL, *REACTIONS, *SANCTIONS)


def setting(default: Any, says: str) -> Any:  # noqa: ANN401  a dataclass default has the field's own type
    """A field of settings with the sentence that documents it."""
    return field(default=default, metadata={"says": says})


@dataclass(frozen=True)
class Response:
    """How suspicion adds up and what may follow from it; while `armed` is false nothing leaves gamewarden."""

    armed: bool = setting(default=False, says="Whether decisions are carried out; false rehearses them, and only that.")
    prior: float = setting(0.02, "The share of bots before any evidence: where suspicion starts and decays to.")
    tau: str = setting("168h", "How much play lets suspicion decay to about a third (1/e) of its way back.")
    played_a_day: str = setting("4h", "How long a day counts as played where nobody knows how long it was.")
    least: float = setting(-6.0, "The lowest suspicion (log-odds).")
    most: float = setting(8.0, "The highest suspicion (log-odds).")
    discount: float = setting(0.3, "How much a further verdict counts: days of one player are not independent.")
    hysteresis: float = setting(1.0, "A rung is left only this far below where it is entered, unless it says leave.")
    evidence_for: str = setting("30d", "Evidence older than this no longer carries a step.")
    cases_per_day: int = setting(20, "Cases that a review rung without a rate opens per day, most suspicious first.")
    four_eyes: bool = setting(default=True, says="Whether long and permanent bans need a second person's approval.")
    long_ban: str = setting("30d", "A ban or suspension for longer than this is a long ban: it needs a second person.")
    canary: float = setting(1.0, "The share of accounts for which decisions are carried out; the others are rehearsed.")
    actions_per_hour: int = setting(20, "More actions than this within an hour stop all further ones until resumed.")
    overturned_most: float = setting(0.1, "Where more than this share of actions was taken back, no more follow.")
    overturned_of: int = setting(10, "Of the newest so many actions; fewer than this stop nothing.")
    wave: str = setting("1h", "Actions of one wave go out together at a moment that evidence does not tell.")
    jitter: float = setting(0.3, "By which share of its length a wave or a wait varies at random.")


@dataclass(frozen=True)
class ChallengeSettings:
    """How players are asked to show that somebody is there; outcomes are evidence, no verdicts."""

    kind: str = setting("image", "What is asked where nothing else is said: image, arithmetic, item or task.")
    language: str = setting("en", "What players read: en (English) or ko (Korean).")
    words: str = setting("", "A TOML file with the game's items by kind and its NPCs; empty takes a few of ours.")
    every: str = setting("60m", "T0: how often somebody is asked who has just reached the rung.")
    least_every: str = setting("5m", "How often at the most, however high suspicion is.")
    jitter: float = setting(0.3, "By which share the wait varies at random.")
    lasts: str = setting("3m", "How long an answer may take.")
    attempts: int = setting(3, "How many wrong answers make it failed.")
    cool_down: str = setting("7d", "After a pass nobody is asked for so long, unless suspicion has risen again.")
    never_while: str = setting("fighting, trading, dead", "What the game may say a player does that puts it off.")
    failed: float = setting(3.0, "The log likelihood ratio of a failed challenge.")
    timeout: float = setting(2.0, "That of one without an answer.")
    passed: float = setting(-2.0, "That of one that was passed. A disconnect says nothing: 0.")
    learned_from: int = setting(50, "From so many outcomes of known bots and of known humans on these are learned.")
    on_call_difference: float = setting(0.6, "A human on call: bot-like windows around a test less those during it.")
    on_call_windows: int = setting(3, "Of at least so many windows before, during and after it each.")
    on_call_reach: str = setting("30m", "How long before and after a test windows are looked at.")
    reward: str = setting("", "What the game is told to give for a pass, such as an item's name; empty for nothing.")


@dataclass(frozen=True)
class AppealSettings:
    """What statements of reasons tell players beside the facts."""

    rule: str = setting("", "The rule of the game that bots break, as players know it; empty: a usual sentence.")
    where: str = setting("", "Where players appeal, such as the address of a form; empty: by an answer.")


@dataclass(frozen=True)
class Rung:
    """One rung of the ladder: from which suspicion on it is entered, what is looked at then, and what follows."""

    name: str = setting("", "What the rung is called.")
    enter: float = setting(0.0, "The suspicion (log-odds) from which it is entered; each rung's is above the last.")
    leave: float | None = setting(None, "The suspicion below which it is left; left out: enter less the hysteresis.")
    steps: tuple[str, ...] = setting((), "What follows: watch, limit, challenge, freeze, isolate, review.")
    detectors: tuple[str, ...] = setting((), "Which detectors are switched on for whoever is here, beside the rest.")
    lasts: str = setting("7d", "How long a step holds; it is then lifted, or decided again on newer evidence.")
    fpr: float | None = setting(None, "The false-positive rate its evidence may have; left out: [verdict] act.")
    agree: int | None = setting(
        None,
        "How many families must agree; left out: [verdict] agree, at least 2. limit and challenge need 1, freeze and "
        "isolate 2. With 0 and fpr = 1.0 a rung of review needs no evidence: [response] cases_per_day limits it.",
    )

    @property
    def needs_evidence(self) -> bool:
        """Whether its steps rest on a verdict; watching never does, review only where the rung asks for it."""
        if set(self.steps) <= {WATCH}:
            return False
        return not (set(self.steps) <= set(INTERNAL) and self.fpr == 1.0 and self.agree == 0)


# Spec §1.10; the first rung with a name is above "normal", where nobody is. Review comes first: nobody feels it.
LADDER = (
    Rung("review", -3.5, steps=(REVIEW,), fpr=1.0, agree=0, lasts="14d"),
    Rung("watched", -1.0, steps=(WATCH,), fpr=1.0, agree=0, lasts="14d"),
    Rung("suspect", 1.0, steps=(LIMIT,), fpr=0.02, agree=1),
    Rung("tested", 2.5, steps=(CHALLENGE,), fpr=0.02, agree=1),
    Rung("frozen", 4.5, steps=(FREEZE, ISOLATE), fpr=0.01, agree=2),
)


@dataclass(frozen=True)
class AdapterSettings:
    """What carries steps out: a line in a file, a signed webhook, a command of yours, or a game server's accounts."""

    name: str = setting("", "What the adapter is called.")
    kind: str = setting("log", "What it is: log, webhook, command, or the game server whose accounts it changes.")
    steps: tuple[str, ...] = setting(
        (), "The steps it carries out; empty: all that it can, but rathena and hercules only what needs no poller."
    )
    path: str = setting("actions.jsonl", "log: the file that gets a line per action.")
    url: str = setting(
        "", "webhook: where requests go; azerothcore, trinitycore: the SOAP console; https, or http to this machine."
    )
    secret_from: str = setting(
        "GAMEWARDEN_WEBHOOK_SECRET",
        "The environment variable with the webhook's secret, or with user:password of SOAP.",
    )
    allow_private: bool = setting(default=False, says="webhook: whether addresses of private networks are allowed.")
    command: tuple[str, ...] = setting(
        (), "command: program and arguments, with {actor}, {step}, {until}, {key}, {verb}."
    )
    undo: tuple[str, ...] = setting((), "command: program and arguments of the way back.")
    repeatable: bool = setting(default=False, says="command: whether the same {key} twice does no more than once.")
    timeout: str = setting("10s", "How long one attempt may take.")
    attempts: int = setting(8, "How often it is tried before a person is asked.")
    database_from: str = setting(
        "GAMEWARDEN_GAME_DB", "Game servers: the environment variable with the URL of the accounts' database."
    )
    account: str = setting(
        "account_id",
        "Game servers: what actors are: account_id, or their column of names: userid, username (azerothcore,"
        " trinitycore), name (eqemu).",
    )


GAME_SERVERS = ("rathena", "hercules", "azerothcore", "trinitycore", "eqemu")
NUMBER_COLUMNS = ("account_id", "id")  # what [[response.adapter]] account may be where actors are account numbers
ADAPTER_KINDS = ("log", "webhook", "command", *GAME_SERVERS)
LOG_ADAPTER = AdapterSettings("log")
