"""One HTTP request to an address that was chosen before, over within a time, however slowly the other side speaks."""

import http.client
import io
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gamewarden.response.adapters.addresses import Place

_MOST_READ = 4 << 10  # bytes of an answer


@dataclass(frozen=True)
class Answer:
    """What the other side said; of its text the beginning."""

    status: int
    retry_after: str | None
    text: str


def post(place: Place, address: str, body: bytes, headers: Mapping[str, str], until: float) -> Answer:
    """Send a request to one address of a place; it is over by a moment of the monotonic clock.

    Raises:
        OSError: it cannot be reached, or did not answer by then.
        http.client.HTTPException: what it answers is no HTTP.
    """
    line = _Line(_connected(place, address, until), until)
    connection = http.client.HTTPConnection(place.host, place.port)
    connection.default_port = http.client.HTTPS_PORT if place.tls else http.client.HTTP_PORT
    connection.sock = line  # all that http.client asks of a socket
    try:
        connection.request("POST", place.path, body=body, headers=dict(headers))
        answer = connection.getresponse()
        return Answer(answer.status, answer.getheader("retry-after"), _beginning(answer))
    finally:
        connection.close()


def _connected(place: Place, address: str, until: float) -> socket.socket:
    """A connection to the address; over TLS it is the name that must be shown, not the address."""
    plain = socket.create_connection((address, place.port), timeout=_left(until))
    if not place.tls:
        return plain
    try:
        plain.settimeout(_left(until))
        return ssl.create_default_context().wrap_socket(plain, server_hostname=place.host)
    except BaseException:
        plain.close()
        raise


def _beginning(answer: http.client.HTTPResponse) -> str:
    """The beginning of what is said about a failure; that it failed is known without it."""
    if answer.status < http.client.MULTIPLE_CHOICES:
        return ""
    try:
        return answer.read(_MOST_READ).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        return ""


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError("no answer in time")
    return left


class _Line:
    """A socket on which every wait ends at the same moment: dripping bytes win no time."""

    def __init__(self, plain: socket.socket, until: float) -> None:
        self.plain, self.until = plain, until

    def sendall(self, data: Any) -> None:  # noqa: ANN401  bytes, as http.client has them
        """Send all of it by then."""
        self.plain.settimeout(_left(self.until))
        self.plain.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        """What http.client reads an answer from."""
        del mode
        return io.BufferedReader(_Incoming(self))

    def close(self) -> None:
        """Hang up."""
        self.plain.close()


class _Incoming(io.RawIOBase):
    def __init__(self, line: _Line) -> None:
        self._line = line

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  any writable buffer
        self._line.plain.settimeout(_left(self._line.until))
        return self._line.plain.recv_into(buffer)
