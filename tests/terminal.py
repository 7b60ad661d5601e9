"""Commands typed at a real terminal of some width: a pseudo-terminal in a child process."""

import fcntl
import os
import pty
import struct
import sys
import termios
from dataclasses import dataclass


@dataclass(frozen=True)
class Shown:
    """How a program ended, and what a person saw of it."""

    returncode: int
    text: str

    @property
    def lines(self):
        return self.text.splitlines()


def at_terminal(*words, width=80, **environment):
    """Run `gamewarden WORDS…` at a terminal; TERM is dumb, so that no progress bar is drawn, unless it is given."""
    return run_at_terminal("-m", "gamewarden", *words, width=width, **environment)


def run_at_terminal(*words, width=80, **environment):
    """Run Python with these words at a terminal."""
    settings = {**os.environ, "TERM": "dumb", **environment}
    settings.pop("COLUMNS", None)
    child, ours = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
        os.execve(sys.executable, [sys.executable, *map(str, words)], settings)  # noqa: S606  our own command line
    seen = bytearray()
    try:
        while part := os.read(ours, 1 << 16):
            seen += part
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(ours)
    _, status = os.waitpid(child, 0)
    return Shown(os.waitstatus_to_exitcode(status), seen.decode().replace("\r\n", "\n"))
