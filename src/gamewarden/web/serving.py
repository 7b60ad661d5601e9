"""A server for the desk."""

import socket

import uvicorn

from gamewarden.desk.desk import Desk
from gamewarden.desk.warming import warm
from gamewarden.web.app import create_app


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
