"""A real HTTP server on this machine that receives webhooks, and behaves as badly as it is told."""

import socket
import ssl
import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PATIENCE = 30  # seconds after which a server that hangs gives up, so that no test leaves it behind


@dataclass
class Receiver:
    """What arrived, and what is answered to each request in turn (200 once there is nothing more to say)."""

    answers: list = field(default_factory=list)
    requests: list = field(default_factory=list)  # headers and body
    effects: Counter = field(default_factory=Counter)  # webhook-id -> 1: who receives does each id once
    over: threading.Event = field(default_factory=threading.Event)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hooks?game=1"

    def receive(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers["content-length"]))
        self.requests.append((dict(handler.headers), body, handler.path))
        answer = self.answers.pop(0) if self.answers else 200
        if callable(answer):
            answer(self, handler)
            return
        status, headers = answer if isinstance(answer, tuple) else (answer, {})
        if status < 300:
            self.effect(handler)
        say(handler, status, headers)

    def effect(self, handler: BaseHTTPRequestHandler) -> None:
        self.effects[handler.headers["webhook-id"]] = 1


def say(handler: BaseHTTPRequestHandler, status: int, headers: dict) -> None:
    handler.send_response(status)
    for name, value in {"content-length": "4", **headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    with suppress(OSError):
        handler.wfile.write(b"well")


def hang(receiver: Receiver, handler: BaseHTTPRequestHandler) -> None:
    """Take it and never answer."""
    receiver.effect(handler)
    receiver.over.wait(PATIENCE)


def drip(receiver: Receiver, handler: BaseHTTPRequestHandler) -> None:
    """Answer one byte at a time, always in time for the next."""
    with suppress(OSError):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nx: ")
        until = time.monotonic() + PATIENCE
        while not receiver.over.wait(0.05) and time.monotonic() < until:
            handler.wfile.write(b"a")
            handler.wfile.flush()


def flood(receiver: Receiver, handler: BaseHTTPRequestHandler) -> None:
    """Fail with a text without end."""
    del receiver
    handler.send_response(500)
    handler.end_headers()
    with suppress(OSError):
        for _ in range(10_000):
            handler.wfile.write(b"x" * 65_536)


def explain(receiver: Receiver, handler: BaseHTTPRequestHandler) -> None:
    """Fail, and say why a moment after the headers."""
    handler.send_response(422)
    handler.end_headers()
    handler.wfile.flush()
    receiver.over.wait(0.1)
    handler.wfile.write(b"no such account")


def nonsense(receiver: Receiver, handler: BaseHTTPRequestHandler) -> None:
    """Answer no HTTP."""
    del receiver
    handler.wfile.write(b"\x00\x01 hello\r\n\r\n")


def hang_up(receiver: Receiver, handler: BaseHTTPRequestHandler) -> None:
    """Take it and close the line before an answer."""
    receiver.effect(handler)
    with suppress(OSError):
        handler.connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def receiving(*answers, context: ssl.SSLContext | None = None):
    """A server that answers so, for as long as it is asked for."""
    receiver = Receiver(list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            receiver.receive(self)

        def log_message(self, *_words):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
