"""Kafka: one consumer group shares the partitions of a topic out, and each worker goes by its own states.

Offsets are committed for those who look at lag; nothing here reads them to find where to go on. All callbacks run
inside `poll`, so that a partition changes hands between two messages and never within one.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_INVALID,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from gamewarden.errors import ConfigError, ReadError, WriteError
from gamewarden.online.brokers.broker import Message, Owner, Reach, expired
from gamewarden.online.brokers.locators import Locator
from gamewarden.online.brokers.relays import Cursor, Line, Origin, PlainSink, key_of

PROPERTIES = "GAMEWARDEN_KAFKA_CONFIG"  # a file of librdkafka's properties, name=value a line
USER, PASSWORD = "GAMEWARDEN_KAFKA_USERNAME", "GAMEWARDEN_KAFKA_PASSWORD"
_AT_ONCE = 256  # messages
_ANSWER = 5.0  # seconds
_DELIVERY = 60.0  # seconds until what was sent has to be there
_OURS = (
    "bootstrap.servers",
    "group.id",
    "enable.auto.commit",
    "enable.auto.offset.store",
    "auto.offset.reset",
    "partition.assignment.strategy",
    "enable.idempotence",
)
_FROM, _THROUGH = "gamewarden-from", "gamewarden-through"
_GONE = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE)  # noqa: SLF001  the library's own name for it
_PASSING = (
    KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001  likewise, and the next ones
    KafkaError._TRANSPORT,  # noqa: SLF001
    KafkaError._TIMED_OUT,  # noqa: SLF001
    KafkaError._PARTITION_EOF,  # noqa: SLF001
    KafkaError._MAX_POLL_EXCEEDED,  # noqa: SLF001  we were frozen: the group takes the partitions, and lets us in again
)


def settings_of(locator: Locator) -> dict[str, Any]:
    """How to reach the brokers: the operator's properties, and secrets from the environment."""
    servers = ",".join(locator.servers)
    # What the library has to say comes by its errors: on standard error it would stand between our own lines.
    settings: dict[str, Any] = {"log_level": 0, "bootstrap.servers": servers, **_properties()}
    for name, variable in (("sasl.username", USER), ("sasl.password", PASSWORD)):
        if variable in os.environ:
            settings[name] = os.environ[variable]
    return settings


def _properties() -> dict[str, str]:
    place = os.environ.get(PROPERTIES)
    if not place:
        return {}
    try:
        lines = Path(place).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{place}: the file of {PROPERTIES} cannot be read ({error}); look at its name") from error
    found = {}
    for number, line in enumerate(lines, 1):
        name, equals, value = (part.strip() for part in line.partition("="))
        if not name or name.startswith(("#", "!")):
            continue
        if not equals or name in _OURS:
            why = "is not ours to set: leave it out" if equals else "has no value: write name=value"
            raise ConfigError(f"{place}:{number}: {name} {why}")
        found[name] = value
    return found


def _made(kind: Callable[[dict[str, Any]], Any], settings: dict[str, Any]) -> Any:  # noqa: ANN401  a client of the library
    try:
        return kind(settings)
    except KafkaException as error:
        raise ConfigError(f"kafka: {_text(error)}; look at the file of {PROPERTIES}") from error


def _text(error: KafkaException | KafkaError) -> str:
    inner = error.args[0] if isinstance(error, KafkaException) else error
    return str(inner.str() if isinstance(inner, KafkaError) else inner)


class KafkaTopic:
    """A topic read as one of a group."""

    def __init__(self, locator: Locator) -> None:
        self._topic = locator.name
        self._source = str(locator)
        self._owner: Owner | None = None
        self._failed: BaseException | None = None
        self._trouble: tuple[str, float] | None = None
        self._consumer = _made(
            Consumer,
            {
                "session.timeout.ms": 30_000,
                "fetch.wait.max.ms": 100,
                "queued.max.messages.kbytes": 32_768,
                **settings_of(locator),
                "group.id": locator.group,
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "auto.offset.reset": "error",
                "partition.assignment.strategy": "cooperative-sticky",
                "error_cb": self._note_trouble,
            },
        )
        self._identity, self._partitions = self._described()
        self._consumer.subscribe([self._topic], on_assign=self._gained, on_revoke=self._revoked, on_lost=self._lost)

    @property
    def source(self) -> str:
        """The topic as it was named."""
        return self._source

    @property
    def identity(self) -> str:
        """The cluster and its topic."""
        return self._identity

    @property
    def partitions(self) -> int:
        """As many as the topic had when this was begun."""
        return self._partitions

    def _described(self) -> tuple[str, int]:
        try:
            told = self._consumer.list_topics(self._topic, timeout=4 * _ANSWER)
        except KafkaException as error:
            raise ReadError(
                f"{self._source}: {_text(error)}; look whether the broker is up, and its address"
            ) from error
        topic = told.topics.get(self._topic)
        if topic is None or topic.error is not None or not topic.partitions:
            why = "it has no such topic" if topic is None or topic.error is None else topic.error.str()
            raise ReadError(f"{self._source}: {why}; make the topic, or name another")
        return f"kafka {told.cluster_id} {self._topic}", len(topic.partitions)

    def poll(self, owner: Owner, seconds: float) -> Sequence[Message]:
        """What came, with what the group has decided told to the owner before."""
        self._owner = owner
        try:
            came = self._consumer.consume(_AT_ONCE, seconds)
        except KafkaException as error:
            raise ReadError(f"{self._source}: {_text(error)}") from error
        finally:
            self._owner = None
        if self._failed is not None:
            raise self._failed
        return [Message(one.partition(), one.offset(), one.value() or b"") for one in came if self._is_message(one)]

    def _is_message(self, one: Any) -> bool:  # noqa: ANN401  the library's message
        error = one.error()
        if error is None:
            return True
        if error.code() in _GONE:
            reach = self.reach(one.partition())
            raise expired(self._source, one.partition(), one.offset(), reach.first if reach else one.offset())
        if error.code() in _PASSING or error.retriable():
            return False
        raise ReadError(f"{self._source}: partition {one.partition()}: {error.str()}")

    def _tell(self, what: str, partitions: Sequence[TopicPartition]) -> None:
        """Tell the owner; what goes wrong then is raised by `poll`, since the library's thread of callbacks is C."""
        if self._owner is None:  # when we leave, all has been handed over
            return
        try:
            getattr(self._owner, what)([one.partition for one in partitions])
        except BaseException as error:  # noqa: BLE001  raised again by poll
            self._failed = self._failed or error

    def _gained(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Nothing comes of them before their states are open: the first offset is only where a pause begins."""
        ours = [TopicPartition(self._topic, one.partition, OFFSET_BEGINNING) for one in partitions]
        consumer.incremental_assign(ours)
        if ours:
            consumer.pause(ours)
        self._tell("gain", partitions)

    def _revoked(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._tell("hand_over", partitions)

    def _lost(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._tell("lose", partitions)

    def _note_trouble(self, error: KafkaError) -> None:
        self._trouble = (_text(error), time.monotonic())

    @property
    def trouble(self) -> str | None:
        """What the library complained of last, if that was lately."""
        return self._trouble[0] if self._trouble and time.monotonic() - self._trouble[1] < 4 * _ANSWER else None

    def reach(self, partition: int) -> Reach | None:
        """As the partition's leader says."""
        try:
            reach = self._consumer.get_watermark_offsets(self._at(partition), timeout=_ANSWER)
        except KafkaException:
            return None
        return None if reach is None else Reach(*reach)

    def remembered(self, partition: int) -> int | None:
        """What the group has committed."""
        try:
            (found,) = self._consumer.committed([self._at(partition)], timeout=4 * _ANSWER)
        except KafkaException as error:
            raise ReadError(f"{self._source}: partition {partition}: {_text(error)}") from error
        return found.offset if found.offset > 0 else None

    def start(self, partition: int, offset: int) -> bool:
        """Go to an offset and let messages come, once the library has the partition."""
        place = self._at(partition, offset)
        try:
            self._consumer.seek(place)
            self._consumer.resume([place])
        except KafkaException:
            return False
        return True

    def stop(self, partition: int) -> None:
        """Nothing: the group takes it away."""

    def empty_until(self, partition: int) -> int | None:  # noqa: ARG002  offsets of a partition have no gaps to pass
        """Nothing needs to be said."""
        return None

    def remember(self, offsets: Mapping[int, int]) -> None:
        """Commit, without waiting for it."""
        places = [self._at(partition, offset) for partition, offset in offsets.items()]
        try:
            self._consumer.commit(offsets=places, asynchronous=True)
        except KafkaException:
            return  # only for those who look at lag

    def lag(self, partition: int) -> int | None:
        """As far as the latest fetch told."""
        try:
            _, end = self._consumer.get_watermark_offsets(self._at(partition), cached=True)
            (place,) = self._consumer.position([self._at(partition)])
        except (KafkaException, TypeError):
            return None
        return max(end - place.offset, 0) if end >= 0 and place.offset >= 0 else None

    def close(self) -> None:
        """Leave the group, so that others need not wait for us."""
        with suppress(RuntimeError):  # it was closed before
            self._consumer.close()

    def _at(self, partition: int, offset: int = OFFSET_INVALID) -> TopicPartition:
        return TopicPartition(self._topic, partition, offset)


class KafkaPublisher:
    """A topic that messages are sent to, each once in a session."""

    def __init__(self, locator: Locator, partitions: int | None = None) -> None:
        self._name = str(locator)
        self._topic = locator.name
        self._wrong: list[str] = []
        self._last = -1
        settings = {**settings_of(locator), "enable.idempotence": True, "linger.ms": 20, "message.timeout.ms": 60_000}
        self._producer = _made(Producer, settings)
        self.partitions = self._known(settings, partitions)

    def _known(self, settings: dict[str, Any], wanted: int | None) -> int:
        """How many partitions the topic has; one that is not there is made where a number is given."""
        found = self._count()
        if not found and wanted:
            clients = {name: value for name, value in settings.items() if name not in _OURS[2:]}
            made = _made(AdminClient, clients).create_topics([NewTopic(self._topic, wanted)])
            try:
                made[self._topic].result(4 * _ANSWER)
            except KafkaException as error:
                raise WriteError(
                    f"{self._name}: the topic cannot be made ({_text(error)}); make it yourself"
                ) from error
            found = self._waited()
        if not found:
            raise WriteError(
                f"{self._name}: there is no such topic; make it, or let publish make it with --partitions N"
            )
        if wanted and wanted != found:
            raise WriteError(f"{self._name}: the topic has {found} partitions, not {wanted}; leave --partitions out")
        return found

    def _waited(self) -> int:
        until = time.monotonic() + 4 * _ANSWER
        while not (found := self._count()) and time.monotonic() < until:
            time.sleep(0.1)
        return found

    def _count(self) -> int:
        try:
            topic = self._producer.list_topics(self._topic, timeout=4 * _ANSWER).topics[self._topic]
        except KafkaException as error:
            raise WriteError(f"{self._name}: {_text(error)}; look whether the broker is up") from error
        return 0 if topic.error is not None else len(topic.partitions)

    def send(
        self, partition: int, value: bytes, key: bytes | None = None, headers: Mapping[str, bytes] | None = None
    ) -> None:
        """Send a message; where many are on their way, wait for some."""
        while True:
            try:
                self._producer.produce(
                    self._topic,
                    value,
                    key=key,
                    partition=partition,
                    headers=dict(headers or {}),
                    on_delivery=self._delivered,
                )
            except BufferError:
                self._producer.poll(0.5)
                self._refuse_wrong()
                continue
            except KafkaException as error:
                raise WriteError(f"{self._name}: {_text(error)}") from error
            self._producer.poll(0)
            return

    def _delivered(self, error: KafkaError | None, message: Any) -> None:  # noqa: ANN401  the library's message
        if error is not None:
            self._wrong.append(error.str())
        else:
            self._last = max(self._last, message.offset())

    def flush(self) -> None:
        """Wait until all have arrived."""
        left = self._producer.flush(_DELIVERY)
        self._refuse_wrong()
        if left:
            raise WriteError(
                f"{self._name}: {left} messages have not arrived for {_DELIVERY:.0f} s; look at the broker"
            )

    def last(self) -> int:
        """The highest offset that a message has got since this was asked."""
        last, self._last = self._last, -1
        return last

    def _refuse_wrong(self) -> None:
        if self._wrong:
            raise WriteError(f"{self._name}: a message did not arrive ({self._wrong[0]}); look at the broker")

    def close(self) -> None:
        """Give up what has not arrived."""
        self._producer.purge()
        self._producer.flush(1)


class KafkaSink(PlainSink):
    """Decisions as messages of a topic; each says in its headers whose it is and how far it goes.

    A partition's decisions stay in one partition there. The cursor's mark is the offset from which decisions may stand
    there that the cursor does not know: whoever goes on looks through these.
    """

    def __init__(self, locator: Locator) -> None:
        self._locator = locator
        self._publisher = KafkaPublisher(locator)

    @property
    def label(self) -> str:
        """By the topic's name."""
        return f"kafka-{self._locator.name}"

    def most(self) -> int:
        """As many as the producer likes to have on their way."""
        return 2_000

    def _partition(self, origin: Origin) -> int:
        return origin.partition % self._publisher.partitions

    def resume(self, origin: Origin, decisions: Path, cursor: Cursor) -> Cursor:
        """Look through what came since the cursor was kept."""
        del decisions
        reader = _made(
            Consumer, {**settings_of(self._locator), "group.id": "gamewarden-sink", "enable.auto.commit": False}
        )
        try:
            return self._looked_through(reader, origin, cursor)
        except KafkaException as error:
            raise ReadError(
                f"{self._locator}: {_text(error)}; how far the decisions go there cannot be seen"
            ) from error
        finally:
            reader.close()

    def _looked_through(self, reader: Any, origin: Origin, cursor: Cursor) -> Cursor:  # noqa: ANN401  a client of the library
        place = TopicPartition(self._locator.name, self._partition(origin))
        reach = reader.get_watermark_offsets(place, timeout=4 * _ANSWER)
        if reach is None:
            raise KafkaException("no answer")
        first, end = reach
        if not cursor.trying:  # nothing was ever sent
            return replace(cursor, mark=end)
        sent, at = cursor.sent, max(cursor.mark, first)
        reader.assign([TopicPartition(place.topic, place.partition, at)])
        until = time.monotonic() + _DELIVERY
        while at < end:
            for one in reader.consume(1_000, 1.0):
                if one.error() is None:
                    until = time.monotonic() + _DELIVERY
                    at = one.offset() + 1
                    sent = max(sent, _through(one.headers(), origin))
            if time.monotonic() > until:
                raise KafkaException(f"offsets {at:,} to {end:,} do not come")
        return replace(cursor, sent=sent, mark=end)

    def send(self, origin: Origin, lines: list[Line], cursor: Cursor) -> Cursor:
        """Send them, and wait until all are there."""
        for line in lines:
            headers = {_FROM: _named(origin), _THROUGH: str(line.through).encode()}
            self._publisher.send(self._partition(origin), line.text, key_of(line.text), headers)
        self._publisher.flush()
        last = self._publisher.last()
        return replace(cursor, mark=max(cursor.mark, last + 1))

    def close(self) -> None:
        """Leave."""
        self._publisher.close()


def _named(origin: Origin) -> bytes:
    return f"{origin.topic}/{origin.partition}/{origin.lineage}".encode()


def _through(headers: Sequence[tuple[str, bytes]] | None, origin: Origin) -> int:
    """How far a message of ours goes; 0 where it is another's."""
    said = dict(headers or ())
    number = said.get(_THROUGH) or b""
    return int(number) if said.get(_FROM) == _named(origin) and number.isdigit() else 0
