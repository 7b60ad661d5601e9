"""A real MariaDB of the tests' own: a temporary directory, a unix socket, no network; skipped where there is none.

One per test process (`mariadb_server`), an empty database per test (`mariadb`, its URL); from conftest.py.
"""

import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from tempfile import mkdtemp

import pytest

USER = "gamewarden"
_PATIENCE = 60  # seconds until it answers, or until it has stopped
_OPTIONS = (
    "--no-defaults",
    "--skip-networking",
    "--innodb-flush-log-at-trx-commit=0",  # processes are killed here, never the machine
    "--innodb-buffer-pool-size=16M",
    "--innodb-log-file-size=8M",
    "--key-buffer-size=4M",
    "--max-connections=60",
    "--performance-schema=OFF",
    "--innodb-use-native-aio=0",  # of which the system lends only so much to all
)


def programs():
    """`mariadbd` and `mariadb-install-db`; None where they are not installed."""
    server = shutil.which("mariadbd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    maker = shutil.which("mariadb-install-db")
    return (Path(server), Path(maker)) if server and maker else None


class Server:
    """One server; whoever has it may kill it and start it again."""

    def __init__(self, directory, server, maker):
        self.directory, self._server = directory, server
        # MariaDB refuses root; a process of nobody can reach nothing but its own directory.
        self._as = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
        self._names = count()
        self._process = None
        if self._as:
            shutil.chown(directory, "nobody", "nogroup")
        made = subprocess.run(
            [maker, "--no-defaults", f"--datadir={self._data}", "--auth-root-authentication-method=normal",
             "--skip-test-db", "--innodb-log-file-size=8M", f"--tmpdir={directory}"],
            capture_output=True, text=True, check=False, cwd=directory, **self._as,
        )  # fmt: skip
        assert made.returncode == 0, made.stdout + made.stderr

    @property
    def socket(self):
        return self.directory / "socket"

    @property
    def pid(self):
        return self._process.pid

    def start(self):
        command = [self._server, *_OPTIONS, f"--datadir={self._data}", f"--socket={self.socket}",
                   f"--tmpdir={self.directory}", f"--pid-file={self.directory}/pid"]  # fmt: skip
        until = time.monotonic() + _PATIENCE
        while not self._started(command, until):
            # On a busy machine the system may lend it too little at first; and after a kill its files are still locked.
            assert time.monotonic() < until, self._log.read_text(errors="replace")[-2000:]
            time.sleep(0.2)

    def _started(self, command, until):
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.directory, **self._as
            )
        while self._process.poll() is None and time.monotonic() < until:
            if self._listens() and self._answers():
                return True
            time.sleep(0.05)
        return False

    def kill(self):
        """As if it had crashed."""
        self._process.kill()
        self._process.wait()

    def stop(self):
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()

    def url(self, name, user=USER):
        """How a database of it is named; the password is in no URL, since the tests' users have none."""
        return f"mysql://{user}@localhost/{name}?unix_socket={self.socket}"

    def new_database(self, charset="utf8mb4"):
        """The URL of a database with nothing in it."""
        name = f"test_{next(self._names)}"
        self.execute(f"CREATE DATABASE {name} CHARACTER SET {charset}")
        return self.url(name)

    def drop(self, url):
        self.execute(f"DROP DATABASE IF EXISTS {database_of(url)}")

    def execute(self, statement, name=None, values=None):
        """What a statement gives, as somebody who looks at a database by hand would see it."""
        with self.connected(name) as connection, connection.cursor() as cursor:
            cursor.execute(statement, values)
            return list(cursor.fetchall())

    def script(self, text, name):
        """Run the statements of an SQL file as the server's own client does."""
        client = shutil.which("mariadb") or shutil.which("mysql")
        command = [client, "--no-defaults", f"--socket={self.socket}", "-uroot", name]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def dump(self, name, *options):
        """What `mysqldump` writes of a database."""
        program = shutil.which("mariadb-dump") or shutil.which("mysqldump")
        command = [program, "--no-defaults", f"--socket={self.socket}", "-uroot", *options, name]
        done = subprocess.run(command, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextmanager
    def connected(self, name=None):
        import pymysql

        connection = pymysql.connect(
            unix_socket=str(self.socket), user="root", database=name, autocommit=True, charset="utf8mb4"
        )
        try:
            yield connection
        finally:
            connection.close()

    def _listens(self):
        """Whether anybody is there; PyMySQL leaves its socket open where nobody is, which fails some later test."""
        with socket.socket(socket.AF_UNIX) as probe, suppress(OSError):
            probe.connect(str(self.socket))
            return True
        return False

    def _answers(self):
        with suppress(Exception):
            self.execute(f"CREATE USER IF NOT EXISTS {USER}@localhost")
            self.execute(f"GRANT ALL ON *.* TO {USER}@localhost")
            return True
        return False

    @property
    def _data(self):
        return self.directory / "data"

    @property
    def _log(self):
        return self.directory / "log"


def database_of(url):
    """The name of the database in a URL."""
    return url.partition("?")[0].rpartition("/")[2]


@contextmanager
def served():
    """A server that runs for so long."""
    pytest.importorskip("pymysql", reason="PyMySQL is not installed: pip install 'gamewarden[mysql]'")
    found = programs()
    if found is None:
        pytest.skip("MariaDB is not installed: apt-get install mariadb-server")
    # The path of a socket has at most 107 bytes, and a test's own directory is longer.
    directory = Path(mkdtemp(prefix="gw-my-", dir="/tmp" if Path("/tmp").is_dir() else None))  # noqa: S108
    try:
        server = Server(directory, *found)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
