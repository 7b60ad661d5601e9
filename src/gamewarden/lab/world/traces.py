"""A game whose players leave three traces of the same play: a log, packets, and what their clients say.

Who plays, when and in which sessions is that of the log; a tap at the server sees the first minutes of every session,
as packets and as decoded messages. What is done in them is drawn for each trace by itself, in the manner of the player:
a kill in the log has no attack of its own among the messages. Families of bots differ in which trace gives them away.
They are our own construction (docs/decisions/118-players-who-leave-three-traces.md), set after no recording.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa

from gamewarden.contracts import Progress, no_progress
from gamewarden.core.files import names_kept_together, whole_file, write_text
from gamewarden.errors import ConfigError
from gamewarden.lab.world.ragnarok import session_rows
from gamewarden.lab.world.ragnarok_cast import STYLES, Style
from gamewarden.lab.world.ragnarok_play import Session, own_style, play
from gamewarden.lab.world.ragnarok_wire import Message, packetstream
from gamewarden.lab.world.sending import REPLIES, dice_for, packets_of, with_replies
from gamewarden.lab.world.tabling import account_of, actor_id
from gamewarden.lab.world.traffic import Sender, hiding, jittering, person, program, sender_like
from gamewarden.lab.world.world import World
from gamewarden.lab.world.writing import write_events
from gamewarden.streams import PlainEvents
from gamewarden.tables import EVENTS, LABELS, check, write_table

FIRST_ACTOR, FIRST_CHARACTER = 2_000_001, 150_001
MINUTES = 12  # of every session that the tap sees; a session of messages counts above ten
_SECOND = 1_000_000
_MOST_SESSIONS = 1000  # of one account
LIKE_PEOPLE = None  # the log of a person, whichever persona the account was dealt


@dataclass(frozen=True)
class Family:
    """One family of bots: how each of its traces is made."""

    log: str | None  # a persona of the log, or that of a person
    packets: str  # open, half or hidden
    messages: tuple[str, ...]  # styles of the client

    def sender(self, name: str, dice: np.random.Generator) -> Sender:
        """How its client sends."""
        bot = program(name, alone=True, favourable=bool(dice.random() < 0.5))  # noqa: PLR2004  as often as not
        hidden = {"open": bot, "half": jittering(bot), "hidden": _unlike_a_bot(hiding(bot))}[self.packets]
        return replace(hidden, name=name)


def _unlike_a_bot(bot: Sender) -> Sender:
    """A program that replays how a person sends: order, pauses and lengths."""
    model = person("", 100)
    return replace(bot, order=model.order, words=model.words, gap=model.gap, jitter=model.jitter, disguise=None)


_PERSONS = ("hunter", "veteran", "explorer")
FAMILIES: Mapping[str, Family] = {
    # Nothing is hidden.
    "open": Family("farmer", "open", ("router", "stepper", "vacuum")),
    # A person at the keyboard whose keys a macro presses: the log and the orders are a person's, the rhythm is not.
    "macro": Family(LIKE_PEOPLE, "open", _PERSONS),
    # Its driver copies how people send and click; its days are one round after the other.
    "paced": Family("farmer", "hidden", _PERSONS),
    # No game client at all: it plays a person's hours and replays a person's rhythm, and says what no client would.
    "clientless": Family(LIKE_PEOPLE, "hidden", ("router", "stepper", "vacuum")),
    # Something of a bot in each trace, and not much in any.
    "careful": Family("mimic", "half", ("jittered",)),
}
# How people's clients say what their log shows.
_STYLES: Mapping[str, tuple[str, ...]] = {
    "casual": ("hunter", "explorer", "talker"),
    "sharer": ("hunter", "explorer", "talker"),
    "newbie": ("newcomer",),
    "trader": ("talker", "explorer"),
    "grinder": ("mobber", "veteran"),
    "hard-core": ("veteran", "mobber"),
    "sitter": ("hunter", "sitter"),
}


@dataclass(frozen=True)
class Traces(PlainEvents):
    """So many accounts of a game for so many days, and of each session a log, packets and messages.

    It is an EventStream of the log. The same values give the same traces.

    Raises:
        ConfigError: a number is out of range.
    """

    accounts: int
    days: int = 2
    seed: int = 1
    bots: float = 0.4
    minutes: int = MINUTES
    game: str = field(default="lineage")

    def __post_init__(self) -> None:
        if self.minutes < 1:
            raise ConfigError(f"world: minutes is {self.minutes}; a tap sees at least one")
        _ = self._dealt

    @property
    def columns(self) -> frozenset[str]:
        """Those of EVENTS that the log has."""
        return frozenset(EVENTS.columns)

    @cached_property
    def families(self) -> Mapping[int, str]:
        """The bots among the accounts, and the family of each: shares alike, places shuffled."""
        count = round(self.bots * self.accounts)
        places = np.random.default_rng([self.seed, self.accounts, 7]).permutation(self.accounts)[:count]
        names = list(FAMILIES)
        return {int(place): names[at % len(names)] for at, place in enumerate(places)}

    @cached_property
    def world(self) -> World:
        """Who plays when, and what the log shows of it."""
        logs = {at: FAMILIES[name].log for at, name in self.families.items()}
        return self._dealt.recast({actor_id(at): log for at, log in logs.items() if log is not None})

    @property
    def _dealt(self) -> World:
        return World(self.game, self.accounts, self.days, self.seed, bots=0.0)

    def batches(self, columns: Sequence[str] = tuple(EVENTS.columns)) -> Iterator[pa.RecordBatch]:
        """The events, account after account, each account's in time."""
        for batch in self.world.batches(columns):
            yield _renamed(batch)

    def labels(self) -> pl.DataFrame:
        """LABELS of every account, with its family or, of a person, its persona."""
        truth = self.truth()
        frame = pl.DataFrame(
            {
                "actor": list(truth),
                "bot": [at in self.families for at in range(self.accounts)],
                "source": "simulation",
                "family": list(truth.values()),
            }
        )
        return check(frame, LABELS, "world")

    def truth(self) -> dict[str, str]:
        """The family of every bot and the persona of every person."""
        return {actor_name(at): self.families.get(at, persona) for at, persona in enumerate(self._personas)}

    @cached_property
    def sessions(self) -> pl.DataFrame:
        """account, number, since and until (µs) of every session of the log, by account and time."""
        rows = (pl.DataFrame(pl.from_arrow(batch)) for batch in self.world.batches(("actor", "at", "session")))
        spans = (
            part.group_by("actor", "session").agg(since=pl.col("at").min(), until=pl.col("at").max()) for part in rows
        )
        whole = pl.concat([part.with_columns(pl.col("actor", "session").cast(pl.String)) for part in spans])
        merged = (
            whole.group_by("actor", "session").agg(pl.col("since").min(), pl.col("until").max()).sort("actor", "since")
        )
        return merged.select(
            account=pl.col("actor").str.slice(1).cast(pl.Int64),
            number=pl.int_range(pl.len()).over("actor"),
            since=pl.col("since").to_physical(),
            until=pl.col("until").to_physical(),
        )

    def seen(self) -> Iterator[tuple[int, int, int, float]]:
        """Account, number, beginning (µs) and seconds of what the tap sees of each session."""
        for account, number, since, until in self.sessions.iter_rows():
            yield account, number, since, min(60.0 * self.minutes, max(1.0, (until - since) / _SECOND))

    def packets(self, progress: Progress = no_progress) -> pl.DataFrame:
        """PACKETS of every session, in time."""
        parts = []
        for account, number, since, seconds in self.seen():
            place = account * _MOST_SESSIONS + number
            sent = packets_of(self._sender(account), since, seconds, dice_for(self.seed, place))
            parts.append(with_replies(sent, dice_for(self.seed, place, REPLIES)))
            progress(1)
        return pl.concat(parts).sort("at", maintain_order=True)

    def messages(self, progress: Progress = no_progress) -> pl.DataFrame:
        """MESSAGES of every session, as a reader of their streams would give them."""
        parts = []
        for number, (session, sent) in enumerate(self.said()):
            parts.append(session_rows(number, session, sent))
            progress(1)
        return pl.concat(parts)

    def said(self) -> Iterator[tuple[Session, list[Message]]]:
        """Every session and what its client says."""
        for account, number, since, seconds in self.seen():
            style, name = self._style(account)
            session = Session(FIRST_ACTOR + account, FIRST_CHARACTER + account, name, style, since, seconds)
            yield session, play(session, self.seed * _MOST_SESSIONS + number)

    def _sender(self, account: int) -> Sender:
        """How an account's client sends: the same in all of its sessions."""
        dice, name = self._dice(account, 1), actor_name(account)
        family = self.families.get(account)
        if family is not None:
            return FAMILIES[family].sender(name, dice)
        usual = sender_like(self._personas[account], name)
        hours = float(np.clip((usual.hours or 100.0) * np.exp(dice.normal(0, 0.7)), 5, 5000))
        return person(name, hours)

    def _style(self, account: int) -> tuple[Style, str]:
        """How an account's client plays, and what the style is called: its own version, in all of its sessions."""
        dice = self._dice(account, 2)
        family = self.families.get(account)
        choices = _STYLES[self._personas[account]] if family is None else FAMILIES[family].messages
        name = str(dice.choice(choices))
        return replace(own_style(STYLES[name], dice), own=0.0, strength=0.0), name

    @cached_property
    def _personas(self) -> list[str]:
        return list(self.world.truth().values())

    def _dice(self, account: int, stream: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, account, 11, stream])


def actor_name(account: int) -> str:
    """An account as every trace names it: by the number that its client connects with."""
    return str(FIRST_ACTOR + account)


def _renamed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same events under the names that all traces have."""
    for name in (name for name in ("actor", "other") if name in batch.schema.names):
        column = batch.column(name)
        names = pa.array([actor_name(account_of(actor) or 0) for actor in column.dictionary.to_pylist()], pa.string())
        renamed = pa.DictionaryArray.from_arrays(column.indices, names)
        batch = batch.set_column(batch.schema.get_field_index(name), name, renamed)
    return batch


def write_traces(world: Traces, directory: Path, progress: Progress = no_progress) -> int:
    """Write events.parquet, packets.parquet, sessions/ with a stream a session, labels, profiles and the truth.

    `progress` is told the sessions written, once as packets and once as messages; returned is how many there are.

    Raises:
        WriteError: the directory cannot be written, or the disk is full.
    """
    write_events(world.batches(), directory / "events.parquet")
    write_table(world.packets(progress), directory / "packets.parquet")
    with names_kept_together():
        for number, (session, sent) in enumerate(world.said()):
            with whole_file(directory / "sessions" / f"{number:06}-{session.actor}.adam") as draft:
                draft.write_bytes(packetstream(sent))
            progress(1)
    named = pl.Series("actor", list(world.truth()))
    write_table(world.labels().select("actor", "bot", "source", "family"), directory / "labels.csv")
    write_table(world.world.profiles().with_columns(named), directory / "profiles.csv")
    write_text(directory / "truth.json", json.dumps(world.truth(), indent=1) + "\n")
    return world.sessions.height
