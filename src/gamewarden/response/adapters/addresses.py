"""Where a webhook may go: a name is resolved once, each address is looked at, and only those are connected to."""

import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import SplitResult, urlsplit

from gamewarden.core.outside import visible
from gamewarden.errors import ConfigError
from gamewarden.response.adapters import RefusedError, TryLaterError

Resolve = Callable[[str, int], Sequence[str]]
_PORTS = {"https": 443, "http": 80}
_NAT64 = IPv6Network("64:ff9b::/96")
_LAST_32 = 0xFFFF_FFFF


@dataclass(frozen=True)
class Place:
    """Where requests go, as its URL says."""

    host: str
    port: int
    path: str
    tls: bool

    @classmethod
    def of(cls, url: str, who: str) -> "Place":
        """The place of a URL.

        Raises:
            ConfigError: it is no URL that a webhook can go to.
        """
        try:
            parts = urlsplit(url)
            port = parts.port or _PORTS.get(parts.scheme, 0)
            host = (parts.hostname or "").encode("idna" if not _is_address(parts.hostname) else "ascii").decode()
        except ValueError as error:
            raise _no_url(who, url) from error
        if (
            not (port and host)
            or parts.username is not None
            or parts.fragment
            or not (url.isascii() and url.isprintable())
        ):
            raise _no_url(who, url)
        return cls(host, port, _target(parts), parts.scheme == "https")


def addresses_of(place: Place, resolve: Resolve, *, private: bool) -> list[str]:
    """The addresses that a request may be sent to.

    Raises:
        RefusedError: one of them is none that a webhook may go to, or what is sent there could be read on the way.
        TryLaterError: the name cannot be resolved.
    """
    found = [place.host] if _is_address(place.host) else list(resolve(place.host, place.port))
    if not found:
        raise TryLaterError(f"{visible(place.host)} has no address; look at its url")
    kinds = [_kind(ip_address(one.partition("%")[0])) for one in found]
    for address, kind in zip(found, kinds, strict=True):
        if kind == "none" or (kind != "public" and not private):
            raise RefusedError(
                f"{visible(place.host)} is {address}, an address that is not public; set allow_private for the"
                " webhook, if it is yours"
            )
    if not place.tls and set(kinds) != {"loopback"}:
        raise RefusedError(
            f"{visible(place.host)} is not this machine, so what is sent must be https; write its url so"
        )
    return found


def resolved(host: str, port: int, within: float) -> list[str]:
    """The addresses of a name; a name server that does not answer is not waited for.

    Raises:
        TryLaterError: there is none, or no answer.
    """
    found: list[list[str] | OSError] = []
    asking = threading.Thread(target=_ask, args=(host, port, found), daemon=True)
    asking.start()
    asking.join(within)
    if not found or isinstance(found[0], OSError):
        cause = found[0].strerror if found and isinstance(found[0], OSError) else "no answer"
        raise TryLaterError(f"{visible(host)} cannot be resolved ({cause}); look at its url")
    return found[0]


def _ask(host: str, port: int, found: list[list[str] | OSError]) -> None:
    try:
        told = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        found.append(list(dict.fromkeys(str(one[4][0]) for one in told)))
    except (OSError, UnicodeError) as error:
        found.append(error if isinstance(error, OSError) else OSError(0, str(error)))


def _kind(address: IPv4Address | IPv6Address) -> str:
    """Whether an address is public, of a private network, this machine's own, or none that answers a webhook.

    Link-local ones are none: that is where clouds keep their credentials.
    """
    inner = _inner(address)
    if inner.is_multicast or inner.is_unspecified or inner.is_link_local or (inner.is_reserved and inner.version == 4):  # noqa: PLR2004  a version of the protocol
        return "none"
    if inner.is_loopback:
        return "loopback"
    return "public" if inner.is_global else "private"


def _inner(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The address that is meant, where one is wrapped in another."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & _LAST_32)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else address)


def _is_address(host: str | None) -> bool:
    try:
        ip_address((host or "").partition("%")[0])
    except ValueError:
        return False
    return True


def _target(parts: SplitResult) -> str:
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _no_url(who: str, url: str) -> ConfigError:
    scheme = visible(url.partition(":")[0][:20])
    return ConfigError(
        f"[[response.adapter]] {visible(who)}: a url of {scheme} and {len(url)} letters is none that a webhook can go"
        " to; write https://host/path, without a password in it"
    )
