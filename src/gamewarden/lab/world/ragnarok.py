"""A synthetic evening of Ragnarok on disk: packetstreams by label, a capture of the same play, labels and the truth."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from gamewarden.contracts import Progress, no_progress
from gamewarden.core.durations import to_micros
from gamewarden.core.files import names_kept_together, whole_file, write_text
from gamewarden.errors import ConfigError
from gamewarden.lab.world.pcap import write_pcap
from gamewarden.lab.world.ragnarok_cast import BOTS, PLAYERS, STYLES
from gamewarden.lab.world.ragnarok_play import SECOND, Session, play
from gamewarden.lab.world.ragnarok_wire import LAYOUTS, Message, encode, packetstream
from gamewarden.tables import LABELS, TIME, check, write_table

SESSIONS = 25  # of players, and as many of bots: the thesis
SERVER = "198.51.100.1:5121"  # 5121 is the port of map servers
EVENING = datetime(2008, 6, 11, 17, tzinfo=UTC)
SHORTEST = 11  # minutes: a session counts above ten
LONGEST = 45
_FIRST_ACTOR, _FIRST_CHARACTER = 2_000_001, 150_001
_ARRIVALS = 2 * 3600  # people and bots come within two hours
_TOGETHER = 3000  # µs: messages that stand this close leave in one segment
_SPLIT = 0.005  # share of segments that end inside a message
_FOLDERS = {False: "players", True: "bots"}
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Ragnarok:
    """So many sessions of players and as many of bots, a fifth as many of each that nobody has labelled.

    Raises:
        ConfigError: a number is out of range.
    """

    sessions: int = SESSIONS
    seed: int = 1
    longest: int = LONGEST  # minutes

    def __post_init__(self) -> None:
        if self.sessions < 1 or self.longest <= SHORTEST or self.seed < 0:
            raise ConfigError(
                f"world: {self.sessions} sessions of up to {self.longest} minutes with seed {self.seed} cannot be "
                f"played; give 1 session or more, more than {SHORTEST} minutes, and a seed of 0 or more"
            )

    @property
    def unlabelled(self) -> int:
        """How many sessions of players, and of bots, are nobody's to know."""
        return max(1, self.sessions // 5)

    @cached_property
    def cast(self) -> tuple[Session, ...]:
        """Who plays: players, bots, then the unlabelled ones, in random order so that no number tells them apart."""
        random = np.random.default_rng([self.seed, 0])
        each = self.sessions + self.unlabelled
        personas = [side[at % len(side)] for side in (PLAYERS, BOTS) for at in range(each)]
        numbers = random.permutation(2 * each)
        return tuple(
            self._session(persona, int(number), random) for persona, number in zip(personas, numbers, strict=True)
        )

    def _session(self, persona: str, number: int, random: np.random.Generator) -> Session:
        start = to_micros(EVENING) + int(random.uniform(0, _ARRIVALS) * SECOND)
        seconds = 60 * float(random.uniform(SHORTEST, self.longest))
        actor, character = _FIRST_ACTOR + number, _FIRST_CHARACTER + number
        return Session(actor, character, persona, STYLES[persona], start, seconds)

    def labelled(self) -> tuple[Session, ...]:
        """The sessions whose label is known: players first, then bots."""
        each = self.sessions + self.unlabelled
        return (*self.cast[: self.sessions], *self.cast[each : each + self.sessions])

    def folder_of(self, session: Session) -> str:
        """Under which label a session's stream stands."""
        return _FOLDERS[session.style.bot] if session in self.labelled() else UNKNOWN

    def messages(self, session: Session) -> list[Message]:
        """What the session's client sends."""
        return play(session, self.seed)

    def message_rows(self, sessions: Sequence[Session], progress: Progress = no_progress) -> pl.DataFrame:
        """MESSAGES of some sessions, as a reader of their streams would give them."""
        frames = []
        for number, session in enumerate(sessions):
            frames.append(session_rows(number, session, self.messages(session)))
            progress(1)
        return pl.concat(frames)

    def labels(self) -> pl.DataFrame:
        """LABELS of the labelled sessions."""
        known = self.labelled()
        frame = pl.DataFrame(
            {
                "actor": [str(session.actor) for session in known],
                "bot": [session.style.bot for session in known],
                "source": "simulation",
            }
        )
        return check(frame, LABELS, "world")

    def truth(self) -> dict[str, str]:
        """The persona behind every account."""
        return {str(session.actor): session.persona for session in sorted(self.cast, key=lambda one: one.actor)}


def write_ragnarok(world: Ragnarok, directory: Path, progress: Progress = no_progress) -> int:
    """Write players/, bots/ and unknown/ with a stream a session, capture.pcap, labels.csv and truth.json.

    Raises:
        WriteError: the directory cannot be written, or the disk is full.
    """
    segments = []
    with names_kept_together():
        for session in world.cast:
            messages = world.messages(session)
            with whole_file(directory / world.folder_of(session) / f"{session.actor}.adam") as draft:
                draft.write_bytes(packetstream(messages))
            segments.append(_packets(session, messages, world.seed))
            progress(1)
    packets = pl.concat(segments).sort("at", maintain_order=True)
    accounts = write_pcap(packets, directory / "capture.pcap", SERVER)
    write_table(accounts.sort("account"), directory / "accounts.csv")
    write_table(world.labels().select("actor", "bot", "source").sort("actor"), directory / "labels.csv")
    write_text(directory / "truth.json", json.dumps(world.truth(), indent=2) + "\n")
    return len(world.cast)


def sent_packets(world: Ragnarok, sessions: Sequence[Session]) -> pl.DataFrame:
    """PACKETS of some sessions, with their payloads."""
    parts = [_packets(session, world.messages(session), world.seed) for session in sessions]
    return pl.concat(parts).sort("at", maintain_order=True)


def session_rows(number: int, session: Session, messages: Sequence[Message]) -> pl.DataFrame:
    """MESSAGES of one session, as a reader of its stream would give them."""
    columns = {
        "at": pl.Series([message.at for message in messages], dtype=pl.Int64).cast(TIME),
        "id": pl.Series([LAYOUTS[message.function].id for message in messages], dtype=pl.UInt16),
        "function": pl.Series([message.function for message in messages], dtype=pl.String),
        "size": pl.Series([len(encode(message)) for message in messages], dtype=pl.Int32),
        "x": pl.Series([message.x for message in messages], dtype=pl.Int16),
        "y": pl.Series([message.y for message in messages], dtype=pl.Int16),
        "target": pl.Series([message.target for message in messages], dtype=pl.UInt32),
        "action": pl.Series([message.action for message in messages], dtype=pl.UInt8),
    }
    return pl.DataFrame(columns).with_columns(
        stream=pl.lit(number, pl.Int32),
        session=pl.lit(number, pl.Int64),
        actor=pl.lit(str(session.actor)),
        character=pl.lit(str(session.character)),
    )


def _packets(session: Session, messages: Sequence[Message], seed: int) -> pl.DataFrame:
    """The same as TCP segments: what is sent at nearly one time leaves together, and some end inside a message."""
    rows = list(_split(_gathered(messages), np.random.default_rng([seed, session.actor, 1])))
    return pl.DataFrame(
        {
            "actor": str(session.actor),
            "at": pl.Series([at for at, _ in rows], dtype=pl.Int64).cast(TIME),
            "up": True,
            "size": pl.Series([len(payload) for _, payload in rows], dtype=pl.Int32),
            "payload": pl.Series([payload for _, payload in rows], dtype=pl.Binary),
        }
    )


def _gathered(messages: Sequence[Message]) -> Iterator[tuple[int, bytes]]:
    at, together = 0, b""
    for message in messages:
        if together and message.at - at > _TOGETHER:
            yield at, together
            together = b""
        at = message.at
        together += encode(message)
    if together:
        yield at, together


def _split(segments: Iterator[tuple[int, bytes]], random: np.random.Generator) -> Iterator[tuple[int, bytes]]:
    """A segment's last byte brings its messages: the first part of a split one leaves a millisecond earlier."""
    for at, payload in segments:
        if len(payload) > 1 and random.random() < _SPLIT:
            cut = int(random.integers(1, len(payload)))
            yield at - 1000, payload[:cut]
            yield at, payload[cut:]
        else:
            yield at, payload
