"""A server for the desk: on this machine only, unless somebody says otherwise."""

import socket
from ipaddress import ip_address

import uvicorn

from gamewarden.desk.desk import Desk
from gamewarden.desk.warming import warm
from gamewarden.errors import WriteError
from gamewarden.web.app import create_app


def bound(host: str, *ports: int) -> socket.socket:
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
    raise WriteError(f"serve: {host}:{ports[-1]} cannot be listened on ({why}); name another with --port")


def address_of(listening: socket.socket) -> str:
    """Where a browser finds the desk."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def is_local(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def serve(desk: Desk, listening: socket.socket, *, proxied: bool = False) -> None:
    """Answer until somebody stops it."""
    config = uvicorn.Config(
        create_app(desk),
        log_level="warning",
        server_header=False,
        proxy_headers=proxied,
        forwarded_allow_ips="127.0.0.1,::1" if proxied else None,
        timeout_graceful_shutdown=10,
        limit_concurrency=200,
    )
    warm(desk)
    uvicorn.Server(config).run([listening])
