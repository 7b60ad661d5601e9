"""One HTTP request to an address that was chosen before, over within a time, however slowly the other side speaks."""

import http.client
import io
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gamewarden.core.outside import cut, visible
from gamewarden.response.adapters import TryLaterError
from gamewarden.response.adapters.addresses import Place

_MOST_READ = 4 << 10  # bytes of an answer
_SAID = 200  # letters of what went wrong that people read


@dataclass(frozen=True)
class Answer:
    """What the other side said; of its text the beginning."""

    status: int
    retry_after: str | None
    text: str


@dataclass(frozen=True)
class Request:
    """What is sent to a place; it is over by a moment of the monotonic clock."""

    place: Place
    body: bytes
    headers: Mapping[str, str]
    until: float


def first_answer(who: str, request: Request, addresses: Sequence[str]) -> Answer:
    """The answer of the first address that is there; only where none was reached the next one is tried.

    Raises:
        TryLaterError: none is there, or it does not answer.
    """
    for address in addresses:
        try:
            return post(request, address)
        except ConnectionRefusedError:
            continue
        except TimeoutError as error:
            raise TryLaterError(f"{who}: {visible(request.place.host)} did not answer in time") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            cause = visible(cut(str(error), _SAID)) or type(error).__name__
            raise TryLaterError(f"{who}: {visible(request.place.host)}: {cause}") from error
    raise TryLaterError(f"{who}: {visible(request.place.host)} refuses connections")


def post(request: Request, address: str) -> Answer:
    """Send a request to one address of its place.

    Raises:
        OSError: it cannot be reached, or did not answer in time.
        http.client.HTTPException: what it answers is no HTTP.
    """
    place = request.place
    line = _Line(_connected(place, address, request.until), request.until)
    connection = http.client.HTTPConnection(place.host, place.port)
    connection.default_port = http.client.HTTPS_PORT if place.tls else http.client.HTTP_PORT
    connection.sock = line  # all that http.client asks of a socket
    try:
        connection.request("POST", place.path, body=request.body, headers=dict(request.headers))
        answer = connection.getresponse()
        return Answer(answer.status, answer.getheader("retry-after"), _beginning(answer))
    finally:
        connection.close()
        line.plain.close()


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
        """Nothing: http.client hangs up once it has the headers of a last answer, and its text is yet to come."""


class _Incoming(io.RawIOBase):
    def __init__(self, line: _Line) -> None:
        self._line = line

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  any writable buffer
        self._line.plain.settimeout(_left(self._line.until))
        return self._line.plain.recv_into(buffer)
