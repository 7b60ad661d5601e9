"""Outputs that are no broker: a directory of files, standard output, and a web server that wants signed requests."""

import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gamewarden.core.files import make_directory, sync, unwritable
from gamewarden.errors import ConfigError, WriteError
from gamewarden.online.brokers.locators import Locator, is_broker, locator_of
from gamewarden.online.brokers.relays import Cursor, Line, Origin, PlainSink, Sink

SECRET = "GAMEWARDEN_WEBHOOK_SECRET"  # noqa: S105  the variable's name
_COMPARED = 64 << 10  # bytes at a file's end
_MANY = 10_000
_A_REQUEST = 100  # decisions
_TIMEOUT = 10.0  # seconds a request may take


@dataclass(frozen=True)
class FileSink(PlainSink):
    """A directory with one file a partition, each a copy of what the partition has decided so far."""

    directory: Path

    @property
    def label(self) -> str:
        """By the directory."""
        return f"file-{_digest(str(self.directory.absolute()))}"

    def most(self) -> int:
        """As many as there are."""
        return _MANY

    def resume(self, origin: Origin, decisions: Path, cursor: Cursor) -> Cursor:
        """The copy itself says how far it goes: it is as long as the part that was copied."""
        path = self._path(origin)
        length = path.stat().st_size if path.exists() else 0
        begin = max(length - _COMPARED, 0)
        if _part(path, begin, length) != _part(decisions, begin, length):
            raise WriteError(
                f"{path}: it has decisions that are not of {decisions.parent}; move it away, or name another"
            )
        return Cursor(cursor.lineage, length)

    def send(self, origin: Origin, lines: list[Line], cursor: Cursor) -> Cursor:
        """Append them; a line that a crash cut is completed."""
        path = self._path(origin)
        begin = lines[0].through - len(lines[0].text) - 1
        whole = b"".join(line.text + b"\n" for line in lines)
        try:
            make_directory(path.parent)
            with path.open("ab", buffering=0) as file:
                file.truncate(begin)
                left = memoryview(whole)
                while left:
                    left = left[file.write(left) :]
            sync(path)
        except OSError as error:
            raise unwritable(path, error) from error
        return cursor

    def _path(self, origin: Origin) -> Path:
        return self.directory / f"{origin.topic}-{origin.partition}.jsonl"

    def close(self) -> None:
        """No file is open."""


def _part(path: Path, begin: int, end: int) -> bytes:
    if begin == end:
        return b""
    with path.open("rb") as file:
        file.seek(begin)
        return file.read(end - begin)


@dataclass(frozen=True)
class LinesSink(PlainSink):
    """Standard output: what was under way when the process died is written again, with the same keys."""

    write: Callable[[str], object]
    label: str = "stdout"

    def most(self) -> int:
        """As many as there are."""
        return _MANY

    def resume(self, origin: Origin, decisions: Path, cursor: Cursor) -> Cursor:
        """Nobody can be asked what they have read."""
        del origin, decisions
        return cursor

    def send(self, origin: Origin, lines: list[Line], cursor: Cursor) -> Cursor:
        """Write them."""
        del origin
        self.write("".join(f"{line.text.decode()}\n" for line in lines))
        return cursor

    def close(self) -> None:
        """It is not ours to close."""


class WebhookSink(PlainSink):
    """A web server: signed requests, each of which is repeated as it was, with the same id, until it was answered."""

    def __init__(self, url: str, *, private: bool, tell: Callable[[str], object]) -> None:
        from gamewarden.response.adapters.addresses import Place
        from gamewarden.response.adapters.webhook import secret_in

        self._url = url
        self._private = private
        self._tell = tell
        self._said = ""
        try:
            self._place = Place.of(url, "--to")
        except ConfigError as error:
            raise ConfigError("--to: this is no URL that decisions can go to; write https://host/path") from error
        self._secret = secret_in(os.environ.get(SECRET, ""), f"--to {self._place.host}: the secret in {SECRET}")

    @property
    def label(self) -> str:
        """By the URL."""
        return f"web-{_digest(self._url)}"

    def most(self) -> int:
        """So many in one request."""
        return _A_REQUEST

    def resume(self, origin: Origin, decisions: Path, cursor: Cursor) -> Cursor:
        """The server is not asked: it knows an id that it has seen."""
        del origin, decisions
        return cursor

    def send(self, origin: Origin, lines: list[Line], cursor: Cursor) -> Cursor | None:
        """Send them in one request; None where the server did not answer, or asks for patience."""
        from gamewarden.response.adapters import RefusedError, TryLaterError

        name = f"{origin.lineage}-{origin.partition}-{cursor.sent}-{lines[-1].through}"
        body = b'{"type":"decisions","data":[' + b",".join(line.text for line in lines) + b"]}"
        try:
            self._post(name, body)
        except RefusedError as error:
            raise WriteError(str(error)) from error
        except TryLaterError as error:
            if str(error) != self._said:
                self._said = str(error)
                self._tell(f"{error}; it is tried again")
            return None
        self._said = ""
        return cursor

    def _post(self, name: str, body: bytes) -> None:
        from gamewarden.response.adapters.addresses import addresses_of, resolved
        from gamewarden.response.adapters.webhook import judged, signed
        from gamewarden.response.adapters.wire import Request, first_answer

        until = time.monotonic() + _TIMEOUT
        headers = {**signed(self._secret, name, int(time.time()), body), "idempotency-key": name}
        addresses = addresses_of(self._place, lambda host, port: resolved(host, port, _TIMEOUT), private=self._private)
        judged("--to", self._place, first_answer("--to", Request(self._place, body, headers, until), addresses))

    def close(self) -> None:
        """Each request is for itself."""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def sink_of(place: str, *, private: bool, tell: Callable[[str], object]) -> Sink:
    """Where `--to` sends decisions: a topic of a broker, or a web server.

    Raises:
        ConfigError: it is neither.
        ReadError: the broker cannot be reached.
        WriteError: the topic is not there.
    """
    if is_broker(place):
        return _topic_sink(locator_of(place))
    if place.startswith(("https://", "http://")):
        return WebhookSink(place, private=private, tell=tell)
    raise ConfigError(f"--to {place[:80]!r} is no output; write kafka://…/topic, nats://…/stream or https://…")


def _topic_sink(locator: Locator) -> Sink:
    from gamewarden.core.extras import need

    if locator.options.keys() - {"subject"}:
        raise ConfigError(f"--to {locator}: {', '.join(locator.options)} is for reading; leave it out")
    if locator.kind == "kafka":
        need("--to kafka://", "confluent_kafka")
        from gamewarden.online.brokers.kafka import KafkaSink

        return KafkaSink(locator)
    need("--to nats://", "nats")
    from gamewarden.online.brokers.nats import NatsSink

    return NatsSink(locator)
