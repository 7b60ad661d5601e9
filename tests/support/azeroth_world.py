"""A world server of AzerothCore or TrinityCore, as far as its SOAP console bans: over HTTP, into a real database."""

import base64
import html
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from games_made_up import Server

LOGIN = "WARDEN:s3cret:word"
_FAULT = (
    '<?xml version="1.0" encoding="UTF-8"?><SOAP-ENV:Envelope xmlns:SOAP-ENV='
    '"http://schemas.xmlsoap.org/soap/envelope/"><SOAP-ENV:Body><SOAP-ENV:Fault><faultcode>SOAP-ENV:{who}</faultcode>'
    "<faultstring>{says}</faultstring></SOAP-ENV:Fault></SOAP-ENV:Body></SOAP-ENV:Envelope>"
)
_SECONDS = re.compile(r"(\d+)s")


@dataclass
class World:
    """What was said to it; each of `answers` stands in the place of one command that is then not done."""

    server: Server
    namespace: str
    level: int = 3  # of the account that logs in
    late: float = 0.0  # seconds between its answer and what it writes, as its other threads do
    commands: list[str] = field(default_factory=list)
    answers: list[tuple[int, str]] = field(default_factory=list)
    port: int = 0
    threads: list[threading.Thread] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def receive(self, handler: BaseHTTPRequestHandler) -> tuple[int, str]:
        body = handler.rfile.read(int(handler.headers["content-length"])).decode()
        if handler.headers["authorization"] != f"Basic {base64.b64encode(LOGIN.encode()).decode()}":
            return 401, ""
        if self.level < 3:
            return 403, ""
        found = re.fullmatch(
            r".*<(\w+):executeCommand><command>([^<]*)</command></\1:executeCommand>.*", body, re.DOTALL
        )
        if found is None or f'xmlns:{found[1]}="{self.namespace}"' not in body:
            return 500, _FAULT.format(who="Client", says="Method not implemented")
        return self._executed(html.unescape(found[2]))

    def _executed(self, command: str) -> tuple[int, str]:
        self.commands.append(command)
        if self.answers:
            return self.answers.pop(0)
        words = command.removeprefix(".").split(" ", 4)
        if words[:2] != ["ban", "account"] or len(words) != 5:
            return 500, _FAULT.format(who="Client", says="Syntax: .ban account $name $bantime $reason")
        numbers = self.server.run("SELECT id FROM account WHERE username = :name", name=words[2].upper())
        if not numbers:
            return 500, _FAULT.format(who="Client", says=f"account {html.escape(words[2])} not found")
        self.later(lambda: self.ban(numbers[0][0], words[3], words[4]))
        return 200, "<result>You banned &lt;it&gt;</result>"

    def ban(self, number: int, lasts: str, reason: str) -> None:
        found = _SECONDS.fullmatch(lasts)
        with self.server.connected() as connection:
            connection.exec_driver_sql("UPDATE account_banned SET active = 0 WHERE id = %s AND active != 0", (number,))
            connection.exec_driver_sql(
                "INSERT INTO account_banned VALUES (%s, UNIX_TIMESTAMP(), UNIX_TIMESTAMP() + %s, 'Console', %s, 1)",
                (number, int(found[1]) if found else 0, reason),
            )

    def later(self, work) -> None:
        if not self.late:
            work()
            return
        thread = threading.Timer(self.late, work)
        self.threads.append(thread)
        thread.start()


@contextmanager
def world_of(server: Server, **how):
    """A world server over these accounts."""
    world = World(server, {"azerothcore": "urn:AC", "trinitycore": "urn:TC"}[server.name], **how)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            status, text = world.receive(self)
            self.send_response(status)
            self.send_header("content-type", "text/xml; charset=utf-8")
            self.send_header("content-length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_words):
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    listener.handle_error = lambda *_: None
    world.port = listener.server_address[1]
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield world
    finally:
        listener.shutdown()
        listener.server_close()
        for one in (thread, *world.threads):
            one.join()


def fault(who: str, says: str) -> tuple[int, str]:
    """An answer of a server that did not do it: the Client's fault, or the Server's."""
    return 500, _FAULT.format(who=who, says=says)
