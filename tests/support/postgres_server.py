"""A real PostgreSQL of the tests' own: a temporary directory, a unix socket, no network; skipped where there is none.

One per test process (`postgres_server`), an empty database per test (`postgres`, its URL); from conftest.py.
"""

import os
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from tempfile import mkdtemp

import pytest

USER = "gamewarden"
_PLACES = "/usr/lib/postgresql"  # where Debian keeps the programs, by version
_PATIENCE = 60  # seconds until it answers, or until it has stopped
_OPTIONS = {
    "listen_addresses": "",
    "fsync": "off",  # processes are killed here, never the machine: what the system was given stays
    "shared_buffers": "16MB",
    "max_connections": "40",
    "log_min_messages": "fatal",
}


def programs():
    """The directory with `initdb` and `postgres`, the newest; None where it is not installed."""
    found = shutil.which("initdb")
    if found and Path(found).resolve().with_name("postgres").exists():
        return Path(found).resolve().parent
    several = sorted(Path(_PLACES).glob("*/bin/initdb"), key=lambda one: float(one.parts[-3]))
    return several[-1].parent if several else None


class Server:
    """One server; whoever has it may kill it and start it again."""

    def __init__(self, directory, binaries):
        self.directory, self.binaries = directory, binaries
        # PostgreSQL refuses root; a process of nobody can reach nothing but its own directory.
        self._as = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
        self._names = count()
        self._process = None
        if self._as:
            shutil.chown(directory, "nobody", "nogroup")
        self._call("initdb", "-D", self._data, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")

    @property
    def pid(self):
        """The process that all its others come from."""
        return self._process.pid

    def start(self):
        options = [part for name, value in _OPTIONS.items() for part in ("-c", f"{name}={value}")]
        command = [self.binaries / "postgres", "-D", self._data, "-k", self.directory, *options]
        until = time.monotonic() + _PATIENCE
        while not self._started(command, until):
            # After a kill the last of its processes may still hold the memory that they shared.
            assert time.monotonic() < until, self._log.read_text(errors="replace")[-2000:]
            time.sleep(0.05)

    def kill(self):
        """As if it had crashed."""
        self._process.kill()
        self._process.wait()

    def stop(self):
        """End it, and whoever is connected."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGQUIT)  # at once: its files are thrown away
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()

    def url(self, name):
        """How a database of it is named."""
        return f"postgresql://{USER}@/{name}?host={self.directory}"

    def new_database(self):
        """The URL of a database with nothing in it."""
        name = f"test_{next(self._names)}"
        self.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def drop(self, url):
        """Remove a database, whoever is connected to it."""
        self.execute(f"DROP DATABASE {url.partition('?')[0].rpartition('/')[2]} WITH (FORCE)")

    def execute(self, statement, name="postgres"):
        """What a statement gives, as somebody who looks at a database by hand would see it."""
        import psycopg

        with psycopg.connect(host=str(self.directory), user=USER, dbname=name, autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    @property
    def _data(self):
        return self.directory / "data"

    @property
    def _log(self):
        return self.directory / "log"

    def _started(self, command, until):
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.directory, **self._as
            )
        while self._process.poll() is None and time.monotonic() < until:
            with suppress(Exception):
                return bool(self.execute("SELECT 1"))
            time.sleep(0.02)
        return False

    def _call(self, program, *arguments):
        command = [self.binaries / program, *arguments]
        made = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.directory, **self._as)
        assert made.returncode == 0, made.stderr


@contextmanager
def served():
    """A server that runs for so long."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'gamewarden[postgres]'")
    binaries = programs()
    if binaries is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    # The path of a socket has at most 107 bytes, and a test's own directory is longer.
    directory = Path(mkdtemp(prefix="gw-pg-", dir="/tmp" if Path("/tmp").is_dir() else None))  # noqa: S108
    try:
        server = Server(directory, binaries)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
