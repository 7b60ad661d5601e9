"""A server for the desk: on this machine only, unless somebody says otherwise."""

import socket

import uvicorn

from gamewarden.desk.desk import Desk
from gamewarden.errors import WriteError
from gamewarden.web.app import create_app

HOST, PORT = "127.0.0.1", 8787


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens, so that whoever is told the address finds somebody there.

    Raises:
        WriteError: another program has the address, or there is none such.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError as error:
        made.close()
        raise WriteError(
            f"serve: {host}:{port} cannot be listened on ({error.strerror or error}); name another with --port"
        ) from error
    return made


def address_of(listening: socket.socket) -> str:
    """Where a browser finds the desk."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


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
    uvicorn.Server(config).run([listening])
