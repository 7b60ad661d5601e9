"""Who is behind an address, from a topic: read from its beginning, and then as messages come.

Nobody shares the work here: every watch needs every message, so that no group is joined and nothing is committed. Each
message is a JSON object such as {"address": "192.0.2.7", "port": 50123, "actor": "ann", "since": "2026-03-01T12:00Z"};
those of one address should share a key, so that they arrive in their order.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Coroutine
from typing import Any, TypeVar

from gamewarden.core.extras import need
from gamewarden.errors import ReadError
from gamewarden.online.brokers.locators import Locator, locator_of
from gamewarden.readers.captures.account_sources import MOST_ROWS, AccountFeed

_LIBRARIES = {"kafka": "confluent_kafka", "nats": "nats"}
_ANSWER = 10.0  # seconds without a word after which a broker counts as away
_HEARTBEAT = 2.0  # seconds; after two that are missed the stream is asked for anew
_AT_ONCE = 10_000  # messages
_Result = TypeVar("_Result")


def account_topic(text: str) -> AccountFeed:
    """The topic that a text names; nothing is asked of the broker yet.

    Raises:
        ConfigError: it names none.
        InstallError: the library of its broker is not there.
    """
    place = locator_of(text)
    need(f"--accounts {place.kind}://…", _LIBRARIES[place.kind])
    return KafkaAccounts(place) if place.kind == "kafka" else NatsAccounts(place)


class KafkaAccounts:
    """All partitions of a topic, each from its beginning; those that are added later are seen at the next start."""

    def __init__(self, place: Locator) -> None:
        self.name = str(place)
        self._place = place
        self._consumer: Any = None

    def so_far(self) -> list[bytes]:
        """What every partition holds now."""
        from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

        self.close()
        self._consumer = Consumer(_kafka_settings(self._place))
        try:
            topic = self._consumer.list_topics(self._place.name, timeout=_ANSWER).topics[self._place.name]
        except KafkaException as error:
            raise ReadError(f"{self.name}: {_words(error)}; look whether the broker is up, and its address") from error
        if topic.error is not None or not topic.partitions:
            raise ReadError(f"{self.name}: there is no such topic; make it, or name another")
        places = [TopicPartition(self._place.name, number, OFFSET_BEGINNING) for number in topic.partitions]
        self._consumer.assign(places)
        return self._until_all_ended(len(places))

    def since(self) -> list[bytes]:
        """What has come."""
        found: list[bytes] = []
        while came := self._came(0.0)[0]:
            found += came
        return found

    def close(self) -> None:
        """Leave."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _until_all_ended(self, partitions: int) -> list[bytes]:
        found: list[bytes] = []
        ended: set[int] = set()
        heard = time.monotonic()
        while len(ended) < partitions:
            came, ends = self._came(1.0)
            found += came
            ended |= ends
            heard = time.monotonic() if came or ends else heard
            if time.monotonic() - heard > _ANSWER:
                raise ReadError(f"{self.name}: nothing has come for {_ANSWER:.0f} s; look whether the broker is up")
        return found

    def _came(self, seconds: float) -> tuple[list[bytes], set[int]]:
        """(messages, partitions that end here for now)."""
        from confluent_kafka import KafkaError, KafkaException

        try:
            came = self._consumer.consume(_AT_ONCE, seconds)
        except KafkaException as error:
            raise ReadError(f"{self.name}: {_words(error)}") from error
        ended = {
            one.partition()
            for one in came
            if one.error() and one.error().code() == KafkaError._PARTITION_EOF  # noqa: SLF001  the library's own name for it
        }
        for one in came:
            if one.error() and one.error().fatal():
                raise ReadError(f"{self.name}: {one.error().str()}")
        return [one.value() for one in came if not one.error() and one.value()], ended


def _kafka_settings(place: Locator) -> dict[str, Any]:
    from gamewarden.online.brokers.kafka import settings_of

    return {
        **settings_of(place),
        "group.id": "gamewarden-accounts",  # the library wants one; nobody joins it
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "earliest",
        "allow.auto.create.topics": False,
        "error_cb": _ignore,
    }


def _ignore(_error: object) -> None:
    """What goes wrong shows where something is asked for; the library would print it."""


def _words(error: Exception) -> str:
    inner = error.args[0] if error.args else error
    return str(inner.str() if hasattr(inner, "str") else inner)


class NatsAccounts:
    """All messages of a stream in their order, by a consumer that the server forgets with us.

    The client's loop runs in a thread of its own, so that the connection lives while nobody asks.
    """

    def __init__(self, place: Locator) -> None:
        self.name = str(place)
        self._place = place
        self._came: deque[bytes] = deque(maxlen=MOST_ROWS)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._client: Any = None
        self._heard = 0.0
        self._caught_up = threading.Event()

    def so_far(self) -> list[bytes]:
        """What the stream holds now."""
        self.close()
        self._came.clear()
        self._caught_up.clear()
        self._heard = time.monotonic()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=_keep_running, args=(self._loop,), name="accounts", daemon=True)
        self._thread.start()
        self._run(self._subscribed())
        while not self._caught_up.wait(0.1):
            if time.monotonic() - self._heard > _ANSWER:
                raise ReadError(f"{self.name}: nothing has come for {_ANSWER:.0f} s; look whether the server is up")
        return self.since()

    def since(self) -> list[bytes]:
        """What has come."""
        if self._client is None or self._client.is_closed:
            raise ReadError(f"{self.name}: the connection is gone; look whether the server is up")
        return [self._came.popleft() for _ in range(len(self._came))]

    def close(self) -> None:
        """Leave."""
        loop, self._loop = self._loop, None
        thread, self._thread = self._thread, None
        client, self._client = self._client, None
        if loop is None or thread is None:
            return
        if client is not None:
            asyncio.run_coroutine_threadsafe(client.close(), loop).result(_ANSWER)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_ANSWER)

    def _run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        from nats.errors import Error as NatsError

        assert self._loop is not None  # noqa: S101  it was just started
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result(2 * _ANSWER)
        except (NatsError, OSError, TimeoutError) as error:
            said = getattr(error, "description", None) or str(error) or type(error).__name__
            self.close()
            raise ReadError(f"{self.name}: {said}; look whether the server and its stream are there") from error

    async def _subscribed(self) -> None:
        import nats

        from gamewarden.online.brokers.nats import secrets_of, servers_of

        self._client = await nats.connect(
            servers=servers_of(self._place),
            **secrets_of(),
            name="gamewarden accounts",
            connect_timeout=int(_ANSWER),
            max_reconnect_attempts=1,  # one that is not there is said soon
            error_cb=_ignored,
        )
        self._client.options["max_reconnect_attempts"] = -1  # one that goes away is waited for
        stream = self._client.jetstream(timeout=_ANSWER)
        asked = await stream.subscribe(
            ">", stream=self._place.name, ordered_consumer=True, idle_heartbeat=_HEARTBEAT, cb=self._take
        )
        if not (await asked.consumer_info()).num_pending and not self._came:
            self._caught_up.set()

    async def _take(self, message: Any) -> None:  # noqa: ANN401  the library's message
        self._heard = time.monotonic()
        self._came.append(message.data)
        if message.metadata.num_pending == 0:
            self._caught_up.set()


def _keep_running(loop: asyncio.AbstractEventLoop) -> None:
    """Run what is asked until somebody stops it; then what waits is told so."""
    loop.run_forever()
    waiting = asyncio.all_tasks(loop)
    for task in waiting:
        task.cancel()
    if waiting:
        loop.run_until_complete(asyncio.wait(waiting))
    loop.close()


async def _ignored(_error: Exception) -> None:
    """As above."""
