"""NATS JetStream: a stream whose subjects `<name>.<number>` are the partitions, and workers that are told theirs.

Nobody is coordinated here: whoever starts the workers gives each its number, and the lock on a partition's directory
keeps two of the same number apart. Consumers are made for the moment and forgotten; the state says where to go on.
Messages of a subject can only be missed by expiring, so what came is believed only if the stream still held, after it
came, all that could have come before it.
"""

import asyncio
import json
import os
import ssl
import time
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy, RetentionPolicy, StreamConfig, StreamInfo
from nats.js.errors import APIError, NotFoundError, ServiceUnavailableError

from gamewarden.errors import ConfigError, ReadError, WriteError
from gamewarden.online.brokers.broker import Message, Owner, Reach, expired
from gamewarden.online.brokers.locators import Locator
from gamewarden.online.brokers.relays import Cursor, Line, Origin, PlainSink

CREDENTIALS, TOKEN = "GAMEWARDEN_NATS_CREDS", "GAMEWARDEN_NATS_TOKEN"
USER, PASSWORD = "GAMEWARDEN_NATS_USERNAME", "GAMEWARDEN_NATS_PASSWORD"
AUTHORITY = "GAMEWARDEN_NATS_CA"  # a file of certificates; `system` takes the machine's own
_AT_ONCE = 32  # messages that are asked for at a time
_ASKED_FOR = 1.0  # seconds after which the server forgets the question
_ANSWER = 5.0  # seconds
_MOVE = 0.002  # seconds in which what has come is looked at
_LOOK_AROUND = 2.0  # seconds between two looks for new partitions
_FORGOTTEN = 60.0  # seconds after which the server forgets who asks no more
_ON_THEIR_WAY = 64  # messages
_NOTHING_YET = ("404", "408")
_FROM, _THROUGH = "Gamewarden-From", "Gamewarden-Through"
_WRONG = (NatsError, OSError, TimeoutError)
_Result = TypeVar("_Result")


class _Connection:
    """A connection that only moves while something is asked of it."""

    def __init__(self, locator: Locator) -> None:
        if "." in locator.name:
            raise ConfigError(f"{locator}: the name of a stream has no dots; write nats://host/stream?subject=a.b")
        self.name = str(locator)
        self.stream, self.subject = locator.name, locator.subject
        self.reconnected = False
        self.trouble: str | None = None
        self._loop = asyncio.new_event_loop()
        try:
            self.client: Client = self.run(self._connected(locator))
        except (*_WRONG, ValueError, ssl.SSLError) as error:
            self._loop.close()
            raise ReadError(f"{self.name}: {_text(error)}; look whether the server is up, and its address") from error
        self.jetstream: JetStreamContext = self.client.jetstream(timeout=_ANSWER)

    async def _connected(self, locator: Locator) -> Client:
        client = await nats.connect(
            servers=servers_of(locator),
            name="gamewarden",
            connect_timeout=int(_ANSWER),
            max_reconnect_attempts=1,  # one that is not there is said soon
            reconnected_cb=self._note,
            error_cb=self._note_trouble,
            **secrets_of(),
        )
        client.options["max_reconnect_attempts"] = 60  # one that goes away is waited for
        return client

    async def _note(self) -> None:
        self.reconnected, self.trouble = True, None

    async def _note_trouble(self, error: Exception) -> None:
        self.trouble = _text(error)

    def run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Do something, and wait for it."""
        return self._loop.run_until_complete(work)

    async def info(self, subjects: str | None = None) -> StreamInfo:
        """What the stream says of itself."""
        return await self.jetstream.stream_info(self.stream, subjects_filter=subjects)

    async def made(self, partitions: int | None) -> StreamInfo:
        """The stream, made if it is not there; its description says how many partitions it has."""
        try:
            return await self.info()
        except NotFoundError:
            said = f"partitions={partitions}" if partitions else None
            config = StreamConfig(name=self.stream, subjects=[f"{self.subject}.*"], description=said)
            return await self.jetstream.add_stream(config)

    def close(self) -> None:
        """Leave."""
        if self._loop.is_closed():
            return
        with suppress(*_WRONG):  # it is gone already
            self.run(asyncio.wait_for(self.client.close(), _ANSWER))
        self._loop.close()


def servers_of(locator: Locator) -> list[str]:
    """Where the servers are, and whether the way to them is a secret one."""
    return [f"{'tls' if AUTHORITY in os.environ else 'nats'}://{server}" for server in locator.servers]


def secrets_of() -> dict[str, Any]:
    """What lets us in, from the environment."""
    secrets: dict[str, Any] = {}
    for name, variable in (
        ("user_credentials", CREDENTIALS),
        ("token", TOKEN),
        ("user", USER),
        ("password", PASSWORD),
    ):
        if variable in os.environ:
            secrets[name] = os.environ[variable]
    if place := os.environ.get(AUTHORITY):
        secrets["tls"] = ssl.create_default_context(cafile=None if place == "system" else place)
    return secrets


def _text(error: BaseException) -> str:
    said = getattr(error, "description", None) or str(error) or type(error).__name__
    return " ".join(str(said).split())[:200]


@dataclass(eq=False)
class _Pull:
    """A partition that messages are asked for."""

    partition: int
    position: int  # the stream's number of what comes next
    inbox: str = ""
    ask: str = ""  # the subject on which the consumer is asked
    subscription: Any = None
    outstanding: int = 0
    asked_at: float = 0.0
    delivered: int = 0  # messages of this consumer
    pending: int | None = None


class NatsStream:
    """The partitions of a stream that belong to one worker of several."""

    def __init__(self, locator: Locator, worker: tuple[int, int] = (1, 1)) -> None:
        self._connection = _Connection(locator)
        self._worker, self._workers = worker
        self._source = str(locator)
        self._came: asyncio.Queue[tuple[_Pull, Msg]] = asyncio.Queue()
        self._pulls: dict[int, _Pull] = {}
        self._known: set[int] = set()
        self._looked_at = -_LOOK_AROUND
        self._info = self._described()

    def _described(self) -> StreamInfo:
        try:
            info = self._connection.run(self._connection.info())
        except _WRONG as error:
            self._connection.close()
            raise ReadError(f"{self._source}: {_text(error)}; make the stream, or name another") from error
        if info.config.retention != RetentionPolicy.LIMITS or (info.config.max_msgs_per_subject or -1) > 0:
            self._connection.close()
            raise ReadError(
                f"{self._source}: the stream drops messages of a subject for other reasons than age and size "
                f"(retention {info.config.retention}, {info.config.max_msgs_per_subject} messages a subject), so that "
                "it could not be seen which were missed; make it with retention limits and no limit a subject"
            )
        return info

    @property
    def source(self) -> str:
        """The stream as it was named."""
        return self._source

    @property
    def trouble(self) -> str | None:
        """What the connection complained of."""
        return self._connection.trouble

    @property
    def identity(self) -> str:
        """The stream, and when it was made."""
        return f"nats {self._connection.stream} {self._info.created}"

    @property
    def partitions(self) -> int | None:
        """As many as whoever made the stream wrote down."""
        return _described_as(self._info)

    def poll(self, owner: Owner, seconds: float) -> Sequence[Message]:
        """What came, after new partitions were told to the owner."""
        try:
            if time.monotonic() - self._looked_at >= _LOOK_AROUND:
                self._look_around(owner)
            return self._connection.run(self._received(seconds))
        except ServiceUnavailableError as error:  # while a cluster elects who leads
            return self._unless_closed(error)
        except APIError as error:
            raise ReadError(f"{self._source}: {_text(error)}") from error
        except _WRONG as error:
            return self._unless_closed(error)

    def _unless_closed(self, error: BaseException) -> Sequence[Message]:
        """A server that is away for a while is waited for."""
        if self._connection.client.is_closed:
            raise ReadError(f"{self._source}: the connection is gone ({_text(error)}); look at the server") from error
        self._connection.run(asyncio.sleep(0.2))
        return []

    def _look_around(self, owner: Owner) -> None:
        info = self._connection.run(self._connection.info(f"{self._connection.subject}.*"))
        ends = (name.rpartition(".")[2] for name in info.state.subjects or ())
        # A subject without a message is not told of; its state stays on the way all the same.
        numbers = (
            {int(end) for end in ends if end.isdecimal()} | set(owner.at_rest()) | set(range(self.partitions or 0))
        )
        ours = sorted(number for number in numbers - self._known if number % self._workers == self._worker - 1)
        self._known |= numbers
        self._info, self._looked_at = info, time.monotonic()
        if ours:
            owner.gain(ours)

    async def _received(self, seconds: float) -> list[Message]:
        if self._connection.reconnected:
            self._connection.reconnected = False
            for pull in self._pulls.values():
                await self._open(pull)
        for pull in self._pulls.values():
            await self._ask(pull)
        came = await self._waited(seconds)
        if not came:
            return []
        self._info = await self._connection.info()
        return await self._believed(came)

    async def _waited(self, seconds: float) -> list[tuple[_Pull, Msg]]:
        try:
            came = [await asyncio.wait_for(self._came.get(), seconds)]
        except TimeoutError:
            return []
        while not self._came.empty():
            came.append(self._came.get_nowait())
        return came

    async def _believed(self, came: Sequence[tuple[_Pull, Msg]]) -> list[Message]:
        first = self._info.state.first_seq
        before = {pull.partition: pull.position for pull, _ in came}
        found = []
        for pull, message in came:
            if self._pulls.get(pull.partition) is not pull or message.subject == "":
                continue
            if status := (message.headers or {}).get("Status"):
                await self._told(pull, status)
                continue
            told = message.metadata
            pull.outstanding -= 1
            if told.sequence.consumer != pull.delivered + 1:  # one was lost on the way
                await self._open(pull)
                continue
            pull.delivered, pull.pending = told.sequence.consumer, told.num_pending
            if before[pull.partition] < first:
                raise expired(self._source, pull.partition, before[pull.partition], first)
            pull.position = told.sequence.stream + 1
            found.append(Message(pull.partition, told.sequence.stream, message.data))
        return found

    async def _told(self, pull: _Pull, status: str) -> None:
        """The server answers without a message."""
        pull.outstanding = 0
        if status not in _NOTHING_YET:
            await self._open(pull)

    async def _ask(self, pull: _Pull) -> None:
        now = time.monotonic()
        if pull.outstanding > 0 and now - pull.asked_at > _ASKED_FOR + _ANSWER:
            await self._open(pull)  # the answer was lost
        if pull.outstanding > 0:
            return
        pull.outstanding, pull.asked_at = _AT_ONCE, now
        question = {"batch": _AT_ONCE, "expires": int(_ASKED_FOR * 1e9)}
        await self._connection.client.publish(pull.ask, json.dumps(question).encode(), pull.inbox)

    async def _open(self, pull: _Pull) -> None:
        """Ask for a new consumer that begins where we stand."""
        if pull.subscription is not None:
            await pull.subscription.unsubscribe()
        fresh = replace(pull, inbox=self._connection.client.new_inbox(), outstanding=0, delivered=0, subscription=None)
        config = ConsumerConfig(
            ack_policy=AckPolicy.NONE,
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=max(pull.position, 1),
            filter_subject=f"{self._connection.subject}.{pull.partition}",
            inactive_threshold=_FORGOTTEN,
            mem_storage=True,
        )
        made = await self._connection.jetstream.add_consumer(self._connection.stream, config)
        fresh.ask = f"$JS.API.CONSUMER.MSG.NEXT.{self._connection.stream}.{made.name}"

        async def keep(message: Msg) -> None:
            await self._came.put((fresh, message))

        fresh.subscription = await self._connection.client.subscribe(fresh.inbox, cb=keep)
        self._pulls[pull.partition] = fresh

    def reach(self, partition: int) -> Reach | None:  # noqa: ARG002  a stream counts all subjects together
        """What the stream holds."""
        try:
            state = self._connection.run(self._connection.info()).state
        except _WRONG:
            return None
        return Reach(max(state.first_seq, 1), state.last_seq + 1)

    def remembered(self, partition: int) -> int | None:  # noqa: ARG002  nothing is remembered there
        """Nobody tells the server."""
        return None

    def start(self, partition: int, offset: int) -> bool:
        """Begin to ask."""
        try:
            self._connection.run(self._open(_Pull(partition, offset)))
        except _WRONG:
            return False
        return True

    def stop(self, partition: int) -> None:
        """Ask no more; what is under way is dropped."""
        self._pulls.pop(partition, None)

    def empty_until(self, partition: int) -> int | None:
        """Where the stream ends, if it has no message of this partition from where we stand on.

        The numbers are the stream's, and others' messages move them: a partition of which nothing comes stands where
        the stream does, so that it is not taken for one whose messages have expired.
        """
        pull = self._pulls.get(partition)
        if pull is None:
            return None
        try:
            return self._connection.run(self._end_unless_more(pull))
        except _WRONG:
            return None

    async def _end_unless_more(self, pull: _Pull) -> int | None:
        state = (await self._connection.info()).state
        subject = f"{self._connection.subject}.{pull.partition}"
        try:
            await self._connection.jetstream.get_msg(self._connection.stream, pull.position, subject, next=True)
        except NotFoundError:
            if pull.position < state.first_seq:
                raise expired(self._source, pull.partition, pull.position, state.first_seq) from None
            pull.position = max(pull.position, state.last_seq + 1)
            return pull.position
        return None

    def remember(self, offsets: Mapping[int, int]) -> None:
        """Nothing: the server knows no group of ours."""

    def lag(self, partition: int) -> int | None:
        """As the latest message told."""
        pull = self._pulls.get(partition)
        return None if pull is None else pull.pending

    def close(self) -> None:
        """Leave."""
        self._connection.close()


class NatsPublisher:
    """A stream that messages are sent to."""

    def __init__(self, locator: Locator, partitions: int | None = None) -> None:
        self._connection = _Connection(locator)
        self._under_way: list[asyncio.Future[Any]] = []
        try:
            info = self._connection.run(self._connection.made(partitions))
        except _WRONG as error:
            self._connection.close()
            raise WriteError(f"{locator}: the stream cannot be made ({_text(error)}); make it yourself") from error
        try:
            self.partitions = _counted(info, partitions, str(locator))
        except WriteError:
            self._connection.close()
            raise

    def send(self, partition: int, value: bytes) -> None:
        """Send a message; where many are on their way, wait for the first of them."""
        try:
            self._connection.run(self._sent(f"{self._connection.subject}.{partition}", value))
        except _WRONG as error:
            raise _not_taken(self._connection.name, error) from error

    async def _sent(self, subject: str, value: bytes) -> None:
        if len(self._under_way) >= _ON_THEIR_WAY:
            await asyncio.wait_for(self._under_way.pop(0), 4 * _ANSWER)
        self._under_way.append(await self._connection.jetstream.publish_async(subject, value))

    def flush(self) -> None:
        """Wait until all have arrived."""
        try:
            while self._under_way:
                self._connection.run(_first(self._under_way))
        except _WRONG as error:
            raise _not_taken(self._connection.name, error) from error

    def close(self) -> None:
        """Leave."""
        for one in self._under_way:
            one.cancel()
        self._connection.close()


async def _first(futures: list[asyncio.Future[Any]]) -> None:
    await asyncio.wait_for(futures.pop(0), 4 * _ANSWER)


def _described_as(info: StreamInfo) -> int | None:
    said = (info.config.description or "").partition("partitions=")[2]
    return int(said) if said.isdecimal() else None


def _counted(info: StreamInfo, wanted: int | None, who: str) -> int:
    known = _described_as(info)
    if known is not None and wanted is not None and known != wanted:
        raise WriteError(f"{who}: the stream has {known} partitions, not {wanted}; leave --partitions out")
    if (known or wanted) is None:
        raise WriteError(f"{who}: the stream is new, or does not say how many partitions it has; give --partitions N")
    return known or wanted or 1


def _not_taken(who: str, error: BaseException) -> WriteError:
    return WriteError(f"{who}: a message did not arrive ({_text(error)}); look at the server")


class NatsSink(PlainSink):
    """Decisions as messages of the subject `<name>.<source>-<partition>`, each with an id, after the one before it."""

    def __init__(self, locator: Locator) -> None:
        self._connection = _Connection(locator)
        self._last: dict[int, int] = {}  # the stream's number of the last message of each partition
        try:
            self._connection.run(self._connection.made(None))
        except _WRONG as error:
            raise WriteError(f"{locator}: the stream cannot be made ({_text(error)}); make it yourself") from error

    @property
    def label(self) -> str:
        """By the stream's name."""
        return f"nats-{self._connection.stream}"

    def most(self) -> int:
        """As many as may be on their way."""
        return 4 * _ON_THEIR_WAY

    def resume(self, origin: Origin, decisions: Path, cursor: Cursor) -> Cursor:
        """The last message of the partition's subject says how far it goes."""
        del decisions
        try:
            last = self._connection.run(self._newest(self._subject(origin)))
        except _WRONG as error:
            raise ReadError(
                f"{self._connection.name}: {_text(error)}; how far the decisions go there cannot be seen"
            ) from error
        self._last[origin.partition] = 0 if last is None else last.seq or 0
        headers = {} if last is None else last.headers or {}
        through = headers.get(_THROUGH, "")
        if headers.get(_FROM) != _named(origin) or not through.isdecimal():
            return cursor
        return replace(cursor, sent=max(cursor.sent, int(through)))

    async def _newest(self, subject: str) -> Any:  # noqa: ANN401  the library's message
        try:
            return await self._connection.jetstream.get_last_msg(self._connection.stream, subject)
        except NotFoundError:
            return None

    def _subject(self, origin: Origin) -> str:
        """One of its own for each source, so that several watches can send to one stream."""
        return f"{self._connection.subject}.{origin.topic.replace('.', '_')}-{origin.partition}"

    def tend(self) -> None:
        """Answer the server, which would take a silent client for one that is gone."""
        with suppress(*_WRONG):  # what is wrong is said when something is sent
            self._connection.run(asyncio.sleep(_MOVE))

    def send(self, origin: Origin, lines: list[Line], cursor: Cursor) -> Cursor:
        """Send them, and wait until all are there."""
        try:
            self._last[origin.partition] = self._connection.run(self._all(origin, lines))
        except _WRONG as error:
            raise _not_taken(self._connection.name, error) from error
        return cursor

    async def _all(self, origin: Origin, lines: list[Line]) -> int:
        """The first says after which message it comes; a double is known by its id."""
        jetstream, subject = self._connection.jetstream, self._subject(origin)
        last = self._last[origin.partition]
        for begin in range(0, len(lines), _ON_THEIR_WAY):
            under_way = []
            for place, line in enumerate(lines[begin : begin + _ON_THEIR_WAY]):
                headers = {
                    "Nats-Msg-Id": f"{origin.lineage}/{origin.partition}/{line.through}",
                    _FROM: _named(origin),
                    _THROUGH: str(line.through),
                }
                if place == 0:
                    headers["Nats-Expected-Last-Subject-Sequence"] = str(last)
                under_way.append(await jetstream.publish_async(subject, line.text, headers=headers))
            answers = [await asyncio.wait_for(one, 4 * _ANSWER) for one in under_way]
            last = answers[-1].seq
        return last

    def close(self) -> None:
        """Leave."""
        self._connection.close()


def _named(origin: Origin) -> str:
    return f"{origin.topic}/{origin.partition}/{origin.lineage}"
