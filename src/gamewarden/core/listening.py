"""Addresses that a process listens on: on this machine only, unless somebody says otherwise."""

import socket
from ipaddress import ip_address
from typing import NamedTuple

from gamewarden.errors import ConfigError, WriteError

LOCAL = "127.0.0.1"
_LAST_PORT = 65_535


class Listener(NamedTuple):
    """An address and port to listen on."""

    host: str
    port: int

    @classmethod
    def of(cls, text: str) -> "Listener":
        """From `9400`, `127.0.0.1:9400` or `[::1]:9400`; without a host, this machine alone.

        Raises:
            ConfigError: there is no port in it.
        """
        host, _, port = text.rpartition(":")
        if not (port.isascii() and port.isdecimal() and 0 < int(port) <= _LAST_PORT):
            raise ConfigError(f"{text!r} names no port to listen on; write 9400 or 127.0.0.1:9400, from 1 to 65535")
        return cls(host.strip("[]") or LOCAL, int(port))


def bound(host: str, *ports: int, who: str = "serve", flag: str = "--port") -> socket.socket:
    """A socket at the first of these ports that is free, so that whoever is told the address finds somebody there.

    Raises:
        WriteError: other programs have them, or there is no such address.
    """
    for port in ports:
        made = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((host, port))
            made.listen()
        except OSError as error:
            made.close()
            why = error.strerror or str(error)
        else:
            return made
    raise WriteError(f"{who}: {host}:{ports[-1]} cannot be listened on ({why}); name another with {flag}")


def address_of(listening: socket.socket) -> str:
    """Where a browser finds it."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def is_local(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
